"""Data with and without the known limits of K-means."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from partita import KMeans

CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0], [10.0, 10.0]])


def groups(n=400, seed=0, std=1.0):
    """Four round groups, well apart."""
    return make_blobs(n, centers=CORNERS, cluster_std=std, random_state=seed)[0]


def fit(X, k=4, **more):
    return KMeans(k, n_init=10, random_state=0, n_threads=1, **more).fit(X)


def spirals(n=300, seed=0):
    rng = np.random.default_rng(seed)
    t = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi
    arm = np.c_[t * np.cos(t), t * np.sin(t)]
    return np.concatenate([arm, -arm]) + rng.normal(0, 0.3, (2 * n, 2))
