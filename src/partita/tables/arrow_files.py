"""Read Parquet and Feather files; columns become plain values, without dictionaries or views."""

from __future__ import annotations

import json
import re
from typing import Any

from partita._common.errors import TableError
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.text_files import unique_names

_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")


def read_arrow(raw: bytes, name: str, format: str) -> Table:
    """Read the columns of a file whose format is "parquet" or "feather"."""
    pa = arrow()
    try:
        if format == "parquet":
            data = arrow(".parquet").ParquetFile(pa.BufferReader(raw)).read()
        else:
            data = arrow(".feather").read_table(pa.BufferReader(raw))
        data.validate(full=True)  # a wrong offset would otherwise be read as a memory address
        columns = [plain_values(column) for column in data.columns]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        fault = f"is not a {format} file that can be read ({first_line(error)})"
        raise TableError(f"{name} {fault}. Write it again.") from None
    original_names = [str(column) for column in data.column_names]
    index = pandas_index_columns(data.schema)
    names, notes = unique_names(original_names)
    return Table(
        pa.table(columns, names=names, metadata=data.schema.metadata),
        name,
        format,
        notes=notes,
        parts=(TableFile(name, data.num_rows),),
        index=tuple(new for new, old in zip(names, original_names, strict=True) if old in index),
        kept=data.rename_columns(names),
    )


def plain_values(column: Any) -> Any:
    """Decode a column that is stored as a dictionary, as runs, or as string or binary views."""
    pa, pc = arrow(), arrow(".compute")
    column_type = column.type
    if pa.types.is_dictionary(column_type):
        # a cast to the type of the values does not support views
        chunks = [plain_values(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, plain_values(pa.array([], column_type.value_type)).type)
    if pa.types.is_run_end_encoded(column_type):
        return plain_values(pc.run_end_decode(column))
    for is_view, without_view in (
        ("is_string_view", pa.large_string()),
        ("is_binary_view", pa.large_binary()),
    ):
        if hasattr(pa.types, is_view) and getattr(pa.types, is_view)(column_type):  # pyarrow >= 16
            return pc.cast(column, without_view)
    return column


def pandas_index_columns(schema: Any) -> set[str]:
    """Return the columns that are the index of a pandas frame."""
    unnamed = {name for name in schema.names if _UNNAMED_INDEX.fullmatch(name)}
    try:
        columns = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        # a RangeIndex is an object here, and has no column
        return unnamed | {name for name in columns if isinstance(name, str)}
    except (ValueError, KeyError, TypeError):
        return unnamed
