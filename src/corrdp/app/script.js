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
  document.addEventListener("click", function (event) {
    var button = event.target.closest("button[data-set]");
    if (button) send(button.dataset.set, +button.dataset.value, { priority: "event" });
  });
})();
