"""account: what all the releases of a plan cost together, and a proof that can be re-checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp._checks import check_kind, check_number, renamed
from corrdp._json import SCHEMA, check_header, strict
from corrdp.accounting.atoms import atom_losses
from corrdp.accounting.choices import Losses, worst_choice
from corrdp.accounting.listed import composite, graph_losses, listed_losses, stream_losses
from corrdp.accounting.mistakes import Verdict
from corrdp.accounting.plan import Claim, Plan, at, check_granularity, plan_from_dict
from corrdp.accounting.step import Notion, Step
from corrdp.accounting.totals import Total, total_of
from corrdp.errors import CompositionError, InputError
from corrdp.metric.domains import Domain, GraphDomain, StreamDomain
from corrdp.metric.granularities import Edge, Granularity, as_granularity
from corrdp.plots import axes_or_pyplot
from corrdp.results import Certificate, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.robustness import Confidence
    from corrdp.models.base import Model

_SLACK = 1e-12  # a claim is kept when the loss exceeds it by rounding only


def losses_of(domain: Domain, unit: Granularity, steps: Sequence[Step]) -> Losses:
    """The losses of every release for every neighbour type, by the shortest way there is."""
    every = [candidate for step in steps for candidate in step.candidates]
    found: Losses | None = atom_losses(domain, unit, every)
    if found is None and isinstance(domain, StreamDomain):
        found = stream_losses(domain, unit, every)
    if found is None and isinstance(domain, GraphDomain) and unit == Edge():
        found = graph_losses(domain, every)
    if found is None:
        found = listed_losses(domain, unit, every)
    fixed = len(every) == len(steps)
    return found if fixed else worst_choice(found, [len(step.candidates) for step in steps])


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Result):
    """What the releases of a plan cost together; returned by :func:`account`.

    Parameters
    ----------
    plan : Plan
    totals : tuple of Total
        One per unit, and per notion where pure and Gaussian releases are mixed.
    """

    result = "composition"
    keys = "plan totals verdicts notes"
    plan: Plan
    totals: tuple[Total, ...]

    def __getitem__(self, unit: Granularity | str) -> Total:
        """The total for a unit; where notions are mixed, look into ``totals``."""
        wanted = as_granularity(unit)
        found = [total for total in self.totals if total.unit == wanted]
        if len(found) == 1:
            return found[0]
        if not found:
            raise InputError(f"{wanted} was not asked for; there are {self._names()}")
        raise CompositionError(
            "pure and Gaussian releases have no common number: read the two totals in .totals"
        )

    def _names(self) -> str:
        names = dict.fromkeys(str(total.unit) for total in self.totals)
        return ", ".join(names) or "no totals"

    @property
    def only(self) -> Total:
        """The one total; refused when there are several."""
        if len(self.totals) == 1:
            return self.totals[0]
        if len({total.unit for total in self.totals}) == 1:
            both = " and ".join(f"{t.notion} {t.value:.6g}" for t in self.totals)
            raise CompositionError(
                f"this account has 2 totals at {self._names()} ({both}): pure and Gaussian "
                "releases have no number in common without a delta. Give one, account(plan, unit, "
                "delta=1e-6), put them into two plans, or claim a mu: a pure total implies one"
            )
        raise CompositionError(
            f"this account has {len(self.totals)} totals ({self._names()}); choose one, "
            "account(plan, unit)"
        )

    def __float__(self) -> float:
        return self.only.value

    @property
    def loss(self) -> float:
        """Epsilon (or mu) of the one total."""
        return self.only.value

    @property
    def witness(self) -> Any:
        """The neighbours that are told apart best."""
        return self.only.witness

    @property
    def rule(self) -> str:
        """The rule that gave the one total."""
        return self.only.certificate.name

    @property
    def ratio(self) -> float:
        """The one total over that of simple addition."""
        return self.only.ratio

    @property
    def metric(self) -> str:
        """The metric of the joint release, as a formula over its releases."""
        terms = [_term(step) for step in self.plan.steps]
        if all(step.notion == "gaussian" for step in self.plan.steps) and terms:
            return "d(D, D')^2 = " + " + ".join(f"({term})^2" for term in terms)
        return "d(D, D') = " + (" + ".join(terms) or "0")

    def distances(self) -> np.ndarray:
        """The metric of the joint release between every two data sets, where they can be listed.

        Examples
        --------
        >>> from corrdp.metric.domains import TupleDomain
        >>> plan = Plan(TupleDomain(2, (0, 1)), [Step("one", .5), Step("two", .25)])
        >>> account(plan, "bounded").distances()[0].tolist()
        [0.0, 0.75, 0.75, 1.5]
        """
        notions = {step.notion for step in self.plan.steps}
        if len(notions) != 1 or "tradeoff" in notions:
            raise CompositionError("several notions, or curves, have no metric in common")
        gaussian = notions == {"gaussian"}
        return composite(self.plan.domain, self.plan.steps, self.only.unit, gaussian=gaussian)

    def check(self, claims: Sequence[Claim | dict[str, Any]] | None = None) -> tuple[Verdict, ...]:
        """Compare claimed totals with those found; the plan's own claims if left out.

        Examples
        --------
        >>> from corrdp.accounting.plan import plan_from_dict
        >>> plan = plan_from_dict({"domain": {"type": "multiset", "atoms": ["y", "m", "o"]},
        ...     "releases": [{"id": a, "eps": e, "map": {"count": [a]}}
        ...                  for a, e in (("y", .2), ("m", .5), ("o", 1.0))]})
        >>> account(plan, "bounded").check([{"target": "bounded", "eps": 1.0}])
        (claim epsilon 1 at bounded: REJECTED, found 1.5 (L-10),)
        """
        if claims is None:
            return self.verdicts
        return self._verdicts([Claim.from_dict(claim) for claim in claims])

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What came of the plan's own claims."""
        return self._verdicts(self.plan.claims)

    def _verdicts(self, claims: Sequence[Claim]) -> tuple[Verdict, ...]:
        from corrdp.accounting.dependence import level_at
        from corrdp.accounting.mistakes import parallel_claim

        verdicts = []
        for k, claim in enumerate(claims):
            with at(f"claims[{k}]"):
                check_granularity(self.plan.domain, claim.unit)
            part = replace(self.plan, units=(claim.unit,), claims=())
            found = level_at(part, claim)
            holds = found <= claim.level * (1 + _SLACK)
            finding = "" if holds or not parallel_claim(self.plan, claim) else "L-10"
            verdicts.append(Verdict(claim, found, holds, finding))
        return tuple(verdicts)

    def scale_to(self, total: float) -> Plan:
        r"""The same plan with every epsilon (mu) scaled so that the total is kept.

        .. math:: \varepsilon_i' = \varepsilon_i \cdot E / t

        where t is the total now and E the one wanted; rounded down.

        Examples
        --------
        >>> from corrdp.metric.domains import MultisetDomain
        >>> plan = Plan(MultisetDomain(("a", "b")), [Step("x", .2), Step("y", .6)], ["bounded"])
        >>> [round(float(step.level), 6) for step in account(plan).scale_to(.4).steps]
        [0.1, 0.3]
        """
        now = self.only
        check_number("total", total, above=0)
        if now.notion in ("tradeoff", "approximate") or not 0 < now.value < math.inf:
            raise CompositionError(
                f"a {now.notion} total of {now.value:g} cannot be scaled to {total:g}"
            )
        factor = total / now.value
        while True:
            scaled = tuple(step.scaled_by(factor) for step in self.plan.steps)
            plan = replace(self.plan, steps=scaled, claims=())
            if account(plan, now.unit).loss <= total:
                return plan
            factor = math.nextafter(factor, 0.0)

    @property
    def costs(self) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The level of each release by its name, and the totals by their unit, for pictures."""
        steps = [(step.id, float(np.max(step.level))) for step in self.plan.steps]
        totals = [(f"{total.unit} ({total.notion})", float(total.value)) for total in self.totals]
        return steps, [(name, value) for name, value in totals if math.isfinite(value)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each release costs, and all together; returns the matplotlib axes."""
        from corrdp.plots.levels import draw_costs

        return draw_costs(*self.costs, axes_or_pyplot(ax))

    @property
    def per_record(self) -> np.ndarray:
        """Epsilon of each record (time step of a stream) over all releases: one vector."""
        from corrdp.accounting.dependence import per_record

        return per_record(self.plan)

    def leakage(
        self,
        model: Model,
        *,
        confidence: Confidence = "default",
        accept: str | None = None,
        delta: float | None = None,
        unit: int | str | Sequence[int] | None = None,
    ) -> Leakage:
        """What the releases give away together when records depend on each other.

        Epsilons are added record by record (with a delta releases of all kinds are composed), and
        converted once, by the rule of :func:`corrdp.calibrate`: the largest leakage over the
        confidence region of a fitted model and over the richer models beside it. Leakages are never
        added: two releases can leak more together than the sum of what each leaks alone.

        Parameters
        ----------
        model : Model
            With as many records as the domain.
        confidence, accept, delta, unit
            As in :func:`corrdp.calibrate`; a delta is needed beside Gaussian releases.

        Notes
        -----
        On a stream of several users the model is that of each user's series; users are taken to be
        independent, and the result says so.

        Examples
        --------
        One release per day is parallel for DP: every day costs .1, and so does the whole. It is
        not for dependent days:

        >>> import corrdp as cdp
        >>> from corrdp.accounting.maps import Columns
        >>> from corrdp.metric.domains import StreamDomain
        >>> days = [Step(f"day {t}", .1, Columns((t,)), metric="event") for t in range(8)]
        >>> weeks = account(Plan(StreamDomain(1, 8), days), "event")
        >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=8)
        >>> weeks.loss, weeks.rule, round(weeks.leakage(chain).value, 3)
        (0.1, 'parallel', 0.436)
        """
        from corrdp.accounting.dependence import plan_leakage

        return plan_leakage(self.plan, model, confidence, accept, delta=delta, unit=unit)

    def proof(self) -> dict[str, Any]:
        """A certificate as JSON that :func:`corrdp.plans.check_proof` re-checks."""
        return proof_of(self)

    @property
    def notes(self) -> tuple[str, ...]:
        """What looks like an oversight in the plan, though the total is right."""
        if not self.plan.steps:
            return ("the plan has no releases, and costs nothing",)
        return tuple(
            f"releases[{k}] ({step.id!r}) reads nothing and costs nothing: {step.map} names "
            "nothing to read"
            for k, step in enumerate(self.plan.steps)
            if step.map.reads_nothing
        )

    def __repr__(self) -> str:
        head = f"Composition of {len(self.plan.steps)} releases on a {self.plan.domain.type} domain"
        said = dict.fromkeys(a for total in self.totals for a in total.certificate.assumptions)
        return "\n".join(
            [
                head,
                *(repr(total) for total in self.totals),
                *(f"  assumes      {a}" for a in said),
                *(f"  note         {note}" for note in self.notes),
            ]
        )

    @classmethod
    @strict
    def from_dict(cls, data: dict[str, Any]) -> Composition:
        """Inverse of :meth:`to_dict`: the plan is accounted for again and must give the same."""
        check_header(data, "composition")
        plan = plan_from_dict(data["plan"])
        units = tuple(dict.fromkeys(as_granularity(t["target"]) for t in data["totals"]))
        deltas = {t.get("delta") for t in data["totals"]}
        if len(deltas) > 1:
            raise InputError("the totals in this file are at different deltas")
        again = account(replace(plan, units=units), delta=deltas.pop() if deltas else None)
        mine = cls(plan, again.totals)
        for key in ("totals", "verdicts"):
            if mine.to_dict()[key] != data[key]:
                raise InputError(f"the {key} in this file are not those of its plan")
        return mine


