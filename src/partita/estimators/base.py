"""`Clusterer`: the base of all built-in members of the family."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

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
from partita._common.parameters import Got, Rule, check_parameters, must_be
from partita._common.warnings import warn
from partita.certificates.bounding import BoundCallback
from partita.certificates.certificate import Certificate
from partita.estimators import labelling, saved_state, validation
from partita.estimators.capabilities import Capabilities
from partita.estimators.gaps import takes_gaps
from partita.estimators.lazy_blocks import memberships_by_blocks
from partita.estimators.saved_certificate import certificate_state, restored_certificate
from partita.estimators.saved_state import FieldReader, SavedState
from partita.estimators.watched_fit import watched
from partita.run_record import RunRecord

LAZY_LABELS_ADVICE = "Compute them first: model.labels_ = model.labels_.compute()."


class Clusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """An estimator that fits, labels new rows and measures their distances to all clusters."""

    n_threads: int | None
    labels_: Array
    certificate_: Certificate  # of `certify` with the rows of the fit
    _n_features_out: int  # the number of clusters
    # Model files: attributes that are plain values (without `_`), and those `_own_state` stands for
    _saved_attributes: ClassVar[tuple[str, ...]] = ()
    _covered_attributes: ClassVar[frozenset[str]] = frozenset()
    _needed_parameters: ClassVar[frozenset[str]] = frozenset()  # without which labels would differ

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):  # so that no member has to remember it
            cls.fit = watched(cls.fit)  # type: ignore[method-assign]

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Compute the clustering of X, with one weight per row if given."""

    @abstractmethod
    def predict(self, X: Any) -> Array:
        """Return the cluster of each row."""

    @abstractmethod
    def transform(self, X: Any) -> Any:
        """Return the distance (n, k) of each row to every cluster."""

    @abstractmethod
    def _costs(self, X: Any) -> tuple[Array, Floats]:
        """Labels (n,), and the cost (n, k) of each row in every cluster; lowest at its label."""

    @abstractmethod
    def _temperature(self) -> float:
        """Typical cost of a row of the fit: the scale on which memberships are soft."""

    @abstractmethod
    def __partita_capabilities__(self) -> Capabilities:
        """Describe what this model offers; see `Capabilities`."""

    @abstractmethod
    def _rules(self) -> Mapping[str, Rule]:
        """The values that each parameter accepts; a file with others is refused."""

    @abstractmethod
    def _restore_own(self, saved: FieldReader, d: int) -> int:
        """Set the fitted attributes of this member from a file; return the number of clusters."""

    # --- the same for all -------------------------------------------------------------------------

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Fit, and return the label of each row."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and return the distance of each row to every cluster."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def certify(
        self,
        X: Any,
        *,
        sample_weight: Any = None,
        time_limit: float | None = 60.0,
        level: float = 0.95,
        random_state: Any = None,
        callback: BoundCallback | None = None,
        n_threads: int | None = None,
    ) -> Certificate:
        """Bound how much lower than its own the objective of any other clustering of X can be.

        As `partita.certify(X, model)`. If X are the rows of the fit, the certificate is kept as
        `certificate_`, and model files, reports and `diagnose` show it.
        """
        from partita.estimators.certification import certify, is_certificate_of

        threads = self.n_threads if n_threads is None else n_threads
        certificate = certify(
            X,
            self,
            sample_weight=sample_weight,
            time_limit=time_limit,
            level=level,
            random_state=random_state,
            callback=callback,
            n_threads=threads,
        )
        if is_certificate_of(certificate, self, sample_weight):
            self.certificate_ = certificate
        return certificate

    @memberships_by_blocks
    def soft_membership(self, X: Any, temperature: Any = "auto") -> Floats:
        """Return memberships (n, k) proportional to exp(−cost / temperature).

        Each row adds up to 1, and its largest entry is at the label that `predict` returns. "auto"
        is the typical cost of a row of the fit. Lower temperatures give harder memberships.
        """
        check_is_fitted(self)
        temperature = validation.check_temperature(temperature, self._temperature())
        return labelling.soft(*self._costs(X), temperature)

    @property
    def membership_(self) -> Any:
        """Sparse 0/1 matrix Z (n, k) with one 1 per row, at the row's cluster."""
        check_is_fitted(self)
        if not isinstance(self.labels_, np.ndarray):
            got = Got(f"a {type(self.labels_).__name__}")
            raise must_be("labels_", "in memory for membership_", got, LAZY_LABELS_ADVICE)
        return labelling.one_hot(self.labels_, self._clusters)

    @property
    def _clusters(self) -> int:
        return self._n_features_out

    def _keep_features(self, features: dict[str, Any]) -> None:
        for name in ("saved_", "certificate_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        for name in validation.FEATURE_ATTRIBUTES:
            if name in features:
                setattr(self, name, features[name])
            elif hasattr(self, name):
                delattr(self, name)

    def _keep_run(self, run: RunRecord) -> None:
        self.n_iter_ = len(run.trace)
        self.trace_ = run.trace
        self.stopped_by_ = run.stopped_by
        self.paths_ = run.paths

    def _warn_if_empty(self, weight: Array, n_centers: int, k: int) -> None:
        occupied = int(np.count_nonzero(weight))
        if occupied < n_centers:
            text = f"Number of distinct clusters ({occupied}) found smaller than n_clusters ({k})."
            warn(f"{text} Possibly due to duplicate points in X.", ConvergenceWarning)

    def _names(self) -> Any:
        return getattr(self, "feature_names_in_", None)

    # --- model files ------------------------------------------------------------------------------

    def __partita_state__(self) -> SavedState:
        state = saved_state.common_state(self, self._saved_attributes)
        state.values.update(self._own_state())
        if "certificate_" in vars(self):
            state.values["certificate"] = certificate_state(self.certificate_)
        covered = state.covered | self._covered_attributes
        return replace(state, covered=covered, needed=self._needed_parameters)

    def __partita_restore__(self, saved: FieldReader) -> None:
        check_parameters(self, self._rules())
        d = saved_state.restore_common(self, saved)
        k = self._n_features_out = self._restore_own(saved, d)
        if saved.has("certificate"):
            self.certificate_ = restored_certificate(saved.nested("certificate"))
        if saved.has("labels"):
            self.labels_ = saved.ints("labels", (None,), *self._label_range(k))

    def _own_state(self) -> dict[str, Any]:
        """Values of a file that are not plain attributes."""
        return {}

    def _label_range(self, k: int) -> tuple[int, int]:
        """The lowest and the highest label that k clusters allow."""
        return 0, k - 1

    # --- scikit-learn -----------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; those of a model given as `init` are not listed."""
        return dict(super().get_params(deep=False))

    def __sklearn_clone__(self) -> Self:
        # scikit-learn's clone would unfit a model given as `init` and lose its centers
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
        tags.input_tags.allow_nan = takes_gaps(self)
        tags.input_tags.sparse = not takes_gaps(self)  # zeros that are not stored are values
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
