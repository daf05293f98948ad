"""``python -m corrdp.experiments.neighbours > docs/neighbours.md``."""

from corrdp.experiments.neighbours.page import page

if __name__ == "__main__":
    print(page(), end="")
