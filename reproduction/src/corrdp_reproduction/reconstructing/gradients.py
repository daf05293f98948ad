"""Guerra-Balboa (2026), figures 5.4, 5.5: attacks on DP-SGD that know nothing, a class, all."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.guarantees import GDP
from corrdp.metric.tradeoff import mu_for
from corrdp.plots import ACCENT, INK, MUTED, SOFT, WARM
from corrdp.reconstruction.bounds import rad_bound
from corrdp.reconstruction.linear import rero_bound
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Size, Table, judge
from corrdp_reproduction.harness import Experiment, Run, curves, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER, centred_rad, uniform
from corrdp_reproduction.reconstructing.pictures import Pictures, clothes, handwritten
from corrdp_reproduction.reconstructing.training import RATE, RULES, Lesson, attacked, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KNOWN = {"nothing": "(a) nothing known", "class": "(b) class known", "record": "(c) record known"}
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (4.0, 10.0),
    "full": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
}
DRAWS = 6  # of the candidates: how alike they are is a matter of luck
TRAININGS: dict[Size, int] = {"quick": 32, "full": 160}  # for each draw
OTHERS: dict[Size, int] = {"quick": 199, "full": 999}  # they shape the path, not the noise
CERTAIN = 3.5  # standard errors
NEARLY = 0.8  # of a bound
_COLUMNS = (
    "epsilon", "sigma", "known", "rad", "error", "success", "published_rad", "published_error",
    "published_success", "rad_bound", "success_bound", "corrected_bound", "distance", "correct",
)  # fmt: skip


def constants(name: str, figure: str) -> dict[str, Published]:
    """Constants and claims of either figure; no plotted value can be read."""
    where, found = "section 5.5.2", "section 5.5.3"
    return {
        "others": Published("records that are known", where, 999),
        "steps": Published("full-batch steps", where, 100),
        "clip": Published("clipping norm", where, 0.1),
        "delta": Published("of the guarantee", where, 1e-5),
        "m": Published("candidates, equally likely", where, 8),
        "kappa": Published("chance that two draws are the same candidate", where, 0.125),
        "success holds": Published("the bound on the success holds if nothing is known", found),
        "success fails": Published(
            "success exceeds its bound if the class or the record is known", found
        ),
        "published rule": Published(
            f"the advantage of its attack on {name} stays below its bounds whatever is known", found
        ),
        "best attack": Published("and so does that of every attack", "example 5.17"),
        "nearly tight": Published(
            "the bounds on the advantage are nearly attained if something is known", found
        ),
        "membership": Published(
            "membership attacks succeed more often than this at some epsilon up to 4", found, 0.6
        ),
    }


def played(run: Run, load: Callable[[Any], Pictures]) -> Result:
    """Train on pictures; attack with what each attacker knows.

    The same trainings serve every attacker. ``rad`` and ``success`` are of the attack of largest
    advantage, ``published_..`` of the source's rule; ``rad_bound`` and ``success_bound`` as the
    source has them.
    """
    pictures, given, size = load(run.data), run.given, run.size
    draws = [run.rng.permutation(len(pictures.labels)) for _ in range(DRAWS)]
    m, used = given["m"], OTHERS[size]
    lessons = [
        Lesson(pictures.pixels, pictures.labels, order[m : m + used], order[:m], given["clip"])
        for order in draws
    ]
    rows = []
    for epsilon in run.over(EPSILONS[size]):
        rows += _rows(lessons, epsilon, given, TRAININGS[size], run.rng)
    table = Table(_COLUMNS, tuple(rows))
    chosen = {
        "pictures": pictures.name,
        "draws of candidates": DRAWS,
        "trainings": TRAININGS[size],
        "others used": used,
        "learning rate": RATE,
    }
    notes = (
        f"Logistic regression on {pictures.name}, {used} known records; at each of "
        f"{len(EPSILONS[size])} epsilons {TRAININGS[size]} trainings for each of {DRAWS} draws of "
        "the candidates. The source names no model; it has 1,000 runs for each candidate.",
        "Bounds as the source has them take one clipping norm for what a replaced record moves; "
        "corrected_bound takes two, or the bound for records near one law if it is smaller.",
    )
    findings = _findings(table, given, "" if pictures.real else pictures.name)
    return run.result(table, findings, {**given, **chosen}, notes)


def _rows(
    lessons: list[Lesson],
    epsilon: float,
    given: dict[str, Any],
    trainings: int,
    rng: np.random.Generator,
) -> list[tuple[Any, ...]]:
    mu = mu_for(epsilon, given["delta"])
    sigma = math.sqrt(given["steps"]) / mu
    seen = [lesson.watch(sigma, given["steps"], trainings, rng) for lesson in lessons]
    success_bound = rero_bound(GDP(mu), uniform(given["m"])).value
    distance = max(watched.distance for watched in seen)
    correct = float(np.mean([watched.correct for watched in seen]))
    rows = []
    for known in KNOWN:
        threats = [_threat(known, lesson) for lesson in lessons]
        best, rule = (
            mean_of([attacked(w, sigma, t, how) for w, t in zip(seen, threats, strict=True)])
            for how in RULES
        )
        bound, corrected = (rad_bound(GDP(k * mu), threats[0]).value for k in (1, 2))
        if known == "nothing":
            corrected = min(corrected, centred_rad(mu, given["m"]))
        rows.append((epsilon, sigma, known, best.value, best.error, best.success, rule.value,
                     rule.error, rule.success, bound, success_bound, corrected, distance,
                     correct))  # fmt: skip
    return rows


def _threat(known: str, lesson: Lesson) -> Threat:
    """Name the candidate exactly, knowing nothing, its class, or itself."""
    m = len(lesson.candidates)
    if known == "class":
        return Threat(np.full(m, 1 / m), aux=lesson.labels[lesson.candidates].tolist())
    return uniform(m) if known == "nothing" else Threat.membership(np.full(m, 1 / m))


def _findings(table: Table, given: dict[str, Any], instead: str) -> list[Finding]:
    nothing = list(table.where(known="nothing").records())
    known = [row for row in table.records() if row["known"] != "nothing"]
    member = [row for row in table.where(known="record").records() if row["epsilon"] <= 4]
    spare = min(row["success_bound"] - row["success"] for row in nothing)
    over = {
        name: [row for row in known if row["known"] == name
               and row["published_success"] > row["success_bound"]]
        for name in ("class", "record")
    }  # fmt: skip
    most = max(row["published_success"] - row["success_bound"] for row in known)
    excess = max(row["rad"] - row["corrected_bound"] for row in table.records())
    full = list(table.where(known="record").records())
    rule = [row["published_rad"] / row["rad_bound"] for row in full]
    best = [row["rad"] / row["corrected_bound"] for row in full]
    short_of = [
        row for row in full
        if row["published_rad"] + CERTAIN * row["published_error"] < NEARLY * row["rad_bound"]
    ]  # fmt: skip
    short = max(1 - row["published_rad"] / row["rad"] for row in full)
    top = max(row["published_success"] for row in member)
    certain = f"{CERTAIN} standard errors"
    return [
        judge("kappa", given["kappa"] == 1 / given["m"], "1/m for equally likely candidates.",
              1 / given["m"]),
        judge(
            "success holds",
            spare > 0,
            f"Success stays {spare:.4f} below it or more.",
            spare,
            instead=instead,
        ),
        judge(
            "success fails",
            all(over.values()),
            f"At {len(over['class'])} of {len(nothing)} epsilons with the class known, at "
            f"{len(over['record'])} with the record, by up to {most:.4f}.",
            most,
            instead=instead,
        ),
        judge(
            "published rule",
            not _above(table, "published_rad", "published_error"),
            _nearest(table, "published_rad", "published_error"),
            max(row["published_rad"] - row["rad_bound"] for row in table.records()),
            within=certain,
            instead=instead,
        ),
        judge(
            "best attack",
            not _above(table, "rad", "error"),
            _nearest(table, "rad", "error")
            + f" Candidates' gradients lie up to {max(table.column('distance')):.2f} clipping "
            "norms apart where the source takes 1; with two norms for a replaced record the bounds "
            f"are {-excess:.4f} above it or more.",
            max(row["rad"] - row["rad_bound"] for row in table.records()),
            excess,
            within=certain,
            instead=instead,
        ),
        judge(
            "nearly tight",
            not short_of,
            f"The published rule reaches {min(rule):.3f} to {max(rule):.3f} of the published bound "
            f"if the record is known, up to {short:.0%} short of the best attack, which reaches "
            f"{min(best):.3f} to {max(best):.3f} of the corrected bound.",
            min(rule),
            min(best),
            within=f"at least {NEARLY:g} of the bound, to {certain}",
            instead=instead,
        ),
        judge(
            "membership",
            top > given["membership"],
            f"Up to {top:.4f} by the published rule.",
            top,
            max(row["success"] for row in member),
            instead=instead,
        ),
    ]  # fmt: skip


def _above(table: Table, name: str, error: str) -> list[dict[str, Any]]:
    """Points where an advantage is above the published bound for certain."""
    return [row for row in table.records() if row[name] - CERTAIN * row[error] > row["rad_bound"]]


def _nearest(table: Table, name: str, error: str) -> str:
    above = len(_above(table, name, error))
    row = max(table.records(), key=lambda row: row[name] - row["rad_bound"])
    return (
        f"Above for certain at {above} of {len(table.rows)} points; most at epsilon "
        f"{row['epsilon']:g} with the {row['known']} known: {row[name]:.4f} (error "
        f"{row[error]:.4f}), bound {row['rad_bound']:.4f}."
    )


def draw(known: str, result: Result, ax: Axes) -> None:
    """Risk of who knows so much, against epsilon, with the bounds."""
    shown = [
        ("success_bound", WARM, "--", "bound on the success"),
        ("published_success", WARM, "o", "success, published rule"),
        ("corrected_bound", MUTED, "-", "bound on the advantage, corrected"),
        ("rad_bound", ACCENT, "-", "bound on the advantage, published"),
        ("rad", INK, "x", "advantage, best attack"),
        ("published_rad", SOFT, "x", "advantage, published rule"),
    ]
    curves(ax, result.table.where(known=known), "epsilon", shown)
    ax.set_ylim(0.0, 1.0)


def attacks_on(number: str, name: str, title: str, load: Callable[[Any], Pictures]) -> Experiment:
    """Figure 5.4 or 5.5: the same trainings and attacks on one set of pictures or the other.

    Parameters
    ----------
    number : str
        Of the figure.
    name : str
        Of the pictures.
    title : str
    load : callable
        Gives the pictures that are at hand in a directory.
    """
    figure = f"figure {number}"
    claims = constants(name, figure)
    made = experiment(f"004-figure-{number}", title, f"{CHAPTER}, {figure}", claims)(
        partial(played, load=load)
    )
    made.panels_of(KNOWN, "epsilon", "risk", fontsize=7)(draw)
    return made


figure_5_4 = attacks_on("5.4", "MNIST", "Attacks on DP-SGD that learns digits", handwritten)
figure_5_5 = attacks_on(
    "5.5", "Fashion-MNIST", "Attacks on DP-SGD that learns other pictures", clothes
)
