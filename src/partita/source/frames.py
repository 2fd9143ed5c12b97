"""Tables (pandas, polars, pyarrow, …) as arrays, with errors that name columns."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from partita._typing import Array

_FIRST = 5  # names in a message before it says "and more"


def listed(names: Any) -> str:
    """A few names for a message: 'a', 'b', …"""
    names = list(names)
    text = ", ".join(repr(name) for name in names[:_FIRST])
    return text + (f" and {len(names) - _FIRST} more" if len(names) > _FIRST else "")


def is_frame(data: Any) -> bool:
    """Whether this is a table with named columns."""
    return hasattr(data, "columns") and (
        hasattr(data, "__dataframe__") or hasattr(data, "__arrow_c_stream__")
    )


def from_frame(data: Any) -> Array:
    """The columns of a table side by side; numbers and booleans only, missing values as NaN."""
    import narwhals.stable.v2 as nw

    names = list(data.column_names if hasattr(data, "column_names") else data.columns)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(
            f"the table has columns of the same name: {listed(twice)}; rename or select them, so "
            "that each feature has a name of its own"
        )
    frame = nw.from_native(data, eager_only=True)
    wrong = {
        name: str(kind)
        for name, kind in frame.schema.items()
        if not (kind.is_numeric() or kind == nw.Boolean) and not _numbers_inside(frame[name])
    }
    if wrong:
        raise ValueError(
            "columns that are not numbers were given: "
            + ", ".join(f"{name!r} ({kind})" for name, kind in list(wrong.items())[:_FIRST])
            + (f" and {len(wrong) - _FIRST} more" if len(wrong) > _FIRST else "")
            + "; drop them or encode them as numbers first"
        )
    kinds = set(frame.schema.values())
    small = {nw.Float32: np.float32, nw.UInt8: np.uint8}
    dtype = small[type(kind)] if len(kinds) == 1 and type(kind := kinds.pop()) in small else None
    out = np.empty((len(frame), len(names)), dtype=dtype or np.float64)
    for at, name in enumerate(names):
        column = frame[name]
        if column.is_null().any():
            column = column.cast(nw.Float64)
            if out.dtype.kind != "f":
                out = out.astype(np.float64)
        out[:, at] = column.to_numpy()
    return out


def _numbers_inside(column: Any) -> bool:
    """Whether a column of Python objects holds numbers only."""
    import narwhals.stable.v2 as nw

    if column.dtype != nw.Object:
        return False
    try:
        np.asarray(column.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
