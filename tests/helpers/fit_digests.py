"""The bits of many small fits as text, to be compared with those of another machine."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita import KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, choose_k
from partita.metrics.silhouette import silhouette_samples

CRITERIA = ("inertia", "silhouette", "calinski_harabasz", "bic")  # gap: LAPACK draws its references


def digest_of(*values: Any) -> str:
    """A digest of arrays and numbers."""
    digest = hashlib.sha256()
    for value in values:
        digest.update(np.ascontiguousarray(value).tobytes())
    return digest.hexdigest()[:16]


def tables() -> dict[str, np.ndarray]:
    """Name small tables: full of ties, wide, far from the origin, of float32."""
    rng = np.random.default_rng(11)
    return {
        "lattice": 1 + rng.integers(0, 4, (300, 2)).astype(np.float64),
        "tenths": 1 + rng.integers(0, 6, (250, 5)) * 0.1,
        "wide": rng.normal(size=(200, 70)),
        "far": (rng.normal(size=(300, 4)) + 1e3).astype(np.float32),
    }


def _fits(rows: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
    """Models, with the rows and weights to fit them to."""
    weight = 0.37 * (1 + np.arange(len(rows)) % 3)
    for X in (rows, sp.csr_array(rows)):
        for model in (KMeans, SphericalKMeans, MiniBatchKMeans):
            yield model(7, random_state=1, n_init=2), X, weight
    yield KMeans(7, init="k-means||", random_state=1), rows, None
    if rows.shape[1] >= 64:
        yield KMeans(7, algorithm="prefix", random_state=1), rows, None


def digests_of_fits() -> str:
    """One line of bits for each fit, with its memberships, and for the criteria of a sweep of K."""
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few distinct rows, few iterations
        for name, rows in tables().items():
            for model, X, weight in _fits(rows):
                model.fit(X, sample_weight=weight)
                costs = [(step.cost, step.shift) for step in model.trace_]
                fitted = model.cluster_centers_, model.labels_, model.inertia_, costs
                digest = digest_of(*fitted, model.soft_membership(X))
                lines.append(f"{name} {model} {type(X).__name__} {digest}")
            sweep = choose_k(rows, ks=range(2, 6), criteria=CRITERIA, random_state=0)
            values = [sweep.criteria[criterion].values for criterion in CRITERIA]
            lines.append(f"{name} choose_k {sweep.best_k} {digest_of(*values)}")
    return "\n".join([*lines, *medoid_digests()])


def medoid_digests() -> Iterator[str]:
    """Lines of bits for fits under the metrics that need no BLAS, two for each memory limit."""
    for name, rows in tables().items():
        for metric in ("cosine", "euclidean", "manhattan", "sqeuclidean"):
            for X in (rows, sp.csr_array(rows)):
                if sp.issparse(X) and metric == "sqeuclidean":
                    continue
                for keywords in ({}, {"memory_limit": 0, "n_threads": 2}):
                    model = KMedoids(6, metric=metric, random_state=0, **keywords).fit(X)
                    fitted = model.medoid_indices_, model.labels_, model.inertia_
                    silhouettes = silhouette_samples(X, model.labels_, metric=metric)
                    digest = digest_of(*fitted, model.predict(X), model.transform(X), silhouettes)
                    yield f"{name} {metric} {type(X).__name__} {keywords} {digest}"
