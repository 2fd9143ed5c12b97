"""Displays of fits: arrays that are computed once, and drawn by matplotlib.

Every class computes in `from_estimator` (or `from_sweep`, `from_labels`), draws in `plot(ax=None)`
and writes a file with `save(path)`. A notebook shows a display without a call. pyplot is not used.
For a pipeline, the last step is drawn, in the space of its rows.

>>> from partita import KMeans, plots
>>> X = [[1, 2], [1, 4], [10, 2], [10, 4]]
>>> display = plots.ClusterDisplay.from_estimator(KMeans(2, random_state=0).fit(X), X)
>>> display.title
'KMeans: 2 clusters, J = 4'
"""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita.plots.cluster_display import ClusterDisplay
    from partita.plots.criteria_display import CriteriaDisplay
    from partita.plots.iterations_display import IterationsDisplay
    from partita.plots.merge_tree_display import MergeTreeDisplay
    from partita.plots.objective_display import ObjectiveDisplay
    from partita.plots.profile_display import ProfileDisplay
    from partita.plots.silhouette_display import SilhouetteDisplay

__all__ = [
    "ClusterDisplay",
    "CriteriaDisplay",
    "IterationsDisplay",
    "MergeTreeDisplay",
    "ObjectiveDisplay",
    "ProfileDisplay",
    "SilhouetteDisplay",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'partita.plots' has no attribute {name!r}")
    module = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()  # cluster_display for ClusterDisplay
    value = globals()[name] = getattr(importlib.import_module(f"partita.plots.{module}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
