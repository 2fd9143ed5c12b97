"""Checks of tables of numbers and categories, and what model files keep of their columns."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array
from partita._common.errors import ParameterError
from partita._common.parameters import Got, Rule, check, is_integer, must_be
from partita._common.sparse_format import is_sparse
from partita._common.text import did_you_mean
from partita.estimators import validation
from partita.estimators.saved_state import FieldReader
from partita.source.column_table import ColumnTable
from partita.source.dataframes import check_unique_names, is_frame, names_of
from partita.source.mixed_columns import Category, kind_of_category
from partita.source.mixed_rows import MixedFeatures, MixedRows, learn_features

MAX_LEVELS = 2**24  # of one column, in a file
GAPS_ADVICE = (
    'drop those rows, impute their numbers, or leave gaps to KMedoids(metric="gower"), which '
    "compares what two rows both have"
)
INFINITY_ADVICE = 'drop those rows, or use NaN for missing numbers with KMedoids(metric="gower")'
CATEGORICAL = accept.either(
    accept.choice("auto"),
    Rule(
        ("a list of columns, by name or position",),
        lambda v: isinstance(v, list | tuple | np.ndarray | range),
    ),
    advice="Columns of text, booleans and categories are found without it.",
)


def check_mixed_fit(
    estimator: Any, X: Any, categorical: Any = "auto"
) -> tuple[MixedRows, MixedFeatures, dict[str, Any]]:
    """Return the rows of a fit, what was learned of their columns, and the attributes of features.

    Numbers may be NaN (see `check_complete_numbers`), never infinite. The estimator is not changed.
    """
    check("categorical", categorical, CATEGORICAL)
    X = as_table(X, type(estimator).__name__)
    features = feature_attributes(X)
    names = _names(X)
    names = names or [f"feature {t}" for t in range(features["n_features_in_"])]
    chosen = chosen_columns("categorical", categorical, X, len(names))
    rows, learned = learn_features(X, chosen, tuple(names))
    _check_not_infinite(rows, learned)
    return rows, learned, features


def check_mixed_rows(estimator: Any, X: Any, features: MixedFeatures) -> MixedRows:
    """Return rows for a fitted estimator; they must have the columns it was fitted with."""
    from sklearn.utils.validation import validate_data

    X = as_table(X, type(estimator).__name__)
    if isinstance(X, ColumnTable):
        _check_columns(estimator, X)
    else:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    rows = features.encode(X)
    _check_not_infinite(rows, features)
    return rows


def feature_attributes(X: Any) -> dict[str, Any]:
    """Return the number of columns of a table, and their names if it has names."""
    if not isinstance(X, ColumnTable):
        return validation.feature_attributes(X)
    named = {"feature_names_in_": np.array(X.names, dtype=object)} if X.names else {}
    return {"n_features_in_": X.shape[1], **named}


def _names(X: Any) -> list[str]:
    if isinstance(X, ColumnTable):
        return list(X.names)
    return [str(name) for name in names_of(X)] if is_frame(X) else []


def _check_columns(estimator: Any, X: ColumnTable) -> None:
    """Require the columns of the fit, as scikit-learn does of dataframes."""
    name, known = type(estimator).__name__, getattr(estimator, "feature_names_in_", None)
    if X.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {name} is expecting {estimator.n_features_in_} "
            "features as input."
        )
    if known is not None and X.names and tuple(known) != X.names:
        raise ValueError(f"X must have the columns of the fit of {name}, in their order.")


def check_complete_numbers(rows: MixedRows, features: MixedFeatures) -> None:
    """Raise an error that names the columns of numbers with missing values."""
    missing = np.isnan(rows.numbers)
    if missing.any():
        raise _not_finite("NaN", missing, features, GAPS_ADVICE)


def _check_not_infinite(rows: MixedRows, features: MixedFeatures) -> None:
    infinite = np.isinf(rows.numbers)
    if infinite.any():
        raise _not_finite("infinity", infinite, features, INFINITY_ADVICE)


def _not_finite(kind: str, where: Array, features: MixedFeatures, advice: str) -> ParameterError:
    columns = features.number_columns[np.flatnonzero(where.any(axis=0))]
    names, rows = np.array(features.names, dtype=object), int(where.any(axis=1).sum())
    return validation.not_finite_but(advice, kind, rows, len(where), names[columns])


def chosen_columns(parameter: str, chosen: Any, X: Any, d: int) -> set[int]:
    """Return the positions of columns that are given by name or position; none for "auto"."""
    if isinstance(chosen, str):
        return set()
    names = _names(X) if isinstance(X, ColumnTable) or is_frame(X) else []
    return {_position(parameter, column, names, d) for column in chosen}


def _position(parameter: str, column: Any, names: list[Any], d: int) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if is_integer(column) and -d <= column < d:
        return int(column) % d
    if isinstance(column, str):
        if not names:
            advice = "X has no names of columns: give positions."
        else:
            advice = did_you_mean(column, map(str, names))
        raise must_be(parameter, "names of columns of X", column, advice)
    raise must_be(parameter, f"columns of X, by name or position from 0 to {d - 1}", column)


def as_table(X: Any, name: str) -> Any:
    """Return a dataframe or a `ColumnTable` as it is, else an array of numbers or objects."""
    from sklearn.utils import check_array

    if X is None:
        raise must_be("X", "a table with one row per sample", X)
    validation.refuse_lazy(X, name, "X")
    if is_sparse(X):
        got, advice = Got("a sparse matrix"), "Convert it by X.toarray(), or use KMeans."
        raise must_be("X", "a dense table", got, advice)
    if isinstance(X, ColumnTable):
        if len(X) == 0:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        return X
    if is_frame(X):
        check_unique_names(names_of(X))
        if len(X) == 0 or len(names_of(X)) == 0:
            what = "sample" if len(X) == 0 else "feature"
            raise ValueError(f"Found array with 0 {what}(s) while a minimum of 1 is required.")
        return X
    if isinstance(X, np.ma.MaskedArray):
        is_masked, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[is_masked] = None
    if not isinstance(X, np.ndarray) and not hasattr(X, "__array__"):
        X = _array_of(X)
    return check_array(X, dtype=None, ensure_all_finite=False, estimator=name, input_name="X")


def _array_of(X: Any) -> Array:
    """Return nested lists as an array, in which texts do not turn numbers into texts."""
    try:
        rows = np.asarray(X)
        return rows if rows.dtype.kind in "fiub" else np.array(X, dtype=object)
    except ValueError as error:
        raise validation.not_a_table(X, error) from error


# --- model files ----------------------------------------------------------------------------------


def features_state(features: MixedFeatures) -> dict[str, Any]:
    """Return the columns of a fit as plain values."""
    return {
        "names": list(features.names),
        "ordered": list(features.ordered),
        "categories": {str(t): list(known) for t, known in _numbered(features)},
    }


def _numbered(features: MixedFeatures) -> list[tuple[int, tuple[Category, ...]]]:
    return [(t, known) for t, known in enumerate(features.levels) if known is not None]


def restored_features(saved: FieldReader, d: int) -> MixedFeatures:
    """Return the columns of a fit from a file, checked."""
    names = saved.texts("names", d)
    levels: list[tuple[Category, ...] | None] = [None] * d
    for position, known in saved.mapping("categories").items():
        if not (isinstance(position, str) and position.isdecimal() and int(position) < d):
            raise ValueError(f"categories has no column {position!r}")
        levels[int(position)] = _restored_levels(known)
    ordered = _restored_flags(saved.everything().get("ordered"), d)
    return MixedFeatures(tuple(names), tuple(levels), ordered)


def _restored_levels(known: Any) -> tuple[Category, ...]:
    if not isinstance(known, list) or len(known) > MAX_LEVELS:
        raise ValueError("categories must be lists")
    if not all(isinstance(v, str | bool | numbers.Real) and v == v for v in known):
        raise ValueError("categories must be texts, booleans or numbers")
    if len(set(known)) < len(known) or len({kind_of_category(v) for v in known}) > 1:
        raise ValueError("categories must be different values of one kind")
    return tuple(known)


def _restored_flags(flags: Any, d: int) -> tuple[bool, ...]:
    if not isinstance(flags, list) or len(flags) != d or not all(type(f) is bool for f in flags):
        raise ValueError(f"ordered must be {d} times true or false")
    return tuple(flags)
