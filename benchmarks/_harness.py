"""How benchmarks measure: values compared first, then CPU time in turns, kept as JSON.

A row is a ratio taken in one run: what corrdp spends over what a peer spends on the same answer
(a published package, a vectorised version, one pass over the data, or an older corrdp). Seconds
are CPU seconds of the process, since wall time tells more about the neighbours of this process
than about it; contestants take turns, so that what noise remains meets all of them.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
FIRST_VERSION = "8250c59"  # v0.1.0
_PACKAGES = ("corrdp", "numpy", "scipy", "numba", "duckdb", "opendp")


def measure(*calls: Callable[[], object], repeat: int = 5) -> list[float]:
    """Least CPU seconds of each call; they take turns, and a first round is not counted."""
    least = [math.inf] * len(calls)
    for turn in range(repeat + 1):
        for k, call in enumerate(calls):
            start = time.process_time()
            call()
            if turn:
                least[k] = min(least[k], time.process_time() - start)
    return least


def near(a: float, b: float) -> bool:
    """Equal but for the rounding of a search."""
    return math.isclose(a, b, rel_tol=1e-8)


@dataclass
class Row:
    """One ratio: ours over theirs. ``wanted`` is the largest ratio that will do.

    ``note`` says why a ratio is above what was wanted: where the time goes.
    """

    what: str
    peer: str
    ours: float
    theirs: float
    wanted: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / max(self.theirs, 1e-9)

    def __str__(self) -> str:
        goal = "" if self.wanted is None else f" (wanted: at most {self.wanted:g})"
        faster = f", {1 / self.ratio:.3g} times faster" if self.ratio < 1 else ""
        return (
            f"{self.what}\n    {self.ours:.3g} s, {self.peer} {self.theirs:.3g} s: "
            f"ratio {self.ratio:.3g}{faster}{goal}"
        )


@dataclass
class Growth:
    """CPU seconds and memory against a size, with the exponent of the last two sizes."""

    what: str
    unit: str  # what grows: records, states, releases
    sizes: list[int]
    seconds: list[float]
    megabytes: list[float]

    @property
    def exponent(self) -> float:
        """Slope of log time against log size, least squares over the larger half."""
        half = max(len(self.sizes) // 2 + 1, 2)
        xs = [math.log(n) for n in self.sizes[-half:]]
        ys = [math.log(max(t, 1e-9)) for t in self.seconds[-half:]]
        mid, level = sum(xs) / len(xs), sum(ys) / len(ys)
        rise = sum((x - mid) * (y - level) for x, y in zip(xs, ys, strict=True))
        return rise / sum((x - mid) ** 2 for x in xs)

    def __str__(self) -> str:
        points = ", ".join(
            f"{n:,}: {t:.3g} s" for n, t in zip(self.sizes, self.seconds, strict=True)
        )
        return f"{self.what}, by {self.unit}: {points}; grows as the power {self.exponent:.2f}"


@dataclass
class Board:
    """The rows of one script; ``save`` keeps them with the machine and the versions."""

    topic: str
    rows: list[Row] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)

    def compare(
        self,
        what: str,
        ours: Callable[[], Any],
        peer: str,
        theirs: Callable[[], Any],
        *,
        wanted: float | None = None,
        repeat: int = 5,
        same: Callable[[Any, Any], bool] = lambda a, b: a == b,
        note: str = "",
    ) -> Row:
        """Compare the values, then the time of two calls in this process."""
        a, b = ours(), theirs()
        if not same(a, b):
            raise AssertionError(f"{what}: {a!r} is not {peer}'s {b!r}")
        return self.add(Row(what, peer, *measure(ours, theirs, repeat=repeat), wanted, note))

    def versions(
        self,
        what: str,
        setup: str,
        call: str,
        *,
        old_setup: str | None = None,
        old_call: str | None = None,
        wanted: float | None = None,
        repeat: int = 3,
        same: Callable[[float, float], bool] = math.isclose,
        note: str = "",
    ) -> Row:
        """The same code in this corrdp and in v0.1.0; ``call`` is an expression worth a number."""
        with Interpreter() as new, Interpreter(FIRST_VERSION) as old:
            new.run(setup)
            old.run(old_setup or setup)
            least = [math.inf, math.inf]
            values = [0.0, 0.0]
            for turn in range(repeat + 1):  # the first compiles
                for k, (child, code) in enumerate(((new, call), (old, old_call or call))):
                    values[k], spent = child.value(code)
                    least[k] = min(least[k], spent) if turn else math.inf
        if not same(*values):
            raise AssertionError(f"{what}: {values[0]!r}, and v0.1.0 says {values[1]!r}")
        return self.add(Row(what, "v0.1.0", *least, wanted, note))

    def grow(
        self, what: str, unit: str, sizes: Sequence[int], setup: str, call: str, repeat: int = 2
    ) -> Growth:
        """Time and memory of ``call`` as ``size`` grows, each size in a process of its own."""
        seconds, megabytes = [], []
        for size in sizes:
            with Interpreter() as child:
                child.run(f"size = {size}\n{setup}")
                child.value(call)
                seconds.append(min(child.value(call)[1] for _ in range(repeat)))
                megabytes.append(child.megabytes())
        found = Growth(what, unit, list(sizes), seconds, megabytes)
        self.growths.append(found)
        print(found, flush=True)
        return found

    def add(self, row: Row) -> Row:
        """Keep a row, and print it."""
        self.rows.append(row)
        print(row, flush=True)
        return row

    def save(self) -> None:
        """Write ``results/<topic>.json``; not for quick runs, whose sizes are no one's."""
        if "--quick" in sys.argv:
            return
        RESULTS.mkdir(exist_ok=True)
        known = {}
        for name in _PACKAGES:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                known[name] = importlib.metadata.version(name)
        content = {
            "topic": self.topic,
            "machine": {
                "processor": platform.processor() or platform.machine(),
                "cores": os.cpu_count(),
                "system": platform.system(),
                "python": platform.python_version(),
            },
            "versions": known,
            "rows": [asdict(row) for row in self.rows],
            "growths": [asdict(growth) for growth in self.growths],
        }
        (RESULTS / f"{self.topic}.json").write_text(json.dumps(content, indent=1) + "\n")


