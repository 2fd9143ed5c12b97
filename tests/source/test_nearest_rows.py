"""The nearest rows, compared with all distances, in ties, offsets and extremes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from partita._common.threads import Workers
from partita.source.nearest_rows import MAX_TREE_FEATURES, NearestRows


def by_all_distances(X, rows, count, own=False):
    """D64, features in order; the row itself first, then the lower place on ties."""
    squares = np.zeros((len(X), len(rows)))
    for a, b in zip(X.T, rows.T, strict=True):
        squares += (a[:, None] - b) ** 2
    if own:
        np.fill_diagonal(squares, -1.0)
    return np.argsort(squares, axis=1, kind="stable")[:, :count]


def nearest(X, rows, count, own=False, threads=1):
    with Workers(threads) as workers:
        search = NearestRows(rows, workers)
        return search.nearest(X, count, np.arange(len(X)) if own else None)


def kinds_of_rows(kind, n, d, rng):
    if kind == "lattice":
        return np.unique(rng.integers(0, 3, (n, d)).astype(float), axis=0)
    rows = rng.normal(size=(n, d))
    if kind == "offset":
        return rows + 1e6
    if kind == "far":
        rows[0] = 1e8
    return rows * {"huge": 1e200, "tiny": 1e-200}.get(kind, 1.0)


@given(
    kind=st.sampled_from(["normal", "lattice", "offset", "far", "huge", "tiny"]),
    wide=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_the_nearest_are_those_of_all_distances(kind, wide, seed):
    rng = np.random.default_rng(seed)
    rows = kinds_of_rows(kind, 40, MAX_TREE_FEATURES + 5 if wide else 3, rng)
    count = min(len(rows), int(rng.integers(1, 12)))
    scale = {"huge": 2.0**-660, "tiny": 2.0**660}.get(kind, 1.0)  # so that squares are numbers
    expected = by_all_distances(rows * scale, rows * scale, count, own=True)
    np.testing.assert_array_equal(nearest(rows, rows, count, own=True), expected)
    new = rows[rng.permutation(len(rows))[:9]] * 0.75
    expected = by_all_distances(new * scale, rows * scale, count)
    np.testing.assert_array_equal(nearest(new, rows, count), expected)


@pytest.mark.parametrize("d", [4, MAX_TREE_FEATURES + 5])
def test_ties_beyond_the_candidates_go_by_the_order_of_rows(d):
    """All corners of a cube are equally far from its center: any of them could be a candidate."""
    rows = np.unique(np.random.default_rng(0).integers(0, 2, (300, d)) * 2.0 - 1.0, axis=0)
    assert nearest(np.zeros((1, d)), rows, 3).tolist() == [[0, 1, 2]]


def test_sparse_rows_and_threads_change_nothing():
    rows = np.random.default_rng(0).integers(0, 4, (200, 6)).astype(float)
    rows = np.unique(rows, axis=0)
    alone = nearest(rows, rows, 7, own=True)
    np.testing.assert_array_equal(nearest(rows, rows, 7, own=True, threads=2), alone)
    sparse = sp.csr_array(rows)
    with Workers(2) as workers:
        found = NearestRows(sparse, workers).nearest(sparse, 7, np.arange(len(rows)))
    np.testing.assert_array_equal(found, alone)
