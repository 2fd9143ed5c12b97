"""Cutting off the farthest share of the weight."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.trimmed_reference import cut
from hypothesis import given
from hypothesis import strategies as st

from partita.trimming import cut_farthest


@st.composite
def distances(draw):
    """Distances with many ties, and weights, or None for ones."""
    n = draw(st.one_of(st.integers(1, 40), st.integers(65, 400)))  # few are sorted, many halved
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    distance = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), n) / 8
    weight = draw(st.sampled_from(["equal", "whole", "any"]))
    if weight == "equal":
        return distance, None
    weight = rng.integers(0, 4, n) * 1.0 if weight == "whole" else rng.random(n)
    weight[rng.integers(n)] = 1.0
    return distance, weight


TRIMS = st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.25, 0.29, 1 / 3, 0.5, 0.9, 0.999])


@given(distances(), TRIMS)
def test_the_share_of_every_row_is_that_of_the_definition(case, trim):
    distance, weight = case
    ones = np.ones(len(distance)) if weight is None else weight
    counted = cut_farthest(distance, weight, trim).counted(weight, len(distance))
    np.testing.assert_allclose(counted, ones * cut(distance, ones, trim), atol=1e-6)


@given(distances(), TRIMS)
def test_exactly_the_wanted_weight_is_left_out(case, trim):
    distance, weight = case
    total = float(len(distance)) if weight is None else weight.sum()
    found = cut_farthest(distance, weight, trim)
    counted = found.counted(weight, len(distance))
    assert counted.sum() == pytest.approx((1 - trim) * total, rel=1e-8)
    assert (distance[found.outside] > found.threshold).all()
    assert (distance[found.boundary] == found.threshold).all()
    inside = np.setdiff1d(np.arange(len(distance)), found.outside)
    assert (distance[inside] <= found.threshold).all()
    assert found.total(distance, weight) == pytest.approx(counted @ distance, rel=1e-12)


@given(distances(), TRIMS, st.floats(0, 200))
def test_a_guess_of_the_threshold_changes_nothing(case, trim, near):
    distance, weight = case
    plain, guessed = (cut_farthest(distance, weight, trim, guess) for guess in (0.0, near))
    assert (plain.threshold, plain.share) == (guessed.threshold, guessed.share)
    np.testing.assert_array_equal(plain.outside, guessed.outside)
    np.testing.assert_array_equal(plain.boundary, guessed.boundary)


@given(distances(), TRIMS)
def test_a_row_of_weight_three_is_three_rows(case, trim):
    distance, _ = case
    times = 1 + np.arange(len(distance)) % 3
    heavy = cut_farthest(distance, times * 1.0, trim)
    many = cut_farthest(np.repeat(distance, times), None, trim)
    assert (heavy.threshold, heavy.share) == (many.threshold, many.share)
    assert heavy.total(distance, times * 1.0) == many.total(np.repeat(distance, times), None)


def test_a_share_of_whole_rows_is_not_cut_into_parts_by_rounding():
    assert 0.29 * 100 < 29
    found = cut_farthest(np.arange(100.0), None, 0.29)
    assert len(found.outside) == 29
    assert found.share == 1.0
