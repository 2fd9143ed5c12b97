"""`Capabilities`: what a fitted model offers, declared by its class and read by all other code.

A member of the family has a method `__partita_capabilities__(self) -> Capabilities`. It need not
inherit from anything here. Models without that method get a record in `fitted_models`.
No code outside this package tests the class of a model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from partita._common.array_types import Array, Floats, Ints
from partita.geometry import EUCLIDEAN, Geometry
from partita.source.mixed_rows import MixedView

# Needs: what a consumer may require. `Capabilities.lacks` maps the missing ones to the reason.
ROWS = "rows"  # X is a table with one row per sample
FEATURES = "features"  # the features add up in the distance, each on its own scale
SPACE = "space"  # clusters lie in the space of the rows, and distances are Euclidean
CELLS = "cells"  # a row belongs to its nearest center, by Euclidean distances or by angles
MEANS = "means"  # centers are means
REFIT = "refit"  # the model can be fitted again, with other weights
METRIC = "metric"  # silhouettes can compare rows by `metric`
MERGES = "merges"  # merging two clusters has a cost
REPLAY = "replay"  # the fit can be repeated iteration by iteration
COMPLETE = "complete rows"  # every distance is over all features
BOUNDS = "certificates"  # lower bounds of the objective are known
SWEEP = "sweep"  # fits for several K can be compared by their costs and silhouettes

# By the kind of start that `init` accepts, the attribute of a fit that is one
WARM_STARTS = {
    "centers": "cluster_centers_",
    "medoid_indices": "medoid_indices_",
    "labels": "labels_",
}

# Kinds of input
DISSIMILARITIES = "dissimilarities"
INNER_PRODUCTS = "inner products"
AFFINITIES = "affinities"


@dataclass(frozen=True, slots=True)
class Replay:
    """Repetition of a fit: its first t iterations are the repeated fit with max_iter=t."""

    rerun: Callable[[], Any]  # an unfitted model that makes the same run
    at_start: Callable[[Any], Any]  # X -> the fitted model with the centers it started from

    @classmethod
    def from_centers(cls, model: Any) -> Replay:
        """For a fitted member that has centers `start_` and accepts centers as `init`."""

        def at_start(X: Any) -> Any:
            first = copy.copy(model)
            geometry = model.__partita_capabilities__().geometry
            start = model.start_ if geometry is None else geometry.start(model.start_)
            first.cluster_centers_ = start.astype(model.cluster_centers_.dtype)
            first._n_features_out = len(start)
            return first

        return cls(lambda: unfitted(model, init=model.start_), at_start)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """A frozen record of what a model offers; the defaults describe K-means.

    The callables take X as `predict` does and need a fitted model; None if there is no answer.
    """

    input: str = ROWS  # what X is: ROWS, DISSIMILARITIES, INNER_PRODUCTS or AFFINITIES
    # EUCLIDEAN or SPHERICAL, if J is a sum over rows and centers of one space; None: J is something
    # else, and `costs` and `distances` describe it
    geometry: Geometry | None = EUCLIDEAN
    # the needs (constants of this module) that the model does not meet, with the reason
    lacks: Mapping[str, str] = field(default_factory=dict)
    # how silhouettes compare rows: a name, a callable, "precomputed" if X holds dissimilarities
    metric: Any = "euclidean"
    distance_name: str = "distance to the center"  # what `transform` measures
    squared: bool = True  # J adds up squares of these distances
    # the cost of a merge: by summaries of the clusters ("means"); by distances between means that
    # have no coordinates ("distances"); by the better of two representatives ("representatives")
    merge_rule: str = "means"
    # -> pairs (k − 1, 2), as in SciPy's linkage, if the fit made a tree: the merges that undo it
    merges: Callable[[], Ints] | None = None
    # k -> the model with fewer clusters that the fit passed through, as a fit with k would be
    fewer: Callable[[int], Any] | None = None
    # what `init` accepts to start from a fit with more or fewer clusters: "centers",
    # "medoid_indices", "labels" or None
    warm_start: str | None = "centers"
    sampled_trace: bool = False  # costs of iterations are those of samples, not of all rows
    exact_sums: bool = False  # the sums of a fit are exact: the order of rows does not matter
    assumes_means: bool = False  # data must show that centers are means
    # X -> labels (n,), and what each cluster would add to J (n, k), lowest at the label
    costs: Callable[[Any], tuple[Array, Floats]] | None = None
    # X -> distances (n, k); of inner products (X, diagonal) -> distances
    distances: Callable[..., Floats] | None = None
    # -> distances (k,) of a row that has nothing in common with a cluster, if there is such a bound
    unrelated: Callable[[], Floats] | None = None
    # X -> (rows or dissimilarities, metric) for silhouettes, where `metric` is not enough
    pairs: Callable[[Any], tuple[Any, Any]] | None = None
    # X -> (rows as the model compares them, their index in X)
    place_rows: Callable[[Any], tuple[Any, Any]] | None = None
    # checked rows -> the same without gaps: a missing value is that of the row's center, so that
    # labels and costs stay the same; None: the model takes no gaps
    complete: Callable[[Any], Any] | None = None
    # X -> its numbers, its categories, and rows in a Euclidean space, if X is a table of both
    mixed: Callable[[Any], MixedView] | None = None
    # (X, weight, workers, halt) -> `LloydSession`, for many fits to the same rows
    open_session: Callable[..., Any] | None = None
    # (X, weight, workers) -> `CertifiedPartition`, where that of the centers is not what J is of
    certified: Callable[..., Any] | None = None
    replay: Replay | None = None
    # what rows without a cluster are, for the place after "left out: 3 rows (5 %), ";
    # empty if every row has one
    left_out: str = ""
    # -> facts about the fit that only this member has: names and sentences, for people
    facts: Callable[[], list[tuple[str, str]]] | None = None
    searches: bool = False  # `fit` accepts quality="balanced" and quality="best"

    @property
    def takes_matrix(self) -> bool:
        """Return whether X is a matrix between rows."""
        return self.input != ROWS

    def has(self, *needs: str) -> bool:
        """Return whether the model meets all of these needs."""
        return not any(need in self.lacks for need in needs)

    def why_not(self, need: str) -> str:
        """The reason why a need is not met."""
        return self.lacks.get(need, f"it does not support {need}")


def lacking(why: str, *needs: str) -> dict[str, str]:
    """The same reason for several needs."""
    return dict.fromkeys(needs, why)


FEATURE_SPACE = "the clusters of a kernel lie in its feature space, not among the rows"
# What no model can offer that was fitted to a matrix
MATRIX_LACKS = lacking(
    "it was fitted to a matrix, not to rows", ROWS, FEATURES, SPACE, CELLS, MEANS, REFIT, REPLAY
)


def unfitted(model: Any, **params: Any) -> Any:
    """Return an unfitted copy that prints nothing and makes one run, with other parameters."""
    from sklearn.base import clone

    once = {"callback": None, "verbose": 0, "n_init": 1, "quality": "fast", "time_budget": None}
    return set_known(clone(model), **{**once, **params})


def set_known(model: Any, **params: Any) -> Any:
    """Set those parameters that the model has."""
    known = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in params.items() if name in known})
