"""Tables (pandas, polars, pyarrow, …) as arrays, with errors that name columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.text import listed


def is_frame(data: Any) -> bool:
    """Whether this is a table with named columns."""
    return hasattr(data, "__dataframe__") or (
        hasattr(data, "__arrow_c_stream__") and hasattr(data, "schema")
    )


def names_of(data: Any) -> list[Any]:
    """The names of the columns of a table."""
    if hasattr(data, "column_names"):  # pyarrow
        return list(data.column_names)
    return list(getattr(data, "columns", ()))


def from_frame(data: Any) -> Array:
    """The columns of a table side by side; numbers and booleans only, missing values as NaN."""
    import narwhals.stable.v2 as nw

    names = names_of(data)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(
            f"the table has columns of the same name: {listed(twice)}; rename or select them, so "
            "that each feature has a name of its own"
        )
    if type(data).__name__ == "RecordBatch":
        data = type(data).to_pandas(data)
    columns = list(nw.from_native(data, eager_only=True).iter_columns())
    found = [_numbers(column) for column in columns]
    wrong = [
        f"{name!r} ({_kind(column)})"
        for name, column, values in zip(names, columns, found, strict=True)
        if values is None
    ]
    if wrong:
        raise ValueError(
            f"columns that are not numbers were given: {listed(wrong, str)}; drop "
            "them or encode them as numbers first"
        )
    parts = [values for values in found if values is not None]
    kinds = {values.dtype for values in parts}
    small = len(kinds) == 1 and kinds <= {np.dtype(np.float32), np.dtype(np.uint8)}
    out = np.empty((len(data), len(parts)), kinds.pop() if small else np.float64)
    for at, values in enumerate(parts):
        out[:, at] = values
    return out


def _numbers(column: Any) -> Array | None:
    """The values of one column, missing ones as NaN; None if they are not numbers."""
    import narwhals.stable.v2 as nw

    kind = column.dtype
    if kind.is_numeric() or kind == nw.Boolean:
        missing = column.is_null().any()
        return np.asarray((column.cast(nw.Float64) if missing else column).to_numpy())
    if kind != nw.Object:
        return None
    values = np.array(column.to_list(), dtype=object)
    values[np.asarray(column.is_null().to_numpy(), dtype=bool)] = np.nan
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _kind(column: Any) -> str:
    import narwhals.stable.v2 as nw

    native = getattr(column.to_native(), "dtype", None)
    return str(native if column.dtype == nw.Unknown and native is not None else column.dtype)
