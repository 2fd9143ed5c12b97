"""One small fitted model of every kind that a file may hold."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from partita import (
    BalancedKMeans,
    BisectingKMeans,
    KernelKMeans,
    KMeans,
    KMedoids,
    KPrototypes,
    MiniBatchKMeans,
    SphericalKMeans,
    Trace,
    TrimmedKMeans,
)

RNG = np.random.default_rng(7)
ROWS = np.concatenate([RNG.normal(c, 1.0, (30, 3)) for c in (0.0, 6.0, 12.0)]) + 1.0
NEW = RNG.normal(5.0, 6.0, (40, 3))
WEIGHT = RNG.integers(0, 4, len(ROWS)).astype(float)
FRAME = pd.DataFrame(ROWS, columns=["länge", "<b>", "c"])


def frame(X):
    return pd.DataFrame(X, columns=FRAME.columns)


def with_categories(X):
    art = np.where(X[:, 1] > 6, "höher", "tiefer")
    return pd.DataFrame({"länge": X[:, 0], "art": art, "rund": X[:, 2] > 4, "c": X[:, 2]})


def single(X):
    return X.astype(np.float32)


def streamed():
    model = MiniBatchKMeans(3, random_state=0)
    return model.partial_fit(ROWS[::2]).partial_fit(ROWS[1::2])


def gappy(X):
    """The rows with a value of every third missing."""
    gap = np.arange(3 * len(X)).reshape(-1, 3) % 10 == 0
    return np.where(gap, np.nan, X)


def with_zeros():
    return np.vstack([ROWS, np.zeros((2, 3))])


# name -> (a function that fits, a function that makes of NEW what the model takes)
CASES = {
    "kmeans": (lambda: KMeans(3, random_state=0).fit(ROWS), lambda X: X),
    "kmeans float32": (lambda: KMeans(3, random_state=0).fit(single(ROWS)), single),
    "kmeans csr": (lambda: KMeans(3, random_state=0).fit(sp.csr_array(ROWS)), sp.csr_array),
    "kmeans weights": (
        lambda: KMeans(3, init=ROWS[:3], n_init=1).fit(ROWS, sample_weight=WEIGHT),
        lambda X: X,
    ),
    "kmeans frame": (lambda: KMeans(3, random_state=0).fit(FRAME), frame),
    "kmeans drop": (
        lambda: KMeans(3, init=np.array([ROWS[0], ROWS[1], ROWS[1] + 1e9]), empty="drop").fit(ROWS),
        lambda X: X,
    ),
    "kmeans partial": (
        lambda: KMeans(3, random_state=0, missing="partial").fit(gappy(ROWS)),
        lambda X: gappy(X),
    ),
    "kmeans partial float32 frame": (
        lambda: KMeans(3, random_state=0, missing="partial").fit(frame(single(gappy(ROWS)))),
        lambda X: frame(single(gappy(X))),
    ),
    "kmeans one": (lambda: KMeans(1).fit(ROWS), lambda X: X),
    "kmeans offset": (lambda: KMeans(3, random_state=0).fit(ROWS + 1e6), lambda X: X + 1e6),
    "kmeans huge": (lambda: KMeans(3, random_state=0).fit(ROWS * 1e200), lambda X: X * 1e200),
    "minibatch": (lambda: MiniBatchKMeans(3, random_state=0).fit(ROWS), lambda X: X),
    "minibatch no labels": (
        lambda: MiniBatchKMeans(3, random_state=0, compute_labels=False).fit(ROWS),
        lambda X: X,
    ),
    "minibatch stream": (streamed, lambda X: X),
    "spherical": (lambda: SphericalKMeans(3, random_state=0).fit(ROWS), lambda X: X),
    "spherical separate": (
        lambda: SphericalKMeans(3, random_state=0, zero_rows="separate").fit(with_zeros()),
        lambda X: np.vstack([X, 0 * X[:1]]),
    ),
    "spherical drop csr": (
        lambda: SphericalKMeans(2, random_state=0, zero_rows="drop").fit(
            sp.csr_matrix(with_zeros())
        ),
        lambda X: sp.csr_matrix(np.vstack([X, 0 * X[:1]])),
    ),
    "trimmed": (lambda: TrimmedKMeans(3, trim=0.1, random_state=0).fit(ROWS), lambda X: X),
    "trimmed nothing": (lambda: TrimmedKMeans(3, trim=0, random_state=0).fit(ROWS), lambda X: X),
    "trimmed weights csr": (
        lambda: TrimmedKMeans(3, random_state=0).fit(sp.csr_array(ROWS), sample_weight=WEIGHT),
        sp.csr_array,
    ),
    "balanced": (lambda: BalancedKMeans(3, size_min=20, random_state=0).fit(ROWS), lambda X: X),
    "balanced weights csr": (
        lambda: BalancedKMeans(3, size_max=25, random_state=0).fit(
            sp.csr_array(ROWS), sample_weight=WEIGHT
        ),
        sp.csr_array,
    ),
    "bisecting": (lambda: BisectingKMeans(5, random_state=0).fit(ROWS), lambda X: X),
    "bisecting one": (lambda: BisectingKMeans(1).fit(ROWS), lambda X: X),
    "bisecting float32 frame": (
        lambda: BisectingKMeans(4, random_state=0).fit(FRAME.astype(np.float32)),
        lambda X: frame(single(X)),
    ),
    "medoids": (lambda: KMedoids(3, random_state=0).fit(ROWS), lambda X: X),
    "medoids k_range": (
        lambda: KMedoids(k_range=(2, 4), metric="seuclidean", random_state=0).fit(ROWS),
        lambda X: X,
    ),
    "medoids mahalanobis": (
        lambda: KMedoids(3, metric="mahalanobis", random_state=0).fit(single(ROWS)),
        single,
    ),
    "medoids minkowski": (
        lambda: KMedoids(
            3,
            metric="minkowski",
            metric_params={"p": 3, "w": np.array([1.0, 2.0, 0.5])},
            random_state=0,
        ).fit(ROWS),
        lambda X: X,
    ),
    "medoids csr": (
        lambda: KMedoids(3, metric="cosine", random_state=0).fit(sp.csr_matrix(ROWS)),
        sp.csr_matrix,
    ),
    "medoids precomputed": (
        lambda: KMedoids(3, metric="precomputed", random_state=0).fit(euclidean_distances(ROWS)),
        lambda X: euclidean_distances(X, ROWS),
    ),
    "medoids gaps": (
        lambda: KMedoids(3, metric="nan_euclidean", random_state=0).fit(
            np.where(np.arange(3) == np.arange(len(ROWS))[:, None] % 4, np.nan, ROWS)
        ),
        lambda X: X,
    ),
    "medoids clara": (lambda: KMedoids(3, method="clara", random_state=0).fit(ROWS), lambda X: X),
    "prototypes": (
        lambda: KPrototypes(3, random_state=0).fit(with_categories(ROWS), sample_weight=WEIGHT),
        with_categories,
    ),
    "prototypes categories": (
        lambda: KPrototypes(2, init=np.array([[True], [False]])).fit(ROWS[:, :1] > 6),
        lambda X: X[:, :1] > 6,
    ),
    "prototypes numbers": (
        lambda: KPrototypes(3, standardize=False, random_state=0).fit(FRAME),
        frame,
    ),
    "kernel": (
        lambda: KernelKMeans(3, random_state=0).fit(ROWS, sample_weight=WEIGHT),
        lambda X: X,
    ),
    "kernel float32": (
        lambda: KernelKMeans(3, kernel="poly", degree=2, random_state=0).fit(single(ROWS)),
        single,
    ),
    "kernel csr": (
        lambda: KernelKMeans(3, kernel="cosine", random_state=0).fit(sp.csr_array(ROWS)),
        sp.csr_array,
    ),
    "kernel nystrom": (
        lambda: KernelKMeans(3, approximation="nystrom", n_components=12, random_state=0).fit(ROWS),
        lambda X: X,
    ),
    "kernel linear nystrom": (
        lambda: KernelKMeans(3, kernel="linear", approximation="nystrom", random_state=0).fit(ROWS),
        lambda X: X,
    ),
    "kernel nystrom csr": (
        lambda: KernelKMeans(
            3, kernel="laplacian", approximation="nystrom", n_components=9, random_state=0
        ).fit(sp.csr_array(ROWS)),
        sp.csr_array,
    ),
    "kernel neighbours": (
        lambda: KernelKMeans(3, kernel="nearest_neighbors", random_state=0).fit(ROWS, None, WEIGHT),
        lambda X: X,
    ),
    "kernel neighbours csr": (
        lambda: KernelKMeans(
            3, kernel="nearest_neighbors", n_neighbors=9, init="random", random_state=0
        ).fit(sp.csr_array(ROWS)),
        sp.csr_array,
    ),
    "kernel precomputed": (
        lambda: KernelKMeans(3, kernel="precomputed", random_state=0).fit(rbf_kernel(ROWS)),
        lambda X: rbf_kernel(X, ROWS),
    ),
    "kernel cut": (
        lambda: KernelKMeans(3, kernel="normalized-cut", random_state=0).fit(
            sp.csr_array(rbf_kernel(ROWS, gamma=0.1))
        ),
        lambda X: rbf_kernel(X, ROWS, gamma=0.01),
    ),
}


@functools.cache
def fitted(name):
    """The model of a case, for tests that do not change it."""
    return CASES[name][0]()


def same(a, b):
    """Whether two values are the same to the last bit, kinds and dtypes included."""
    if isinstance(a, np.ndarray):
        return (
            type(a) is type(b)
            and a.shape == b.shape
            and a.dtype == b.dtype
            and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        )
    if sp.issparse(a):
        return type(a) is type(b) and a.dtype == b.dtype and same(a.toarray(), b.toarray())
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple | list) and not isinstance(a, Trace):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.random.Generator):
        return a.bit_generator.state == b.bit_generator.state and (
            a.bit_generator.seed_seq.state == b.bit_generator.seed_seq.state
        )
    if type(a).__module__.startswith("partita") and not isinstance(a, Trace):
        names = vars(a) if hasattr(a, "__dict__") else a.__dataclass_fields__
        return type(a) is type(b) and all(same(getattr(a, n), getattr(b, n)) for n in names)
    return bool(a == b)
