"""One line per SNP of a linkage table: allele frequency, leakage of a count, noise at a target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from corrdp._checks import check_kind, check_number
from corrdp.errors import DataError, InputError, NotApplicableError
from corrdp.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.calibration.number import Calibration
    from corrdp.models.pedigrees.linkage import Linkage

QUERY = "BB"  # the genotype counted: homozygous in the counted allele


@dataclass(frozen=True)
class ShapeLeakage:
    """Exact leakage of the count in families of one shape, at DP level = target."""

    shape: str
    families: int
    leakage: float


@dataclass(frozen=True)
class SnpNoise:
    """DP level and noise scale that keep the target, by this certificate."""

    epsilon: float
    scale: float
    certificate: str


@dataclass(frozen=True)
class SnpRow:
    """What one SNP asks for.

    Attributes
    ----------
    snp, allele, other : str
        The SNP, its counted allele B and the other one b.
    frequency, standard_error : float or None
        Of B, estimated from the founders.
    missing, violations : int
        Genotypes missing, and children whose genotype contradicts Mendel's laws.
    shapes : tuple of ShapeLeakage
        What the count leaks if its noise has DP level = target, as if people were independent.
    general : float or None
        The general bound at that level.
    wide : Noise or None
        Noise for any mechanism: such releases can be combined with others.
    single : Noise or None
        Noise for this one count and nothing else; None where a family is too large.
    note : str
        Why there are no numbers, where there are none.
    """

    snp: str
    allele: str | None
    other: str | None
    frequency: float | None
    standard_error: float | None
    missing: int
    violations: int
    shapes: tuple[ShapeLeakage, ...] = ()
    general: float | None = None
    wide: SnpNoise | None = None
    single: SnpNoise | None = None
    note: str = ""

    @property
    def leakage(self) -> float | None:
        """Exact leakage of the count at DP level = target, the largest over family shapes."""
        return max((found.leakage for found in self.shapes), default=None)


@dataclass(frozen=True, repr=False)
class SnpReport(Result):
    """The rows of :func:`snp_report`, one per SNP."""

    result = "snps"

    path: str
    people: int
    target: float
    rows: tuple[SnpRow, ...]

    def __repr__(self) -> str:
        head = ("SNP", "B/b", "p(B)", "missing", "violations", "leakage", "general",
                "epsilon", "noise", "eps one", "noise one")  # fmt: skip
        lines = [head, *(_cells(row) for row in self.rows)]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        table = [
            "  ".join([f"{line[0]:<{widths[0]}}", *(f"{cell:>{w}}" for cell, w in
                       zip(line[1:], widths[1:], strict=True))]).rstrip()
            for line in lines
        ]  # fmt: skip
        notes = [f"  {row.snp}: {row.note}" for row in self.rows if row.note]
        return "\n".join(
            [
                f"Count of {QUERY} at each SNP of {self.path}, {self.people} people, BDP level "
                f"{self.target:.6g}",
                *table,
                f"leakage, general: of noise with DP level {self.target:.6g}; "
                "epsilon, noise: for any mechanism; one: for this count alone",
                *notes,
            ]
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Leakage of the count against the allele frequency, a dot per SNP and family shape."""
        from corrdp.plots import ACCENT, MUTED, SOFT, WARM, axes_or_new

        ax = axes_or_new(ax, 3.0)
        colours = (ACCENT, WARM, SOFT, MUTED)
        found: dict[str, list[tuple[float, float]]] = {}
        for row in self.rows:
            for part in row.shapes:
                assert row.frequency is not None
                found.setdefault(part.shape, []).append((row.frequency, part.leakage))
        for k, (shape, points) in enumerate(sorted(found.items())):
            colour = colours[min(k, len(colours) - 1)]
            x, y = zip(*points, strict=True)
            ax.scatter(x, y, s=14, color=colour, linewidths=0, label=shape)
        top = max((row.general for row in self.rows if row.general is not None), default=None)
        if top is not None:
            ax.axhline(top, color=MUTED, linewidth=1, linestyle="--", label="general bound")
        ax.axhline(self.target, color=MUTED, linewidth=1, label="independent records")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("frequency of the counted allele", fontsize=9)
        ax.set_ylabel(f"leakage at epsilon = {self.target:g}", fontsize=9)
        ax.legend(fontsize=7.5, frameon=False)
        return ax


