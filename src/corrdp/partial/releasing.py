"""A count with the noise that an attacker's ignorance leaves missing, drawn and written down.

Promises against partial knowledge do not add up: two counts whose difference concerns few records
have no natural noise left. So the books of such a release are a ledger of its own kind, which is
spent whole by one charge.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from corrdp._checks import check_number
from corrdp._files import refuse_overwriting, write_files
from corrdp.errors import DataError, InputError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.ledgers.units import units_up
from corrdp.mechanisms.base import check_positive
from corrdp.mechanisms.sample import gaussian_mechanism, with_noise
from corrdp.partial.calibrating import NoiseScale, noise_scale
from corrdp.partial.deltas import GAUSSIAN
from corrdp.partial.estimating import EstimatedScale, NoisyCount, estimated_noise_scale, noisy_count
from corrdp.partial.intervals import noise_after
from corrdp.partial.knowledge import (
    COUNTS,
    Knowledge,
    Noise,
    RowDependence,
    check_delta,
    check_knowledge,
    row_dependence,
)
from corrdp.partial.mixtures import Mixture, exact_gaussian
from corrdp.release.charged import open_ledger
from corrdp.results import Certificate, Result, verb
from corrdp.tables.count import count_where
from corrdp.tables.source import open_table

_FINE = 20  # bits of the standard deviation: the grid on which noise is drawn
_WIDE = 60  # bits of the largest number that meets noise
_RAISED = 1 + 1e-9  # more than the grid takes away
DRAWN = (
    f"the noise is discrete Gaussian noise on a grid of 2^-{_FINE} of its standard deviation, "
    "which is no less private than continuous noise (partial-knowledge#drawn-noise)"
)


@dataclass(frozen=True, repr=False)
class PartialRelease(Result):
    """A noisy count, with the promise that it keeps against attackers who know so much.

    Parameters
    ----------
    value : int
    where : str
        What was counted.
    scale : Noise
        Standard deviation of the noise.
    epsilon, delta : float
        Of everything that was released.
    knowledge : Knowledge
    certificate : Certificate
    estimate : NoisyCount, optional
        What was released as well, to find the bias.
    charge : int, optional
        The number of the charge in a ledger.
    charge_hash, together : str, optional
        Its fingerprint, and where the ledger stands.
    """

    result = "partial release"
    number = "value"

    value: int
    where: str
    scale: Noise = field(metadata=COUNTS)
    epsilon: float
    delta: float
    knowledge: Knowledge
    certificate: Certificate
    estimate: NoisyCount | None = None
    charge: int | None = None
    charge_hash: str | None = None
    together: str | None = None

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """Counts between which the exact one lies with probability ``level``; 0 to n at most."""
        from scipy.special import ndtri

        share = check_number("level", level, above=0, below=1)
        # rounding takes at most one half
        radius = math.ceil(self.scale.counts * float(ndtri((1 + share) / 2)) * _RAISED)
        low, high = self.value - radius, self.value + radius
        return max(0, min(low, self.knowledge.n)), min(self.knowledge.n, max(high, 0))

    def __repr__(self) -> str:
        k, low_high = self.knowledge, self.interval()
        lines = [
            f"{self.value} records with {self.where}",
            f"  noise        standard deviation {self.scale}; 95 %: {low_high[0]} to {low_high[1]}",
            f"  promises     epsilon {self.epsilon:g}, delta {self.delta:g} to whoever knows at "
            f"most {k.known} of {k.n} records",
        ]
        if self.estimate is not None:
            lines.append(f"  estimate     noisy count {self.estimate.value}, released as well")
        if self.charge is not None:
            lines.append(f"  ledger       charge {self.charge}, {self.charge_hash}")
        lines.append(f"  certificate  {self.certificate.name}: {self.certificate.reference}")
        return "\n".join(lines + [f"  assumes      {a}" for a in self.certificate.assumptions])

    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write an HTML page to read, keep and sign; nothing on it is private."""
        refuse_overwriting(Path(path), overwrite=overwrite)
        write_files({Path(path): verb("report.page.render_partial")(self)})


