"""Puts the theorem pages into the wheel, beside the package whose results cite them.

Source archives of equal files are equal bytes.
"""

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist


class WithTheorems(build_py):
    """The pages are at home in docs/theorems; a wheel gets a copy."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / "corrdp" / "theorems"
        self.mkpath(str(target))
        for page in sorted(Path("docs/theorems").glob("*.md")):
            self.copy_file(str(page), str(target / page.name))


class WithoutClock(sdist):
    """Who built it and when is left out: every file has the time ``SOURCE_DATE_EPOCH``."""

    def make_archive(self, base_name: str, *_: object, **__: object) -> str:
        name, when = f"{base_name}.tar.gz", int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))

        def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = when, 0o755 if entry.isdir() else 0o644
            return entry

        root = Path(base_name).name
        with (
            open(name, "wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=when) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted(Path(root).rglob("*")):
                archive.add(path, recursive=False, filter=plain)
        return name


setup(cmdclass={"build_py": WithTheorems, "sdist": WithoutClock})
