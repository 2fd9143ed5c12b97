"""The kernels of kernel K-means equal their NumPy twins, for every instruction set there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]


@st.composite
def moves(draw):
    """Arguments of `gram_move`: any sizes, with rows that stay, come from nowhere, or repeat."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, rows, k = draw(st.integers(1, 40)), draw(st.integers(1, 12)), draw(st.integers(1, 5))
    if draw(st.booleans()):
        n += 2040  # beyond one stretch of columns
    count = draw(st.integers(0, 30))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    matrix = (rng.normal(size=(rows, n)) * 10.0 ** rng.integers(-6, 3, (rows, 1))).astype(dtype)
    before = np.sort(rng.integers(-1, k, count)).astype(np.int32)
    after = rng.integers(0, k, count).astype(np.int32)
    which = rng.integers(0, rows, count)
    shifts = rng.normal(size=count), rng.normal(size=n)
    kind = draw(st.sampled_from(["none", "times", "weight"]))
    more = {
        "none": {},
        "times": {"times": rng.integers(0, 4, count)},
        "weight": {"weight": rng.random(count) * (rng.random(count) < 0.8)},
    }[kind]
    return k, (matrix, which, before, after, *shifts, 2.0**30, 2.0**40), more


@given(case=moves(), threads=st.integers(1, 3))
def test_sums_are_those_of_the_twin(core, case, threads):
    k, arguments, more = case
    n = arguments[0].shape[1]
    ours = np.random.default_rng(0).integers(-5, 5, (k, 2, n))
    twin = ours.copy()
    core.gram_move(*arguments, ours, crew=core.Crew(threads), **more)
    reference.gram_move(*arguments, twin, **more)
    np.testing.assert_array_equal(ours, twin)


@given(case=moves())
def test_a_row_takes_away_what_it_brought(core, case):
    k, (matrix, which, _, after, *rest), more = case
    sums = np.zeros((k, 2, matrix.shape[1]), np.int64)
    nowhere = np.full(len(which), -1, np.int32)
    core.gram_move(matrix, which, nowhere, np.zeros_like(after), *rest, sums, **more)
    once = sums.copy()
    core.gram_move(matrix, which, np.zeros_like(after), after, *rest, sums, **more)
    core.gram_move(matrix, which, after, np.zeros_like(after), *rest, sums, **more)
    np.testing.assert_array_equal(sums, once)


@given(
    n=st.integers(1, 700), k=st.integers(1, 9), seed=st.integers(0, 99), threads=st.integers(1, 3)
)
def test_labels_are_those_of_the_twin(core, n, k, seed, threads):
    rng = np.random.default_rng(seed)
    centers = rng.integers(-3, 4, (k, n + 1)) / 4.0  # full of ties
    if k > 1:
        centers[rng.integers(k), -1] = np.inf  # a cluster that attracts nothing
    ours = rng.integers(-1, k, n).astype(np.int32)
    twin = ours.copy()
    moved = core.gram_assign(centers, ours, core.Crew(threads))
    assert moved == reference.gram_assign(centers, twin)
    np.testing.assert_array_equal(ours, twin)


def test_what_does_not_fit_is_an_error(core):
    matrix, sums = np.ones((3, 4)), np.zeros((2, 2, 4), np.int64)
    one, zero = np.zeros(1, np.int64), np.zeros(1, np.int32)
    good = {
        "rows": matrix, "which": one, "before": zero - 1, "after": zero, "sums": sums,
        "row_shift": np.zeros(1), "column_shift": np.zeros(4), "scale": 1.0, "limb": 1.0,
    }  # fmt: skip
    core.gram_move(**good)
    for wrong in (
        {"which": one + 3},
        {"which": one - 1},
        {"after": zero + 2},
        {"after": zero - 1},
        {"before": zero - 2},
        {"row_shift": np.zeros(2)},
        {"column_shift": np.zeros(3)},
        {"sums": np.zeros((2, 2, 5), np.int64)},
        {"sums": np.zeros((2, 1, 4), np.int64)},
        {"times": np.ones(2, np.int64)},
        {"weight": np.ones(2)},
    ):
        with pytest.raises(ValueError, match=r"gram_move|labels"):
            core.gram_move(**{**good, **wrong})
    with pytest.raises(ValueError, match="gram_assign"):
        core.gram_assign(np.zeros((2, 4)), np.zeros(4, np.int32))
