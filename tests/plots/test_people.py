"""Pictures of families and networks: who stands where, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plots")

from corrdp.plots.people import draw_members, draw_people, draw_sizes, draw_spreads
from corrdp.report.frame import inline_svg


def dots(ax):
    return np.concatenate([each.get_offsets() for each in ax.collections])


def test_everybody_has_a_place_of_their_own():
    rng = np.random.default_rng(5)
    links = np.array([(a, b) for a in range(80) for b in range(a) if rng.random() < 0.03])
    ax = draw_people(80, links, rng.integers(0, 2, 80), ["well", "ill"])
    places = dots(ax)
    assert places.shape == (80, 2)
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(80)
    assert apart.min() > 0.15
    assert len(ax.lines) == len(links)


def test_states_are_told_apart_by_more_than_colour():
    ax = draw_people(3, np.array([[0, 1]]), [0, 1, 1], ["well", "ill"])
    well, ill = ax.collections
    assert (len(well.get_offsets()), len(ill.get_offsets())) == (1, 2)
    assert not np.array_equal(well.get_facecolor(), ill.get_facecolor())


def test_groups_do_not_lie_on_each_other():
    links = np.array([(3 * k + a, 3 * k + b) for k in range(20) for a, b in ((0, 1), (1, 2))])
    places = dots(draw_people(70, links, [], []))
    assert len(np.unique(places.round(6), axis=0)) == 70


@pytest.mark.parametrize("links", [np.empty((0, 2), int), np.array([[0, 0]])])
def test_nobody_needs_links(links):
    assert len(dots(draw_people(2, links, [], []))) == 2


def test_of_a_large_network_the_largest_groups_are_drawn():
    links = np.array([(5 * k + a, 5 * k + a + 1) for k in range(100) for a in range(4)])
    ax = draw_people(501, links, [], [])
    assert ax.get_xlabel() == "300 of 501: the largest groups"
    assert len(dots(ax)) == 300


def test_of_one_large_group_links_are_counted():
    ax = draw_people(500, np.array([(k, k + 1) for k in range(499)]), [], [])
    assert ax.get_xlabel() == "links of a record"


def test_parents_stand_above():
    names = ["child", "mother", "father", "uncle"]
    ax = draw_members(np.full((4, 4), 0.3), names)
    heights = dict(zip(names, dots(ax)[:, 1], strict=True))
    assert heights["mother"] == heights["father"] > heights["child"] == heights["uncle"]


def test_names_that_look_like_formulas_are_drawn_as_they_are():
    ax = draw_spreads({r"$\bad{$": [1, 2], "a$b$c": [0, 0]}, 0, 1)
    drawn = inline_svg(ax, "x", "x")
    assert r"$\bad{$" in drawn
    assert "a$b$c" in drawn


def test_powers_of_ten_stay_powers():
    ax = draw_sizes({1: 3})
    ax.set_yscale("log")
    assert "mathdefault" not in inline_svg(ax, "x", "x")
