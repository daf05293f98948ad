"""Does a fitted chain describe its data? Tests of its order and of its constancy, in words.

Order k against k + 1: does the record k + 1 steps back tell anything that the last k do not?
Seasons, halves and groups: does one kernel serve all hours (weekdays, months), all times and all
sequences? Each is a likelihood-ratio test
(:mod:`corrdp.models.chains.ratio_tests`) on counts that the fit has kept, so no second pass is
needed, except for the comparison of more groups than a fit keeps. The p-values of these are
corrected for being asked together. What a rejection does to a promise is another question:
:mod:`corrdp.calibration.alternatives`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._json import added
from corrdp.errors import ModelError
from corrdp.models.chains.chain import Chain
from corrdp.models.chains.fitted import ChainFit
from corrdp.models.chains.questions import (
    CONTEXTS,
    GROUPS,
    HALVES,
    POOLED,
    independence,
    order_name,
    percent,
    questions,
    season_name,
)
from corrdp.models.chains.ratio_tests import RatioTest, judge
from corrdp.models.chains.seasonal import SeasonalChain
from corrdp.models.chains.window import WindowChain
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_RARE = 5  # a transition seen less often is hardly known
_RICHER = (
    "calibrate prices both, and nothing need be done; or fit order={0} (--markov-order {0}; "
    "docs/fit.md), which may take more noise"
)
_NAMED = 5  # a sentence names no more states or transitions than this


@dataclass(frozen=True, eq=False, repr=False)
class Diagnostics(Result):
    """How well a chain describes the data that it was fitted on.

    Attributes
    ----------
    states : tuple
    order : int
        Order of the fitted chain.
    fit : ChainFit
        The counts.
    tests : tuple of RatioTest
        Empty for a private fit: its counts are noisy, and the exact ones must not be used.
    season : str
        The clock of a chain with seasons; "" for one kernel.
    advice : str
        What to do where the next order fits better.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> chain = MarkovChain.fit([0, 0, 1, 1] * 30)
    >>> found = diagnose(chain)
    >>> [(test.name, test.p_words) for test in found.tests if test.rejected]
    [('order 1 against 2', 'p < 1e-34')]
    >>> Diagnostics.from_dict(found.to_dict()).warnings == found.warnings
    True
    """

    result = "diagnostics"
    keys = "states order fit tests warnings season advice"

    states: tuple[Any, ...]
    order: int
    fit: ChainFit
    tests: tuple[RatioTest, ...]
    season: str = added("")
    advice: str = added(_RICHER)

    # -- what was seen ----------------------------------------------------------------------

    @property
    def visits(self) -> tuple[int, ...]:
        """How many of the transitions start in each state."""
        return tuple(int(n) for n in self.fit.counts.sum(axis=1))

    @property
    def shares(self) -> tuple[float, ...]:
        """The same as shares of all transitions."""
        return tuple(n / max(self.fit.transitions, 1) for n in self.visits)

    @property
    def rare(self) -> tuple[tuple[Any, Any, int], ...]:
        """Transitions seen one to four times: from, to, times."""
        counts = self.fit.counts
        found = np.argwhere((counts > 0) & (counts < _RARE)).tolist()
        return tuple((self.states[x], self.states[y], int(counts[x, y])) for x, y in found)

    @property
    def never(self) -> tuple[tuple[Any, Any], ...]:
        """Transitions that were never seen: from, to."""
        found = np.argwhere(self.fit.counts == 0).tolist()
        return tuple((self.states[x], self.states[y]) for x, y in found)

    # -- what follows from it ---------------------------------------------------------------

    def test(self, name: str) -> RatioTest | None:
        """The test of this name, or None when it was not made."""
        return next((test for test in self.tests if test.name == name), None)

    @property
    def own_order(self) -> RatioTest | None:
        """The test of the order that was fitted against the next one."""
        return self.test(order_name(self.order))

    @property
    def _past(self) -> str:
        return "one past record" if self.order == 1 else f"the last {self.order} records"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to think about before using the chain, one sentence each."""
        return tuple(self._about_tests() + self._about_counts())

    def _about_tests(self) -> list[str]:
        if not self.tests:
            return [
                "the fit is private, and testing it on the exact counts would break that: order, "
                "halves and sequences are not checked"
            ]
        said = []
        past = self.own_order
        if past is not None and past.rejected:
            richer = self.order + 1
            said.append(
                f"a chain of order {self.order} is rejected against one of order {richer} "
                f"({past.p_words}): bounds on it may be too small. {self.advice.format(richer)}, "
                "or use a bound that needs no chain (Groups, --model groups:M)"
            )
        elif past is None or past.p_value is None:
            why = "the fit kept no longer runs" if past is None else past.words
            said.append(f"whether {self._past} is enough is not known: {why}")
        fails = past is not None and past.rejected
        care = f", as far as a test can tell that takes order {self.order} for granted" * fails
        for name, what, advice in (
            (
                season_name(self.fit),
                "the kernel follows the clock",
                f"calibrate prices a kernel for each season; or fit {self._advice}",
            ),
            (HALVES, "the kernel changes over time", "fit a shorter stretch, or the parts apart"),
            (GROUPS, "the sequences differ in their kernel", "fit the groups apart"),
            (
                POOLED,
                "slices that share a row are not alike",
                "calibrate prices a row for each, by fitted numbers; or fit pool=False "
                "(--no-pooling)",
            ),
            (
                CONTEXTS,
                "windows seen too rarely do not go on as their last records do",
                "calibrate prices a row for each; or fit without pool=True (--pool)",
            ),
        ):
            test = self.test(name)
            if test is not None and test.rejected:
                said.append(
                    f"{what} ({test.p_words}){care}: what is shared may understate the dependence "
                    f"in a part of the data; {advice}"
                )
        return said

    @property
    def _advice(self) -> str:
        name = self.fit.seasons[0].name if self.fit.seasons else ""
        return f"season={name!r} (--season {name})"

    def _about_counts(self) -> list[str]:
        said: list[str] = []
        if self.season:  # what is rare overall says little of the seasons, which are pooled
            return said
        counts = self.fit.pool_counts
        if (rare := np.argwhere((counts > 0) & (counts < _RARE))).size:
            shown = [f"{self._move(x, y)} ({counts[x, y]})" for x, y in rare[:_NAMED]]
            said.append(
                f"seen fewer than {_RARE} times: {_listed(shown, len(rare))}; such a "
                "probability is hardly known, so merge states or ask for a confidence"
            )
        if self.fit.zeros == "chance" and (never := np.argwhere(counts == 0)).size:
            shown = [self._move(x, y) for x, y in never[:_NAMED]]
            said.append(
                f"never seen and so taken as impossible: {_listed(shown, len(never))}; that "
                "can make the chain bounds infinite, and is wrong if they do happen: merge states"
            )
        return said

    def _move(self, x: int, y: int) -> str:
        pools = self.fit.pools
        each = ([self.states[k] for k in np.flatnonzero(pools == pool)] for pool in (x, y))
        return " to ".join(" or ".join(map(repr, one)) for one in each)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a result on this chain should say of the fit, in words."""
        said = []
        past = self.own_order
        if past is None or past.p_value is None:
            said.append(f"whether {self._past} is enough was not tested")
        else:
            verdict = "is rejected" if past.rejected else "is not rejected"
            said.append(
                f"order {self.order} {verdict} against order {self.order + 1}, {past.p_words}"
            )
        for name, what in (
            (season_name(self.fit), f"the kernel follows the clock ({season_name(self.fit)})"),
            (HALVES, "the first and the second half of the data differ in their kernel"),
            (GROUPS, "the sequences differ in their kernel"),
            (POOLED, "slices that share a row are not alike"),
            (CONTEXTS, "windows seen too rarely do not go on as their last records do"),
        ):
            test = self.test(name)
            if test is not None and test.rejected:
                said.append(f"{what}, {test.p_words}; this is left out all the same")
        return tuple(said)

    # -- results ----------------------------------------------------------------------------

    def __repr__(self) -> str:
        seasons = f" with a kernel for each season ({self.season})" if self.season else ""
        lines = [
            f"Diagnostics of a chain of order {self.order}{seasons}, {len(self.states)} states, "
            f"{self.fit.transitions:,} transitions"
        ]
        for test in self.tests:
            lines.append(f"  {test.name:<26} G2 = {test.statistic:.6g}, df = {test.degrees}")
            lines.append(f"  {'':<26} {test.words}")
        counted = zip(self.states, self.visits, self.shares, strict=True)
        lines += [
            f"  from state {x!r:<15} {n:,} transitions ({percent(share)})"
            for x, n, share in counted
        ]
        lines += [f"  warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what comes next by the record before; returns the matplotlib axes."""
        from corrdp.plots.series import draw_orders

        return draw_orders(self, ax)


