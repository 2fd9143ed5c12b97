"""The principal plane of rows, dense and sparse, of any size."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from partita.stats import ClusterStats
from partita.voronoi.principal_plane import pca_plane


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1e6]))
def test_the_plane_is_that_of_the_widest_spread(seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)) * [1, 9, 3, 1, 0.5] + offset
    w = rng.integers(0, 4, 80) + 0.5
    mean, axes = pca_plane(X, w)
    np.testing.assert_allclose(mean, np.average(X, axis=0, weights=w))
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    gap = np.sqrt(w)[:, None] * (X - mean)
    best = np.linalg.svd(gap, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs((axes * best).sum(axis=1)), 1.0, atol=1e-6)
    assert (np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], 1) > 0).all()


@pytest.mark.parametrize("size", [1e160, 1e-200])
@pytest.mark.parametrize("wide", [1024, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_plane_of_rows_of_any_size(monkeypatch, size, wide, make):
    monkeypatch.setattr("partita.voronoi.principal_plane.COVARIANCE_MAX_FEATURES", wide)
    X = np.random.default_rng(0).normal(size=(60, 5)) * [1, 9, 3, 1, 0.5]
    (mean, axes), (plain, expected) = pca_plane(make(X * size)), pca_plane(make(X))
    np.testing.assert_allclose(axes, expected, atol=1e-7)
    np.testing.assert_allclose(mean / size, plain, rtol=1e-9)


def test_wide_and_sparse_rows_and_summaries_have_a_plane(monkeypatch):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 30)) * np.linspace(9, 1, 30)
    X[np.abs(X) < 2] = 0.0
    mean, axes = pca_plane(X)
    np.testing.assert_allclose(pca_plane(sp.csr_array(X))[1], axes, atol=1e-9)
    monkeypatch.setattr("partita.voronoi.principal_plane.COVARIANCE_MAX_FEATURES", 3)
    for made in (X, sp.csr_array(X)):
        found = pca_plane(made)
        np.testing.assert_allclose(found[0], mean, atol=1e-12)
        np.testing.assert_allclose(np.abs((found[1] * axes).sum(axis=1)), 1.0, atol=1e-9)
    same = np.ones((5, 30))  # no spread: any two axes
    line = rng.normal(size=(9, 1)) * np.arange(30)
    for flat in (same, line):
        axes = pca_plane(flat)[1]
        np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)
    stats = ClusterStats.of_block(X, np.arange(100) % 7, k=7)
    np.testing.assert_allclose(pca_plane(stats)[0], X.mean(axis=0), atol=1e-12)
