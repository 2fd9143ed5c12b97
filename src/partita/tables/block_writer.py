"""`write_blocks`: write tables one after the other into one file, atomically."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from partita._common.atomic_write import write_atomically
from partita._common.errors import TableError
from partita.tables.arrow_files import plain_values
from partita.tables.compression import compressing_writer
from partita.tables.json_files import write_json
from partita.tables.table import arrow
from partita.tables.table_writer import TextWriter, as_matrix

FORMATS_BY_BLOCKS = ("csv", "tsv", "jsonl", "parquet", "feather", "npy")


def write_blocks(
    blocks: Iterable[Any],
    path: str | Path,
    format: str,
    n_rows: int,
    *,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    newline: str | None = None,
) -> None:
    """Write pyarrow tables with the same columns, `n_rows` in all, as `write_table` writes one.

    Text has the same bytes, other formats the same values. The memory is that of one table.
    """

    def writer(file: BinaryIO) -> None:
        tables = iter(blocks)
        if format in ("csv", "tsv"):
            default = "\t" if format == "tsv" else ","
            layout = delimiter or default, encoding or "utf-8", newline or "\n"
            write_text_blocks(tables, file, *layout)
        elif format == "jsonl":
            for table in tables:
                write_json(table, file, format)
        elif format == "npy":
            _write_npy(tables, file, n_rows, path)
        else:
            _write_arrow(tables, file, format)

    check_format(path, format)
    write_atomically(path, compressing_writer(path, writer), force=force)


def check_format(path: str | Path, format: str) -> None:
    """Refuse a format that needs all rows at once."""
    if format not in FORMATS_BY_BLOCKS:
        raise TableError(
            f"{path}: rows that do not fit memory cannot be written as {format}. Choose one of "
            f"{', '.join(FORMATS_BY_BLOCKS)}."
        )


def write_text_blocks(
    tables: Iterable[Any], file: BinaryIO, delimiter: str, encoding: str, newline: str
) -> None:
    """Write tables as one text with one header."""
    writer = TextWriter(file, delimiter, encoding, newline)
    for table in tables:
        writer.write(table)


def _write_arrow(tables: Iterator[Any], file: BinaryIO, format: str) -> None:
    pa, first = arrow(), _plain(next(tables))
    if format == "parquet":
        writer = arrow(".parquet").ParquetWriter(file, first.schema)
    else:
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        writer = pa.ipc.new_file(file, first.schema, options=options)
    with writer:
        for table in chain([first], map(_plain, tables)):
            same = table if table.schema == first.schema else table.cast(first.schema)
            writer.write_table(same)


def _plain(table: Any) -> Any:
    """Return columns without dictionaries, which differ from block to block."""
    columns = [plain_values(column) for column in table.columns]
    return arrow().table(columns, names=table.column_names, metadata=table.schema.metadata)


def _write_npy(tables: Iterator[Any], file: BinaryIO, n_rows: int, path: str | Path) -> None:
    first = as_matrix(next(tables), path)
    shape = (n_rows, *first.shape[1:])
    header = {"descr": first.dtype.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in chain([first], (as_matrix(table, path) for table in tables)):
        if not np.can_cast(block.dtype, first.dtype, "same_kind"):
            raise TableError(
                f"{path}: a column has integers in the first rows, and gaps later. An array of "
                "integers has no gaps. Choose .csv or .parquet."
            )
        file.write(np.ascontiguousarray(block, first.dtype).data)
