"""Kernels for rows with gaps equal their NumPy twins to the last bit, for every instruction set."""

from __future__ import annotations

import numpy as np
import pytest

from partita._kernels import reference
from partita._kernels.partial_pass import wide_rows
from partita.exact_weights import Weights
from partita.moments import Grid
from partita.partial_moments import PartialGrid

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]
# rows, features, centers
SHAPES = [(0, 3, 2), (1, 1, 1), (15, 2, 3), (16, 7, 4), (17, 20, 9), (300, 5, 1), (513, 33, 6)]


def gappy_rows(rng, n, d, dtype, scale=1.0):
    rows = (scale * rng.normal(size=(n, d))).astype(dtype)
    rows[rng.random(rows.shape) < rng.choice([0.1, 0.6])] = np.nan
    rows[::4] = rows[:1]  # ties, and rows that may have no value at all
    return rows


def grid_of(rows, weights):
    d = rows.shape[1]
    low, high = (
        np.full(d, float(np.nanmin(rows, initial=0))),
        np.full(d, float(np.nanmax(rows, initial=1))),
    )
    origin = (low + high) / 2
    return PartialGrid.of_extent(Grid.of_extent(low, high, origin, weights), low, high, weights)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["equal", "times", "values"])
def test_labels_and_sums_are_those_of_the_twin(core, dtype, shape, kind):
    n, d, k = shape
    rng = np.random.default_rng(n + d)
    rows, centers = gappy_rows(rng, n, d, dtype), rng.normal(size=(k, d))
    centers[-1] = centers[0]
    given = {"equal": None, "times": rng.integers(0, 4, n) + 0.0, "values": rng.random(n)}[kind]
    weights = Weights.of(None if n == 0 else given, n)
    if n and given is not None and not given.any():
        pytest.skip("no row has weight")
    grid, before = grid_of(rows, weights), rng.integers(-1, k, n).astype(np.int32)
    results = []
    for module in (core, reference):
        labels, moments = before.copy(), grid.zero(k)
        args = rows, 0.5 * centers, grid.origin, 0.5, grid.mark, labels
        sums = moments.sums
        if module is reference:
            limbs, g = (moments.hi, moments.lo), grid.wide
            sums = reference.Sums(*limbs, g.origin, g.up, g.scale, g.limb)
        extra = weights.kernel_arguments(slice(0, n))
        crew = core.Crew(3) if module is core else None
        moved = module.assign_partial(*args, sums, **extra, crew=crew)
        results.append((moved, labels.tobytes(), moments.hi.tobytes(), moments.lo.tobytes()))
    assert results[0] == results[1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
def test_distances_are_those_of_the_twin(core, dtype, scale):
    for n, d, k in SHAPES:
        rng = np.random.default_rng(n)
        rows, centers = gappy_rows(rng, n, d, dtype, scale), scale * rng.normal(size=(k, d))
        every, own = np.empty((2, n, k)), np.empty((2, n))
        labels, origin = rng.integers(0, k, n).astype(np.int32), scale * rng.normal(size=d)
        for i, module in enumerate((core, reference)):
            module.distances_partial(rows, centers, every[i])
            crew = core.Crew(2) if module is core else None
            module.own_distance_partial(rows, centers, origin, labels, own[i], crew)
        assert every[0].tobytes() == every[1].tobytes()
        assert own[0].tobytes() == own[1].tobytes()


def test_without_gaps_distances_are_the_usual_ones(core):
    rng = np.random.default_rng(0)
    rows, centers, out = rng.normal(size=(100, 6)), rng.normal(size=(5, 6)), np.empty((2, 100, 5))
    core.distances_partial(rows, centers, out[0])
    core.distances(rows, centers, out[1])
    assert out[0].tobytes() == out[1].tobytes()


def test_shapes_that_do_not_fit_are_refused(core):
    rows, centers, labels = np.ones((4, 3)), np.ones((2, 3)), np.zeros(4, np.int32)
    with pytest.raises(ValueError, match="centers"):
        core.assign_partial(rows, np.ones((2, 4)), np.zeros(3), 1.0, 1.0, labels)
    with pytest.raises(ValueError, match="labels"):
        core.assign_partial(rows, centers, np.zeros(3), 1.0, 1.0, np.full(4, 2, np.int32))
    narrow = grid_of(rows[:, :2], Weights.of(None, 4)).zero(2)
    with pytest.raises(ValueError, match="number of features"):
        core.assign_partial(rows, centers, np.zeros(3), 1.0, 1.0, labels, narrow.sums)


def test_a_gap_adds_nothing_but_its_missing_mark():
    rows = np.array([[1.0, np.nan], [3.0, 4.0]])
    wide = wide_rows(rows, np.array([10.0, 20.0, 0.0, 0.0]), 2.0)
    np.testing.assert_array_equal(wide, [[1.0, 20.0, 2.0, 0.0], [3.0, 4.0, 2.0, 2.0]])
