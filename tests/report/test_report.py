"""Pictures and the HTML report: complete, self-contained, and discreet when public."""

from __future__ import annotations

import html
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import corrdp as cdp
from corrdp._files import write_files
from corrdp.auditing.results import ANY, Audit
from corrdp.auditing.results import Test as Seen
from corrdp.bounds.chains.sides import noise_by_unit
from corrdp.bounds.leakage import Leakage
from corrdp.calibration.searching import step_down, step_up
from corrdp.errors import InputError
from corrdp.guarantees import Pure
from corrdp.models.reads import what_is_read
from corrdp.plots.models import draw_blocks, draw_chain, draw_correlations
from corrdp.plots.results import draw_candidates, draw_noise, draw_per_record
from corrdp.report.audits import event_in_words, render_audit, verdict_in_words
from corrdp.report.frame import inline_svg
from corrdp.report.page import render_report, write_report
from corrdp.report.words import category_names, in_words, number, public_release
from corrdp.results import Candidate, Certificate

VOID = {"meta", "br", "hr", "img", "link", "input"}


@pytest.fixture(scope="module")
def chain():
    law = cdp.MarkovChain([[0.881, 0.119], [0.307, 0.693]], length=1777)
    return cdp.MarkovChain.fit(law.sample(np.random.default_rng(3)).tolist())


@pytest.fixture(scope="module")
def calibration(chain):
    return cdp.calibrate(chain, 1.0, query=cdp.Count(1))


@pytest.fixture(scope="module")
def release(calibration):
    return calibration.release([0, 1] * 888 + [1])


@pytest.fixture(scope="module")
def handed_out(chain):
    return cdp.calibrate(chain, 1.0, query=cdp.Count(1), coarse=True)