_CHILD = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
names = {}
for line in sys.stdin:
    kind, code = json.loads(line)
    start = time.process_time()
    if kind == "run":
        exec(code, names)
        answer = None
    elif kind == "value":
        answer = float(eval(code, names))
    else:
        answer = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print("\\x00" + json.dumps([answer, time.process_time() - start]), flush=True)
"""


class Interpreter:
    """A Python process with this corrdp, or with the one of a commit, to run code in."""

    def __init__(self, commit: str | None = None) -> None:
        root = Path(__file__).parents[1]
        source = root if commit is None else _checked_out(root, commit)
        paths = os.pathsep.join([str(source / "src"), os.environ.get("PYTHONPATH", "")])
        # compiled code of two versions must not meet in one cache
        cache = Path(tempfile.gettempdir()) / f"corrdp-compiled-{commit or 'now'}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(cache)},
        )  # fmt: skip

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def _ask(self, kind: str, code: str) -> tuple[Any, float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([kind, code]) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("\x00"):
                value, spent = json.loads(line[1:])
                return value, spent
        raise RuntimeError(f"the process ended at: {code}")

    def run(self, code: str) -> None:
        """Execute statements."""
        self._ask("run", code)

    def value(self, code: str) -> tuple[float, float]:
        """A number, and the CPU seconds it took."""
        return self._ask("value", code)

    def megabytes(self) -> float:
        """Most memory the process has held."""
        return float(self._ask("memory", "")[0])


def _checked_out(root: Path, commit: str) -> Path:
    """The package as it was at a commit."""
    place = Path(tempfile.gettempdir()) / f"corrdp-{commit}"
    if not (place / "src").is_dir():
        place.mkdir(exist_ok=True)
        packed = subprocess.run(
            ["git", "-C", str(root), "archive", commit, "src"], check=True, capture_output=True
        )
        subprocess.run(["tar", "x", "-C", str(place)], input=packed.stdout, check=True)
    return place
