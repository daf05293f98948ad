"""Writing files whole: a crash leaves the old file or the new one, never half of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; none appears under its name before all are on disk.

    Each goes to a file of its own beside its place, is synced, and takes its name; then the folders
    are synced, so that a power cut after the return loses nothing. Only the owner may read them:
    what is written may be private.

    Parameters
    ----------
    contents : mapping of path to text or bytes

    Examples
    --------
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_files({folder / "a.txt": "one", folder / "b.txt": "two"})
    >>> sorted(path.name for path in folder.iterdir())
    ['a.txt', 'b.txt']
    >>> oct((folder / "a.txt").stat().st_mode & 0o777)
    '0o600'
    """
    parts: dict[Path, Path] = {}
    path = Path()
    try:
        for path, content in contents.items():
            # a name of its own, mode 0600: two commands may write the same report at the same time
            handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
            parts[path] = Path(part)
            with os.fdopen(handle, "wb") as stream:
                stream.write(content if isinstance(content, bytes) else content.encode())
                stream.flush()
                os.fsync(stream.fileno())
        for path, part_of in parts.items():
            part_of.replace(path)
        for folder in {path.parent for path in parts}:
            _sync_folder(folder)
    except OSError as error:
        error.filename = os.fspath(path)  # the name that was asked for, not that of the part
        raise
    finally:
        for part_of in parts.values():
            part_of.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
