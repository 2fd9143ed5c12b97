"""Dataframes (pandas, polars, pyarrow, …) as arrays, with errors that name columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.parameters import Got, must_be
from partita._common.text import listed


def is_frame(data: Any) -> bool:
    """Return whether this is a table with named columns."""
    return hasattr(data, "__dataframe__") or (
        hasattr(data, "__arrow_c_stream__") and hasattr(data, "schema")
    )


def names_of(data: Any) -> list[Any]:
    """Return the names of the columns of a table."""
    if hasattr(data, "column_names"):  # pyarrow
        return list(data.column_names)
    return list(getattr(data, "columns", ()))


def from_frame(data: Any) -> Array:
    """Return columns of numbers and booleans as an array, with missing values as NaN."""
    import narwhals.stable.v2 as nw

    names = names_of(data)
    check_unique_names(names)
    if type(data).__name__ == "RecordBatch":
        data = type(data).to_pandas(data)
    columns = list(nw.from_native(data, eager_only=True).iter_columns())
    arrays = [numbers_of(column) for column in columns]
    wrong = [
        f"{name!r} ({_kind(column)})"
        for name, column, values in zip(names, columns, arrays, strict=True)
        if values is None
    ]
    if wrong:
        advice = "Drop them or encode them as numbers."
        raise must_be("X", "numeric", Got(f"the columns {listed(wrong, str)}"), advice)
    numeric = [values for values in arrays if values is not None]
    kinds = {values.dtype for values in numeric}
    small = len(kinds) == 1 and kinds <= {np.dtype(np.float32), np.dtype(np.uint8)}
    out = np.empty((len(data), len(numeric)), kinds.pop() if small else np.float64)
    for column, values in enumerate(numeric):
        out[:, column] = values
    return out


def check_unique_names(names: list[Any]) -> None:
    """Raise an error if columns share a name."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        got = Got(f"several columns of the same name: {listed(repeated)}")
        raise must_be("X", "a table with unique column names", got, "Rename or select columns.")


def numbers_of(column: Any) -> Array | None:
    """Return the values of a column, missing ones as NaN; None if they are not numbers."""
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
