"""What a set of centers says about rows: nearest, distances, objective, and numbering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.threads import Workers
from partita._common.weighting import weighted
from partita._kernels import kernels
from partita.centers import Centers
from partita.estimators.validation import check_finite, check_threads, make_source
from partita.source.blocks import as_kernel_type, crew_slices, walk_blocks
from partita.source.sparse import SparseSource

ROUGH = 1e-4  # how far from 1 memberships may add up, rounded to float32 as they may be
_FEW = 8  # rows below which packing the centers costs more than it brings


def nearest(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Array:
    """The label of each row by D64 to `centers`."""
    if X.shape[0] == 0:
        return np.empty(0, np.int32)
    if X.shape[0] < _FEW and not sp.issparse(X):
        labels = np.empty(len(X), np.int32)
        if not np.isfinite(X).all():
            with Workers(1) as workers:
                check_finite(make_source(X, None, workers), X, names)
        if kernels.assign_few(as_kernel_type(X), _doubles(centers), labels):
            return labels
    labels = np.full(X.shape[0], -1, np.int32)
    with Workers(check_threads(n_threads)) as workers:
        source = make_source(X, None, workers)
        check_finite(source, X, names)
        source.assign(_plain(centers), labels, None)
    return labels


def distances(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Floats:
    """Euclidean distances (n, k) in the dtype of X."""
    out = np.empty((X.shape[0], len(centers)), np.float32 if X.dtype == np.float32 else np.float64)
    _measure(
        X, centers, n_threads, names, lambda rows, found: np.copyto(out[rows], found, "same_kind")
    )
    return out


def squares(X: Any, centers: Floats, n_threads: int | None, names: Any) -> Floats:
    """Squared Euclidean distances (n, k), doubles."""
    out = np.empty((X.shape[0], len(centers)))
    _measure(X, centers, n_threads, names, lambda rows, found: np.square(found, out=out[rows]))
    return out


def _measure(
    X: Any,
    centers: Floats,
    n_threads: int | None,
    names: Any,
    hear: Callable[[slice, Floats], object],
) -> None:
    """Call hear(rows, distances) for all rows: D64, no cancellation, whatever the offset."""
    plain = _doubles(centers)
    if X.shape[0] == 0:
        return
    with Workers(check_threads(n_threads)) as workers:
        source = make_source(X, None, workers)
        check_finite(source, X, names)
        if isinstance(source, SparseSource):  # center by center: no row is made dense
            only = np.zeros(source.n, np.int32)
            squares = [source.own_distances(_plain(c[None]), only) for c in plain]
            hear(slice(0, source.n), np.sqrt(np.transpose(squares)))
            return

        def begin() -> Callable[[slice], None]:
            def run(rows: slice) -> None:
                found = np.empty((rows.stop - rows.start, len(plain)))
                kernels.distances(as_kernel_type(X[rows]), plain, found)
                hear(rows, found)

            return run

        walk_blocks(workers, X.shape[0], 4 * plain.size, begin)


class Nearest(NamedTuple):
    """The label of every row, and its distances to the nearest two centers."""

    labels: Ints  # (n,) by D64, lower index on ties
    first: Floats  # (n,)
    second: Floats  # (n,) infinity: there is but one center


def two_nearest(workers: Workers, X: Any, centers: Floats) -> Nearest:
    """The two nearest centers of rows that are known to be finite, measured in double.

    >>> with Workers(1) as workers:
    ...     two_nearest(workers, np.array([[0.0], [4.0]]), np.array([[1.0], [9.0]]))
    Nearest(labels=array([0, 0], dtype=int32), first=array([1., 3.]), second=array([9., 5.]))
    """
    n, plain = X.shape[0], _doubles(centers)
    labels, (first, second) = np.zeros(n, np.int32), np.full((2, n), np.inf)
    if n == 0:
        return Nearest(labels, first, second)
    source = make_source(X, None, workers)
    if isinstance(source, SparseSource):
        for j, center in enumerate(plain):  # no row is made dense
            found = np.sqrt(source.own_distances(_plain(center[None]), np.zeros(n, np.int32)))
            np.copyto(labels, j, where=found < first)
            np.minimum(second, np.maximum(first, found), out=second)
            np.minimum(first, found, out=first)
        return Nearest(labels, first, second)
    scale = square_scale(largest_magnitude(X, plain))
    for rows, crew in crew_slices(workers, n, 4 * plain.size):
        part = as_kernel_type(X[rows] if scale == 1.0 else X[rows] * np.float64(scale))
        out = labels[rows], first[rows], second[rows]
        kernels.two_nearest(part, plain * scale, *out, crew)
    return Nearest(labels, first / scale, second / scale)


def inertia(
    X: Any, centers: Floats, weight: Floats | None, n_threads: int | None, names: Any
) -> float:
    """The objective of X at `centers`."""
    if X.shape[0] == 0:
        return 0.0
    labels = np.full(X.shape[0], -1, np.int32)
    with Workers(check_threads(n_threads)) as workers:
        source = make_source(X, None, workers)
        check_finite(source, X, names)
        source.assign(_plain(centers), labels, None)
        cost = source.own_distances(_plain(centers), labels)
    return exact_total(weighted(cost, weight))


def _doubles(centers: Floats) -> Floats:
    return np.ascontiguousarray(centers, dtype=np.float64)


def _plain(centers: Floats) -> Centers:
    return Centers(_doubles(centers), np.zeros(centers.shape[1]))


def soft(labels: Ints, cost: Floats, temperature: float) -> Floats:
    """Memberships (n, k) in proportion to exp(−cost / temperature), the largest at the label.

    Rows whose label is −1 belong nowhere.
    """
    rows = np.arange(len(labels))
    with np.errstate(over="ignore", invalid="ignore"):
        above = cost - cost[rows, labels, None]
        # fmax: what is beyond all doubles cannot be told apart, and is shared
        share = (
            np.exp(-np.fmax(above / temperature, 0.0)) if temperature > 0 else (above == 0) * 1.0
        )
    share[rows, labels] = 1.0
    share /= share.sum(axis=1, keepdims=True)
    # what is as large at a lower index, by rounding or by a tie, gives way by the last bit
    own = np.broadcast_to(share[rows, labels, None], share.shape)
    ties = (share >= own) & (np.arange(share.shape[1]) < labels[:, None])
    share[ties] = np.nextafter(own[ties], 0.0)
    share[labels < 0] = 0.0
    return np.asarray(share)


def one_hot(labels: Ints, k: int) -> Any:
    """The sparse 0/1 membership matrix (n, k); nothing in rows whose label is −1."""
    some = labels >= 0
    start = np.concatenate([[0], np.cumsum(some)])
    return sp.csr_array((np.ones(start[-1]), labels[some], start), shape=(len(labels), k))


def decode(codes: Any, centers: Any) -> Any:
    """ZΘ (n, d): the center of each label (n,), or the mixture of them by memberships (n, k)."""
    k = centers.shape[0]
    sparse = sp.issparse(codes)
    Z: Any = codes.tocsr() if sparse else np.asarray(codes)
    if Z.ndim == 1 and Z.dtype.kind in "iu":
        if Z.size and not (Z.min() >= 0 and Z.max() < k):
            raise ValueError(
                f"the labels reach from {Z.min()} to {Z.max()}; 0 to {k - 1} are expected, as "
                f"there are {k} clusters"
            )
        return centers[Z]
    wanted = f"labels (n,) of whole numbers or memberships (n, {k}) are expected"
    if Z.ndim != 2 or Z.shape[1] != k or Z.dtype.kind not in "fiub":
        raise ValueError(
            f"codes of the shape {Z.shape} and the dtype {Z.dtype} were given; {wanted}"
        )
    sums = np.asarray(Z.sum(axis=1, dtype=np.float64)).ravel()
    if not ((Z.data if sparse else Z) >= 0).all() or not (np.abs(sums - 1) <= ROUGH).all():
        raise ValueError(
            "the rows of codes are not memberships, which are not negative and add up to 1 "
            f"(distances, as transform gives them, are none); {wanted}, as predict and "
            "soft_membership give them"
        )
    found = Z @ centers
    return found if sp.issparse(found) else found.astype(centers.dtype, copy=False)


def matching_order(centers: Floats, theirs: Floats) -> Ints:
    """The order of `centers` that pairs them with `theirs` at the least total squared distance."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    ours, partner = linear_sum_assignment(cdist(centers, theirs, "sqeuclidean"))
    paired = ours[np.argsort(partner)]
    rest = np.setdiff1d(np.arange(len(centers)), paired)
    return np.concatenate([paired, rest]).astype(np.intp)
