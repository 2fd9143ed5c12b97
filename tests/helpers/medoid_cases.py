"""Matrices, weights and fits for the tests of k-medoids."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from helpers import medoid_reference as reference
from partita import KMedoids

METHODS = ["fasterpam", "pam", "alternate", "clara", "onebatch"]
BLOBS = make_blobs(300, 3, centers=7, random_state=0)[0]


@st.composite
def problems(draw, whole=None, max_n=24):
    """(matrix, k, weight or None): whole numbers with many ties, or fractions.

    All sums of them are exact, so that ties are ties.
    """
    n = draw(st.integers(2, max_n))
    k = draw(st.integers(1, n))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    whole = draw(st.booleans()) if whole is None else whole
    values = rng.integers(0, 9, (n, n)) if whole else rng.integers(0, 2**20, (n, n)) / 2**20
    table = (np.triu(values, 1) + np.triu(values, 1).T).astype(np.float64)
    kind = draw(st.sampled_from(["none", "whole", "some zero"]))
    weight = None if kind == "none" else rng.integers(1, 4, n).astype(float)
    if kind == "some zero":
        weight[rng.random(n) < 0.3] = 0.0
        weight[0] = 1.0
    return table, k, weight


def recomputed(table, model, weight=None):
    weight = np.ones(len(table)) if weight is None else weight
    return reference.loss(table, model.medoid_indices_, weight)


def fit(table, k, weight=None, **keywords):
    keywords = {"metric": "precomputed", "random_state": 0, **keywords}
    return KMedoids(k, **keywords).fit(table, sample_weight=weight)
