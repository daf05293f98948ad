"""Writing files whole: a crash leaves the old file or the new one, never half of it.

What may be written over: never a ledger, and the record of a release only where that is asked for.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from corrdp.errors import InputError

_SQLITE = b"SQLite format 3\0"  # what the file of every ledger begins with


def write_files(contents: Mapping[Path, str | bytes]) -> None:
    """Write several files; none appears under its name before all are on disk.

    Each goes to a file of its own beside its place, is synced, and takes its name; then the folders
    are synced, so that a power cut after the return loses nothing. Only the owner may read them:
    what is written may be private. A ledger is never written over.

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
    refuse_ledgers(*contents)
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


def refuse_ledgers(*paths: Path) -> None:
    """A ledger is the only record of what was spent: nothing takes its place."""
    for path in paths:
        if not path.is_file():
            continue
        with path.open("rb") as stream:
            if stream.read(len(_SQLITE)) == _SQLITE:
                raise InputError(
                    f"{path} is a ledger, and nothing is written over one: choose another name"
                )


def refuse_overwriting(*paths: Path | None, overwrite: bool) -> None:
    """What exists may be the record of a release already made."""
    kept = [path for path in paths if path is not None and path.exists()]
    if kept and not overwrite:
        raise InputError(
            f"{kept[0]} exists and may be the record of a release already made; choose another "
            "name, or overwrite=True"
        )


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # a folder cannot be opened there
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
