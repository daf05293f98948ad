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
from corrdp_reproduction.reconstructing.pictures import digits, patches
from corrdp_reproduction.reconstructing.training import RATE, RULES, Lesson, attacked, mean_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KNOWN = ("nothing", "class", "record")
EPSILONS: dict[Size, tuple[float, ...]] = {
    "quick": (4.0, 10.0),
    "full": (1.0, 2.0, 4.0, 6.0, 8.0, 10.0),
}
DRAWS = 6  # of the candidates: how alike they are is a matter of luck
TRAININGS: dict[Size, int] = {"quick": 80, "full": 160}  # for each draw
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
        "data": Published(f"attacks on models of {name}, 1,000 runs for each candidate", figure),
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
        "advantage holds": Published(
            "the advantage stays below its bounds whatever is known", "section 5.5.3"
        ),
        "nearly tight": Published(
            "the bounds on the advantage are nearly attained if something is known",
            "section 5.5.3",
        ),
        "membership": Published(
            "membership attacks succeed more often than this at some epsilon up to 4",
            "section 5.5.3",
            0.6,
        ),
    }


def played(run: Run, load: Callable[[], tuple[np.ndarray, np.ndarray]], instead: str) -> Result:
    """Train on small pictures in place of the source's; attack with what each attacker knows.

    The same trainings serve every attacker. ``rad`` and ``success`` are of the attack of largest
    advantage, ``published_..`` of the source's rule; ``rad_bound`` and ``success_bound`` as the
    source has them. The pictures come with scikit-learn; without it there is a NoDataError.
    """
    (pictures, labels), given, size = load(), run.given, run.size
    draws = [run.rng.permutation(len(pictures)) for _ in range(DRAWS)]
    m, used = given["m"], OTHERS[size]
    lessons = [
        Lesson(pictures, labels, order[m : m + used], order[:m], given["clip"]) for order in draws
    ]
    rows = []
    for epsilon in run.over(EPSILONS[size]):
        rows += _rows(lessons, epsilon, given, TRAININGS[size], run.rng)
    table = Table(_COLUMNS, tuple(rows))
    chosen = {
        "draws of candidates": DRAWS,
        "trainings": TRAININGS[size],
        "others used": used,
        "learning rate": RATE,
    }
    done = (
        f"Run instead: {instead}, {used} known records; at each of {len(EPSILONS[size])} epsilons "
        f"{TRAININGS[size]} trainings for each of {DRAWS} draws of the candidates."
    )
    notes = (
        done,
        "Bounds as the source has them take one clipping norm for what a replaced record moves; "
        "corrected_bound takes two, or the bound for records near one law if it is smaller.",
    )
    missing = Finding("data", "not run", f"The pictures are not here. {done}")
    findings = (missing, *_findings(table, given))
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


