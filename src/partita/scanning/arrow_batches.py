"""Columns of Parquet, Feather and CSV files as blocks of rows, read ahead by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.errors import TableError
from partita._common.optional_imports import require
from partita._common.text import listed, one_line, quoted

TEXT_FORMATS = {"csv": ",", "tsv": "\t"}  # and their delimiters
MAX_BATCH_ROWS, MAX_BATCH_VALUES = 1 << 16, 1 << 20
PARQUET_BUFFER_BYTES = 1 << 18  # of each column, so that a group of rows is not read at once
READ_AHEAD_BATCHES = 2  # that wait while one is worked on
READ_AHEAD_FILES = 1
MAX_REASON_LENGTH = 300


class ArrowBatches:
    """Some columns of files of one format; a column of lists becomes several features."""

    def __init__(self, files: Sequence[Path], format: str, columns: Sequence[str] | None) -> None:
        self._files, self._format = [str(file) for file in files], format
        self._name = self._files[0] + (f" and {len(files) - 1} more" if len(files) > 1 else "")
        schema = self._dataset({}).schema
        self.columns = list(schema.names) if columns is None else list(columns)
        self._check_columns(schema)
        self._types = {name: schema.field(name).type for name in self.columns}
        if format in TEXT_FORMATS:  # whole numbers at the beginning may be followed by others
            self._types = dict.fromkeys(self.columns, _arrow().float64())
        self.dtype = _common_dtype([_value_type(kind) for kind in self._types.values()])

    def _dataset(self, types: dict[str, Any]) -> Any:
        dataset, form = _arrow(".dataset"), self._format
        if form in TEXT_FORMATS:
            csv = _arrow(".csv")
            form = dataset.CsvFileFormat(
                parse_options=csv.ParseOptions(delimiter=TEXT_FORMATS[form]),
                convert_options=csv.ConvertOptions(column_types=types),
            )
        try:
            return dataset.dataset(self._files, format=form)
        except (ValueError, OSError) as error:  # as those of pyarrow are
            raise self._error(error) from error

    def _check_columns(self, schema: Any) -> None:
        unknown = [name for name in self.columns if name not in schema.names]
        if unknown:
            raise TableError(
                f"{self._name} has no column {listed(unknown)}. It has {listed(schema.names)}."
            )
        others = [n for n in self.columns if _value_type(schema.field(n).type) is None]
        if others or not self.columns:
            numeric = [n for n in schema.names if _value_type(schema.field(n).type) is not None]
            raise TableError(
                f"Columns to cluster must be numbers, got {listed(others)} of {self._name}. "
                f"Choose among the others: columns={numeric!r}."
            )

    def blocks(self) -> Iterator[Array]:
        """Yield the values of the columns (m, d), in the order of the rows."""
        read = {"parquet": self._parquet_batches, "feather": self._feather_batches}
        try:
            for batch in read.get(self._format, self._text_batches)():
                if batch.num_rows:
                    named = zip(batch.columns, batch.schema.names, strict=True)
                    parts = [_as_columns(column, name, self.dtype) for column, name in named]
                    yield parts[0] if len(parts) == 1 else np.hstack(parts)
        except TableError:
            raise
        except (ValueError, OSError, KeyError) as error:
            raise self._error(error) from error
        finally:
            _arrow().default_memory_pool().release_unused()  # it would keep some 100 MB

    # a dataset reads whole groups of rows ahead: 5 times the memory, a third of the speed

    def _parquet_batches(self) -> Iterator[Any]:
        rows = max(1, min(MAX_BATCH_ROWS, MAX_BATCH_VALUES // len(self.columns)))
        for name in self._files:
            with _arrow(".parquet").ParquetFile(
                name, pre_buffer=False, buffer_size=PARQUET_BUFFER_BYTES
            ) as file:
                for batch in file.iter_batches(rows, columns=self.columns):
                    yield batch.select(self.columns)

    def _feather_batches(self) -> Iterator[Any]:
        arrow = _arrow()
        for name in self._files:
            with arrow.OSFile(name) as file, arrow.ipc.open_file(file) as reader:
                for i in range(reader.num_record_batches):
                    yield reader.get_batch(i).select(self.columns)

    def _text_batches(self) -> Iterator[Any]:
        dataset = self._dataset(self._types)
        yield from dataset.to_batches(
            columns=self.columns,
            batch_size=MAX_BATCH_ROWS,
            batch_readahead=READ_AHEAD_BATCHES,
            fragment_readahead=READ_AHEAD_FILES,
        )

    def features(self, width: int) -> list[str]:
        """Names of the `width` values of a row: those of a list are numbered."""
        lists = [name for name in self.columns if _is_list(self._types[name])]
        each = (width - len(self.columns) + len(lists)) // max(1, len(lists))
        names: list[str] = []
        for name in self.columns:
            names += [f"{name}_{i}" for i in range(each)] if name in lists else [name]
        return names

    def _error(self, error: Exception) -> TableError:
        return TableError(f"{self._name} cannot be read: {one_line(error, MAX_REASON_LENGTH)}")


def _arrow(submodule: str = "") -> ModuleType:
    return require(f"pyarrow{submodule}", "reading rows of files", "cli")


def _is_list(kind: Any) -> bool:
    types = _arrow(".types")
    lists = types.is_fixed_size_list, types.is_list, types.is_large_list
    return any(is_kind(kind) for is_kind in lists)


def _value_type(kind: Any) -> Any:
    """The type of the numbers in a column, None if they are no numbers."""
    types, value = _arrow(".types"), kind.value_type if _is_list(kind) else kind
    numeric = types.is_integer, types.is_floating, types.is_boolean, types.is_decimal
    return value if any(is_kind(value) for is_kind in numeric) else None


def _common_dtype(kinds: Sequence[Any]) -> np.dtype[Any]:
    """The type that rows are stored in: float32 if it holds every column, else float64."""
    return np.dtype(np.float32 if {str(k) for k in kinds} <= {"float", "halffloat"} else np.float64)


def _as_columns(column: Any, name: str, dtype: np.dtype[Any]) -> Array:
    """Values (m, 1) of a column, or (m, d) of a column of lists; gaps become NaN."""
    if not _is_list(column.type):
        if _arrow(".types").is_decimal(column.type):
            column = column.cast("float64")
        return _numbers(column, dtype)[:, None]
    lengths = _numbers(_arrow(".compute").list_value_length(column), np.dtype(np.float64))
    values = _numbers(column.flatten(), dtype)
    width = len(values) // len(column)
    if not (lengths == width).all():  # NaN for a row without a list
        raise TableError(f"The lists of column {quoted(name)} must have one length in all rows.")
    return values.reshape(len(column), width)


def _numbers(column: Any, dtype: np.dtype[Any]) -> Array:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(dtype, copy=False)
