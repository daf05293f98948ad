"""Guerra-Balboa (2026), table 5.2: an attack that never looks at the output."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.attacks.records import RecordAttack
from corrdp.mechanisms.local.direct import GRR
from corrdp.plots import ACCENT, WARM
from corrdp.reconstruction.exact import rad, rad_of_attack
from corrdp.reconstruction.threat import Threat
from corrdp_reproduction.base import Finding, Published, Result, Table, judge
from corrdp_reproduction.harness import Run, experiment
from corrdp_reproduction.reconstructing.dissertation import CHAPTER
from corrdp_reproduction.reconstructing.pictures import INSTALL
from corrdp_reproduction.recordings import NoDataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SEEDS = 5
UNIVERSE = 100  # candidates; the others are public
EPSILON = 1.0  # of the mechanism that is not looked at
_WHERE = "table 5.2"
PUBLISHED = {
    "census": Published("success of imputing race, Census", _WHERE, 0.81),
    "texas": Published("success of imputing ethnicity, Texas-100X", _WHERE, 0.73),
    "advantage": Published("advantage of either attack", _WHERE, 0.0),
    "census records": Published("records of Census", "section 5.5.1", 1_676),
    "public records": Published("records that train the attack", "section 5.5.2", 49_000),
    "candidates": Published("records that are attacked", "section 5.5.2", 1_000),
    "overestimate": Published("the success is large where nothing leaks", "section 5.5.3"),
}


@dataclass(frozen=True, eq=False)
class Predicted(RecordAttack):
    """Guess the attribute that a classifier predicts from the others, whatever is answered.

    Parameters
    ----------
    threat : Threat
        One label per record: its other attributes.
    guesses : array of int
        For each record one that has the predicted value.
    """

    threat: Threat
    guesses: np.ndarray

    def table(self, outputs: Any) -> np.ndarray:
        """The record guessed: one row per label, the same for every output."""
        return np.repeat(self.guesses[:, None], len(outputs), axis=1)


@experiment(
    "004-table-5.2", "An attack that never looks at the output", f"{CHAPTER}, table 5.2", PUBLISHED
)
def table_5_2(run: Run) -> Result:
    """Impute an attribute in tables that ship with scikit-learn, five times each.

    Sex of diabetes patients from nine measurements, diagnosis of a tumour from thirty. The public
    records train the classifier; one of 100 others is attacked, all of whose other attributes
    are known. ``advantage`` is exact, against randomized response over the 100 records;
    ``leak`` is what the best attack on it gains.
    """
    given = run.given
    rows = []
    for (name, features, secret), seed in run.over([*itertools.product(_tables(), range(SEEDS))]):
        rows.append((name, seed, *_imputed(features, secret, run.rng)))
    table = Table(("table", "seed", "success", "commonest", "advantage", "leak"), tuple(rows))
    inputs = {**given, "universe": UNIVERSE, "epsilon": EPSILON}
    return run.result(table, _findings(table, given), inputs)


def _tables() -> list[tuple[str, np.ndarray, np.ndarray]]:
    try:
        from sklearn.datasets import load_breast_cancer, load_diabetes
    except ImportError:
        raise NoDataError(INSTALL) from None
    people, tumours = load_diabetes(), load_breast_cancer()
    sex = people.feature_names.index("sex")
    return [
        ("diabetes", np.delete(people.data, sex, axis=1), (people.data[:, sex] > 0).astype(int)),
        ("tumours", tumours.data, tumours.target),
    ]


def _imputed(
    features: np.ndarray, secret: np.ndarray, rng: np.random.Generator
) -> tuple[float, ...]:
    """Success of imputation, of always naming the commonest value; both kinds of advantage."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    order = rng.permutation(len(secret))
    candidates, public = order[:UNIVERSE], order[UNIVERSE:]
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    said = model.fit(features[public], secret[public]).predict(features[candidates])
    own = secret[candidates]
    threat = Threat.attribute(
        np.full(UNIVERSE, 1 / UNIVERSE), secret=own.tolist(), aux=range(UNIVERSE)
    )
    guesses = np.array([np.flatnonzero(own == value)[0] for value in said])
    channel = GRR(UNIVERSE, EPSILON).channel()
    table = Predicted(threat, guesses).table(range(UNIVERSE))
    gained, success, _ = rad_of_attack(channel, threat, table)
    blind = float((own == np.bincount(secret[public]).argmax()).mean())
    return success, blind, gained, rad(channel, threat).value


def _findings(table: Table, given: dict[str, Any]) -> tuple[Finding, ...]:
    shown = {
        name: float(np.mean(table.where(table=name).column("success")))
        for name in dict.fromkeys(table.column("table"))
    }
    most = max(abs(value) for value in table.column("advantage"))
    leak = max(table.column("leak"))
    said = ", ".join(f"{name} {value:.2f}" for name, value in shown.items())
    stand_in = f"On tables of scikit-learn: {said}."
    return (
        Finding("census", "stand-in data", stand_in),
        Finding("texas", "stand-in data", stand_in),
        judge(
            "advantage",
            most < 1e-12,
            f"{most:.0e} at most over {len(table.rows)} runs, exactly 0 but for rounding; the best "
            f"attack on the mechanism that was not looked at gains {leak:.4f}.",
            most,
            0.0,
            instead="tables of scikit-learn",
        ),
        judge(
            "overestimate",
            min(shown.values()) > 0.6,
            f"{said}, mean of {SEEDS} splits.",
            min(shown.values()),
            within="success above .6",
            instead="tables of scikit-learn",
        ),
    )


@table_5_2.panel("table", "risk", labelcolor=None)
def draw(result: Result, ax: Axes) -> None:
    """Success and advantage of imputation, one pair of bars per table."""
    names = list(dict.fromkeys(result.table.column("table")))
    for k, (column, colour) in enumerate((("success", WARM), ("advantage", ACCENT))):
        means = [float(np.mean(result.table.where(table=n).column(column))) for n in names]
        ax.bar(np.arange(len(names)) - 0.2 + 0.4 * k, means, 0.38, color=colour, label=column)
    ax.set_xticks(range(len(names)), names)
