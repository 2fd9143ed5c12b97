"""Gram matrices and affinities: checks, the normalized cut, and the Gram that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, must_be
from partita._common.text import listed
from partita._common.threads import Workers
from partita._common.warnings import IndefiniteKernelWarning, warn
from partita.engine.kernel.definiteness import is_indefinite, needed_shift
from partita.estimators.validation import nonfinite_kinds
from partita.exact_weights import Weights
from partita.source.gram_matrix import DenseGram, Gram, RecomputedGram, SparseGram
from partita.source.gram_tiles import gram_matrix, is_symmetric
from partita.source.kernel_function import KernelFunction
from partita.source.kernel_rows import KernelRows

BLOCK_VALUES = 1 << 22  # values that are checked together
MAX_SHIFT_RATIO = 8.0  # of a given shift to the largest that a kernel can need
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
    return DenseGram(X, None, weights, workers)


def computed_gram(
    kernel: KernelFunction, rows: KernelRows, weight: Floats | None, workers: Workers, memory: float
) -> Gram:
    """Return the Gram of a kernel: in memory if it fits, else its rows are computed as needed."""
    weights = Weights.of(weight, len(rows))
    if callable(kernel.metric) and not is_symmetric(kernel, rows.values):
        raise must_be("kernel", "symmetric: k(a, b) = k(b, a)", kernel.metric)
    reach = kernel.reach(rows)
    gram: Gram
    if gram_bytes(len(rows)) > memory:
        gram = RecomputedGram(kernel, rows, weights, workers, reach)
    else:
        matrix = gram_matrix(kernel, rows, workers)
        reach = float(np.abs(matrix).max()) if reach is None else reach
        gram = DenseGram(matrix, rows.values, weights, workers, reach)
    gram.noise = kernel.noise(rows)
    return gram


def gram_bytes(n: int) -> float:
    """Return the memory of a Gram matrix of doubles."""
    return 8.0 * n * n


def shift_of(diagonal_shift: Any, gram: Gram, definite: bool) -> tuple[bool, float]:
    """Return whether a warning was issued, and what to add to the diagonal.

    Warns if the kernel is indefinite and no shift was given.
    """
    if isinstance(diagonal_shift, str):
        return False, 0.0 if definite else needed_shift(gram)
    if diagonal_shift is not None:
        return False, _check_shift(float(diagonal_shift), gram)
    if definite or not is_indefinite(gram):
        return False, 0.0
    warn_indefinite()
    return True, 0.0


def _check_shift(shift: float, gram: Gram) -> float:
    """Return a given shift; no kernel needs more than the total weight times its largest entry."""
    limit = MAX_SHIFT_RATIO * exact_total(gram.weight) * gram.reach
    if shift > limit > 0:
        advice = "A larger one takes digits from all distances; 'auto' is the least that helps."
        raise must_be("diagonal_shift", f"at most {limit:.3g} for these rows", shift, advice)
    return shift


def warn_indefinite() -> None:
    """Warn that the objective may rise."""
    warn(
        "The kernel is not positive semidefinite: an iteration may raise the objective, and a run "
        "may cycle until max_iter. diagonal_shift='auto' prevents it.",
        IndefiniteKernelWarning,
    )