def _findings(table: Table, given: dict[str, Any]) -> list[Finding]:
    nothing = list(table.where(known="nothing").records())
    known = [row for row in table.records() if row["known"] != "nothing"]
    member = [row for row in table.where(known="record").records() if row["epsilon"] <= 4]
    spare = min(row["success_bound"] - row["success"] for row in nothing)
    over = {
        name: [row for row in known if row["known"] == name
               and row["published_success"] > row["success_bound"]]
        for name in KNOWN[1:]
    }  # fmt: skip
    most = max(row["published_success"] - row["success_bound"] for row in known)
    above, of_rule = (
        [row for row in table.records() if row[name] - CERTAIN * row[error] > row["rad_bound"]]
        for name, error in (("rad", "error"), ("published_rad", "published_error"))
    )
    worst = max(table.records(), key=lambda row: row["rad"] - row["rad_bound"])
    excess = max(row["rad"] - row["corrected_bound"] for row in table.records())
    full = list(table.where(known="record").records())
    rule = [row["published_rad"] / row["rad_bound"] for row in full]
    best = [row["rad"] / row["corrected_bound"] for row in full]
    short = max(1 - row["published_rad"] / row["rad"] for row in full)
    low = max(1 - row["rad_bound"] / row["corrected_bound"] for row in full)
    top = max(row["published_success"] for row in member)
    return [
        judge("kappa", given["kappa"] == 1 / given["m"], "1/m for equally likely candidates.",
              1 / given["m"]),
        judge(
            "success holds",
            spare > 0,
            f"Success stays {spare:.4f} below it or more.",
            spare,
        ),
        judge(
            "success fails",
            all(over.values()),
            f"At {len(over['class'])} of {len(nothing)} epsilons with the class known, at "
            f"{len(over['record'])} with the record, by up to {most:.4f}.",
            most,
        ),
        judge(
            "advantage holds",
            not above,
            f"The best attack is above for certain at {len(above)} of {len(table.rows)} points, "
            f"the published rule at {len(of_rule)}; most at epsilon {worst['epsilon']:g} with the "
            f"{worst['known']} known: {worst['rad']:.4f} (error {worst['error']:.4f}), bound "
            f"{worst['rad_bound']:.4f}. Candidates' gradients lie up to {worst['distance']:.2f} "
            "clipping norms apart where the source takes 1; below the corrected bounds by "
            f"{-excess:.4f} at least.",
            max(row["published_rad"] - row["rad_bound"] for row in table.records()),
            excess,
        ),
        judge(
            "nearly tight",
            min(rule) >= NEARLY,
            f"The published rule reaches {min(rule):.3f} to {max(rule):.3f} of the published bound "
            f"if the record is known: the rule is up to {short:.0%} short of the best attack, the "
            f"bound up to {low:.0%} below what replacing a record allows. The best attack reaches "
            f"{min(best):.3f} to {max(best):.3f} of the corrected bound.",
            min(rule),
            min(best),
        ),
        judge(
            "membership",
            top > given["membership"],
            f"Up to {top:.4f} by the published rule.",
            top,
            max(row["success"] for row in member),
        ),
    ]  # fmt: skip


def draw(result: Result, ax: Axes) -> None:
    """Risk of who knows the record, against epsilon, with the bounds."""
    shown = [
        ("success_bound", WARM, "--", "bound on the success"),
        ("published_success", WARM, "o", "success, published rule"),
        ("corrected_bound", MUTED, "-", "bound on the advantage, corrected"),
        ("rad_bound", ACCENT, "-", "bound on the advantage, published"),
        ("rad", INK, "x", "advantage, best attack"),
        ("published_rad", SOFT, "x", "advantage, published rule"),
    ]
    part = result.table.where(known="record")
    curves(ax, part, "epsilon", shown)


def attacks_on(
    number: str,
    pictures: str,
    title: str,
    load: Callable[[], tuple[np.ndarray, np.ndarray]],
    instead: str,
) -> Experiment:
    """Figure 5.4 or 5.5: the same trainings and attacks on one set of pictures or the other.

    Parameters
    ----------
    number : str
        Of the figure.
    pictures : str
        Those of the source.
    title : str
    load : callable
        Gives the pictures used instead, and their labels.
    instead : str
        What they are, in words.
    """
    figure = f"figure {number}"
    claims = constants(pictures, figure)
    made = experiment(f"004-figure-{number}", title, f"{CHAPTER}, {figure}", claims)(
        partial(played, load=load, instead=instead)
    )
    made.panel("epsilon", "risk, record known", fontsize=7.5)(draw)
    return made


figure_5_4 = attacks_on(
    "5.4",
    "MNIST",
    "Attacks on DP-SGD that learns digits",
    digits,
    "scikit-learn's 8 x 8 digits, logistic regression",
)
figure_5_5 = attacks_on(
    "5.5",
    "Fashion-MNIST",
    "Attacks on DP-SGD that learns other pictures",
    patches,
    "8 x 8 patches of two photographs that come with scikit-learn, ten classes, "
    "logistic regression",
)
