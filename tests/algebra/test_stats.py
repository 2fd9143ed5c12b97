"""ClusterStats is a commutative monoid, and its formulas are those of the theory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita import ClusterStats
from partita.exact_weights import Weights


@st.composite
def blocks(draw):
    """(rows, labels, weight, k)."""
    n, d, k = draw(st.integers(1, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return rng.normal(size=(n, d)), rng.integers(0, k, n), rng.random(n), k


def assert_close(a, b, scale=1.0):
    np.testing.assert_allclose(a.weight, b.weight, rtol=1e-12, atol=1e-12)
    held = a.weight > 0
    np.testing.assert_allclose(a.mean[held], b.mean[held], rtol=1e-10, atol=1e-9 * scale)
    np.testing.assert_allclose(a.sse, b.sse, rtol=1e-8, atol=1e-8)


@given(block=blocks(), cut=st.integers(0, 40), shift=st.floats(-1e6, 1e6))
def test_merging_two_halves_equals_summarising_the_whole(block, cut, shift):
    rows, labels, weight, k = block
    rows = rows + shift
    whole, left, right = (
        ClusterStats.of_block(rows[part], labels[part], k=k, weight=weight[part])
        for part in (slice(None), slice(0, cut), slice(cut, None))
    )
    assert_close(left.merge(right), whole, scale=max(1.0, abs(shift)) * 1e-3)


@given(block=blocks(), cut=st.integers(0, 40))
def test_merging_commutes(block, cut):
    rows, labels, weight, k = block
    left = ClusterStats.of_block(rows[:cut], labels[:cut], k=k, weight=weight[:cut])
    right = ClusterStats.of_block(rows[cut:], labels[cut:], k=k, weight=weight[cut:])
    assert_close(left.merge(right), right.merge(left))


@given(block=blocks())
def test_zero_is_neutral(block):
    rows, labels, weight, k = block
    stats = ClusterStats.of_block(rows, labels, k=k, weight=weight)
    assert_close(stats.merge(ClusterStats.zero(k, rows.shape[1])), stats)


@given(block=blocks(), factor=st.floats(0.01, 100))
def test_scaling_equals_scaled_weights(block, factor):
    rows, labels, weight, k = block
    scaled = ClusterStats.of_block(rows, labels, k=k, weight=weight).scaled(factor)
    assert_close(scaled, ClusterStats.of_block(rows, labels, k=k, weight=weight * factor))


@given(block=blocks(), seed=st.integers(0, 99))
def test_cost_at_any_centers_is_the_weighted_sum_of_squares(block, seed):
    rows, labels, weight, k = block
    centers = np.random.default_rng(seed).normal(size=(k, rows.shape[1]))
    stats = ClusterStats.of_block(rows, labels, k=k, weight=weight)
    direct = weight * ((rows - centers[labels]) ** 2).sum(axis=1)
    np.testing.assert_allclose(
        stats.cost_at(centers), np.bincount(labels, direct, minlength=k), rtol=1e-10, atol=1e-12
    )


@given(block=blocks())
def test_merge_price_is_what_merging_costs(block):
    rows, labels, weight, k = block
    stats = ClusterStats.of_block(rows, labels, k=k, weight=weight)
    one = ClusterStats(stats.weight[:1], stats.mean[:1], stats.sse[:1])
    for j in range(1, k):
        two = ClusterStats(*(part[j : j + 1] for part in (stats.weight, stats.mean, stats.sse)))
        price = one.merge(two).sse[0] - one.sse[0] - two.sse[0]
        np.testing.assert_allclose(stats.merge_price(0, j), price, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("given_weights", "kind"),
    [
        (None, "none"),
        ([1, 1, 1], "none"),
        ([0.5, 0.5, 0.5], "none"),
        ([1, 2, 3], "whole"),
        ([0.25, 0.5, 2.75], "whole"),
        ([0, 0.1, 0.3], "real"),
        ([1e-30, 0.1, 1e9], "beyond_grid"),
    ],
)
def test_weights_take_the_simplest_form_that_holds_them(given_weights, kind):
    given_weights = None if given_weights is None else np.array(given_weights, dtype=float)
    weights = Weights.of(given_weights, 3)
    assert (weights.times is not None) == (kind == "whole")
    assert (weights.values is not None) == (kind in ("real", "beyond_grid"))
    assert weights.beyond_grid == (kind == "beyond_grid")
    expected = np.ones(3) if given_weights is None else given_weights
    np.testing.assert_array_equal(weights.as_floats(3), expected)
