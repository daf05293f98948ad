"""Learning a Markov chain from data by counting transitions.

``P[x, y] = N[x, y] / sum_y N[x, y]``, the maximum-likelihood estimate, with standard errors
``sqrt(P (1 - P) / row total)``.

References
----------
P. Billingsley, "Statistical methods in Markov chains", Annals of Mathematical Statistics 32
(1961), 12-40.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corrdp._checks import check_choice, check_flag, check_whole
from corrdp._json import added
from corrdp.errors import DataError, ModelError
from corrdp.models.base import fit_dict, fit_fields
from corrdp.models.chains.chain import keep_evidence
from corrdp.models.chains.coupling import Coupling, observe_coupling
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.chains.private import (
    COUNT_SENSITIVITY,
    check_private,
    listed_expression,
    listed_values,
    noisy_counts,
    with_states,
)
from corrdp.models.chains.window import MOST_WINDOWS, WindowChain, of_order
from corrdp.queries import MISSING_TEXT
from corrdp.tables.clock import Clock, Reading
from corrdp.tables.source import USUAL, Layout, Table, is_table, open_table, warn_unfound
from corrdp.tables.tallies import TripleCounts, bin_expression

MANY_BREAKS = 0.05  # of the steps in time: more, and time may be no clock

_MOST_STEPS = 1_000_000  # of a time span with gaps


@dataclass(frozen=True, eq=False)
class ChainFit:
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
    independent_groups : str or None
        Why the sequences are independent, in the words of who fitted them.
    layout : Layout
        How the text file was laid out; a release reads the table the same way.
    bins : int or None
        Number of bins that were asked for, where the states are bins; those that were never seen
        are no states.

    Examples
    --------
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
    independent_groups: str | None = added()
    layout: Layout = added(USUAL)
    bins: int | None = added()

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
        if not isinstance(self.independent_groups, str | None) or self.independent_groups == "":
            raise ModelError(
                f"independent_groups must be a reason in words, got {self.independent_groups!r}"
            )
        check_flag("public", self.public, error=ModelError)
        check_choice("zeros", self.zeros, ("chance", "structural"), error=ModelError)

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
        impossible.
        """
        counts = self.counts if self.private_epsilon is None else np.maximum(self.counts, 0.5)
        return counts / counts.sum(axis=1, keepdims=True)

    @property
    def standard_errors(self) -> np.ndarray:
        """``sqrt(P[x, y] (1 - P[x, y]) / counts[x].sum())``; 0 where P is 0 or 1."""
        kernel = self.kernel
        totals = np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        return np.sqrt(kernel * (1 - kernel) / totals)

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
            return _dense(self.runs[:, :-1], self.runs[:, -1], s, order)
        if self.longer is not None and self.longer.shape[1] == order + 3:
            return _dense(self.longer[:, :-2], self.longer[:, -2], s, order)
        raise ModelError(
            f"this fit kept no runs of {order + 1} states: fit order={order} (--markov-order "
            f"{order})"
        )

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
        return np.stack([_dense(windows, part, len(self.counts), order) for part in parts])

    def group_counts(self, order: int) -> np.ndarray | None:
        """:meth:`window_counts` of the largest groups, shape (groups, s^order, s), or None."""
        if self.groups is None or self.groups.shape[1] != order + 3 or not len(self.groups):
            return None
        owners = self.groups[:, 0]
        parts = (self.groups[owners == k] for k in range(int(owners.max()) + 1))
        s = len(self.counts)
        return np.stack([_dense(part[:, 1:-1], part[:, -1], s, order) for part in parts])

    def noise_radius(self, level: float) -> int:
        """Largest noise on any count, with this probability; 0 without noise."""
        if self.private_epsilon is None:
            return 0
        from corrdp.mechanisms.laplace import coverage_radius

        return coverage_radius(level, COUNT_SENSITIVITY / self.private_epsilon, self.counts.size)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a user of the estimate takes for granted, in words."""
        said = [
            *self._independence,
            f"the kernel was estimated from {self.transitions:,} transitions",
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
        if self.zeros == "structural":
            said.append("transitions that were never seen are impossible")
        if self.bins is not None and self.private_epsilon is None:
            # said of every such fit: whether there is such a bin is private
            said.append("a bin into which no record of the fit fell is impossible")
        if self.state is not None and not self.order_by:
            said.append("time is the order of the rows in the file, where gaps cannot be seen")
        if self.reading is not None and not self.reading.gaps:
            said.append("the rows are events in order: each is the next step, however long after")
        if self.reading is not None and self.reading.where is not None:
            said.append(
                f"the rows in which `{self.reading.where}` does not hold are left out, and which "
                "ones these are is public"
            )
        if self.breaks:
            said.append(
                f"nothing was counted across the gaps in time ({self.breaks:,}), and the chain "
                "goes on in them: time steps without a row are part of the length"
            )
        return tuple(said)

    @property
    def _independence(self) -> list[str]:
        """That sequences are independent; this breaks a promise sooner than anything else."""
        if self.sequences == 1:
            return []
        said = f"the {self.sequences:,} sequences are independent chains with one kernel"
        if self.independent_groups is not None:
            said += f", by the word of who fitted them: {self.independent_groups!r}"
        seen = self.coupling is not None and self.coupling.seen
        return [f"{said}, {'although' if seen else 'and'} {self.together}"]

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

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, exact."""
        data = fit_dict(self)
        data["counts"], data["triples"] = self.counts.tolist(), self.triples.tolist()
        data["later"] = None if self.later is None else self.later.tolist()
        data["runs"] = None if self.runs is None else self.runs.tolist()
        data |= {name: data[name].tolist() for name in ("longer", "groups") if name in data}
        data["order_by"], data["missing_text"] = list(self.order_by), list(self.missing_text)
        for name in _PARTS.keys() & data.keys():
            data[name] = data[name].to_dict()
        return data

    @classmethod
    def from_dict(cls, data: Any) -> ChainFit:
        """Inverse of :meth:`to_dict`; an unknown or absent key is an error."""
        kept = fit_fields(cls, data)
        for name, part in _PARTS.items():
            if kept.get(name) is not None and not isinstance(kept[name], part):
                kept[name] = part.from_dict(kept[name])
        return cls(**kept)


