"""What releases made one by one cost together, also by guarantees that others have proved.

Others are OpenDP measurements and dp-accounting accountants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_items, check_kind, check_number
from corrdp._json import added
from corrdp.accounting.plan import at, read_json
from corrdp.bounds.leakage import Leakage
from corrdp.bounds.units import ONE, Unit, read_unit
from corrdp.errors import InputError
from corrdp.guarantees import GDP, Pure
from corrdp.ledgers.levels import ChargedLevel
from corrdp.ledgers.totals import compose_levels, joint_leakage
from corrdp.mechanisms.several import normal_mechanism
from corrdp.metric.profiles import profile_of
from corrdp.models.base import Model
from corrdp.models.groups import Independent
from corrdp.plots import axes_or_pyplot
from corrdp.queries import query_from_dict
from corrdp.release.number import Release
from corrdp.release.series import Sanitized
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.calibration.robustness import Confidence, Promise

_KINDS: dict[str, Any] = {"release": Release, "sanitized series": Sanitized}
_ASSUMED = (
    "every release is about the same records, one of which is replaced; for other people's records "
    "the largest epsilon counts, not the sum",
    "each release drew its own noise; what was asked may depend on earlier answers",
    "nothing else was learned from these records: the fit of a model, or a release that is not "
    "named here, costs as well",
)
_UNITS = "every release may read all records of the unit"
_OTHER_MODELS = (
    "the releases were made under different models; their plain epsilons add up where a record is "
    "the same in all of them"
)


@dataclass(frozen=True)
class Published:
    """One release as its file tells it: plain DP level, and the BDP level that it kept alone."""

    name: str
    what: str
    epsilon: float
    target: float
    digest: str = ""
    accepted: str = ""  # the steward's reason, where a richer model has no price
    mu: float | None = added()  # of Gaussian noise, as it is booked

    @property
    def guarantee(self) -> Pure | GDP:
        """What it promises about one record."""
        return Pure(self.epsilon) if self.mu is None else GDP(self.mu)

    def __str__(self) -> str:
        level = f"{self.epsilon:.6g}" if self.mu is None else f"mu {self.mu:.6g}"
        return f"{level}  {self.name} ({self.what}; alone at BDP level {self.target:.6g})"


@dataclass(frozen=True, eq=False)
class ReleasesTotal(Result):
    """What releases cost together; returned by :func:`total_releases`.

    Parameters
    ----------
    releases : tuple of Published
    epsilon : float
        The sum of the plain DP levels, or with a delta the level of their exact composition;
        rounded up.
    leakage : Leakage or None
        That converted once on a model, where one was given, by the rule of
        :func:`corrdp.calibrate`.
    assumptions : tuple of str
    delta : float or None
        What is left to chance.
    unit : str or None
        What is protected, in words, where that is more than one record.
    """

    result = "releases total"
    number = "epsilon"
    keys = "epsilon releases levels assumptions leakage delta unit"

    releases: tuple[Published, ...]
    epsilon: float
    leakage: Leakage | None = added()
    assumptions: tuple[str, ...] = _ASSUMED
    delta: float | None = added()
    unit: str | None = added()

    @property
    def levels(self) -> str:
        """What becomes of the BDP levels, which do not add up."""
        alone = ", ".join(f"{r.target:.6g}" for r in self.releases)
        summed = "the summed epsilon" if self.delta is None else "what all promise together"
        if self.leakage is None:
            return (
                f"BDP levels ({alone}) do not add up: releases can leak more together than the sum "
                f"of what each leaks alone. Give the model (--model) to convert {summed} once"
            )
        chance = "" if self.delta is None else f" at delta {self.delta:g}"
        return (
            f"BDP levels ({alone}) do not add up; {summed}, converted once by the rule "
            f"of calibrate, leaks {self.leakage.value:.6g}{chance} ({self.leakage.kind}, "
            f"{self.leakage.certificate.name}, {self.leakage.model})"
        )

    @property
    def costs(self) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """The epsilon of each release by its name, and the total, for pictures."""
        return [(r.name, r.epsilon) for r in self.releases], [("together", self.epsilon)]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what each release costs, and all together; returns the matplotlib axes."""
        from corrdp.plots.levels import draw_costs

        return draw_costs(*self.costs, axes_or_pyplot(ax))

    def __repr__(self) -> str:
        many = "1 release" if len(self.releases) == 1 else f"{len(self.releases)} releases"
        chance = "" if self.delta is None else f" at delta {self.delta:g}"
        whom, rule = self.unit or "one record", "adds up" if self.delta is None else "composes"
        return "\n".join(
            [
                f"{many} together: epsilon {self.epsilon:.9g}{chance} (plain DP, {whom} replaced)",
                *(f"  {rule:<12} {release}" for release in self.releases),
                f"  levels       {self.levels}",
                *(f"  assumes      {text}" for text in self.assumptions),
            ]
        )


