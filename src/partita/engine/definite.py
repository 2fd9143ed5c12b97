"""Whether a kernel is positive semidefinite where it counts, and what would make it so.

Means, and so distances between them, only ever meet vectors whose entries add up to zero: on these
a kernel must not be negative, or a step may raise the objective.
"""

from __future__ import annotations

import numpy as np

from partita._threads import one_blas_thread
from partita._typing import Array, Floats, Ints
from partita.source.gram import Gram

_FEW = 400  # rows of which all eigenvalues are found at once
_SLACK = 1e-10  # of the largest: what rounding leaves of an eigenvalue zero
_TRIALS = 3000  # of Lanczos' method


def sample_rows(gram: Gram) -> Ints:
    """Up to `_FEW` rows of weight, evenly spread."""
    some = np.flatnonzero(gram.weight)
    return np.asarray(some[np.unique(np.linspace(0, len(some) - 1, _FEW).astype(np.intp))])


def _square(gram: Gram, some: Ints) -> Floats:
    """The doubly centred matrix of some rows."""
    inner = gram.rows(some)[:, some]
    inner = inner - inner.mean(axis=0)
    return np.asarray(inner - inner.mean(axis=1, keepdims=True))


def is_indefinite(gram: Gram) -> bool:
    """Whether a sample proves that the kernel is not positive semidefinite; all, if they are few.

    The eigenvalues of a part lie within those of the whole.
    """
    with one_blas_thread():
        found = np.linalg.eigvalsh(_square(gram, sample_rows(gram)))
    noise = float(gram.noise.max()) * len(found)
    return bool(found[0] < -max(1e-9 * np.abs(found).max(), noise))


def dimension(gram: Gram) -> float:
    """How many directions the data fills in feature space: (Σλ)² / Σλ² of a sample."""
    inner = _square(gram, sample_rows(gram))
    squares = float((inner * inner).sum())
    return max(1.0, float(np.trace(inner)) ** 2 / squares) if squares > 0 else 1.0


def needed_shift(gram: Gram) -> float:
    """The least sigma such that K + diag(sigma / weight) is positive semidefinite where it counts.

    With s = √weight it is −λ of the lowest eigenvalue of diag(s)·K·diag(s) across s.
    """
    root = np.sqrt(gram.weight)
    along = root / np.linalg.norm(root)

    def across(vector: Floats) -> Floats:
        return np.asarray(vector - along * (along @ vector))

    def times(vector: Array) -> Floats:
        flat = across(np.ravel(vector))
        return across(root * gram.times(root * flat))

    with one_blas_thread():
        if gram.n <= _FEW:
            whole = np.stack([times(column) for column in np.eye(gram.n)])
            found = np.linalg.eigvalsh((whole + whole.T) / 2)
            lowest, largest = float(found[0]), float(np.abs(found).max())
        else:
            lowest, largest = _lanczos(times, gram.n)
    return max(0.0, -lowest + _SLACK * largest) if lowest < 0 else 0.0


def _lanczos(times: object, n: int) -> tuple[float, float]:
    """The lowest eigenvalue, less what is left of its residual, and the largest."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    matrix = LinearOperator((n, n), matvec=times, dtype=np.float64)
    begin = np.random.default_rng(0).normal(size=n)
    largest = float(np.abs(eigsh(matrix, 1, which="LM", v0=begin, tol=1e-3)[0]).max())
    try:
        value, vector = eigsh(matrix, 1, which="SA", v0=begin, tol=1e-6, maxiter=_TRIALS)
    except ArpackNoConvergence:
        return -largest, largest  # more than enough
    rest = float(np.linalg.norm(matrix @ vector[:, 0] - value[0] * vector[:, 0]))
    return float(value[0]) - rest, largest