def release(
    data: Any,
    epsilon: float,
    delta: float,
    knowledge: Knowledge,
    *,
    where: str,
    bias: float | Mixture | None = None,
    active: bool = False,
    independent: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
) -> PartialRelease:
    """Count rows once, with the noise that an attacker's ignorance leaves missing.

    Everything that can be wrong is found first, then noise is drawn, then charge and answer are put
    on disk in one transaction, then the answer is returned.

    Parameters
    ----------
    data : path, data frame or Table
        One row per record.
    epsilon, delta : float
        Of all that is released.
    knowledge : Knowledge
    where : str
        What is counted, such as ``"steps > 0"``.
    bias : float or Mixture, optional
        Public, as for :func:`corrdp.partial.calibrating.noise_scale`. Left out, half of epsilon is
        spent on a noisy count that gives it.
    active : bool
        As for :func:`corrdp.partial.estimating.estimated_noise_scale`: whether known records may
        have been planted. With a public bias they always may.
    independent : str, optional
        Why the records are independent although the rows look dependent.
    ledger : Ledger or path, optional
        Of kind "partial", for these records, with epsilon as its budget.

    Returns
    -------
    PartialRelease

    Raises
    ------
    RefusedError
        When the rows look dependent and no reason is given, or the ledger has its charge.

    Notes
    -----
    The rows are counted where they are; one column of them is read to look for dependence.

    References
    ----------
    partial-knowledge#missing-noise, partial-knowledge#estimated-bias,
    partial-knowledge#drawn-noise.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> smokes = np.random.default_rng(1).random(1000) < .3
    >>> made = release(pa.table({"smokes": smokes}), .5, 1e-4, Knowledge(1000, 900), where="smokes",
    ...                bias=.3)
    >>> made.scale < exact_gaussian(.5, 1e-4).noise, bool(abs(made.value - smokes.sum()) < 60)
    (True, True)
    """
    known, goal = check_knowledge(knowledge), check_delta(delta)
    level = check_positive("epsilon", epsilon)
    given = None if bias is None else noise_scale(level, goal, known, bias)
    if given is None:
        refuse_poor(level, goal, known)
    books = None if ledger is None else open_ledger(ledger)
    if books is not None:
        _check_books(books, level, known)
    table = open_table(data)
    count = counted(table, where, known)
    said = () if isinstance(bias, Mixture) else (borne_out(table, where, independent)[0],)

    def sample() -> PartialRelease:
        found = given or estimated(count, level, goal, known, active)
        return _drawn(count, where, found, said)

    if books is None:
        return sample()
    who = f"one record, to whoever knows at most {known.known} of {known.n}"
    what = f"count of {where}: epsilon {level:g}, delta {goal:g} under partial knowledge"
    return books.release(sample, books.budget, what=what, unit=who)


def estimated(
    count: int, epsilon: float, delta: float, knowledge: Knowledge, active: bool
) -> EstimatedScale:
    """Spend half of epsilon on the bias."""
    estimate = noisy_count(count, knowledge.n, epsilon / 2)
    return estimated_noise_scale(epsilon, delta, knowledge, estimate, active=active)


