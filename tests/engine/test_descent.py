"""J never rises: not by a bit, from an assignment to the update, or from there to the next."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from partita import KMeans, SphericalKMeans

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def random_problem(seed):
    """Rows, weights and starting centers: scattered, tight, on a lattice, or in one orthant."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(5, 400)), int(rng.integers(1, 12))
    X = [
        rng.normal(size=(n, d)),
        1e-6 * rng.normal(size=(n, d)) + rng.normal(size=d),
        rng.integers(-2, 3, (n, d)).astype(float),
        np.abs(rng.normal(size=(n, d))),
    ][seed % 4]
    X[~X.any(axis=1)] = 1.0  # no row of zeros
    X = X.astype(rng.choice([np.float32, np.float64]))
    weight = [None, rng.integers(0, 4, n).astype(float), rng.random(n)][rng.integers(3)]
    if weight is not None:
        weight[0] = 1.0
    return X, weight, X[rng.choice(n, int(rng.integers(1, min(n, 9))), replace=False)]


@pytest.mark.parametrize("estimator", [KMeans, SphericalKMeans])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_the_objective_never_rises(estimator, storage):
    compared = 0
    for seed in range(100):
        X, weight, init = random_problem(seed)
        model = estimator(len(init), init=init, n_init=1, tol=0)
        model.fit(storage(X), sample_weight=weight)
        for step in model.trace_:
            assert step.empty or step.cost_after <= step.cost, seed
        for step, following in pairwise(model.trace_):
            assert step.empty or following.cost <= step.cost_after, seed
            compared += 1
    assert compared > 300


def test_costs_of_directions_are_those_of_their_rows():
    """The cost in the trace equals Σ w(1 − cos) over rows and centers."""
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(300, 4)), rng.random(300)
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    model = SphericalKMeans(5, init=X[:5], n_init=1, max_iter=1).fit(X, sample_weight=weight)
    start = unit[:5]
    nearest = (1 - unit @ start.T).min(axis=1)
    assert model.trace_[0].cost == pytest.approx(weight @ nearest, rel=1e-13)
    labels = (unit @ start.T).argmax(axis=1)
    sums = np.array([weight[labels == j] @ unit[labels == j] for j in range(5)])
    after = sums / np.linalg.norm(sums, axis=1)[:, None]
    own = 1 - np.einsum("nd,nd->n", unit, after[labels])
    assert model.trace_[0].cost_after == pytest.approx(weight @ own, rel=1e-13)
    assert model.trace_[0].shift == pytest.approx(np.linalg.norm(after - start), rel=1e-13)
