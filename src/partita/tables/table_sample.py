"""A random sample of the rows of a table that comes in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
        arrow().default_memory_pool().release_unused()
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
        self._places: dict[int, TableFile] = {}  # of blocks, by their first rows
        self._is_text = False

    def add(self, block: Table) -> None:
        """Draw from the rows of a block."""
        n = block.data.num_rows
        keys = self._rng.random(n)
        self._places[self.n_rows], self._is_text = block.parts[0], block.text is not None
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
            self._tables.append(_taken(block, chosen))

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
        data = _joined([table.data for table in self._tables], name)
        self._tables = []
        notes = tuple(self._notes)
        if len(self._names) > 1:
            short = [Path(file).name for file in self._names]
            notes = (f"{len(short)} files: {listed(short)}", *notes)
        text = data if self._is_text else None
        parts = tuple(self._parts(rows))
        table = replace(first, data=data, text=text, name=name, notes=notes, parts=parts)
        return replace(table, is_part=False), rows

    def _parts(self, rows: Ints) -> Iterator[TableFile]:
        """Yield the files, with the places of the rows that were drawn from each."""
        starts, blocks = np.array(list(self._places)), list(self._places.values())
        names = [block.name for block in blocks]
        first = 0
        for name in self._names:
            own = [i for i, other in enumerate(names) if other == name]
            stop = starts[own[-1] + 1] if own[-1] + 1 < len(starts) else self.n_rows
            last = int(np.searchsorted(rows, stop))
            lines = _lines(rows[first:last], starts[own], [blocks[i] for i in own])
            yield TableFile(name, last - first, lines, blocks[own[0]].line_word)
            first = last


def _lines(rows: Ints, starts: Ints, blocks: list[TableFile]) -> Callable[[int], int]:
    """Return the function from the rows drawn from a file to their lines in it."""

    def line_of_row(i: int) -> int:
        block = int(np.searchsorted(starts, rows[i], side="right")) - 1
        line_in_block = blocks[block].line_of_row
        assert line_in_block is not None
        return line_in_block(int(rows[i] - starts[block]))

    return line_of_row


def _taken(block: Table, chosen: Ints) -> Table:
    """Return some rows of a block; what copies need is left to the blocks themselves."""
    data = block.data
    if len(chosen) < data.num_rows:
        data = data.take(arrow().array(chosen))
    return replace(block, data=data, text=None, kept=None)


def _joined(parts: list[Any], name: str) -> Any:
    pa = arrow()
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        reason = first_line(error)
        raise TableError(f"{name}: a column has different types in its files: {reason}") from None
