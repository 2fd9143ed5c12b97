"""Spark dataframes as rows: which columns are features, and new columns made from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.optional_imports import require
from partita._common.parameters import Got, must_be
from partita._common.text import listed

LABEL_COLUMN, DISTANCE_COLUMN = "prediction", "distances"
SELECT_ADVICE = "Select the features: X.select(...)."


def is_spark(X: Any) -> bool:
    """Return whether X is a dataframe of Spark."""
    module = type(X).__module__
    return module.startswith("pyspark.sql") and hasattr(X, "mapInArrow")


def open_spark(X: Any, sample_weight: Any) -> Any:
    """Read a dataframe of Spark once, with the weights of a column if it is named."""
    from partita.source.spark_partitions import SparkPartitions

    if type(X).__module__.startswith("pyspark.sql.connect"):
        advice = "Use a session with a SparkContext, or fit a sample: X.sample(...).toPandas()."
        raise must_be("X", "a dataframe of classic Spark", Got("one of Spark Connect"), advice)
    if sample_weight is not None:
        wanted = "the name of a numeric column of X"
        if not isinstance(sample_weight, str):
            advice = 'Add the weights to X: X.withColumn("weight", ...).'
            raise must_be("sample_weight", wanted, sample_weight, advice)
        kinds = {field.name: _kind(field.dataType)[0] for field in X.schema.fields}
        if kinds.get(sample_weight) != "numbers":
            raise must_be("sample_weight", wanted, sample_weight)
    check_new_column(X, LABEL_COLUMN)
    return SparkPartitions(X, features_of(X, sample_weight), sample_weight)


@dataclass(frozen=True, slots=True)
class Features:
    """The columns of a dataframe that are features: numbers, or one column of vectors or arrays."""

    columns: tuple[str, ...]
    kind: str  # "numbers", "array" or "vector"
    dtype: np.dtype[Any]

    @property
    def names(self) -> Any:
        """The names (d,) of the features; None of a column of vectors."""
        return np.array(self.columns, object) if self.kind == "numbers" else None

    def as_arrays(self) -> Any:
        """Return one column of arrays of `dtype`, which Arrow writes faster than many columns."""
        sql = require("pyspark.sql.functions", "rows in a Spark dataframe", "spark")
        columns = [sql.col(quoted(column)) for column in self.columns]
        number = "float" if self.dtype == np.float32 else "double"
        if self.kind == "vector":
            ml = require("pyspark.ml.functions", "a column of vectors", "spark")
            arrays = ml.vector_to_array(columns[0])
        elif self.kind == "array":
            arrays = columns[0].cast(f"array<{number}>")
        else:
            arrays = sql.array(*(column.cast(number) for column in columns))
        return arrays.alias("rows")


def features_of(X: Any, without: str | None = None) -> Features:
    """Return the features of a fit: all columns but that of the weights."""
    columns = [field for field in X.schema.fields if field.name != without]
    names = [field.name for field in columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise must_be("X", "a dataframe with unique names", Got(f"{listed(twice)} twice"))
    kinds = {field.name: _kind(field.dataType) for field in columns}
    if len(columns) == 1 and kinds[names[0]][0] in ("array", "vector"):
        return Features((names[0],), *kinds[names[0]])
    other = [field for field in columns if kinds[field.name][0] != "numbers"]
    if other or not columns:
        types = [f"{field.name} ({field.dataType.simpleString()})" for field in other]
        got = Got(f"the columns {listed(types)}" if other else "no columns")
        wanted = "a dataframe of numeric columns, or of one column of vectors"
        raise must_be("X", wanted, got, SELECT_ADVICE)
    single = all(dtype == np.float32 for _, dtype in kinds.values())
    return Features(tuple(names), "numbers", np.dtype(np.float32 if single else np.float64))


def known_features(X: Any, expected: Any, d: int) -> Features:
    """Return the features that a model knows in a dataframe which may have other columns.

    They are the columns with the names of the fit, else the only column of vectors, else all.
    """
    kinds = {field.name: _kind(field.dataType) for field in X.schema.fields}
    if expected is not None and all(kinds.get(name, ("",))[0] == "numbers" for name in expected):
        return features_of(X.select(*map(quoted, expected)))
    vectors = [name for name, (kind, _) in kinds.items() if kind in ("array", "vector")]
    if len(vectors) == 1:
        return Features((vectors[0],), *kinds[vectors[0]])
    if expected is not None:
        missing = [name for name in expected if kinds.get(name, ("",))[0] != "numbers"]
        wanted = "a dataframe with the features of the fit"
        raise must_be("X", wanted, Got(f"one without the numbers {listed(missing)}"))
    features = features_of(X)
    if len(features.columns) != d:
        got = Got(f"{len(features.columns)} features")
        raise must_be("X", f"rows with {d} features, as in the fit", got, SELECT_ADVICE)
    return features


def scored_columns(X: Any, expected: Any, d: int, weight: Any) -> Any:
    """Return the features that a model knows, and the column of the weights if it is named."""
    named = [weight] if isinstance(weight, str) and weight in X.columns else []
    features = known_features(X.drop(*named), expected, d)
    return X.select(*map(quoted, [*features.columns, *named]))


def check_new_column(X: Any, column: str) -> None:
    """Require a dataframe that has no such column yet."""
    if column in X.columns:
        got, advice = Got(f'one with a column "{column}"'), "Rename or drop it."
        raise must_be("X", f'a dataframe without a column "{column}"', got, advice)


def spark_rows_mapped(X: Any, names: Any, d: int) -> tuple[Callable[..., Any], np.dtype[Any]]:
    """Return how functions are mapped over new rows, as a model knows them, and their dtype."""
    features = known_features(X, names, d)

    def map_rows(function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
        return with_rows_mapped(X, features, d, function, columns)

    return map_rows, features.dtype


def with_rows_mapped(
    X: Any, features: Features, d: int, function: Callable[[Array], Array], columns: int | None
) -> Any:
    """Return X with one more column, function(rows): "prediction" of labels, else "distances".

    Only the features go to Python; Spark keeps the other columns where they are.
    """
    sql = require("pyspark.sql.functions", "rows in a Spark dataframe", "spark")
    number = "float" if features.dtype == np.float32 else "double"
    column = LABEL_COLUMN if columns is None else DISTANCE_COLUMN
    check_new_column(X, column)
    mapped = RowsMapped(function, features.dtype, d)
    udf = sql.pandas_udf(_of_batches(mapped), "int" if columns is None else f"array<{number}>")
    return X.withColumn(column, udf(features.as_arrays()))


def _of_batches(mapped: RowsMapped) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a function with the annotations by which Spark knows how to call it."""
    series: Any = require("pandas", "new columns of a Spark dataframe", "spark").Series

    def call(batches: Any) -> Any:
        return mapped.of_batches(batches)

    call.__annotations__ = {"batches": Iterator[series], "return": Iterator[series]}
    return call


