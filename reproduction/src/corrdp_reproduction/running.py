"""Running published figures again: several at once, with fixed seeds, going on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import corrdp
from corrdp import __version__
from corrdp.errors import InputError
from corrdp_reproduction.base import Finding, Result, Size, Table
from corrdp_reproduction.catalogue import experiments, load
from corrdp_reproduction.harness import silent
from corrdp_reproduction.recordings import VARIABLE, NoDataError
from corrdp_reproduction.response_attackers import usual_attackers

ATTACKED = "001-figure-4"
SEED = 20261116  # of every run; each experiment draws from a stream of its own


@dataclass(frozen=True)
class Task:
    """One experiment to be run: enough to run it in another process, and to know it again."""

    name: str
    size: Size
    data: str | None
    attackers: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the result depends on: the code, the size, the seed and the data at hand."""
        held = []
        if self.data is not None and Path(self.data).is_dir():
            held = [(p.name, p.stat().st_size) for p in sorted(Path(self.data).iterdir())]
        text = json.dumps([__version__, _code(), self.name, self.size, SEED, held, self.attackers])
        return hashlib.sha256(text.encode()).hexdigest()


@cache
def _code() -> str:
    """Fingerprint of both packages: a change anywhere may change a number."""
    code = hashlib.sha256()
    for root in (Path(corrdp.__file__).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            code.update(path.read_bytes())
    return code.hexdigest()


def run_task(task: Task, progress: Callable[[int, int], None] = silent) -> Result:
    """Run one experiment; what needs data that are not there says so in every claim.

    Examples
    --------
    >>> run_task(Task("001-figure-1", "quick", None)).experiment
    '001-figure-1'
    """
    experiment = load(task.name)
    stream = int.from_bytes(hashlib.sha256(task.name.encode()).digest()[:8], "big")
    rng = np.random.default_rng([SEED, stream])
    chosen = {"attackers": task.attackers} if task.attackers else {}
    try:
        return experiment.computed(
            rng=rng, size=task.size, data=task.data, progress=progress, **chosen
        )
    except NoDataError as error:
        told = tuple(Finding(claim, "data missing", str(error)) for claim in experiment.published)
        return Result(task.name, task.size, Table((), ()), told)


def reproduce(
    names: Sequence[str] | None = None,
    *,
    size: Size = "full",
    data: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    store: str | os.PathLike[str] | None = None,
    told: Callable[[str, int, int], None] | None = None,
    attackers: Sequence[str] = (),
) -> tuple[Result, ...]:
    """Run published figures and tables again, and judge every claim.

    Parameters
    ----------
    names : sequence of str, optional
        Which, by their names in the catalogue; all when left out. A
        beginning such as ``"002"`` stands for all names that start with it.
    size : "full" or "quick"
        Quick runs use fewer repetitions; the claims are the same.
    data : path, optional
        Directory of the public tables; that of ``CORRDP_DATA`` when left out.
    jobs : int
        Processes at once.
    store : path, optional
        Directory that keeps each result; one that is there and was made by the same code, seed
        and data is not made again.
    told : callable, optional
        ``told(name, done, total)`` after each experiment.
    attackers : sequence of str
        Which attackers play in the figure that has a choice of them, 001-figure-4: some of viterbi,
        forward-backward, single and lstm. Left out, all of them that can: lstm needs PyTorch.

    Examples
    --------
    >>> [result.outcome for result in reproduce(["001-figure-3"], size="quick")]
    ['refuted']
    """
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    place = os.environ.get(VARIABLE) if data is None else os.fspath(data)
    if data is not None and not Path(data).is_dir():
        raise InputError(f"{data} is not a directory: name the one that holds the public tables")
    play = tuple(attackers) or usual_attackers()
    tasks = [
        Task(name, size, place or None, play if name == ATTACKED else ())
        for name in matching(names)
    ]
    kept = None if store is None else Path(store)
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
    results = {task.name: found for task in tasks if (found := _stored(task, kept)) is not None}
    done = len(results)
    report = told or (lambda name, done, total: None)
    report("", done, len(tasks))
    for task, result in _run_all([t for t in tasks if t.name not in results], jobs):
        results[task.name] = result
        _keep(task, result, kept)
        done += 1
        report(task.name, done, len(tasks))
    return tuple(results[task.name] for task in tasks)


def matching(names: Sequence[str] | None) -> list[str]:
    """The experiments whose names are given, or begin so; in the order of the catalogue.

    Examples
    --------
    >>> matching(["001-figure-2"])
    ['001-figure-2']
    """
    every = list(experiments())
    if names is None:
        return every
    for name in names:
        if not any(known.startswith(name) for known in every):
            raise InputError(f"there is no experiment {name!r}; there are {', '.join(every)}")
    return [known for known in every if any(known.startswith(name) for name in names)]


def _run_all(tasks: list[Task], jobs: int) -> Iterator[tuple[Task, Result]]:
    """Each task with its result, as they come."""
    from joblib import Parallel, delayed

    # fresh interpreters: a fork would copy the threads of numba and OpenDP in whatever state
    parallel = Parallel(min(jobs, max(1, len(tasks))), return_as="generator_unordered")
    yield from parallel(delayed(_with_result)(task) for task in tasks)


def _with_result(task: Task) -> tuple[Task, Result]:
    return task, run_task(task)


def _file(task: Task, store: Path) -> Path:
    return store / f"{task.name}-{task.size}.json"


def _stored(task: Task, store: Path | None) -> Result | None:
    if store is None or not _file(task, store).is_file():
        return None
    try:
        body = json.loads(_file(task, store).read_text())
        return Result.from_dict(body["result"]) if body["key"] == task.key else None
    except (ValueError, KeyError, TypeError, InputError):
        return None  # half a file, or another program's: made again


def _keep(task: Task, result: Result, store: Path | None) -> None:
    if store is None:
        return
    from corrdp._files import write_files

    body = {"key": task.key, "result": result.to_dict()}
    write_files({_file(task, store): json.dumps(body, indent=1) + "\n"})
