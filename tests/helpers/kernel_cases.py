"""Data and formulas for the tests of kernels."""

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import pairwise_kernels

KERNELS = {
    "rbf": {"gamma": 0.3},
    "laplacian": {"gamma": 0.2},
    "polynomial": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "linear": {},
    "cosine": {},
}


def sample(n=120, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    X, _ = make_blobs(n, d, centers=k + 1, cluster_std=2.0, random_state=seed)
    start = ((X[:, None] - X[:k]) ** 2).sum(axis=2).argmin(axis=1)
    start = np.where(rng.random(n) < 0.4, rng.integers(0, k, n), start)  # far from a fixed point
    return X, start, rng.random(n) + 0.1


def gram_of(kernel, X):
    return pairwise_kernels(X, metric=kernel, **KERNELS[kernel])


def objective(K, labels, weight=None):
    """Σ w·‖φ − mean‖² of a partition about its own means."""
    w = np.ones(len(K)) if weight is None else weight
    total = float(w @ np.diag(K))
    for j in np.unique(labels):
        z = w * (labels == j)
        total -= float(z @ K @ z) / z.sum()
    return total
