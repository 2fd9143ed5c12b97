"""What every member of the family has in common."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats
from partita._common.warnings import warn
from partita.estimators import labelling, validation
from partita.run_record import RunRecord


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Fits, labels new rows, and says how far they are from every cluster."""

    n_threads: int | None
    labels_: Array
    _n_features_out: int  # as many as there are clusters

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering of X, with one weight per row if given."""

    @abstractmethod
    def predict(self, X: Any) -> Array:
        """The cluster of each row."""

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """How far (n, k) each row is from every cluster."""

    @abstractmethod
    def _costs(self, X: Any) -> tuple[Array, Floats]:
        """The cluster (n,) of each row, and what the objective would add (n, k) in every cluster.

        Doubles, of which the cluster's own is the least of its row.
        """

    @abstractmethod
    def _temperature(self) -> float:
        """The typical cost of a row of the fit: what makes memberships neither hard nor even."""

    # --- the same for all -------------------------------------------------------------------------

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return how far each row is from every cluster."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def soft_membership(self, X: Any, temperature: Any = "auto") -> Floats:
        """Memberships (n, k) in proportion to exp(−cost / temperature).

        Every row adds up to 1, and the largest of it is the cluster that `predict` gives. "auto" is
        the typical cost of a row of the fit; near 0 memberships become hard, far above it even.
        """
        check_is_fitted(self)
        heat = validation.check_temperature(temperature, self._temperature())
        return labelling.soft(*self._costs(X), heat)

    @property
    def membership_(self) -> Any:
        """Z (n, k): the sparse 0/1 matrix with one 1 per row, at the row's cluster."""
        check_is_fitted(self)
        return labelling.one_hot(self.labels_, self._clusters)

    @property
    def _clusters(self) -> int:
        return self._n_features_out

    def _keep_features(self, features: dict[str, Any]) -> None:
        self.__dict__.pop("saved_", None)  # what a file said of an earlier fit
        for name in validation.FEATURE_ATTRIBUTES:
            if name in features:
                setattr(self, name, features[name])
            elif hasattr(self, name):
                delattr(self, name)

    def _keep_run(self, fit: RunRecord) -> None:
        self.n_iter_ = len(fit.trace)
        self.trace_ = fit.trace
        self.stopped_by_ = fit.stopped_by
        self.paths_ = fit.paths

    def _warn_of_few(self, weight: Array, of: int, k: int) -> None:
        found = int(np.count_nonzero(weight))
        if found < of:
            warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters "
                f"({k}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
            )

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; a model given as `init` lends its centers and is not descended into."""
        return dict(super().get_params(deep=False))

    def __sklearn_clone__(self) -> Self:
        # scikit-learn's clone would unfit a model given as `init`, and so lose its centers
        params = {
            name: copy.deepcopy(value) if name == "init" else clone(value, safe=False)
            for name, value in self.get_params().items()
        }
        twin = type(self)(**params)
        for name in ("_metadata_request", "_sklearn_output_config"):
            if name in vars(self):
                setattr(twin, name, copy.deepcopy(vars(self)[name]))
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
