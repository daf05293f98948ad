"""The compiler of hot loops: where it puts what it compiled, and what is said when it compiles.

``njit`` compiles a function when it is first called; ``inlined`` is for small functions that
compiled ones call, and called from Python they stay as they are.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numba import njit as njit
    from numba.extending import register_jitable as inlined

    __all__ = ["announce", "inlined", "njit", "place_for_compiled_code"]

# what a command says before the first compilation of the process; None says nothing
announce: Callable[[], None] | None = None


def __getattr__(name: str) -> Any:
    # numba comes with the first kernel, not with this module, which every command imports
    if name not in ("njit", "inlined"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    place_for_compiled_code()  # numba reads the place when it is imported
    from functools import partial

    from numba import njit
    from numba.extending import register_jitable

    _listen()
    # wrappers for callers in C, whom there are none of, would be a tenth of the compiling
    globals().update(
        njit=partial(njit, no_cfunc_wrapper=True),
        inlined=register_jitable(no_cfunc_wrapper=True, error_model="numpy"),
    )
    return globals()[name]


def place_for_compiled_code() -> bool:
    """Whether compiled code is kept for later processes.

    Where neither the package nor the home directory can be written, numba has no place of its own:
    it is given one for this process (a shared one could be tampered with).
    """
    writable = (os.path.dirname(__file__), os.path.expanduser("~"))
    if "NUMBA_CACHE_DIR" in os.environ or any(os.access(path, os.W_OK) for path in writable):
        return True
    os.environ["NUMBA_CACHE_DIR"] = place = tempfile.mkdtemp(prefix="corrdp-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return False


def _listen() -> None:
    """Announce the first compilation; what is found compiled is none."""
    from numba.core import event

    class First(event.Listener):
        def on_start(self, _: object) -> None:
            global announce
            said, announce = announce, None
            if said is not None:
                said()

        def on_end(self, _: object) -> None:
            """Nothing is said."""

    event.register("numba:compile", First())
