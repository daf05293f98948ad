"""Fetch MathJax from the npm registry for the site: one file, of one version, with its checksum."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path

VERSION = "3.2.2"
SHA512 = "Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw=="
URL = f"https://registry.npmjs.org/mathjax/-/mathjax-{VERSION}.tgz"
# everything in one file, fonts as paths
PART = "package/es5/tex-svg-full.js"
PLACE = Path(__file__).parent / "_static" / "mathjax" / "tex-svg-full.js"


def main() -> None:
    """Write the file, unless it is there; refuse an archive with another checksum."""
    if PLACE.exists():
        return
    with urllib.request.urlopen(URL, timeout=60) as answer:
        archive = answer.read()
    found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != SHA512:
        raise SystemExit(f"{URL} has the SHA-512 {found}, not {SHA512}: nothing was written")
    with tarfile.open(fileobj=io.BytesIO(archive)) as held:
        part = held.extractfile(PART)
        assert part is not None
        PLACE.parent.mkdir(parents=True, exist_ok=True)
        PLACE.write_bytes(part.read())


if __name__ == "__main__":
    main()
