"""Finite Markov chains: time series whose next record depends on the present one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from corrdp._checks import check_array, check_flag, check_kind
from corrdp.errors import InputError, ModelError
from corrdp.models.base import check_length, check_states, layout_told
from corrdp.models.chains.chain import Chain, Skips, column_ratio, diameter, skip_diameters
from corrdp.models.chains.stretches import distinct, first_places, paired
from corrdp.plots import axes_or_pyplot
from corrdp.results import verb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.chains.fitted import ChainFit
    from corrdp.models.chains.joint import JointChain
    from corrdp.models.chains.ratio_tests import RatioTest

_ROW_TOLERANCE = 1e-9
_LARGE = 1e100  # weights are scaled down beyond


def check_law(name: str, values: np.ndarray) -> None:
    """Rows must be probabilities; the message names the row and how far off it is."""
    if not np.all(np.isfinite(values)):
        raise ModelError(f"{name} holds NaN or inf")
    if (values < 0).any():
        where = tuple(int(k) for k in np.argwhere(values < 0)[0])
        raise ModelError(f"{name}{list(where)} = {values[where]} is negative")
    sums = values.sum(axis=-1)
    off = np.abs(sums - 1)
    if off.max() > _ROW_TOLERANCE:
        worst = np.unravel_index(np.argmax(off), off.shape)
        row = f"row {', '.join(str(int(k)) for k in worst)} of " if worst else ""
        raise ModelError(
            f"{row}{name} sums to {float(sums[worst]):.12g}, not 1 "
            f"(off by {float(sums[worst] - 1):.3g}); divide by the row total"
        )


@dataclass(frozen=True, eq=False, repr=False)
class MarkovChain(Chain):
    """A Markov chain over finitely many states.

    Parameters
    ----------
    transition : (s, s) array or sequence of them
        ``P[x, y] = Pr[next = y | present = x]``; a sequence of n - 1 kernels for a law that
        changes with time. Zeros are allowed.
    length : int, optional
        Number of records n; None means that results must hold for every length.
    initial : (s,) array, optional
        Law of the first record; None means the stationary law.
    states : sequence, optional
        Labels of the states; 0..s-1 when left out.

    Examples
    --------
    >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=10)
    >>> chain.stationary.round(4).tolist()
    [0.6667, 0.3333]
    >>> round(chain.diameter, 6), round(chain.gamma, 6), round(chain.omega, 6)
    (3.583519, 9.0, 8.0)
    """

    kind: ClassVar[str] = "markov"
    transition: Any
    length: int | None = None
    initial: Any = None
    states: Any = None
    fitted: ChainFit | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        kernel = check_array("transition", self.transition, error=ModelError)
        if kernel.ndim not in (2, 3) or kernel.shape[-1] != kernel.shape[-2] or not kernel.size:
            raise ModelError(
                f"transition must be s x s, or a sequence of such kernels; got {kernel.shape}"
            )
        check_law("transition", kernel)
        length = check_length(self.length)
        if kernel.ndim == 3:
            if length not in (None, len(kernel) + 1):
                raise ModelError(
                    f"{len(kernel)} kernels make {len(kernel) + 1} records, but length={length}"
                )
            length = len(kernel) + 1
        s = kernel.shape[-1]
        states = check_states(self.states, s)
        if self.initial is not None:
            initial = check_array("initial", self.initial, error=ModelError)
            if initial.shape != (s,):
                raise ModelError(f"initial must have {s} entries, got shape {initial.shape}")
            check_law("initial", initial)
            initial.setflags(write=False)
            object.__setattr__(self, "initial", initial)
        elif kernel.ndim == 3:
            raise ModelError("kernels that change with time have no stationary law: give initial=")
        kernel.setflags(write=False)
        object.__setattr__(self, "transition", kernel)
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "states", states)
        if self.initial is None:
            _ = self.stationary  # raises when it is not unique

    # -- the law -----------------------------------------------------------------------------

    @property
    def homogeneous(self) -> bool:
        """Whether one kernel serves every step."""
        return self.transition.ndim == 2

    @property
    def kernels(self) -> np.ndarray:
        """The kernel of each step, shape (n - 1, s, s); needs a length. No copy is made."""
        if not self.homogeneous:
            return self.transition
        if self.length is None:
            raise ModelError("this chain has no length; give MarkovChain(..., length=n)")
        s = len(self.states)
        return np.broadcast_to(self.transition, (self.length - 1, s, s))

    @cached_property
    def distinct_kernels(self) -> tuple[np.ndarray, np.ndarray]:
        """The different kernels, shape (d, s, s), and which one each step has; needs a length."""
        if self.homogeneous:
            return self.transition[None], np.zeros(len(self.kernels), dtype=np.int64)
        return distinct(self.transition)

    @cached_property
    def recurrent(self) -> np.ndarray:
        """Which states return for ever, as a mask, from the zeros alone; one class or an error."""
        if not self.homogeneous:
            raise ModelError("kernels that change with time have no stationary law")
        s = len(self.transition)
        reach = np.linalg.matrix_power((np.eye(s) + (self.transition > 0)) > 0, max(s - 1, 1)) > 0
        returns = np.array([all(reach[y, x] for y in np.flatnonzero(reach[x])) for x in range(s)])
        closed = np.flatnonzero(returns)
        if not reach[closed[0], closed].all():
            raise ModelError(
                "the chain has more than one closed class, so its stationary law is not unique: "
                "give initial="
            )
        return returns

    @cached_property
    def stationary(self) -> np.ndarray:
        """The stationary law; an error when it is not unique. O(s^3).

        Grassmann-Taksar-Heyman elimination on the recurrent states: no subtraction, so small
        probabilities keep all their digits. Below 1e-308 they are 0: ask :attr:`recurrent` what is
        possible.
        """
        closed = np.flatnonzero(self.recurrent)
        work = self.transition[np.ix_(closed, closed)].copy()
        m = len(closed)
        for k in range(m - 1, 0, -1):
            work[:k, k] /= work[k, :k].sum()
            work[:k, :k] += np.outer(work[:k, k], work[k, :k])
        weights = np.zeros(m)
        weights[0] = 1.0
        for k in range(1, m):
            weights[k] = weights[:k] @ work[:k, k]
            if weights[k] > _LARGE:
                weights /= weights[k]
        law = np.zeros(len(self.states))
        law[closed] = weights / weights.sum()
        law.setflags(write=False)
        return law

    @property
    def start(self) -> np.ndarray:
        """The law of the first record: ``initial``, or the stationary law."""
        return self.stationary if self.initial is None else self.initial

    @property
    def first(self) -> np.ndarray:
        """Which states the first record may have, as a mask, from the zeros alone."""
        return self.recurrent if self.initial is None else self.initial > 0

    @cached_property
    def occurring(self) -> np.ndarray:
        """Which states can occur at all, as a mask (for a homogeneous chain: at any time)."""
        if not self.homogeneous:
            return np.asarray(self.support.any(axis=0))
        seen = self.first
        for _ in range(len(seen)):
            seen = seen | (self.transition[seen] > 0).any(axis=0)
        return seen

    @cached_property
    def support(self) -> np.ndarray:
        """Which states are possible at each record, shape (n, s), from the zeros alone. O(n s^2).

        Marginals do not tell: the probability of a rare state underflows to 0 along a long chain.

        Examples
        --------
        >>> chain = MarkovChain([[[.001, .999], [0, 1]]] * 119, initial=[1, 0])
        >>> chain.marginals[-1].round(6).tolist(), chain.support[-1].tolist()
        ([0.0, 1.0], [True, True])
        """
        masks, which = self.distinct_support
        return masks[which]

    @cached_property
    def distinct_support(self) -> tuple[np.ndarray, np.ndarray]:
        """The different rows of :attr:`support`, and which one each record has.

        O(d s^2) for d different kernels where every state stays possible, else O(n) more.
        """
        kernels, steps = self.distinct_kernels
        which = np.zeros(len(steps) + 1, dtype=np.int64)
        masks, numbers = [self.first], {self.first.tobytes(): 0}
        after: dict[int, list[int]] = {}  # by number of a mask: what each kernel makes of it
        at = 0
        for t in range(len(steps)):
            if at not in after:
                following = np.asarray((kernels[:, masks[at]] > 0).any(axis=1))
                if (following == masks[at]).all():
                    which[t:] = at
                    break
                after[at] = []
                for mask in following:
                    after[at].append(numbers.setdefault(mask.tobytes(), len(masks)))
                    if len(numbers) > len(masks):
                        masks.append(mask)
            at = which[t + 1] = after[at][steps[t]]
        return np.array(masks), which

    @cached_property
    def marginals(self) -> np.ndarray:
        """The law of each record, shape (n, s). O(n s^2)."""
        kernels = self.kernels
        laws = np.empty((len(kernels) + 1, len(self.states)))
        laws[0] = self.start
        for t, kernel in enumerate(kernels):
            laws[t + 1] = laws[t] @ kernel
        return laws

    @property
    def record_laws(self) -> np.ndarray | None:
        if self.homogeneous and self.initial is None:
            return self.stationary[None]
        return None if self.length is None else self.marginals

    # -- what the bounds need ----------------------------------------------------------------

    @cached_property
    def diameter(self) -> float:
        """Birkhoff diameter, the largest over time; rows of impossible states are left out."""
        if self.homogeneous:
            return diameter(self.transition, self.occurring)
        return max((diameter(kernel, rows) for kernel, rows in self.distinct_steps[0]), default=0.0)

    @cached_property
    def skips(self) -> Skips:
        """Diameters of jumps over records; kept, since every bound at every level asks for them."""
        return skip_diameters(self)

    @cached_property
    def distinct_steps(self) -> tuple[list[tuple[np.ndarray, np.ndarray]], np.ndarray]:
        """Kernels with the states possible before them, and which such pair each step has."""
        (kernels, steps), (masks, support) = self.distinct_kernels, self.distinct_support
        if not len(steps):
            return [], steps
        which = paired(steps, support[:-1])
        firsts = first_places(which)
        pairs = zip(kernels[steps[firsts]], masks[support[firsts]], strict=True)
        return list(pairs), which

    @property
    def gamma(self) -> float:
        """Largest over smallest entry of the kernels; inf when an entry is zero."""
        smallest = self.transition.min()
        return float(self.transition.max() / smallest) if smallest > 0 else float("inf")

    @cached_property
    def omega(self) -> float:
        """Largest ratio of two entries of one column, the largest over time."""
        if self.homogeneous:
            return column_ratio(self.transition, self.occurring)
        return max(
            (column_ratio(kernel, rows) for kernel, rows in self.distinct_steps[0]), default=1.0
        )

    # -- other laws made from this one -------------------------------------------------------

    def sample(self, rng: np.random.Generator, length: int | None = None) -> np.ndarray:
        """One sequence of state labels. O(length).

        Parameters
        ----------
        rng : numpy.random.Generator
        length : int, optional
            Needed when the chain has none.
        """
        check_kind("rng", rng, np.random.Generator, "a numpy.random.Generator")
        n = check_length(length) or self.length
        if n is None or not (self.homogeneous or n <= len(self.transition) + 1):
            raise InputError("give length= : the chain has none, or is shorter than asked")
        cumulative = self.transition.cumsum(axis=-1)
        uniform = rng.random(n)
        path = np.empty(n, dtype=np.int64)
        path[0] = np.searchsorted(np.cumsum(self.start), uniform[0], side="right")
        top = len(self.states) - 1
        for t in range(1, n):
            row = cumulative[path[t - 1]] if self.homogeneous else cumulative[t - 1, path[t - 1]]
            path[t] = min(row.searchsorted(uniform[t], side="right"), top)
        return np.array(self.states)[path]

    def condition(self, known: Mapping[int, Any]) -> MarkovChain:
        """The law of all records given some of them: again a chain, with bridged kernels.

        Parameters
        ----------
        known : mapping of record index (from 0) to state

        Examples
        --------
        >>> chain = MarkovChain([[.9, .1], [.2, .8]], length=3)
        >>> chain.condition({0: 0, 2: 0}).marginals[1].round(6).tolist()
        [0.975904, 0.024096]
        """
        kernels = self.kernels
        n, s = len(kernels) + 1, len(self.states)
        allowed = np.ones((n, s))
        for index, value in known.items():
            if not 0 <= index < n:
                raise InputError(f"record {index} is not among 0..{n - 1}")
            allowed[index] = [float(state == value) for state in self.states]
            if not allowed[index].any():
                raise InputError(f"{value!r} is not one of the states {list(self.states)!r}")
        weights = allowed.copy()
        for t in range(n - 2, -1, -1):
            weights[t] *= kernels[t] @ weights[t + 1]
            weights[t] /= max(weights[t].max(), np.finfo(float).tiny)
        first = self.start * weights[0]
        if first.sum() <= 0:
            raise InputError(f"the known values {dict(known)!r} have probability 0")
        bridged = kernels * weights[1:, None, :]
        totals = bridged.sum(axis=2, keepdims=True)
        # rows that cannot occur keep their old values: they only need to be a law
        bridged = np.where(totals > 0, bridged / np.where(totals > 0, totals, 1), kernels)
        if n == 1:
            return MarkovChain(self.transition, 1, first / first.sum(), self.states)
        return MarkovChain(bridged, n, first / first.sum(), self.states)

    def reversed(self) -> MarkovChain:
        """The chain run backwards: ``Pr[X_{t-1} = y | X_t = x]``.

        Homogeneous and stationary chains stay so; others need a length.
        """
        if self.homogeneous and self.initial is None:
            law = self.stationary
            joint = law[:, None] * self.transition
            total = joint.sum(axis=0)
            back = np.where(total[:, None] > 0, joint.T / np.where(total > 0, total, 1)[:, None], 0)
            back[total == 0] = law
            return MarkovChain(back, self.length, None, self.states)
        laws = self.marginals
        joint = laws[:-1, :, None] * self.kernels
        total = laws[1:]
        back = np.swapaxes(joint, 1, 2) / np.where(total > 0, total, 1)[:, :, None]
        back = np.where(total[:, :, None] > 0, back, laws[:-1, None, :])
        if len(laws) == 1:
            return self
        return MarkovChain(back[::-1], len(laws), laws[-1], self.states)

    # -- learning ----------------------------------------------------------------------------

    @classmethod
    @layout_told
    def fit(
        cls,
        data: Any,
        *,
        state: str | None = None,
        order_by: str | Sequence[str] | None = None,
        group: str | None = None,
        missing: Iterable[str] | None = None,
        order: int | str = 1,
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
        season: str | int | None = None,
        public_columns: Sequence[str] = (),
        pool: bool | None = None,
        joint: bool = False,
    ) -> Any:
        """Estimate a chain by transition counts: :func:`corrdp.models.chains.fitting.fit_chain`.

        With ``order="auto"`` or ``season="auto"`` they are chosen from the data:
        :mod:`corrdp.calibration.choosing`. With ``joint=True`` the sequences are series over one
        clock that depend on each other, and are fitted together, where ``pool`` lets rare slices
        share a row and ``season`` is one of their clock:
        :func:`corrdp.models.chains.joint_fit.fit_joint`. With ``pool=True`` and an order above one,
        windows that were seen too rarely share the row of their last records, at the steward's
        word: :mod:`corrdp.models.chains.contexts`.
        """
        options: dict[str, Any] = {
            "state": state,
            "order_by": order_by,
            "group": group,
            "missing": missing,
            "order": order,
            "zeros": zeros,
            "private_epsilon": private_epsilon,
            "states": states,
            "public": public,
            "engine": engine,
            "where": where,
            "order_format": order_format,
            "timezone": timezone,
            "gaps": gaps,
            "bins": bins,
            "value_range": value_range,
            "independent_groups": independent_groups,
            "season": season,
            "public_columns": public_columns,
            "pool": pool,
        }
        chosen = any(isinstance(given, str) and given == "auto" for given in (order, season))
        if check_flag("joint", joint, error=InputError):
            from corrdp.models.chains.joint_fit import fit_joint

            return fit_joint(data, **options)
        if chosen:
            return verb("calibration.choosing.choose_chain")(data, **options)
        from corrdp.models.chains.fitting import fit_chain

        return fit_chain(data, **options)

    @staticmethod
    def of_series(
        transition: Any,
        series: Sequence[Any],
        *,
        slices: Sequence[Sequence[Any]] | None = None,
        states: Sequence[Any] | None = None,
        length: int | None = None,
        initial: Any = None,
        pattern: Sequence[int] | None = None,
        seasons: Sequence[Any] | None = None,
    ) -> JointChain:
        """Several series over one clock that depend on each other: a chain of what all of them are.

        What the series are at one time step is a *slice*, one state for each of them, and slices
        form the chain. A record is one cell, one series at one time step (chains#joint).

        Parameters
        ----------
        transition : (k, k) or (seasons, k, k) array
            ``P[x, y] = Pr[next slice = y | present slice = x]``, at most 64 slices; one for each
            season of a public clock, in which the next slice lies.
        series : sequence
            Names of the series, in the order in which a slice lists their states; two at least.
        slices : sequence of sequences, optional
            The slices that can occur, each with one state for each series. When left out, all of
            them: ``itertools.product(states, repeat=len(series))``.
        states : sequence, optional
            What one series can be at one time; those of the slices when left out.
        length : int, optional
            Number of time steps; None means that results must hold for every length. Record
            ``t * len(series) + i`` is series i at time step t.
        initial : (k,) array, optional
            Law of the first slice; None means the stationary law.
        pattern, seasons : sequence of int, sequence, optional
            The season of each slice of one period, which repeats (None: in any order), and what the
            seasons are called.

        Returns
        -------
        JointChain
            A model like any other, with ``series``, ``slices``, ``states`` and ``transition`` as
            given, ``cells`` (how many records there are), ``sample(rng)`` and ``with_length(n)``.
            One that was fitted (``MarkovChain.fit(.., joint=True)``) says in ``merges`` which rare
            slices share a row, and has ``fitted``, ``region(confidence)`` and ``diagnose()``.

        Examples
        --------
        >>> kernel = [[.9, .04, .04, .02], [.4, .3, .1, .2], [.4, .1, .3, .2], [.1, .1, .1, .7]]
        >>> MarkovChain.of_series(kernel, ["north", "south"], states=["dry", "wet"])
        <Markov chain of 2 series at once, 2 states, 4 slices, any length>
        """
        from corrdp.models.chains.joint import JointChain

        return JointChain(transition, series, slices, states, length, initial, pattern, seasons)

    def order_test(self) -> RatioTest:
        """First order against second; see :mod:`corrdp.models.chains.diagnostics`."""
        test = self.diagnose().own_order
        if test is None:
            raise ModelError("a private fit keeps no counts to test the order on")
        return test

    def with_length(self, length: int | None) -> MarkovChain:
        """The same chain with another length; None is any length (one kernel only)."""
        return MarkovChain(self.transition, length, self.initial, self.states, fitted=self.fitted)

    def with_order(self, order: int) -> Any:
        """The chain of another order from the counts of the same fit.

        Examples
        --------
        >>> MarkovChain.fit([0, 0, 1, 1, 0, 1] * 9).with_order(2)
        <Markov chain of order 2, 2 states, 54 records>
        """
        from corrdp.models.chains.window import of_order

        if self.fitted is None:
            raise InputError("with_order needs a chain that was fitted: MarkovChain.fit(...)")
        return self if order == 1 else of_order(self, order)

    @property
    def assumptions(self) -> tuple[str, ...]:
        law = "stationary" if self.initial is None else "started from the given law"
        if self.initial is not None and self.fitted is not None:
            law = (
                "started from the share of visits to each state, because some states are left for "
                "ever and no stationary chain has them"
            )
        said = [
            f"the records form a first-order Markov chain with this kernel, {law}",
            "a record is one time step: a person's whole series is not one record",
        ]
        seen = zip(self.states, self.occurring, strict=True)
        if never := ", ".join(str(state) for state, occurs in seen if not occurs):
            said.append(f"state {never} never occurs under this start; if it does, give initial=")
        return (*said, *self.fit_assumptions)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the states and their transitions; returns the matplotlib axes."""
        from corrdp.plots.models import draw_chain

        return draw_chain(self, axes_or_pyplot(ax))

    def describe(self) -> str:
        n = "any length" if self.length is None else f"{self.length} records"
        law = "" if self.homogeneous else ", time-varying"
        return f"Markov chain, {len(self.states)} states, {n}{law}"

    def fields(self) -> dict[str, Any]:
        return {
            "states": list(self.states),
            "transition": self.transition,
            "initial": self.initial,
            "length": self.length,
            "fit": None if self.fitted is None else self.fitted.to_dict(),
        }