def _term(step: Step) -> str:
    unit = "d" if step.metric is None else f"d[{step.metric}]"
    level = "eps_r" if step.is_vector else f"{step.level:g}"
    if step.mode == "pre":
        return f"{level} {unit}(f(D), f(D')) with f = {step.map}"
    return f"{level} {unit}(D, D') through {step.map}"


@renamed(target="unit")
def account(
    plan: Plan | dict[str, Any],
    unit: Granularity | str | None = None,
    *,
    delta: float | None = None,
) -> Composition:
    r"""What all the releases of a plan cost together.

    .. math:: \varepsilon = \max_{D \sim D'} \sum_i \varepsilon_i\, d_i(f_i(D), f_i(D')), \qquad
              \mu = \max_{D \sim D'} \sqrt{\sum_i \mu_i^2\, d_i(f_i(D), f_i(D'))^2}

    where

    - neighbours D ~ D' are those of the unit,
    - release i reads f_i(D), with a guarantee of epsilon_i (mu_i) per unit of d_i,
    - in mode common, where the guarantee is about the whole release, d_i is the least distance of
      data sets that the release cannot tell from D and D',
    - releases with trade-off curves are composed by the tensor product of the curves.

    Parameters
    ----------
    plan : Plan or dict
    unit : Granularity or str, optional
        Who is protected; the plan's units if left out.
    delta : float in (0, 1), optional
        Give one total for releases of all kinds: the least epsilon with which they are (epsilon,
        delta)-DP together, by the exact profile of :func:`corrdp.metric.composition.compose`. Such
        a total has no proof for ``corrdp account --check``.

    Returns
    -------
    Composition

    Raises
    ------
    CompositionError
        When a guarantee of 0 is claimed for a release that depends on the data, or preprocessing
        has no price.
    NotApplicableError
        When there is no closed form and the domain is too large to list.

    References
    ----------
    Guerra-Balboa, dissertation, chapter 4; composition#accounting.

    Examples
    --------
    >>> from corrdp.accounting.maps import ReadsCount
    >>> from corrdp.metric.domains import MultisetDomain
    >>> people = MultisetDomain(("young", "middle", "old"))
    >>> plan = Plan(people, [Step(a, e, ReadsCount((a,))) for a, e in
    ...                      zip(people.atoms, (.2, .5, 1.0))])
    >>> account(plan, "unbounded").loss, account(plan, "bounded").loss
    (1.0, 1.5)
    >>> account(plan, "bounded").rule
    'pairs'
    >>> from corrdp.guarantees import GDP
    >>> both = Plan(people, [Step("all", GDP(.3)), Step("old", .2)])
    >>> round(account(both, "bounded", delta=1e-6).loss, 4)
    1.4519
    """
    if isinstance(plan, dict):
        plan = plan_from_dict(plan)
    check_kind("plan", plan, Plan, "a Plan, or one as JSON")
    units = plan.units if unit is None else (as_granularity(unit),)
    if not units:
        raise InputError(
            "say who is to be protected: a unit such as bounded or unbounded, in the plan or "
            "beside it"
        )
    level = None if delta is None else check_number("delta", delta, above=0, below=1)
    totals = []
    for wanted in units:
        with at(f"unit {wanted}"):
            check_granularity(plan.domain, wanted)
        totals += _totals(plan, wanted, level)
    return Composition(plan, tuple(totals))


