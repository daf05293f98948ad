"""Choosing order and seasons of a chain from the data: by what it predicts and what it costs.

Candidates are chains of order 1 to 4 with one kernel, or one for each season of a clock. Among
those that predict held-out records as well as the best one (log loss within half a percent, or
within one standard error of the difference), the choice is the smallest whose richer neighbours,
one order or one clock more, change the noise by less than 5 %; where there is none, the smallest:
``calibrate`` then keeps a target under its richer neighbours, too. Only what this asks for is
fitted and priced: a candidate that predicts worse cannot be chosen, whatever it costs.

Choosing on the data tells about them as fitting does: a private fit must be given its order and
seasons.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from corrdp._checks import check_whole
from corrdp.calibration.adequacy import CLOSE
from corrdp.calibration.searching import Search
from corrdp.errors import CorrdpError, DataError, DataWarning
from corrdp.models.chains.chain import MOST_WINDOWS, Chain
from corrdp.models.chains.fitting import fit_chain
from corrdp.models.chains.prediction import NEAR, ChosenChain, Tried, dense, held_out, is_near
from corrdp.models.chains.season_counts import Counting
from corrdp.queries import Count
from corrdp.tables.source import Table, is_table, open_table

MOST_ORDER = 4
_MOST_WINDOWS = 64  # of a candidate
_CLOSELY = 1e-3  # relative: how closely a noise is found that is held against 5 %


def choose_chain(data: Any, *, order: Any, season: Any, **options: Any) -> Chain:
    """Fit the chain that :func:`choose` picks; ``options`` are those of ``MarkovChain.fit``.

    Parameters
    ----------
    data : as for ``MarkovChain.fit``
    order : int or "auto"
    season : str, int, None or "auto"

    Examples
    --------
    >>> chain = choose_chain([0, 0, 1, 1, 0, 0, 0, 1, 1, 1] * 60, order="auto", season="auto")
    >>> chain
    <Markov chain of order 3, 2 states, 600 records>
    >>> print(chain.fitted.choice.words[:75])
    order 3 was chosen: its held-out loss, 0.2909 per record, is the least of 4
    """
    if options.get("private_epsilon") is not None:
        raise DataError(
            "a private fit does not choose: choosing on the data tells about them. Give order and "
            "season (--markov-order, --season)"
        )
    if options.get("pool"):
        raise DataError(
            "pool=True (--pool) is a word about the windows of one order: give order and season "
            "(--markov-order, --season) instead of auto"
        )
    if order != "auto":
        order = check_whole("order", order, most=MOST_WINDOWS, error=DataError)
    if is_table(data) and not isinstance(data, Table):
        data = open_table(data, *_opened(options))
    clock = None if season == "auto" else season
    first = fit_chain(data, order=1, season=clock, **options)
    models = {(1, "" if clock is None else str(clock)): first}

    def fitted(tried: Tried) -> Chain:
        key = (tried.order, tried.season)
        if key not in models:
            models[key] = fit_chain(data, order=tried.order, season=tried.season or None, **options)
        return models[key]

    def possible(tried: Tried) -> bool:
        """Whether there are enough data for it."""
        try:
            return fitted(tried) is not None
        except CorrdpError:
            return False

    with warnings.catch_warnings():  # what is to be said of the rows was said of the first
        warnings.simplefilter("ignore", DataWarning)
        tried = _candidates(data, first, order, season, options)
        if not tried:  # too few records in a row to hold any back
            least = 1 if order == "auto" else order
            return fit_chain(data, order=least, season=clock, **options)
        choice = choose(tried, lambda one: _noise(fitted, one), possible)
        best = next(one for one, chosen in choice.ranked() if chosen)
        chain = fitted(best)
    assert chain.fitted is not None
    return replace(chain, fitted=replace(chain.fitted, choice=choice))  # type: ignore[type-var]


def _opened(options: dict[str, Any]) -> tuple[Any, ...]:
    """What opens a table; the others read from it."""
    from corrdp.queries import MISSING_TEXT

    missing, engine = options.pop("missing", None), options.pop("engine", None)
    return (MISSING_TEXT if missing is None else tuple(missing), engine or "duckdb")


def _candidates(
    data: Any, first: Chain, order: Any, season: Any, options: dict[str, Any]
) -> tuple[Tried, ...]:
    fit, s = first.fitted, len(first.states)
    assert fit is not None
    longest = 1
    while longest < MOST_ORDER and s ** (longest + 1) <= _MOST_WINDOWS:
        longest += 1
    orders = range(1, longest + 1) if order == "auto" else range(order, order + 1)
    read = (fit.missing_text, fit.state, fit.order_by, fit.group)
    counting = Counting(data, first.states, *read, orders[-1], fit.reading)
    if season == "auto":
        names = ["", *counting.likely()]
    else:
        names = ["" if season is None else str(season)]
    while orders:
        try:
            tables = {}
            for name in names:
                runs, many = counting.folds(name, orders[-1] + 1)
                tables[name] = dense(runs, many, s)
            return held_out(tables, orders, given=season != "auto")
        except DataError:  # no run is as long as the longest memory asks for
            orders = orders[:-1]
    return ()


def choose(tried: tuple[Tried, ...], noise: Any, possible: Any = lambda one: True) -> ChosenChain:
    """The smallest of the candidates that predict well and whose neighbours cost the same.

    Parameters
    ----------
    tried : tuple of Tried
    noise : function of a Tried
        Its noise for BDP level 1, or None. Asked for what can be chosen and its neighbours alone.
    possible : function of a Tried
        Whether there are enough data for it; where none is, any may be chosen.
    """
    prices: dict[Tried, float | None] = {}

    def priced(one: Tried) -> Tried:
        if one not in prices:
            prices[one] = noise(one)
        return replace(one, noise=prices[one])

    ranked = sorted(tried, key=lambda one: one.loss)
    best = next(filter(possible, ranked), ranked[0])
    near = sorted((one for one in tried if is_near(one, best)), key=lambda one: one.parameters)
    near = list(filter(possible, near)) or [best]
    changes = {}
    for one in near:
        changes[one] = _change(priced(one), [priced(other) for other in _richer(one, tried)])
        if settled := changes[one] <= CLOSE:
            break
    chosen = one if settled else near[0]
    among = f"of {len(tried)} candidates"
    if best is not ranked[0]:
        among = f"of those that the data are enough for ({ranked[0].name} is not)"
    words = _words(chosen, best, among, near, changes[chosen], settled=settled)
    listed = tuple(replace(one, noise=prices.get(one)) for one in tried)
    return ChosenChain(listed, chosen.order, chosen.season, settled, words)


def _richer(one: Tried, tried: tuple[Tried, ...]) -> list[Tried]:
    """Neighbours with one order or one clock more."""
    return [
        other
        for other in tried
        if (other.order == one.order + 1 and other.season == one.season)
        or (other.order == one.order and other.season and not one.season)
    ]


def _change(one: Tried, others: list[Tried]) -> float:
    """By how much the noise of richer neighbours differs, as a share; infinite where unknown.

    It is unknown, too, where nothing richer was tried: the largest candidate must not win by that.
    """
    if one.noise is None or not others or any(other.noise is None for other in others):
        return float("inf")
    return max(abs(float(other.noise or 0) / one.noise - 1.0) for other in others)


def _words(
    chosen: Tried, best: Tried, among: str, near: list[Tried], change: float, *, settled: bool
) -> str:
    said = f"{chosen.name} was chosen: its held-out loss, {chosen.loss:.4f} per record, "
    if chosen is best:
        said += f"is the least {among}"
    else:
        close = chosen.loss <= best.loss * (1.0 + NEAR)
        within = f"{100 * NEAR:.1f} %" if close else "a standard error"
        said += f"is within {within} of the least {among} ({best.name}, {best.loss:.4f})"
    if settled:
        return f"{said}, and richer neighbours change the noise by less than {CLOSE:.0%}"
    few = "" if len(near) == 1 else ", and no candidate as good has fewer parameters"
    if np.isinf(change):
        return (
            f"{said}{few}; no richer neighbour was tried, or none has a bound, so that calibrate "
            "asks the richer models that it can fit"
        )
    return (
        f"{said}{few}; richer neighbours change the noise by up to {change:.0%}, so calibrate "
        "keeps a target under them as well"
    )


def _noise(fitted: Callable[[Tried], Chain], tried: Tried) -> float | None:
    try:
        chain = fitted(tried)
        return 1.0 / Search(Count(chain.states[0]), within=_CLOSELY).largest(chain, 1.0)
    except CorrdpError:
        return None
