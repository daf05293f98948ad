"""What audited code may take of the machine, and how it is ended: a process group with limits."""

from __future__ import annotations

import contextlib
import os
import signal

MOST_OUTPUT = 2**30
"""Bytes of any one file that an audited program may write; what it puts out and says are files."""


def most_memory() -> int:
    """Bytes of data that one process of audited code may have: half of the machine's memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def confine(*, files: bool) -> None:
    """Limit this process and all that it will start; called in a child, before audited code runs.

    Data is what counts (heap, private writable mappings), on top of what a forked child has
    already: address space would be too strict, as many a language reserves more than it uses.
    A crash leaves no core file: the audit tells it.

    Parameters
    ----------
    files : bool
        Limit the size of files as well; where audited code shares a process with ours it may
        write what it likes, as its outputs are no file.
    """
    import resource

    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_DATA: _data() + most_memory()}
    if files:
        limits[resource.RLIMIT_FSIZE] = MOST_OUTPUT
    for which, limit in limits.items():
        _, hard = resource.getrlimit(which)
        lowest = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with contextlib.suppress(ValueError, OSError):  # a system that knows no such limit
            resource.setrlimit(which, (lowest, hard))


def _data() -> int:
    """Bytes of data that this process has, where the system tells."""
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def has_ended(pid: int) -> bool:
    """Whether a child ended; it is left unreaped, so that its group keeps its number till then."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def end_group(pid: int) -> None:
    """Kill the process group that a child leads, itself and what it started.

    Out of reach is what left the group: daemons, and children with a session of their own.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
