"""Values as JSON takes them."""

from __future__ import annotations

import math
from typing import Any


def plain(value: Any) -> Any:
    """Objects, lists, text, numbers and None; None for what no JSON number can say.

    >>> plain({"a": (1, float("nan")), 2: {3.5: object}})
    {'a': [1, None], '2': {'3.5': "<class 'object'>"}}
    """
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if hasattr(value, "tolist"):  # arrays and numbers of NumPy
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)