def _totals(plan: Plan, unit: Granularity, delta: float | None) -> list[Total]:
    if not plan.steps:
        nothing = Certificate("sequential", "no release was made (composition#accounting)")
        return [Total(unit, "pure", 0.0, None, (), 0.0, nothing)]
    for k, step in enumerate(plan.steps):
        with at(f"releases[{k}] ({step.id!r})"):
            step.check_promise(plan.domain)
            _refuse_false_zero(plan.domain, unit, step)
    losses = losses_of(plan.domain, unit, plan.steps)
    if delta is not None:
        from corrdp.accounting.dependence import total_at

        return [total_at(unit, plan.steps, losses, delta)]
    notions: list[Notion] = [step.notion for step in plan.steps]
    if "tradeoff" in notions:
        for k, step in enumerate(plan.steps):
            if step.flags.map_depends_on_outputs:
                raise CompositionError(
                    f"releases[{k}] ({step.id!r}): what is read is chosen from earlier outputs, "
                    "which this account covers for pure releases only, not beside trade-off curves"
                )
        return [total_of(unit, "tradeoff", plan.steps, range(len(notions)), losses)]
    return [
        total_of(
            unit, notion, plan.steps, [k for k, n in enumerate(notions) if n == notion], losses
        )
        for notion in dict.fromkeys(notions)
    ]


