"""Sections that every report has: the model as its kind is shown, the bounds, the leakage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from corrdp.bounds.chains.sides import noise_by_unit
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.adequacy import CLOSE, REGION, Adequacy, by_words
from corrdp.models.chains.seasons import MIN_SEEN
from corrdp.models.groups import Groups
from corrdp.plots.models import (
    draw_blocks,
    draw_chain,
    draw_correlations,
    draw_family,
    draw_network,
    draw_seasons,
)
from corrdp.plots.results import draw_candidates, draw_per_record
from corrdp.report.frame import figure, paragraph, table
from corrdp.report.words import FIT_NOTE, is_flat

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from corrdp.models.base import Model
    from corrdp.models.chains.markov import MarkovChain
    from corrdp.models.chains.seasonal import SeasonalChain
    from corrdp.models.chains.window import WindowChain
    from corrdp.models.gaussian.records import GaussianRecords
    from corrdp.models.groups import Independent
    from corrdp.models.networks.field import MarkovField
    from corrdp.models.networks.tree import MarkovTree
    from corrdp.models.pedigrees.pedigree import Pedigree

_SHOWN_STATES = 12  # a larger kernel is shown as a picture only
_SHOWN_RECORDS = 8  # likewise a larger correlation matrix
_SHOWN_SHAPES = 5


@dataclass(frozen=True, eq=False)
class Shown:
    """What a report shows of a model; without a picture for a table or a joint law.

    The picture is drawn when it is asked for: numbers alone need no matplotlib.
    """

    draw: Callable[[], Axes] | None = None
    title: str = ""
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    facts: tuple[str, ...] = ()


def shown(model: Model) -> Shown:
    """Picture, numbers and facts of a model.

    Examples
    --------
    >>> from corrdp import Groups
    >>> shown(Groups(3)).title
    'Records and their blocks'
    """
    return _KINDS.get(model.kind, lambda model: Shown())(model)


def _blocks(model: Groups | Independent) -> Shown:
    size = model.m if isinstance(model, Groups) else None
    return Shown(lambda: draw_blocks(size or 1), "Records and their blocks")


def _chain(chain: MarkovChain) -> Shown:
    head: tuple[str, ...] = ()
    rows = []
    if chain.homogeneous and len(chain.states) <= _SHOWN_STATES:
        head = ("from \\ to", *chain.state_names)
        errors = None if chain.fitted is None else chain.fitted.standard_errors
        for i, state in enumerate(chain.state_names):
            cells = [f"{p:.4f}" for p in chain.transition[i]]
            if errors is not None:
                cells = [f"{c} ± {e:.4f}" for c, e in zip(cells, errors[i], strict=True)]
            rows.append((state, *cells))
    facts = [f"Birkhoff diameter {chain.diameter:.6g}."]
    if (fit := chain.fitted) is not None:
        facts.append(
            f"Learned from {fit.rows:,} rows. Sequences: {fit.sequences:,}, the longest of "
            f"{fit.longest:,} steps. Missing values: {fit.missing:,}. Breaks in time: "
            f"{fit.breaks:,}."
        )
    title = "States and transitions; thicker arrows are more likely"
    return Shown(lambda: draw_chain(chain), title, head, tuple(rows), tuple(facts))


def _window(chain: WindowChain) -> Shown:
    title = "Windows of consecutive records and their transitions"
    facts = (_sentence(chain.merges),) if chain.merges else ()
    return Shown(lambda: draw_chain(chain.by_window), title, facts=facts)


def _seasonal(chain: SeasonalChain) -> Shown:
    rows: list[tuple[str, ...]] = []
    if chain.transition[0].size <= _SHOWN_STATES:
        for season, kernel in zip(chain.seasons, chain.transition, strict=True):
            for window, row in zip(chain.windows, kernel, strict=True):
                after = ", ".join(chain.state_names[x] for x in window)
                rows.append((season, after, *(f"{p:.4f}" for p in row)))
    facts = [] if chain.fitted is None or not chain.counted.merges else [f"{chain.counted.merges}."]
    head = ("season", "after", *chain.state_names) if rows else ()
    title = "What comes next, round the clock"
    return Shown(lambda: draw_seasons(chain), title, head, tuple(rows), tuple(facts))


def _gaussian(model: GaussianRecords) -> Shown:
    counts = np.bincount(model.shape_of_block)
    number = int(counts.argmax())
    shape = model.shapes[number]
    many = (
        f"{len(model.shape_of_block):,} independent blocks, the largest of {model.largest_block:,}"
    )
    facts = [f"{model.length:,} records in {many}."]
    if shape.size > _SHOWN_RECORDS:
        return Shown(
            lambda: draw_blocks(min(model.largest_block, 6)),
            "Records and their blocks",
            facts=tuple(facts),
        )
    names = list(model.roles(number))
    rows = [
        (name, f"{deviation:.4g}", *(f"{r:.4f}" for r in row))
        for name, deviation, row in zip(names, shape.deviations, shape.correlation, strict=True)
    ]
    if model.fitted is not None:
        facts.append(model.fitted.normality.words)
    head = ("record", "standard deviation", *names)
    title = "Correlations within a block"
    return Shown(
        lambda: draw_correlations(shape.correlation, names), title, head, tuple(rows), tuple(facts)
    )


def _tree(model: MarkovTree) -> Shown:
    parents = np.asarray(model.parents)
    child = np.flatnonzero(parents >= 0)
    return Shown(
        lambda: draw_network(len(parents), np.column_stack([parents[child], child])),
        "Records and their links",
        facts=(_diameters(model.diameters[child]),),
    )


def _field(model: MarkovField) -> Shown:
    pairs = np.array([(e[0], other) for e in model.edges for other in e[1:]]).reshape(-1, 2)
    facts = [f"{model.length:,} records, {len(model.edges):,} links."]
    if (fit := model.fitted) is not None:
        facts.append(
            f"Ising model: coupling {fit.coupling:.4g} ± {fit.coupling_error:.2g}, field "
            f"{fit.field:.4g} ± {fit.field_error:.2g} (pseudo-likelihood)."
        )
    return Shown(
        lambda: draw_network(len(model.block_of_record), pairs),
        "Records and their links",
        facts=tuple(facts),
    )


def _diameters(values: np.ndarray) -> str:
    if not len(values):
        return "No record is linked to another."
    return f"Birkhoff diameters of the links: {values.min():.4g} to {values.max():.4g}."


def _pedigree(model: Pedigree) -> Shown:
    order = sorted(model.shapes.items(), key=lambda item: -len(item[1]))
    rows = [(str(shape), f"{len(found):,}") for shape, found in order[:_SHOWN_SHAPES]]
    facts = []
    if len(order) > _SHOWN_SHAPES:
        facts.append(f"And {len(order) - _SHOWN_SHAPES} more kinds of family.")
    if (fit := model.fitted) is not None:
        facts.append(
            f"SNP {fit.snp}: allele {fit.allele} has frequency {fit.frequency:.4f} among founders."
        )
    return Shown(
        lambda: draw_family(order[0][0].parents),
        "The most frequent family",
        ("family", "how many"),
        tuple(rows),
        tuple(facts),
    )


_KINDS: dict[str, Callable[[Any], Shown]] = {
    "independent": _blocks,
    "groups": _blocks,
    "markov": _chain,
    "window": _window,
    "seasonal": _seasonal,
    "joint": lambda model: (_seasonal if model.seasonal else _chain)(model.chain),
    "gaussian": _gaussian,
    "tree": _tree,
    "field": _field,
    "pedigree": _pedigree,
}


def model_section(model: Model) -> str:
    """The model as a picture, with its numbers for the steward."""
    parts = ["<h2>How the records depend on each other</h2>", paragraph(f"{model.describe()}.")]
    found = shown(model)
    if found.draw is not None:
        parts.append(figure(found.draw(), "model", found.title))
    if found.rows:
        parts.append(table(found.head, ((row, False) for row in found.rows), "wide tight"))
    parts += [paragraph(text, "quiet") for text in found.facts]
    parts += _choice(model)
    parts += _by_unit(model)
    if model.fitted is not None:
        parts.append(paragraph(FIT_NOTE))
    return "".join(parts)


def _choice(model: Model) -> list[str]:
    """What order and seasons were chosen from, and why; nothing where they were given."""
    choice = getattr(model.fitted, "choice", None)
    if choice is None:
        return []
    head = ("candidate", "held-out loss", "BIC", "parameters", "kernels", "noise")
    rows = [(one.cells, chosen) for one, chosen in choice.ranked()]
    return [
        "<h3>Which chain</h3>",
        paragraph(_sentence(choice.words)) if choice.words else "",
        table(head, rows),
        paragraph(choice.caption, "quiet"),
    ]


def _by_unit(model: Model) -> list[str]:
    """What dependence costs an hour or a day, instead of a record."""
    found = noise_by_unit(model)
    if not found:
        return []
    told = (
        "What dependence costs, by what is protected: the noise for a leakage of 1, relative to "
        "the same unit of independent records. A longer unit holds more of what its neighbours "
        "would tell."
    )
    head = ("unit", "noise relative to the same unit of independent records")
    return [paragraph(told), table(head, (((u, f"{times:.2f}"), False) for u, times in found))]


def adequacy_section(adequacy: Adequacy | None, confidence: float | None, *, public: bool) -> str:
    """How the promise fares under richer models, next to the number; in red where that matters."""
    sure = paragraph(_sentence(in_words_of(confidence)), "quiet")
    if adequacy is None:
        return "" if confidence is None else sure
    shown = adequacy.public if public else adequacy
    parts = [
        paragraph(_sentence(text), "against" if against else "")
        for text, against in richer_lines(shown)
    ]
    if not parts:
        parts.append(
            paragraph(_sentence(adequacy.note or "no richer model can be fitted"), "quiet")
        )
    parts.append(sure)
    if public or not adequacy.alternatives:
        return "".join(parts)
    region = confidence is not None and all(a.name != REGION for a in adequacy.alternatives)
    own = f"the whole region of its fit, at {confidence:g}" if region else by_words(None)
    epsilon, leaks = (f"{x:.4g}" for x in (adequacy.epsilon, adequacy.leakage))
    head = ("model", "epsilon", "noise", "leaks", "test", "rows pooled", "by")
    rows = [
        (
            (
                a.name,
                *("" if x is None else f"{x:.4g}" for x in (a.epsilon, a.scale, a.leakage)),
                a.p or "not tested",
                f"{a.pooled} of {a.rows}" if a.rows else "",
                a.reason if a.epsilon is None else a.by,
            ),
            a.rejected and not adequacy.is_close(a),
        )
        for a in adequacy.alternatives
    ]
    told = (
        "The release takes the smallest epsilon. What the epsilon of the first row leaks stands in "
        f"the fourth column; up to {CLOSE:.0%} more counts as the same. A "
        f"row seen fewer than {MIN_SEEN} times is taken from the chosen model. P-values are "
        "corrected for being asked together (Holm); they alone decide nothing."
    )
    chosen = (("the chosen model", epsilon, "", leaks, "", "", own), False)
    return "".join([*parts, table(head, [chosen, *rows]), paragraph(told, "quiet")])


def richer_lines(adequacy: Adequacy) -> list[tuple[str, bool]]:
    """What is said of richer models, and whether the data speak for one that the promise feels.

    Examples
    --------
    >>> from corrdp.calibration.adequacy import Priced
    >>> second = Priced("order 2", .0876, 11.4, 2.9, None, "p < 1e-107", True)
    >>> halves = Priced("a kernel for each half", .09, 11.1, 2.8, None, "p = 0.3", False)
    >>> [against for _, against in richer_lines(Adequacy(.2498, 1.0, (second, halves)))]
    [True, False]
    """
    # the lines are those that are close in one, the others, what the steward accepted
    others = [each.rejected for each in adequacy.alternatives if not adequacy.is_close(each)]
    close = len(adequacy.lines) - len(others) - bool(adequacy.accepted)
    flags = [False] * close + others + [False] * bool(adequacy.accepted)
    return list(zip(adequacy.lines, flags, strict=True))


def in_words_of(confidence: float | None) -> str:
    """How sure of a fitted model a promise is."""
    if confidence is None:
        return "the fitted numbers are taken as exact: no confidence region"
    return f"for every law that the data allow at joint confidence {confidence:g}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def records_section(leak: Leakage) -> str:
    """Leakage along the records: a picture, or the number where it is one for all of them."""
    values = leak.per_record
    if values is None or is_flat(values):
        text = f"The release can give away at most {leak.value:.6g}, the same about every record."
        return f"<h2>Leakage per record</h2>{paragraph(text)}"
    drawn = figure(draw_per_record(leak), "records", "Leakage along the records")
    text = "What the release can give away about each record, at most."
    return f"<h2>Leakage per record</h2>{paragraph(text)}{drawn}"


def bounds_section(leak: Leakage) -> str:
    """All bounds side by side, as a picture and as a table."""
    ordered = sorted(leak.candidates, key=lambda c: (c.value is None, c.value or 0))
    head = ("bound", "leakage", "why it does not apply")
    width = 3 if any(c.reason for c in ordered) else 2
    rows = [
        (
            (c.method, "" if c.value is None else f"{c.value:.6g}", c.reason)[:width],
            c.value is not None and c.value == leak.value,
        )
        for c in ordered
    ]
    text = (
        f"What epsilon = {leak.epsilon:.6g} leaks on these records according to every bound "
        f"that was tried. The smallest is {leak.value:.6g} ({leak.kind})."
    )
    drawn = figure(draw_candidates(leak), "bounds", "All bounds side by side")
    witness = "" if leak.witness is None else paragraph(f"Worst case: {leak.witness}.", "quiet")
    listed = table(head[:width], rows)
    return f"<h2>All bounds side by side</h2>{paragraph(text)}{drawn}{listed}{witness}"
