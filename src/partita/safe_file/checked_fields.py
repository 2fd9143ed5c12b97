"""The fields of a file, each checked for type, shape and range when it is read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from partita._common.array_types import Array
from partita._common.parameters import describe_value
from partita._common.sparse_format import is_sparse

MAX_COUNT = 2**31 - 1  # features, clusters, iterations
MAX_COLUMN_INTEGER = 2**62  # rows moved, for example
Shape = tuple[int | None, ...]  # None: any length
_T = TypeVar("_T")


class FieldError(ValueError):
    """A field of a file is missing, or its value is wrong."""


class CheckedFields:
    """The fields of a record. Every method returns one of them, or raises a FieldError."""

    def __init__(self, values: Any, where: str = "") -> None:
        if not isinstance(values, Mapping):
            raise FieldError(f"{where or 'the model'} is not an object")
        self._values, self._where = values, where

    def has(self, name: str) -> bool:
        """Return whether the field exists and is not null."""
        return self._values.get(name) is not None

    def nested(self, name: str) -> CheckedFields:
        """Return a record inside this one."""
        return CheckedFields(self._get(name), self._full(name))

    def records(self, name: str, most: int) -> list[CheckedFields]:
        """Return a list of at most so many records."""
        items = self._typed(name, list, "a list")
        if len(items) > most:
            raise FieldError(f"{self._full(name)} has more than {most} items")
        return [CheckedFields(item, f"{self._full(name)}.{i}") for i, item in enumerate(items)]

    def unpacked(self, name: str, unpack: Callable[[Any], Any]) -> CheckedFields:
        """Return a record inside this one, with its values unpacked."""
        return CheckedFields(unpack(self.mapping(name)), self._full(name))

    def flag(self, name: str) -> bool:
        """Return true or false."""
        return self._typed(name, bool, "true or false")

    def integer(self, name: str, least: int = 0, most: int = MAX_COUNT) -> int:
        """Return an integer within limits."""
        value = self._get(name)
        if type(value) is not int or not least <= value <= most:
            raise self._error(name, value, f"an integer from {least} to {most}")
        return value

    def number(self, name: str, least: float = -math.inf, finite: bool = False) -> float:
        """Return a number of at least `least`, not NaN."""
        value = self._get(name)
        if type(value) not in (int, float) or not value >= least:
            raise self._error(name, value, f"a number{f' >= {least:g}' * (least > -math.inf)}")
        try:
            number = float(value)
        except OverflowError:
            raise self._error(name, value, "within the range of floats") from None
        if finite and not np.isfinite(number):
            raise self._error(name, value, "a finite number")
        return number

    def text(self, name: str) -> str:
        """Return a text."""
        return self._typed(name, str, "a text")

    def texts(self, name: str, length: int | None = None) -> list[str]:
        """Return a list of texts."""
        value = self._get(name)
        if not isinstance(value, list | tuple) or not all(type(item) is str for item in value):
            raise self._error(name, value, "a list of texts")
        if length is not None and len(value) != length:
            raise FieldError(f"{self._full(name)} must have {length} texts, got {len(value)}")
        return list(value)

    def optional_texts(self, name: str, length: int) -> list[str | None]:
        """Return a list of so many texts or nulls."""
        value = self._get(name)
        if not isinstance(value, list) or not all(type(v) in (str, type(None)) for v in value):
            raise self._error(name, value, "a list of texts")
        if len(value) != length:
            raise FieldError(f"{self._full(name)} must have {length} texts, got {len(value)}")
        return value

    def mapping(self, name: str) -> dict[Any, Any]:
        """Return a dictionary; its content is not checked."""
        return self._typed(name, dict, "an object")

    def pair(self, name: str) -> tuple[float, float]:
        """Return two numbers."""
        value = self._get(name)
        if not isinstance(value, tuple) or len(value) != 2:
            raise self._error(name, value, "a pair of numbers")
        low, high = (CheckedFields({name: item}, self._where).number(name) for item in value)
        return low, high

    def generator(self, name: str) -> np.random.Generator:
        """Return a random generator."""
        return self._typed(name, np.random.Generator, "a random generator")

    def columns(self, name: str, kinds: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the rows of a table stored by column; kinds are "int", "float" and "str"."""
        table = self.nested(name)
        columns = {column: table._column(column, kind) for column, kind in kinds.items()}
        if len({len(values) for values in columns.values()}) > 1:
            raise FieldError(f"{self._full(name)} has columns of different lengths")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _column(self, name: str, kind: str) -> list[Any]:
        values = self._get(name)
        allowed = {"int": (int,), "float": (int, float), "str": (str,)}[kind]
        if not isinstance(values, list) or not all(type(item) in allowed for item in values):
            raise FieldError(f"{self._full(name)} must be a list of {kind}")
        if kind == "int" and not all(abs(item) <= MAX_COLUMN_INTEGER for item in values):
            raise FieldError(f"{self._full(name)} has values beyond {MAX_COLUMN_INTEGER}")
        return [float(item) if kind == "float" else item for item in values]

    def floats(self, name: str, shape: Shape, *, finite: bool = True) -> Array:
        """Return an array of floats without NaN; with `finite` also without infinity."""
        array = self._shaped(name, shape)
        if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
            raise self._error(name, array, "an array of floats")
        self._check_values(name, array, finite)
        return array

    def rows(self, name: str, shape: Shape, *, gaps: bool = False) -> Any:
        """Return rows, dense or sparse, finite unless `gaps` are allowed."""
        rows = self._shaped(name, shape)
        values = rows.data if is_sparse(rows) else rows
        if values.dtype not in (np.float32, np.float64):
            raise self._error(name, rows, "rows of floats")
        if not gaps:
            self._check_values(name, values, True)
        return rows

    def numbers(self, name: str, shape: Shape) -> Array:
        """Return an array of numbers; they may be NaN or infinite."""
        array = self._shaped(name, shape)
        if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu":
            raise self._error(name, array, "an array of numbers")
        return array

    def ints(self, name: str, shape: Shape, least: int, most: int) -> Array:
        """Return an array of integers within limits."""
        array = self._shaped(name, shape)
        if not isinstance(array, np.ndarray) or array.dtype.kind != "i":
            raise self._error(name, array, "an array of integers")
        if array.size and not (array.min() >= least and array.max() <= most):
            raise FieldError(f"{self._full(name)} has values outside {least} to {most}")
        return array

    def everything(self) -> dict[str, Any]:
        """All fields by name, unchecked."""
        return dict(self._values)

    def _shaped(self, name: str, shape: Shape) -> Any:
        array = self._get(name)
        if not isinstance(array, np.ndarray) and not is_sparse(array):
            raise self._error(name, array, "an array")
        pairs = zip(array.shape, shape, strict=False)
        if len(array.shape) != len(shape) or any(length not in (None, n) for n, length in pairs):
            wanted = ", ".join("any" if length is None else str(length) for length in shape)
            raise FieldError(f"{self._full(name)} must have shape ({wanted}), got {array.shape}")
        return array

    def _check_values(self, name: str, values: Array, finite: bool) -> None:
        if np.isnan(values).any() or (finite and np.isinf(values).any()):
            raise FieldError(f"{self._full(name)} contains NaN{' or infinity' if finite else ''}")

    def _typed(self, name: str, kind: type[_T], wanted: str) -> _T:
        value = self._get(name)
        if not isinstance(value, kind):
            raise self._error(name, value, wanted)
        return value

    def _get(self, name: str) -> Any:
        if self._values.get(name) is None:
            raise FieldError(f"{self._full(name)} is missing")
        return self._values[name]

    def _full(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name

    def _error(self, name: str, value: Any, wanted: str) -> FieldError:
        is_array = hasattr(value, "dtype")
        shown = f"an array of {value.dtype}" if is_array else describe_value(value)
        return FieldError(f"{self._full(name)} must be {wanted}, got {shown}")
