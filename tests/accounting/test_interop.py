"""Guarantees of other libraries, read."""

from __future__ import annotations

import math

import pytest

import corrdp as cdp
from corrdp.errors import GuaranteeError, InputError
from corrdp.guarantees import GDP, ZCDP, Approximate, Profile, Pure
from corrdp.metric.composition import compose
from corrdp.metric.profiles import profile_of
from corrdp.plans import from_dp_accounting


@pytest.fixture
def noises():
    pytest.importorskip("opendp")
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    where = atom_domain(T="i64"), absolute_distance(T="i64")
    return make_laplace(*where, scale=4.0), make_gaussian(*where, scale=4.0)


def test_opendp(noises):
    from opendp.combinators import make_fix_delta, make_pureDP_to_zCDP, make_zCDP_to_approxDP

    laplace, gaussian = noises
    assert cdp.from_opendp(laplace, 1).epsilon == pytest.approx(0.25)
    assert cdp.from_opendp(laplace, 2).epsilon == pytest.approx(0.5)
    assert isinstance(cdp.from_opendp(make_pureDP_to_zCDP(laplace), 1), ZCDP)
    found = cdp.from_opendp(gaussian, 1)
    assert isinstance(found, ZCDP)
    assert found.rho == pytest.approx(1 / 32)
    smooth = make_zCDP_to_approxDP(gaussian)
    curve = cdp.from_opendp(smooth, 1)
    assert isinstance(curve, Profile)
    # two ways from rho to delta
    mine, theirs = profile_of(found), profile_of(curve)
    for epsilon in (0.5, 1.0, 1.5):
        assert theirs.delta(epsilon) == pytest.approx(mine.delta(epsilon), rel=0.05)
    pair = cdp.from_opendp(make_fix_delta(smooth, 1e-6), 1)
    assert isinstance(pair, Approximate)
    assert pair.delta == 1e-6
    assert pair.epsilon == pytest.approx(mine.epsilon(1e-6), rel=0.01)


def test_opendp_refusals(noises):
    with pytest.raises(InputError, match="expected an OpenDP measurement"):
        cdp.from_opendp(3, 1)
    with pytest.raises(InputError, match="no level for d_in"):
        cdp.from_opendp(noises[0], "far")


def test_dp_accounting():
    other = pytest.importorskip("dp_accounting")
    gaussian, laplace = other.GaussianDpEvent(4.0), other.LaplaceDpEvent(10.0)
    assert isinstance(from_dp_accounting(gaussian), GDP)
    found = from_dp_accounting(other.SelfComposedDpEvent(gaussian, 16))
    assert found.mu == pytest.approx(1.0)
    many = from_dp_accounting(other.SelfComposedDpEvent(laplace, 100))
    assert isinstance(many, Profile)
    assert profile_of(many).epsilon(1e-6) == pytest.approx(4.69, rel=0.02)
    mixed = other.ComposedDpEvent([gaussian, laplace, other.NoOpDpEvent()])
    accountant = other.pld.PLDAccountant()
    accountant.compose(mixed)
    mine = profile_of(from_dp_accounting(mixed)).epsilon(1e-6)
    assert mine == pytest.approx(accountant.get_epsilon(1e-6), rel=0.002)
    lies = other.RandomizedResponseDpEvent(0.5, 2)
    assert isinstance(from_dp_accounting(lies), Pure)
    assert from_dp_accounting(lies).epsilon == pytest.approx(math.log(3))
    with pytest.raises(GuaranteeError, match="PoissonSampledDpEvent"):
        from_dp_accounting(other.PoissonSampledDpEvent(0.1, gaussian))
    with pytest.raises(GuaranteeError, match="NonPrivate"):
        from_dp_accounting(other.NonPrivateDpEvent())


def event(kind, **fields):
    from types import SimpleNamespace

    return type(kind, (SimpleNamespace,), {})(**fields)


def test_events_by_their_fields():
    """The same without the other library: events are read by name."""
    gaussian = event("GaussianDpEvent", noise_multiplier=5.0)
    assert from_dp_accounting(gaussian, factor=2).mu == pytest.approx(0.4)
    assert from_dp_accounting(event("ZCDpEvent", rho=0.1, xi=0.0), factor=2).rho == (
        pytest.approx(0.4)
    )
    steps = event("DiscreteLaplaceDpEvent", noise_parameter=0.1, sensitivity=3)
    found = profile_of(from_dp_accounting(steps))
    assert found.epsilon(0.0) == pytest.approx(0.3)
    assert found.delta(0.1) == compose(laplace=[(0.1 * 3, 3)]).delta(0.1)
    both = event("ComposedDpEvent", events=[gaussian, event("ZCDpEvent", rho=0.01, xi=0.0)])
    assert profile_of(from_dp_accounting(both)).epsilon(1e-6) > (
        profile_of(from_dp_accounting(gaussian)).epsilon(1e-6)
    )
    with pytest.raises(InputError, match="goes with a dp-accounting accountant"):
        from_dp_accounting(gaussian, 1e-6)
    for wrong in (3, event("GaussianDpEvent", noise_multiplier=0.0), event("NoOpDpEvent")):
        with pytest.raises((InputError, GuaranteeError)):
            from_dp_accounting(wrong)
    with pytest.raises(GuaranteeError, match="ZCDpEvent"):
        from_dp_accounting(event("ZCDpEvent", rho=0.01, xi=0.5))
