"""Starting, and the first use after an install: ``python benchmarks/start.py [--quick]``.

CPU seconds of whole processes. A first use finds nothing compiled, a later one all it needs.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from _harness import FIRST_VERSION, Board, Row, _checked_out

ROOT = Path(__file__).parents[1]
CHAIN = "import corrdp as cdp; chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=100); "
LEAKAGE = [sys.executable, "-c", CHAIN + "print(cdp.leakage(chain, 1.0).value)"]
CALIBRATE = [
    sys.executable, "-c", CHAIN + "print(cdp.calibrate(chain, 1.0, query=cdp.Count(1)).epsilon)",
]  # fmt: skip
CORRDP = [sys.executable, "-m", "corrdp"]


def spent(command: list[str], cache: str | None = None, source: Path = ROOT) -> tuple[float, str]:
    """CPU seconds of a process, and what it printed."""
    given = {"PYTHONPATH": str(source / "src")}
    if cache is not None:
        given["NUMBA_CACHE_DIR"] = cache
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | given
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return taken, done.stdout


def plain(board: Board, what: str, command: list[str], peer: str, code: str, repeat: int) -> None:
    """Starting, against an import that it cannot avoid."""
    least = [math.inf, math.inf]
    for _ in range(repeat):
        for k, each in enumerate((command, [sys.executable, "-c", code])):
            least[k] = min(least[k], spent(each)[0])
    board.add(Row(what, peer, *least))


def first_use(board: Board, what: str, command: list[str], repeat: int) -> None:
    """With nothing compiled, against the same with all compiled."""
    first, later, said = math.inf, math.inf, set()
    with tempfile.TemporaryDirectory() as kept:
        for turn in range(repeat):
            with tempfile.TemporaryDirectory() as empty:
                cold = spent(command, empty if turn else kept)
            warm = spent(command, kept)
            first, later = min(first, cold[0]), min(later, warm[0])
            said |= {cold[1], warm[1]}
    assert len(said) == 1, what
    note = (
        "a promise on a fit is priced under order 2 over its region too, by kernels that compile "
        "for a quarter of a minute, once; corrdp warm does it beforehand"
    )
    board.add(Row(f"{what}, for the first time", "later", first, later, 5, note))


def against_the_first_version(board: Board) -> None:
    """The first leakage of two states, there and here."""
    taken, printed = [], []
    for source in (ROOT, _checked_out(ROOT, FIRST_VERSION)):
        with tempfile.TemporaryDirectory() as empty:
            seconds, said = spent(LEAKAGE, empty, source)
        taken.append(seconds)
        printed.append(float(said))
    assert math.isclose(*printed, rel_tol=1e-9), printed
    board.add(Row("leakage of two states, for the first time", "v0.1.0", *taken))


def main() -> None:
    """Measure, print and keep."""
    board, repeat = Board("start"), 1 if "--quick" in sys.argv[1:] else 3
    plain(
        board, "import corrdp", [sys.executable, "-c", "import corrdp"], "import numpy",
        "import numpy", repeat,
    )  # fmt: skip
    plain(board, "corrdp --help", [*CORRDP, "--help"], "import typer", "import typer", repeat)
    first_use(board, "leakage of two states", LEAKAGE, repeat)
    first_use(board, "calibrate, two states", CALIBRATE, repeat)
    with tempfile.TemporaryDirectory() as place:
        series, model = Path(place) / "series.csv", str(Path(place) / "model.json")
        rows = "".join(f"{t},{(t // 5 + t // 13) % 2}\n" for t in range(2000))
        series.write_text(f"t,s\n{rows}")
        read = [str(series), "--state", "s = 1", "--order", "t"]
        first_use(board, "corrdp fit, two states", [*CORRDP, "fit", *read, "-o", model], repeat)
        first_use(
            board, "corrdp leakage, two states", [*CORRDP, "leakage", model, "--epsilon", "1"],
            repeat,
        )  # fmt: skip
        noise = ["--query", "count:s = 1", "--target", "1", "--accept-model", "a benchmark"]
        first_use(
            board, "corrdp release --dry-run, two states",
            [*CORRDP, "release", str(series), "--model", model, *noise, "--dry-run"], repeat,
        )  # fmt: skip
    against_the_first_version(board)
    board.save()


if __name__ == "__main__":
    main()
