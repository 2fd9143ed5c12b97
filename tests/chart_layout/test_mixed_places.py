"""Rows with categories as points: distances are those of the factor analysis of mixed data."""

from __future__ import annotations

import numpy as np

from partita.chart_layout.mixed_places import MIN_COLUMNS, indicator_columns, places_of
from partita.chart_layout.model_rows import DrawnRows
from partita.chart_layout.projection import between_groups_plane
from partita.source.category_column import CategoryColumn
from partita.source.mixed_rows import MixedView

RNG = np.random.default_rng(0)
CODES = RNG.integers(0, 3, 60)
NUMBERS = RNG.normal(5.0, 40.0, (60, 2))
VIEW = MixedView(NUMBERS, ("a", "b"), {"art": CategoryColumn(("x", "y", "z"), CODES)})


def test_squared_distances_are_those_of_numbers_and_of_shares():
    places = places_of(VIEW).values
    share = np.bincount(CODES) / 60
    scaled = NUMBERS / NUMBERS.std(axis=0)
    for i, j in ((0, 1), (3, 17), (20, 40)):
        square = ((scaled[i] - scaled[j]) ** 2).sum()
        if CODES[i] != CODES[j]:
            square += 1 / share[CODES[i]] + 1 / share[CODES[j]]
        np.testing.assert_allclose(((places[i] - places[j]) ** 2).sum(), square)


def test_gaps_are_at_the_mean():
    numbers, codes = NUMBERS.copy(), CODES.copy()
    numbers[0], codes[0] = np.nan, -1
    view = MixedView(numbers, ("a", "b"), {"art": CategoryColumn(("x", "y", "z"), codes)})
    places = places_of(view)
    np.testing.assert_allclose(places.values[0], 0, atol=1e-12)
    assert places.names == ("a", "b", "art: x", "art: y", "art: z")


def test_a_plane_is_always_a_projection():
    only = MixedView(NUMBERS[:, :1], ("a",), {})
    places = places_of(only)
    assert places.values.shape == (60, MIN_COLUMNS)
    assert not places.values[:, 1:].any()


def test_rare_categories_of_long_columns_have_no_column():
    codes = np.repeat(np.arange(40), np.arange(1, 41))
    column = CategoryColumn(tuple(map(str, range(40))), codes)
    names, values = indicator_columns(MixedView(np.empty((len(codes), 0)), (), {"c": column}))
    assert names == tuple(f"c: {i}" for i in range(20, 40))
    np.testing.assert_array_equal(values.sum(axis=0), np.arange(21, 41))


def test_the_plane_shows_groups_that_the_widest_directions_hide():
    labels = np.repeat([0, 1], 300)
    values = RNG.normal(size=(600, 3)) * [4, 3, 0.1] + np.outer(labels, [0, 0, 4.0])
    rows = DrawnRows(values, labels, np.ones(600), ["a", "b", "c"], placed="as they are")
    along = between_groups_plane(rows, 2).project(values)[:, 0]
    one, other = along[labels == 0], along[labels == 1]
    assert one.max() < other.min() or other.max() < one.min()
