"""Writing files whole: a crash leaves the old file or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(texts: Mapping[Path, str]) -> None:
    """Write several text files; none appears under its name before all are on disk.

    Parameters
    ----------
    texts : mapping of path to content

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_files({folder / "a.txt": "one", folder / "b.txt": "two"})
    >>> sorted(path.name for path in folder.iterdir())
    ['a.txt', 'b.txt']
    """
    parts: dict[Path, Path] = {}
    try:
        for path, text in texts.items():
            # a name of its own: two commands may write the same report at the same time
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
            parts[path] = Path(part)
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
        for path, temporary in parts.items():
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
    finally:
        for temporary in parts.values():
            temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The process's mask (it can only be read by setting it)."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
