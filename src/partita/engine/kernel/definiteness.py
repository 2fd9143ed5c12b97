"""Definiteness of a kernel on vectors whose entries add up to zero, and the shift that ensures it.

Differences of means are such vectors. If the kernel is negative for one of them, a step may raise
the objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total
from partita._common.threads import check_room_for_blas, one_blas_thread
from partita.source.gram_matrix import Gram

DENSE_ROWS = 400  # up to which all eigenvalues are computed
EIGENVALUE_TOLERANCE = 1e-10  # relative to the largest: rounding of a zero eigenvalue
LANCZOS_STEPS = 200


def _doubly_centred_sample(gram: Gram) -> tuple[Floats, Floats]:
    """Return inner products (m, m) of rows about their mean, and their shares of weight (m,)."""
    rows, mass = gram.sample(DENSE_ROWS)
    share = mass / exact_total(mass)
    inner = gram.submatrix(rows)
    mean = (inner * share).sum(axis=1)
    inner = (inner - mean) - (mean - (mean * share).sum())[:, None]
    return inner, share


def is_indefinite(gram: Gram) -> bool:
    """Return whether a sample of rows proves that the kernel is not positive semidefinite.

    The eigenvalues of a submatrix lie within those of the matrix.
    """
    inner, _ = _doubly_centred_sample(gram)
    check_room_for_blas(1)
    with one_blas_thread():
        values = np.linalg.eigvalsh(inner)
    noise = gram.noise * len(values)
    return bool(values[0] < -max(1e-9 * np.abs(values).max(), noise))


def dimension(gram: Gram) -> float:
    """Return the effective dimension of the data in feature space: (Σλ)² / Σλ² of a sample."""
    inner, share = _doubly_centred_sample(gram)
    largest = float(np.abs(inner).max())
    if not largest > 0:
        return 1.0
    inner /= largest  # so that no square overflows
    trace = float((share * inner.diagonal()).sum())
    squares = float((share[:, None] * share * (inner * inner)).sum())
    return max(1.0, trace**2 / squares) if squares > 0 else 1.0


def variance(gram: Gram) -> float:
    """Return the variance of the rows in feature space."""
    sums, labels = gram.sums(1), np.zeros(gram.n, np.int32)
    gram.move(np.arange(gram.n), labels - 1, labels, sums)
    mass = exact_total(gram.weight)
    inner = exact_total(gram.own(sums, labels), gram.weight) / mass
    return max(0.0, (exact_total(gram.diagonal, gram.weight) - inner) / mass)


def needed_shift(gram: Gram) -> float:
    """Return the least sigma such that K + diag(sigma / weight) is definite on such vectors."""
    check_room_for_blas(1)
    with one_blas_thread():
        if gram.n <= DENSE_ROWS:
            values = np.linalg.eigvalsh(_dense(gram))
            lowest, largest = float(values[0]), float(np.abs(values).max())
        else:
            lowest, largest = _lowest(gram)
    rounding = EIGENVALUE_TOLERANCE * largest
    return rounding - lowest if lowest < -rounding else 0.0


def leading(gram: Gram, count: int) -> Floats:
    """Return the relaxed solution (n, count): coordinates along the leading directions.

    It is the best partition into count + 1 clusters if memberships may be any numbers.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    count, first = max(1, min(count, gram.n - 1)), _start_vector(gram.n)
    vectors: Floats = np.empty((gram.n, 0))
    check_room_for_blas(1)
    with one_blas_thread():
        if not (_operator(gram) @ first).any():
            pass  # all rows are equal: there are no directions
        elif gram.n <= max(DENSE_ROWS, 4 * count):
            vectors = np.linalg.eigh(_dense(gram))[1][:, -count:]
        else:
            try:
                vectors = eigsh(_operator(gram), count, which="LA", v0=first, tol=1e-6)[1]
            except ArpackNoConvergence as error:
                vectors = error.eigenvectors  # those that converged
    if vectors.shape[1] == 0:
        vectors = first[:, None]
    root = np.sqrt(gram.weight)
    rows = np.divide(vectors, root[:, None], out=np.zeros_like(vectors), where=root[:, None] > 0)
    return np.asarray(rows)


def _operator(gram: Gram) -> Any:
    """diag(s)·K·diag(s), projected to the complement of s = √weight."""
    from scipy.sparse.linalg import LinearOperator

    root = np.sqrt(gram.weight)
    along = root / np.linalg.norm(root)

    def project(vector: Floats) -> Floats:
        return np.asarray(vector - along * (along @ vector))

    def multiply(vector: Array) -> Floats:
        return project(root * gram.times(root * project(np.ravel(vector))))

    return LinearOperator((gram.n, gram.n), matvec=multiply, dtype=np.float64)


def _dense(gram: Gram) -> Floats:
    matrix = _operator(gram)
    dense = np.stack([matrix @ column for column in np.eye(gram.n)])
    return np.asarray((dense + dense.T) / 2)


def _start_vector(n: int) -> Floats:
    return np.random.default_rng(0).normal(size=n)


def _lowest(gram: Gram) -> tuple[float, float]:
    """Return a (probabilistic) lower bound of the lowest eigenvalue, and the largest |eigenvalue|.

    Lanczos' method with full orthogonalization: its lowest Ritz value less the residual; 0 if it
    is not below zero by a millionth of the largest.
    """
    matrix, n = _operator(gram), gram.n
    steps = min(LANCZOS_STEPS, n)
    basis, diagonal, off_diagonal = np.zeros((steps, n)), np.zeros(steps), np.zeros(steps)
    vector = matrix @ _start_vector(n)  # without the null space
    for i in range(steps):
        length = float(np.linalg.norm(vector))
        if i and length <= EIGENVALUE_TOLERANCE * float(np.abs(diagonal[:i]).max()):
            steps = i
            break
        if length == 0:
            return 0.0, 0.0
        off_diagonal[i] = length
        basis[i] = vector / length
        vector = matrix @ basis[i]
        diagonal[i] = float(basis[i] @ vector)
        for _ in range(2):  # twice: the first pass leaves rounding errors
            vector -= (basis[: i + 1] @ vector) @ basis[: i + 1]
    tridiagonal = np.diag(diagonal[:steps])
    tridiagonal += np.diag(off_diagonal[1:steps], 1) + np.diag(off_diagonal[1:steps], -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    largest = float(np.abs(values).max())
    residual = float(np.linalg.norm(vector)) * abs(float(vectors[-1, 0]))
    lowest = float(values[0])
    return (lowest - residual if lowest < -1e-6 * largest else 0.0), largest