class Wellformed(HTMLParser):
    """Counts open elements; a stray end tag or a missing one is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def visible(text: str) -> str:
    """What a reader sees: no tags, no style."""
    text = re.sub(r"<style.*?</style>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.parametrize("public", [False, True])
def test_one_self_contained_file(release, chain, calibration, handed_out, public):
    shown = handed_out if public else calibration
    text = render_report(release, chain, calibration=shown, public=public)
    assert not re.search(r"https?://", text)
    assert "<script" not in text
    assert not re.search(r"\b(src|srcset|data|action)=", text)
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)"', text))
    assert "@import" not in text
    assert "<image" not in text
    assert 'name="viewport"' in text
    assert "prefers-color-scheme:dark" in text
    parser = Wellformed()
    parser.feed(text)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert len(text) < 200_000


def test_the_steward_reads_everything(release, chain, calibration):
    text = render_report(release, chain, calibration=calibration)
    seen = visible(text)
    low, high = release.interval(0.95)
    expected = [
        f"{release.value:,}", f"{low:,.0f}", f"{high:,.0f}", f"{calibration.epsilon:.6g}",
        f"{chain.transition[0, 1]:.4f}", f"{chain.fitted.standard_errors[0, 1]:.4f}",
        f"{calibration.scale:.6g}", chain.digest, "whole series is not one record", "user-level",
        "unbounded neighbours", "no epsilon in this report accounts for",
        *(candidate.method for candidate in calibration.leakage.candidates),
        *calibration.assumptions,
    ]  # fmt: skip
    for part in expected:
        assert part in seen
    # transfer over the region says the same of every record, and a flat picture is left out
    assert text.count("<svg") == 4
    uneven = cdp.calibrate(chain, 1.0, query=cdp.Count(1), confidence=None)
    drawn = render_report(uneven.release([0, 1] * 888 + [1]), chain, calibration=uneven)
    assert drawn.count("<svg") == 5
    lead = [
        text.index(part) for part in ("<svg", 'class="promise"', "What dependence cost", "<h2>")
    ]
    assert lead == sorted(lead)  # the chart, the promise in a sentence, the price, then the rest
    assert f"{calibration.price:.3g} times what independent records need" in seen


def test_public_leaves_out_what_was_fitted(chain, handed_out):
    calibration, release = handed_out, handed_out.release([0, 1] * 888 + [1])
    text = render_report(release, chain, calibration=calibration, public=True)
    fit, leak = chain.fitted, calibration.leakage
    secret = [
        *chain.transition.ravel(), *chain.stationary, *np.ravel(fit.standard_errors),
        chain.diameter, chain.gamma, chain.omega, np.log(chain.gamma), np.log(chain.omega),
        *(c.value for c in leak.candidates if c.value is not None and c.value > 1.001),
        *(v for v in leak.per_record if v < 0.999),
    ]  # fmt: skip
    seen = visible(text)
    for value in secret:
        for shown in (f"{value:.3g}", f"{value:.3f}", f"{value:.4f}", f"{value:.6g}"):
            assert not re.search(rf"(?<![\d.]){re.escape(shown)}(?![\d.])", seen), shown
    for count in np.ravel(fit.counts).tolist():
        assert not re.search(rf"(?<![\d.,]){count:,}(?![\d.,])", seen)
    assert chain.digest not in text
    assert chain.digest[:8] not in text
    assert "Worst case" not in seen
    assert "Birkhoff" not in seen
    # without these the number cannot be used
    for kept in (f"{calibration.epsilon:.6g}", f"{calibration.scale:.6g}", f"{release.value:,}"):
        assert kept in seen
    assert "still reveal a little about it" in seen
    assert text.count("<svg") == 2


def test_levels_that_spell_out_the_fit_are_not_handed_out(chain, calibration, release, handed_out):
    """The leakage of an epsilon, to 16 digits, is a fingerprint of the transition counts."""
    for given in (calibration, cdp.calibrate(chain, epsilon=0.1, query=cdp.Count(1))):
        with pytest.raises(InputError, match="coarse=True"):
            render_report(given, chain, public=True)
    with pytest.raises(InputError, match="coarse=True"):
        public_release(release, chain)
    chosen = cdp.calibrate(chain, epsilon=0.1, query=cdp.Count(1), coarse=True)
    assert chosen.leakage.value < chosen.target == step_up(chosen.worst_leakage)
    assert chosen.epsilon == 0.1
    assert handed_out.epsilon == step_down(calibration.epsilon)
    assert handed_out.target == 1.0 >= handed_out.leakage.value
    for fine in (chosen, handed_out):
        told = public_release(fine.release([0, 1] * 888 + [1]), chain)
        assert told.leakage == told.target
        assert str(fine.leakage.value) not in str(told.to_dict())
    given = cdp.MarkovChain([[0.881, 0.119], [0.307, 0.693]], length=1777)
    assert render_report(cdp.calibrate(given, 1.0, query=cdp.Count(1)), given, public=True)


@pytest.mark.parametrize("value", [1e-9, 0.0999, 0.1, 1.0, 1.2499, 7.999, 8.0, 9.99, 123.4])
def test_steps_are_on_the_safe_side_and_close(value):
    assert value <= step_up(value) <= 1.27 * value
    assert value / 1.27 <= step_down(value) <= value
    assert step_up(step_up(value)) == step_up(value)
    assert step_down(step_down(value)) == step_down(value)


def test_a_release_read_back_gives_the_same_report(release, chain, calibration):
    saved = cdp.Release.from_dict(release.to_dict())
    again = visible(render_report(saved, chain))
    for candidate in calibration.leakage.candidates:
        assert candidate.method in again
    other = cdp.MarkovChain([[0.5, 0.5], [0.4, 0.6]])
    with pytest.raises(InputError, match="another model"):
        render_report(saved, other)
    with pytest.raises(InputError, match="another model"):
        render_report(release, other, calibration=calibration)


def test_a_report_works_no_bound_out_again(release, chain, calibration, handed_out, monkeypatch):
    def fail(*_, **__):
        raise AssertionError("a bound was worked out again")

    monkeypatch.setattr("corrdp.bounds.leakage.leakage", fail)
    same = [render_report(release, chain, calibration=cal) for cal in (None, calibration)]
    assert visible(same[0]) == visible(same[1])
    named = replace(handed_out, leakage=replace(handed_out.leakage, candidates=()))
    assert render_report(named, chain, public=True)  # which shows none of them


def test_the_check_in_the_report_works(release, chain, calibration, tmp_path, monkeypatch):
    chain.save(tmp_path / "model.json")
    monkeypatch.chdir(tmp_path)
    for method in ("best", "contraction", "exact"):
        sure = None if method == "exact" else "default"
        promised = cdp.calibrate(chain, 1.0, query=cdp.Count(1), method=method, confidence=sure)
        data = np.resize([0, 1], chain.length)
        text = render_report(promised.release(data), chain, calibration=promised)
        call = html.unescape(re.search(r"<code>(corrdp\.calibrate.*?)</code>", text).group(1))
        checked = eval(call, {"corrdp": cdp})
        assert checked.target <= 1.0
        assert "contraction" in visible(text)


def test_a_charged_release_says_where_the_ledger_stands(release, chain, calibration):
    charged = replace(release, together="1.96 of 3 (BDP level)")
    text = render_report(charged, chain, calibration=calibration)
    assert "Together with what is in the ledger: 1.96 of 3 (BDP level)." in text
    assert "other releases about the same records add to this one" in text


def test_the_steward_reads_what_dependence_costs_each_unit(tmp_path):
    rows = cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 24 * 12).sample(np.random.default_rng(2))
    times = [f"2024-01-{1 + k // 288:02d} {k // 12 % 24:02d}:{k % 12 * 5:02d}" for k in range(288)]
    lines = [f"{time},{x}" for time, x in zip(times, rows, strict=True)]
    (tmp_path / "steps.csv").write_text("time,active\n" + "\n".join(lines) + "\n")
    fit = cdp.MarkovChain.fit(tmp_path / "steps.csv", state="active", order_by="time")
    cal = cdp.calibrate(fit, 1.0, query=cdp.Count(1), robust=False, confidence=None, coarse=True)
    told, public = (render_report(cal, fit, public=public) for public in (False, True))
    found = dict(noise_by_unit(fit))
    assert list(found) == ["record", "1 hour", "1 day"]
    assert found["record"] > found["1 hour"] > found["1 day"] >= 1
    for unit, factor in found.items():
        assert f"<td>{unit}</td><td>{factor:.2f}</td>" in told
    assert "relative to the same unit of independent records" in told
    assert "relative to the same unit" not in public  # it would tell the fit


def test_before_the_release(chain, calibration):
    seen = visible(render_report(calibration, chain))
    assert "Not released yet" in seen


def test_text_is_escaped():
    states = ("<b>up</b>", 'a"b&c')
    chain = cdp.MarkovChain([[0.6, 0.4], [0.3, 0.7]], length=8, states=states)
    calibration = cdp.calibrate(chain, 1.0, query=cdp.Histogram(states))
    text = render_report(calibration.release([states[0], states[1]] * 4), chain)
    assert "<b>" not in text
    assert "&lt;b&gt;up&lt;/b&gt;" in text
    parser = Wellformed()
    parser.feed(text)
    assert parser.open == []


@pytest.mark.parametrize(
    "model",
    [
        cdp.Independent(5),
        cdp.Groups(3),
        cdp.JointTable({(0, 0): 0.4, (1, 1): 0.4, (0, 1): 0.1, (1, 0): 0.1}),
        cdp.MarkovChain([[0.9, 0.1], [0.2, 0.8]]),
        cdp.MarkovChain([[[0.9, 0.1], [0.2, 0.8]]] * 3, initial=[0.5, 0.5]),
    ],
    ids=lambda model: model.describe(),
)
@pytest.mark.parametrize("public", [False, True])
def test_every_model_has_a_report(model, public):
    calibration = cdp.calibrate(model, 1.0, query=cdp.Count(1))
    text = render_report(calibration, model, public=public)
    assert (model.digest in text) != public


def test_written_whole_or_not_at_all(tmp_path, chain, calibration):
    path = tmp_path / "report.html"
    write_report(path, calibration, chain)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    before = path.read_text()
    with pytest.raises(InputError, match="overwrite=True"):
        write_report(path, calibration, chain)
    write_report(path, calibration, chain, overwrite=True)
    with pytest.raises(FileNotFoundError):
        write_files({path: "new", tmp_path / "no" / "b.txt": "x"})
    assert path.read_text() == before
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


# -- pictures ------------------------------------------------------------------------------------


def leak(**changes) -> Leakage:
    given = {
        "value": 2.0,
        "kind": "upper bound",
        "certificate": Certificate("name", "reference"),
        "scope": "everything",
        "epsilon": 1.0,
    }
    return Leakage(**(given | changes))


def test_draws_on_the_given_axes_only(calibration):
    from matplotlib.figure import Figure

    for draw in (draw_candidates, draw_per_record):
        ax = Figure().add_subplot()
        assert draw(calibration.leakage, ax) is ax
    ax = Figure().add_subplot()
    assert draw_noise(calibration, ax) is ax
    assert calibration.plot(ax) is ax
    assert draw_chain(calibration.model, ax) is ax
    assert draw_blocks(3, ax) is ax
    assert calibration.leakage.plot(ax) is ax


def test_plots_are_shown_and_reports_leave_pyplot_alone():
    import subprocess
    import sys

    code = (
        "import corrdp as cdp, sys\n"
        "from corrdp.report.page import render_report\n"
        "model = cdp.Independent()\n"
        "cal = cdp.calibrate(model, 1.0, query=cdp.Count(1))\n"
        "render_report(cal, model)\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "cal.plot(); cal.leakage.plot()\n"
        "import matplotlib.pyplot as plt\n"
        "assert len(plt.get_fignums()) == 2"
    )
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={**os.environ, "MPLBACKEND": "agg"}
    )


def test_bounds_far_apart_use_a_logarithmic_axis():
    near = leak(candidates=(Candidate("a", 2.0), Candidate("b", 3.0)))
    far = leak(candidates=(Candidate("a", 2.0), Candidate("b", 3e4)))
    assert draw_candidates(near).get_xscale() == "linear"
    assert draw_candidates(far).get_xscale() == "log"


def test_bounds_without_a_value_are_named():
    tried = (
        Candidate("a", 2.0),
        Candidate("b", float("inf")),
        Candidate("c", None, "needs a length " * 9),
    )
    texts = [text.get_text() for text in draw_candidates(leak(candidates=tried)).texts]
    assert "no finite bound" in texts
    assert any(text.startswith("needs a length") and text.endswith("…") for text in texts)
    assert not draw_candidates(leak()).texts


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (None, "every record"),
        (np.full(50_000, 2.0), "record"),
        (np.r_[1.0, 1.5, np.full(10**6, 2.0), 1.5, 1.0], "record"),
        (np.array([1.0]), "record"),
        (np.array([1.0, np.inf, 2.0]), "record"),
        (np.random.default_rng(0).random(10_000), "largest leakage of each stretch"),
        (np.zeros(5), "record"),
    ],
    ids=["none", "constant", "ends", "single", "infinite", "rough", "zero"],
)
def test_leakage_along_the_records(values, said):
    ax = draw_per_record(leak(per_record=values))
    assert said in ax.get_xlabel()
    points = sum(len(line.get_xdata()) for line in ax.lines)
    assert points <= 700


def test_a_cut_interior_keeps_the_record_numbers():
    ax = draw_per_record(leak(per_record=np.r_[1.0, 1.5, np.full(10_000, 2.0), 1.5, 1.0]))
    names = [label.get_text() for label in ax.get_xticklabels()]
    assert names[0] == "0"
    assert names[-1] == "10,003"
    assert "10,000 records" in ax.texts[0].get_text()


@pytest.mark.parametrize("s", [1, 2, 3, 8, 9, 40, 80])
def test_chains_of_any_size(s):
    kernel = np.random.default_rng(s).dirichlet(np.ones(s), s)
    ax = draw_chain(cdp.MarkovChain(kernel))
    assert ("next state" in ax.get_xlabel()) == (s > 8)
    text = inline_svg(ax, "x", "title")
    assert text.startswith('<svg role="img" aria-label="title"')
    assert ("<image" in text) == (s > 60)
    assert len(text) < 700_000


@pytest.mark.parametrize(
    "query",
    [cdp.Count(1), cdp.Sum(0, 10), cdp.Mean(0, 10, n=50), cdp.Histogram([0, 1])],
    ids=lambda query: query.kind,
)
def test_noise_of_every_query(query):
    ax = draw_noise(cdp.calibrate(cdp.Independent(50), 1.0, query=query))
    assert "95 %" in ax.get_xlabel()


def test_heat_maps_follow_light_and_dark():
    """Each shade is said in hex, and once more as a mixture of the colours of the page."""
    drawn = draw_correlations(np.array([[1, 0.3], [0.3, 1]]), ["mother", "child"])
    shades = re.findall(
        r"fill: (#[0-9a-f]{6}); fill: (color-mix[^;\"]*)", inline_svg(drawn, "x", "t")
    )
    assert len(shades) == 2  # those of correlation 1 are the accent itself
    assert set(shades) == {("#b8cfe2", "color-mix(in srgb, var(--accent) 30%, var(--paper))")}


def test_the_same_figure_gives_the_same_bytes(calibration):
    first, second = (inline_svg(draw_noise(calibration), "n", "t") for _ in range(2))
    assert first == second


# -- words ---------------------------------------------------------------------------------------


def test_queries_in_words():
    assert in_words(cdp.Count(True)) == "number of records in state True"
    assert in_words(cdp.Sum(0, 9, column="steps")) == "sum of steps, values clipped to [0, 9]"
    assert in_words(cdp.Mean(0, 9)) == "mean, values clipped to [0, 9]"
    assert "3 categories" in in_words(cdp.Histogram("abc"))
    assert "slice" not in in_words(cdp.Count(1, records=slice(0, 5)))


def test_numbers_keep_the_digits_that_matter():
    assert number(-3, 4.0, 1.0) == "-3"
    assert number(0.123456, 0.01, 2.0**-20) == "0.1235"


def _audit(verdict, low, *, upper=None, notes=(), scope=ANY):
    seen = Seen("pair", "report 1, for input 1 against input 0", low + 0.1, low, low + 0.2, True, 9)
    return Audit(
        low + 0.1, (low, low + 0.2), verdict, Pure(1.0), seen.statement, (seen,), 9, None, 0.99,
        0.1, (), "a callable", notes, upper=upper, scope=scope,
    )  # fmt: skip


def test_a_violation_is_red_and_names_the_event_that_shows_it():
    page = render_audit(_audit("violated", 1.3, upper=1.0))
    assert '<p class="promise against">VIOLATED: epsilon is at least 1.3' in page
    assert "What shows it: report 1, for input 1 against input 0 (pair, at least 1.3)." in page
    means = page.split("What the verdict means")[1]
    assert "violated:" in means
    assert "holds:" not in means
    assert "proved" not in page  # its own word of at most 1 is refuted
    assert "by its own word, which is refuted" in page


def test_what_holds_is_not_red():
    page = render_audit(_audit("holds", 0.7, upper=1.0))
    assert '<p class="promise">HOLDS' in page
    assert "What shows it" not in page
    assert "violated:" not in page
    assert "at most 1, from the guarantee" in page


def test_a_violation_by_a_theorem_does_not_quote_runs_that_show_none():
    note = "the exact leakage of this mechanism is 1.5 (transfer): the claim is false"
    said = verdict_in_words(_audit("violated", 0.8, notes=(note,)))
    assert said == f"VIOLATED: epsilon = 1 is claimed, and {note}."
    assert event_in_words(_audit("violated", 0.8, notes=(note,))) == ""


def test_states_are_told_as_the_steward_asked_for_them():
    rows = pa.table({"t": range(400), "kWh": [0.5, 3.0, 3.1, 9.0, 7.0, 1.0, 6.0, 0.1] * 50})
    condition = cdp.MarkovChain.fit(rows, state="kWh > 2", order_by="t")
    assert in_words(cdp.Count(True), condition) == "number of records with kWh > 2"
    assert in_words(cdp.Count(False), condition) == "number of records without kWh > 2"
    bins = cdp.MarkovChain.fit(rows, state="kWh", bins=4, value_range=(0, 10), order_by="t")
    assert bins.states == (0, 1, 2, 3)
    assert bins.state_names == ("below 2.5", "2.5 to 5", "5 to 7.5", "from 7.5")
    assert in_words(cdp.Count(1), bins) == "number of records with kWh 2.5 to 5"
    assert category_names(cdp.Histogram((3, 0)), bins) == ["from 7.5", "below 2.5"]
    assert "0: below 2.5, 1: 2.5 to 5" in what_is_read(bins, cdp.Count(1), rows, None)
    assert "'below 2.5'" in repr(bins.diagnose(rows))
