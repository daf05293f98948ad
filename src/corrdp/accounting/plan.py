"""A plan: the data sets, who is protected, the releases to be composed; and reading its JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corrdp._checks import check_choice, check_items, check_path, old_attribute, renamed
from corrdp._json import encode
from corrdp.accounting.choices import Choice, flags_from_json
from corrdp.accounting.maps import (
    Cliques,
    Columns,
    Degree,
    GroupBy,
    Identity,
    Map,
    ReadsCount,
    ReadsRecords,
    ReadsSum,
    ReadsTable,
    Select,
    frozen,
)
from corrdp.accounting.step import DistanceTable, Preprocessing, Step
from corrdp.errors import CorrdpError, InputError
from corrdp.guarantees import GDP, L1, Approximate, Tradeoff
from corrdp.metric.domains import Domain, domain_from_dict
from corrdp.metric.finite import check_distance
from corrdp.metric.granularities import Granularity, as_granularity

_READERS: dict[str, Any] = {
    "count": ReadsCount,
    "groupby": GroupBy,
    "select": Select,
    "sum": ReadsSum,
    "columns": Columns,
    "column": lambda t: Columns((t,)),
    "degree": Degree,
    "cliques": Cliques,
    "table": ReadsTable,
}


def map_from_json(data: Any) -> Map:
    """Read a map from JSON such as ``"identity"`` or ``{"count": ["young"]}``.

    Examples
    --------
    >>> map_from_json({"column": 3})
    Columns(steps=(3,))
    """
    if data == "identity":
        return Identity()
    if isinstance(data, dict):
        if set(data) == {"any"}:
            if not isinstance(data["any"], list):
                raise InputError(f"map any: expected a list of maps, got {data['any']!r}")
            return Choice(tuple(map_from_json(one) for one in data["any"]))
        if set(data) == {"records"}:
            return ReadsRecords(data["records"])
        keys = [key for key in data if key != "records"]
        if len(keys) == 1 and keys[0] in _READERS:
            arguments = [data[keys[0]]] + ([data["records"]] if "records" in data else [])
            try:
                found = _READERS[keys[0]](*arguments)
                hash(found)  # atoms and labels must be plain values
                return found
            except InputError:
                raise
            except (TypeError, ValueError):
                pass
    raise InputError(
        f"unknown map {data!r}; expected identity, records, any, {', '.join(_READERS)}"
    )


_KEYS = (
    "id",
    "notion",
    "eps",
    "mu",
    "rate",
    "delta",
    "p",
    "q",
    "map",
    "mode",
    "metric",
    "preprocessing",
    "flags",
)
_PROMISES = {"pure": ("eps", "rate"), "gaussian": ("mu",), "tradeoff": ("eps", "delta", "p", "q")}


def step_from_dict(data: Any) -> Step:
    """Read one entry of ``releases``.

    Examples
    --------
    >>> step_from_dict({"id": "all", "notion": "gaussian", "mu": .5})
    Step 'all': gaussian 0.5, identity, common
    """
    if not isinstance(data, dict):
        raise InputError(f"a release must be an object, got {data!r}")
    for key in data:
        if key not in _KEYS:
            raise InputError(f"unknown key {key!r}; a release has {', '.join(_KEYS)}")
    notion = data.get("notion", "pure")
    if notion not in list(_PROMISES):
        raise InputError(f"notion must be one of {', '.join(_PROMISES)}; got {notion!r}")
    given = {key: data[key] for key in ("eps", "mu", "rate", "delta", "p", "q") if key in data}
    for key in given:
        if key not in _PROMISES[notion]:
            raise InputError(f"{key!r} does not go with notion {notion}")
    if "id" not in data:
        raise InputError("a release needs an id")
    metric: Any = data.get("metric")
    if isinstance(metric, dict) and "table" in metric:
        metric = _read_table(metric)
    try:
        before = tuple(Preprocessing(**p) for p in data.get("preprocessing", ()))
    except TypeError as error:
        raise InputError(f"preprocessing has name, sensitivity and learned: {error}") from None
    try:
        promise = _read_promise(notion, given)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"{', '.join(given)} must be numbers: {error}") from None
    return Step(
        data["id"],
        promise,
        map_from_json(data.get("map", "identity")),
        data.get("mode", "common"),
        metric,
        before,
        flags_from_json(data.get("flags", {})),
    )


def _read_table(data: dict[str, Any]) -> DistanceTable:
    extra = {key: data[key] for key in data if key != "table"}
    try:
        if "labels" in extra:
            extra["labels"] = tuple(map(frozen, extra["labels"]))
        return DistanceTable(data["table"], **extra)
    except TypeError as error:
        raise InputError(f"a distance table has table, labels and of: {error}") from None


def _read_promise(notion: str, given: dict[str, Any]) -> Any:
    keys = set(given)
    if notion == "gaussian" and keys == {"mu"}:
        return GDP(given["mu"])
    if notion == "pure" and keys == {"rate"}:
        return L1(given["rate"])
    if notion == "pure" and keys == {"eps"}:
        return given["eps"]
    if notion == "tradeoff" and keys == {"eps", "delta"}:
        return Approximate(given["eps"], given["delta"])
    if notion == "tradeoff" and keys == {"p", "q"}:
        from corrdp.metric.tradeoff import pair_curve

        return Tradeoff(pair_curve(given["p"], given["q"]))
    wanted = {"pure": "eps, or rate", "gaussian": "mu", "tradeoff": "eps and delta, or p and q"}
    raise InputError(f"notion {notion} needs {wanted[notion]}; got {', '.join(given) or 'none'}")


SCHEMA = {
    "domain": 'type and fields: {"type": "multiset", "atoms": [..]} (size or largest optional), '
    '{"type": "tuple", "length": 7, "atoms": [..]}, {"type": "graph", "vertices": 5}, '
    '{"type": "stream", "users": 3, "steps": 8} (atoms, periodic optional), '
    '{"type": "users", "users": 2, "atoms": [..]} (points or largest optional), '
    '{"type": "explicit", "items": [..]} (of optional)',
    "targets": "granularities to answer for: bounded, unbounded, edge, free-lunch, local, event, "
    "w-event(3), l-trajectory(2), trajectory, user, or an object with type and fields",
    "releases[].id": "a name, each once",
    "releases[].notion": "pure (default), gaussian or tradeoff",
    "releases[].eps, rate, mu, delta, p, q": "pure: eps (one number, or one per record) or rate "
    "(per unit of l1); gaussian: mu; tradeoff: eps and delta, or two laws p and q",
    "releases[].map": 'identity (default), {"count": [atoms]}, {"groupby": [[atoms], ..]}, '
    '{"select": [atoms]}, {"sum": [[atom, number], ..]} (each but select with "records" on '
    'tuples), {"records": [numbers]} or {"records": {"start": 0, "stop": 9}}, {"column": t}, '
    '{"columns": [t, ..]}, {"degree": vertex}, {"cliques": size}, {"table": [labels]}, '
    'or {"any": [maps]} where it is chosen from earlier outputs',
    "releases[].mode": "common (default): the guarantee is about the whole release on the data "
    "set; pre: about the mechanism alone, on what the map gives it",
    "releases[].metric": "unit of the guarantee: a granularity (default: the plan's unit), l1 or "
    'l2 of the numbers (mode pre), or {"table": [[..]]} (labels, of optional)',
    "releases[].flags": '{"reads_previous_outputs": true, "map_depends_on_outputs": false, '
    '"released": true, "independent_noise": true}: how the release is made, where it differs',
    "releases[].preprocessing": '[{"name": "clip", "sensitivity": 1.0, "learned": false}]: taken '
    "as stated; below 1 in mode pre with l1, l2 or a table only",
    "claims": '[{"target": "bounded", "eps": 1.3}], eps or mu',
}
"""The keys of a plan file and what they hold."""


@dataclass(frozen=True)
class Claim:
    """A total that somebody states for a plan.

    Examples
    --------
    >>> Claim("bounded", 1.3)
    Claim(unit=Bounded(), level=1.3, notion='pure')
    """

    unit: Granularity
    level: float
    notion: str = "pure"
    target = old_attribute("target", "unit")

    def __post_init__(self) -> None:
        object.__setattr__(self, "unit", as_granularity(self.unit))
        object.__setattr__(self, "level", check_distance("claimed level", self.level))
        check_choice("notion", self.notion, ("pure", "gaussian"))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        key = "eps" if self.notion == "pure" else "mu"
        return {"target": self.unit.to_json(), key: encode(self.level)}

    @classmethod
    def from_dict(cls, data: Any) -> Claim:
        """Read a claim such as ``{"target": "bounded", "eps": 1.3}``; a claim is left as it is.

        Examples
        --------
        >>> Claim.from_dict({"target": "user", "mu": .5}).notion
        'gaussian'
        """
        if isinstance(data, Claim):
            return data
        if not isinstance(data, dict) or set(data) not in ({"target", "eps"}, {"target", "mu"}):
            raise InputError(f"a claim has target and eps (or mu), got {data!r}")
        notion = "pure" if "eps" in data else "gaussian"
        return cls(data["target"], data["eps" if notion == "pure" else "mu"], notion)


Claim.__init__ = renamed(target="unit")(Claim.__init__)  # type: ignore[method-assign]


@dataclass(frozen=True, eq=False)
class Plan:
    """Releases over one data set, to be composed by :func:`corrdp.accounting.account.account`.

    Parameters
    ----------
    domain : Domain
    steps : sequence of Step
        The releases; ids differ.
    units : sequence of granularities
        Who is to be protected.
    claims : sequence of Claim
        Totals to be checked.

    Examples
    --------
    >>> from corrdp.metric.domains import MultisetDomain
    >>> Plan(MultisetDomain(("a", "b")), [Step("all", .5)], ["bounded"])
    Plan: 1 release on a multiset domain, for bounded
      Step 'all': pure 0.5, identity, common
    """

    domain: Domain
    steps: tuple[Step, ...]
    units: tuple[Granularity, ...] = ()
    claims: tuple[Claim, ...] = ()
    targets = old_attribute("targets", "units")

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain):
            raise InputError(f"domain must be one of corrdp.metric.domains, got {self.domain!r}")
        object.__setattr__(self, "steps", check_items("steps", self.steps))
        seen: dict[str, int] = {}
        for k, step in enumerate(self.steps):
            if not isinstance(step, Step):
                raise InputError(f"releases[{k}] must be a Step, got {step!r}")
            if step.id in seen:
                raise InputError(
                    f"releases[{k}]: id {step.id!r} is already that of releases[{seen[step.id]}]; "
                    "give each release its own"
                )
            seen[step.id] = k
            with at(f"releases[{k}] ({step.id!r})"):
                step.check(self.domain)
        # messages speak of the keys in a file, which has called the units targets since 0.1
        readers = (("units", "targets", as_granularity), ("claims", "claims", Claim.from_dict))
        for name, key, read in readers:
            items = getattr(self, name)
            if isinstance(items, str) or not isinstance(items, Sequence):
                raise InputError(f"{key} must be a list, got {items!r}")
            object.__setattr__(self, name, tuple(_each(key, items, read)))
        for k, unit in enumerate(self.units):
            with at(f"targets[{k}]"):
                unit.check(self.domain)
        for k, claim in enumerate(self.claims):
            with at(f"claims[{k}]"):
                claim.unit.check(self.domain)

    def __repr__(self) -> str:
        many = "release" if len(self.steps) == 1 else "releases"
        whom = ", ".join(map(str, self.units)) or "no unit yet"
        lines = [f"Plan: {len(self.steps)} {many} on a {self.domain.type} domain, for {whom}"]
        shown = [f"  {step}" for step in self.steps[:12]]
        rest = len(self.steps) - len(shown)
        return "\n".join(lines + shown + ([f"  .. and {rest} more"] if rest else []))

    def to_dict(self) -> dict[str, Any]:
        """The plan file as plain JSON."""
        body: dict[str, Any] = {
            "domain": encode(self.domain.to_dict()),
            "targets": [encode(unit.to_json()) for unit in self.units],
            "releases": [encode(step.to_dict()) for step in self.steps],
        }
        return body | ({"claims": [c.to_dict() for c in self.claims]} if self.claims else {})

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Plan:
        """Inverse of :meth:`to_dict`."""
        return plan_from_dict(data)


Plan.__init__ = renamed(targets="units")(Plan.__init__)  # type: ignore[method-assign]


def check_granularity(domain: Domain, unit: Granularity) -> None:
    """Refuse a granularity that has no meaning on the domain, or no neighbours."""
    unit.check(domain)
    empty = unit.vacuous(domain)
    if empty:
        raise InputError(
            f"{unit} granularity protects nothing here (lint L-11): {empty}. Every release "
            "would count as 0-DP; choose another granularity"
        )


class at:
    """Errors raised inside say where they happened."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CorrdpError):
            raise type(error)(f"{self.where}: {error}") from None


