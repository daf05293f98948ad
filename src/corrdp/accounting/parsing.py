"""Reading the releases of a plan from JSON."""

from __future__ import annotations

from typing import Any

from corrdp.accounting.choices import Choice, flags_from_json
from corrdp.accounting.maps import (
    Cliques,
    Columns,
    Count,
    Degree,
    GroupBy,
    Identity,
    Map,
    Records,
    Select,
    Sum,
    Table,
    frozen,
)
from corrdp.accounting.step import DistanceTable, Preprocessing, Step
from corrdp.errors import InputError
from corrdp.guarantees import GDP, L1, Approximate, Tradeoff

_READERS: dict[str, Any] = {
    "count": Count,
    "groupby": GroupBy,
    "select": Select,
    "sum": Sum,
    "columns": Columns,
    "column": lambda t: Columns((t,)),
    "degree": Degree,
    "cliques": Cliques,
    "table": Table,
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
            return Records(data["records"])
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
