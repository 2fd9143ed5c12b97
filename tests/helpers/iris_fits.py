"""Fits of the iris data, for tests of `KMeans`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from sklearn.datasets import load_iris

from partita import KMeans

IRIS = load_iris().data
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
STARTS = ["k-means++", "k-means||", "random", "forgy", "box", "random-partition"]
CONTAINERS = [np.asarray, sp.csr_array]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "pyarrow": lambda rows: pa.table(pd.DataFrame(rows, columns=NAMES)),
}


def near_rows(rows, k, seed=0):
    """k rows, moved a little so that no point is exactly between two of them."""
    rng = np.random.default_rng(seed)
    chosen = rows[rng.choice(len(rows), k, replace=False)]
    return chosen + 1e-3 * rows.std(axis=0) * rng.normal(size=chosen.shape)


def fit_iris(k=3, seed=0, sample_weight=None, **params):
    """A fit of iris from a given start."""
    init = params.pop("init", near_rows(IRIS, k, seed))
    return KMeans(k, init=init, **params).fit(IRIS, sample_weight=sample_weight)


def distances(rows, centers):
    """Euclidean distances, the plain way, in float64."""
    gap = np.asarray(rows, np.float64)[:, None] - np.asarray(centers, np.float64)
    return np.sqrt((gap**2).sum(axis=2))


def assert_same_fit(a, b):
    """Bit for bit."""
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.inertia_ == b.inertia_
    assert a.n_iter_ == b.n_iter_
