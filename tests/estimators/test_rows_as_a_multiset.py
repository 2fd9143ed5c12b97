"""A fit from given centers depends on the weighted rows only: not on repeats or their order."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from partita import KMeans, SphericalKMeans, TrimmedKMeans

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")
FAMILY = [KMeans, SphericalKMeans, TrimmedKMeans]


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
    n = int(rng.choice([6, 20, 100, 3000]))  # grids change above 2048 rows
    d = int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * rng.choice([1, 1e3, 1e-5]) + rng.choice([0.0, 1e4])
    X = X.astype(rng.choice([np.float32, np.float64]))
    times = rng.integers(0, 4, n) * rng.choice([1, 2])
    times[:5] = 2
    return X, X[: rng.integers(1, 6)], times


@pytest.mark.parametrize("estimator", FAMILY)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_whole_weights_equal_repeated_rows_in_every_number(estimator, storage):
    for seed in range(40):
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


def uneven_case(seed):
    """Rows with outliers, constants, dominating values and heavy tails; starting centers."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 700))
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 3, n),
            np.where(rng.random(n) < 0.9, 2.5, rng.normal(size=n)),
            rng.standard_cauchy(n),
            np.full(n, 0.1),
            rng.normal(size=n) * np.where(rng.random(n) < rng.uniform(0.4, 0.6), 1.0, 1e8),
        ]
    )
    far = rng.integers(0, n, 2)
    X[far[0], 0], X[far[1], 2] = 10.0 ** rng.integers(3, 17, 2)  # the farthest: beyond a grid
    return X.astype(rng.choice([np.float32, np.float64])), int(rng.integers(1, 6)), rng


@pytest.mark.parametrize("estimator", FAMILY)
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_order_of_the_rows_changes_no_bit(estimator, storage):
    for seed in range(40):
        X, k, rng = uneven_case(seed)
        weight = [None, rng.random(len(X)), rng.integers(1, 4, len(X)) * 1.0][seed % 3]
        order = rng.permutation(len(X))
        shuffled = weight if weight is None else weight[order]
        model, other = (estimator(k, init=X[:k].copy(), n_init=1, tol=0) for _ in range(2))
        model.fit(storage(X), sample_weight=weight)
        other.fit(storage(X[order]), sample_weight=shuffled)
        assert np.array_equal(model.labels_[order], other.labels_)
        assert bits(model, storage(X), weight) == bits(other, storage(X[order]), shuffled), seed


def test_rows_without_weight_change_no_bit():
    for seed in range(15):
        X, k, rng = uneven_case(seed)
        extra = rng.normal(size=(rng.integers(1, 3000), X.shape[1])).astype(X.dtype) * 1e12
        both, order = np.vstack([X, extra]), rng.permutation(len(X) + len(extra))
        for weight in (np.ones(len(X)), rng.random(len(X))):
            padded = np.concatenate([weight, np.zeros(len(extra))])
            model, other = (KMeans(k, init=X[:k].copy(), n_init=1, tol=0) for _ in range(2))
            model.fit(X, sample_weight=weight)
            other.fit(both[order], sample_weight=padded[order])
            assert bits(model, X, weight) == bits(other, both, padded), seed


def test_weights_that_no_grid_holds_may_come_in_any_order():
    for seed in range(15):
        X, k, rng = uneven_case(seed)
        weight = 2.0 ** rng.integers(-40, 40, len(X)) * rng.random(len(X))
        order = rng.permutation(len(X))
        model, other = (KMeans(k, init=X[:k].copy(), n_init=1, tol=0) for _ in range(2))
        model.fit(X, sample_weight=weight)
        other.fit(X[order], sample_weight=weight[order])
        assert bits(model, X, weight) == bits(other, X[order], weight[order]), seed
