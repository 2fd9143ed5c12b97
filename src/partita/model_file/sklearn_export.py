"""`to_sklearn`: a fitted model as a scikit-learn KMeans, for all tools that read one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np


def to_sklearn(model: Any) -> Any:
    """Return a `sklearn.cluster.KMeans` that labels, transforms and scores as the model does.

    For `KMeans` and `MiniBatchKMeans`. Labels of new rows are the same, unless two centers are
    equally far up to rounding: scikit-learn subtracts products of large numbers in the dtype of X;
    partita measures in double, and exact ties go to the lower index. The result does not need
    partita: it can be pickled, be part of a pipeline, or be converted, for example to ONNX. A
    pipeline from `load` becomes one of scikit-learn's `SimpleImputer`, `StandardScaler`, `KMeans`;
    of another pipeline, the last step is converted. scikit-learn takes no rows with gaps, so a
    model with missing="partial" becomes one for complete rows.

    >>> from partita import KMeans
    >>> model = KMeans(2, random_state=0).fit([[1.0, 2.0], [1.0, 4.0], [10.0, 2.0]])
    >>> to_sklearn(model).predict([[9.0, 2.0]]).tolist() == model.predict([[9.0, 2.0]]).tolist()
    True
    """
    from sklearn.cluster import KMeans
    from sklearn.pipeline import Pipeline, make_pipeline
    from sklearn.utils.validation import check_is_fitted

    from partita.model_file.preparation import without_preparation

    model, first = without_preparation(model)
    if first is not None:
        return make_pipeline(*_steps(first), to_sklearn(model))
    if isinstance(model, Pipeline):
        *steps, (name, last) = model.steps
        return Pipeline([*steps, (name, to_sklearn(last))], verbose=model.verbose)
    _check_exportable(model)
    check_is_fitted(model)
    centers = np.ascontiguousarray(model.cluster_centers_)
    other = KMeans(**_parameters(model, len(centers)))
    with warnings.catch_warnings():  # about equal centers
        warnings.simplefilter("ignore")
        made = KMeans(len(centers), init=centers, n_init=1, max_iter=1).fit(centers)
    # scikit-learn makes its own private attributes
    vars(other).update({name: v for name, v in vars(made).items() if name not in made.get_params()})
    other.cluster_centers_ = centers.copy()
    other.inertia_ = float(model.inertia_)
    other.n_iter_ = int(getattr(model, "n_iter_", getattr(model, "n_steps_", 1)))
    if hasattr(model, "labels_"):
        other.labels_ = np.array(model.labels_, dtype=np.int32)
    else:  # after partial_fit there are none
        del other.labels_
    if hasattr(model, "feature_names_in_"):
        other.feature_names_in_ = np.array(model.feature_names_in_, dtype=object)
    return other


def _check_exportable(model: Any) -> None:
    """Raise an error unless scikit-learn's KMeans can represent the model."""
    from partita.estimators.capabilities import ALL_ROWS, CELLS, MEANS
    from partita.estimators.fitted_models import capabilities_of
    from partita.geometry import EUCLIDEAN

    capabilities = capabilities_of(model)
    exact = capabilities.exact_sums and capabilities.has(MEANS, CELLS)
    if not exact or capabilities.geometry is not EUCLIDEAN:
        raise TypeError(
            f"`model` must be a KMeans or MiniBatchKMeans of partita, got a {type(model).__name__}."
            " scikit-learn's KMeans can represent only squared Euclidean distances to means."
        )
    if not capabilities.has(ALL_ROWS):
        raise TypeError(
            f"`model` must have a cluster for every row, got a {type(model).__name__}: "
            f"{capabilities.why_not(ALL_ROWS)}, and scikit-learn's KMeans cannot. For its centers: "
            "KMeans(k, init=model.cluster_centers_, n_init=1, max_iter=1) of partita, fitted to "
            "model.cluster_centers_."
        )


def _steps(first: Any) -> Iterator[Any]:
    """Yield scikit-learn's imputer and scaler for a preparation."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    names = None if first.names is None else np.array(first.names, dtype=object)
    if first.fill is not None:
        imputer = SimpleImputer().fit(np.asarray(first.fill, dtype=np.float64)[None])
        if names is not None:
            imputer.feature_names_in_ = names
        yield imputer
    scaling = first.scaling
    if scaling is not None and scaling.logged is not None:
        if scaling.logged.any():
            raise TypeError(
                "`model` must have no logarithms of features, which scikit-learn's scalers cannot "
                "represent. Fit it with --scale standard."
            )
        limits = {"a_min": scaling.low, "a_max": scaling.high}
        yield FunctionTransformer(np.clip, kw_args=limits)
    if first.scaling is not None:
        center, scale = first.scaling.center, first.scaling.scale
        scaler = StandardScaler().fit([center, center])
        scaler.mean_, scaler.scale_, scaler.var_ = center.copy(), scale.copy(), scale**2
        if names is not None and first.fill is None:
            scaler.feature_names_in_ = names
        yield scaler


def _parameters(model: Any, k: int) -> dict[str, Any]:
    """Return the parameters that scikit-learn has, with its default for values it lacks."""
    own = model.get_params()
    seed = own["random_state"]
    known = {name: own[name] for name in ("n_init", "max_iter", "tol", "verbose")}
    known["init"] = "random" if str(own["init"]) == "random" else "k-means++"
    known["random_state"] = None if isinstance(seed, np.random.Generator) else seed
    if own.get("algorithm") == "elkan" and k > 1:
        known["algorithm"] = "elkan"
    return {"n_clusters": k, **known}