def is_release(data: Any) -> bool:
    """Whether JSON is that of a release (and not, say, of a plan)."""
    return isinstance(data, dict) and data.get("result") in list(_KINDS)


def load_releases(paths: Sequence[str | Path]) -> list[Published]:
    """Read the JSON of ``release -o`` and of ``sanitize --json``; none may be named twice.

    Parameters
    ----------
    paths : sequence of paths to JSON files
    """
    paths = check_items("paths", paths)
    found: list[Published] = []
    seen: list[Any] = []
    for path in paths:
        data = read_json(path)
        with at(str(path)):
            found.append(read_release(data, str(path)))
        data.pop("signature", None)  # a signed copy is the same release
        if data in seen:
            first = paths[seen.index(data)]
            raise InputError(f"{path} is the same release as {first}: name it once")
        seen.append(data)
    return found


def read_release(data: Any, name: str) -> Published:
    """What the JSON of a release says about its cost.

    Parameters
    ----------
    data : dict
        The ``to_dict`` of a :class:`corrdp.Release` or :class:`corrdp.Sanitized`.
    name : str
        What to call it.
    """
    if not is_release(data):
        kind = data.get("result") if isinstance(data, dict) else None
        raise InputError(
            f"this is no release but {f'a {kind}' if kind else 'something else'}: give files that "
            "corrdp release wrote (-o) or corrdp sanitize printed (--json); a plan is accounted "
            "for alone"
        )
    try:
        made = _KINDS[data["result"]].from_dict(data)
        series = isinstance(made, Sanitized)
        epsilon = float(made.mechanism.guarantee.largest if series else made.epsilon)
        target, what = float(made.target), _asked(made)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"the release is damaged: {type(error).__name__} {error}") from None
    given = {"epsilon": epsilon if series else data["epsilon"], "target": data["target"]}
    for level, value in given.items():
        check_number(level, value, least=0)
    accepted = "" if made.adequacy is None else made.adequacy.accepted
    return Published(name, what, epsilon, target, str(made.digest), accepted, _mu(made))


def _mu(made: Release | Sanitized) -> float | None:
    """The mu with which Gaussian noise is booked; None for other noise."""
    if isinstance(made, Sanitized) or made.sigma is None:
        return None
    return normal_mechanism(query_from_dict(made.query), made.sigma).guarantee.largest


def _asked(made: Release | Sanitized) -> str:
    if isinstance(made, Sanitized):
        return f"series of {len(made):,} records"
    return str(query_from_dict(made.query))


