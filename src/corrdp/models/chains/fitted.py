"""What a chain was learned from, what that says against it, and what richer models need.

Beyond its own counts a fit keeps runs of one more state (by half), and the runs of the largest
groups apart: with them the next order, a kernel for each half and a kernel for each group can be
built without the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_choice, check_flag
from corrdp._json import added
from corrdp.errors import DataError, ModelError
from corrdp.models.base import fit_fields
from corrdp.models.chains.chain import MOST_WINDOWS
from corrdp.models.chains.contexts import reached, shared_counts
from corrdp.models.chains.coupling import Coupling
from corrdp.models.chains.pools import by_pool, pooled_kernel, shares_of
from corrdp.models.chains.prediction import ChosenChain
from corrdp.models.chains.seasons import SeasonCounts
from corrdp.queries import MISSING_TEXT
from corrdp.results import Result
from corrdp.tables.clock import PLAIN, Clock, Reading
from corrdp.tables.sequences import TripleCounts, bins_of
from corrdp.tables.source import USUAL, Layout, Table

MOST_GROUPS = 100  # groups whose counts are kept, the largest ones
MANY_BREAKS = 0.05  # of the steps in time: more, and time may be no clock


@dataclass(frozen=True, eq=False)
class ChainFit(Result):
    """Where a fitted chain comes from: its counts and how they were made.

    Attributes
    ----------
    counts : (s, s) array of int
        How often state y directly follows state x.
    triples : (k, 4) array of int
        Rows x, y, z, number, for the runs of three states that occur; indices of states.
    rows, missing : int
        Time steps with and without a recorded state.
    sequences, longest : int
        Number of sequences, rows of the longest (missing ones included).
    breaks : int
        Time steps longer than the usual one, across which nothing was counted.
    state, order_by, group : str, tuple of str, str
        What was read from a table; None, () and None for sequences in memory.
    missing_text : tuple of str
        Texts that stood for "not recorded"; a release reads the table the same way.
    zeros : {"chance", "structural"}
        What a transition that was never seen means: chance, or that it is impossible.
    private_epsilon : float or None
        DP level of the noise on ``counts``, when the fit is private.
    public : bool
        Whether the data of the fit are public, so that fitting gives nothing away.
    runs : (k, order + 2) array of int or None
        For orders above two: state numbers of the runs of order + 1 states that occur, and how
        often.
    later : (s, s) array of int or None
        How many of ``counts`` lead to a time step in the later half; None when not counted.
    span : int or None
        Usual time steps from the first to the last row of a sequence, both included, the largest
        over sequences: a gap counts as the usual steps that it takes, rounded up. ``longest``
        where there is no gap; None where it is not known (files of version 0.1.0).
    longer : (k, order + 4) array of int or None
        For orders above one: runs of order + 2 states, how often, how often in the later half.
    groups : (k, order + 3) array of int or None
        For many sequences: number of the sequence (the largest ones only), runs of order + 1
        states, how often.
    reading : Reading or None
        How times are written and which rows are left out; None for sequences in memory.
    clock : Clock or None
        First and last time and the usual step; None where time is the order of the rows.
    coupling : Coupling or None
        Whether groups that share times hang together; None where nobody looked (one sequence, no
        order columns, a private fit).
    beside : Coupling or None
        Whether rows that were left out hang together with those that were kept; None where nobody
        looked (nothing left out by a column of its own, no order columns, a private fit).
    independent_groups : str or None
        Why the sequences are independent, in the words of who fitted them.
    layout : Layout
        How the text file was laid out; a release reads the table the same way.
    bins : int or None
        Number of bins that were asked for, where the states are bins; those that were never seen
        are no states.
    seasons : tuple of SeasonCounts
        Runs by season: of a seasonal chain its own; of another those that stand beside it.
    choice : ChosenChain or None
        What order and seasons were chosen from, where the data chose them.
    pooled : tuple of int or None
        Of several series at once: number of the pool of each slice, where rare ones share a row.
    contexts : tuple of int or None
        For orders above one, at the steward's word: how many of its last records the row of each
        window is that of (:mod:`corrdp.models.chains.contexts`).

    Examples
    --------
    >>> from corrdp import MarkovChain
    >>> fit = MarkovChain.fit([0, 0, 1, 1, 0, 1, 0, 0]).fitted
    >>> fit.counts.tolist(), fit.rows
    ([[2, 2], [2, 1]], 8)
    >>> ChainFit.from_dict(fit.to_dict()).to_dict() == fit.to_dict()
    True
    """

    counts: np.ndarray
    triples: np.ndarray
    rows: int
    missing: int
    sequences: int
    longest: int
    breaks: int
    state: str | None = None
    order_by: tuple[str, ...] = ()
    group: str | None = None
    missing_text: tuple[str, ...] = MISSING_TEXT
    zeros: str = "chance"
    private_epsilon: float | None = None
    public: bool = False
    later: np.ndarray | None = None
    runs: np.ndarray | None = None
    span: int | None = added()
    longer: np.ndarray | None = added()
    groups: np.ndarray | None = added()
    reading: Reading | None = added()
    clock: Clock | None = added()
    coupling: Coupling | None = added()
    beside: Coupling | None = added()
    independent_groups: str | None = added()
    layout: Layout = added(USUAL)
    bins: int | None = added()
    seasons: tuple[SeasonCounts, ...] = added(())
    choice: ChosenChain | None = added()
    pooled: tuple[int, ...] | None = added()
    contexts: tuple[int, ...] | None = added()

    def __post_init__(self) -> None:
        counts = _whole_numbers("counts", self.counts)
        if counts.ndim != 2 or counts.shape[0] != counts.shape[1]:
            raise ModelError(f"counts must be s x s, got shape {counts.shape}")
        triples = _whole_numbers("triples", self.triples)
        if not triples.size:
            triples = triples.reshape(0, 4)
        if triples.ndim != 2 or triples.shape[1] != 4:
            raise ModelError(f"triples must be rows x, y, z, number, got shape {triples.shape}")
        if len(triples) and triples[:, :3].max() >= len(counts):
            raise ModelError(f"triples name a state beyond the {len(counts)} of counts")
        arrays = {"counts": counts, "triples": triples}
        if self.runs is not None:
            arrays["runs"] = _whole_numbers("runs", self.runs)
            if arrays["runs"].ndim != 2:
                raise ModelError("runs must be rows of states and a number")
        for name, states in (("longer", slice(0, -2)), ("groups", slice(1, -1))):
            if (given := getattr(self, name)) is not None:
                arrays[name] = rows = _whole_numbers(name, given)
                if rows.ndim != 2 or rows[:, states].max(initial=0) >= len(counts):
                    raise ModelError(f"{name} must be rows of states and numbers")
        if self.later is not None:
            arrays["later"] = later = _whole_numbers("later", self.later)
            if later.shape != counts.shape or (later > counts).any():
                raise ModelError("later must be of the shape of counts and nowhere larger")
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for name in ("rows", "missing", "sequences", "longest", "breaks"):
            _whole_numbers(name, getattr(self, name))
        if self.span is not None and _whole_numbers("span", self.span) < self.longest:
            raise ModelError(f"span is {self.span}, less than longest, {self.longest}")
        if self.bins is not None and _whole_numbers("bins", self.bins) < len(counts):
            raise ModelError(f"bins is {self.bins}, less than the number of states, {len(counts)}")
        object.__setattr__(self, "order_by", tuple(self.order_by))
        object.__setattr__(self, "missing_text", tuple(self.missing_text))
        if self.pooled is not None:
            pools = tuple(_whole_numbers("pooled", self.pooled).tolist())
            if len(pools) != len(counts) or set(pools) != set(range(max(pools) + 1)):
                raise ModelError("pooled must give each slice the number of a pool, from 0")
            object.__setattr__(self, "pooled", pools)
        if self.contexts is not None:
            self._check_contexts()
        if not isinstance(self.independent_groups, str | None) or self.independent_groups == "":
            raise ModelError(
                f"independent_groups must be a reason in words, got {self.independent_groups!r}"
            )
        check_flag("public", self.public, error=ModelError)
        check_choice("zeros", self.zeros, ("chance", "structural"), error=ModelError)

    def _check_contexts(self) -> None:
        lengths = _whole_numbers("contexts", self.contexts)
        s, size = len(self.counts), lengths.size
        order = round(math.log(max(size, 1)) / math.log(s)) if s > 1 else 0
        if lengths.ndim != 1 or order < 2 or s**order != size or self.private_epsilon is not None:
            raise ModelError("contexts are for the windows of an order above one, without noise")
        if lengths.min() < 1 or lengths.max() > order:
            raise ModelError(f"contexts must be numbers of records from 1 to {order}")
        object.__setattr__(self, "contexts", tuple(lengths.tolist()))

    def named(self, states: Iterable[Any]) -> tuple[Any, ...]:
        """States as people read them: bins by their ranges, others as they are."""
        binned = None if self.bins is None or self.state is None else bins_of(self.state)
        return tuple(states) if binned is None else tuple(binned[1][state] for state in states)

    @property
    def unseen_bins(self) -> int:
        """Number of bins that were asked for and are no states, because no record was in them."""
        return 0 if self.bins is None else self.bins - len(self.counts)

    @property
    def transitions(self) -> int:
        """Number of transitions counted."""
        return int(self.counts.sum())

    @property
    def kernel(self) -> np.ndarray:
        """The estimate: ``P[x, y] = counts[x, y] / counts[x].sum()``.

        Noisy counts of a private fit are taken as at least 1/2, so that noise makes no transition
        impossible. Slices that are pooled share a row (:mod:`corrdp.models.chains.pools`).
        """
        if self.pooled is not None:
            return pooled_kernel(self.counts, self.pools)
        counts = self.counts if self.private_epsilon is None else np.maximum(self.counts, 0.5)
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def pools(self) -> np.ndarray:
        """Number of the pool of each state: its own, except for slices that are pooled."""
        return np.array(range(len(self.counts)) if self.pooled is None else self.pooled)

    @property
    def pool_counts(self) -> np.ndarray:
        """Transitions between pools."""
        return by_pool(self.counts, self.pools)

    @property
    def shares(self) -> np.ndarray:
        """Share of each state among the arrivals in its pool; 1 where it is alone."""
        return shares_of(self.counts, self.pools)

    @property
    def standard_errors(self) -> np.ndarray:
        """``sqrt(P[x, y] (1 - P[x, y]) / n[x])``, n[x] being the counts of row x.

        A private fit has noise of variance v on every count, which adds
        ``v ((1 - P[x, y])^2 + (s - 1) P[x, y]^2) / n[x]^2``.
        """
        kernel = self.kernel
        totals = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        variance = kernel * (1 - kernel) / totals
        if self.private_epsilon is not None:
            rest = (1 - kernel) ** 2 + (kernel.shape[1] - 1) * kernel**2
            variance = variance + self._noise_variance * rest / totals**2
        return np.sqrt(variance)

    @property
    def _noise_variance(self) -> float:
        """Of the noise of a private fit on a count of a transition, which may be of many cells."""
        s, order = len(self.counts), 2 if len(self.triples) else 1
        if self.runs is not None:
            order = self.runs.shape[1] - 2
        seasons = 1
        if self.seasons:  # all runs of a private fit by season are there
            seasons, order = len(self.seasons[0].labels), self.seasons[0].order
        scale = count_sensitivity(order) / float(self.private_epsilon or math.inf)
        return seasons * s ** (order - 1) * 2.0 * scale**2

    @property
    def triple_counts(self) -> np.ndarray:
        """The triples as a dense (s, s, s) array."""
        s = len(self.counts)
        dense = np.zeros((s, s, s), dtype=np.int64)
        dense[tuple(self.triples[:, :3].T)] = self.triples[:, 3]
        return dense

    def window_counts(self, order: int) -> np.ndarray:
        """Counts of the next state after each window of ``order`` states, shape (s^order, s)."""
        s = len(self.counts)
        if order == 1:
            return self.counts
        if order == 2:
            return self.triple_counts.reshape(-1, s)
        if self.runs is not None and self.runs.shape[1] == order + 2:
            return dense_runs(self.runs[:, :-1], self.runs[:, -1], s, order)
        if self.longer is not None and self.longer.shape[1] == order + 3:
            return dense_runs(self.longer[:, :-2], self.longer[:, -2], s, order)
        raise ModelError(
            f"this fit kept no runs of {order + 1} states: fit order={order} (--markov-order "
            f"{order})"
        )

    def row_counts(self, order: int) -> np.ndarray:
        """What the rows are made of: :meth:`window_counts`, or those of contexts."""
        counts = self.window_counts(order)
        if self.contexts is None or len(self.contexts) != len(counts):
            return counts
        shared = shared_counts(counts, self.contexts)
        return np.asarray(shared * reached(counts, shared)[:, None])

    def half_counts(self, order: int) -> np.ndarray | None:
        """:meth:`window_counts` of the first and of the second half, shape (2, s^order, s).

        None where they were not kept. For orders above one, without the first run after a break.
        """
        if order == 1:
            later = self.later
            return None if later is None else np.stack([self.counts - later, later])
        if self.longer is None or self.longer.shape[1] != order + 4:
            return None
        windows, (times, later) = self.longer[:, 1:-2], self.longer[:, -2:].T
        parts = (times - later, later)
        return np.stack([dense_runs(windows, part, len(self.counts), order) for part in parts])

    def group_counts(self, order: int) -> np.ndarray | None:
        """:meth:`window_counts` of the largest groups, shape (groups, s^order, s), or None."""
        if self.groups is None or self.groups.shape[1] != order + 3 or not len(self.groups):
            return None
        owners = self.groups[:, 0]
        parts = (self.groups[owners == k] for k in range(int(owners.max()) + 1))
        s = len(self.counts)
        return np.stack([dense_runs(part[:, 1:-1], part[:, -1], s, order) for part in parts])

    def noise_radius(self, level: float, cells: int, order: int = 1) -> int:
        """Largest noise on any of so many counts, with this probability; 0 without noise."""
        if self.private_epsilon is None:
            return 0
        from corrdp.mechanisms.laplace import coverage_radius

        return coverage_radius(level, count_sensitivity(order) / self.private_epsilon, cells)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the estimate takes for granted, in words."""
        about = "" if self.private_epsilon is None else "about "
        said = [
            *self._independence,
            f"the kernel was estimated from {about}{self.transitions:,} transitions",
        ]
        if self.public:
            said.append("the data of the fit are public, and the released data follow the same law")
        elif self.private_epsilon is None:
            said.append(
                "fitting on the private data is itself a release of information, which is not "
                "accounted for"
            )
        else:
            said.append(
                f"the private fit cost epsilon {self.private_epsilon:.6g} on the same records; it "
                "is added to the epsilon of every release"
            )
            said.append("how many rows, missing rows, gaps and sequences there are is public")
            said.append("a value outside the public list of states counts as the last one of it")
        if self.choice is not None:
            said.append(
                "order and seasons were chosen from the same data: what is said of the kernels is "
                "given this choice"
            )
        if self.zeros == "structural":
            said.append("transitions that were never seen are impossible")
        if self.bins is not None and self.private_epsilon is None:
            # said of every such fit: whether there is such a bin is private
            said.append("a bin into which no record of the fit fell is impossible")
        if self.state is not None and not self.order_by:
            said.append("time is the order of the rows in the file, where gaps cannot be seen")
        if self.reading is not None and not self.reading.gaps:
            said.append("the rows are events in order: each is the next step, however long after")
        if self.breaks:
            said.append(
                f"nothing was counted across the gaps in time ({self.breaks:,}), and the chain "
                "goes on in them: time steps without a row are part of the length"
            )
        return tuple(said)

    @property
    def _independence(self) -> list[str]:
        """That sequences are independent; this breaks a promise sooner than anything else."""
        word = self.independent_groups
        by = "" if word is None else f", by the word of who fitted them: {word!r}"
        said = []
        if self.sequences > 1:
            seen = self.coupling is not None and self.coupling.seen
            said.append(
                f"the {self.sequences:,} sequences are independent chains with one kernel{by}, "
                f"{'although' if seen else 'and'} {self.together}"
            )
        if self.reading is not None and self.reading.where is not None:
            seen = self.beside is not None and self.beside.seen
            known = "this was not tested" if self.beside is None else self.beside.words
            said.append(
                f"the rows in which `{self.reading.where}` does not hold are left out: which ones "
                "these are is public, and what they hold says nothing about the rows that are kept "
                f"(other sites at the same times would){by}, {'although' if seen else 'and'} "
                f"{known}"
            )
        return said

    @property
    def together(self) -> str:
        """What is known of dependence between the sequences, in words."""
        if self.coupling is not None:
            return self.coupling.words
        if self.private_epsilon is not None:
            return "this was not tested: a private fit does not look"
        if not self.order_by:
            return "this was not tested: without times nobody knows which rows belong together"
        return "this was not tested"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What should be looked at before the estimate is used."""
        said = []
        steps = self.rows + self.missing - self.sequences
        if self.breaks > MANY_BREAKS * steps and self.clock is not None:
            said.append(
                f"{self.breaks:,} of {steps:,} steps in time ({100 * self.breaks / steps:.1f} %) "
                f"are longer than the usual one, {self.clock.step}, and nothing was counted across "
                "them; if the rows are events in order rather than a clock, use --no-gaps "
                "(gaps=False)"
            )
        if self.unseen_bins:
            said.append(
                f"{self.unseen_bins:,} of the {self.bins:,} bins were never seen and are no "
                "states: counts take them for impossible, series and histograms are refused; "
                "narrow --range (value_range), ask for fewer --bins (bins), or fit with "
                "--private-epsilon (private_epsilon), where every bin is a state"
            )
        return tuple(said)

    @classmethod
    def of_counts(cls, found: TripleCounts, **more: Any) -> ChainFit:
        """What was counted, and what else is known of the fit."""
        counted = ("counts", "triples", "rows", "missing", "sequences", "longest", "span", "breaks")
        kept = {name: getattr(found, name) for name in (*counted, "later", "clock")}
        return cls(**{**kept, **more})

    @classmethod
    def from_dict(cls, data: Any) -> ChainFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        kept = fit_fields(cls, data)
        for name, part in _PARTS.items():
            if kept.get(name) is not None and not isinstance(kept[name], part):
                kept[name] = part.from_dict(kept[name])
        given = kept.get("seasons") or ()
        if not isinstance(given, list | tuple):
            raise ModelError("seasons of a fit must be a list")
        kept["seasons"] = tuple(
            each if isinstance(each, SeasonCounts) else SeasonCounts.from_dict(each)
            for each in given
        )
        return cls(**kept)


_PARTS: dict[str, Any] = {
    "reading": Reading,
    "clock": Clock,
    "coupling": Coupling,
    "choice": ChosenChain,
    "beside": Coupling,
}  # fields that are no plain JSON


def count_sensitivity(order: int) -> int:
    """By how much one changed record moves the counts of runs of ``order + 1`` states, in all.

    So many runs hold it at most, and each leaves one count and enters another.

    Examples
    --------
    >>> count_sensitivity(1), count_sensitivity(2)
    (4, 6)
    """
    return 2 * (order + 1)


def dense_runs(runs: np.ndarray, times: np.ndarray, states: int, order: int) -> np.ndarray:
    """Counts of runs of order + 1 states as a table of windows by what comes next."""
    dense = np.zeros((states,) * (order + 1), dtype=np.int64)
    np.add.at(dense, tuple(runs.T), times)
    return dense.reshape(-1, states)


def _whole_numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = np.array(values)
    except ValueError:
        array = np.array(None)
    if array.size and (array.dtype.kind not in "iu" or (array < 0).any()):
        raise ModelError(f"{name} of a fit must be whole numbers from 0, got {values!r}")
    return array.astype(np.int64)


def keep_evidence(
    data: Any,
    states: tuple[Any, ...],
    texts: tuple[str, ...],
    state: str | None,
    order_by: Sequence[str],
    group: str | None,
    order: int,
    sequences: int,
    reading: Reading | None,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Runs of order + 2 states by half, and runs of order + 1 states by group.

    The former for orders above one (a first-order fit has them in its triples), the latter for
    more than one sequence. Each takes one more pass over the data. None where there are more
    distinct runs than a model file should hold.

    Returns
    -------
    longer : (k, order + 4) array or None
        State numbers, how often, how often in the later half.
    groups : (m, order + 3) array or None
        Number of the group, state numbers, how often.
    """
    from corrdp.tables import windows

    wanted = order > 1 and len(states) ** (order + 1) <= MOST_WINDOWS
    if not wanted and sequences == 1:
        return None, None
    longer = groups = None
    if isinstance(data, Table):
        read, how = (data, str(state), order_by, group), reading or PLAIN
        if wanted:
            longer = _numbered(states, windows.count_runs_by_half, *read, order + 2, how)
        if sequences > 1:
            most = (order + 1, MOST_GROUPS)
            groups = _numbered(states, windows.count_runs_by_group, *read, *most, how)
    else:
        if wanted:
            longer = _numbered(states, windows.count_runs_by_half_in_memory, data, texts, order + 2)
        if sequences > 1:
            groups = _numbered(
                states, windows.count_runs_by_sequence, data, texts, order + 1, MOST_GROUPS
            )
    return (
        None if longer is None else _relabelled(*longer, slice(0, order + 2)),
        None if groups is None else _relabelled(*groups, slice(1, order + 2)),
    )


def _numbered(
    states: tuple[Any, ...], count: Any, *given: Any
) -> tuple[np.ndarray, np.ndarray] | None:
    """Runs, and the place of their states among those of the fit."""
    try:
        found, runs = count(*given)
    except DataError:  # more distinct runs than can be kept; the data themselves were read before
        return None
    return np.array([states.index(label) for label in found], dtype=np.int64), runs


def _relabelled(place: np.ndarray, runs: np.ndarray, columns: slice) -> np.ndarray:
    runs = runs.copy()
    runs[:, columns] = place[runs[:, columns]]
    return runs[np.lexsort(runs[:, columns.stop - 1 :: -1].T)]
