"""Rows in the form that kernels compare, and the measures between them.

Measures are sums over the features in order, in double precision, of dense rows by the compiled
kernel, of sparse rows by SciPy: the bits depend on the two rows alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.row_squares import row_squares
from partita._kernels import kernels
from partita._kernels.pairwise import PANEL_ROWS
from partita.source.dissimilarities import pack_panels

MIN_SQUARE_SHARE = 2.0**-16  # of the squared norms, below which sparse rows are subtracted
CLOSE_PAIRS = 1 << 14  # subtracted at once


@dataclass(frozen=True, slots=True)
class KernelRows:
    """Rows, in panels if they are dense, and what a kernel needs of each alone."""

    values: Any  # (n, d), C-contiguous floats or canonical CSR
    own: Floats  # (n,) squared norm, or half of k(x, x); empty if the kernel needs neither
    panels: Array  # (n / 64, d, 64) as the compiled kernel reads them; empty if sparse
    numbers: Ints  # (n,) places in the data, for callables; empty for new rows

    @classmethod
    def of(cls, values: Any) -> KernelRows:
        """Prepare rows without what the kernel needs of each."""
        none = np.empty(0)
        if sp.issparse(values):
            return cls(values.astype(np.float64), none, none, np.empty(0, np.intp))
        values = np.ascontiguousarray(values)
        return cls(values, none, pack_panels(values), np.empty(0, np.intp))

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def take(self, which: Ints) -> KernelRows:
        """Return some rows, not in panels."""
        values = self.values[which]
        values = values if sp.issparse(values) else np.ascontiguousarray(values)
        return replace(self, values=values, panels=np.empty(0), **self._kept(which))

    def part(self, rows: slice) -> KernelRows:
        """Return consecutive rows, from a multiple of 64."""
        panels = self.panels
        if panels.size:
            stop = -(-min(rows.stop, len(self)) // PANEL_ROWS)
            panels = panels[rows.start // PANEL_ROWS : stop]
        return replace(self, values=self.values[rows], panels=panels, **self._kept(rows))

    def _kept(self, which: Ints | slice) -> dict[str, Array]:
        return {
            "own": self.own[which] if self.own.size else self.own,
            "numbers": self.numbers[which] if self.numbers.size else self.numbers,
        }


def measure(name: str, a: KernelRows, b: KernelRows) -> Floats:
    """Return the measure (len(a), len(b)) between all pairs, as doubles.

    "sqeuclidean" of sparse rows needs their squared norms as `own`.
    """
    if sp.issparse(b.values):
        return _sparse_measure(name, a, b)
    out = np.empty((len(a), len(b)))
    panels, rows = b.panels, a.values
    if panels.dtype != rows.dtype:
        panels, rows = panels.astype(np.float64), rows.astype(np.float64)
    kernels.pair_columns(panels, rows, name, out)
    return out


def _sparse_measure(name: str, a: KernelRows, b: KernelRows) -> Floats:
    if name == "manhattan":
        from sklearn.metrics.pairwise import manhattan_distances

        return np.asarray(manhattan_distances(a.values, b.values))
    dot = np.asarray((a.values @ b.values.T).toarray())
    if name == "dot":
        return dot
    squares = b.own - dot  # (‖b‖² − a·b) + (‖a‖² − a·b)
    squares += np.subtract(a.own[:, None], dot, out=dot)
    _measure_close_pairs(squares, a, b)
    return np.asarray(squares)


def _measure_close_pairs(squares: Floats, a: KernelRows, b: KernelRows) -> None:
    """Replace squared distances that are small beside the norms, where digits cancelled."""
    if not squares.size:
        return
    limit = MIN_SQUARE_SHARE * (a.own + b.own.max())
    near = np.flatnonzero(squares.min(axis=1) < limit)  # rows with a candidate
    rows, columns = np.nonzero(squares[near] < MIN_SQUARE_SHARE * (a.own[near, None] + b.own))
    rows = near[rows]
    for i in range(0, len(rows), CLOSE_PAIRS):
        some, others = rows[i : i + CLOSE_PAIRS], columns[i : i + CLOSE_PAIRS]
        gaps = KernelRows.of(sp.csr_array(a.values[some] - b.values[others]))
        squares[some, others] = squared_norms(gaps)


def squared_norms(rows: KernelRows) -> Floats:
    """Return the squared norms (n,), with the bits of the product of a row with itself."""
    if sp.issparse(rows.values):
        row = np.repeat(np.arange(len(rows)), np.diff(rows.values.indptr))
        data = rows.values.data
        return np.bincount(row, weights=data * data, minlength=len(rows)).astype(np.float64)
    return row_squares(rows.values)
