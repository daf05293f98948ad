// what Shiny has no control for: a native slider, and buttons of lists
(function () {
  function send(name, value, options) {
    if (window.Shiny && Shiny.setInputValue) Shiny.setInputValue(name, value, options);
  }
  document.addEventListener("input", function (event) {
    var slider = event.target;
    if (slider.matches("input[type=range][data-live]")) send(slider.dataset.live, +slider.value);
  });
  document.addEventListener("change", function (event) {
    var slider = event.target;
    if (slider.matches("input[type=range][data-live]")) send(slider.id, +slider.value);
  });
  // a dialog is called by its title
  document.addEventListener("show.bs.modal", function (event) {
    var title = event.target.querySelector(".modal-title");
    if (title) event.target.setAttribute("aria-label", title.textContent);
  });
  // what is wrong with a field stands below it: a problem begins with the name of its field
  function tell(problem) {
    var name = problem.textContent.trim().split(":")[0];
    var label = [...(problem.closest(".step") || document).querySelectorAll("label[for]")].find(
      (each) => each.textContent.trim().startsWith(name) && each.checkVisibility());
    var field = label && document.getElementById(label.htmlFor);
    if (!field) return;
    var told = document.createElement("p");
    told.className = "field-problem";
    told.textContent = problem.textContent.trim().slice(name.length + 2);
    told.id = field.id + "-problem";
    field.setAttribute("aria-invalid", "true");
    field.setAttribute("aria-describedby", told.id);
    field.after(told);
    problem.classList.add("visually-hidden");
    field.addEventListener("input", () => forget(field, told), { once: true });
  }
  function forget(field, told) {
    field.removeAttribute("aria-invalid");
    field.removeAttribute("aria-describedby");
    told.remove();
  }
  new MutationObserver(function () {
    document.querySelectorAll(".problem:not([data-told])").forEach(function (problem) {
      problem.dataset.told = "";
      tell(problem);
    });
  }).observe(document, { childList: true, subtree: true });
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button[data-set]");
    if (button) send(button.dataset.set, +button.dataset.value, { priority: "event" });
  });
})();
