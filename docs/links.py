"""Check the built site: every link inside it leads to a page and a place that exist.

``python docs/links.py``; Sphinx checks the links of Markdown pages, this every one in the HTML.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SITE = Path(__file__).parent / "_build" / "html"


class Page(HTMLParser):
    """The links of a page and the places that links can lead to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what leads somewhere and what can be led to."""
        given = dict(attrs)
        self.places.add(given.get("id") or "")
        self.links.add(given.get("href" if tag in ("a", "link") else "src") or "")


def broken(site: Path) -> list[str]:
    """Links to pages or places that the site lacks."""
    built = (path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in built}
    found = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = pages[to].places if to in pages else {""} if to.exists() else set()
            if unquote(parts.fragment) not in there:
                found.append(f"{path.relative_to(site.resolve())}: {link}")
    return found


if __name__ == "__main__":
    if not list(SITE.glob("*.html")):
        sys.exit(f"there is no site in {SITE}")
    if bad := broken(SITE):
        sys.exit("\n".join(["links that lead nowhere:", *bad]))
    print("every link inside the site leads somewhere")
