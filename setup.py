"""Puts the theorem pages into the wheel, beside the package whose results cite them."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


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


setup(cmdclass={"build_py": WithTheorems})
