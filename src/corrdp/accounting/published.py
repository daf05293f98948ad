"""What releases made one by one cost together, also by guarantees that others have proved.

Others are OpenDP measurements and dp-accounting accountants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_number
from corrdp._json import added
from corrdp.accounting.plan import at, read_json
from corrdp.errors import InputError
from corrdp.plots import axes_or_pyplot
from corrdp.release.number import Release
from corrdp.release.series import Sanitized
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.bounds.leakage import Leakage
    from corrdp.calibration.adequate import Confidence
    from corrdp.models.base import Model

_KINDS: dict[str, Any] = {"release": Release, "sanitized series": Sanitized}
_ASSUMED = (
    "every release is about the same records, one of which is replaced; for other people's records "
    "the largest epsilon counts, not the sum",
    "each release drew its own noise; what was asked may depend on earlier answers",
    "nothing else was learned from these records: the fit of a model, or a release that is not "
    "named here, costs as well",
)
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

    def __str__(self) -> str:
        return (
            f"{self.epsilon:.6g}  {self.name} ({self.what}; alone at BDP level {self.target:.6g})"
        )


@dataclass(frozen=True, eq=False)
class ReleasesTotal(Result):
    """What releases cost together; returned by :func:`total_releases`.

    Parameters
    ----------
    releases : tuple of Published
    epsilon : float
        The sum of the plain DP levels, rounded up.
    leakage : Leakage or None
        That sum converted once on a model, where one was given, by the rule of
        :func:`corrdp.calibrate`.
    assumptions : tuple of str
    """

    result = "releases total"
    number = "epsilon"
    keys = "epsilon releases levels assumptions leakage"

    releases: tuple[Published, ...]
    epsilon: float
    leakage: Leakage | None = added()
    assumptions: tuple[str, ...] = _ASSUMED

    @property
    def levels(self) -> str:
        """What becomes of the BDP levels, which do not add up."""
        alone = ", ".join(f"{r.target:.6g}" for r in self.releases)
        if self.leakage is None:
            return (
                f"BDP levels ({alone}) do not add up: releases can leak more together than the sum "
                "of what each leaks alone. Give the model (--model) to convert the summed epsilon "
                "once"
            )
        return (
            f"BDP levels ({alone}) do not add up; the summed epsilon, converted once by the rule "
            f"of calibrate, leaks {self.leakage.value:.6g} ({self.leakage.kind}, "
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
        return "\n".join(
            [
                f"{many} together: epsilon {self.epsilon:.9g} (plain DP, one record replaced)",
                *(f"  adds up      {release}" for release in self.releases),
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
    return Published(name, what, epsilon, target, str(made.digest), accepted)


def _asked(made: Release | Sanitized) -> str:
    from corrdp.queries import query_from_dict

    if isinstance(made, Sanitized):
        return f"series of {len(made):,} records"
    return str(query_from_dict(made.query))


def total_releases(
    releases: Sequence[Published],
    model: Model | None = None,
    *,
    confidence: Confidence = "default",
    accept: str | None = None,
) -> ReleasesTotal:
    r"""What releases that were made one by one cost together.

    .. math:: \varepsilon = \sum_i \varepsilon_i

    where epsilon_i is the plain DP level of release i. BDP levels are never added: with a model the
    sum is converted once, by the rule of :func:`corrdp.calibrate`: the largest leakage over the
    confidence region of a fitted model and over the richer models beside it.

    Parameters
    ----------
    releases : sequence of Published
        From :func:`load_releases`.
    model : Model, optional
        The one that the releases were made under; another one is refused.
    confidence, accept
        As in :func:`corrdp.calibrate`; without ``accept`` the reasons that the releases were made
        with.

    Returns
    -------
    ReleasesTotal

    References
    ----------
    composition#leakages-do-not-add.

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
    if not releases:
        raise InputError("no release is named; give one or more")
    exact = sum((Fraction(r.epsilon) for r in releases), Fraction(0))
    total = float(exact)
    if Fraction(total) < exact:
        total = math.nextafter(total, math.inf)
    if model is None:
        digests = {r.digest for r in releases if r.digest}
        said = (_OTHER_MODELS,) if len(digests) > 1 else ()
        return ReleasesTotal(tuple(releases), total, None, (*_ASSUMED, *said))
    return _converted(tuple(releases), total, model, confidence, accept)


def _converted(
    releases: tuple[Published, ...],
    total: float,
    model: Model,
    confidence: Confidence,
    accept: str | None,
) -> ReleasesTotal:
    from corrdp.calibration.adequate import promise_on

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
    if total == 0:
        raise InputError("the releases cost nothing together: there is nothing to convert")
    reasons = "; ".join(dict.fromkeys(r.accepted for r in releases if r.accepted))
    kept = promise_on(model, confidence, reasons or None if accept is None else accept)
    return ReleasesTotal(releases, total, kept.leakage(total), (*kept.words, *_ASSUMED, *said))