def _each(name: str, items: Sequence[Any], read: Any) -> list[Any]:
    found = []
    for k, item in enumerate(items):
        with at(f"{name}[{k}]"):
            found.append(read(item))
    return found


def plan_from_dict(data: Any) -> Plan:
    """Read a plan from JSON; errors say at which place. The keys are in :data:`SCHEMA`.

    Parameters
    ----------
    data : dict
        With ``domain`` and ``releases``, and ``targets`` and ``claims`` if wanted.

    Examples
    --------
    >>> plan_from_dict({"domain": {"type": "tuple", "length": 2, "atoms": [0, 1]},
    ...                 "targets": ["bounded"], "releases": [{"id": "all", "eps": -1}]})
    Traceback (most recent call last):
    ...
    corrdp.errors.InputError: releases[0] ('all'): epsilon must be a finite number > 0, got -1
    """
    try:
        return _read_plan(data)
    except RecursionError:
        raise InputError("the plan is nested too deeply") from None


def _read_plan(data: Any) -> Plan:
    keys = ("domain", "targets", "releases", "claims")
    if not isinstance(data, dict):
        raise InputError(f"a plan is an object with {', '.join(keys)}; got {data!r}")
    _refuse_results(data)
    for key in data:
        if key not in keys:
            raise InputError(f"unknown key {key!r}; a plan has {', '.join(keys)}")
    for key in ("domain", "releases"):
        if key not in data:
            raise InputError(f"a plan needs {key}")
    with at("domain"):
        domain = domain_from_dict(data["domain"])
    if not isinstance(data["releases"], list):
        raise InputError(f"releases must be a list, got {data['releases']!r}")
    steps = tuple(_read_steps(data["releases"]))
    return Plan(domain, steps, data.get("targets", ()), data.get("claims", ()))


def _read_steps(releases: list[Any]) -> list[Step]:
    steps = []
    for k, item in enumerate(releases):
        name = f" ({item['id']!r})" if isinstance(item, dict) and "id" in item else ""
        with at(f"releases[{k}]{name}"):
            steps.append(step_from_dict(item))
    return steps


def _refuse_results(data: dict[str, Any]) -> None:
    """A plan is often confused with what was made of one."""
    kind = data.get("result")
    if kind == "proof":
        raise InputError("this is a proof and no plan; check it with --check (check_proof)")
    if kind == "composition":
        raise InputError('this is the account of a plan; the plan itself is under its key "plan"')


def read_json(path: str | Path) -> Any:
    """The JSON of a file; what cannot be read or is no JSON is an error in words."""
    place = Path(check_path("path", path))
    try:
        return json.loads(place.read_text())
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    except RecursionError:
        raise InputError(f"{path} is nested too deeply to be a plan or a proof") from None


def load_plan(path: str | Path) -> Plan:
    """Read a plan file.

    Parameters
    ----------
    path : path to a JSON file
    """
    data = read_json(path)
    with at(str(path)):
        return plan_from_dict(data)