def snp_report(
    linkage: Linkage,
    target: float = 1.0,
    *,
    track: Callable[[Sequence[str]], Iterable[str]] | None = None,
) -> SnpReport:
    """For each SNP: allele frequency, leakage of the count of BB, and noise at a target.

    Each row is about that SNP alone. Counts at several SNPs are releases about the same people:
    their epsilons add.

    Parameters
    ----------
    linkage : Linkage
        From :func:`corrdp.models.pedigrees.linkage.read_linkage`.
    target : float
        BDP level to promise for each count.
    track : callable, optional
        Wraps the list of SNPs to show progress, such as ``rich.progress.track``.

    Returns
    -------
    SnpReport

    Notes
    -----
    The frequencies are those of the founders in the private data: the report is not private.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from corrdp.models.pedigrees.linkage import read_linkage
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "trio.csv"
    >>> _ = path.write_text("pid,id,fid,mid,rs1.a1,rs1.a2\\n"
    ...                     "F1,1,0,0,A,G\\nF1,2,0,0,A,G\\nF1,3,1,2,G,A\\n")
    >>> row = snp_report(read_linkage(path)).rows[0]
    >>> row.frequency, round(row.leakage, 4), row.general
    (0.5, 2.2402, 3.0)
    """
    from corrdp.models.pedigrees.linkage import Linkage

    check_kind("linkage", linkage, Linkage, "what read_linkage returns")
    check_number("target", target, above=0)
    if not (track is None or callable(track)):
        raise InputError(f"track must be a callable that wraps a list, got {track!r}")
    violations: dict[str, int] = {}
    for violation in linkage.violations:
        violations[violation.snp] = violations.get(violation.snp, 0) + 1
    missing = dict(zip(linkage.snps, (linkage.copies < 0).sum(axis=0).tolist(), strict=True))
    rows = []
    for snp in linkage.snps if track is None else track(linkage.snps):
        counted, other = linkage.alleles.get(snp, (None, None))
        known = (snp, counted, other)
        numbers = (missing[snp], violations.get(snp, 0))
        try:
            rows.append(_row(linkage, known, numbers, float(target)))
        except DataError as error:
            rows.append(SnpRow(*known, None, None, *numbers, note=str(error)))
    return SnpReport(linkage.path, len(linkage.ids), float(target), tuple(rows))


def _row(
    linkage: Linkage, known: tuple[str, Any, Any], numbers: tuple[int, int], target: float
) -> SnpRow:
    from corrdp.bounds.leakage import leakage
    from corrdp.calibration.calibrate import calibrate
    from corrdp.queries import Count

    pedigree = linkage.pedigree(known[0])
    fit = pedigree.fitted
    assert fit is not None
    query = Count(QUERY, missing="skip" if fit.missing else "raise")
    shapes: tuple[ShapeLeakage, ...] = ()
    single, note = None, ""
    try:
        found = leakage(pedigree, target, query=query, method="exact")
        exact = found.per_record
        assert exact is not None
        if found.kind != "exact":
            note = "the leakage is an upper bound: a family is too large to try every adversary"
        shapes = tuple(
            ShapeLeakage(str(shape), len(records), float(exact[records].max()))
            for shape, records in pedigree.shapes.items()
        )
        single = _noise(calibrate(pedigree, target, query=query, method="exact"))
    except NotApplicableError as error:
        note = str(error)
    return SnpRow(
        *known,
        fit.frequency,
        fit.standard_error,
        *numbers,
        shapes=shapes,
        general=leakage(pedigree, target, method="general").value,
        wide=_noise(calibrate(pedigree, target, query=query)),
        single=single,
        note=note,
    )


def _noise(calibration: Calibration) -> SnpNoise:
    name = calibration.leakage.certificate.name
    return SnpNoise(calibration.epsilon, calibration.scale, name)


def _cells(row: SnpRow) -> tuple[str, ...]:
    def shown(value: float | None, digits: int = 4) -> str:
        return "-" if value is None else f"{value:.{digits}f}"

    noise: list[str] = []
    for found in (row.wide, row.single):
        noise += ["-", "-"] if found is None else [shown(found.epsilon), shown(found.scale, 3)]
    return (
        row.snp,
        f"{row.allele or '?'}/{row.other or '?'}",
        shown(row.frequency),
        str(row.missing),
        str(row.violations),
        shown(row.leakage),
        shown(row.general),
        *noise,
    )
