"""Random fits to dense rows, and of medoids to any rows, for fuzzing: `fits(seed)`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from helpers.fuzzing import attempt
from partita import KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, choose_k
from partita.metrics.silhouette import silhouette_samples

MEDOID_METRICS = ("cosine", "euclidean", "manhattan", "sqeuclidean")  # that need no BLAS
CRITERIA = ("inertia", "silhouette", "calinski_harabasz", "bic")  # gap: LAPACK draws its references
INITS = ("k-means++", "k-means||", "random", "box", "random-partition")


def rows_and_weight(rng):
    """A table full of ties, wide, far from the origin, or of unequal scales; and its weights."""
    n, d = int(rng.integers(20, 250)), int(rng.choice([1, 2, 3, 5, 9, 40, 70]))
    kind = rng.choice(["lattice", "tenths", "normal", "far", "scales"])
    if kind == "lattice":
        rows = rng.integers(-1, 4, (n, d)).astype(np.float64)
    elif kind == "tenths":
        rows = 1 + rng.integers(0, 6, (n, d)) * 0.1
    elif kind == "scales":
        rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    else:
        rows = rng.normal(size=(n, d)) + (1e3 if kind == "far" else 0.0)
    weights = [None, rng.integers(0, 4, n) + 1e-3, rng.integers(1, 4, n).astype(np.float64)]
    return rows.astype(rng.choice([np.float32, np.float64])), weights[int(rng.integers(3))]


def fits(seed):
    """Yield (name, fitted model or error, more values) of one random case."""
    rng = np.random.default_rng(seed)
    rows, weight = rows_and_weight(rng)
    k = int(rng.integers(2, 9))
    keywords = {"random_state": seed, "n_init": 1}
    models = [
        KMeans(k, init=str(rng.choice(INITS)), **keywords),
        SphericalKMeans(k, zero_rows="separate", **keywords),
        MiniBatchKMeans(k, **keywords),
    ]
    if rows.shape[1] >= 64:
        models.append(KMeans(k, algorithm="prefix", **keywords))
    for model in models:
        fitted = attempt(lambda m=model: m.fit(rows, sample_weight=weight), ValueError)
        yield str(model), *_with(fitted, lambda m=model: [m.soft_membership(rows)])
    yield from medoid_fits(rng, rows, weight, k)
    if seed % 10 == 0:
        yield "choose_k", *_sweep(rows, seed)


def medoid_fits(rng, rows, weight, k):
    """Yield fits of medoids under one metric: dense and sparse, held and made again."""
    metric = str(rng.choice(MEDOID_METRICS))
    for X in (rows, sp.csr_array(rows)):
        if sp.issparse(X) and metric == "sqeuclidean":
            continue
        for held in ({}, {"memory_limit": 0, "n_threads": 2}):
            model = KMedoids(k, metric=metric, random_state=0, **held)
            fitted = attempt(lambda m=model, X=X: m.fit(X, sample_weight=weight), ValueError)
            more = _with(fitted, lambda m=model, X=X: _measures(m, X))
            yield f"medoids {metric} {type(X).__name__} {held}", *more


def _measures(model, X):
    found = attempt(lambda: silhouette_samples(X, model.labels_, metric=model.metric), ValueError)
    return [model.predict(X), model.transform(X), model.soft_membership(X), _plain(found)]


def _plain(found):
    return str(found) if isinstance(found, Exception) else found


def _with(fitted, more):
    return [fitted] if isinstance(fitted, Exception) else [fitted, *more()]


def _sweep(rows, seed):
    found = attempt(
        lambda: choose_k(rows, ks=range(2, 6), criteria=CRITERIA, random_state=seed), ValueError
    )
    if isinstance(found, Exception):
        return [found]
    return [None, found.best_k, *(found.criteria[name].values for name in CRITERIA)]
