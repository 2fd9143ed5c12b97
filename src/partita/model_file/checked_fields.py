"""What a file says a model has, one field after the other, none of it believed unchecked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array

MAX_COUNT = 2**31 - 1  # features, clusters, iterations
Shape = tuple[int | None, ...]  # None: any length


class FieldError(ValueError):
    """What is wrong with a field."""


class CheckedFields:
    """The fields of a record. Every method returns one of them, checked, or raises a Fault."""

    def __init__(self, values: Any, where: str = "") -> None:
        if not isinstance(values, Mapping):
            raise FieldError(f"{where or 'the model'} is not a record")
        self._values, self._where = values, where

    def has(self, name: str) -> bool:
        """Whether the field is there, and not null."""
        return self._values.get(name) is not None

    def nested(self, name: str) -> CheckedFields:
        """A record in this one."""
        return CheckedFields(self._get(name), self._full(name))

    def integer(self, name: str, least: int = 0, most: int = MAX_COUNT) -> int:
        """A whole number."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            raise self._fault(name, value, f"a whole number from {least} to {most}")
        return value

    def number(self, name: str, finite: bool = False) -> float:
        """A number that is not NaN."""
        value = self._get(name)
        if type(value) not in (int, float) or value != value:
            raise self._fault(name, value, "a number")
        try:
            number = float(value)
        except OverflowError:
            raise self._fault(name, "a number beyond all floats", "a number") from None
        if finite and not np.isfinite(number):
            raise self._fault(name, value, "a finite number")
        return number

    def text(self, name: str) -> str:
        """A text."""
        value = self._get(name)
        if type(value) is not str:
            raise self._fault(name, value, "a text")
        return value

    def texts(self, name: str, length: int | None = None) -> list[str]:
        """A list of texts."""
        value = self._get(name)
        if not isinstance(value, list | tuple) or not all(type(item) is str for item in value):
            raise self._fault(name, value, "a list of texts")
        if length is not None and len(value) != length:
            raise self._fault(name, f"a list of {len(value)}", f"a list of {length} texts")
        return list(value)

    def mapping(self, name: str) -> dict[Any, Any]:
        """A dictionary of any content."""
        value = self._get(name)
        if not isinstance(value, dict):
            raise self._fault(name, value, "an object")
        return value

    def pair(self, name: str) -> tuple[float, float]:
        """Two numbers."""
        value = self._get(name)
        if not isinstance(value, tuple) or len(value) != 2:
            raise self._fault(name, value, "a pair of numbers")
        low, high = (CheckedFields({name: item}, self._where).number(name) for item in value)
        return low, high

    def generator(self, name: str) -> np.random.Generator:
        """A generator of random numbers."""
        value = self._get(name)
        if not isinstance(value, np.random.Generator):
            raise self._fault(name, value, "a generator")
        return value

    def columns(self, name: str, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
        """Rows of a table from its columns; kinds are "int", "float" and "str"."""
        table = self.nested(name)
        found = {column: table._column(column, kind) for column, kind in kinds.items()}
        if len({len(values) for values in found.values()}) > 1:
            raise FieldError(f"{self._full(name)} has columns of different lengths")
        return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]

    def _column(self, name: str, kind: str) -> list[Any]:
        value = self._get(name)
        allowed = {"int": (int,), "float": (int, float), "str": (str,)}[kind]
        if not isinstance(value, list) or not all(type(item) in allowed for item in value):
            raise self._fault(name, "what it is", f"a list of {kind}")
        return [float(item) if kind == "float" else item for item in value]

    def floats(self, name: str, shape: Shape, *, finite: bool = True) -> Array:
        """An array of floats, without NaN; finite also without infinity."""
        found = self._shaped(name, shape)
        if not isinstance(found, np.ndarray) or found.dtype not in (np.float32, np.float64):
            raise self._fault(name, found, "an array of floats")
        self._check(name, found, finite)
        return found

    def rows(self, name: str, shape: Shape, *, gaps: bool = False) -> Any:
        """Rows, dense or sparse, finite unless they may have gaps."""
        found = self._shaped(name, shape)
        data = found.data if sp.issparse(found) else found
        if data.dtype not in (np.float32, np.float64):
            raise self._fault(name, found, "rows of floats")
        if not gaps:
            self._check(name, data, True)
        return found

    def ints(self, name: str, shape: Shape, least: int, most: int) -> Array:
        """An array of whole numbers within limits."""
        found = self._shaped(name, shape)
        if not isinstance(found, np.ndarray) or found.dtype.kind != "i":
            raise self._fault(name, found, "an array of whole numbers")
        if found.size and not (found.min() >= least and found.max() <= most):
            raise FieldError(f"{self._full(name)} has numbers outside of {least} to {most}")
        return found

    def _shaped(self, name: str, shape: Shape) -> Any:
        found = self._get(name)
        if not isinstance(found, np.ndarray) and not sp.issparse(found):
            raise self._fault(name, found, "an array")
        fits = len(found.shape) == len(shape) and all(
            wanted is None or n == wanted for n, wanted in zip(found.shape, shape, strict=True)
        )
        if not fits:
            wanted = ", ".join("any" if n is None else str(n) for n in shape)
            raise FieldError(
                f"{self._full(name)} has the shape {found.shape}; ({wanted}) is expected"
            )
        return found

    def _check(self, name: str, data: Array, finite: bool) -> None:
        if np.isnan(data).any() or (finite and np.isinf(data).any()):
            raise FieldError(f"{self._full(name)} contains NaN{' or infinity' if finite else ''}")

    def _get(self, name: str) -> Any:
        if self._values.get(name) is None:
            raise FieldError(f"{self._full(name)} is missing")
        return self._values[name]

    def _full(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def _fault(self, name: str, value: Any, wanted: str) -> FieldError:
        given = f"an array of {value.dtype}" if hasattr(value, "dtype") else repr(value)[:80]
        return FieldError(f"{self._full(name)} is {given}; {wanted} is expected")