@dataclass(frozen=True, slots=True)
class RowsMapped:
    """A function of rows, as Spark calls it: with a series of arrays, batch by batch."""

    function: Callable[[Array], Array]
    dtype: np.dtype[Any]
    d: int

    def of_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the results of all batches."""
        import pandas

        for batch in batches:
            results = self.function(self._rows(batch))
            yield pandas.Series(results if results.ndim == 1 else list(results))

    def _rows(self, batch: Any) -> Array:
        if len(batch) == 0:
            return np.empty((0, self.d), self.dtype)
        wrong = [row for row in batch if row is None or len(row) != self.d]
        if wrong:
            got = Got("null" if wrong[0] is None else f"{len(wrong[0])} features")
            raise must_be("X", f"rows with {self.d} features, as in the fit", got)
        return np.concatenate(list(batch)).astype(self.dtype, copy=False).reshape(-1, self.d)


def _kind(type_: Any) -> tuple[str, np.dtype[Any]]:
    """Return what a column holds: "numbers", "array", "vector" or ""; and its type in a fit."""
    double, single = np.dtype(np.float64), np.dtype(np.float32)
    name = type_.typeName()
    if name == "array":
        kind, dtype = _kind(type_.elementType)
        return ("array", dtype) if kind == "numbers" else ("", double)
    if type(type_).__name__ == "VectorUDT":
        return "vector", double
    whole = ("byte", "short", "integer", "long", "boolean", "double", "decimal")
    return ("numbers" if name in (*whole, "float") else ""), single if name == "float" else double


def quoted(column: str) -> str:
    """Return the name of a column as Spark parses it, whatever letters it has."""
    return "`" + column.replace("`", "``") + "`"