def _refuse_false_zero(domain: Domain, unit: Granularity, step: Step) -> None:
    """A whole release that is 0-DP and depends on the data does not exist."""
    if step.mode != "common" or step.notion != "pure" or np.any(step.level):
        return
    moved = losses_of(domain, unit, [replace(step, guarantee=1.0)]).each[0]
    if moved > 0:
        raise CompositionError(
            f"epsilon 0 in mode common says that the release on the whole data set tells no "
            f"neighbours apart, but {unit} neighbours change what it reads ({step.map}). If the "
            "mechanism alone is 0-DP on what it is given, say mode pre; if it reads nothing, "
            "leave it out"
        )


def proof_of(composition: Composition) -> dict[str, Any]:
    """The plan, and for each total its value, the worst neighbours and what each release adds.

    :func:`corrdp.plans.check_proof` reads nothing else, and shares no code with the
    accountant: it builds neighbours one pair after another and adds up.
    """
    if any(total.notion == "approximate" for total in composition.totals):
        raise CompositionError(
            "a total at a delta has no proof that can be re-checked; account without delta has one"
        )
    units = tuple(dict.fromkeys(total.unit for total in composition.totals))
    # a claim at a unit that is not proved here has no place in the certificate
    verdicts = [v for v in composition.verdicts if v.claim.unit in units]
    claims = tuple(verdict.claim for verdict in verdicts)
    plan = replace(composition.plan, units=units, claims=claims)
    keys = ("target", "notion", "value", "witness", "losses", "sequential")
    totals = [total.to_dict() for total in composition.totals]
    return {
        "corrdp": SCHEMA,
        "result": "proof",
        "plan": plan.to_dict(),
        "totals": [{key: total[key] for key in keys} for total in totals],
        "verdicts": [verdict.to_dict() for verdict in verdicts],
    }
