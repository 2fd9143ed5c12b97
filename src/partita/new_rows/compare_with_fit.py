"""`compare_with_fit`: which new rows are unlike those of the fit, and what has drifted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.sparse_format import is_sparse
from partita.estimators import validation
from partita.estimators.fitted_models import (
    check_fitted,
    unwrap_pipeline,
    without_feature_names,
)
from partita.estimators.table_rows import rows_for, takes_categories
from partita.new_rows.comparison import Comparison
from partita.new_rows.fit_reference import FitReference
from partita.new_rows.own_distances import own_distances

_TO_MEASURE = "transform_to_measure"  # of a step that limits outliers: rows without the limits


def compare_with_fit(
    model: Any, X: Any, *, fitted_to: Any = None, sample_weight: Any = None
) -> Comparison:
    """Compare new rows with those of the fit: strangers, shares of the clusters, means of features.

    A row is a stranger if it is farther from the center of its cluster than the cluster reaches, as
    measured by the rows of the fit (the rule is in the guide); about 1 in 1000 new rows of the same
    distribution is one. Rows in other units, or rows that lack the scaling of the fit, are
    strangers nearly all.

    Parameters
    ----------
    model : fitted model or pipeline
        With `transform` and, for `KernelKMeans`, a kernel of rows.
    X : array, sparse matrix or data frame
        The new rows, as `predict` takes them.
    fitted_to : array, sparse matrix or data frame, optional
        The rows of the fit. Not needed for a model from `load` that was saved with them
        (`save(model, path, fitted_to=X)`), as `partita fit --model` does.
    sample_weight : array of shape (n_samples,), optional
        The weights of the rows of the fit, given with `fitted_to`.

    Returns
    -------
    Comparison
        With `labels`, `distance`, `is_stranger`, `strangers`, `share_drift`, `mean_drift`; its text
        is a summary.

    Examples
    --------
    >>> from partita import KMeans, compare_with_fit
    >>> X = np.random.default_rng(0).normal(size=(300, 2)) + [[0, 0], [9, 9], [0, 9]] * 100
    >>> model = KMeans(3, random_state=0).fit(X)
    >>> new = compare_with_fit(model, [[0.5, 1], [9, 8], [30, -20]], fitted_to=X)
    >>> new.is_stranger
    array([False, False,  True])
    >>> print(new)
    1 of 3 rows is unlike anything in the fit (farther from the center than its cluster reaches): \
row 2
    """
    check_fitted(model)
    reference = _reference(model, fitted_to, sample_weight)
    inner, labels, rows = _label(model, X, "X")
    new = Comparison.of(reference, rows, labels, own_distances(inner, rows, labels))
    names = _feature_names(model, rows.shape[1])
    return replace(new, names=names, group_names=_group_names(model))


def reference_of(model: Any, X: Any, sample_weight: Any = None) -> FitReference:
    """Summarise the rows X that a model, or a pipeline with one, was fitted to."""
    inner, labels, rows = _label(model, X, "fitted_to")
    weight = validation.check_weights(sample_weight, rows.shape[0])
    return FitReference.of(inner, rows, labels, weight)


def _reference(model: Any, fitted_to: Any, sample_weight: Any) -> FitReference:
    if fitted_to is not None:
        return reference_of(model, fitted_to, sample_weight)
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` must come with `fitted_to`, whose rows it weighs, got None for "
            "`fitted_to`. Give both, or neither."
        )
    reference = _saved(model, "reference")
    if isinstance(reference, FitReference):
        return reference
    raise ValueError(
        "`fitted_to` must be the rows of the fit, got None for a model that does not know them. "
        "Give them, or load a model that was saved by save(model, path, fitted_to=X)."
    )


def _saved(model: Any, field: str) -> Any:
    """Return what the file of a loaded model, or of a pipeline with one, knows; None if nothing."""
    files = (getattr(known, "saved_", None) for known in (model, unwrap_pipeline(model)[0]))
    return next((value for file in files if (value := getattr(file, field, None))), None)


def _group_names(model: Any) -> tuple[str | None, ...] | None:
    names = _saved(model, "group_names")
    return None if names is None else tuple(names)


def _feature_names(model: Any, d: int) -> Any:
    """Return the names (d,) of the features that the last step takes; None if not known."""
    inner, _, names = unwrap_pipeline(model)
    names = getattr(inner, "feature_names_in_", names)
    return names if names is not None and len(names) == d else None


def _label(model: Any, X: Any, parameter: str) -> tuple[Any, Array, Any]:
    """Return the last step of a pipeline, the labels of rows, and the rows as it measures them."""
    inner, rows, _ = unwrap_pipeline(model, X)
    rows = _checked(inner, rows, parameter)
    twin = without_feature_names(inner)
    # a pipeline may leave rows without a label
    labels = np.asarray(twin.predict(rows) if inner is model else model.predict(X))
    steps = getattr(model, "steps", ((None, model),))
    if any(hasattr(step, _TO_MEASURE) for _, step in steps):
        for _, step in steps[:-1]:
            X = getattr(step, _TO_MEASURE, step.transform)(X)
        rows = _checked(inner, X, parameter)
    return twin, labels, rows


def _checked(model: Any, X: Any, parameter: str) -> Any:
    if takes_categories(model):
        return rows_for(model, X, "compare_with_fit", parameter)
    rows = validation.check_new_rows(model, X, parameter)
    if is_sparse(rows) or rows.dtype in validation.FLOAT_DTYPES:
        return rows
    return rows.astype(np.float32)
