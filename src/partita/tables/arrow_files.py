"""Parquet and Feather, with columns as plain values: no dictionaries, no views."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from partita.tables.table import Table, TableError, TableFile, arrow
from partita.tables.text_files import unique_names

_INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(raw: bytes, name: str) -> Table:
    """The columns of a Parquet file."""
    pa, parquet = arrow(), arrow(".parquet")
    return _table(lambda: parquet.ParquetFile(pa.BufferReader(raw)).read(), name, "parquet")


def read_feather(raw: bytes, name: str) -> Table:
    """The columns of a Feather file."""
    pa, feather = arrow(), arrow(".feather")
    return _table(lambda: feather.read_table(pa.BufferReader(raw)), name, "feather")


def _table(read: Callable[[], Any], name: str, kind: str) -> Table:
    pa = arrow()
    try:
        data = read()
        data.validate(full=True)  # else a byte that is wrong would be read as a place in memory
        columns = [plain_values(column) for column in data.columns]
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise TableError(
            f"{name} is not a {kind} file that can be read ({first}); write it anew"
        ) from None
    given = [str(column) for column in data.column_names]
    index = _index(data.schema)
    names, notes = unique_names(given)
    return Table(
        pa.table(columns, names=names, metadata=data.schema.metadata),
        name,
        kind,
        notes=notes,
        parts=(TableFile(name, data.num_rows),),
        index=tuple(new for new, old in zip(names, given, strict=True) if old in index),
        kept=data.rename_columns(names),
    )


def plain_values(column: Any) -> Any:
    """A column by its values, where it is kept as a dictionary, as runs, or as views of text."""
    pa, pc = arrow(), arrow(".compute")
    kind = column.type
    if pa.types.is_dictionary(kind):
        # casts to the type of the values do not know those of views
        chunks = [plain_values(chunk.dictionary).take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, plain_values(pa.array([], kind.value_type)).type)
    if pa.types.is_run_end_encoded(kind):
        return plain_values(pc.run_end_decode(column))
    for view, without in (
        ("is_string_view", pa.large_string()),
        ("is_binary_view", pa.large_binary()),
    ):
        if getattr(pa.types, view, _never)(kind):  # they came with pyarrow 16
            return pc.cast(column, without)
    return column


def _never(kind: Any) -> bool:
    return False


def _index(schema: Any) -> set[str]:
    """The columns that pandas made of the index of a frame."""
    found = {name for name in schema.names if _INDEX.fullmatch(name)}
    try:
        said = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        # a range of numbers is said by an object, and is no column
        return found | {name for name in said if isinstance(name, str)}
    except (ValueError, KeyError, TypeError):
        return found
