"""Random problems for `KernelKMeans`: kernels, storage, ties, offsets, weights, starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from helpers.fuzzing import attempt
from partita import EmptyClusterError, KernelKMeans

NAMED = ("linear", "rbf", "laplacian", "polynomial", "cosine", "sigmoid", "chi2", "additive_chi2")
DEFINITE = ("linear", "rbf", "laplacian", "polynomial", "cosine", "chi2", "additive_chi2", "call")


def common_part(a, b):
    """Histogram intersection, a definite kernel."""
    a, b = (x.toarray().ravel() if sp.issparse(x) else x for x in (a, b))
    return math.fsum(np.minimum(np.abs(a), np.abs(b)).tolist())


@dataclass(frozen=True)
class Problem:
    """Rows or a matrix, weights, and the parameters of a fit."""

    kernel: str
    X: Any
    weight: Any
    parameters: dict[str, Any]

    def fit(self, **more):
        parameters = {"tol": 0, "max_iter": 40, "random_state": 0, **self.parameters, **more}
        kernel = common_part if self.kernel == "call" else self.kernel
        model = KernelKMeans(kernel=kernel, **parameters)
        return attempt(lambda: model.fit(self.X, sample_weight=self.weight), EmptyClusterError)

    @property
    def is_matrix(self):
        return self.kernel == "precomputed"

    def taken(self, rows):
        """The problem of rows in another order, or repeated; without weights if they are."""
        init = self.parameters["init"]
        X = self.X[rows][:, rows] if self.is_matrix else self.X[rows]
        if init.ndim == 1 and len(init) == self.X.shape[0]:
            init = init[rows]
        elif init.ndim == 1:
            init = np.array([np.flatnonzero(rows == row)[0] for row in init])
        if sp.issparse(X):
            X = sp.csr_array(X)
            X.sort_indices()
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, X=X, weight=weight, parameters={**self.parameters, "init": init})


def problem(seed):
    """A random problem."""
    rng = np.random.default_rng(seed)
    kernel = str(rng.choice([*NAMED, *NAMED, "precomputed", "call"]))
    n, d = int(rng.integers(2, 45)), int(rng.integers(1, 5))
    X = rows_of(rng, n, d, kernel)
    weight = weights_of(rng, n)
    k = int(rng.choice([1, 2, 3, min(n, 6), n, rng.integers(1, n + 1)]))
    parameters = {"n_clusters": min(k, n), **kernel_parameters(rng, kernel)}
    parameters["empty"] = str(rng.choice(["relocate", "relocate", "keep", "drop", "fail"]))
    parameters["init"] = start_of(rng, X, weight, min(k, n))
    if kernel == "precomputed":
        X = matrix_of(rng, X)
        if parameters["init"].ndim == 2:
            parameters["init"] = np.arange(n) % min(k, n)
    elif rng.random() < 0.25 and "chi2" not in kernel:
        X = sp.csr_array(X)
    return Problem(kernel, X, weight, parameters)


def rows_of(rng, n, d, kernel):
    kind = rng.choice(["normal", "lattice", "tenths", "repeated", "constant", "sparse"])
    if kind == "normal":
        X = rng.normal(size=(n, d)) * rng.choice([1.0, 10.0, 1e-3, 1e5])
    elif kind in ("lattice", "tenths"):
        X = rng.integers(-2, 4, (n, d)) * (1.0 if kind == "lattice" else 0.1)
    elif kind == "repeated":
        X = rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    elif kind == "constant":
        X = np.full((n, d), 0.7)
    else:
        X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)
    X = X + rng.choice([0.0, 0.0, 0.0, 1e3, 1e4, 1e6])
    X = np.abs(X) if "chi2" in kernel else X
    return X.astype(rng.choice([np.float32, np.float64]))


def weights_of(rng, n):
    kind = rng.choice(["none", "none", "whole", "real", "wild"])
    if kind == "none":
        return None
    weight = {
        "whole": rng.integers(0, 4, n).astype(float),
        "real": rng.random(n) + 0.01,
        "wild": np.ldexp(rng.random(n) + 0.5, rng.integers(-40, 0, n)),
    }[str(kind)]
    weight[rng.integers(n)] = 2.0
    return weight


def kernel_parameters(rng, kernel):
    found = {}
    if rng.random() < 0.5:
        found["gamma"] = math.ldexp(rng.random() + 0.5, int(rng.integers(-17, 6)))
    if kernel == "polynomial":
        found |= {"degree": int(rng.integers(1, 6)), "coef0": float(rng.choice([0.0, 1.0, 2.5]))}
    if kernel == "sigmoid":
        found["coef0"] = float(rng.choice([-1.0, 0.0, 0.3]))
    if kernel in ("sigmoid", "precomputed") and rng.random() < 0.4:
        found["diagonal_shift"] = float(rng.choice([0.1, 3.0]))
    return found


def start_of(rng, X, weight, k):
    """Labels (of all clusters, if rows suffice), numbers of rows of positive weight, or points."""
    n = X.shape[0]
    kind = rng.choice(["labels", "rows", "points", "elsewhere"])
    heavy = rng.permutation(np.arange(n) if weight is None else np.flatnonzero(weight))
    if kind == "labels" or (kind == "rows" and k == n):
        labels = rng.integers(0, k, n)
        labels[heavy] = np.arange(len(heavy)) % k  # a cluster without rows would start at random
        return labels
    rows = rng.choice(heavy, k, replace=len(heavy) < k)
    if kind == "rows":
        return rows
    points = X[rows].astype(np.float64)
    return points if kind == "points" else np.abs(points * rng.uniform(0.5, 1.5, points.shape))


def matrix_of(rng, X):
    """A Gram matrix, definite or not, dense or sparse."""
    X = X.astype(np.float64)
    kind = rng.choice(["linear", "distances", "sparse", "random"])
    if kind == "linear":
        K = np.array([[float(sum(p * q for p, q in zip(a, b, strict=True))) for b in X] for a in X])
    elif kind == "distances":
        K = -np.abs(X[:, None] - X).sum(axis=2)
    else:
        K = rng.integers(-3, 4, (len(X), len(X))) / 4.0
        K = K + K.T
    if kind != "sparse":
        return K.astype(rng.choice([np.float32, np.float64]))
    return sp.csr_array(K * (np.abs(K) > 0.6))


def fits(seed):
    """One problem, its fit, and what the model says of some rows."""
    given = problem(seed)
    model = given.fit()
    if isinstance(model, Exception):
        yield given.kernel, model
    elif given.is_matrix:
        yield given.kernel, model, model.predict(given.X)
    else:
        few = given.X[:5]
        yield given.kernel, model, model.predict(few), model.transform(few), model._dimension


# --- an independent reference ---------------------------------------------------------------------


def true_objective(given, model):
    """Σ sse of `labels_`, and how far rounding of the input may be off."""
    squares, noise = true_squares(given, model)
    weight = np.ones(len(squares)) if given.weight is None else given.weight
    weight = weight.astype(np.longdouble)
    total = np.longdouble(0)
    for j in np.unique(model.labels_):
        z = weight * (model.labels_ == j)
        if z.sum() > 0:
            total += z @ squares @ z / (2 * z.sum())
    return float(total), noise * float(weight.sum())


def true_squares(given, model):
    """Squared distances (n, n) in feature space, in long doubles or exact fractions."""
    X = given.X.toarray() if sp.issparse(given.X) else np.asarray(given.X)
    params = {} if model.kernel_ is None else model.kernel_.params
    if given.is_matrix or given.kernel in ("sigmoid", "call"):
        K = _products(given, X.astype(np.longdouble), params)
        own = np.diag(K)
        return (own[:, None] - K) + (own - K), 1e-12 * float(np.abs(K).max())
    noise = 1e-14 * float((X.astype(np.float64) ** 2).sum(axis=1).max()) * sp.issparse(given.X)
    if given.kernel == "polynomial":
        squares, size = _polynomial_squares(X, params)
        return squares, noise * 1e2 * size + 1e-22 * size
    X = X.astype(np.longdouble)
    if given.kernel == "cosine":
        length = np.sqrt((X * X).sum(axis=1))
        X, noise = X / np.where(length > 0, length, 1)[:, None], 1e-15
    gap = X[:, None] - X
    gamma = np.longdouble(params.get("gamma", 1.0))
    if given.kernel in ("linear", "cosine"):
        return (gap * gap).sum(axis=2), noise
    if given.kernel == "rbf":
        return -2 * np.expm1(-gamma * (gap * gap).sum(axis=2)), noise * float(gamma)
    if given.kernel == "laplacian":
        return -2 * np.expm1(-gamma * np.abs(gap).sum(axis=2)), noise
    size = X[:, None] + X
    ratio = (gap * gap / np.where(size > 0, size, 1)).sum(axis=2)
    return (2 * ratio if given.kernel == "additive_chi2" else -2 * np.expm1(-gamma * ratio)), noise


def _products(given, X, params):
    if given.is_matrix:
        return X
    if given.kernel == "call":
        return np.minimum(np.abs(X[:, None]), np.abs(X)).sum(axis=2)
    return np.tanh(np.longdouble(params["gamma"]) * (X @ X.T) + np.longdouble(params["coef0"]))


def _polynomial_squares(X, params):
    """Squares, exactly until they are rounded, and the largest k(x, x)."""
    gamma, coef0 = Fraction(float(params["gamma"])), Fraction(float(params["coef0"]))
    rows = [[Fraction(float(value)) for value in row] for row in X]

    def k(a, b):
        return (gamma * sum(p * q for p, q in zip(a, b, strict=True)) + coef0) ** params["degree"]

    own = [k(row, row) for row in rows]
    squares = np.zeros((len(X), len(X)), np.longdouble)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows[:i]):
            squares[i, j] = squares[j, i] = float(own[i] + own[j] - 2 * k(a, b))
    return squares, float(max(own))
