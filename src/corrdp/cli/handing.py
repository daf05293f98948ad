"""Handing a release over: what was paid for is shown, whatever happens to files and terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_MOST = 10_000  # characters of an answer that are repeated where a ledger holds it as well


@contextmanager
def handed_over(made: Any, ledger: Path | None = None) -> Iterator[None]:
    """Write and print a release inside; if that fails, stderr says its answer and its charge.

    Parameters
    ----------
    made : Release, Sanitized, PublishedMoves or None
        None when nothing was made.
    ledger : Path, optional
        The ledger that it was charged to.
    """
    try:
        yield
        sys.stdout.flush()  # a full disk behind stdout shows here
    # also an interrupt, and the exit by which rich answers a closed pipe
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = "standard output"
        if made is not None:
            _tell(made, ledger)
        raise


def _tell(made: Any, ledger: Path | None) -> None:
    text = json.dumps(made.to_dict())
    if ledger is None:
        said = "corrdp: this release was made, and could not be handed over:"
    else:
        said = (
            f"corrdp: this release was made and is paid for (charge {made.charge} of {ledger}, "
            f"{made.charge_hash}), and could not be handed over; corrdp ledger answers {ledger} "
            f"{made.charge} shows it again:"
        )
        text = text if len(text) <= _MOST else f"({len(text):,} characters)"
    print(said, text, sep="\n", file=sys.stderr, flush=True)
