"""A fit from given centers depends on the weighted rows only: not on repeats or their order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partita import KMeans, SphericalKMeans

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")
FAMILY = [KMeans, SphericalKMeans]


def bits(model, X, weight=None):
    """All that a fit reports, except labels, in a form that is compared bit by bit."""
    stats = model.stats_
    numbers = [model.cluster_centers_, stats.weight, stats.mean, stats.sse]
    costs = [(step.cost, step.cost_after, step.shift) for step in model.trace_]
    score = model.score(X, sample_weight=weight)
    return [a.tobytes() for a in numbers], costs, model.inertia_, score


def case(seed):
    """Rows, starting centers and whole weights of a random problem."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(40, 3000)), int(rng.integers(1, 6))  # grids change above 2048 rows
    X = rng.normal(size=(n, d)) * rng.choice([1, 1e3, 1e-5]) + rng.choice([0.0, 1e4])
    X = X.astype(rng.choice([np.float32, np.float64]))
    times = rng.integers(0, 4, n) * rng.choice([1, 2])
    times[:5] = 2
    return X, X[: rng.integers(1, 6)], times


@pytest.mark.parametrize("estimator", FAMILY)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_whole_weights_equal_repeated_rows_in_every_number(estimator, storage):
    for seed in range(12):
        X, init, times = case(seed)
        repeated = np.repeat(X, times, axis=0)
        model, other = (estimator(len(init), init=init, n_init=1, tol=0) for _ in range(2))
        model.fit(storage(X), sample_weight=times.astype(float))
        other.fit(storage(repeated))
        assert np.array_equal(np.repeat(model.labels_, times), other.labels_)
        weight = times.astype(float)
        assert bits(model, storage(X), weight) == bits(other, storage(repeated)), seed


@pytest.mark.parametrize("estimator", FAMILY)
def test_a_power_of_two_scales_weights_and_costs_exactly(estimator):
    for seed in range(8):
        X, init, _ = case(seed)
        weight = np.random.default_rng(seed).random(len(X))
        model, other = (estimator(len(init), init=init, n_init=1, tol=0) for _ in range(2))
        model.fit(X, sample_weight=weight)
        other.fit(X, sample_weight=weight / 64)
        assert np.array_equal(model.cluster_centers_, other.cluster_centers_)
        assert model.inertia_ == 64 * other.inertia_
        assert model.score(X, sample_weight=weight) == 64 * other.score(
            X, sample_weight=weight / 64
        )
