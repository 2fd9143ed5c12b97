"""Checks of sparse matrices: SciPy's compiled code, scikit-learn's and ours trust their indices.

SciPy checks little when a matrix is made, and nothing when its arrays are changed afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from partita._common.array_types import Array, Ints
from partita._common.parameters import Got, must_be

MAX_FEATURES = np.iinfo(np.int32).max  # column indices have 32 bits


def is_sparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or array of SciPy, which need not be imported for it."""
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)
    return issparse is not None and bool(issparse(X))


def check_sparse(X: Any, name: str = "X") -> None:
    """Raise ValueError if the arrays of a sparse matrix of any format do not fit together."""
    if X.ndim != 2:
        raise must_be(name, "a matrix", Got(f"a sparse array of {X.ndim} dimensions"))
    problem = next(_PROBLEMS[X.format](X), None) if X.format in _PROBLEMS else None
    if problem:
        raise must_be(name, f"a valid {X.format.upper()} matrix", Got(problem))


def canonical_csr(X: Any, name: str = "X") -> Any:
    """Return a valid CSR matrix with sorted indices and no duplicates; X itself is never changed.

    Shares the arrays of X where they are as they should be, and trusts no flag of SciPy.
    """
    if X.shape[1] > MAX_FEATURES:
        raise must_be(name, "at most 2^31 - 1 features wide", Got(f"{X.shape[1]} features"))
    stored = int(X.indptr[-1])
    data, indices, indptr = parts = X.data[:stored], X.indices[:stored], X.indptr
    if not _is_rising(indices, indptr):
        parts = _sorted(data, indices, indptr)
    elif (
        len(X.data) == len(X.indices) == stored
        and X.indices.dtype == X.indptr.dtype
        and X.indptr.dtype in _INDEX_TYPES
        and all(part.flags.c_contiguous for part in parts)
    ):
        return X
    index = np.int32 if stored <= MAX_FEATURES else np.int64
    arrays = np.ascontiguousarray(parts[0]), *(np.ascontiguousarray(p, index) for p in parts[1:])
    return type(X)(arrays, shape=X.shape)


def compressed_problems(
    indptr: Any, indices: Any, n_stored: int, shape: tuple[int, int]
) -> Iterator[str]:
    """Yield what is wrong with the arrays of a compressed matrix of shape (major, minor)."""
    yield from _index_problems(indptr=indptr, indices=indices)
    n_major, n_minor = shape
    if len(indptr) != n_major + 1:
        yield f"an `indptr` of length {len(indptr)} instead of {n_major + 1}"
    if indptr[0] != 0:
        yield f"an `indptr` that starts at {indptr[0]} instead of 0"
    falls = np.flatnonzero(indptr[1:] < indptr[:-1])
    if falls.size:
        i = falls[0]
        yield f"an `indptr` that falls from {indptr[i]} to {indptr[i + 1]} at position {i + 1}"
    if indptr[-1] > min(len(indices), n_stored):
        found = f"{len(indices)} indices and {n_stored} values"
        yield f"an `indptr` that ends at {indptr[-1]} for {found}"
    yield from _range_problems("`indices`", indices[: indptr[-1]], n_minor)


def _index_problems(**arrays: Any) -> Iterator[str]:
    for name, array in arrays.items():
        if not (isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind in "iu"):
            found = f"{array.ndim}-D, {array.dtype}" if hasattr(array, "dtype") else "no array"
            yield f"`{name}` that is not a 1-D array of integers ({found})"


def _range_problems(name: str, indices: Ints, n: int) -> Iterator[str]:
    if indices.size and not (indices.min() >= 0 and indices.max() < n):
        yield f"{name} from {indices.min()} to {indices.max()}, outside 0 to {n - 1}"


def _data_problems(data: Any, ndim: int) -> Iterator[str]:
    if not isinstance(data, np.ndarray) or data.ndim != ndim:
        found = f"{data.ndim}-D" if hasattr(data, "ndim") else "no array"
        yield f"`data` that is not a {ndim}-D array ({found})"


