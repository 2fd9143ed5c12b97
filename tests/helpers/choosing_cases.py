"""Data and criteria for tests of `choose_k`."""

from __future__ import annotations

from sklearn.datasets import make_blobs

QUICK = ("silhouette", "simplified_silhouette", "calinski_harabasz", "davies_bouldin", "bic")


def blobs(centers=4, n=300, d=2, seed=3, spread=0.5):
    return make_blobs(n, d, centers=centers, cluster_std=spread, random_state=seed)[0]
