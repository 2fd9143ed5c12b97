"""Read and write JSON: an array of objects (.json), or one object per line (.jsonl, .ndjson)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from partita._common.errors import TableError
from partita._common.text import listed, one_line
from partita.tables.encodings import to_utf8
from partita.tables.file_options import FileOptions
from partita.tables.table import Table, TableFile, arrow, first_line
from partita.tables.value_columns import value_column

CELLS_ALLOWED = 10_000_000  # of a table of any size: each row may have keys of its own
MAX_CELLS_PER_VALUE = 50  # in larger tables
ROWS_PER_CHUNK = 1 << 14  # written at once
_SHAPE = "It must be an array of objects, or have one object per line."


def read_json(raw: bytes, name: str, options: FileOptions) -> Table:
    """Read objects as rows: keys are columns, a key that an object lacks is a missing value.

    Nested values are kept as text.
    """
    body, encoding = to_utf8(raw, options.encoding, name)
    text = body.decode()
    is_array = text.lstrip().startswith("[")
    rows, lines = (_array if is_array else _lines)(text, name)
    if not rows:
        raise TableError(f"{name} has no objects. {_SHAPE}")
    names = list(dict.fromkeys(key for row in rows for key in row))
    n_cells, n_values = len(rows) * len(names), sum(map(len, rows))
    if n_cells > max(CELLS_ALLOWED, MAX_CELLS_PER_VALUE * n_values):
        raise TableError(
            f"{name} has {len(rows)} objects with {len(names)} different keys, so it is not a "
            "table. Give all objects the same keys."
        )
    columns = [[_known(row.get(key)) for row in rows] for key in names]
    nested = [key for key, values in zip(names, columns, strict=True) if _are_nested(values)]
    flat = [
        [_flat(value) for value in values] if key in nested else values
        for key, values in zip(names, columns, strict=True)
    ]
    arrays = [value_column(values) for values in flat]
    kept = [_kept(values, array.text) for values, array in zip(columns, arrays, strict=True)]
    note = f"nested values: {listed([one_line(key, 30) for key in nested], str)}"
    pa = arrow()
    return Table(
        data=pa.table([array.typed for array in arrays], names=names),
        name=name,
        format="json" if is_array else "jsonl",
        encoding=encoding,
        notes=(note,) if nested else (),
        parts=(TableFile(name, len(rows), lines.__getitem__, "row" if is_array else "line"),),
        text=pa.table([array.text for array in arrays], names=names),
        kept=pa.table(kept, names=names),
    )


def _array(text: str, name: str) -> tuple[list[dict[str, Any]], Sequence[int]]:
    rows = _parsed(text, name)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise TableError(f"{name}, row {number}: there is no object. {_SHAPE}")
    return rows, range(1, 1 + len(rows))


def _lines(text: str, name: str) -> tuple[list[dict[str, Any]], Sequence[int]]:
    rows, numbers = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        row = _parsed(line, f"{name}, line {number}")
        if not isinstance(row, dict):
            raise TableError(f"{name}, line {number}: there is no object. {_SHAPE}")
        rows.append(row)
        numbers.append(number)
    return rows, numbers


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        reason = "it is nested too deep"
    except ValueError as error:
        reason = first_line(error)
    raise TableError(f"{place}: this is not JSON that can be read ({reason}). {_SHAPE}")


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _are_nested(values: list[Any]) -> bool:
    return not {dict, list}.isdisjoint(map(type, values))


def _flat(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _kept(values: list[Any], texts: Any) -> Any:
    """Return values with their types, for copies."""
    pa = arrow()
    try:
        return pa.chunked_array([pa.array(values)])
    except (pa.ArrowException, OverflowError, ValueError, RecursionError):
        return texts


def write_json(data: Any, file: BinaryIO, format: str) -> None:
    """Write rows as objects, one per line; "json" makes an array of them."""
    is_array, separator = format == "json", b""
    file.write(b"[" if is_array else b"")
    for row in _objects(data):
        file.write(separator + (b"\n" if is_array else b"") + row + (b"" if is_array else b"\n"))
        separator = b"," if is_array else b""
    file.write(b"\n]\n" if is_array else b"")


def _objects(data: Any) -> Iterator[bytes]:
    for start in range(0, data.num_rows, ROWS_PER_CHUNK):
        for row in data.slice(start, ROWS_PER_CHUNK).to_pylist():
            values = {key: _finite(value) for key, value in row.items()}
            yield json.dumps(values, ensure_ascii=False, default=str).encode("utf-8", "replace")


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
