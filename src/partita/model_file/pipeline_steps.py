"""The steps of a scikit-learn pipeline that a model file can hold: scalers, imputers, projections.

A closed set of transformers whose fitted state is numbers and arrays.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Floats

PASSTHROUGH = "passthrough"


class StepFormat(NamedTuple):
    """The fitted attributes of a transformer, without their underscore."""

    module: str  # of scikit-learn
    arrays: Mapping[str, str] = {}  # the axes of each: d features in, r out
    numbers: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()  # a number, or an array with one for each feature
    divisor: str = ""  # the array that values are divided by
    needed_by: Mapping[str, str] = {}  # array -> the parameter that needs it; others may be absent
    is_refitted: bool = True  # whether a fit to two rows makes its private attributes


_EIGENVALUES = {"explained_variance": "r", "explained_variance_ratio": "r", "singular_values": "r"}
FORMATS = {
    "StandardScaler": StepFormat(
        "sklearn.preprocessing",
        {"mean": "d", "var": "d", "scale": "d"},
        counts=("n_samples_seen",),
        divisor="scale",
        needed_by={"mean": "with_mean", "var": "with_std", "scale": "with_std"},
    ),
    "RobustScaler": StepFormat(
        "sklearn.preprocessing",
        {"center": "d", "scale": "d"},
        divisor="scale",
        needed_by={"center": "with_centering", "scale": "with_scaling"},
    ),
    "MinMaxScaler": StepFormat(
        "sklearn.preprocessing",
        dict.fromkeys(("min", "scale", "data_min", "data_max", "data_range"), "d"),
        counts=("n_samples_seen",),
    ),
    "MaxAbsScaler": StepFormat(
        "sklearn.preprocessing",
        {"scale": "d", "max_abs": "d"},
        counts=("n_samples_seen",),
        divisor="scale",
    ),
    "Normalizer": StepFormat("sklearn.preprocessing"),
    "SimpleImputer": StepFormat("sklearn.impute", {"statistics": "d"}),
    "PCA": StepFormat(
        "sklearn.decomposition",
        {"components": "rd", "mean": "d", **_EIGENVALUES},
        numbers=("n_components", "n_samples", "noise_variance"),
        is_refitted=False,
    ),
    "TruncatedSVD": StepFormat(
        "sklearn.decomposition", {"components": "rd", **_EIGENVALUES}, is_refitted=False
    ),
}


def class_of(name: str) -> Any:
    """Return a transformer of scikit-learn by its name in `FORMATS`."""
    return getattr(importlib.import_module(FORMATS[name].module), name)


@dataclass(frozen=True, slots=True, eq=False)
class PipelineSteps:
    """The steps before a model: their names and fitted transformers, and the name of the model."""

    steps: tuple[tuple[str, Any], ...]
    model_name: str
    verbose: bool = False

    @property
    def transformers(self) -> list[Any]:
        """The transformers; steps that pass rows through are none."""
        return [step for _, step in self.steps if step != PASSTHROUGH]

    @property
    def n_features_in(self) -> int | None:
        """The number of columns of X; None if no step knows it."""
        return next((int(step.n_features_in_) for step in self.transformers), None)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns of X, if the pipeline was fitted to a table."""
        names = next((getattr(s, "feature_names_in_", None) for s in self.transformers), None)
        return None if names is None else tuple(map(str, names))

    @property
    def fill(self) -> Floats | None:
        """Values for gaps in X, NaN where a later step fills them; None if no step takes gaps."""
        imputers = [step for step in self.transformers if type(step).__name__ == "SimpleImputer"]
        if not any(_is_nan(step.missing_values) for step in imputers):
            return None
        first = self.transformers[0]
        if first is imputers[0] and _is_nan(first.missing_values):
            return np.asarray(first.statistics_, dtype=np.float64)
        return np.full(self.n_features_in or 0, np.nan)

    def apply(self, rows: Any) -> Floats:
        """Return rows as the model was fitted to them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an array has no names
            for step in self.transformers:
                rows = step.transform(rows)
        return np.asarray(rows)

    @property
    def can_undo(self) -> bool:
        """True if every step has an inverse."""
        return all(hasattr(step, "inverse_transform") for step in self.transformers)

    def undo(self, rows: Any) -> Floats:
        """Return centers in the units of X; NaN for features that an imputer leaves out."""
        for step in reversed(self.transformers):
            if type(step).__name__ == "SimpleImputer":  # its own inverse is for gaps
                known = ~np.isnan(np.asarray(step.statistics_, dtype=np.float64))
                whole = np.full((len(rows), len(known)), np.nan)
                whole[:, known | step.keep_empty_features] = rows
                rows = whole
            else:
                rows = step.inverse_transform(rows)
        return np.asarray(rows)

    def names_out(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        """Return names of the features of the model; None if X has none."""
        for step in self.transformers if names is not None else ():
            names = [str(name) for name in step.get_feature_names_out(names)]
        return None if names is None else tuple(names)


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and bool(np.isnan(value))
