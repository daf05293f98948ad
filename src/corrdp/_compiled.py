"""The compiler of hot loops, with a place for what it compiled."""

import atexit
import os
import shutil
import tempfile


def place_for_compiled_code() -> None:
    """Where neither the package nor the home directory can be written, numba has no place of its
    own: give it one for this process (a shared one could be tampered with)."""
    writable = (os.path.dirname(__file__), os.path.expanduser("~"))
    if "NUMBA_CACHE_DIR" in os.environ or any(os.access(path, os.W_OK) for path in writable):
        return
    os.environ["NUMBA_CACHE_DIR"] = place = tempfile.mkdtemp(prefix="corrdp-")
    atexit.register(shutil.rmtree, place, ignore_errors=True)


place_for_compiled_code()

from numba import njit as njit  # noqa: E402 (it reads the place when it is imported)

# for small functions that compiled ones call: from Python they are called as they are
from numba.extending import register_jitable as inlined  # noqa: E402, F401
