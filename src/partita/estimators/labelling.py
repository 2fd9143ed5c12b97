"""Labels, distances, costs and memberships of rows for given centers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.number_arrays import as_any_array
from partita._common.parameters import Got, must_be
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.sparse_format import check_sparse, is_sparse
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.estimators.validation import check_finite, check_threads, make_source, source_of
from partita.source.blocks import as_kernel_type, crew_slices, walk_blocks
from partita.source.own_lengths import own_lengths
from partita.source.partial_rows import PartialSource
from partita.source.sparse import SparseSource

MAX_SUM_ERROR = 1e-4  # of memberships, which may be rounded to float32
_UNPACKED_MAX_ROWS = 8  # below it, packing the centers costs more than it saves


def nearest(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Array:
    """The label of each row by D64 to `centers`."""
    if X.shape[0] == 0:
        return np.empty(0, np.int32)
    is_few = X.shape[0] < _UNPACKED_MAX_ROWS and isinstance(X, np.ndarray)
    if is_few and np.isfinite(X).all():
        labels = np.empty(len(X), np.int32)
        if kernels.assign_few(as_kernel_type(X), _doubles(centers), labels):
            return labels
    labels = np.full(X.shape[0], -1, np.int32)
    with finite_source(X, n_threads, names) as source:
        source.label_once(_as_centers(centers), labels)
    return labels


def distances(
    X: Any, centers: Floats, n_threads: int | None, names: Any, dtype: Any = None
) -> Floats:
    """Euclidean distances (n, k) by D64, without cancellation; by default in the dtype of X."""
    n, values = X.shape[0], _doubles(centers)
    single = (X.dtype if dtype is None else dtype) == np.float32
    out = np.empty((n, len(values)), np.float32 if single else np.float64)
    if n == 0:
        return out
    with finite_source(X, n_threads, names) as source:
        if isinstance(source, SparseSource):
            for j, distance in enumerate(_sparse_distances(source, values)):
                out[:, j] = distance
            return out
        if isinstance(source, PartialSource):
            source.distances(values, out)
            return out

        def begin() -> Callable[[slice], None]:
            def run(rows: slice) -> None:
                block = np.empty((rows.stop - rows.start, len(values)))
                kernels.distances(as_kernel_type(X[rows]), values, block)
                out[rows] = block

            return run

        walk_blocks(source.workers, n, 4 * values.size, begin)
    return out


def squares(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Floats:
    """Squared Euclidean distances (n, k), doubles."""
    out = distances(X, centers, n_threads, names, np.float64)
    return np.square(out, out=out)


@contextmanager
def finite_source(X: Any, n_threads: int | None, names: Any) -> Iterator[Any]:
    """Open checked rows as a source; raise an error if a value is not finite."""
    with Workers(check_threads(n_threads)) as workers:
        source = source_of(X, None, workers)
        check_finite(source, X, names)
        yield source


def _sparse_distances(source: SparseSource, centers: Floats) -> Iterator[Floats]:
    """Yield the distances (n,) to each center: no row is made dense."""
    first = np.zeros(source.n, np.int32)
    for center in centers:
        yield np.sqrt(source.own_distances(_as_centers(center[None]), first))


class Nearest(NamedTuple):
    """The label of every row, and its distances to the nearest two centers."""

    labels: Ints  # (n,) by D64, lower index on ties
    first: Floats  # (n,)
    second: Floats  # (n,); infinite if there is only one center


def two_nearest(workers: Workers, X: Any, centers: Floats) -> Nearest:
    """The two nearest centers of finite rows, measured in double.

    >>> with Workers(1) as workers:
    ...     two_nearest(workers, np.array([[0.0], [4.0]]), np.array([[1.0], [9.0]]))
    Nearest(labels=array([0, 0], dtype=int32), first=array([1., 3.]), second=array([9., 5.]))
    """
    n, values = X.shape[0], _doubles(centers)
    labels, (first, second) = np.zeros(n, np.int32), np.full((2, n), np.inf)
    if n == 0:
        return Nearest(labels, first, second)
    source = make_source(X, None, workers)
    if isinstance(source, SparseSource):
        source.assign(_as_centers(values), labels, None)
        for distance in _sparse_distances(source, values):
            np.minimum(second, np.maximum(first, distance), out=second)
            np.minimum(first, distance, out=first)
        return Nearest(labels, first, second)
    scale = square_scale(largest_magnitude(X, values))
    for rows, crew in crew_slices(workers, n, 4 * values.size):
        block = as_kernel_type(X[rows] if scale == 1.0 else X[rows] * np.float64(scale))
        out = labels[rows], first[rows], second[rows]
        kernels.two_nearest(block, values * scale, *out, crew)
    return Nearest(labels, first / scale, second / scale)


def inertia(
    X: Any, centers: Floats, n_threads: int | None, names: Any, weight: Floats | None
) -> float:
    """The objective of X at `centers`."""
    return exact_total(own_squares(X, centers, n_threads, names), weight)


def own_squares(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Floats:
    """Squared distance D64 (n,) of each row to its nearest center."""
    return nearest_with_squares(X, centers, n_threads, names)[1]


def nearest_with_squares(
    X: Any, centers: Floats, n_threads: int | None, names: Any
) -> tuple[Ints, Floats]:
    """The label (n,) of each row by D64, and the squared distance (n,) to its center."""
    labels = np.full(X.shape[0], -1, np.int32)
    if X.shape[0] == 0:
        return labels, np.empty(0)
    with finite_source(X, n_threads, names) as source:
        source.assign(_as_centers(centers), labels, None)
        squares: Floats = source.own_distances(_as_centers(centers), labels)
    return labels, squares


def nearest_with_lengths(
    X: Any, centers: Floats, n_threads: int | None, names: Any
) -> tuple[Ints, Floats]:
    """The label (n,) of each row by D64, and the distance (n,) to its center at any magnitude."""
    labels, values = np.full(X.shape[0], -1, np.int32), _as_centers(centers)
    with finite_source(X, n_threads, names) as source:
        source.assign(values, labels, None)
        return labels, own_lengths(source, values, labels)


def _doubles(centers: Floats) -> Floats:
    return np.ascontiguousarray(centers, dtype=np.float64)


def _as_centers(centers: Floats) -> Centers:
    return Centers(_doubles(centers), np.zeros(centers.shape[1]))


def soft(labels: Ints, cost: Floats, temperature: float) -> Floats:
    """Memberships (n, k) in proportion to exp(−cost / temperature), the largest at the label.

    Rows with label −1 have no membership.
    """
    rows = np.arange(len(labels))
    with np.errstate(over="ignore", invalid="ignore"):
        above = cost - cost[rows, labels, None]
        share = np.asarray(above == 0, dtype=np.float64)
        if temperature > 0:
            # fmax: infinite costs share equally
            share = np.ascontiguousarray(-np.fmax(above / temperature, 0.0), dtype=np.float64)
            kernels.exponentials(share)  # those of NumPy depend on the processor
    share[rows, labels] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    # an equal share at a lower index, by a tie or by rounding, is lowered by the last bit
    own = np.broadcast_to(share[rows, labels, None], share.shape)
    ties = (share >= own) & (np.arange(share.shape[1]) < labels[:, None])
    share[ties] = np.nextafter(own[ties], 0.0)
    share[labels < 0] = 0.0
    return np.asarray(share)


def one_hot(labels: Ints, k: int) -> Any:
    """The sparse 0/1 membership matrix (n, k); rows with label −1 are empty."""
    from scipy.sparse import csr_array

    labelled = labels >= 0
    start = np.concatenate([[0], np.cumsum(labelled)])
    return csr_array((np.ones(start[-1]), labels[labelled], start), shape=(len(labels), k))


def decode(codes: Any, centers: Any) -> Any:
    """ZΘ (n, d): the center of each label (n,), or mixtures by memberships (n, k)."""
    k = centers.shape[0]
    sparse = is_sparse(codes)
    wanted = f"integer labels (n,) or memberships (n, {k})"
    if sparse:
        check_sparse(codes, "codes")
    Z: Any = codes.tocsr() if sparse else as_any_array("codes", codes, wanted)
    if Z.ndim == 1 and Z.dtype.kind in "iu":
        if Z.size and not (Z.min() >= 0 and Z.max() < k):
            raise must_be("codes", f"from 0 to {k - 1}", Got(f"{Z.min()} to {Z.max()}"))
        return centers[Z]
    if Z.ndim != 2 or Z.shape[1] != k or Z.dtype.kind not in "fiub":
        got = Got(f"an array of shape {Z.shape} and dtype {Z.dtype}")
        raise must_be("codes", wanted, got)
    sums = np.asarray(Z.sum(axis=1, dtype=np.float64)).ravel()
    if not ((Z.data if sparse else Z) >= 0).all() or not (np.abs(sums - 1) <= MAX_SUM_ERROR).all():
        got = Got("rows that are negative or do not add up to 1 (transform returns distances)")
        raise must_be("codes", wanted, got, "Use the results of predict or soft_membership.")
    rows = Z @ centers
    return rows if is_sparse(rows) else rows.astype(centers.dtype, copy=False)


def matching_order(centers: Floats, theirs: Floats) -> Ints:
    """The order of `centers` that pairs them with `theirs` at the lowest total squared distance."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    ours, partner = linear_sum_assignment(cdist(centers, theirs, "sqeuclidean"))
    paired = ours[np.argsort(partner)]
    rest = np.setdiff1d(np.arange(len(centers)), paired)
    return np.concatenate([paired, rest]).astype(np.intp)
