"""A mechanism that is a program: one input per line in, one output per line out."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corrdp.auditing import workers as groups
from corrdp.auditing.outputs import gathered
from corrdp.auditing.workers import Failure
from corrdp.errors import InputError

SEED = "CORRDP_SEED"
_SHOWN = 200  # characters of what a program says on stderr


@dataclass(frozen=True)
class Command:
    """A program that reads one input per line and writes one output per line.

    It is started once per batch and must end when its input ends. Each start has another whole
    number in the environment variable ``CORRDP_SEED``; a program that seeds its generator from
    it gives the same outputs in every audit with the same ``rng``. An output is a number,
    numbers separated by blanks or commas (a vector), or a text.

    It runs in a process group of its own, which is killed when the program has ended, hangs or is
    stopped; a daemon or a child with a session of its own leaves the group and is out of reach.
    Each of its processes may have data of half of the machine's memory, and no file that it
    writes, its outputs among them, may exceed 1 GiB.

    Parameters
    ----------
    text : str
        Program and arguments, as typed; no shell reads them.

    Examples
    --------
    >>> Command("python noisy.py --scale 2").arguments
    ('python', 'noisy.py', '--scale', '2')
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.arguments:
            raise InputError(f"a command is a program with its arguments, got {self.text!r}")

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words of the command."""
        try:
            return tuple(shlex.split(self.text))
        except ValueError as error:
            raise InputError(f"cannot read the command {self.text!r}: {error}") from None


class CommandJob:
    """A batch that a program answers; see :class:`corrdp.auditing.running.Job`.

    Input, output and messages are files: neither side ever waits for the other, and what has
    been written is there when the program dies or is stopped.

    Parameters
    ----------
    command : Command
    values : sequence
    seed : numpy SeedSequence
    """

    def __init__(
        self, command: Command, values: Sequence[Any], seed: np.random.SeedSequence
    ) -> None:
        self.chunks: list[np.ndarray] = []
        self._values, self._lines, self._rest = values, 0, ""
        self._folder = tempfile.TemporaryDirectory(prefix="corrdp-audit-")
        home = Path(self._folder.name)
        (home / "in").write_text("".join(_line(value) for value in values), encoding="utf-8")
        number = int(seed.generate_state(1)[0])
        try:
            with (
                (home / "in").open() as taken,
                (home / "out").open("w") as given,
                (home / "err").open("w") as said,
                warnings.catch_warnings(),
            ):
                # other threads do not exist in the child: it only sets its limits
                warnings.filterwarnings("ignore", ".*fork.*", DeprecationWarning)
                self._process = subprocess.Popen(
                    command.arguments,
                    stdin=taken,
                    stdout=given,
                    stderr=said,
                    env={**os.environ, SEED: str(number)},
                    start_new_session=True,  # Ctrl-C is for the audit; stop() ends the group
                    preexec_fn=_confine,
                )
        except OSError as error:
            self._folder.cleanup()
            raise InputError(
                f"cannot run {command.arguments[0]!r}: {error.strerror or error}"
            ) from None
        self._out = (home / "out").open(encoding="utf-8", errors="replace", newline="\n")
        self._said = home / "err"

    def advance(self) -> bool:
        """Take in the lines written since; whether the batch is complete."""
        # before reading: what is written after it comes next time
        ended = groups.has_ended(self._process.pid)
        self._take(self._out.read(), ended=ended)
        if not ended:
            return False
        code = self._end()
        if self._too_much():
            most = f"{groups.MOST_OUTPUT / 2**20:.4g} MiB"
            raise Failure(f"the program wrote more than {most} after {self._tally()}")
        if code:
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise Failure(f"the program died ({how}) after {self._tally()}{self._message()}")
        if self._lines < len(self._values):
            raise Failure(f"the program ended after {self._tally()}{self._message()}")
        return True

    def waiting_for(self) -> int | None:
        """Not known: a program may hold back its lines."""
        return 0 if len(self._values) == 1 else None

    def stop(self) -> None:
        """End the program and all it started."""
        self._end()
        self._out.close()
        self._folder.cleanup()

    def _end(self) -> int:
        if self._process.returncode is None:
            groups.end_group(self._process.pid)
        return self._process.wait()

    def _too_much(self) -> bool:
        home = Path(self._folder.name)
        written = max((home / name).stat().st_size for name in ("out", "err"))
        return written >= groups.MOST_OUTPUT

    def _take(self, text: str, *, ended: bool) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        if ended and self._rest:
            lines, self._rest = [*lines, self._rest], ""
        self._lines += len(lines)
        if self._lines > len(self._values):
            raise Failure(f"the program wrote more than {self._tally(len(self._values))}")
        if lines:
            self.chunks.append(gathered([_parsed(line) for line in lines]))

    def _tally(self, lines: int | None = None) -> str:
        count = self._lines if lines is None else lines
        return f"{count} line{'' if count == 1 else 's'} for {len(self._values)} inputs"

    def _message(self) -> str:
        said = self._said.read_text(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "")
        return f": {last[:_SHOWN]}" if last else ""


def _confine() -> None:
    groups.confine(files=True)


def _line(value: Any) -> str:
    text = str(value)
    if "\n" in text or "\r" in text:
        raise InputError(f"input {value!r} does not fit on a line")
    return text + "\n"


def _parsed(line: str) -> Any:
    """A number, a vector of numbers, or the text itself; None for an empty line."""
    text = line.strip()
    if not text:
        return None
    parts = [_number(part) for part in text.replace(",", " ").split()]
    if not parts or any(part is None for part in parts):
        return text
    return parts if len(parts) > 1 else parts[0]


def _number(text: str) -> float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
