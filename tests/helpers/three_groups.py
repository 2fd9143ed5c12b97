"""Three groups of integers that every dtype holds exactly, for tests of odd input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from partita import KMeans

# Three groups of whole numbers from 0 to 87, zeros included: every dtype holds them exactly.
GROUPS = np.repeat([0, 1, 2], 10)
X = np.random.default_rng(0).integers(0, 8, size=(30, 3)) + 40.0 * GROUPS[:, None]
START = X[[0, 10, 20]]
NAMES = ["age", "size", "speed"]

STARTS = ["k-means++", "k-means||", "random", "forgy", "box", "random-partition"]
CONTAINERS = [np.asarray, sp.csr_array]
METHODS = ["fit", "predict", "transform", "score"]


def fit(rows, sample_weight=None, **params):
    return KMeans(**{"n_clusters": 3, "init": START, **params}).fit(
        rows, sample_weight=sample_weight
    )


def assert_groups(model, dtype=np.float64):
    means = X.reshape(3, 10, 3).mean(axis=1)
    np.testing.assert_array_equal(model.labels_, GROUPS)
    np.testing.assert_allclose(model.cluster_centers_, means, rtol=4 * np.finfo(dtype).eps)
    assert model.cluster_centers_.dtype == dtype
    assert model.inertia_ == pytest.approx(((X - means[GROUPS]) ** 2).sum(), rel=1e-6)


def call(method, rows):
    """`method` of a model fitted to good data (or to be fitted) with `rows`."""
    return getattr(fit(X), method)(rows)


def with_value(value, rows=X, at=(4, 1)):
    out = np.array(rows)
    out[at] = value
    return out


def frame_with(column, name="size"):
    return pd.DataFrame(X, columns=NAMES).assign(**{name: column})
