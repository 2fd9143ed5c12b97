"""The theory of K-means as functions: inertia, its identities, and the number of partitions.

Rows are points, labels are 0…K−1, and every function takes weights. W = Σ w is the total weight, c
the weighted mean. Two identities from which the others follow, on a few weighted points:

>>> import numpy as np
>>> X, w = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0]]), np.array([1.0, 2.0, 1.0])
>>> c, z = np.average(X, axis=0, weights=w), np.array([1.0, 1.0])

Huygens: I_z(X) − sse(X) = W‖c − z‖², so no point is a better center than the mean.

>>> bool(np.isclose(inertia(X, z, w) - sse(X, w), w.sum() * ((c - z) ** 2).sum()))
True

Bipartition: sse(U ∪ V) = sse(U) + sse(V) + the cost of merging them.

>>> price = merge_price(X[:1], X[1:], w[:1], w[1:])
>>> bool(np.isclose(sse(X, w), sse(X[:1], w[:1]) + sse(X[1:], w[1:]) + price))
True

The best partition of a few points, by trying all of them (`docs/theory.md` continues from here):

>>> points = [[0.0], [1.0], [5.0], [7.0]]
>>> min(sse_of_partition(points, labels) for labels in partitions(4, 2))
2.5
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.number_arrays import as_any_array, as_float_array
from partita._common.parameters import Got, check_integer, must_be
from partita.stats import ClusterStats

MAX_POINTS = 1000  # whose partitions are counted: numbers of 2000 digits, within seconds


def inertia(X: Any, z: Any, sample_weight: Any = None) -> float:
    """I_z(X) = Σ w‖x − z‖²: the cost of all points about a single one.

    >>> inertia([[0.0], [2.0]], [0.0])
    4.0
    """
    rows, w = _rows(X, sample_weight)
    wanted = f"{rows.shape[1]} finite numbers, one per feature of X"
    point = as_float_array("z", z, wanted)
    if point.shape != rows.shape[1:] or not np.isfinite(point).all():
        raise must_be("z", wanted, z)
    gap = rows - point
    return exact_total(np.einsum("nd,nd->n", gap, gap), w)


def sse(X: Any, sample_weight: Any = None) -> float:
    """sse(X) = I_c(X): the least inertia, which is that about the mean.

    >>> sse([[0.0], [2.0]])
    2.0
    """
    rows, w = _rows(X, sample_weight)
    return float(ClusterStats.of_block(rows, weight=w).sse[0])


def mse(X: Any, sample_weight: Any = None) -> float:
    """mse(X) = sse(X) / W: the population variance, summed over features.

    >>> mse([[0.0], [2.0]])
    1.0
    """
    rows, w = _rows(X, sample_weight)
    return sse(rows, w) / exact_total(w)


def sse_by_pairs(X: Any, sample_weight: Any = None) -> float:
    """(1/W) Σ w_i·w_k‖x_i − x_k‖² over pairs i < k: sse(X) without a mean, in n² time.

    >>> sse_by_pairs([[0.0], [2.0], [4.0]]) == sse([[0.0], [2.0], [4.0]]) == 8.0
    True
    """
    rows, w = _rows(X, sample_weight)
    parts = [0.0]
    for i in range(1, len(rows)):
        gap = rows[:i] - rows[i]
        parts.append(float(w[i]) * exact_total(np.einsum("nd,nd->n", gap, gap), w[:i]))
    return math.fsum(parts) / exact_total(w)


def sse_of_partition(X: Any, labels: Any, sample_weight: Any = None) -> float:
    """sse(π) = Σ_j sse(U_j) = Σ_j W_j·mse(U_j): what K-means minimises over partitions.

    >>> sse_of_partition([[0.0], [2.0], [9.0]], [0, 0, 1])
    2.0
    """
    rows, w = _rows(X, sample_weight)
    label = _labels(labels, len(rows))
    return exact_total(ClusterStats.of_block(rows, label, k=int(label.max()) + 1, weight=w).sse)


def merge_price(U: Any, V: Any, weight_u: Any = None, weight_v: Any = None) -> float:
    """W_U·W_V/(W_U + W_V)·‖c_U − c_V‖²: the increase of the sse when two blocks merge.

    >>> merge_price([[0.0]], [[4.0]])
    8.0
    """
    (u, wu), (v, wv) = _rows(U, weight_u, "U", "weight_u"), _rows(V, weight_v, "V", "weight_v")
    if u.shape[1] != v.shape[1]:
        raise ValueError(
            f"`U` has {u.shape[1]} features but `V` has {v.shape[1]}; both must have the same "
            "number."
        )
    both, weight = np.concatenate([u, v]), np.concatenate([wu, wv])
    stats = ClusterStats.of_block(both, np.repeat([0, 1], [len(u), len(v)]), k=2, weight=weight)
    return float(stats.merge_price(0, 1))


def gradient(X: Any, labels: Any, centers: Any, sample_weight: Any = None) -> Floats:
    """∂J/∂Θ = 2(ZᵀDZ·Θ − ZᵀDX) (k, d) for a fixed partition: 0 at its means.

    >>> gradient([[0.0], [2.0]], [0, 0], [[3.0]]).tolist()
    [[8.0]]
    """
    rows, w = _rows(X, sample_weight)
    wanted = f"an array of shape (k, {rows.shape[1]}), one column per feature of X"
    theta = as_float_array("centers", centers, wanted)
    if theta.ndim != 2 or theta.shape[1] != rows.shape[1]:
        raise must_be("centers", wanted, Got(f"shape {theta.shape}"))
    label = _labels(labels, len(rows), len(theta))
    slope = np.zeros_like(theta)
    np.add.at(slope, label, 2.0 * w[:, None] * (theta[label] - rows))  # an offset costs no digits
    return slope


def stirling(n: int, k: int) -> int:
    """S(n, k) = 1/k!·Σ_j (−1)^(k−j)·C(k, j)·jⁿ: the partitions of n points into k blocks.

    >>> stirling(4, 2), stirling(10, 3), stirling(25, 4)
    (7, 9330, 46771289738810)
    """
    n, k = check_integer("n", n, 0, MAX_POINTS), check_integer("k", k, 0)
    if k == 0 or k > n:
        return int(n == k)
    terms = [(1 if (k - j) % 2 == 0 else -1) * math.comb(k, j) * j**n for j in range(k + 1)]
    return int(sum(terms) // math.factorial(k))


def partition_count(n: int, most: int | None = None) -> int:
    """Number of partitions of n points into at most `most` blocks; by default any number (Bell).

    >>> partition_count(4), partition_count(4, 2)
    (15, 8)
    """
    n = check_integer("n", n, 0, MAX_POINTS)
    limit = n if most is None else min(n, check_integer("most", most, 0))
    return sum(stirling(n, k) for k in range(limit + 1))


def partitions(n: int, k: int) -> Iterator[Ints]:
    """Yield all `stirling(n, k)` partitions of n points into k blocks, as labels (n,).

    Blocks are numbered in the order of their first points, so no partition occurs twice.

    >>> [labels.tolist() for labels in partitions(3, 2)]
    [[0, 0, 1], [0, 1, 0], [0, 1, 1]]
    """
    n, k = check_integer("n", n, 0, MAX_POINTS), check_integer("k", k, 0)
    if n == k == 0:
        return iter([np.zeros(0, np.int32)])
    return _in_order(n, k) if 1 <= k <= n else iter(())


def _in_order(n: int, k: int) -> Iterator[Ints]:
    """Yield labels in lexicographic order, starting with 0…0 1 2…k−1."""
    labels = np.zeros(n, np.int32)
    labels[n - k + 1 :] = np.arange(1, k)
    while True:
        yield labels.copy()
        highest = np.maximum.accumulate(labels)
        can_rise = (labels[1:] <= highest[:-1]) & (labels[1:] < k - 1)
        if not can_rise.any():
            return
        position = int(np.flatnonzero(can_rise)[-1]) + 1
        labels[position] += 1
        begun = int(max(highest[position - 1], labels[position])) + 1
        labels[position + 1 :] = 0
        labels[n - (k - begun) :] = np.arange(begun, k)  # the last points start the missing blocks


def _rows(
    X: Any, sample_weight: Any, name: str = "X", weight_name: str = "sample_weight"
) -> tuple[Floats, Floats]:
    wanted = "finite numbers of shape (n, d) with n >= 1"
    rows = as_float_array(name, X.toarray() if hasattr(X, "toarray") else X, wanted)
    if rows.ndim != 2 or len(rows) == 0:
        raise must_be(name, wanted, Got(f"shape {rows.shape}"))
    if not np.isfinite(rows).all():
        raise must_be(name, wanted, Got("NaN or infinity"))
    wanted = f"{len(rows)} finite numbers >= 0, not all zero, one per row"
    weight = np.ones(len(rows)) if sample_weight is None else sample_weight
    w = as_float_array(weight_name, weight, wanted)
    if w.shape != (len(rows),) or not (np.isfinite(w) & (w >= 0)).all() or not w.any():
        raise must_be(weight_name, wanted, Got(f"an array of shape {w.shape}"))
    return rows, w


def _labels(labels: Any, n: int, k: int | None = None) -> Array:
    wanted = f"{n} integers, one per row"
    given = as_any_array("labels", labels, wanted)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise must_be("labels", wanted, Got(f"shape {given.shape} and dtype {given.dtype}"))
    low, high = int(given.min()), int(given.max())
    last = high if k is None else k - 1
    if low < 0 or high > last:
        raise must_be("labels", f"from 0 to {max(0, last)}", Got(f"{low} to {high}"))
    return np.unique(given, return_inverse=True)[1].reshape(-1) if k is None else given
