"""`Preparation`: the step before a loaded model, which selects, fills and scales columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from partita._common.array_types import Floats
from partita._common.text import listed
from partita.estimators import validation
from partita.estimators.mixed_input import as_table
from partita.source.column_table import ColumnTable, as_texts, column_table
from partita.source.dataframes import is_frame, names_of
from partita.source.mixed_columns import Factor
from partita.tables.calendar_days import to_days
from partita.tables.category_choice import missing_categories
from partita.tables.column_values import MICROSECONDS_PER_DAY
from partita.tables.missing_values import LENIENT_POLICIES, have_enough
from partita.tables.preparation_plan import NO_CLUSTER
from partita.tables.scaling import Scaling


class Preparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The first step of a loaded model: columns by name, missing values, scaling.

    `fit` does nothing.

    Parameters
    ----------
    scaling : Scaling or None
    fill : array of shape (n_features,) or None
        The values that replace missing ones; None leaves them, and the model refuses them.
    names : sequence of str or None
        The columns that are taken from a table, in this order; dates become days. Others are
        ignored.
    missing : {"mean", "auto", "partial"}, default="mean"
        With "auto" and "partial", infinite values are missing too, and a row with too few values
        has the label −1, as in the fit.
    days : sequence of str, default=()
        The columns that are dates, where integers like 20240531 become days.
    categories : sequence of str, default=()
        The columns of categories, the last of `names`. With them, rows become a `ColumnTable`.
    """

    def __init__(
        self,
        scaling: Any = None,
        fill: Any = None,
        names: Any = None,
        missing: str = "mean",
        days: Any = (),
        categories: Any = (),
    ) -> None:
        self.scaling = scaling
        self.fill = fill
        self.names = names
        self.missing = missing
        self.days = days
        self.categories = categories

    def fit(self, X: Any = None, y: Any = None) -> Preparation:
        """Do nothing."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        """The number of columns."""
        width = self._width()
        if width is None:
            raise AttributeError("n_features_in_ is unknown without names, fill and scaling")
        return width + len(self.categories)

    def transform(self, X: Any) -> Any:
        """Return the rows as the model was fitted to them."""
        return self._transformed(X, limit=True)

    def transform_to_measure(self, X: Any) -> Any:
        """Return rows whose outliers keep their distance: `transform` may limit their values."""
        return self._transformed(X, limit=False)

    def _transformed(self, X: Any, limit: bool) -> Any:
        scaling: Scaling | None = self.scaling
        rows = self._filled(X)
        rows = rows if scaling is None else scaling.apply(rows, limit=limit)
        if not self.categories:
            return rows
        numbers = (np.ascontiguousarray(x, dtype=np.float64) for x in rows.T)
        return ColumnTable((*numbers, *self._factors(X)), tuple(self.names))

    def _factors(self, X: Any) -> list[Factor]:
        """Return the columns of categories, as texts like those of a file."""
        q = len(self.categories)
        columns = self._part(X, slice(len(self.names) - q, None))
        found = column_table(as_table(columns, type(self).__name__)).read(range(q))
        return [as_texts(column) for column in found if isinstance(column, Factor)]

    def _part(self, X: Any, span: slice) -> Any:
        """Return some of the columns: by name from a table, else by position."""
        if is_frame(X):
            return self._columns(X, self.names[span])
        rows = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
        width = len(self.names)
        if rows.ndim != 2 or rows.shape[1] != width:
            raise ValueError(
                f"X has the shape {rows.shape}, but the model was fitted to {width} columns: "
                f"{listed(self.names)}."
            )
        return rows[:, span]

    def _filled(self, X: Any) -> Floats:
        rows = self.columns_of(X)
        if self.fill is not None:
            rows = np.where(self._gaps(rows), np.asarray(self.fill, rows.dtype), rows)
        return rows

    def _gaps(self, rows: Floats) -> Any:
        return ~np.isfinite(rows) if self.missing in LENIENT_POLICIES else np.isnan(rows)

    def too_few_known(self, X: Any) -> Any:
        """Return the rows (n,) that have too few values for a cluster."""
        gaps = self._gaps(self.columns_of(X))
        if self.categories:
            gaps = np.hstack([gaps, missing_categories(self._factors(X), len(gaps))])
        if self.missing not in LENIENT_POLICIES:
            return np.zeros(len(gaps), dtype=bool)
        return ~have_enough(gaps, self.missing)

    def columns_of(self, X: Any) -> Floats:
        """Return the columns of numbers in the order of the model, neither filled nor scaled."""
        if self.categories:
            X = self._part(X, slice(len(self.names) - len(self.categories)))
            if X.shape[1] == 0:
                return np.empty((len(X), 0))
        elif self.names is not None and is_frame(X):
            X = self._columns(X, self.names)
        rows = validation.as_rows(X, type(self).__name__)
        rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows)
        if rows.dtype not in validation.FLOAT_DTYPES:
            rows = rows.astype(np.float32)
        width = self._width()
        if width is not None and rows.shape[1] != width:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the model was fitted to {width}"
                f"{f': {listed(self.names)}' if self.names is not None else ''}."
            )
        for t in [t for t, name in enumerate(self.names or ()) if name in self.days]:
            rows = np.column_stack([rows[:, :t], to_days(rows[:, t]), rows[:, t + 1 :]])
        return rows

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows or centers in the units of the data."""
        scaling: Scaling | None = self.scaling
        return np.asarray(X) if scaling is None else scaling.undo(X)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the columns."""
        names = input_features if self.names is None else self.names
        return np.array([f"x{t}" for t in range(self._width() or 0)] if names is None else names)

    def _width(self) -> int | None:
        if self.names is not None:
            return len(self.names) - len(self.categories)
        for values in (self.fill, getattr(self.scaling, "center", None)):
            if values is not None:
                return len(values)
        return None

    def _columns(self, X: Any, names: Any) -> Any:
        import narwhals.stable.v2 as nw

        columns = [str(name) for name in names_of(X)]
        lacking = [name for name in names if name not in columns]
        if lacking:
            raise ValueError(
                f"X lacks {listed(lacking)} of the {len(self.names)} columns that the model was "
                f"fitted to. It has {listed(columns)}."
            )
        # by position: other columns may have duplicate names, or names that are not text
        places = [columns.index(name) for name in names]
        if hasattr(X, "iloc"):
            X = X.iloc[:, places]
        elif type(X).__name__ == "RecordBatch":
            return X.select(places)
        else:
            X = nw.from_native(X, eager_only=True)[:, places].to_native()
        return _with_days(X)


def _with_days(X: Any) -> Any:
    """Return a table whose dates are days since 1970."""
    import narwhals.stable.v2 as nw
    import narwhals.stable.v2.selectors as by

    table = nw.from_native(X, eager_only=True)
    dates = by.by_dtype(nw.Date, nw.Datetime)
    if not table.select(dates).columns:
        return X
    moments = dates.cast(nw.Datetime("us")).dt.timestamp("us")
    return table.with_columns(moments.cast(nw.Float64) / MICROSECONDS_PER_DAY).to_native()


class PreparedPipeline(Pipeline):  # type: ignore[misc]
    """A preparation and a model; rows with too few values have the label −1."""

    def predict(self, X: Any, **params: Any) -> Any:
        """Return the cluster of every row."""
        labels = super().predict(X, **params)
        return np.where(self.steps[0][1].too_few_known(X), NO_CLUSTER, labels).astype(labels.dtype)


def with_preparation(model: Any) -> Any:
    """Return a pipeline of preparation and model, or the model if it needs no preparation."""
    saved = model.saved_
    if saved.pipeline is not None:
        return _with_steps(model)
    scaled = saved.scaling is not None and saved.scaling.kind != "none"
    if scaled or saved.fill is not None or saved.categories:
        known = model.__dict__.pop("feature_names_in_", None)  # the first step checks them
        names = tuple(map(str, known)) if saved.names is None and known is not None else saved.names
        policy = (saved.plan or {}).get("missing")
        missing = policy if policy in LENIENT_POLICIES else "mean"
        scaling = saved.scaling if scaled else None
        first = Preparation(scaling, saved.fill, names, missing, saved.days, saved.categories)
        pipeline = PreparedPipeline([("prepare", first), ("model", model)])
        pipeline.saved_ = saved
        return pipeline
    if saved.names is not None and not hasattr(model, "feature_names_in_"):
        model.feature_names_in_ = np.array(saved.names, dtype=object)
    return model


def _with_steps(model: Any) -> Any:
    """Return the pipeline that was saved."""
    saved, steps = model.saved_, model.saved_.pipeline
    if saved.names is not None and steps.transformers and steps.feature_names is None:
        steps.transformers[0].feature_names_in_ = np.array(saved.names, dtype=object)
    pipeline = Pipeline([*steps.steps, (steps.model_name, model)], verbose=steps.verbose)
    pipeline.saved_ = saved
    return pipeline


def without_preparation(model: Any) -> tuple[Any, Preparation | None]:
    """Split such a pipeline into model and preparation; None if it has none."""
    steps = getattr(model, "steps", None)
    if steps is not None and len(steps) == 2 and isinstance(steps[0][1], Preparation):
        return steps[1][1], steps[0][1]
    return model, None
