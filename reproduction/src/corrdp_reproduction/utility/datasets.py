"""The data sets of the utility experiments: printed, read from public tables, or generated."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from corrdp.bounds.gaussian.factors import lange_factor
from corrdp.calibration.calibrate import calibrate
from corrdp.models.chains.markov import MarkovChain
from corrdp.models.gaussian.records import GaussianRecords
from corrdp.queries import Count, Sum
from corrdp_reproduction.recordings import NoDataError, daily_energy, data_file

Directory = str | os.PathLike[str] | None
GROUPS = {"Galton": (3, 0.275), "FamilyIQ": (2, 0.4483), "SyntheticIQ": (2, 0.45)}
# two of them miss 1 in a row by a rounded digit
PRINTED = {
    "Activity": ((0.882, 0.117), (0.305, 0.695)),
    "electricity 70": ((0.445, 0.555), (0.149, 0.850)),
    "electricity 80": ((0.818, 0.182), (0.371, 0.629)),
    "electricity 90": ((0.894, 0.106), (0.478, 0.522)),
}
ELECTRICITY = tuple(PRINTED)[1:]
DAYS = 731  # of electricity
# gamma, and the least target by equation (6) of the paper, as printed
GAMMAS = {
    "Activity": (7.54, 8.05),
    "electricity 70": (3.29, 4.7),
    "electricity 80": (4.49, 6.03),
    "electricity 90": (8.43, 8.54),
}
STAND_IN = (
    "The electricity series (AMPds2) is not public here: its printed matrices are used, with the "
    "expected number of high days, and another household's days (UCI) stand in for real ones, "
    "split where as many are high."
)
_PEOPLE = 20_000  # of SyntheticIQ


@dataclass(frozen=True, eq=False)
class Families:
    """Real-valued records in groups that are normal together.

    Parameters
    ----------
    name : str
    values : (families, m) array
    clip : pair of float
        Range that values are clipped to; its width is the sensitivity of a sum.
    model : GaussianRecords
        As fitted, or as generated.
    """

    name: str
    values: np.ndarray
    clip: tuple[float, float]
    model: GaussianRecords

    @property
    def width(self) -> float:
        """Sensitivity of a clipped sum."""
        return self.clip[1] - self.clip[0]

    @property
    def printed_factor(self) -> float:
        """Noise relative to DP by the source: its theorem at the printed correlation."""
        return lange_factor(*GROUPS[self.name])

    @property
    def table_factor(self) -> float:
        """The same theorem at the largest correlation of the table itself."""
        spread = np.sqrt(np.diag(self.model.cov))
        apart = np.asarray(self.model.cov) / np.outer(spread, spread) - np.eye(len(spread))
        return lange_factor(len(spread), float(np.abs(apart).max()))

    @property
    def tight_factor(self) -> float:
        """Noise relative to DP that the model needs, without equal variances (regression)."""
        return 1.0 / calibrate(self.model, 1.0, query=Sum(*self.clip)).epsilon

    @property
    def total(self) -> float:
        """What the sum query answers: over the children of the height table, else over all."""
        people = self.values[:, 2] if self.name == "Galton" else self.values
        return float(np.clip(people, *self.clip).sum())


@dataclass(frozen=True, eq=False)
class Records:
    """A two-state series, or several of the same law.

    Parameters
    ----------
    name : str
    chain : MarkovChain
        With the length of one series.
    counts : array
        How many records of each series are in the second state; expected ones without a series.
    """

    name: str
    chain: MarkovChain
    counts: np.ndarray

    @property
    def gamma(self) -> float:
        """Largest transition probability over the smallest."""
        return float(self.chain.transition.max() / self.chain.transition.min())


def gaussian_sets(
    rng: np.random.Generator, data: Directory = None
) -> tuple[list[Families], list[str]]:
    """Galton, FamilyIQ and SyntheticIQ; and a note for each whose table is not there."""
    made = synthetic_iq(rng)  # first, so that what is drawn does not depend on the tables at hand
    found, notes = _at_hand({"Galton": heights, "FamilyIQ": family_iq}, data)
    return [*found, made], notes


def markov_sets(data: Directory = None, *, single_days: bool) -> tuple[list[Records], list[str]]:
    """Activity, the printed electricity matrices, and a household as a real stand-in for them.

    Parameters
    ----------
    data : path, optional
    single_days : bool
        Whether the days of the activity series count as series of their own, too.

    Returns
    -------
    list of Records, list of str
        What is at hand, and a note for each table that is not.
    """
    walked, notes = _at_hand({"Activity": activity}, data)
    used, more = _at_hand({"AMPds2": measured, "household": household}, data)
    days = [records for records in walked if single_days or records.name == "Activity"]
    return [*days, *electricity(), *used], [STAND_IN, *notes, *more]


def _at_hand(
    makers: Mapping[str, Callable[[Directory], Any]], data: Directory
) -> tuple[list[Any], list[str]]:
    found: list[Any] = []
    notes = []
    for name, make in makers.items():
        try:
            got = make(data)
        except NoDataError as error:
            notes.append(f"{name} was left out: {error}")
        else:
            found += got if isinstance(got, list) else [got]
    return found, notes


def heights(data: Directory = None) -> Families:
    """Father, mother and child of Galton's table, in inches."""
    columns = ("father", "mother", "height")
    rows = read_columns("galton.csv", columns, data).astype(float)
    return _fitted("Galton", rows, (0.0, 100.0))