def refuse_poor(epsilon: float, delta: float, knowledge: Knowledge) -> None:
    """Refuse an estimate that cannot pay, before anything is read."""
    plain, n = exact_gaussian(epsilon, delta).noise, knowledge.n
    # an even share is the most natural noise there is, or all but
    best = NoisyCount(n // 2, n, epsilon / 2)
    left = 0.8 * delta * (1 - 1e-14)
    if not noise_after(best, epsilon, left, knowledge, (0.5, 0.5)).scale < plain:
        raise RefusedError(
            "an estimate cannot pay here: even with a share of one half, what is left after it "
            f"needs more noise than plain DP, {plain}, which needs no estimate. Nothing was read"
        )


def counted(table: Any, where: str, knowledge: Knowledge) -> int:
    """Rows that are counted, if there is one row per record and every row says so."""
    found = count_where(table, where)
    if found.missing:
        raise DataError(
            f"`{where}` has no value in {found.missing} of {found.rows} rows of {table.path}: say "
            "in the condition what they count for, or leave them out of the file"
        )
    if found.rows != knowledge.n:
        raise DataError(
            f"{table.path} has {found.rows} rows and --n is {knowledge.n} (Knowledge.n)"
        )
    return int(found.value)


def borne_out(table: Any, where: str, reason: str | None) -> tuple[str, RowDependence]:
    """What the rows say of independence, in words that may be published; or a refusal."""
    if reason is not None and not reason.strip():
        raise InputError("independent (--independent) takes the reason why the records are so")
    column = table.collect(table.pick(holds=where))["holds"]
    found = row_dependence(column.to_numpy())
    if not found.seen:
        return "the rows of the file, in their order, do not look dependent", found
    if reason is None:
        raise RefusedError(
            f"{found}, and the promise needs independent records: unknown ones that move together "
            "hide less, or give each other away. Nothing was spent. Fit a model of the dependence "
            '(corrdp fit), or say why it only looks so: --independent "sorted by answer" '
            "(independent=)"
        )
    words = f"the rows of the file look dependent, and it was accepted that they are not: {reason}"
    return words, found


def _check_books(ledger: Ledger, epsilon: float, knowledge: Knowledge) -> None:
    if ledger.kind != "partial":
        raise RefusedError(
            "a promise against partial knowledge does not add up with any other: keep a ledger of "
            "its own kind (kind partial, corrdp ledger init --kind partial). Nothing was charged"
        )
    if units_up(epsilon) != ledger.header.budget:
        raise RefusedError(
            f"this ledger is for one release of epsilon {ledger.budget:.12g}, and epsilon "
            f"{epsilon:.12g} is asked for. Nothing was charged"
        )
    if ledger.records not in (None, knowledge.n):
        raise RefusedError(
            f"this ledger is about {ledger.records} records, and n is {knowledge.n}: it belongs "
            "to other data. Nothing was charged"
        )


def _drawn(
    count: int, where: str, found: NoiseScale | EstimatedScale, said: tuple[str, ...]
) -> PartialRelease:
    step = found.step if isinstance(found, EstimatedScale) else found
    delta = found.delta if isinstance(found, EstimatedScale) else found.asked
    scale = found.scale if found.scale.counts == 0 else _on_grid(found.scale, step.knowledge.n)
    value = count if scale.counts == 0 else with_gaussian(count, scale)
    assumed = tuple(DRAWN if text == GAUSSIAN else text for text in found.certificate.assumptions)
    certificate = replace(found.certificate, assumptions=(*said, *assumed))
    estimate = found.estimate if isinstance(found, EstimatedScale) else None
    return PartialRelease(
        value, where, scale, found.epsilon, delta, step.knowledge, certificate, estimate
    )


def _steps(n: int) -> int:
    """The most steps of a grid in 1 with which a count of n records is a 64-bit number."""
    return 2 ** (_WIDE - n.bit_length())


def _on_grid(scale: Noise, n: int) -> Noise:
    """The noise that is drawn: where the grid cannot be fine enough, more."""
    return Noise(max(scale.counts, 2.0**_FINE / _steps(n)) * _RAISED)


def with_gaussian(count: int, scale: Noise) -> int:
    """A count plus Gaussian noise, on a fine grid and then rounded: OpenDP draws."""
    grid = 1
    while grid * scale.counts < 2**_FINE:
        grid *= 2
    steps = grid * scale.counts
    measurement, _ = gaussian_mechanism(1, grid, (grid / steps) ** 2 / 2, steps)
    noisy = with_noise(measurement, [count * grid])[0]
    return (2 * noisy + grid) // (2 * grid)
