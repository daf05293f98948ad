"""A browser, where there is one, and the application in a process of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

WAIT = 400_000  # milliseconds; what comes sooner ends the wait, and a machine may be busy


@dataclass
class Visit:
    """A page of the application, and every request that it made."""

    page: Any
    folder: Path
    requests: list[str]
    names: tuple[str, ...] = ()  # of files whose names are nobody's business, and their folders

    def shows(self, selector: str) -> None:
        self.page.wait_for_selector(selector, timeout=WAIT)

    def settles(self) -> None:
        """Nothing is under way any more."""
        self.page.wait_for_function(
            "!document.querySelector('.working') && "
            "!document.documentElement.classList.contains('shiny-busy')",
            timeout=WAIT,
        )

    def check_calm(self) -> None:
        """No sideways overflow, no control on top of another, nothing asked of other machines."""
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert self.page.evaluate(wide) <= 0
        assert self.page.evaluate(_OVERLAPS) == []
        asked = [url for url in self.requests if url[:4] != "data"]
        assert {urlsplit(url).hostname for url in asked} <= {"127.0.0.1"}
        # neither the token nor what is private stands in an address
        first, *later = map(unquote, asked)
        assert "token=" in first
        for url in later:
            assert "token=" not in url
            for text in (self.folder.name, *self.names):
                assert text not in url, url


_OVERLAPS = """() => {
  const seen = [...document.querySelectorAll(
    'main button, main input, main select, main a, main summary')]
    .filter(e => e.checkVisibility() && getComputedStyle(e).visibility !== 'hidden' &&
      getComputedStyle(e).opacity !== '0' && e.type !== 'file');
  const found = [];
  for (let i = 0; i < seen.length; i++) for (let j = i + 1; j < seen.length; j++) {
    const a = seen[i].getBoundingClientRect(), b = seen[j].getBoundingClientRect();
    const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (x > 1 && y > 1 && !seen[i].contains(seen[j]) && !seen[j].contains(seen[i]))
      found.push((seen[i].id || seen[i].outerHTML.slice(0, 60)) + ' / ' +
        (seen[j].id || seen[j].outerHTML.slice(0, 60)));
  }
  return found;
}"""


def wrong(said: Any) -> list[str]:
    """What scripts complain of; axe asks for files that are not there, which is no fault."""
    missing = said.text.startswith("Failed to load resource")
    return [] if missing or said.type != "error" else [said.text]


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: make test-app")
    pytest.importorskip("shiny", reason="needs the extra app")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with api.sync_playwright() as running:
        try:
            opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        except api.Error:
            pytest.skip("no Chromium can be started: install it, or run playwright install")
        yield opened
        opened.close()


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """The application, and the address that opens it."""
    command = [sys.executable, "-m", "corrdp", "app", *arguments, "--no-browser"]
    # loops are compiled beside the package, so that what earlier tests compiled is there
    environment = os.environ | {"HOME": str(folder), "TMPDIR": str(folder)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env=environment,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            yield process.stdout.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                told = process.communicate(timeout=60)[1]
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    assert "unexpected" not in told
    assert not list(folder.glob("corrdp-app-*")), "uploads and made-up data are removed"


@pytest.fixture
def visit(browser, tmp_path):
    """Visit the application: ``with visit("--demo", width=390, scheme="dark") as seen``."""

    @contextmanager
    def opened(*arguments: str, width: int = 1280, scheme: str = "light") -> Iterator[Visit]:
        with served(tmp_path, *arguments) as address:
            context = browser.new_context(
                viewport={"width": width, "height": 900}, color_scheme=scheme,
                reduced_motion="reduce", accept_downloads=True,
            )  # fmt: skip
            page = context.new_page()
            page.set_default_timeout(WAIT)
            requests: list[str] = []
            problems: list[str] = []
            page.on("request", lambda request: requests.append(request.url))
            page.on("websocket", lambda socket: requests.append(socket.url))
            page.on("pageerror", lambda error: problems.append(str(error)))
            page.on("console", lambda said: problems.extend(wrong(said)))
            page.goto(address)
            try:
                files = [Path(text) for text in arguments if not text.startswith("-")]
                names = (text for file in files for text in (file.stem, str(file.parent)))
                yield Visit(page, tmp_path, requests, ("made-up-", *names))
            except Exception:
                page.screenshot(path=str(tmp_path / "failed.png"), full_page=True)
                raise
            finally:
                context.close()
            assert problems == []

    return opened
