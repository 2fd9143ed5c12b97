"""The kernels of k-medoids equal their NumPy twins, for every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import kernels, reference

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]


@st.composite
def tables(draw, max_n=200):
    """(dissimilarities, medoids, weights or None): full of ties, or of none."""
    n = draw(st.integers(3, max_n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(["whole", "normal", "far"]))
    rows = rng.integers(0, 4, (n, 2)) if kind == "whole" else rng.normal(size=(n, 3))
    if kind == "far":
        rows = rows + 1e6 * rng.integers(0, 3, (n, 1))
    table = np.abs(rows[:, None] - rows[None]).sum(axis=2)
    dtype = draw(st.sampled_from(FLOATS))
    weight = rng.random(n) + 0.01 if draw(st.booleans()) else None
    k = draw(st.integers(2, min(n, 12)))
    medoids = rng.choice(n, k, replace=False).astype(np.int64)
    return np.ascontiguousarray(table, dtype=dtype), medoids, weight


def swaps_for(module, table, medoids, weight):
    """Fresh arrays, and the object that works on them."""
    n, k = len(table), len(medoids)
    single = table.dtype == np.float32
    arrays = {
        "medoids": medoids.copy(),
        "columns": table[medoids].copy(),
        "near": np.zeros(n, np.int32),
        "second": np.zeros(n, np.int32),
        "closest": np.zeros(n, table.dtype),
        "next": np.zeros(n, table.dtype),
        "removal": np.zeros(k),
    }
    make = module.Swaps32 if single else module.Swaps64
    return arrays, make(**arrays, weight=weight)


def assert_same(ours, twin):
    for name, array in ours[0].items():
        np.testing.assert_array_equal(array, twin[0][name], err_msg=name)
    assert ours[1].loss == twin[1].loss


@given(problem=tables(), threads=st.integers(1, 3))
def test_scans_are_those_of_the_twin(core, problem, threads):
    table, medoids, weight = problem
    n = len(table)
    order = np.arange(n)[::-1].astype(np.int64)
    found = []
    for module, crew in ((core, core.Crew(threads)), (reference, None)):
        _, swaps = swaps_for(module, table, medoids, weight)
        change, place = np.empty(n), np.empty(n, np.int32)
        module.swap_scan(swaps, table, order, order, change, place, crew)
        found.append((change, place))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.heavy
@given(problem=tables(), threads=st.integers(1, 3), limit=st.integers(1, 500))
def test_searches_are_those_of_the_twin(core, problem, threads, limit):
    table, medoids, weight = problem
    order = np.random.default_rng(0).permutation(len(table)).astype(np.int64)
    ours = swaps_for(core, table, medoids, weight)
    twin = swaps_for(reference, table, medoids, weight)
    assert_same(ours, twin)
    crew, idle = core.Crew(threads), 0
    for _ in range(3):
        done = core.swap_search(ours[1], table, order, order, idle, limit, crew)
        same = reference.swap_search(twin[1], table, order, order, idle, limit)
        assert done == same
        assert_same(ours, twin)
        idle = done[1]


@given(problem=tables())
def test_a_swap_leaves_what_looking_anew_would_find(core, problem):
    table, medoids, weight = problem
    arrays, swaps = swaps_for(core, table, medoids, weight)
    order = np.arange(len(table))
    core.swap_search(swaps, table, order, order, 0, len(table))
    fresh, again = swaps_for(core, table, arrays["medoids"], weight)
    for name in ("columns", "closest", "next"):
        np.testing.assert_array_equal(arrays[name], fresh[name])
    assert swaps.loss == again.loss


@given(problem=tables(), place=st.integers(0, 1), candidate=st.integers(0, 2))
def test_a_single_swap_is_that_of_the_twin(core, problem, place, candidate):
    table, medoids, weight = problem
    ours = swaps_for(core, table, medoids, weight)
    twin = swaps_for(reference, table, medoids, weight)
    assert core.swap_apply(ours[1], table[candidate], candidate, place) == reference.swap_apply(
        twin[1], table[candidate], candidate, place
    )
    assert_same(ours, twin)


@given(problem=tables(), threads=st.integers(1, 3))
def test_gains_are_those_of_the_twin(core, problem, threads):
    table, medoids, weight = problem
    for closest in (None, table[medoids].min(axis=0)):
        ours, twin = np.empty(len(table)), np.empty(len(table))
        core.swap_gain(table, closest, weight, ours, core.Crew(threads))
        reference.swap_gain(table, closest, weight, twin)
        np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 64, 65, 200])
def test_looks_are_those_of_the_twin(core, dtype, n):
    rng = np.random.default_rng(n)
    plain = rng.random((n, n)).astype(dtype)
    plain = plain + plain.T
    np.fill_diagonal(plain, 0)
    for fault in (None, 0.5, -2.0, np.nan, np.inf):
        for row, column in ((0, n - 1), (n - 1, 0), (n // 2, n // 2)):
            matrix = plain.copy()
            if fault is not None:
                matrix[row, column] = fault
            ours, twin = np.empty(5), np.empty(5)
            core.summarise_matrix(matrix, ours, core.Crew(2))
            reference.summarise_matrix(matrix, twin)
            assert np.isnan(ours[2]) == np.isnan(twin[2]) == (not np.isfinite(matrix).all())
            if np.isfinite(matrix).all():
                np.testing.assert_array_equal(ours, twin)


def test_what_does_not_fit_is_refused(core):
    table = np.ones((5, 5))
    _, swaps = swaps_for(core, table, np.array([0, 1]), None)
    order = np.arange(5)
    with pytest.raises(ValueError, match="outside the table"):
        core.swap_search(swaps, table, order + 1, order, 0, 5)
    with pytest.raises(ValueError, match="one dissimilarity per point"):
        core.swap_search(swaps, np.ones((5, 4)), order, order, 0, 5)
    with pytest.raises(ValueError, match="no such place"):
        core.swap_apply(swaps, table[0], 0, 2)
    with pytest.raises(ValueError, match="at least two medoids"):
        swaps_for(core, table, np.array([0]), None)


def test_the_kernels_in_use_have_all_of_them():
    for name in ("Swaps32", "Swaps64", "swap_scan", "swap_search", "swap_apply", "swap_gain"):
        assert hasattr(kernels, name)
