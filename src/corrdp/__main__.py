"""``python -m corrdp`` is the command ``corrdp``."""

from corrdp.cli import main

if __name__ == "__main__":
    main()