def _csr_problems(X: Any) -> Iterator[str]:
    yield from _data_problems(X.data, 1)
    yield from compressed_problems(X.indptr, X.indices, len(X.data), X.shape)


def _csc_problems(X: Any) -> Iterator[str]:
    yield from _data_problems(X.data, 1)
    yield from compressed_problems(X.indptr, X.indices, len(X.data), X.shape[::-1])


def _bsr_problems(X: Any) -> Iterator[str]:
    yield from _data_problems(X.data, 3)
    block = X.data.shape[1:]
    if 0 in block or any(n % size for n, size in zip(X.shape, block, strict=True)):
        yield f"blocks of shape {block} in a matrix of shape {X.shape}"
    blocks = X.shape[0] // block[0], X.shape[1] // block[1]
    yield from compressed_problems(X.indptr, X.indices, len(X.data), blocks)


def _coo_problems(X: Any) -> Iterator[str]:
    yield from _data_problems(X.data, 1)
    yield from _index_problems(row=X.row, col=X.col)
    if not len(X.row) == len(X.col) == len(X.data):
        yield f"{len(X.row)} rows, {len(X.col)} columns and {len(X.data)} values"
    yield from _range_problems("`row`", X.row, X.shape[0])
    yield from _range_problems("`col`", X.col, X.shape[1])


def _dia_problems(X: Any) -> Iterator[str]:
    yield from _data_problems(X.data, 2)
    yield from _index_problems(offsets=X.offsets)
    if len(np.unique(X.offsets)) != len(X.data) or len(X.offsets) != len(X.data):
        yield f"{len(X.offsets)} `offsets` for {len(X.data)} diagonals, or equal ones"


def _lil_problems(X: Any) -> Iterator[str]:
    for name in ("rows", "data"):
        lists = getattr(X, name)
        if not isinstance(lists, np.ndarray) or lists.shape != X.shape[:1]:
            yield f"`{name}` without one list for each of {X.shape[0]} rows"
        if not all(type(row) is list for row in lists):
            yield f"`{name}` that are not all lists"
    for i, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            yield f"{len(columns)} columns and {len(values)} values in row {i}"
        if not all(isinstance(t, (int, np.integer)) and 0 <= t < X.shape[1] for t in columns):
            yield f"columns that are not integers from 0 to {X.shape[1] - 1} in row {i}"


def _dok_problems(X: Any) -> Iterator[str]:
    for key in X.keys():  # noqa: SIM118 (iterating over X itself yields rows)
        in_range = all(0 <= i < n for i, n in zip(key, X.shape, strict=True))
        if not in_range:
            yield f"a value at {tuple(map(int, key))}, outside the shape {X.shape}"


_PROBLEMS: dict[str, Callable[[Any], Iterator[str]]] = {
    "csr": _csr_problems, "csc": _csc_problems, "bsr": _bsr_problems, "coo": _coo_problems,
    "dia": _dia_problems, "lil": _lil_problems, "dok": _dok_problems,
}  # fmt: skip
_INDEX_TYPES = (np.int32, np.int64)


def _is_rising(indices: Ints, indptr: Ints) -> bool:
    """Return whether the indices of every row rise."""
    rises = indices[1:] > indices[:-1]
    first = indptr[1:-1]  # of the values of each row but the first
    first = first[(first > 0) & (first < len(indices))]
    rises[first - 1] = True
    return bool(rises.all())


def _sorted(data: Array, indices: Ints, indptr: Ints) -> tuple[Array, Ints, Ints]:
    """Sort the indices of every row, and add up duplicates in the order in which they come."""
    counts: Ints = indptr[1:] - indptr[:-1]
    rows = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((indices, rows))
    rows, indices = rows[order], indices[order]
    is_new = np.ones(len(rows), bool)
    is_new[1:] = (rows[1:] != rows[:-1]) | (indices[1:] != indices[:-1])
    sums = np.zeros(np.count_nonzero(is_new), data.dtype)
    np.add.at(sums, np.cumsum(is_new) - 1, data[order])
    counts = np.bincount(rows[is_new], minlength=len(counts))
    return sums, indices[is_new], np.concatenate([[0], np.cumsum(counts)])
