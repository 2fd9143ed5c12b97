"""Values that JSON can represent."""

from __future__ import annotations

import math
from typing import Any


def to_json_values(value: Any) -> Any:
    """Return objects, lists, text, numbers and None; None for floats that are not finite.

    >>> to_json_values({"a": (1, float("nan")), 2: {3.5: object}})
    {'a': [1, None], '2': {'3.5': "<class 'object'>"}}
    """
    if isinstance(value, dict):
        return {str(name): to_json_values(item) for name, item in value.items()}
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [to_json_values(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
