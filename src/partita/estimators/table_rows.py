"""Rows as consumers of a model read them: an array, CSR, or a table of numbers and categories."""

from __future__ import annotations

from typing import Any

from partita.estimators import validation
from partita.estimators.fitted_models import capabilities_of
from partita.estimators.mixed_input import as_table
from partita.source.column_table import column_table


def takes_categories(model: Any) -> bool:
    """Return whether rows of the model are numbers and categories."""
    return capabilities_of(model).mixed is not None


def rows_for(model: Any, X: Any, name: str, parameter: str = "X") -> Any:
    """Return X as rows that can be sliced; `name` is the function, for errors.

    A `ColumnTable` for members that take categories, which all their methods accept.
    """
    if takes_categories(model):
        return column_table(as_table(X, name))
    return validation.as_rows(X, name, parameter)