def diagnose(chain: Chain, data: Any = None) -> Diagnostics:
    """Test whether a fitted chain describes its data.

    ``G^2 = 2 (ln L1 - ln L0)``, compared with a chi-square law,

    where L1 is the largest likelihood of the data when what comes next may depend on one thing
    more (one more record before, the half, the sequence), and L0 the largest when it may not.
    Order 0 against 1 is tested on pairs, order k against k + 1 on runs of k + 2, so that both
    likelihoods are over the same transitions. Tests of halves and groups take the order that was
    fitted for granted.

    Parameters
    ----------
    chain : MarkovChain or WindowChain
        Made by :meth:`MarkovChain.fit`.
    data : sequences, path or Table, optional
        The data of a first-order fit, to compare the sequences (or groups) with each other where
        there are more of them than the fit has kept; that takes one more pass over them.

    Returns
    -------
    Diagnostics

    References
    ----------
    P. Billingsley, "Statistical methods in Markov chains", Annals of Mathematical Statistics 32
    (1961), 12-40.

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> chain = MarkovChain.fit([0, 0, 1, 1] * 30)
    >>> print(diagnose(chain).warnings[0][:68])
    a chain of order 1 is rejected against one of order 2 (p < 1e-34): b
    """
    if not isinstance(chain, Chain) or chain.fitted is None:
        raise ModelError("there is nothing to diagnose: give a chain made by MarkovChain.fit")
    fit, states = chain.fitted, chain.fitted.named(chain.states)
    order = chain.order if isinstance(chain, WindowChain | SeasonalChain) else 1
    season = fit.seasons[0].title if isinstance(chain, SeasonalChain) else ""
    if fit.private_epsilon is not None:
        return Diagnostics(states, order, fit, (), season)
    together = judge(*questions(fit, order, states, data, by_season=bool(season)))
    return Diagnostics(states, order, fit, (*judge(independence(fit)), *together), season)


def _listed(shown: list[str], number: int) -> str:
    more = f" and {number - len(shown):,} more" if number > len(shown) else ""
    return ", ".join(shown) + more
