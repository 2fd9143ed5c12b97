"""The charts as SVG, and the numbers along their axes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.reports import Page

from partita._common.number_text import number_text, percent_text, tick_texts, value_text
from partita.plots import ObjectiveDisplay
from partita.report import (
    charts,
    render,
)
from partita.report.summary import analyse


def curve(steps, cost):
    """A display of this curve."""
    return ObjectiveDisplay(title="", name="", steps=steps, cost=cost, stopped_by="")


def test_numbers_along_an_axis_can_be_told_apart():
    assert tick_texts([1270.0, 1280.0, 1290.0]) == ["1\u202f270", "1\u202f280", "1\u202f290"]
    assert tick_texts([1279.1, 1279.2]) == ["1\u202f279.1", "1\u202f279.2"]
    assert tick_texts([0.2, 0.4, 0.6000000000000001]) == ["0.2", "0.4", "0.6"]
    assert tick_texts([-1e-9, 0.0]) == ["−1e−09", "0"]
    assert tick_texts([5.0, 5.0]) == ["5", "5"]  # nothing tells them apart
    assert tick_texts([1280.0, 1282.5, 1285.0]) == ["1\u202f280.0", "1\u202f282.5", "1\u202f285.0"]
    assert tick_texts([]) == []
    assert tick_texts([1e9, 1.5e9]) == ["1e+09", "1.5e+09"]
    assert tick_texts([1e10, 1.00001e10]) == ["1.00000e+10", "1.00001e+10"]


@pytest.mark.parametrize("size", [1.0, 1e9, 1e12])
def test_numbers_at_the_left_of_a_chart_are_not_cut(size):
    cost = size * (1 + 1e-5 * np.arange(7.0)[::-1])
    drawn = Page(charts.objective_chart(curve(np.arange(1.0, 4.5, 0.5), cost)))
    texts = [t for t in drawn.texts if t.strip()]
    left = [float(a["x"]) for t, a in drawn.elements if a.get("text-anchor") == "end"]
    assert len(left) >= 2
    longest = max(map(len, texts[: len(left)]))
    assert min(left) >= 7 * longest


def test_weights_of_a_merge_tree_are_whole_and_apart_from_the_numbers():
    weight = np.array([123456.0, 999999.0, 1234567.0, 3.0])
    linkage = np.array([[0, 1, 1.0, 2], [2, 4, 2.0, 3], [3, 5, 5.0, 4]])
    drawn = Page(charts.merge_tree_chart(linkage, weight))
    assert {number_text(w) for w in weight} <= set(drawn.texts)
    assert "1\u202f234\u202f567" in drawn.texts
    ends = {float(a["x"]) for t, a in drawn.elements if a.get("text-anchor") == "end"}
    numbers, sizes = min(ends), max(ends)
    assert sizes - numbers >= 7 * len("1 234 567")


@pytest.mark.heavy
def test_pointing_at_a_silhouette_says_whose_it_is(wine):
    parser = Page(render(wine))
    for j in range(3):
        assert f"group {j}: mean" in parser.text
    drawn = charts.silhouette_chart(analyse(wine).quality.silhouettes, [0, 1, 2])
    assert re.findall(r"<path[^>]*><title>group (\d)", drawn) == ["0", "1", "2"]
    assert drawn.count("<title>") == 3


def test_rounding_makes_no_mountains():
    cost = np.array([10.0, 10.0, 10.0 + 1e-12])
    drawn = charts.objective_chart(curve(np.array([1.0, 1.5, 2.0]), cost))
    places = re.search(r'd="M([^"]*)"', drawn).group(1)
    assert len({place.split()[1] for place in places.split("L")}) == 1


def test_numbers_are_written_as_they_are_read():
    thin = "\u202f"
    assert value_text(1234567.0) == f"1{thin}234{thin}567"
    assert value_text(-123456789012345.0) == f"−123{thin}456{thin}789{thin}012{thin}345"
    assert [value_text(x) for x in (1e15, 1234567.8, 0.1 + 0.2)] == [
        "1e+15",
        f"1{thin}234{thin}568",
        "0.3",
    ]
    assert [number_text(x) for x in (999999999, 2e9, 7.5e12)] == [
        f"999{thin}999{thin}999",
        "2e+09",
        "7.5e+12",
    ]
    assert [percent_text(x) for x in (0.99996, 0.00004, 1, 0, -1e-9)] == [
        f"{words}{thin}%" for words in (">99.9", "<0.1", "100", "0", "0")
    ]
