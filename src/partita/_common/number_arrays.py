"""Numbers of a user as arrays, or an error that names the parameter and the reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.parameters import Got, describe_value, must_be, with_reason


def as_any_array(name: str, value: Any, wanted: str) -> Array:
    """Return the value as an array of any dtype, else raise a `ParameterError`."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise must_be(name, wanted, with_reason(value, error)) from error


def as_float_array(name: str, value: Any, wanted: str) -> Floats:
    """Return numbers as an array of doubles, else raise a `ParameterError` with the reason.

    >>> as_float_array("box", [0, "b"], "four numbers")
    Traceback (most recent call last):
        ...
    partita._common.errors.ParameterError: `box` must be four numbers, got [0, 'b'] (could not \
convert string to float: np.str_('b')).
    """
    values = as_any_array(name, value, wanted)
    if values.dtype.kind == "c":
        raise must_be(name, wanted, Got("complex numbers"))
    if values.dtype.kind in "mM":
        raise must_be(name, wanted, Got(f"times ({values.dtype})"))
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise must_be(name, wanted, with_reason(value, error)) from error


def returning_numbers(name: str, function: Callable[..., Any]) -> Callable[..., float]:
    """Wrap a callable of a user so that anything but a real number is an error about `name`."""

    def call(*args: Any, **keywords: Any) -> float:
        value = function(*args, **keywords)
        if isinstance(value, float):  # NumPy's doubles too; called for every pair of rows
            return value
        try:
            if not isinstance(value, str | bytes) and not np.iscomplexobj(value):
                return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
        wanted = "a callable that returns a number"
        raise must_be(name, wanted, Got(f"one that returned {describe_value(value)}"))

    return call
