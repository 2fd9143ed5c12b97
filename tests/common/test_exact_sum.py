"""Sums that are rounded once: any order, weights as repeated values, weights split in two."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._common import exact_sum
from partita._common.exact_sum import exact_total, exact_totals

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WEIGHTED = st.lists(st.tuples(FINITE, FINITE.map(abs)), max_size=30)


def rounded(exact):
    """The double next to a fraction; infinite beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@given(terms=WEIGHTED)
def test_a_weighted_total_is_the_exact_sum_rounded_once(terms):
    values, weight = np.array(terms).reshape(-1, 2).T
    exact = sum((Fraction(v) * Fraction(w) for v, w in terms), Fraction(0))
    assert exact_total(values, weight) == rounded(exact)
    assert exact_total(values) == rounded(sum(map(Fraction, values), Fraction(0)))


@given(terms=WEIGHTED, seed=st.integers(0, 100))
def test_totals_by_label_are_totals_of_parts_in_any_order(terms, seed):
    values, weight = np.array(terms).reshape(-1, 2).T
    rng = np.random.default_rng(seed)
    labels, order = rng.integers(0, 4, len(values)), rng.permutation(len(values))
    totals = exact_totals(values, labels, 5, weight)
    shuffled = exact_totals(values[order], labels[order], 5, weight[order])
    parts = [exact_total(values[labels == j], weight[labels == j]) for j in range(5)]
    assert totals.tolist() == shuffled.tolist() == parts


@pytest.mark.parametrize("n", [5, 5000])
def test_whole_weights_equal_repeated_values_and_may_be_split(n):
    rng = np.random.default_rng(n)
    values, times = rng.normal(size=n) ** 3, rng.integers(0, 6, n)
    assert exact_total(values, times.astype(float)) == exact_total(np.repeat(values, times))
    a, b = rng.integers(0, 2**40, (2, n)) / 2.0**41  # a + b is a double
    assert exact_total(values, a + b) == exact_total(np.tile(values, 2), np.concatenate([a, b]))
    assert exact_total(values, 8 * a) == 8 * exact_total(values, a)


@pytest.mark.parametrize("n_more", [0, exact_sum.FSUM_MAX_VALUES])
@pytest.mark.parametrize("weighted", [False, True])
def test_infinite_values_and_sums(n_more, weighted):
    def total(*values):
        array = np.concatenate([values, np.zeros(n_more)])
        return exact_total(array, np.ones(len(array)) if weighted else None)

    assert total(1e308, 1e308, -1e308) == 1e308  # only a partial sum overflows
    assert total(1e308, 1e308) == math.inf
    assert total(-1e308, -1e308) == -math.inf
    assert total(math.inf, -1e308, -1e308) == math.inf
    assert total(-math.inf, 1.0) == -math.inf
    assert math.isnan(total(math.inf, -math.inf))
    assert math.isnan(total(math.nan, 1.0))


def test_infinite_values_without_weight_do_not_count():
    values, weight = np.array([math.inf, 2.0, math.nan]), np.array([0.0, 3.0, 0.0])
    assert exact_total(values, weight) == 6.0
    assert exact_totals(values, np.array([0, 1, 1]), 2, weight).tolist() == [0.0, 6.0]


def test_totals_of_terms_of_all_sizes_are_rounded_once():
    rng = np.random.default_rng(3)
    for _ in range(300):
        values, weight = (
            np.ldexp(rng.normal(size=4), rng.integers(-1070, 1020, 4)) for _ in range(2)
        )
        weight = np.abs(weight)
        true = sum(
            Fraction(v) * Fraction(w) for v, w in zip(values.tolist(), weight.tolist(), strict=True)
        )
        try:
            rounded = float(true)
        except OverflowError:
            rounded = math.inf if true > 0 else -math.inf
        assert exact_total(values, weight) == rounded
