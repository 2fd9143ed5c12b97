"""The steps of a pipeline before its model: fitted once, for many fits of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from partita.estimators.fitted_models import is_pipeline, unwrap_pipeline


@dataclass(frozen=True, slots=True)
class FittedSteps:
    """The fitted steps before a model, or none, and the pipeline that they are of."""

    pipeline: Any = None  # whose last step is not fitted; None: there are no steps

    def around(self, model: Any) -> Any:
        """Return the pipeline with a fitted model as its last step: it takes rows as X has them.

        The model alone, if there are no steps.
        """
        return model if self.pipeline is None else with_last_step(self.pipeline, model)

    @property
    def names(self) -> Any:
        """The names of the features that the model sees; None if they are not known."""
        return unwrap_pipeline(self.pipeline)[2]


def fit_steps(estimator: Any, X: Any) -> tuple[Any, Any, FittedSteps]:
    """Return the last step of a pipeline, the rows that it sees, and the steps, fitted to X.

    The steps are copies, fitted as the pipeline's own `fit` would fit them: to all rows, without
    weights. An estimator that is no pipeline is returned with X as it is.
    """
    if not is_pipeline(estimator):
        return estimator, X, FittedSteps()
    pipeline = clone(estimator)
    inner = pipeline.steps[-1][1]
    if len(pipeline.steps) > 1:
        first = pipeline[:-1]
        X = first.fit_transform(X)
        pipeline.steps = [*first.steps, pipeline.steps[-1]]  # a cache makes other objects
    model, X, rest = fit_steps(inner, X)
    return model, X, FittedSteps(with_last_step(pipeline, rest.around(model)))


def with_last_step(pipeline: Any, model: Any) -> Any:
    """Return a pipeline of the same steps with another model at the end, of a nested one too."""
    *steps, (name, last) = pipeline.steps
    if is_pipeline(last) and not is_pipeline(model):
        model = with_last_step(last, model)
    parameters = pipeline.get_params(deep=False) | {"steps": [*steps, (name, model)]}
    return type(pipeline)(**parameters)