def family_iq(data: Directory = None) -> Families:
    """Child's score and mother's IQ."""
    rows = read_columns("kidiq.csv", ("kid_score", "mom_iq"), data).astype(float)
    return _fitted("FamilyIQ", rows, (40.0, 160.0))


def _fitted(name: str, rows: np.ndarray, clip: tuple[float, float]) -> Families:
    cov = np.cov(rows, rowvar=False)
    return Families(name, rows, clip, GaussianRecords(cov, rows.mean(axis=0), secret_range=clip))


def synthetic_iq(rng: np.random.Generator) -> Families:
    """Parent and child drawn with mean 100, deviation 15 and correlation .45.

    The source prints a variance of 15; IQ scales have a standard deviation of 15.
    """
    m, rho = GROUPS["SyntheticIQ"]
    clip = (40.0, 160.0)
    pair = GaussianRecords.equicorrelated(m, rho, deviation=15.0, mean=100.0, secret_range=clip)
    values = rng.multivariate_normal(np.full(m, 100.0), pair.block(0)[1].cov, _PEOPLE // m)
    return Families("SyntheticIQ", values, clip, pair)


def activity(data: Directory = None) -> list[Records]:
    """Steps in five minutes, more than none or none: the whole series, and its complete days."""
    steps = read_columns("activity.csv", ("steps",), data)[:, 0]
    states = [None if count == "NA" else int(int(count) > 0) for count in steps]
    chain = MarkovChain.fit([states])
    known = [state for state in states if state is not None]
    days = [states[k : k + 288] for k in range(0, len(states), 288)]
    complete = [sum(state or 0 for state in day) for day in days if None not in day]
    return [
        Records("Activity", chain, np.array([sum(known)])),
        Records("Activity, single day", chain.with_length(288), np.array(complete)),
    ]


def electricity() -> list[Records]:
    """The matrices as printed (rows scaled to 1), with the expected number of high days."""
    found = []
    for name in ELECTRICITY:
        kernel = np.array(PRINTED[name])
        # largest and smallest entry share a row, so that gamma stays as printed
        chain = MarkovChain(kernel / kernel.sum(axis=1, keepdims=True), DAYS)
        found.append(Records(name, chain, np.array([DAYS * chain.stationary[1]])))
    return found


def measured(data: Directory = None) -> list[Records]:
    """The days of AMPds2 themselves, for whoever has the file."""
    energy = daily_energy(data)
    found = []
    for limit in (70, 80, 90):
        states = (energy > limit).astype(int)
        chain = MarkovChain.fit([states.tolist()])
        found.append(Records(f"AMPds2, {limit} kWh", chain, np.array([states.sum()])))
    return found


def household(data: Directory = None) -> list[Records]:
    """Another household's days, split where as many are high as in the printed chains."""
    energy = read_columns("household_power_days.csv", ("Global_active_power",), data)[:, 0].astype(
        float
    )
    found = []
    for printed in electricity():
        share = float(printed.chain.stationary[1])
        states = (energy > np.quantile(energy, 1.0 - share)).astype(int)
        name = printed.name.replace("electricity", "household, as")
        found.append(Records(name, MarkovChain.fit([states.tolist()]), np.array([states.sum()])))
    return found


@cache
def tight_epsilon(kernel: tuple[tuple[float, ...], ...], target: float) -> float:
    """DP level of a count that keeps the target on this chain, at any length (transfer)."""
    chain = MarkovChain(kernel)
    return calibrate(chain, target, query=Count(1), method="transfer").epsilon


def tight_factor_at(chain: MarkovChain, target: float) -> float:
    """Noise relative to DP that keeps the target on this chain, at any length."""
    return target / tight_epsilon(_kernel(chain), target)


def _kernel(chain: MarkovChain) -> tuple[tuple[float, ...], ...]:
    """The transition matrix as tuples."""
    return tuple(tuple(float(p) for p in row) for row in chain.transition)


def read_columns(name: str, columns: Sequence[str], data: Directory) -> np.ndarray:
    """Columns of a public table, as text."""
    with data_file(name, data).open(newline="") as file:
        return np.array([[row[column] for column in columns] for row in csv.DictReader(file)])
