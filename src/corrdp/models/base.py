"""What every dependence model offers to the bounds."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cached_property, wraps
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    ParamSpec,
    Protocol,
    TypeVar,
    runtime_checkable,
)

import numpy as np

from corrdp._checks import LONGEST, check_items, check_path, check_whole, count_distinct
from corrdp._files import write_files
from corrdp._json import SCHEMA, encode
from corrdp.errors import InputError, ModelError
from corrdp.results import verb
from corrdp.tables.source import Layout

if TYPE_CHECKING:
    from corrdp.calibration.sweep import Sweep
    from corrdp.queries import Query
    from corrdp.tables.source import Table


P = ParamSpec("P")
T = TypeVar("T")
_MANY = 500_000  # numbers that are written faster by compiled code, once it is compiled


class Fit(Protocol):
    """What every fit says of the data that a model was fitted to."""

    @property
    def missing_text(self) -> tuple[str, ...]:
        """Texts that mean "not recorded"."""

    @property
    def layout(self) -> Layout:
        """How their text file is laid out."""

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the fit takes for granted, in words."""


class RealFit(Fit, Protocol):
    """A fit to columns of real numbers."""

    @property
    def reading(self) -> tuple[str, ...]:
        """The columns."""


@runtime_checkable
class Blocked(Protocol):
    """A model that falls apart into blocks."""

    @property
    def block_of_record(self) -> np.ndarray:
        """Number of the block of each record; records of different blocks are independent."""


class Model(ABC):
    """A law of dependence between records."""

    kind: ClassVar[str]
    states: tuple[Any, ...] | None = None
    length: int | None = None
    fitted: Fit | None = None

    @property
    def records(self) -> int | None:
        """Number of records in the data set, when the model fixes it."""
        return self.length

    def reads(self, query: Query) -> np.ndarray | None:
        """Which records a query reads, as 0/1; None when it reads them all."""
        return None if self.length is None else query.pattern(self.length)

    @property
    def private_epsilon(self) -> float | None:
        """What a private fit of these very records has spent; None where there was none."""
        return None

    @property
    def record_laws(self) -> np.ndarray | None:
        """The law of each record by itself, shape (n, s); one row where all have the same.

        None where records are no finite states, or their law is not worked out.
        """
        return None

    def check_table(self, table: Table) -> None:
        """Refuse a table whose rows are not the records of the model."""
        return

    @property
    def fit_assumptions(self) -> tuple[str, ...]:
        """What a fit says of its data, in words; these may hold fitted numbers."""
        return () if self.fitted is None else tuple(self.fitted.assumptions)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the model itself takes for granted, in words."""
        return ()

    @abstractmethod
    def describe(self) -> str:
        """One line for people."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The model's own keys in its file."""

    @cached_property
    def digest(self) -> str:
        """Fingerprint of the model: SHA-256 of its canonical JSON."""
        found = hashlib.sha256()
        for piece in _canonical({"corrdp": SCHEMA, "model": self.kind, **self.fields()}):
            found.update(piece)
        return found.hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The model file as plain JSON."""
        return {
            "corrdp": SCHEMA,
            "model": self.kind,
            **encode(self.fields()),
            "digest": self.digest,
        }

    def sweep(
        self,
        levels: Sequence[float],
        asked: Literal["leakage", "calibrate"] = "leakage",
        **options: Any,
    ) -> Sweep:
        """Leakage of many epsilons on this model, or the noise for many targets.

        See :func:`corrdp.calibration.sweep.sweep`.
        """
        found: Sweep = verb("calibration.sweep.sweep")(self, levels, asked, **options)
        return found

    def save(self, path: str | Path) -> None:
        """Write the model file; a crash leaves the old file or the new one, never half of it."""
        place = Path(check_path("path", path))
        try:
            write_files({place: json.dumps(self.to_dict(), indent=1) + "\n"})
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None

    def __repr__(self) -> str:
        return f"<{self.describe()}>"


def layout_told(fit: Callable[P, T]) -> Callable[P, T]:
    """A ``fit`` that says where the layout of a text file is given, if it is given to ``fit``."""

    @wraps(fit)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        if stray := sorted({"decimal", "delimiter", "header", "names"} & kwargs.keys()):
            raise InputError(
                f"{stray[0]}= is not for fit: how a text file is laid out is said where it is "
                "opened. from corrdp.tables.source import Layout, open_table, then "
                f"fit(open_table(path, layout=Layout({stray[0]}=...)), ...)"
            )
        return fit(*args, **kwargs)

    return told


def _canonical(value: Any) -> Iterator[bytes]:
    """JSON with sorted keys and without blanks, piece by piece: large matrices are never a text."""
    if isinstance(value, dict):
        for k, key in enumerate(sorted(value, key=str)):
            yield f"{',' if k else '{'}{json.dumps(str(key))}:".encode()
            yield from _canonical(value[key])
        yield b"}" if value else b"{}"
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for k, entry in enumerate(value):
            yield b"," if k else b"["
            yield from _canonical(entry)
        yield b"]"
    elif isinstance(value, np.ndarray) and _is_large(value):
        from corrdp._numerals import numerals

        yield from numerals(value)
    elif isinstance(value, np.ndarray) and value.dtype == float and value.ndim == 3:
        from corrdp.models.chains.stretches import distinct

        different, which = distinct(value)  # kernels of a chain that repeat: one text for each
        texts = [b"".join(_canonical(entry)) for entry in different]
        yield b"[%b]" % b",".join([texts[k] for k in which.tolist()])
    else:
        yield json.dumps(encode(value), sort_keys=True, separators=(",", ":")).encode()


def _is_large(array: np.ndarray) -> bool:
    plain = array.dtype == float and array.ndim <= 2
    return plain and array.size > _MANY and bool(np.isfinite(array).all())


class RealModel(Model):
    """A law of real numbers, on which mechanisms can be private by distance."""

    # between which values an adversary tells records apart
    secret_range: tuple[float, float] | None
    fitted: RealFit | None


def fit_fields(cls: type, data: Any) -> dict[str, Any]:
    """The fields of a fit read from a file; an unknown or absent key is an error."""
    names = {part.name for part in fields(cls)}
    late = {part.name: part.default for part in fields(cls) if "added" in part.metadata}
    given = set(data) if isinstance(data, dict) else set()
    lacking = names - set(late) - given
    if not isinstance(data, dict) or lacking or not given <= names:
        raise ModelError(
            f"fit has unknown keys {sorted(given - names)} and lacks {sorted(lacking)}"
        )
    kept = {**late, **data}
    if "layout" in data:
        kept["layout"] = Layout.from_dict(data["layout"])
    return kept


def check_length(length: Any) -> int | None:
    """A positive whole number, or None for any length."""
    if length is None:
        return None
    return check_whole("length", length, most=LONGEST, error=ModelError)


def check_states(states: Any, s: int) -> tuple[Any, ...]:
    """Distinct labels of s states; 0..s-1 when left out."""
    if states is None:
        return tuple(range(s))
    named = check_items("states", states, letters=True, error=ModelError)
    distinct = count_distinct("states", named, error=ModelError)
    if len(named) != s or distinct != s:
        raise ModelError(f"need {s} distinct states, got {named!r}")
    return named
