"""Whether a kernel is positive semidefinite where it counts, and what would make it so.

Means, and so distances between them, only ever meet vectors whose entries add up to zero: on these
a kernel must not be negative, or a step may raise the objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.spaced_rows import evenly_spaced
from partita._common.threads import one_blas_thread
from partita.source.gram_matrix import Gram

_FEW = 400  # rows of which all eigenvalues are found at once
_SLACK = 1e-10  # of the largest: what rounding leaves of an eigenvalue zero
_STEPS = 200  # of Lanczos' method


def sample_rows(gram: Gram) -> Ints:
    """Up to `_FEW` rows of weight, evenly spread."""
    some = np.flatnonzero(gram.weight)
    return np.asarray(some[evenly_spaced(len(some), _FEW)])


def _square(gram: Gram, some: Ints) -> Floats:
    """The doubly centred matrix of some rows."""
    inner = gram.submatrix(some)
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
    most = float(np.abs(inner).max())
    if not most > 0:
        return 1.0
    inner /= most  # so that no square overflows
    return max(1.0, float(np.trace(inner)) ** 2 / float((inner * inner).sum()))


def needed_shift(gram: Gram) -> float:
    """The least sigma such that K + diag(sigma / weight) is definite where it counts."""
    with one_blas_thread():
        if gram.n <= _FEW:
            found = np.linalg.eigvalsh(_whole(gram))
            lowest, largest = float(found[0]), float(np.abs(found).max())
        else:
            lowest, largest = _lowest(gram)
    return _SLACK * largest - lowest if lowest < -_SLACK * largest else 0.0


def leading(gram: Gram, count: int) -> Floats:
    """The relaxed solution (n, count): coordinates along the widest directions in feature space.

    The best partition into count + 1 clusters, if memberships might be any numbers.
    """
    count = max(1, min(count, gram.n - 1))
    with one_blas_thread():
        if not (_across(gram) @ _begin(gram.n)).any():
            vectors = _begin(gram.n)[:, None]  # all rows are one: there are no directions
        elif gram.n <= max(_FEW, 4 * count):
            vectors = np.linalg.eigh(_whole(gram))[1][:, -count:]
        else:
            from scipy.sparse.linalg import ArpackNoConvergence, eigsh

            try:
                vectors = eigsh(_across(gram), count, which="LA", v0=_begin(gram.n), tol=1e-6)[1]
            except ArpackNoConvergence as error:
                vectors = error.eigenvectors  # those that were found
                if vectors.shape[1] == 0:
                    vectors = _begin(gram.n)[:, None]
    root = np.sqrt(gram.weight)
    rows = np.divide(vectors, root[:, None], out=np.zeros_like(vectors), where=root[:, None] > 0)
    return np.asarray(rows)


def _across(gram: Gram) -> Any:
    """diag(s)·K·diag(s) across s, with s = √weight: its eigenvalues are those that count."""
    from scipy.sparse.linalg import LinearOperator

    root = np.sqrt(gram.weight)
    along = root / np.linalg.norm(root)

    def across(vector: Floats) -> Floats:
        return np.asarray(vector - along * (along @ vector))

    def times(vector: Array) -> Floats:
        return across(root * gram.times(root * across(np.ravel(vector))))

    return LinearOperator((gram.n, gram.n), matvec=times, dtype=np.float64)


def _whole(gram: Gram) -> Floats:
    matrix = _across(gram)
    whole = np.stack([matrix @ column for column in np.eye(gram.n)])
    return np.asarray((whole + whole.T) / 2)


def _begin(n: int) -> Floats:
    return np.random.default_rng(0).normal(size=n)


def _lowest(gram: Gram) -> tuple[float, float]:
    """A lower bound of the lowest eigenvalue, but for chance, and the largest in size.

    By Lanczos' method, every vector made orthogonal to all before: the lowest value that it finds,
    less its residual. 0 for one that is not below zero by a millionth of the largest.
    """
    matrix, n = _across(gram), gram.n
    steps = min(_STEPS, n)
    basis, along, beside = np.zeros((steps, n)), np.zeros(steps), np.zeros(steps)
    vector = matrix @ _begin(n)  # what it maps to zero is of no interest
    for i in range(steps):
        length = float(np.linalg.norm(vector))
        if i and length <= _SLACK * float(np.abs(along[:i]).max()):
            steps = i
            break
        if length == 0:
            return 0.0, 0.0
        beside[i] = length
        basis[i] = vector / length
        vector = matrix @ basis[i]
        along[i] = float(basis[i] @ vector)
        for _ in range(2):  # once more: the first time leaves roundings
            vector -= (basis[: i + 1] @ vector) @ basis[: i + 1]
    tridiagonal = np.diag(along[:steps])
    tridiagonal += np.diag(beside[1:steps], 1) + np.diag(beside[1:steps], -1)
    values, vectors = np.linalg.eigh(tridiagonal)
    largest = float(np.abs(values).max())
    rest = float(np.linalg.norm(vector)) * abs(float(vectors[-1, 0]))
    found = float(values[0])
    return (found - rest if found < -1e-6 * largest else 0.0), largest