def total_releases(
    releases: Sequence[Published],
    model: Model | None = None,
    *,
    confidence: Confidence = "default",
    accept: str | None = None,
    delta: float | None = None,
    unit: int | str | Sequence[int] | None = None,
) -> ReleasesTotal:
    r"""What releases that were made one by one cost together.

    .. math:: \varepsilon = \sum_i \varepsilon_i

    where epsilon_i is the plain DP level of release i; with a delta it is the least level of their
    exact composition (:func:`corrdp.metric.composition.compose`), which takes Gaussian releases
    too. BDP levels are never added: with a model the total is converted once, by the rule of
    :func:`corrdp.calibrate`: the largest leakage over the confidence region of a fitted model and
    over the richer models beside it.

    Parameters
    ----------
    releases : sequence of Published
        From :func:`load_releases`.
    model : Model, optional
        The one that the releases were made under; another one is refused.
    confidence, accept
        As in :func:`corrdp.calibrate`; without ``accept`` the reasons that the releases were made
        with.
    delta : float in (0, 1), optional
        Outputs of at most this probability may tell more.
    unit : int, str or sequence of int, optional
        What is protected instead of one record, as in :func:`corrdp.leakage`; a duration needs the
        model.

    Returns
    -------
    ReleasesTotal

    References
    ----------
    composition#leakages-do-not-add, composition#units-of-several-releases.

    Examples
    --------
    >>> import corrdp as cdp
    >>> chain = cdp.MarkovChain([[.9, .1], [.2, .8]], length=4)
    >>> cal = cdp.calibrate(chain, 1.0, query=cdp.Count(1))
    >>> two = [read_release(cal.release([0, 1, 1, 0]).to_dict(), name) for name in ("a", "b")]
    >>> found = total_releases(two, chain)
    >>> found.epsilon == 2 * cal.epsilon, round(found.leakage.value, 4)
    (True, 1.9916)
    """
    releases = check_items("releases", releases)
    if not releases:
        raise InputError("no release is named; give one or more")
    for release in releases:
        check_kind("each of releases", release, Published, "what load_releases returns")
    if model is not None:
        check_kind("model", model, Model, "a dependence model such as MarkovChain")
    chance = None if delta is None else check_number("delta", delta, above=0, below=1)
    for release in releases if chance is None else ():
        if release.mu is not None:
            raise InputError(
                f"{release.name} has Gaussian noise, and no epsilon to add up: give a delta "
                "(--delta 1e-6), at which all releases are composed"
            )
    protected = read_unit(Independent() if model is None else model, unit)
    total = _level(releases, protected or ONE, chance)
    said = () if protected is None else (_UNITS,)
    digests = {r.digest for r in releases if r.digest}
    found = ReleasesTotal(
        tuple(releases),
        total,
        None,
        (*_ASSUMED, *said, *((_OTHER_MODELS,) if model is None and len(digests) > 1 else ())),
        chance,
        None if protected is None else protected.words,
    )
    if model is None:
        return found
    kept, nameless = _rule(releases, model, confidence, accept, chance, unit)
    if total == 0:
        raise InputError("the releases cost nothing together: there is nothing to convert")
    if chance is None:
        leak = kept.leakage(_level(releases, ONE, None), unit=unit)
    else:
        leak = joint_leakage(
            [ChargedLevel.of(r.guarantee) for r in releases], kept, delta=chance, unit=unit
        )
    return replace(found, leakage=leak, assumptions=(*kept.words, *found.assumptions, *nameless))


def _level(releases: Sequence[Published], unit: Unit, delta: float | None) -> float:
    """The plain DP level of all releases, rounded up."""
    if delta is None:
        exact = sum((Fraction(r.epsilon) for r in releases), Fraction(0)) * unit.size
        total = float(exact)
        return math.nextafter(total, math.inf) if Fraction(total) < exact else total
    told = _told(releases)
    return profile_of(compose_levels(told, unit, None).of_unit).epsilon(delta) if told else 0.0


def _told(releases: Sequence[Published]) -> list[ChargedLevel]:
    """What the releases cost, without those that tell nothing."""
    return [ChargedLevel.of(r.guarantee) for r in releases if r.mu or r.epsilon]


def _rule(
    releases: Sequence[Published],
    model: Model,
    confidence: Confidence,
    accept: str | None,
    delta: float | None,
    unit: Any,
) -> tuple[Promise, tuple[str, ...]]:
    """How the releases are converted, and what is taken for granted about their model."""
    from corrdp.calibration.robustness import promise_on

    for release in releases:
        if release.digest not in ("", model.digest):
            raise InputError(
                f"{release.name} was made under another model (digest {release.digest[:12]}.., "
                f"this one has {model.digest[:12]}..): what a record is may differ. Give the model "
                "that all releases were made under, or leave it out and add plain epsilons"
            )
    nameless = [r.name for r in releases if not r.digest]
    said = (
        (f"{', '.join(nameless)} does not tell its model: its records are those of this one",)
        if nameless
        else ()
    )
    reasons = "; ".join(dict.fromkeys(r.accepted for r in releases if r.accepted))
    reason = reasons or None if accept is None else accept
    return promise_on(model, confidence, reason, delta=delta, unit=unit), said
