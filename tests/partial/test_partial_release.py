"""Counts released against partial knowledge: noise that is drawn, books that take one charge."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest

from corrdp.errors import DataError, InputError, RefusedError
from corrdp.ledgers.ledger import Ledger
from corrdp.partial import (
    Knowledge,
    Mixture,
    Noise,
    PartialLoss,
    PartialRelease,
    noise_scale,
    partial_delta,
    release,
)
from corrdp.partial.releasing import _FINE, _on_grid, with_gaussian
from tests.helpers.commands import done, run

N, KNOWN = 2000, 1950
WHO = Knowledge(N, KNOWN)


@pytest.fixture(scope="module")
def people():
    return pa.table({"smokes": np.random.default_rng(1).random(N) < 0.3})


def test_the_noise_is_what_is_missing(people):
    exact = int(np.sum(people["smokes"].to_numpy()))
    made = release(people, 0.5, 1e-5, WHO, where="smokes", bias=0.3)
    asked = noise_scale(0.5, 1e-5, WHO, 0.3)
    assert asked.scale <= made.scale <= Noise(float(asked) * (1 + 2e-9))
    assert made.scale < asked.plain
    assert abs(made.value - exact) < 8 * made.scale.counts + 1  # beyond: 1e-15
    low, high = made.interval(0.99)
    assert 0 <= low < high <= N
    assert PartialRelease.from_dict(json.loads(json.dumps(made.to_dict()))) == made
    assert any("no less private" in text for text in made.certificate.assumptions)
    assert "do not look dependent" in made.certificate.assumptions[0]
    nothing = release(people, 0.5, 1e-5, Knowledge(N, 10), where="smokes", bias=0.3)
    assert nothing.scale == Noise(0.0)
    assert nothing.value == exact
    assert nothing.interval() == (exact, exact)


def test_what_is_drawn_follows_the_law():
    draws = np.array([with_gaussian(500, Noise(3.0)) for _ in range(3000)])
    # Chernoff for the mean, 4 sigma^2 / sqrt(runs) for the variance: beyond with 1e-10
    assert abs(draws.mean() - 500) < 7 * 3.0 / math.sqrt(3000)
    variance = 9 + 1 / 12  # rounded to whole numbers
    assert abs(draws.var() - variance) < 7 * variance * math.sqrt(2 / 3000)


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.0])
def test_a_fine_grid_is_continuous_noise_rounded_at_random(scale):
    """The discrete law is that of less continuous noise, rounded by discrete noise of 8 steps."""
    step, tau = scale / 64, 8 * scale / 64  # a coarse grid: the real one is finer
    less = math.sqrt(scale**2 - tau**2)
    z = np.arange(-40 * 64, 40 * 64 + 1) * step
    z = z[np.abs(z) < 12 * scale]
    x = np.linspace(-13 * scale, 13 * scale, 40_001)
    density = np.exp(-((x / less) ** 2) / 2) / (less * math.sqrt(2 * math.pi))
    for at in (0.0, 1.5 * scale):
        near = z[np.argmin(np.abs(z - at))]
        inner = np.arange(-400, 401) * step
        kernel = np.exp(-(((near - x) / tau) ** 2) / 2)
        total = np.exp(-((((np.rint(x / step) * step - x)[:, None] + inner) / tau) ** 2) / 2).sum(1)
        rounded = np.trapezoid(density * kernel / total, x)
        exact = np.exp(-((near / scale) ** 2) / 2) / np.exp(-((z / scale) ** 2) / 2).sum()
        assert rounded == pytest.approx(exact, rel=1e-9)


def test_the_grid_takes_less_than_is_added():
    drawn = _on_grid(Noise(2.5), 1000).counts
    assert drawn**2 * (1 - 64 * 4.0**-_FINE) > 2.5**2
    # of so many records a fine grid leaves 64 bits no room: more noise instead
    assert _on_grid(Noise(1e-4), 10**10).counts > 1e-3


def test_one_charge_and_no_other(people, tmp_path):
    books = Ledger.create(tmp_path / "people.ledger", budget=0.5, kind="partial", records=N)
    made = release(people, 0.5, 1e-5, WHO, where="smokes", bias=0.3, ledger=books)
    assert (made.charge, books.spent, books.remaining) == (1, 0.5, 0.0)
    assert PartialRelease.from_dict(books.answer(1)).value == made.value
    assert Ledger.open(books.path).check() == 1
    assert "1950 of 2000" in books.unit
    with pytest.raises(RefusedError, match="does not fit"):
        release(people, 0.5, 1e-5, WHO, where="smokes", bias=0.3, ledger=books)
    for second in (0.1, 1e-12, [0.5] + [0.0] * (N - 1)):
        with pytest.raises(RefusedError):
            books.charge(second, what="another", unit=books.unit)
    fresh = Ledger.create(tmp_path / "fresh.ledger", budget=0.5, kind="partial", records=N)
    for part in (0.1, [0.5] + [0.0] * (N - 1)):  # whole or not at all
        with pytest.raises(RefusedError):
            fresh.charge(part, what="a part")
    other = Ledger.create(tmp_path / "dp.ledger", budget=0.5)
    small = Ledger.create(tmp_path / "small.ledger", budget=0.5, kind="partial", records=9)
    large = Ledger.create(tmp_path / "large.ledger", budget=0.6, kind="partial")
    for wrong, said in ((other, "own kind"), (small, "9 records"), (large, "0.6")):
        with pytest.raises(RefusedError, match=said):
            release(people, 0.5, 1e-5, WHO, where="smokes", bias=0.3, ledger=wrong)
        assert wrong.spent == 0.0


def test_an_estimated_bias_is_part_of_the_release(people, tmp_path):
    books = Ledger.create(tmp_path / "people.ledger", budget=1.0, kind="partial")
    who = Knowledge(N, 1500)
    made = release(people, 1.0, 1e-4, who, where="smokes", ledger=books)
    assert made.estimate.epsilon == 0.5
    assert PartialRelease.from_dict(books.answer(1)) == made
    planted = release(people, 1.0, 1e-4, Knowledge(N, 100), where="smokes", active=True)
    assert any("may have planted" in text for text in planted.certificate.assumptions)


def test_rows_that_look_dependent_are_refused(tmp_path):
    rows = pa.table({"smokes": [k % 10 < 3 for k in range(N)]})
    books = Ledger.create(tmp_path / "a.ledger", budget=0.5, kind="partial")
    with pytest.raises(RefusedError, match="look dependent"):
        release(rows, 0.5, 1e-5, WHO, where="smokes", bias=0.3, ledger=books)
    assert books.spent == 0.0
    made = release(rows, 0.5, 1e-5, WHO, where="smokes", bias=0.3, independent="in turn")
    assert "in turn" in made.certificate.assumptions[0]
    mixed = release(rows.slice(0, 40), 1.0, 1e-3, Knowledge(40, 20), where="smokes",
                    bias=Mixture([0.3, 0.7], [0.5, 0.5]))  # fmt: skip
    assert not any("look dependent" in text for text in mixed.certificate.assumptions)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"where": "nobody"}, Exception, "nobody"),
        ({"knowledge": Knowledge(5, 1)}, DataError, "2000 rows"),
        ({"bias": 0.0}, InputError, "nothing to chance"),
        ({"epsilon": 0.0}, InputError, "epsilon"),
        ({"delta": 1.0}, InputError, "delta"),
        ({"independent": " "}, InputError, "reason"),
        ({"bias": None}, RefusedError, "cannot pay"),
        ({"ledger": 3}, InputError, "ledger"),
    ],
)
def test_bad_input(people, given, error, said):
    asked = {"data": people, "epsilon": 0.5, "delta": 1e-5, "knowledge": Knowledge(N, N - 1),
             "where": "smokes", "bias": 0.3} | given  # fmt: skip
    with pytest.raises(error, match=said):
        release(**asked)


# -- mixtures and losses -------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "epsilon", "delta"), [(10, 1.0, 1e-3), (3, 0.5, 1e-2)])
def test_noise_for_a_mixture(known, epsilon, delta):
    law, who = Mixture([0.3, 0.7], [0.5, 0.5]), Knowledge(20, known)
    found = noise_scale(epsilon, delta, who, law)
    assert partial_delta(epsilon, who, law, found.scale).active <= delta
    less = Noise(float(found) * (1 - 1e-5))
    assert partial_delta(epsilon, who, law, less).active > delta
    assert found.scale > found.plain  # ignorance is no noise where records depend on each other
    assert any("public" in text for text in found.certificate.assumptions)


def test_a_mixture_of_one_is_a_bias():
    who = Knowledge(200, 50)
    one, mixed = (noise_scale(0.5, 1e-4, who, bias) for bias in (0.4, Mixture([0.4], [1.0])))
    assert float(mixed) == pytest.approx(float(one), rel=1e-5)


def test_the_loss_is_the_ratio_of_densities():
    loss = PartialLoss(Knowledge(51, 0), 0.2, Noise(0.25))
    from scipy.integrate import quad
    from scipy.stats import binom, norm

    k = np.arange(51)

    def density(x, record):
        return float(binom.pmf(k, 50, 0.2) @ norm.pdf(x, record + k, 0.25))

    for x in (4.2, 11.0, 19.9):
        assert loss.at(x) == pytest.approx(math.log(density(x, 1) / density(x, 0)), abs=1e-9)
    over = quad(lambda x: density(x, 1) * (loss.at(x) > 0.5), 0, 40, limit=2000, points=[15, 20])[0]
    assert loss.exceeds(0.5) == pytest.approx(over, abs=2e-4)
    assert loss.delta(0.5) == pytest.approx(0.0239725283, abs=1e-9)


# -- the command ---------------------------------------------------------------------------------


def test_the_command(tmp_path):
    path = tmp_path / "people.csv"
    rows = np.random.default_rng(2).random(N) < 0.3
    path.write_text("smokes\n" + "\n".join("yes" if row else "no" for row in rows) + "\n")
    books, report, output = (tmp_path / name for name in ("a.ledger", "a.html", "a.json"))
    done("ledger", "init", books, "--kind", "partial", "--budget", 0.5, "--records", N)
    told = ("--n", N, "--known", KNOWN, "--epsilon", 0.5, "--delta", 1e-5)
    data = ("--data", path, "--where", "smokes = 'yes'")
    given = ("partial", "release", *told, *data, "--bias", 0.3, "--ledger", books)
    result = done(*given, "--report", report, "-o", output)
    made = PartialRelease.from_dict(json.loads(output.read_text()))
    assert str(made.value) in result.stdout
    text = report.read_text()
    assert f'<p class="answer">{made.value}</p>' in text
    assert "could break the promise" in text
    assert str(made.charge_hash) in text
    again = run(*given)
    assert again.exit_code == 3
    assert "does not fit" in " ".join(again.output.split())
    assert "partial knowledge" in done("ledger", "show", books).output
    unpaid = run("partial", "release", *told, *data)
    assert unpaid.exit_code == 3
    for wrong in (
        ("partial", "publish", *told, "--bias", 0.3),
        ("partial", "release", *told, "--bias", 0.3),
        ("partial", *told, "--bias", 0.3, "--report", report),
    ):
        assert run(*wrong).exit_code == 2
