"""Random problems of sparse rows: ties, duplicates, empty rows, all kinds of weights and starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from helpers.fuzzing import attempt
from partita import EmptyClusterError, KMeans, MiniBatchKMeans, SphericalKMeans, kmeans_plusplus

LATTICES = ("whole", "tenths", "counts")
KINDS = (*LATTICES, "normal", "scales", "extreme", "far")
STARTS = ("k-means++", "k-means||", "random", "box", "random-partition", "mini-batch")
GIVEN = ("dense rows", "sparse rows", "other points")
MODELS = {"KMeans": KMeans, "SphericalKMeans": SphericalKMeans, "MiniBatchKMeans": MiniBatchKMeans}


@dataclass(frozen=True)
class SparseCase:
    """One problem: CSR rows in any state, weights, and the arguments of a model."""

    X: Any
    weight: Any
    model: str
    options: dict
    kind: str

    def fit(self, X=None, weight="own", **options):
        """The fitted model, or an EmptyClusterError."""
        rows = self.X if X is None else X
        weight = self.weight if isinstance(weight, str) else weight
        model = MODELS[self.model](**{**self.options, **options})
        return attempt(lambda: model.fit(rows, sample_weight=weight), EmptyClusterError)

    @cached_property
    def dense(self):
        """The rows as an array of floats."""
        X = self.X.toarray()
        return X.astype(np.float64) if X.dtype.kind == "i" else X

    @property
    def k(self):
        return self.options["n_clusters"]

    @property
    def has_given_start(self):
        return not isinstance(self.options["init"], str)


def sparse_case(seed):
    """The problem of a seed."""
    rng = np.random.default_rng([seed, 77])
    n = int(rng.choice([rng.integers(1, 9), rng.integers(5, 60), rng.integers(60, 300)]))
    wide = bool(rng.random() < 0.1)  # the twin is slow on wide rows
    d = int(
        rng.integers(60, 2500) if wide else rng.choice([rng.integers(1, 6), rng.integers(5, 60)])
    )
    kind = str(rng.choice(KINDS))
    X = stored_rows(rng, n, d, kind)
    model = str(rng.choice(list(MODELS), p=[0.6, 0.25, 0.15]))
    most = min(n, 4 if wide else n)
    k = int(rng.choice([1, rng.integers(1, most + 1), min(n, 2), min(most, rng.integers(1, 9))]))
    options = {
        "n_clusters": k,
        "init": start(rng, X, k),
        "empty": str(rng.choice(["relocate", "relocate", "keep", "drop", "fail"])),
        "max_iter": int(rng.choice([1, 3] if wide else [1, 3, 10, 40])),
        "tol": float(rng.choice([0.0, 1e-4])),
        "n_init": int(rng.choice([1, 1, 2])),
        "random_state": seed,
        "n_threads": 1,
    }
    if not isinstance(options["init"], str):
        options["n_init"] = 1
    if model == "SphericalKMeans":
        options["zero_rows"] = "separate"
        options["init"] = without_zeros(options["init"], rng)
    if model == "MiniBatchKMeans":
        options["batch_size"] = int(rng.choice([4, 50, 1000]))
    case = SparseCase(X, weights(rng, n), model, options, kind)
    return case if solvable(case) else sparse_case(seed + 1_000_000)


def solvable(case):
    """Whether the model has enough rows of weight, and of a direction if it needs one."""
    counts = np.ones(case.X.shape[0], bool) if case.weight is None else case.weight > 0
    if case.model == "SphericalKMeans":
        counts &= (case.dense != 0).any(axis=1)
    return np.count_nonzero(counts) >= case.k


def stored_rows(rng, n, d, kind):
    """Rows of one kind as CSR: some empty, some equal; zeros stored, duplicates, any order."""
    density = rng.choice([0.02, 0.1, 0.4, 0.9])
    dense = rng.random((n, d)) < density
    if kind == "whole":
        values = rng.integers(-3, 4, (n, d)).astype(float)
    elif kind == "tenths":
        values = rng.integers(0, 8, (n, d)) * 0.1
    elif kind == "counts":
        values = 1.0 + rng.poisson(0.5, (n, d))
    else:
        values = rng.normal(size=(n, d))
    if kind == "scales":
        values *= ten_to(rng.integers(-3, 4, d)) * ten_to(rng.choice([0, 0, -100, 100], 1))
    elif kind == "extreme":  # squares leave the range of doubles
        reach = rng.choice([-160, 150, 170, -300, 300], 1)
        values *= ten_to(reach) * ten_to(rng.integers(-6, 7, d))
    elif kind == "far":  # no grid holds all values
        values[rng.random((n, d)) < 0.05] *= 1e15
    dtypes = {"whole": [np.float64, np.float32, np.int64], "counts": [np.float32, np.int32]}
    dtype = rng.choice(dtypes.get(kind, [np.float64, np.float32]))
    if not 1e-30 < np.abs(values).max(initial=1.0) < 1e30:
        dtype = np.float64
    rows = (values * dense).astype(dtype)
    rows = rows[rng.integers(0, n, n)] if rng.random() < 0.3 else rows  # duplicates
    rows[rng.random(n) < rng.choice([0.0, 0.2])] = 0
    X = sp.csr_array(rows)
    if rng.random() < 0.3:
        X = with_stored_zeros(X, rng)
    return shuffled(X, rng) if rng.random() < 0.3 else X


def ten_to(exponents):
    """Powers of ten: those of NumPy depend on the processor."""
    return np.array([float(f"1e{exponent}") for exponent in exponents])


def with_stored_zeros(X, rng):
    """The same rows with some zeros stored."""
    extra = sp.csr_array((rng.random(X.shape) < 0.1).astype(X.dtype))
    coo, zeros = X.tocoo(), extra.tocoo()
    row, col = np.concatenate([coo.row, zeros.row]), np.concatenate([coo.col, zeros.col])
    data = np.concatenate([coo.data, zeros.data * 0])
    return sp.csr_array((data, (row, col)), shape=X.shape)


def shuffled(X, rng):
    """The same rows, the values of each stored in another order, without telling SciPy."""
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = np.lexsort((rng.random(len(row)), row))
    return sp.csr_array((X.data[order], X.indices[order], X.indptr), shape=X.shape)


def start(rng, X, k):
    """A way to start, or centers."""
    way = str(rng.choice([*STARTS, *GIVEN * 4]))
    if way in STARTS:
        return way
    rows = X[rng.choice(X.shape[0], k, replace=bool(rng.random() < 0.3))].astype(np.float64)
    if way == "other points":
        return rows.toarray() * rng.choice([0.5, 0.9, -1.0]) + rng.integers(0, 2, (k, 1)) * 0.3
    return rows.toarray() if way == "dense rows" else sp.csr_array(rows)


def without_zeros(init, rng):
    """Centers that all have a direction."""
    if isinstance(init, str):
        return init
    centers = init.toarray() if sp.issparse(init) else init.copy()
    empty = ~centers.any(axis=1)
    centers[empty] = rng.normal(size=(np.count_nonzero(empty), centers.shape[1]))
    return centers


def weights(rng, n):
    """None, whole or real weights, some zero."""
    kinds = ["none", "none", "equal", "whole", "halves", "real", "uneven"]
    kind = rng.choice(kinds, p=[0.2, 0.2, 0.1, 0.2, 0.1, 0.15, 0.05])
    if kind == "none":
        return None
    values = {
        "equal": np.full(n, 3.0),
        "whole": rng.integers(0, 4, n).astype(float),
        "halves": rng.integers(0, 5, n) * 0.5,
        "real": rng.random(n) * (rng.random(n) < 0.8),
        "uneven": ten_to(rng.integers(-12, 1, n)),
    }[kind]
    return values if values.any() else None


def fits(seed):
    """The fits of a seed, for `fuzzing.case_digests`: its model, and what it says of its rows."""
    case = sparse_case(seed)
    model = case.fit()
    if isinstance(model, Exception):
        yield case.model, model
        return
    with np.errstate(all="ignore"):
        found = model.predict(case.X), model.transform(case.X), model.score(case.X)
        found = *found, model.soft_membership(case.X)
    yield case.model, model, *found
    half = case.X.shape[0] // 2
    if case.model == "MiniBatchKMeans" and half >= case.k and case.weight is None:
        model, parts = MiniBatchKMeans(**case.options), (case.X[half:], case.X[:half])
        batches = attempt(lambda: [model.partial_fit(part) for part in parts], EmptyClusterError)
        yield "partial_fit", batches if isinstance(batches, Exception) else model
    if seed % 4 == 0:
        counted = case.X.shape[0] if case.weight is None else np.count_nonzero(case.weight)
        k = min(case.k, counted)
        keywords = {"random_state": seed, "sample_weight": case.weight, "n_threads": 1}
        yield "kmeans_plusplus", None, *kmeans_plusplus(case.X, k, **keywords)


def relocation_by_the_last_digit():
    """The objective of a fit in which rows at rounded distances compete for an empty cluster."""
    rows = np.random.default_rng(9).integers(0, 6, (8, 3)) * 0.1
    start = np.vstack([rows[:2], rows[:1]])
    model = KMeans(3, init=start, n_init=1, tol=0, n_threads=1).fit(sp.csr_array(rows))
    return repr(float(model.inertia_))
