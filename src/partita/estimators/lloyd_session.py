"""`LloydSession`: many fits of one member to the same rows, for different numbers of clusters."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from partita._common.array_types import Floats
from partita._common.parameters import Got, must_be
from partita._common.threads import Workers
from partita.engine.lloyd_step import LloydStep
from partita.engine.paths.path import PathCache
from partita.engine.restarts import best_fit, rerun_merged
from partita.estimators.center_clusterer import LloydClusterer
from partita.estimators.lloyd_parameters import LloydParameters
from partita.halting import Halt
from partita.run_record import Fit
from partita.source.partial_rows import PartialSource

SESSION_ADVICE = (
    "The criteria compare whole rows: impute the missing values to choose the number of clusters, "
    "then fit the rows with gaps."
)


class LloydSession:
    """Fits that share the checked rows and the data structures that prune.

    The models have centers and summaries but no labels and no trace: most fits of a sweep
    do not need them.
    """

    def __init__(
        self, estimator: LloydClusterer, X: Any, weight: Any, workers: Workers, halt: Halt
    ) -> None:
        self._estimator, self._path_cache = estimator, PathCache()
        self._halt = halt if estimator.halt is None else estimator.halt
        self._last: tuple[Any, LloydStep] | None = None
        # the limit is for the passes: what measures the clusters needs the rows as an array
        data = estimator._fit_input(X, weight, 1, workers)
        if isinstance(data.source, PartialSource):
            got = Got(f"missing values in {data.source.counts.rows} of {data.source.n} rows")
            raise must_be("X", "complete where many fits are compared", got, SESSION_ADVICE)
        self.data = replace(data, memory=LloydParameters(estimator).memory_for(X))

    def fit(self, k: int, start: Floats | None = None) -> Any:
        """Fit from centers, or by the estimator's own starts and restarts."""
        model, self._last = self._model(k), None  # whose bounds take memory
        parameters = LloydParameters(model)
        options = model._lloyd_options(self.data, parameters, self._path_cache)
        starts = model._starts(self.data, parameters, options) if start is None else [lambda: start]
        return self._keep(model, *best_fit(self.data.source, starts, options))

    def is_last(self, model: Any) -> bool:
        """Return whether this is the model of the last fit, which `fit_merged` continues."""
        return self._last is not None and self._last[0] is model

    def fit_merged(self, i: int, j: int, start: Floats) -> Any:
        """Merge clusters i and j of the last fit, and fit again from centers (k − 1, d)."""
        assert self._last is not None
        model, step = self._model(len(start)), self._last[1]
        options = model._lloyd_options(self.data, LloydParameters(model), self._path_cache)
        return self._keep(model, rerun_merged(step, i, j, start, options), step)

    def _model(self, k: int) -> LloydClusterer:
        model = copy.copy(self._estimator)  # scikit-learn's clone takes as long as an iteration
        model.n_clusters, model.halt = k, self._halt
        return model

    def _keep(self, model: LloydClusterer, fit: Fit, step: LloydStep) -> Any:
        stats = fit.stats.moved(step.origin)
        model._keep_features(self.data.features)
        model._keep_centers(fit.centers.plain, None, fit.trace[-1].cost_after, stats)
        assert fit.start is not None
        model.start_ = fit.start
        self._last = model, step
        return model
