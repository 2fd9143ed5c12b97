"""Starts of cuts of a graph: its connected pieces, and the relaxed solution within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_totals
from partita._common.threads import Workers, check_room_for_blas, one_blas_thread
from partita.exact_weights import Weights
from partita.init.kernel_starts import best_partition
from partita.source.dense import DenseSource

DENSE_ROWS = 400  # of a piece, up to which all eigenvectors are computed
TOLERANCE, MAX_ITERATIONS = 1e-3, 2000  # of eigenvectors: they are a start only
MIN_BASIS = 40  # vectors of Lanczos' method
SUBSPACE_STEPS = 200  # where that fails


def cut_labels(
    features: Any,
    mass: Floats,
    piece: Ints,
    k: int,
    positions: Any,
    workers: Workers,
    rng: np.random.Generator,
) -> Ints:
    """Return a partition (m,) of few cut links of the graph with these features (m, m).

    `piece`: its connected pieces. If there are k, they are the answer; if more, those with means of
    `positions` (m, d) near to each other are joined; if fewer, K-means finds it among the leading
    eigenvectors, rows at unit length (Ng, Jordan and Weiss 2001).
    """
    pieces = int(piece.max()) + 1
    if pieces == k:
        return np.asarray(piece, dtype=np.int32)
    if pieces > k:
        total = exact_totals(mass, piece, pieces)
        member = sp.csr_array((mass, (piece, np.arange(len(mass)))), (pieces, len(mass)))
        means = member @ positions.astype(np.float64)
        means = (means.toarray() if sp.issparse(means) else means) / total[:, None]
        joined = best_partition(_source(means, total, workers), k, rng)
        return np.asarray(joined[piece], dtype=np.int32)
    rows = leading_directions(features, mass, piece, k)
    length = np.sqrt(np.einsum("mk,mk->m", rows, rows))
    rows /= np.where(length > 0, length, 1.0)[:, None]
    return best_partition(_source(rows, mass, workers), k, rng)


def _source(rows: Floats, mass: Floats, workers: Workers) -> DenseSource:
    return DenseSource(np.ascontiguousarray(rows), Weights.of(mass, len(mass)), workers)


def leading_directions(features: Any, mass: Floats, piece: Ints, count: int) -> Floats:
    """Return the leading eigenvectors (m, count) of the graph, over √mass.

    Every piece has the eigenvalue 1, and near to it are those of its own cuts: pieces are solved
    one by one, for a search of them all could miss some of equal eigenvalues.
    """
    root = np.sqrt(mass)
    walk = sp.csr_array(sp.diags(root) @ features)
    found: list[tuple[float, Ints, Floats]] = []
    check_room_for_blas(1)
    with one_blas_thread():
        for number in range(int(piece.max()) + 1):
            own: Ints = np.flatnonzero(piece == number)
            values, vectors = _leading(sp.csr_array(walk[own][:, own]), count)
            found += [(values[i], own, vectors[:, i]) for i in range(len(values))]
    found.sort(key=lambda one: -one[0])
    out = np.zeros((len(mass), count))
    for column, (_, some, vector) in enumerate(found[:count]):
        out[some, column] = vector / root[some]
    return out


def _leading(walk: Any, count: int) -> tuple[Floats, Floats]:
    """The largest eigenvalues of walk·walkᵀ, and vectors in columns."""
    from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

    m = walk.shape[0]
    count = min(count, m)
    if m <= max(DENSE_ROWS, 3 * count):
        values, vectors = np.linalg.eigh((walk @ walk.T).toarray())
        return values[-count:], vectors[:, -count:]
    back, first = sp.csr_array(walk.T), np.random.default_rng(0).normal(size=m)
    product = LinearOperator((m, m), matvec=lambda v: walk @ (back @ v), dtype=np.float64)
    basis = min(m, max(2 * count + 1, MIN_BASIS))
    try:
        values, vectors = eigsh(
            product, count, which="LA", v0=first, ncv=basis, tol=TOLERANCE, maxiter=MAX_ITERATIONS
        )
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    except ArpackError:
        values, vectors = np.empty(0), np.empty((m, 0))
    return (values, vectors) if len(values) == count else by_subspace(walk, back, count)


def by_subspace(walk: Any, back: Any, count: int) -> tuple[Floats, Floats]:
    """Return eigenvalues and vectors by powers of a subspace, which cannot fail."""
    start = np.random.default_rng(0).normal(size=(walk.shape[0], count))
    vectors = np.linalg.qr(start)[0]
    for _ in range(SUBSPACE_STEPS):
        vectors = np.linalg.qr(walk @ (back @ vectors))[0]
    values, turn = np.linalg.eigh(vectors.T @ (walk @ (back @ vectors)))
    return values, vectors @ turn
