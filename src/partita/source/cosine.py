"""Cosine distances 1 − cos of rows. Their bits are the same on every machine, in any block.

Dense rows at unit length u, v: 1 − cos = ½‖u − v‖², which keeps its digits where rows are nearly
parallel. Sparse rows: 1 − u·v, added by SciPy in the order of the stored columns. A row of zeros is
at distance 1 from every other row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.source.dissimilarities import DissimilarityTable, MetricTable, pack_panels
from partita.source.unit_rows import unit_rows


def unit_doubles(rows: Any, workers: Workers) -> tuple[Any, Array]:
    """Return rows at unit length as doubles, and which of them (n,) are zeros."""
    unit, length = unit_rows(rows.astype(np.float64, copy=False), workers)
    return unit, length == 0


def cosine_distances(rows: Any, others: Any, workers: Workers) -> Floats:
    """Return the distances (a, b) of rows, both dense or both sparse."""
    unit, is_zero = unit_doubles(rows, workers)
    middle, is_zero_other = unit_doubles(others, workers)
    if sp.issparse(unit):
        return _sparse_distances(unit, middle)
    out = _half_squares(pack_panels(unit), middle, len(unit), workers).T
    out[is_zero] = out[:, is_zero_other] = 1.0
    return out


def cosine_table(rows: Any, workers: Workers, task: int) -> DissimilarityTable:
    """Return the table of rows, in float32 for rows of float32, else in float64."""
    dtype = np.float32 if rows.dtype == np.float32 else np.float64
    unit, is_zero = unit_doubles(rows, workers)
    if sp.issparse(rows):
        return MetricTable(unit, _sparse_distances, dtype, workers, task=task)
    return CosineTable(unit, is_zero, dtype, workers)


def _sparse_distances(rows: Any, others: Any) -> Floats:
    """Return the distances (a, b) of sparse rows at unit length."""
    inner: Floats = (rows @ others.T).toarray()
    return np.clip(np.subtract(1.0, inner, out=inner), 0.0, 2.0, out=inner)


def _half_squares(panels: Array, centers: Floats, n: int, workers: Workers) -> Floats:
    """Return ½‖u − v‖² (k, n), at most 2."""
    out = np.empty((len(centers), n))
    kernels.pair_columns(panels, centers, "sqeuclidean", out, workers.crew)
    out *= 0.5
    return np.minimum(out, 2.0, out=out)


class CosineTable(DissimilarityTable):
    """Dense rows at unit length; `is_zero` (n,) tells which of them are zeros."""

    def __init__(self, unit: Floats, is_zero: Array, dtype: Any, workers: Workers) -> None:
        super().__init__((len(unit), len(unit)), dtype, 1.0)
        self._unit, self._is_zero, self._workers = unit, is_zero, workers

    def columns(self, which: Ints) -> Floats:
        rows = self._candidates[which]
        if self._prepared_points is None:
            points = self._unit if self._is_whole else self._unit[self._points]
            self._prepared_points = pack_panels(points)
        out = _half_squares(self._prepared_points, self._unit[rows], self.n, self._workers)
        out[:, self._is_zero[self._points]] = 1.0
        for place in np.flatnonzero(self._is_zero[rows]):
            out[place] = self._points != rows[place]  # 0 from itself
        return out.astype(self.dtype, copy=False)
