"""Gram matrices and affinities: checks, the normalized cut, and the Gram that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.parameters import Got, must_be
from partita._common.text import listed
from partita._common.threads import Workers
from partita._common.warnings import IndefiniteKernelWarning, warn
from partita.engine.kernel.definiteness import is_indefinite, needed_shift
from partita.estimators.validation import nonfinite_kinds
from partita.exact_weights import Weights
from partita.source.gram_matrix import DenseGram, Gram, RecomputedGram, SparseGram
from partita.source.kernel_function import KernelFunction, gram_matrix, is_symmetric

BLOCK_VALUES = 1 << 22  # values that are checked together
TILE_ROWS = 512  # of the comparison with the transpose


def check_square(X: Any, matrix: str) -> None:
    """Check that a matrix of inner products or affinities is square, finite and symmetric."""
    if X.shape[0] != X.shape[1]:
        advice = "It has one row and one column per sample."
        raise must_be("X", f"a square {matrix}", Got(f"the shape {X.shape}"), advice)
    data = X.data if sp.issparse(X) else X
    if not _is_finite(data):
        raise must_be("X", f"a finite {matrix}", Got(nonfinite_kinds(data)))
    gap, largest = _asymmetry(X)
    if gap > np.sqrt(np.finfo(X.dtype).eps) * largest:
        got = f"|K[i, j] - K[j, i]| up to {gap:.3g}, with entries up to {largest:.3g}"
        raise must_be("X", f"a symmetric {matrix}", Got(got), "(K + K.T) / 2 is symmetric.")


def _is_finite(data: Any) -> bool:
    step = max(1, BLOCK_VALUES // max(1, data[:1].size))
    return all(np.isfinite(data[i : i + step]).all() for i in range(0, len(data), step))


def _asymmetry(X: Any) -> tuple[float, float]:
    """The largest |K_ij − K_ji|, and the largest |K_ij|."""
    if sp.issparse(X):
        gap = abs(X - X.T)
        return float(gap.max()) if gap.nnz else 0.0, float(abs(X).max()) if X.nnz else 0.0
    gap, largest, n, step = 0.0, 0.0, len(X), TILE_ROWS
    for i in range(0, n, step):
        for j in range(i, n, step):
            a, b = X[i : i + step, j : j + step], X[j : j + step, i : i + step].T
            gap = max(gap, float(np.abs(a - b).max()))
            largest = max(largest, float(np.abs(a).max()))
    return gap, largest


def cut_matrix(A: Any) -> tuple[Any, Floats]:
    """Return D⁻¹AD⁻¹ and the degrees D; its kernel K-means is the normalized cut of the graph A."""
    check_square(A, "affinity matrix")
    data = A.data if sp.issparse(A) else A
    if data.size and data.min() < 0:
        got = Got(f"negative entries down to {data.min():.3g}")
        raise must_be("X", "an affinity matrix with entries >= 0", got)
    degree = _degrees(A)
    return _divided(A, degree, degree), degree


def cut_rows(A: Any, degree: Floats) -> Any:
    """Return inner products of new nodes with those of degree `degree`, from their affinities A."""
    return _divided(A, _degrees(A), degree)


def _degrees(A: Any) -> Floats:
    degree = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    single: Ints = np.flatnonzero(degree <= 0)
    if single.size:
        got = (
            f"{single.size} of {len(degree)} nodes without an edge: {listed(single.tolist(), str)}"
        )
        advice = "The normalized cut does not define their cluster: leave them out."
        raise must_be("X", "a graph in which every node has an edge", Got(got), advice)
    return degree


def _divided(A: Any, rows: Floats, columns: Floats) -> Any:
    """A_ij / (rows_i · columns_j), as sparse as A."""
    if not sp.issparse(A):
        return A / rows[:, None] / columns
    values = A.data / np.repeat(rows, np.diff(A.indptr)) / columns[A.indices]
    return sp.csr_array((values, A.indices, A.indptr), A.shape)


def given_gram(X: Any, weight: Floats | None, workers: Workers) -> Gram:
    """Return the Gram of a checked matrix."""
    weights = Weights.of(weight, X.shape[0])
    if sp.issparse(X):
        return SparseGram(X, weights, workers)
    return DenseGram(X, None, (float(X.min()), float(X.max())), weights, workers)


def computed_gram(
    kernel: KernelFunction, X: Any, weight: Floats | None, workers: Workers, memory: float
) -> Gram:
    """Return the Gram of a kernel: in memory if it fits, else its rows are computed as needed."""
    n = X.shape[0]
    weights = Weights.of(weight, n)
    if callable(kernel.metric) and not is_symmetric(kernel, X):
        raise must_be("kernel", "symmetric: k(a, b) = k(b, a)", kernel.metric)
    if n * n * X.dtype.itemsize > memory:
        return RecomputedGram(kernel, X, weights, workers)
    matrix, span = gram_matrix(kernel, X, workers)
    return DenseGram(matrix, X, None if kernel.definite else span, weights, workers)


def shift_of(diagonal_shift: Any, gram: Gram, definite: bool) -> tuple[bool, float]:
    """Return whether a warning was issued, and what to add to the diagonal.

    Warns if the kernel is indefinite and no shift was given.
    """
    if isinstance(diagonal_shift, str):
        return False, 0.0 if definite else needed_shift(gram)
    if diagonal_shift is not None or definite or not is_indefinite(gram):
        return False, float(diagonal_shift or 0.0)
    warn_indefinite()
    return True, 0.0


def warn_indefinite() -> None:
    """Warn that the objective may rise."""
    warn(
        "The kernel is not positive semidefinite: an iteration may raise the objective, and a run "
        "may cycle until max_iter. diagonal_shift='auto' prevents it.",
        IndefiniteKernelWarning,
    )
