"""Processes for the tests of the ledger. Run as a script; imports nothing but the ledger at first.

An "answer" is a line that this process writes after its charge: the line stands for what is shown.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from corrdp.errors import CorrdpError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.periods import Period


def _promise(level: str) -> Any:
    """An epsilon, or mu: and a number."""
    if not level.startswith("mu:"):
        return float(level)
    from corrdp.guarantees import GDP

    return GDP(float(level[3:]))


def charge(path: str, count: str, level: str) -> None:
    """Charge so many times; print how many were granted."""
    ledger, granted = Ledger.open(path), 0
    for _ in range(int(count)):
        try:
            ledger.charge(_promise(level), what="count")
        except RefusedError as error:
            if "does not fit" not in str(error):
                raise
        else:
            granted += 1
    print(granted)


def _answer(handle: int, text: str) -> None:
    os.write(handle, f"{text}\n".encode())  # one write: a line is there or not


def _charge_and_answer(path: str, answers: str, level: str) -> None:
    ledger = Ledger.open(path)
    handle = os.open(answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    days = level.startswith("days:")
    while True:
        value = random.randrange(10**9)
        asked: dict[str, Any] = {"what": "count", "answer": {"value": value}}
        if days:
            first = max((period.end for period in ledger.periods), default=0)
            asked["period"] = Period(first, first + 1, "number", ("day",), 24)
        line = ledger.charge(_promise(level.removeprefix("days:")), **asked)
        _answer(handle, f"{line.number} {line.hash} {value}")


def killed(path: str, answers: str, times: str, seed: str, level: str = "0.001") -> None:
    """Fork a process that charges and answers, kill it somewhere, so many times."""
    if level.startswith("mu:"):
        _ = Ledger.open(path).remaining_mu  # loads what composes: the children begin at once
    elif level.startswith("days:"):
        _ = Ledger.open(path).remaining_new  # the same
    else:
        assert "numpy" not in sys.modules
    rng = random.Random(int(seed))
    longest = 0.02
    for k in range(int(times)):
        pid = os.fork()
        if pid == 0:
            _charge_and_answer(path, answers, level)
        if k == 0:  # how long three answers take here, so that kills fall before and after some
            start = time.monotonic()
            while not Path(answers).exists() or Path(answers).read_text().count("\n") < 3:
                time.sleep(0.001)
            longest = max(longest, time.monotonic() - start)
        else:
            time.sleep(rng.uniform(0.0, longest))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def release(path: str, answers: str) -> None:
    """Make real releases until killed; says when it is ready."""
    import corrdp as cdp

    ledger = Ledger.open(path)
    calibration = cdp.calibrate(ledger.model, epsilon=0.001, query=cdp.Count(1))
    handle = os.open(answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        made = calibration.release([0, 1, 1, 0, 0, 1], ledger=ledger)
        _answer(handle, f"{made.charge} {made.charge_hash} {made.value}")
        print("ready", flush=True)  # the first release has loaded all it needs


def full_disk(path: str) -> None:
    """Charge on a disk that ends where the file ends; print how many, and the error."""
    size = Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    ledger, granted = Ledger.open(path), 0
    try:
        while granted < 1000:
            ledger.charge(0.0001, what="a long description " * 10)
            granted += 1
    except CorrdpError as error:
        print(granted, type(error).__name__, error)


def unwritable(path: str) -> None:
    """Charge as somebody who may only read."""
    if os.geteuid() == 0:  # root writes everything
        os.setgid(65534)
        os.setuid(65534)
    ledger = Ledger.open(path)
    print(ledger.spent, ledger.check())
    try:
        print("charged", ledger.charge(0.1, what="count").number)
    except CorrdpError as error:
        print(type(error).__name__, error)


if __name__ == "__main__":
    task, *arguments = sys.argv[1:]
    {f.__name__: f for f in (charge, killed, release, full_disk, unwritable)}[task](*arguments)
