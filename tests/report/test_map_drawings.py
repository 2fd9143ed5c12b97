"""Drawings of groups without a script: the histogram, the bubbles, the small map."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import numpy as np
import pytest
from helpers.reports import NONE, blobs, fitted
from hypothesis import given
from hypothesis import strategies as st

from partita import KernelKMeans, KMeans
from partita.report import Fitted
from partita.report.map.label_places import LABEL_HEIGHT, place_labels
from partita.report.map.small_map import small_map
from partita.report.map.stacked_histogram import bin_rows, histogram
from partita.report.report_input import MIN_TOLD_ROWS, check_input


def bars(drawing):
    """The rows that each bar counts, by its title."""
    return [int(n.replace("\u202f", "")) for n in re.findall(r": ([\d\u202f]+) rows? of", drawing)]


# --- histogram ---------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e6, -37.5])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e5])
def test_bins_are_round_and_hold_every_row_once(offset, scale):
    values = np.random.default_rng(0).normal(size=500) * scale + offset
    labels = np.random.default_rng(1).integers(-1, 3, 500)
    weight = np.random.default_rng(2).uniform(1, 2, 500)
    ends = float(np.quantile(values, 0.02)), float(values.max())
    binned = bin_rows(values, labels, weight, 3, ends)
    edges = binned.edges
    assert 20 <= len(edges) - 1 <= 62
    assert edges[0] <= ends[0]
    assert edges[-1] >= ends[1]
    step = float(f"{edges[1] - edges[0]:.4g}")
    digits = f"{step:e}".split("e")[0].rstrip("0").rstrip(".")
    assert digits in ("1", "2", "2.5", "5")
    assert binned.rows.sum() == 500
    assert binned.weight.sum() == pytest.approx(weight.sum())
    assert binned.rows[0].sum() == np.count_nonzero(values < edges[0])
    for i, (low, high) in enumerate(pairwise(edges), 1):
        last = values == high if i == len(edges) - 1 else False
        inside = (values >= low) & ((values < high) | last)
        assert binned.rows[i].sum() == inside.sum()


def test_few_integers_have_a_bin_each():
    values = np.repeat([3.0, 4.0, 7.0], [2, 5, 1])
    binned = bin_rows(values, np.zeros(8, dtype=int), np.ones(8), 1, (3.0, 7.0))
    np.testing.assert_array_equal(binned.edges, np.arange(2.5, 8))
    assert binned.rows[1:-1, 0].tolist() == [2, 5, 0, 0, 1]


def test_the_bars_count_all_rows_and_the_note_those_far_away():
    X = np.append(blobs(200, d=1), [[1e6], [2e6], [-1e6]], axis=0)
    made = Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE)
    drawing, note = histogram(check_input(made))
    assert sum(bars(drawing)) == 203
    assert "The first bar counts 1 row below" in note
    assert "The last bar counts 2 rows above" in note


def test_days_are_written_as_dates():
    X = 19_000 + np.arange(400.0)[:, None]
    model = KMeans(2, random_state=0).fit(X)
    made = Fitted(model, X, names=["born"], days=["born"], diagnosis=NONE)
    texts = re.findall(r">(\d{4}-\d\d-\d\d)</text>", histogram(check_input(made))[0])
    assert len(texts) >= 3
    assert texts == sorted(texts)


def test_one_value_makes_one_bar():
    X = np.full((20, 1), 7.0)
    drawing, note = histogram(check_input(Fitted(KMeans(1).fit(X), X, diagnosis=NONE)))
    assert bars(drawing) == [20]
    assert note == ""


def test_bars_without_rows_to_show_are_hidden():
    made = fitted(n=300, d=1, no_rows=True)
    drawing, note = histogram(check_input(made))
    assert min(bars(drawing)) >= MIN_TOLD_ROWS
    assert "Bars of fewer than 5 rows are not drawn." in note
    assert "below" not in drawing


# --- the small map -----------------------------------------------------------------------------


@pytest.mark.parametrize("no_rows", [False, True])
@pytest.mark.parametrize("d", [1, 2, 6])
def test_the_small_map_is_a_drawing_with_all_groups(d, no_rows):
    data = check_input(fitted(n=900, d=d, no_rows=no_rows))
    drawing = small_map(data, object())
    root = ElementTree.fromstring(drawing)
    assert root.get("viewBox") == "0 0 360 240"
    assert root.get("role") == "img"
    groups = {part.get("data-group") for part in root.iter() if part.get("data-group")}
    assert groups == {"0", "1", "2"}
    texts = [part.text for part in root.iter("text") if "pill-text" in part.get("class", "")]
    assert sorted(texts) == ["0", "1", "2"]
    assert "style" not in drawing


def test_the_small_map_draws_at_most_600_rows_and_no_outlier():
    X = blobs(3000, d=3)
    X[:3] = 1e6
    data = check_input(Fitted(KMeans(3, random_state=0).fit(X), X, diagnosis=NONE))
    starts = re.findall(r"M(-?[\d.]+) (-?[\d.]+)a", small_map(data, object()))
    places = np.array(starts, dtype=float)
    assert 500 < len(places) <= 600
    assert np.ptp(places, axis=0).min() > 100  # the others fill the drawing
    assert ((places >= 0) & (places <= [360, 240])).all()


def test_there_is_no_small_map_of_a_matrix():
    matrix = np.exp(-np.square(blobs(30, d=1) - blobs(30, d=1).T))
    model = KernelKMeans(2, kernel="precomputed", random_state=0).fit(matrix)
    assert small_map(check_input(Fitted(model, matrix, diagnosis=NONE)), None) == ""


# --- labels ------------------------------------------------------------------------------------


@given(
    anchors=st.lists(st.tuples(st.floats(0, 300), st.floats(0, 200)), max_size=40),
    width=st.floats(20, 60),
)
def test_no_label_covers_another_or_leaves_the_box(anchors, width):
    places = place_labels(anchors, [width] * len(anchors), (0, 0, 300, 200))
    shown = [place for place in places if place is not None]
    assert len(places) == len(anchors)
    for i, (x, y) in enumerate(shown):
        assert width / 2 <= x <= 300 - width / 2
        assert LABEL_HEIGHT / 2 <= y <= 200 - LABEL_HEIGHT / 2
        for a, b in shown[:i]:
            assert abs(x - a) >= width or abs(y - b) >= LABEL_HEIGHT
    if anchors and all(30 <= x <= 270 and 10 <= y <= 190 for x, y in anchors):
        assert shown
