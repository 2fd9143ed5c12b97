"""Clusters in opposite directions have a sum of zero: any unit vector is a center of both."""

from __future__ import annotations

import numpy as np
import pytest

from partita import ClusterStats, MergeTree, SphericalKMeans, choose_k, diagnose, merge_tree
from partita.geometry import SPHERICAL
from partita.report import Fitted, render


def ring(n):
    angle = np.arange(n) * 2 * np.pi / n
    return np.round(np.column_stack([np.cos(angle), np.sin(angle)]), 12)


def axes(d):
    return np.repeat(np.vstack([np.eye(d), -np.eye(d)]), 3, axis=0)


def antipodes(d):
    rows = np.random.default_rng(d).normal(size=(10, d))
    return np.vstack([rows, -rows])


ROWS = {
    "ring of 8": ring(8),
    "ring of 24": ring(24),
    "axes in 2": axes(2),
    "axes in 5": axes(5),
    "pairs in 2": antipodes(2),
    "pairs in 4": antipodes(4),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_of_clusters_is_swept(name, dtype):
    X = ROWS[name].astype(dtype)
    distinct = len(np.unique(X, axis=0))
    for weight in (None, np.arange(len(X)) % 3 + 1.0):
        model = SphericalKMeans(random_state=0)
        ks = range(1, min(8, distinct))
        sweep = choose_k(X, ks, estimator=model, sample_weight=weight, criteria=["inertia"])
        costs = sweep.to_dict()["inertia"]
        assert len(costs) == len(ks)
        assert np.isfinite(costs).all()
        assert (np.diff(costs) <= 1e-6).all()


@pytest.mark.parametrize("name", ROWS)
def test_centers_of_merged_clusters_have_unit_length(name):
    X = ROWS[name]
    model = SphericalKMeans(4, random_state=0).fit(X)
    for tree in (merge_tree(model), merge_tree(model, X), MergeTree.of(model.stats_, SPHERICAL)):
        for k in range(1, 5):
            centers = tree.centers_at(k)
            np.testing.assert_allclose(np.linalg.norm(centers, axis=1), 1.0, rtol=1e-12)
            again = SphericalKMeans(k, init=centers, n_init=1).fit(X)
            assert again.inertia_ <= tree.cost_at(k) * (1 + 1e-9)


def test_a_mean_of_zeros_without_a_center_gets_one():
    stats = ClusterStats(np.array([2.0, 1.0]), np.array([[0.0, 0.0], [0.0, 1.0]]), np.ones(2))
    tree = MergeTree.of(stats, SPHERICAL)
    np.testing.assert_array_equal(tree.centers_at(2), [[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(tree.centers_at(1), [[0.0, 1.0]])


@pytest.mark.parametrize("name", ["ring of 8", "axes in 5"])
def test_reports_and_findings_of_opposite_directions(name):
    X = ROWS[name]
    for k in (1, 2):
        model = SphericalKMeans(k, random_state=0).fit(X)
        findings = diagnose(model, X)
        assert render(Fitted(model, X, diagnosis=findings)).startswith("<!")
