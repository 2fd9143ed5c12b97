"""`TableBlocks`: the rows of files as tables of some thousand rows, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from partita._common.data_files import expand_path, format_from_name
from partita._common.errors import TableError
from partita._common.text import quoted
from partita.scanning.npy_files import NpyFiles
from partita.tables.arrow_files import pandas_index_columns, plain_values
from partita.tables.cell_options import CellOptions
from partita.tables.compression import is_compressed
from partita.tables.file_formats import detect_format
from partita.tables.file_options import FileOptions
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.table_reader import check_layout, check_same_columns, without_markers
from partita.tables.text_blocks import TextBlocks
from partita.tables.text_files import unique_names

BLOCK_ROWS, BLOCK_VALUES = 1 << 15, 1 << 18  # at most, in a block
PARQUET_BUFFER_BYTES = 1 << 18  # of each column, so that a group of rows is not read at once
FORMAT_BYTES = 1 << 12  # of a file, by which its format is recognised
TEXT_FORMATS = ("csv", "tsv")
BLOCK_FORMATS = ("npy", "parquet", "feather", *TEXT_FORMATS)
VALUE_BYTES = 8
# bytes in memory while a table is prepared as a whole, measured
NEEDED_PER_VALUE, NEEDED_PER_TEXT_BYTE, NEEDED_PER_COMPRESSED_BYTE = 45, 7, 40


@dataclass(frozen=True, slots=True, eq=False)
class TableBlocks:
    """The rows of files of one format with the same columns.

    Every iteration reads the files again. Cells of text files are text: `block_types` converts
    them. The blocks of a table are parts: all of their rows may be left out.
    """

    files: tuple[Path, ...]
    name: str
    format: str
    options: FileOptions
    source: str | None = None  # a column to add, with the file of each row

    @classmethod
    def of(
        cls, paths: list[str], options: FileOptions, source: str | None = None
    ) -> TableBlocks | None:
        """Return the blocks of some files; None if they can only be read as a whole, or not."""
        files = tuple(file for place in paths for file in expand_path(place))
        if not all(file.is_file() for file in files):  # pipes can be read once
            return None
        try:
            formats = {_format_of(file) for file in files}
        except OSError:  # as reading them words
            return None
        form = formats.pop()
        if formats or form not in BLOCK_FORMATS:
            return None
        name = f"{paths[0]} and {len(paths) - 1} more" if len(paths) > 1 else str(paths[0])
        return cls(files, name, form, options, source)

    @property
    def bytes_needed(self) -> float:
        """About the memory that it takes to read the files as one table, and prepare it."""
        return sum(_bytes_needed(file, self.format) for file in self.files)

    def __iter__(self) -> Iterator[Table]:
        first: Table | None = None
        for file in self.files:
            check_layout(self.format, str(file), self.options)
            for table in self._of_file(file):
                if first is None:
                    first = table
                elif table.names != first.names:
                    check_same_columns(first, table)
                    note = f"{file} has its columns in another order; they are matched by name"
                    table = _in_order(table, first.names)
                    table = replace(table, notes=(*table.notes, note))
                yield self._with_source(table, str(file))

    @property
    def cells(self) -> CellOptions:
        """The cells of the files, as far as the user described them."""
        return self.options.cells

    def with_missing(self, markers: Iterable[str]) -> TableBlocks:
        """Return the blocks with more cells that stand for missing values."""
        cells = replace(self.cells, missing=tuple(dict.fromkeys((*markers, *self.cells.missing))))
        return replace(self, options=replace(self.options, cells=cells))

    def _of_file(self, file: Path) -> Iterator[Table]:
        read = {"npy": _npy_tables, "parquet": _arrow_tables, "feather": _arrow_tables}
        n = 0
        for table in read.get(self.format, _text_tables)(file, self.format, self.options):
            place = replace(table.parts[0], line_of_row=_moved(table.parts[0], n))
            n += table.data.num_rows
            data = table.data
            if table.text is None:
                data = without_markers(data, self.cells.missing)
            yield replace(table, data=data, parts=(place,), cells=self.cells, is_part=True)
        if n == 0:
            raise TableError(f"{file} has columns, but no rows. A table needs at least one row.")

    def _with_source(self, table: Table, file: str) -> Table:
        if self.source is None:
            return table
        if self.source in table.names:
            raise TableError(f"{file} already has a column {quoted(self.source)}. Choose another.")
        names = arrow().array([file] * table.data.num_rows)
        text = None if table.text is None else table.text.append_column(self.source, names)
        data = table.data.append_column(self.source, names)
        return replace(table, data=data, text=text, kept=None)


def _moved(file: TableFile, start: int) -> Any:
    """Return the function from rows of a block that begins at `start` to lines of the file."""
    line_of_row = file.line_of_row
    return lambda row: row + start + 1 if line_of_row is None else line_of_row(row + start)


def _in_order(table: Table, names: tuple[str, ...]) -> Table:
    columns: dict[str, Any] = {
        field: None if (part := getattr(table, field)) is None else part.select(list(names))
        for field in ("data", "text", "kept")
    }
    return replace(table, **columns)


def _format_of(file: Path) -> str:
    if is_compressed(file):  # of these, only text can be read by blocks
        form = format_from_name(file) or ""
        return form if form in TEXT_FORMATS else f"compressed {form}"
    with open(file, "rb") as stream:
        return detect_format(stream.read(FORMAT_BYTES), str(file), file)


def _bytes_needed(file: Path, format: str) -> float:
    size = file.stat().st_size
    if format in TEXT_FORMATS:
        return size * (NEEDED_PER_COMPRESSED_BYTE if is_compressed(file) else NEEDED_PER_TEXT_BYTE)
    try:
        return float(size + NEEDED_PER_VALUE * _count_values(file, format))
    except TableError:  # of a damaged file, which reading it words
        return float(size)


def _count_values(file: Path, format: str) -> float:
    if format == "npy":
        return NpyFiles([file], format, None).n_values
    if format == "feather":
        return file.stat().st_size / VALUE_BYTES  # as if nothing was compressed
    with _reading(file, format), arrow(".parquet").ParquetFile(file) as parquet:
        return float(parquet.metadata.num_rows * parquet.metadata.num_columns)


# --- one file -------------------------------------------------------------------------------------


def _text_tables(file: Path, format: str, options: FileOptions) -> Iterator[Table]:
    if options.delimiter is None and format == "tsv":
        options = replace(options, delimiter="\t")
    blocks = TextBlocks.of(file, options)
    head = replace(blocks.head, named_as=format)
    place = TableFile(str(file), 0, *_lines_of(head))
    for cells in blocks:
        part = replace(place, n_rows=cells.num_rows)
        yield replace(head, data=cells, text=cells, parts=(part,))


def _lines_of(head: Table) -> tuple[Any, str]:
    """Return the lines of rows and the word for them; numbers of rows, if lines are not known."""
    line_of_row, n = head.parts[0].line_of_row, head.data.num_rows
    assert line_of_row is not None
    has_one_line_each = line_of_row(n) == line_of_row(0) + n
    return (line_of_row, "line") if has_one_line_each else (None, "row")


def _npy_tables(file: Path, format: str, options: FileOptions) -> Iterator[Table]:
    pa, array = arrow(), NpyFiles([file], format, None)
    stored, d = array.stored_rows(), len(array.columns)
    names = [f"c{i}" for i in range(d)]
    step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // d))
    if stored is None:
        blocks = array.blocks()
    else:
        blocks = (stored[i : i + step] for i in range(0, len(stored), step))
    for block in blocks:
        native = block.astype(block.dtype.newbyteorder("="), copy=False)
        if native.dtype.kind == "f" and native.dtype.itemsize > 8:
            native = native.astype("f8")
        columns = [pa.array(native[:, i].copy()) for i in range(d)]
        data = pa.table(columns, names=names)
        yield Table(data, str(file), format, parts=(_numbered(file, len(block)),), named=False)


def _arrow_tables(file: Path, format: str, options: FileOptions) -> Iterator[Table]:
    pa, index = arrow(), None
    with _reading(file, format):
        for batch in (_parquet_batches if format == "parquet" else _feather_batches)(file):
            if batch.num_rows == 0:
                continue
            batch.validate(full=True)
            kept = pa.Table.from_batches([batch])
            original = [str(column) for column in kept.column_names]
            names, notes = unique_names(original)
            if index is None:
                index = pandas_index_columns(kept.schema)
            columns = [plain_values(column) for column in kept.columns]
            data = pa.table(columns, names=names, metadata=kept.schema.metadata)
            place = _numbered(file, batch.num_rows)
            of_frame = tuple(n for n, old in zip(names, original, strict=True) if old in index)
            kept = kept.rename_columns(names)
            yield Table(
                data, str(file), format, notes=notes, parts=(place,), index=of_frame, kept=kept
            )


def _numbered(file: Path, n_rows: int) -> TableFile:
    return TableFile(str(file), n_rows, None, "row")


@contextmanager
def _reading(file: Path, format: str) -> Iterator[None]:
    """Word errors of pyarrow as those of a file that cannot be read."""
    try:
        yield
    except TableError:
        raise
    except (arrow().ArrowException, OSError, KeyError, ValueError) as error:
        fault = f"is not a {format} file that can be read ({first_line(error)})"
        raise TableError(f"{file} {fault}. Write it again.") from None


def _parquet_batches(file: Path) -> Iterator[Any]:
    with arrow(".parquet").ParquetFile(
        file, pre_buffer=False, buffer_size=PARQUET_BUFFER_BYTES
    ) as parquet:
        rows = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(1, parquet.metadata.num_columns)))
        yield from parquet.iter_batches(rows)


def _feather_batches(file: Path) -> Iterator[Any]:
    pa = arrow()
    with pa.OSFile(str(file)) as stream, pa.ipc.open_file(stream) as reader:
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
