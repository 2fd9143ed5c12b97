"""The rows of `SphericalKMeans`: at unit length, and with a rule for rows of zeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.parameters import FLAG, choice
from partita._common.sparse_format import is_sparse
from partita._common.text import listed
from partita._common.threads import Workers
from partita.estimators import labelling, validation
from partita.source.row_views import SelectedRows
from partita.source.unit_rows import MAX_LENGTH_ERROR, row_lengths, unit_rows

RULES = {"zero_rows": choice("error", "drop", "separate"), "normalized": FLAG}


@dataclass(frozen=True, slots=True)
class DirectionRules:
    """The parameters of `SphericalKMeans` that say how its rows are read."""

    zero_rows: str = "error"
    normalized: bool = False


@dataclass(frozen=True, slots=True)
class UnitRows:
    """The rows of X that are not zero, at unit length."""

    rows: Any
    n: int  # rows of X
    index: Ints | slice  # of `rows` in X
    zero_rows: str  # as in `SphericalKMeans`

    @classmethod
    def of(
        cls, X: Any, rules: DirectionRules, workers: Workers, names: Any, memory: float = math.inf
    ) -> UnitRows:
        """Select the rows that are not zero, at unit length; as copies within `memory` bytes."""
        if rules.normalized:
            rows, length = X, row_lengths(X, workers)
        else:
            rows, length = unit_rows(X, workers, memory)
        if not np.isfinite(length).all():
            validation.check_finite(validation.make_source(X, None, workers), X, names)
        zero = length == 0
        if rules.normalized:
            _check_unit(length, zero)
        if not zero.any():
            return cls(rows, X.shape[0], slice(None), rules.zero_rows)
        if rules.zero_rows == "error":
            raise zero_rows_error(np.flatnonzero(zero).tolist(), int(zero.sum()))
        index = np.flatnonzero(~zero)
        dense_bytes = 0 if is_sparse(X) else 2 * 8 * X.shape[0] * X.shape[1]
        chosen = rows[index] if dense_bytes <= memory else SelectedRows(rows, index)
        return cls(chosen, X.shape[0], index, rules.zero_rows)

    def check(self, k: int, weight: Floats | None) -> Floats | None:
        """Return the weights of these rows; there must be at least k rows, one with weight."""
        check_kept_count(self.rows.shape[0], self.n, k)
        weight = None if weight is None else weight[self.index]
        if weight is not None and not weight.any():
            raise no_weight_error()
        return weight

    def nearest(self, centers: Floats, n_threads: int | None, names: Any) -> Array:
        """Return the center at the smallest angle to each row of X."""
        return self.labels_of_X(
            labelling.nearest(self.rows, centers, n_threads, names), len(centers)
        )

    def labels_of_X(self, labels: Array, k: int) -> Array:
        """Labels (n,) of all rows of X, with rows of zeros after k clusters or in none."""
        if isinstance(self.index, slice):
            return labels
        out = np.full(self.n, k if self.zero_rows == "separate" else -1, np.int32)
        out[self.index] = labels
        return out


def _check_unit(length: Floats, zero: Array) -> None:
    wrong = np.flatnonzero((np.abs(length - 1) > MAX_LENGTH_ERROR) & ~zero)
    if wrong.size:
        raise wrong_length_error(len(wrong), int(wrong[0]), float(length[wrong[0]]))


def zero_rows_error(first: list[int], count: int) -> ValueError:
    """Return the error about rows of zeros, of which the first few are known."""
    return ValueError(
        "`X` must not have rows of zeros, which have no direction, got zeros in "
        f"{'row' if count == 1 else 'rows'} {listed(first, count=count)}. Drop them, or use "
        "zero_rows='drop' or zero_rows='separate'."
    )


def wrong_length_error(count: int, row: int, length: float) -> ValueError:
    """Return the error about rows that are not of unit length, by the first of them."""
    return ValueError(
        f"`normalized=True` needs rows of unit length, got {count} others: row {row} "
        f"has length {length:.6g}. Divide the rows by their lengths, or use "
        "normalized=False."
    )


def check_kept_count(kept: int, n: int, k: int) -> None:
    """Require at least k rows that are not zero."""
    if kept < k:
        raise ValueError(
            f"`n_clusters` must be at most the number of rows that are not zero, got {k} with "
            f"{kept} such rows of {n}. Lower n_clusters or give more rows."
        )


def no_weight_error() -> ValueError:
    """Return the error about weights that are all on rows of zeros."""
    return ValueError(
        "`sample_weight` must be positive for at least one row of X that is not zero."
    )