_PARTS: dict[str, Any] = {
    "reading": Reading,
    "clock": Clock,
    "coupling": Coupling,
}  # fields that are no plain JSON


def _dense(runs: np.ndarray, times: np.ndarray, states: int, order: int) -> np.ndarray:
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


def fit_chain(
    data: Any,
    *,
    state: str | None = None,
    order_by: str | Sequence[str] | None = None,
    group: str | None = None,
    missing: Iterable[str] | None = None,
    order: int = 1,
    zeros: str = "chance",
    private_epsilon: float | None = None,
    states: Sequence[Any] | None = None,
    public: bool = False,
    engine: str | None = None,
    where: str | None = None,
    order_format: str | Sequence[str] | None = None,
    timezone: str | None = None,
    gaps: bool = True,
    bins: int | None = None,
    value_range: tuple[float, float] | None = None,
    independent_groups: str | None = None,
) -> MarkovChain | WindowChain:
    """Estimate a homogeneous chain by transition counts.

    A missing value breaks the chain, and so does a time step longer than the usual one (see
    :func:`corrdp.tables.count.count_triples`). Many sequences are independent chains with
    one kernel; the chain's length is that of the longest in time: missing steps and gaps included.

    Parameters
    ----------
    data : sequence, sequences, path, data frame or Table
        One sequence of labels, many of them (a list, or the rows of a 2-D array), the path of a
        CSV or Parquet file, a data frame of pandas, polars or pyarrow, or a
        :class:`corrdp.tables.source.Table`.
    state : str
        Tables only, and needed there: a column or an SQL expression such as ``"steps > 0"``.
    order_by : str or sequence of str, optional
        Tables only: what orders the rows; their order in the file when left out.
    group : str, optional
        Tables only: what tells the sequences apart.
    missing : iterable of str, optional
        Texts that mean "not recorded"; "", "NA", "NaN" and "null" when left out.
    order : int
        How many past records the next one depends on; more than 1 gives a :class:`WindowChain`,
        and more than 2 takes one more pass over the data.
    zeros : {"chance", "structural"}
        Whether a transition that was never seen was missed by chance or is impossible; this
        matters for confidence regions.
    private_epsilon : float, optional
        Fit privately, from counts with OpenDP's noise of this DP level. It is a cost on the same
        records, added to the epsilon of every release before conversion.
    states : sequence, optional
        The public list of states; needed for a private fit, because which states occur is
        private too (true/false states are known anyway). In a private fit its last state stands
        for every value that is not listed.
    public : bool
        The data of the fit are public, or older data that need no protection: fitting then gives
        nothing away, and the chain has no length, so that it serves data of any length.
    engine : {"duckdb", "spark"}, optional
        Files only: who reads and counts; DuckDB when left out.
    where : str, optional
        Tables only: an SQL condition; rows in which it does not hold are left out. They leave a
        gap: no transition is counted across them.
    order_format : str or sequence of str, optional
        Tables only: how the times in each order column are written, in the notation of
        ``strptime``, such as ``"%m/%d/%Y %I:%M %p"``. Recognised when left out.
    timezone : str, optional
        Tables only: the zone of local times, such as ``"Europe/Berlin"``, so that a clock change
        is no gap.
    gaps : bool
        Tables only: whether a step in time that is longer than the usual one is a gap. False for
        events in order, where each row is the next step, however long after.
    bins, value_range : int, (float, float), optional
        Tables only: the states are the numbers of so many bins of equal width over this range,
        which must be public; values outside fall into the first or the last bin.
    independent_groups : str, optional
        Why the sequences are independent of each other, in words. Where they were seen to hang
        together, a release needs it; it stands first among the assumptions.

    Returns
    -------
    MarkovChain or WindowChain
        Stationary, with ``fitted`` set to a :class:`ChainFit`. Where a recorded state is left for
        ever, so that no stationary chain has it, the start is the share of visits instead.

    Examples
    --------
    >>> chain = fit_chain([["dry", "dry", "wet"], ["wet", "NA", "dry", "wet", "dry", "dry"]])
    >>> chain.states, chain.transition.round(3).tolist(), chain.length
    (('dry', 'wet'), [[0.5, 0.5], [1.0, 0.0]], 6)
    """
    from corrdp.tables.count import count_triples
    from corrdp.tables.windows import pair_counter

    order = check_whole("order", order, most=MOST_WINDOWS, error=DataError)
    orders = (order_by,) if isinstance(order_by, str) else tuple(order_by or ())
    formats = (order_format,) if isinstance(order_format, str) else tuple(order_format or ())
    reading = Reading(where, formats, timezone, gaps)
    texts = MISSING_TEXT if missing is None else tuple(missing)
    if isinstance(data, Table):
        if missing is not None:
            raise DataError("this table is open already; give missing to open_table instead")
        if engine is not None:
            raise DataError("this table is open already; give engine to open_table instead")
        texts = data.missing
    if private_epsilon is not None:
        check_private(order, zeros)
    # values outside the public list count as its last state: an error would tell that there are any
    clip = private_epsilon is not None and states is not None
    layout = USUAL
    if is_table(data):
        if state is None:
            raise DataError('a table needs state=: a column, or an expression such as "steps > 0"')
        if bins is not None:
            state = bin_expression(state, bins, value_range)
            states = range(bins) if states is None and private_epsilon is not None else states
        elif value_range is not None:
            raise DataError("value_range is for bins=: say how many")
        data = open_table(data, texts, engine or "duckdb")
        layout = data.layout
        if private_epsilon is None:  # whether a text occurs is private
            warn_unfound(data, [state])
        if clip:
            state = listed_expression(data, state, tuple(states or ()))
        found = count_triples(data, state, orders, group, reading)
    elif (state, orders, group, engine, bins, reading) != (None, (), None, None, None, Reading()):
        raise DataError(
            "state, order_by, group, engine, bins, where, order_format, timezone and gaps are for "
            "tables; give a file's path or a data frame"
        )
    else:
        from corrdp.tables.sequences import count_sequences, split_sequences

        if clip:
            data = listed_values(split_sequences(data), tuple(states or ()), texts)
        found = count_sequences(data, texts)
    if states is not None or private_epsilon is not None:
        found = with_states(found, states)
    counts, triples = found.counts, found.triples
    if private_epsilon is not None:
        counts, triples = noisy_counts(found, private_epsilon), np.zeros((0, 4), np.int64)
    else:
        _check_counts(found)
    runs = _longer_runs(data, found, texts, state, orders, group, order)
    # whatever is counted without noise would break the promise of a private fit
    later = longer = groups = coupling = None
    if private_epsilon is None:
        later = found.later
        longer, groups = keep_evidence(
            data, found.states, texts, state, orders, group, order, found.sequences, found.reading
        )
    if group is not None and found.sequences > 1 and private_epsilon is None:
        count = pair_counter(data, str(state), orders, group, found.reading)
        coupling = None if count is None else observe_coupling(count)
    fit = ChainFit(
        counts=counts,
        triples=triples,
        rows=found.rows,
        missing=found.missing,
        sequences=found.sequences,
        longest=found.longest,
        span=found.span,
        breaks=found.breaks,
        state=state,
        order_by=orders,
        group=group,
        missing_text=texts,
        layout=layout,
        zeros=zeros,
        private_epsilon=private_epsilon,
        later=later,
        public=public,
        runs=runs,
        longer=longer,
        groups=groups,
        coupling=coupling,
        independent_groups=independent_groups,
        bins=bins,
        reading=None if state is None else found.reading,
        clock=found.clock,
    )
    # with long gaps, any length: it leaks no less and takes no vector of millions of empty steps
    endless = public or found.span > max(found.longest, _MOST_STEPS)
    length = None if endless else found.span
    chain = MarkovChain(fit.kernel, length, _start(fit), found.states, fitted=fit)
    return chain if order == 1 else of_order(chain, order)


