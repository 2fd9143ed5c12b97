"""`KPrototypes`: K-means for tables of numbers and categories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, Rule, must_be
from partita._common.threads import Workers
from partita.engine.lloyd import LloydOptions
from partita.engine.mixed_step import MixedRun, best_prototypes
from partita.estimators import labelling, validation
from partita.estimators.base import Clusterer
from partita.estimators.mixed_input import (
    check_complete_numbers,
    check_mixed_fit,
    check_mixed_rows,
)
from partita.estimators.prototypes import prototype_capabilities
from partita.estimators.prototypes.number_scaling import (
    NumberScaling,
    default_gamma,
    plain_means,
    standardizing,
)
from partita.estimators.prototypes.prototype_parameters import MixedFit, PrototypeParameters
from partita.halting import Halt
from partita.source.mixed_panels import MixedPanels
from partita.source.mixed_rows import MixedFeatures, MixedRows
from partita.source.mixed_table import MixedTable
from partita.trace import Callback


@dataclass(eq=False, repr=False)
class KPrototypes(Clusterer):
    """K-prototypes clustering: K-means for tables of numbers and categories.

    A prototype has the mean of every column of numbers, and the mode (the most frequent category)
    of every other column. The objective is

        J = Σ_i w_i · (‖x_i − mean‖² + gamma · number of categories that are not the mode)

    over the rows and their nearest prototypes (Huang 1998). Tables without numbers are clustered by
    K-modes, tables without categories by K-means.

    Parameters
    ----------
    n_clusters : int, default=8
        The number of clusters.
    gamma : float or "auto", default="auto"
        The cost of a category that is not that of the prototype, in units of a squared difference
        of numbers. "auto" is Huang's rule, half the mean standard deviation of the columns of
        numbers that vary: 0.5 if they are standardized; 1 if there is none. A larger gamma gives
        categories more influence.
    standardize : bool, default=True
        Divide every column of numbers by its standard deviation, so that the units (years, euros)
        do not matter. False takes numbers as they are: they must have comparable scales.
        `cluster_centers_` are in the units of X either way, `inertia_` and `gamma` in those of the
        columns that are compared.
    categorical : "auto" or list, default="auto"
        The columns of categories, by name or position. Columns of text, booleans and types of
        categories always are; list those where categories are written as numbers.
    init : {"k-means++", "random"}, callable, table or model, default="k-means++"
        The start. "k-means++" draws rows that are far from those drawn before, "random" any rows. A
        table has one prototype in each row, in the columns of X; of a fitted model the
        `cluster_centers_` are used; a callable init(X, n_clusters, random_state=…) returns a table.
    n_init : "auto" or int, default="auto"
        The number of starts, of which the best result is kept: "auto" is 10, or 1 if prototypes are
        given.
    max_iter : int, default=300
        The maximum number of iterations of a run.
    tol : float, default=1e-4
        Stop when the squared shift of the prototypes is at most `tol` times the mean variance of
        the numbers. A mode that changes is a shift of gamma.
    verbose, random_state, halt, callback, empty, n_threads
        As in `KMeans`.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The prototypes, in the columns and units of X: means of numbers, modes of categories. An
        array of objects if there are categories.
    means_ : ndarray of shape (n_clusters, n_numbers)
        The means of the columns of numbers.
    modes_ : ndarray of shape (n_clusters, n_categorical)
        The modes of the other columns; None where all rows of a cluster lack the value.
    cluster_weights_ : ndarray of shape (n_clusters,)
        The weight of the rows of each cluster.
    category_weights_ : dict
        For each column of categories, by name, the weight (n_clusters, n_categories) of the rows
        that have them, in the order of `categories_`.
    categories_ : dict
        The categories of each column, by name.
    labels_ : ndarray of shape (n_samples,)
        The nearest prototype of every row, 0…K−1, the lower one on ties.
    inertia_ : float
        The objective J.
    gamma_ : float
        The cost of a category that is not that of the prototype.
    start_ : ndarray of shape (n_clusters, n_features)
        The prototypes that the best run started from.
    n_iter_, trace_, stopped_by_, paths_, membership_, n_features_in_, feature_names_in_
        As in `KMeans`.

    Notes
    -----
    A missing category costs nothing and is not counted: no prototype is nearer because of it. To
    make a category of it, fill it with a text such as "missing". A category that the fit did not
    see differs from all modes. Missing numbers must be imputed first.

    A mode is the category of the largest weight in the cluster, the first in sorted order on ties.
    The result does not depend on the order of the rows (from given starts) or the number of
    threads, and a row of weight 3 is three rows.

    Examples
    --------
    >>> from partita import KPrototypes
    >>> rows = [[23, "rent"], [25, "rent"], [58, "own"], [61, "own"], [60, "rent"]]
    >>> model = KPrototypes(n_clusters=2, random_state=0).fit(rows)
    >>> sorted(model.cluster_centers_.tolist())
    [[24.0, 'rent'], [59.666666666666664, 'own']]
    >>> model.predict([[24, "own"]]) == model.labels_[0]
    array([ True])
    """

    n_clusters: int = 8
    _: KW_ONLY
    gamma: Any = "auto"
    standardize: bool = True
    categorical: Any = "auto"
    init: Any = "k-means++"
    n_init: Any = "auto"
    max_iter: int = 300
    tol: float = 1e-4
    verbose: int = 0
    random_state: Any = None
    halt: Halt | None = None
    callback: Callback | None = None
    empty: str = "relocate"
    n_threads: int | None = None

    _covered_attributes = frozenset({
        "cluster_centers_", "means_", "modes_", "category_weights_", "categories_", "start_",
        "_features", "_scaling", "_prototypes", "_weight",
    })  # fmt: skip
    _saved_attributes = ("gamma", "cluster_weights")

    __partita_capabilities__ = prototype_capabilities.declare
    _own_state = prototype_capabilities.own_state
    _restore_own = prototype_capabilities.restore

    def _rules(self) -> Mapping[str, Rule]:
        return PrototypeParameters.rules

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KPrototypes:
        """Cluster the rows of X, with one weight per row if given."""
        del y  # scikit-learn's pipelines pass it
        parameters = PrototypeParameters(self)
        rows, features, attributes = check_mixed_fit(self, X, self.categorical)
        check_complete_numbers(rows, features)
        weight = validation.check_weights(sample_weight, rows.n)
        validation.check_row_count(rows.n, parameters.k)
        scaling = NumberScaling.identity(rows.numbers.shape[1])
        if self.standardize:
            scaling = standardizing(rows.numbers, weight)
        scaled = _scaled(rows, scaling)
        _check_squares(scaled, weight)
        gamma = self.gamma
        if gamma == "auto":
            gamma = default_gamma(scaled.numbers, weight, bool(self.standardize))
        with Workers(parameters.threads, many_passes=True) as workers:
            table = MixedTable(scaled, features.counts, float(gamma), weight, workers)
            fit = MixedFit(X, rows, features, scaling, table)
            options = LloydOptions(
                parameters.k,
                parameters.halt(table),
                parameters.empty,
                parameters.callbacks,
                parameters.on_run_end,
            )

            made: list[MixedRows] = []

            def returned(values: Floats, labels: Ints) -> Floats:
                made.append(_in_units(fit, values, labels, weight))
                return table.joined(_scaled(made[0], scaling))

            run = best_prototypes(table, parameters.starts(fit), options, returned)
        self._warn_if_empty(run.weight, len(run.weight), parameters.k)
        self._keep_features(attributes)
        return self._keep(run, fit, made[0], parameters.start_of(run.fit.start))

    def _keep(
        self, run: MixedRun, fit: MixedFit, prototypes: MixedRows, start: MixedRows
    ) -> KPrototypes:
        self._keep_run(run.fit)
        self.gamma_, self.cluster_weights_ = fit.table.gamma, run.weight
        self.labels_, self.inertia_ = run.labels, run.inertia
        self._weight = exact_total(fit.table.weights.as_floats(fit.table.n))
        self._set_prototypes(fit.features, fit.scaling, prototypes, start, run.category_weight)
        return self

    def _set_prototypes(
        self,
        features: MixedFeatures,
        scaling: NumberScaling,
        prototypes: MixedRows,
        start: MixedRows,
        weights: Floats,
    ) -> None:
        """Set what a fit learned; prototypes are in the units of X."""
        self._features, self._scaling, self._prototypes = features, scaling, prototypes
        self._n_features_out = prototypes.n
        self.cluster_centers_, self.start_ = features.decode(prototypes), features.decode(start)
        self.means_ = prototypes.numbers
        self.modes_ = np.empty(prototypes.codes.shape, dtype=object)
        self.categories_ = dict(zip(features.category_names, features.categories, strict=True))
        self.category_weights_ = {}
        edges = np.cumsum([0, *features.counts])
        for t, (name, known) in enumerate(self.categories_.items()):
            self.modes_[:, t] = [(*known, None)[code] for code in prototypes.codes[:, t]]
            self.category_weights_[name] = weights[:, edges[t] : edges[t + 1]]

    # --- using a fit ------------------------------------------------------------------------------

    def _panels(self, X: Any, workers: Workers) -> MixedPanels:
        rows = check_mixed_rows(self, X, self._features)
        check_complete_numbers(rows, self._features)
        return MixedPanels(
            _scaled(rows, self._scaling), self._features.counts, self.gamma_, workers
        )

    def _scaled_prototypes(self) -> tuple[Floats, Floats, Ints]:
        numbers = self._scaling.apply(self._prototypes.numbers)
        return numbers, np.zeros(numbers.shape[1]), self._prototypes.codes

    def _labels_and_own_costs(self, X: Any) -> tuple[Ints, Floats]:
        check_is_fitted(self)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            panels = self._panels(X, workers)
            labels, costs = np.full(panels.n, -1, np.int32), np.empty(panels.n)
            panels.assign_with_costs(*self._scaled_prototypes(), labels, costs)
        return labels, costs

    def predict(self, X: Any) -> Array:
        """Return the nearest prototype of each row, 0…K−1, the lower one on ties."""
        return self._labels_and_own_costs(X)[0]

    def transform(self, X: Any) -> Any:
        """Return the distance (n, k) of each row to every prototype: the root of its cost."""
        costs = self._costs(X)[1]
        return np.sqrt(costs, out=costs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return minus the objective of X: −`inertia_` for the rows of the fit."""
        del y
        costs = self._labels_and_own_costs(X)[1]
        weight = validation.check_weights(sample_weight, len(costs))
        return -exact_total(costs, weight)

    def inverse_transform(self, codes: Any) -> Any:
        """Return the prototype of each label (n,); of numbers only, mixtures by memberships too."""
        check_is_fitted(self)
        if self.cluster_centers_.dtype == object and np.ndim(codes) != 1:
            got, advice = Got("memberships"), "Categories cannot be mixed: use predict(X)."
            raise must_be("codes", "labels (n,) for a table with categories", got, advice)
        return labelling.decode(codes, self.cluster_centers_)

    def _costs(self, X: Any) -> tuple[Array, Floats]:
        check_is_fitted(self)
        with Workers(validation.check_threads(self.n_threads)) as workers:
            costs = self._panels(X, workers).costs(*self._scaled_prototypes())
        return costs.argmin(axis=1).astype(np.int32), costs

    def _temperature(self) -> float:
        return self.inertia_ / self._weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _check_squares(rows: MixedRows, weight: Floats | None) -> None:
    """Refuse numbers whose squares leave the doubles."""
    counted = rows.numbers if weight is None else rows.numbers[weight > 0]
    some = np.ones(1) if weight is None else weight[weight > 0]
    if counted.shape[1]:
        validation.check_squares(counted, some)


def _scaled(rows: MixedRows, scaling: NumberScaling) -> MixedRows:
    """Return rows with their numbers as distances take them."""
    return MixedRows(scaling.apply(rows.numbers), rows.codes)


def _in_units(fit: MixedFit, values: Floats, labels: Ints, weight: Floats | None) -> MixedRows:
    """Return the prototypes (k, p + q) of a partition in the units of X."""
    numbers, codes = fit.table.split(values)
    p = len(fit.scaling.scale)  # 0, if the table has a column of zeros in place of numbers
    numbers = fit.scaling.undo(numbers[:, :p])
    if fit.scaling.changes:
        numbers = plain_means(fit.rows.numbers, labels, weight, numbers)
    return MixedRows(np.ascontiguousarray(numbers), np.ascontiguousarray(codes))
