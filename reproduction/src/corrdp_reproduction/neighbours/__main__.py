"""``python -m corrdp_reproduction.neighbours > docs/neighbours.md``."""

from corrdp_reproduction.neighbours.page import page

if __name__ == "__main__":
    print(page(), end="")
