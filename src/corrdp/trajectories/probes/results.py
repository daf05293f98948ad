"""What ``probe`` returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from corrdp.attacks.base import LEVEL
from corrdp.errors import InputError
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Probe:
    """One attack on a release, and how often it was right.

    Attributes
    ----------
    name : str
    success : float
        Share of right guesses from the release.
    interval : (float, float)
        95 % interval of it; twice the same number where every case was counted.
    baseline : float
        The same for one who never saw the release.
    original : float
        The same for one who saw the original instead, for reference.
    trials : int
    meaning : str
        In a sentence.
    """

    name: str
    success: float
    interval: tuple[float, float]
    baseline: float
    original: float
    trials: int
    meaning: str

    @property
    def gains(self) -> bool:
        """Whether the release certainly helps: the interval lies above the baseline."""
        return self.interval[0] > self.baseline

    def __float__(self) -> float:
        return self.success

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"<{self.name}: {self.success:.4f} of {self.trials:,} right ({low:.4f} to {high:.4f}), "
            f"without the release {self.baseline:.4f}, from the original {self.original:.4f}>"
        )


@dataclass(frozen=True)
class NoiseGain:
    """Noise as published, and what a filter leaves of it; metres, root mean square.

    Attributes
    ----------
    nominal, effective : float
    points : int
        Published points inside the grid, over which both are taken.
    """

    nominal: float
    effective: float
    points: int

    @property
    def ratio(self) -> float:
        """Effective over nominal noise."""
        return self.effective / self.nominal if self.nominal else 1.0


@dataclass(frozen=True, repr=False)
class Probes(Result):
    """What a release of movements gives away, as far as these attacks find out.

    Attributes
    ----------
    release : str
        What was probed, in words.
    probes : tuple of Probe
    skipped : tuple of (str, str)
        Attacks that do not apply, and why.
    noise : NoiseGain or None
    assumptions : tuple of str
    """

    result = "probes"

    release: str
    probes: tuple[Probe, ...]
    skipped: tuple[tuple[str, str], ...]
    noise: NoiseGain | None
    assumptions: tuple[str, ...]

    def __getitem__(self, name: str) -> Probe:
        for one in self.probes:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.probes)
        raise InputError(f"no probe {name!r} was run on this release; there are: {known}")

    def __repr__(self) -> str:
        ends = f"{LEVEL:.0%} interval"
        lines = [
            f"Probes of {self.release}",
            f"  {'':<12} {'release':>8} {ends:>18} {'without':>8} {'original':>8}",
        ]
        for one in self.probes:
            low, high = one.interval
            ends = f"{low:.4f} to {high:.4f}"
            lines.append(
                f"  {one.name:<12} {one.success:>8.4f} {ends:>18} {one.baseline:>8.4f} "
                f"{one.original:>8.4f}"
            )
        lines += [f"  {one.name:<12} {one.meaning}" for one in self.probes]
        lines += [f"  {name:<12} not run: {why}" for name, why in self.skipped]
        return "\n".join(lines + [f"  assumes      {text}" for text in self.assumptions])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Each probe beside its baseline and its reference."""
        from corrdp.plots.results import draw_probes
        from corrdp.plots.style import axes_or_pyplot

        return draw_probes(self, axes_or_pyplot(ax))
