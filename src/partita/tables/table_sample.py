"""A random sample of the rows of a table that comes in blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.errors import TableError
from partita._common.text import listed
from partita.tables.block_types import BlockTypes
from partita.tables.number_styles import NumberStyle
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.table_blocks import NEEDED_PER_VALUE, TableBlocks
from partita.tables.table_reader import infer_text_types

SAMPLE_SEED = 0
MIN_SAMPLE_ROWS, MAX_SAMPLE_ROWS = 10_000, 100_000
PARTS = ("data", "text", "kept")


@dataclass(frozen=True, slots=True, eq=False)
class TableSample:
    """Rows of files as a table, and how the cells of all rows are read.

    Attributes
    ----------
    table : Table
    rows : ndarray of shape (m,)
        The numbers of these rows in the files, ascending, from 0.
    n_rows : int
        The number of rows of the files.
    types : BlockTypes
    """

    table: Table
    rows: Ints
    n_rows: int
    types: BlockTypes

    @property
    def is_whole(self) -> bool:
        """True if the sample has all rows."""
        return len(self.rows) == self.n_rows

    @classmethod
    def of(cls, blocks: TableBlocks, max_bytes: float) -> TableSample:
        """Read files once; draw as many rows as can be prepared in so many bytes.

        They are 10 000 at least and 100 000 at most; or all, if there are no more.
        """
        drawn: _Drawn | None = None
        for block in blocks:
            drawn = drawn or _Drawn(_sample_size(len(block.names), max_bytes))
            drawn.add(block)
        assert drawn is not None  # files without rows are refused
        table, rows = drawn.table(blocks.name)
        if drawn.n_rows > len(rows):
            table = replace(table, sample_of=drawn.n_rows)
        styles: dict[str, NumberStyle] = {}
        if table.text is not None:
            table, styles = infer_text_types(table)
        kinds = dict(zip(table.data.column_names, table.data.schema.types, strict=True))
        return cls(table, rows, drawn.n_rows, BlockTypes(kinds, styles, table.decimal))


def _sample_size(n_columns: int, max_bytes: float) -> int:
    rows = max_bytes / (NEEDED_PER_VALUE * n_columns)
    return int(max(MIN_SAMPLE_ROWS, min(MAX_SAMPLE_ROWS, rows)))


class _Drawn:
    """The rows with the smallest random numbers so far: blocks of any size draw the same rows."""

    def __init__(self, max_rows: int) -> None:
        self._max_rows, self._rng = max_rows, np.random.default_rng(SAMPLE_SEED)
        self.n_rows, self._limit = 0, np.inf  # of the random numbers
        self._keys: list[Floats] = []
        self._rows: list[Ints] = []
        self._tables: list[Table] = []
        self._names: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._places: dict[int, Any] = {}

    def add(self, block: Table) -> None:
        """Draw from the rows of a block."""
        n = block.data.num_rows
        keys = self._rng.random(n)
        self._places[self.n_rows] = block.parts[0]
        self._notes |= dict.fromkeys(block.notes)
        self._names |= {block.parts[0].name: None}
        self._keep(block, keys, self.n_rows + np.arange(n))
        self.n_rows += n
        if sum(map(len, self._keys)) > 2 * self._max_rows:
            self._shorten()

    def _keep(self, block: Table, keys: Floats, rows: Ints) -> None:
        chosen = np.flatnonzero(keys < self._limit)
        if len(chosen):
            self._keys.append(keys[chosen])
            self._rows.append(rows[chosen])
            self._tables.append(block if len(chosen) == len(keys) else _taken(block, chosen))

    def _shorten(self) -> None:
        keys, rows, tables = self._keys, self._rows, self._tables
        every = np.concatenate(keys)
        if len(every) > self._max_rows:
            self._limit = float(np.partition(every, self._max_rows)[self._max_rows])
        self._keys, self._rows, self._tables = [], [], []
        for own_keys, own_rows, table in zip(keys, rows, tables, strict=True):
            self._keep(table, own_keys, own_rows)

    def table(self, name: str) -> tuple[Table, Ints]:
        """Return the sample, and the numbers of its rows."""
        self._shorten()
        first, rows = self._tables[0], np.concatenate(self._rows)
        columns = {part: _joined([getattr(t, part) for t in self._tables], name) for part in PARTS}
        notes = tuple(self._notes)
        if len(self._names) > 1:
            short = [Path(file).name for file in self._names]
            notes = (f"{len(short)} files: {listed(short)}", *notes)
        place = TableFile(first.parts[0].name, len(rows), *self._place_of(rows))
        if len(self._names) > 1:
            place = replace(place, name=name)
        table = replace(first, **columns, name=name, notes=notes, parts=(place,), is_part=False)
        return table, rows

    def _place_of(self, rows: Ints) -> tuple[Any, str]:
        """Return the function from rows of the sample to their places, and the word for these."""
        places, starts = list(self._places.values()), np.array(list(self._places))
        if len(self._names) > 1:
            return lambda row: int(rows[row]) + 1, "row"

        def line_of_row(row: int) -> int:
            block = int(np.searchsorted(starts, rows[row], side="right")) - 1
            return int(places[block].line_of_row(int(rows[row] - starts[block])))

        return line_of_row, places[0].line_word


def _taken(block: Table, chosen: Ints) -> Table:
    index = arrow().array(chosen)
    columns: dict[str, Any] = {
        part: None if (own := getattr(block, part)) is None else own.take(index) for part in PARTS
    }
    return replace(block, **columns)


def _joined(tables: Iterable[Any], name: str) -> Any:
    pa, parts = arrow(), list(tables)
    if any(part is None for part in parts):
        return None
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = first_line(error)
        raise TableError(f"{name}: a column has different types in its files: {reason}") from None
