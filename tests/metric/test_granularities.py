"""composition#granularities: their metrics and what one says about another."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corrdp.errors import GuaranteeError, InputError, NotApplicableError
from corrdp.guarantees import GDP, L1, Pure
from corrdp.metric.canonical import (
    Space,
    canonical_distance,
    canonical_matrix,
    column_cover,
    inspect_space,
    point_cover,
)
from corrdp.metric.conversion import (
    conversion_factor,
    preprocessed,
    sensitivity,
)
from corrdp.metric.domains import (
    ExplicitDomain,
    GraphDomain,
    MultisetDomain,
    StreamDomain,
    TupleDomain,
    UserDomain,
    domain_from_dict,
)
from corrdp.metric.fibres import (
    closure,
    covers,
    depends_only_on,
    exact_loss,
    fibre_minimum,
    mixing_time,
)
from corrdp.metric.finite import combined, scaled, symmetric_difference
from corrdp.metric.granularities import Bounded, Element, as_granularity

ABCD = MultisetDomain(("a", "b", "c", "d"), largest=3)


def test_zero_times_infinity_is_infinity():
    assert scaled(0, math.inf) == math.inf
    assert scaled(0, 3) == 0
    assert scaled(math.inf, 0) == 0
    assert combined([scaled(0, math.inf)] * 2) == math.inf
    assert combined([scaled(0, math.inf)] * 2, gaussian=True) == math.inf
    assert combined([]) == combined([], gaussian=True) == 0
    for bad in (math.nan, -1):
        with pytest.raises(InputError, match="must be a number >= 0"):
            scaled(1, bad)


SMALL = [
    (ABCD, "unbounded"),
    (ABCD, "bounded"),
    (MultisetDomain(("a", "b", "c"), size=3), "bounded"),
    (MultisetDomain(("a", "b", "c"), size=2), "unbounded"),
    (TupleDomain(3, (0, 1)), "bounded"),
    (TupleDomain(3, (0, 1)), "unbounded"),
    (TupleDomain(1, (0, 1, 2)), "local"),
    (TupleDomain(2, (0, 1, 2)), "free-lunch"),
    (GraphDomain(4), "edge"),
    (StreamDomain(2, 3), "event"),
    (StreamDomain(2, 3), "w-event(2)"),
    (StreamDomain(3, 2), "w-event(2)"),
    (StreamDomain(2, 4), "l-trajectory(2)"),
    (StreamDomain(2, 4), "user"),
    (StreamDomain(1, 4, (0, 1), periodic=False), "l-trajectory(2)"),
    (StreamDomain(2, 2, (0, 1), periodic=False), "event"),
    (StreamDomain(2, 2, (0, 1), periodic=False), {"type": "event", "change": "presence"}),
    (StreamDomain(2, 2, (0, 1), periodic=False), "w-event(2)"),
    (UserDomain(2, ("a", "b", "c"), points=2), "trajectory"),
    (UserDomain(2, ("a", "b", "c"), points=2), {"type": "element", "clusters": [["a", "b"], "c"]}),
    (UserDomain(2, ("a", "b", "c"), largest=2), "user"),
]


@pytest.mark.parametrize(("domain", "name"), SMALL, ids=str)
def test_closed_forms_are_shortest_chains(domain, name):
    listed, found = domain.databases(), canonical_matrix(domain, name)
    closed = [[canonical_distance(domain, name, a, b) for b in listed] for a in listed]
    assert np.array_equal(found, closed)
    assert (found == found.T).all()
    assert (closure(found) == found).all()


def test_neighbours_are_symmetric_and_irreflexive():
    for domain, name in SMALL:
        relation = as_granularity(name)
        for a, b in itertools.product(domain.databases()[:20], repeat=2):
            assert relation.related(domain, a, b) == relation.related(domain, b, a)
            assert not relation.related(domain, a, a)


def test_cube():
    cube = TupleDomain(3, (0, 1))
    near = canonical_matrix(cube, "bounded") == 1
    assert (near.sum(axis=1) == 3).all()
    assert near.sum() == 24


def test_multiset_and_tuple_of_one_size_differ():
    assert canonical_distance(TupleDomain(2, ("a", "b")), "bounded", "ab", "ba") == 2
    assert canonical_distance(MultisetDomain(("a", "b"), size=2), "bounded", "ab", "ba") == 0
    assert symmetric_difference("aab", "ab") == 1


def test_spaces():
    empty = inspect_space(MultisetDomain(("a", "b", "c", "d"), size=3), "unbounded")
    assert (empty.databases, empty.components, empty.singletons, empty.vacuous) == (
        20,
        20,
        20,
        True,
    )
    sizes = inspect_space(ABCD, "bounded")
    assert (sizes.components, sizes.singletons, sizes.largest_distance) == (4, 1, 3)
    assert Space.from_dict(sizes.to_dict()) == sizes
    fixed = inspect_space(UserDomain(1, ("a", "b", "c"), points=2), Element((("a", "b"), ("c",))))
    assert fixed.components > 1


def test_a_part_of_a_domain_has_its_own_metric():
    part = ExplicitDomain(("aa", "bb"), of="multiset")
    assert canonical_matrix(part, "bounded")[0, 1] == math.inf
    assert canonical_distance(MultisetDomain(("a", "b")), "bounded", "aa", "bb") == 2
    with pytest.raises(NotApplicableError, match="canonical_matrix"):
        canonical_distance(part, "bounded", "aa", "bb")


def test_covers():
    assert column_cover({1: 1, 4: 1, 5: 2}, 3) == 3
    assert point_cover([2, 3, 7], 3) == 2
    stream = StreamDomain(1, 7)
    flipped = tuple(int(t in (1, 2, 6)) for t in range(7))
    assert canonical_distance(stream, "l-trajectory(3)", ((0,) * 7,), (flipped,)) == 2
    assert (
        canonical_distance(
            StreamDomain(2, 4), "event", ((0,) * 4,) * 2, ((1, 1, 0, 0), (0, 0, 1, 0))
        )
        == 3
    )


def test_users_trajectories_elements():
    people = UserDomain(2, ("p", "q", "r"), points=3)
    one, two = (("p", "p", "p"), ("q", "q", "q")), (("p", "q", "r"), ("q", "q", "r"))
    assert canonical_distance(people, "user", one, two) == 2
    assert canonical_distance(people, "trajectory", one, two) == 3
    element = Element((("a", "b"), ("c",)))
    free = UserDomain(1, ("a", "b", "c"))
    assert canonical_distance(free, element, (("a", "c"),), (("b", "b"),)) == 2
    assert canonical_distance(free, element, (("a", "b"),), (("a", "a"),)) == 1
    fixed = UserDomain(1, ("a", "b", "c"), points=2)
    assert canonical_distance(fixed, element, (("a", "c"),), (("a", "a"),)) == math.inf


def test_factors_between_bounded_and_unbounded():
    for domain in (ABCD, MultisetDomain(("a", "b"))):
        assert conversion_factor("unbounded", "bounded", domain) == 2
        assert conversion_factor("bounded", "unbounded", domain) == math.inf
    cube = TupleDomain(3, (0, 1))
    assert conversion_factor("free-lunch", "bounded", cube) == 1
    assert conversion_factor("bounded", "free-lunch", cube) == 3
    assert conversion_factor("unbounded", "bounded", cube) == math.inf
    with pytest.raises(InputError, match="protects nothing"):
        conversion_factor("bounded", "unbounded", cube)
    part = ExplicitDomain(("a", "ab", "b"), of="multiset")
    assert conversion_factor("unbounded", "bounded", part) == 2


STREAMS = ["event", "w-event(2)", "w-event(3)", "l-trajectory(2)", "l-trajectory(3)", "user"]


@pytest.mark.parametrize(("users", "steps"), [(1, 4), (2, 3), (3, 3), (2, 4), (1, 7), (2, 5)])
def test_stream_factors_are_those_of_the_listed_domain(users, steps):
    domain = StreamDomain(users, steps)
    items = domain.databases()
    # by symmetry one stream's neighbours are everyone's
    near = {g: [as_granularity(g).related(domain, items[0], b) for b in items] for g in STREAMS}
    far = {g: [canonical_distance(domain, g, items[0], b) for b in items] for g in STREAMS}
    for one, two in itertools.product(STREAMS, repeat=2):
        listed = max(itertools.compress(far[one], near[two]))
        assert conversion_factor(one, two, domain) == listed, (one, two)


def test_streams_with_gaps():
    domain = StreamDomain(1, 4, (0, 1), periodic=False)
    items = domain.databases()
    for one, two in itertools.product(STREAMS[:-1], repeat=2):
        relation = as_granularity(two)
        listed = max(
            canonical_distance(domain, one, a, b)
            for a, b in itertools.combinations(items, 2)
            if relation.related(domain, a, b)
        )
        assert conversion_factor(one, two, domain) == listed, (one, two)
    assert conversion_factor("event", "user", domain) == math.inf


def test_user_level_is_no_w_event():
    stream = StreamDomain(3, 3, ("A", "B"))
    visited = lambda d: sum("A" in row for row in d)  # noqa: E731
    visits = lambda d: sum(row.count("A") for row in d)  # noqa: E731
    names = ("user", "event", "l-trajectory(3)", "w-event(3)")
    assert [sensitivity(visited, stream, g) for g in names] == [1, 1, 1, 3]
    assert [sensitivity(visits, stream, g) for g in names] == [3, 1, 3, 3]
    assert conversion_factor("user", "w-event(3)", stream) == 3
    for r, w, l, k in ((2, 3, 3, 2), (2, 5, 3, 4), (1, 5, 3, 2), (4, 6, 4, 6)):
        assert conversion_factor(f"l-trajectory({l})", f"w-event({w})", StreamDomain(r, 9)) == k


def test_element_factors():
    clusters = {"type": "element", "clusters": [["a", "b"], ["c"]]}
    free = UserDomain(1, ("a", "b", "c"), largest=2)
    assert conversion_factor(clusters, "user", free) == 2
    assert conversion_factor(clusters, "user", UserDomain(4, ("a", "b", "c"))) == 2
    assert conversion_factor(clusters, "trajectory", UserDomain(4, ("a", "b", "c"))) == 2
    assert conversion_factor(clusters, "trajectory", free) == 2
    assert conversion_factor(clusters, "user", UserDomain(1, ("a", "b", "c"), points=2)) == math.inf
    whole = {"type": "element", "clusters": [["a", "b", "c"]]}
    assert conversion_factor(whole, "user", UserDomain(2, ("a", "b", "c"))) == 1
    assert conversion_factor("trajectory", "user", UserDomain(9, ("a", "b"), points=5)) == 5
    assert conversion_factor("trajectory", "user", UserDomain(1, ("a", "b"), points=3)) == 3


def test_sensitivities():
    for low, high, u, b in ((0, 5, 5, 5), (-5, 5, 5, 10)):
        values = MultisetDomain((low, 0, high) if low else (0, 3, high), largest=2)
        assert sensitivity(sum, values, "unbounded") == u
        assert sensitivity(sum, values, "bounded") == b
    with pytest.raises(InputError, match="neighbours"):
        sensitivity(sum, TupleDomain(2, (0, 1)), "unbounded")


def test_preprocessing():
    assert preprocessed(GDP(0.5), 2).mu == 1
    assert preprocessed(L1(0.5, epsilon=1.0), 2).largest == 2
    assert preprocessed(Pure([1, 0]), 3).epsilon.tolist() == [3, 0]
    with pytest.raises(GuaranteeError, match="arbitrarily far"):
        preprocessed(Pure(1.0), math.inf)
    with pytest.raises(InputError, match="factor must be > 0"):
        preprocessed(Pure(1.0), 0)


def test_randomized_response_between_three_bits():
    p = 1 / (1 + math.exp(-0.1))
    bit = np.array([[p, 1 - p], [1 - p, p]])
    loss = exact_loss(np.kron(np.kron(bit, bit), bit))
    assert loss == pytest.approx(0.1 * canonical_matrix(TupleDomain(3, (0, 1)), "bounded"))
    assert exact_loss([[1, 0], [0.5, 0.5]]).tolist() == [[0, math.log(2)], [math.inf, 0]]


def test_post_processing_and_response_vectors():
    p = math.e / (1 + math.e)
    response = np.array([[p, 1 - p], [1 - p, p]])
    assert exact_loss(response).max() == pytest.approx(1.0)
    flipped = response @ [[0.9, 0.1], [0.1, 0.9]]
    assert flipped[0, 0] == pytest.approx(0.684847, abs=1e-6)
    assert exact_loss(flipped).max() == pytest.approx(0.776137, abs=1e-6)
    grr = np.full((4, 4), 0.1748777) + np.eye(4) * (0.4753669 - 0.1748777)
    assert exact_loss(grr).max() == pytest.approx(1.0, abs=1e-6)


def test_what_a_mechanism_reads():
    items = ABCD.databases()
    counts = [d.count("a") for d in items]
    channel = np.array([np.eye(8)[c] * 0.5 + 1 / 16 for c in counts])
    assert depends_only_on(channel, counts)
    sized = np.array(
        [np.eye(8)[c + len(d)] * 0.5 + 1 / 16 for c, d in zip(counts, items, strict=True)]
    )
    assert not depends_only_on(sized, counts)


@given(st.integers(2, 9), st.data())
def test_closure_is_below_fibres_below_metric(n, data):
    points = np.array(data.draw(st.lists(st.integers(0, 20), min_size=n, max_size=n)), dtype=float)
    labels = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    d = abs(np.subtract.outer(points, points))
    seen = fibre_minimum(d, labels)
    short = closure(seen)
    assert (short <= seen).all()
    assert (seen <= d).all()
    assert (short == short.T).all()
    assert (short[:, :, None] <= short[:, None, :] + short.T[None, :, :] + 1e-12).all()
    assert (fibre_minimum(d, range(n)) == d).all()


def test_bounded_through_an_intersection():
    """Corollary A.14, and the exact value that its bound exceeds."""
    domain = MultisetDomain(("a", "b", "z"), largest=4)
    items = domain.databases()
    d = canonical_matrix(domain, "bounded")
    part = [tuple(x for x in item if x != "z") for item in items]
    seen = fibre_minimum(d, part)
    for i, j in itertools.product(range(len(items)), repeat=2):
        if len(part[i]) < 4 and len(part[j]) < 4:  # room for z
            up = sum(
                (part[i].count(x) - part[j].count(x) > 0) * (part[i].count(x) - part[j].count(x))
                for x in "ab"
            )
            down = up - len(part[i]) + len(part[j])
            assert seen[i, j] == max(up, down)
            assert seen[i, j] <= min(d[i, j], symmetric_difference(part[i], part[j]))


def test_round_trips():
    for domain, name in SMALL:
        assert domain_from_dict(domain.to_dict()) == domain
        relation = as_granularity(name)
        assert as_granularity(relation.to_json()) == relation
    part = ExplicitDomain(("a", "b"))
    assert domain_from_dict(part.to_dict()) == part


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: as_granularity("daily"), "unknown granularity 'daily'"),
        (lambda: as_granularity("w-event(0)"), "w must be a whole number"),
        (lambda: as_granularity({"type": "event", "span": 3}), "span"),
        (lambda: MultisetDomain(("a", "a")), "twice"),
        (lambda: MultisetDomain(()), "empty"),
        (lambda: TupleDomain(0, (1,)), "length must be"),
        (lambda: domain_from_dict({"type": "tuple", "length": 2}), "needs atoms"),
        (lambda: domain_from_dict({"type": "matrix"}), "type must be one of"),
        (
            lambda: domain_from_dict({"type": "graph", "vertices": 3, "edges": 1}),
            "unknown key 'edges'",
        ),
        (lambda: canonical_matrix(GraphDomain(3), "bounded"), "is for multiset and tuple"),
        (lambda: canonical_matrix(TupleDomain(40, (0, 1)), "bounded"), "too many to list"),
        (lambda: canonical_matrix(TupleDomain(2, (0, 1)), "local"), "one record"),
        (lambda: Element((("a",), ("a",))), "in two of them"),
        (lambda: fibre_minimum(np.eye(2), ["a"]), "1 labels for 2"),
        (lambda: closure(-np.eye(2)), "must be a number >= 0"),
        (lambda: exact_loss([[0.5, 0.4]]), "sum to 1"),
        (lambda: ExplicitDomain(("a", "a")), "distinct"),
        (lambda: as_granularity({"type": "relation", "pairs": [["a", "a"]]}), "own neighbour"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_bounded_needs_two_values():
    assert "one value only" in Bounded().vacuous(TupleDomain(2, ("a",)))


def test_coverage():
    """Visits at 1, 5 and 6 of a periodic stream."""
    names = ("event", "w-event(3)", "l-trajectory(6)", "user")
    assert [covers(g, [1, 5, 6]) for g in names] == [False, False, True, True]
    home = Element((("home", "bar"), ("work",)))
    assert covers(home, [1, 5, 6], "bar")
    assert not covers(home, [1, 5, 6], "gym")
    assert covers("l-trajectory(3)", [1, 9, 20], own=[1, 9, 20, 30])
    assert not covers("l-trajectory(2)", [1, 9, 20], own=[1, 9, 20, 30])
    with pytest.raises(InputError, match="own points"):
        covers("l-trajectory(2)", [1, 9], own=[1])
    with pytest.raises(NotApplicableError, match="says nothing"):
        covers("bounded", [1])
    with pytest.raises(InputError, match="empty"):
        covers("event", [])


def test_mixing_times():
    """After how many steps a walk has forgotten its start."""
    for stay, time in ((0.9, 4), (0.6, 1), (0.99, 35)):
        assert mixing_time([[stay, 1 - stay], [1 - stay, stay]]) == time
    with pytest.raises(NotApplicableError, match="does not mix"):
        mixing_time([[0, 1], [1, 0]])
    for bad in ([[1.0]] * 2, [[0.5, 0.4], [0.5, 0.5]]):
        with pytest.raises(InputError):
            mixing_time(bad)
    with pytest.raises(InputError, match="between 0 and 1"):
        mixing_time([[1.0]], 0)
