"""Assignments within limits: optimal, proved by prices, and equal to their NumPy twin."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.balanced_reference import cost_by_linear_program, cost_by_places
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference

pytestmark = pytest.mark.sanitize


def limits_of(rng, n, k, kind):
    low, high = np.zeros(k, np.int64), np.full(k, n)
    if kind == "equal":
        return low + n // k, low + -(-n // k)
    if kind in ("min", "both"):
        low = rng.integers(0, n // k + 1, k)
    if kind in ("max", "both"):
        high = np.minimum(n, np.maximum(low, -(-n // k)) + rng.integers(0, 3, k))
    return low, high


@st.composite
def problems(draw, max_n=24):
    """Costs (n, k), ranks, limits, labels and prices to start from, and the length of lists."""
    k = draw(st.integers(1, 6))
    n = draw(st.integers(k, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["points", "ties", "duplicates", "constant", "far"]))
    costs = {
        "points": rng.random((n, k)),
        "ties": rng.integers(0, 3, (n, k)) * 1.0,
        "duplicates": np.repeat(rng.random((-(-n // 3), k)), 3, axis=0)[:n],
        "constant": np.ones((n, k)),
        "far": 10.0 ** rng.integers(-3, 6, (n, 1)) * rng.random((n, k)),
    }[kind]
    low, high = limits_of(rng, n, k, draw(st.sampled_from(["none", "min", "max", "both", "equal"])))
    labels = np.full(n, -1) if draw(st.booleans()) else rng.integers(-1, k, n)
    prices = np.zeros(k + 1) if draw(st.booleans()) else rng.normal(size=k + 1)
    rank = rng.permutation(n).astype(np.int32)
    given = np.ascontiguousarray(costs), rank, low.astype(np.int64), high.astype(np.int64)
    return given, labels.astype(np.int32), prices, draw(st.integers(1, 9))


def solve(module, problem, most=4):
    """Labels and prices of the optimum, and the number of paths, some at a time."""
    given, labels, prices, capacity = problem
    labels, prices, paths = labels.copy(), prices.copy(), 0
    transport = module.Transport(*given, labels, prices, capacity)
    while (made := module.transport_paths(transport, most)) == most:
        paths += made
    assert made >= 0
    return labels, prices, paths + made


@pytest.mark.compiled
@given(problem=problems(max_n=60), most=st.integers(1, 50))
def test_labels_prices_and_paths_are_those_of_the_twin(core, problem, most):
    ours, twin = solve(core, problem, most), solve(reference, problem)
    np.testing.assert_array_equal(ours[0], twin[0])
    assert ours[1].tobytes() == twin[1].tobytes()
    assert ours[2] == twin[2]


@given(problem=problems())
def test_no_other_labels_within_the_limits_cost_less(core, problem):
    (costs, _, low, high), *_ = problem
    labels, _, _ = solve(core, problem)
    sizes = np.bincount(labels, minlength=len(low))
    assert (sizes >= low).all()
    assert (sizes <= high).all()
    cost = costs[np.arange(len(costs)), labels].sum()
    expected = cost_by_linear_program(costs, low, high)
    assert cost == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert cost == pytest.approx(cost_by_places(costs, low, high), rel=1e-9, abs=1e-9)


@given(problem=problems(max_n=100))
def test_prices_prove_the_optimum(core, problem):
    (costs, _, low, high), *_ = problem
    labels, prices, _ = solve(core, problem)
    total, rows = costs + prices[:-1], np.arange(len(costs))
    scale = np.abs(total).max()
    assert (total >= total[rows, labels][:, None] - 1e-11 * scale).all()
    sizes, above = np.bincount(labels, minlength=len(low)), prices[:-1] - prices[-1]
    assert (sizes[above > 1e-11 * scale] == high[above > 1e-11 * scale]).all()
    assert (sizes[above < -1e-11 * scale] == low[above < -1e-11 * scale]).all()


@given(problem=problems(max_n=60))
def test_the_order_of_rows_does_not_matter(core, problem):
    (costs, rank, low, high), labels, prices, capacity = problem
    here = solve(core, problem)
    order = np.random.default_rng(0).permutation(len(costs))
    given = np.ascontiguousarray(costs[order]), rank[order], low, high
    there = solve(core, (given, labels[order], prices, capacity))
    np.testing.assert_array_equal(here[0][order], there[0])
    assert here[1].tobytes() == there[1].tobytes()


@pytest.mark.compiled
def test_an_optimum_is_kept(core):
    rng = np.random.default_rng(0)
    costs = rng.integers(0, 9, (300, 5)) * 1.0
    low = np.full(5, 60, np.int64)
    given = costs, np.arange(300, dtype=np.int32), low, low
    labels, prices, paths = solve(core, (given, np.full(300, -1, np.int32), np.zeros(6), 4))
    again = solve(core, (given, labels, prices, 4))
    assert paths > 0
    assert again[2] == 0
    np.testing.assert_array_equal(again[0], labels)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        ([3, 3], [4, 4], "add up to n"),
        ([0, 0], [2, 2], "add up to n"),
        ([2, 0], [1, 5], "the lower first"),
        ([0, 0], [9, 5], "from 0 to n"),
        ([0], [5], "limits"),
    ],
)
def test_limits_that_no_sizes_meet_are_refused(core, low, high, message):
    limits = (np.array(limit, np.int64) for limit in (low, high))
    rank, labels = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    with pytest.raises(ValueError, match=message):
        core.Transport(np.ones((5, 2)), rank, *limits, labels, np.zeros(3), 2)
