"""`StreamedRows`: all rows of files, prepared block by block as a sample of them was."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import TableError
from partita._common.exact_sum import LongSums
from partita.estimators.data_fingerprint import fingerprint
from partita.scanning.scan import OpenedRows, Scan
from partita.scanning.spooled_rows import collect_rows
from partita.scanning.stored_rows import StoredRows
from partita.tables.arrow_files import plain_values
from partita.tables.column_values import (
    first_inexact,
    is_integer_type,
    is_numeric_type,
    read_column,
)
from partita.tables.feature_selection import Selection, select
from partita.tables.scaling import Scaling
from partita.tables.table import Table
from partita.tables.table_blocks import BLOCK_VALUES, TableBlocks
from partita.tables.table_sample import TableSample


class NotNumericError(TableError):
    """Columns that are numbers in a sample of the rows, but not in all: name → why."""

    def __init__(self, columns: dict[str, str]) -> None:
        super().__init__("Some columns are not numeric in all rows.")
        self.columns = columns


@dataclass(frozen=True, slots=True, eq=False)
class StreamedRows:
    """All rows of files, as they are clustered: in memory, or in a temporary file.

    Attributes
    ----------
    blocks : TableBlocks
    sample : TableSample
    rows : ndarray or StoredRows of shape (n, d)
        The features after scaling, of the rows that are clustered.
    weight : ndarray of shape (n,) or None
    n_rows : int
        The number of rows of the files, also of those left out.
    kept : list of ndarray
        For each block, one bit per row: whether it is clustered.
    sampled : ndarray of shape (m,)
        The numbers of the rows of the sample among those clustered.
    gaps : dict
        The number of missing values of features that have some, in the rows that are clustered.
    limited : ndarray of shape (d,)
        The number of values that the scaling limits.
    fingerprint : str
        Of the features before scaling, and the weights.
    """

    blocks: TableBlocks
    sample: TableSample
    rows: Array | StoredRows
    weight: Floats | None
    n_rows: int
    kept: list[Array]
    sampled: Ints
    gaps: dict[str, int]
    limited: Ints
    fingerprint: str

    @property
    def scan(self) -> Scan:
        """The rows, for `fit` and `predict`."""
        return Scan(self.blocks.files, self.blocks.format, opened=OpenedRows(self.rows, None, None))

    @property
    def n_used(self) -> int:
        """The number of rows that are clustered."""
        return len(self.rows)

    def labelled_blocks(self, labels: Any, none: int) -> Iterator[tuple[Table, Ints]]:
        """Yield all blocks with the labels of their rows, `none` for those left out."""
        done = 0
        for block, bits in zip(self.blocks, self.kept, strict=True):
            is_kept = np.unpackbits(bits, count=block.data.num_rows).astype(bool)
            own = np.full(len(is_kept), none, np.int64)
            count = int(is_kept.sum())
            own[is_kept] = labels[done : done + count]
            done += count
            yield block, own


def stream_rows(
    blocks: TableBlocks,
    sample: TableSample,
    selection: Selection,
    weight: str | None,
    scaling: Scaling,
    memory: float,
) -> tuple[StreamedRows, Scaling]:
    """Prepare all rows like those of a sample; return them, and the scaling by all rows.

    Means and standard deviations are those of all rows, and so are the limits, within fences that
    the sample sets. Values that fill gaps, quantiles and logarithms are those of the sample. Rows
    are kept in memory if they take no more than a quarter of `memory` bytes.
    """
    reading = _RowPass(sample, selection, weight, scaling)
    d, dtype = selection.X.shape[1], selection.X.dtype
    rows = collect_rows(reading.rows(blocks), d, dtype, memory / 2)
    if len(rows) == 0:
        raise TableError(f"{blocks.name}: no row is left. Leave out columns that miss most values.")
    weights = np.concatenate(reading.weights) if reading.weights else None
    if not sample.is_whole:
        scaling = _refined(rows, weights, reading.limits(scaling), blocks.name)
    identity = fingerprint(rows, weights)
    if scaling.kind != "none":
        rows = collect_rows(_scaled(rows, scaling), d, dtype, memory / 2)
    streamed = StreamedRows(
        blocks=blocks,
        sample=sample,
        rows=rows,
        weight=weights,
        n_rows=sample.n_rows,
        kept=reading.kept,
        sampled=np.concatenate(reading.sampled),
        gaps={name: count for name, count in reading.gaps.items() if count},
        limited=reading.limited,
        fingerprint=identity,
    )
    return streamed, scaling


def _blocks_of(rows: Any) -> Iterator[slice]:
    step = max(1, BLOCK_VALUES // rows.shape[1])
    return (slice(i, i + step) for i in range(0, len(rows), step))


def _scaled(rows: Any, scaling: Scaling) -> Iterator[Array]:
    return (scaling.apply(rows[block]) for block in _blocks_of(rows))


@np.errstate(over="ignore")
def _refined(rows: Any, weights: Floats | None, scaling: Scaling, name: str) -> Scaling:
    """Return a scaling with mean and standard deviation of all rows, whatever the blocks.

    "robust" keeps the quantiles of the sample. Sums are about the mean of the sample.
    """
    if scaling.kind not in ("standard", "auto"):
        return scaling
    d = rows.shape[1]
    sums = LongSums(1, d), LongSums(1, d), LongSums(1, 1)
    for block in _blocks_of(rows):
        scaled = scaling.apply(rows[block].astype(np.float64))
        n, square = len(scaled), scaled * scaled
        if not np.isfinite(square).all():
            raise TableError(
                f"{name}: a value is too far from all others to scale rows by their standard "
                "deviation. Leave its column out."
            )
        weight = np.ones(n) if weights is None else weights[block]
        for part, values in zip(sums, (scaled, square, np.ones((n, 1))), strict=True):
            part.add(values, np.zeros(n, np.int32), weight)
    total, square, weight = (part.totals()[0] for part in sums)
    mean = total / weight
    variance = square / weight - mean * mean
    center = scaling.center + scaling.scale * mean
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    return replace(scaling, center=center, scale=scaling.scale * deviation)


@dataclass(slots=True, eq=False)
class _RowPass:
    """A pass over all blocks, and what it found."""

    sample: TableSample
    selection: Selection  # of the sample
    weight: str | None
    scaling: Scaling  # of the sample
    weights: list[Floats] = field(default_factory=list)
    kept: list[Array] = field(default_factory=list)
    sampled: list[Ints] = field(default_factory=list)
    gaps: dict[str, int] = field(default_factory=dict)
    limited: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _wrong: dict[str, str] = field(default_factory=dict)
    _is_below: Any = False  # (d,) whether a value is below the limit
    _is_above: Any = False
    _lowest: Any = np.inf  # (d,) of the values within the limits
    _highest: Any = -np.inf

    def rows(self, blocks: TableBlocks) -> Iterator[Array]:
        """Yield the features of the rows to cluster, before scaling."""
        chosen, names = self.selection, self.selection.names
        used = [*names, *([self.weight] if self.weight is not None else [])]
        d, done, start = len(names), 0, 0
        self.limited, self.gaps = np.zeros(d, np.int64), dict.fromkeys(names, 0)
        for raw in blocks:
            block = self.sample.types.convert(raw, used)
            if self._has_wrong(block):
                continue
            own = select(
                block,
                columns=names,
                weight=self.weight,
                missing=chosen.missing,
                fill=chosen.fill,
                days=chosen.days,
            )
            self._note(block, own, start, done)
            done, start = done + len(own.kept), start + block.data.num_rows
            yield own.X.astype(chosen.X.dtype, copy=False)
        if self._wrong:
            raise NotNumericError(self._wrong)
        if start != self.sample.n_rows:
            raise TableError(f"{blocks.name} was changed while it was read. Try again.")

    def _has_wrong(self, block: Table) -> bool:
        """Note the features that are no numbers here; then rows are only searched for others."""
        for name in self.selection.names:
            if name not in self._wrong and not self._can_be_read(block, name):
                self._wrong[name] = read_column(block, name).why
        return bool(self._wrong)

    def _can_be_read(self, block: Table, name: str) -> bool:
        column = plain_values(block.data[name])
        if is_integer_type(column.type):
            return first_inexact(column) is None
        if is_numeric_type(column.type) or name in self.selection.days:
            return True
        return read_column(block, name).is_empty

    def _note(self, block: Table, own: Selection, start: int, done: int) -> None:
        is_kept = np.zeros(block.data.num_rows, bool)
        is_kept[own.kept] = True
        self.kept.append(np.packbits(is_kept))
        if own.weight is not None:
            self.weights.append(own.weight)
        for name, count in own.gaps.items():
            self.gaps[name] += count
        sampled = self.sample.rows
        here = sampled[slice(*np.searchsorted(sampled, [start, start + len(is_kept)]))] - start
        place = np.cumsum(is_kept) - 1
        self.sampled.append(done + place[here[is_kept[here]]])
        if self.scaling.logged is not None and len(own.X):
            self._note_limits(own.X.astype(np.float64))

    def _note_limits(self, X: Floats) -> None:
        below, above = self.scaling.low > X, self.scaling.high < X
        self.limited += (below | above).sum(axis=0)
        self._is_below |= below.any(axis=0)
        self._is_above |= above.any(axis=0)
        inside = ~(below | above)
        self._lowest = np.minimum(self._lowest, np.where(inside, X, np.inf).min(axis=0))
        self._highest = np.maximum(self._highest, np.where(inside, X, -np.inf).max(axis=0))

    def limits(self, scaling: Scaling) -> Scaling:
        """Return a scaling whose limits are the last values before its fences, as in memory."""
        if scaling.logged is None:
            return scaling
        low = np.where(scaling.logged | self._is_below, self._lowest, -np.inf)
        return replace(scaling, low=low, high=np.where(self._is_above, self._highest, np.inf))