def _start(fit: ChainFit) -> np.ndarray | None:
    """None for a stationary start; the share of visits where that would rule out recorded states.

    A state that is left for ever has stationary probability 0, and yet it is in the data.
    """
    closed = [k for group in _closed_classes(fit.kernel) for k in group]
    if len(closed) == len(fit.counts):
        return None
    visits = (fit.counts.sum(axis=0) + fit.counts.sum(axis=1)).astype(float)
    return visits / visits.sum()


def _longer_runs(
    data: Any,
    found: TripleCounts,
    texts: tuple[str, ...],
    state: str | None,
    orders: tuple[str, ...],
    group: str | None,
    order: int,
) -> np.ndarray | None:
    """Runs of order + 1 states, for orders above two, by the state numbers of the fit."""
    if order < 3:
        return None
    from corrdp.tables.windows import count_runs, count_runs_in_memory

    if isinstance(data, Table):
        states, runs = count_runs(data, str(state), orders, group, order + 1, found.reading)
    else:
        states, runs = count_runs_in_memory(data, texts, order + 1)
    place = np.array([found.states.index(label) for label in states], dtype=np.int64)
    runs[:, :-1] = place[runs[:, :-1]]
    return runs[np.lexsort(runs[:, -2::-1].T)]


def _check_counts(found: TripleCounts) -> None:
    """Refuse counts that do not determine one stationary chain."""
    if found.rows == 1:
        raise DataError("one recorded value only: a chain needs at least two in a row")
    if len(found.states) == 1:
        raise DataError(
            "every recorded value is the same: there is no dependence to learn; check the state, "
            "or use Independent (--model independent)"
        )
    if not found.counts.any():
        raise DataError(
            f"no two of the {found.rows:,} recorded values follow each other directly; check what "
            "orders and groups the rows, and the missing values"
        )
    if stuck := [x for x, row in zip(found.states, found.counts, strict=True) if not row.any()]:
        raise DataError(
            f"state {_named(stuck)} is never followed by a recorded value, so what comes after it "
            "is unknown; merge it with another state or drop those records"
        )
    if len(classes := _closed_classes(found.counts)) > 1:
        first, second = ([found.states[k] for k in group] for group in classes[:2])
        raise DataError(
            f"no path leads from state {_named(first)} to state {_named(second)} or back, so the "
            "chain has no single long-run law; fit these data apart, or merge states"
        )


def _closed_classes(counts: np.ndarray) -> list[list[int]]:
    """Sets of states that reach each other and that nothing leaves."""
    reach = (counts > 0) | np.eye(len(counts), dtype=bool)
    for _ in range(len(counts).bit_length()):
        steps = reach.astype(np.float32)  # a product of floats is far faster than one of bools
        reach = steps @ steps > 0
    returns = ~(reach & ~reach.T).any(axis=1)
    closed = {tuple(np.flatnonzero(row)) for row in reach[returns]}
    return sorted([int(k) for k in group] for group in closed)


def _named(states: list[Any], most: int = 5) -> str:
    shown = ", ".join(repr(state) for state in states[:most])
    return shown if len(states) <= most else f"{shown} and {len(states) - most} more"
