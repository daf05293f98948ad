"""One release of a plan: what it promises, what it reads, and where the promise holds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from corrdp._checks import check_choice, check_items, count_distinct
from corrdp._json import encode
from corrdp.accounting.choices import Choice, Flags, Preprocessing, refuse_shrinking
from corrdp.accounting.maps import Columns, Identity, Map, ReadsRecords
from corrdp.errors import CompositionError, InputError
from corrdp.guarantees import (
    GDP,
    L1,
    ZCDP,
    Approximate,
    Guarantee,
    Profile,
    Pure,
    Tradeoff,
    as_guarantee,
)
from corrdp.metric.domains import Domain, ExplicitDomain
from corrdp.metric.finite import check_distance
from corrdp.metric.granularities import Event, FreeLunch, Granularity, as_granularity

Mode = Literal["pre", "common"]
Notion = Literal["pure", "gaussian", "tradeoff", "approximate"]  # the last of totals only


@dataclass(frozen=True)
class DistanceTable:
    """A metric given number by number: between the data sets, or between the labels of a map.

    Parameters
    ----------
    distances : tuple of rows
        May hold inf.
    labels : tuple
        What the rows stand for: labels of a table map. Left out, the data sets of the domain.
    of : Granularity, optional
        The granularity whose canonical metric this is said to be; ``lint`` checks it.
    """

    distances: tuple[tuple[float, ...], ...]
    labels: tuple[Any, ...] | None = None
    of: Granularity | None = None

    def __post_init__(self) -> None:
        rows = tuple(
            tuple(check_distance("distance", x) for x in check_items("a row of distances", row))
            for row in check_items("distances", self.distances)
        )
        matrix = np.array(rows) if len({len(row) for row in rows}) == 1 else np.empty(0)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InputError("a distance table must be square")
        if not (matrix == matrix.T).all() or matrix.diagonal().any():
            raise InputError("a distance table must be symmetric with 0 on its diagonal")
        object.__setattr__(self, "distances", rows)
        if self.labels is not None:
            labels = check_items("labels", self.labels, letters=True)
            object.__setattr__(self, "labels", labels)
            if count_distinct("labels", labels) != len(rows):
                raise InputError(f"{len(labels)} labels for a table of {len(rows)} rows")
        if self.of is not None:
            object.__setattr__(self, "of", as_granularity(self.of))

    def to_json(self) -> dict[str, Any]:
        """Its JSON in a plan."""
        body: dict[str, Any] = {"table": encode(self.distances)}
        if self.labels is not None:
            body["labels"] = list(self.labels)
        return body if self.of is None else body | {"of": self.of.to_json()}


@dataclass(frozen=True, eq=False)
class Step:
    """One release of a plan.

    Parameters
    ----------
    id : str
    guarantee : guarantee or float
        A number is epsilon. 0 is allowed: the output then says nothing among joined data sets.
    map : Map
        What the mechanism reads; the whole data set if left out.
    mode : {"common", "pre"}
        Where the guarantee holds: "common" for the whole release, on the data set; "pre" for the
        mechanism alone, on what the map gives it. They are never the same.
    metric : None, Granularity, "l1", "l2" or DistanceTable
        The unit of the guarantee: neighbours of a granularity; units of the numbers that the map
        gives ("pre"); a table. None for the neighbours that the account asks about.
    preprocessing : tuple of Preprocessing
    flags : Flags
        How the release is made, where that differs from what the theorems expect.

    Examples
    --------
    >>> from corrdp.accounting.maps import ReadsCount
    >>> Step("young", .2, ReadsCount(("yh", "ys")))
    Step 'young': pure 0.2, {'count': ['yh', 'ys']}, common
    """

    id: str
    guarantee: Any
    map: Map = Identity()  # noqa: RUF009
    mode: Mode = "common"
    metric: Granularity | Literal["l1", "l2"] | DistanceTable | None = None
    preprocessing: tuple[Preprocessing, ...] = ()
    flags: Flags = Flags()  # noqa: RUF009

    def __post_init__(self) -> None:
        if not isinstance(self.preprocessing, tuple | list):
            raise InputError(f"preprocessing must be a list, got {self.preprocessing!r}")
        if not isinstance(self.id, str) or not self.id:
            raise InputError(f"id must be a name, got {self.id!r}")
        object.__setattr__(self, "guarantee", _promise(self.guarantee))
        check_choice("mode", self.mode, ("pre", "common"))
        if not isinstance(self.map, Map):
            raise InputError(f"map must be a map of corrdp.accounting.maps, got {self.map!r}")
        plain = self.metric is None or isinstance(self.metric, DistanceTable)
        if not plain and not (isinstance(self.metric, str) and self.metric in ("l1", "l2")):
            object.__setattr__(self, "metric", as_granularity(self.metric))
        if isinstance(self.guarantee, L1):
            if self.guarantee.is_vector:
                raise InputError("give one rate: noise is added to a number, not to records")
            if self.metric not in (None, "l1"):
                raise InputError('an L1 guarantee is per unit of l1: leave metric out, or "l1"')
            object.__setattr__(self, "metric", "l1")
        if self.metric in ("l1", "l2"):
            self._check_numbers()
        object.__setattr__(self, "preprocessing", tuple(self.preprocessing))
        real = self.metric in ("l1", "l2") or isinstance(self.metric, DistanceTable)
        if not (real and self.mode == "pre"):
            refuse_shrinking(self.preprocessing, common=self.mode == "common")
        self._check_choice()

    def _check_choice(self) -> None:
        """A choice says so in the flags; the other way round it must name what it chooses from."""
        if not isinstance(self.flags, Flags):
            raise InputError(f"flags must be Flags, got {self.flags!r}")
        if isinstance(self.map, Choice):
            object.__setattr__(self, "flags", replace(self.flags, map_depends_on_outputs=True))
            if self.notion != "pure":
                raise CompositionError(
                    f"what a {self.notion} release reads cannot be chosen from earlier outputs "
                    "here: that losses add up along every path of outputs is a statement about "
                    "pure releases. Name one map from which all the candidates can be read, such "
                    "as identity or a groupby"
                )
        elif self.flags.map_depends_on_outputs:
            raise InputError(
                'the map depends on earlier outputs: name every map that may be chosen, {"any": '
                "[..]}, or one from which they all can be read, without the flag"
            )

    @property
    def candidates(self) -> tuple[Step, ...]:
        """The release with each map that it may choose; itself where the map is fixed."""
        if not isinstance(self.map, Choice):
            return (self,)
        fixed = replace(self.flags, map_depends_on_outputs=False)
        return tuple(replace(self, map=one, flags=fixed) for one in self.map.maps)

    def _check_numbers(self) -> None:
        if self.mode == "common":
            raise InputError(
                f"a guarantee per unit of {self.metric} is about the numbers that the mechanism "
                'is given: mode "pre". In mode "common" name a granularity'
            )
        if not self.map.numeric:
            raise InputError(
                f"map {self.map.name} gives no numbers, so that {self.metric} has no meaning; "
                "name a granularity of what it gives"
            )
        if self.metric == "l1" and self.notion == "gaussian":
            raise InputError("Gaussian noise is measured in l2: metric l2")
        if self.metric == "l2" and self.notion == "pure":
            raise InputError("a pure guarantee is measured in l1: metric l1")

    @property
    def notion(self) -> Notion:
        """pure, gaussian or tradeoff: how it composes."""
        if isinstance(self.guarantee, GDP):
            return "gaussian"
        if isinstance(self.guarantee, Tradeoff) or (
            isinstance(self.guarantee, Approximate) and self.guarantee.delta > 0
        ):
            return "tradeoff"
        return "pure"

    @property
    def is_vector(self) -> bool:
        """Whether the guarantee has one epsilon per record."""
        return isinstance(self.guarantee, Pure) and self.guarantee.is_vector

    @property
    def level(self) -> Any:
        """Epsilon or mu per unit, preprocessing included; an array for one per record."""
        promise = self.guarantee
        if isinstance(promise, L1):
            base = promise.rate
        elif isinstance(promise, GDP):
            base = promise.mu
        elif isinstance(promise, Tradeoff):
            base = 1.0  # counted in distances; the curve comes later
        else:
            base = promise.epsilon if self.notion == "pure" else 1.0
        factor = math.prod(
            1.0 if p.sensitivity is None else p.sensitivity for p in self.preprocessing
        )
        return base * factor

    def unit(self, unit: Granularity) -> Granularity | str | DistanceTable:
        """The metric of the guarantee when neighbours are those of ``unit``."""
        return unit if self.metric is None else self.metric

    def check(self, domain: Domain) -> None:
        """Refuse what cannot be read or has no meaning on the domain."""
        if isinstance(self.map, Choice):
            for candidate in self.candidates:
                candidate.check(domain)
            return
        self.map.check(domain)
        if self.mode == "pre" and self.map.numeric and self.metric is None:
            raise InputError(
                f"in mode pre the mechanism is given the numbers of map {self.map.name}: say "
                'metric "l1" (pure) or "l2" (Gaussian)'
            )
        if self.mode == "pre" and self.map.numeric and isinstance(self.metric, Granularity):
            if not isinstance(self.metric, FreeLunch):
                raise InputError(
                    f"{self.metric} has no meaning for the numbers of map {self.map.name}; in mode "
                    "pre say l1, l2 or free-lunch"
                )
        elif isinstance(self.metric, DistanceTable):
            self._check_table(domain)
        elif isinstance(self.metric, Granularity) and (
            self.mode == "common" or isinstance(self.map, Identity | ReadsRecords | Columns)
        ):
            self.metric.check(domain)
        if self.is_vector:
            self._check_vector(domain)

    def check_promise(self, domain: Domain) -> None:
        """Refuse a guarantee whose price is unknown, or that promises nothing on the domain."""
        if not self.flags.independent_noise:
            raise CompositionError(
                "it shares noise with another release, and no composition theorem covers that: the "
                "difference of two answers with the same noise is exact. State the releases that "
                "share noise as one, with the guarantee that they have together"
            )
        for p in self.preprocessing:
            if not p.priced:
                raise CompositionError(
                    f"preprocessing {p.name!r} learns from the data and has no sensitivity: its "
                    "price is unknown (lint L-15). Fix it from public knowledge, or state its "
                    "sensitivity"
                )
            if p.sensitivity == math.inf:
                raise CompositionError(
                    f"preprocessing {p.name!r} has no finite sensitivity: neighbours may come out "
                    "arbitrarily far apart, and nothing of the guarantee is left"
                )
        where_it_holds = self.mode == "common" or any(
            isinstance(one.map, Identity | ReadsRecords | Columns) for one in self.candidates
        )
        if isinstance(self.metric, Granularity) and where_it_holds:
            empty = self.metric.vacuous(domain)
            if empty:
                raise InputError(
                    f"a guarantee at {self.metric} granularity promises nothing here (lint L-11): "
                    f"{empty}"
                )

    def _check_table(self, domain: Domain) -> None:
        assert isinstance(self.metric, DistanceTable)
        if not isinstance(domain, ExplicitDomain):
            raise InputError("a distance table needs an explicit domain")
        rows = len(self.metric.distances)
        if self.mode == "common" or isinstance(self.map, Identity):
            if self.metric.labels is not None:
                raise InputError(
                    "labels are for mode pre on a table map; here the rows are the data sets, in "
                    "the order of the domain"
                )
            if rows != domain.count():
                raise InputError(f"{rows} rows for the {domain.count():g} data sets of the domain")
            return
        labels = set(getattr(self.map, "labels", ()))
        if self.metric.labels is None or not labels <= set(self.metric.labels):
            raise InputError("in mode pre the table needs a row for each label of the map")

    def _check_vector(self, domain: Domain) -> None:
        wanted = {"tuple": "length", "stream": "steps"}.get(domain.type)
        if wanted is None:
            raise InputError("one epsilon per record needs a tuple or stream domain")
        if len(self.guarantee.epsilon) != getattr(domain, wanted):
            raise InputError(
                f"{len(self.guarantee.epsilon)} epsilons for {getattr(domain, wanted)} records"
            )
        if self.mode == "pre" or (
            domain.type == "stream" and not isinstance(self.metric, Event | None)
        ):
            raise InputError("one epsilon per record is a promise about the data: mode common")

    def scaled_by(self, factor: float) -> Step:
        """The same release with its epsilon or mu times a factor."""
        promise: Any = self.guarantee
        if isinstance(promise, L1):
            promise = L1(promise.rate * factor)
        elif isinstance(promise, GDP):
            promise = GDP(promise.mu * factor)
        elif self.notion == "tradeoff":
            raise CompositionError(
                f"step {self.id!r}: a trade-off curve has no scale; state epsilon or mu"
            )
        elif isinstance(promise, Pure):
            promise = Pure(promise.epsilon * factor)
        return replace(self, guarantee=promise)

    def __repr__(self) -> str:
        level = "per record" if self.is_vector else f"{self.level:.6g}"
        unit = "" if self.metric is None else f" per unit of {self.metric}"
        what = level if self.notion != "tradeoff" else str(self.guarantee)
        return f"Step {self.id!r}: {self.notion} {what}{unit}, {self.map}, {self.mode}"

    def to_dict(self) -> dict[str, Any]:
        """One entry of ``releases``."""
        body: dict[str, Any] = {"id": self.id, "notion": self.notion, **_promise_json(self)}
        body |= {"map": encode(self.map.to_json()), "mode": self.mode}
        if isinstance(self.metric, str):
            if not isinstance(self.guarantee, L1):
                body["metric"] = self.metric
        elif self.metric is not None:
            body["metric"] = self.metric.to_json()
        if self.preprocessing:
            body["preprocessing"] = [dict(vars(p)) for p in self.preprocessing]
        flags = self.flags.to_dict()
        return body | ({"flags": flags} if flags else {})


_MOST = 1e100  # sums of larger levels would overflow


def _promise(value: Any) -> Guarantee:
    if isinstance(value, int | float) and not isinstance(value, bool) and value == 0:
        return Approximate(0.0, 0.0)
    try:
        promise = as_guarantee(value)
        if isinstance(promise, ZCDP | Profile) or (
            isinstance(promise, Approximate | GDP) and promise.is_vector
        ):
            raise InputError(
                "a release of a plan has one epsilon, (epsilon, delta) or mu, or epsilons per "
                f"record; got {type(promise).__name__}"
            )
        level = getattr(promise, "rate", getattr(promise, "mu", getattr(promise, "epsilon", 0.0)))
        if not np.max(level) <= _MOST:
            raise InputError(f"a level of {np.max(level):g} promises nothing (at most {_MOST:g})")
        return promise
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"eps must be a number, or one per record; got {value!r}") from None


def _promise_json(step: Step) -> dict[str, Any]:
    promise = step.guarantee
    if isinstance(promise, L1):
        return {"rate": encode(promise.rate)}
    if isinstance(promise, GDP):
        return {"mu": promise.mu}
    if isinstance(promise, Tradeoff):
        curve: Any = promise.curve
        if not hasattr(curve, "p"):
            raise InputError(
                f"step {step.id!r}: a curve given as a function has no JSON; give two laws, "
                "corrdp.metric.tradeoff.pair_curve(p, q)"
            )
        return {"p": encode(curve.p), "q": encode(curve.q)}
    body = {"eps": encode(promise.epsilon)}
    return body | ({"delta": promise.delta} if step.notion == "tradeoff" else {})
