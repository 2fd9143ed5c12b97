"""partita: partitional clustering, exact, fast, reproducible and honest about its answer.

`import partita` is cheap: scikit-learn, SciPy and the kernels are loaded when a name that needs
them is first touched.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita import halting, plots, report, theory
    from partita._versions import show_versions
    from partita._warnings import IndefiniteKernelWarning
    from partita.choosing.choose import choose_k
    from partita.choosing.record import Sweep
    from partita.choosing.silhouette import (
        sampled_silhouette,
        silhouette_samples,
        silhouette_score,
    )
    from partita.diagnosis import Diagnosis, Finding, diagnose
    from partita.empty import EmptyClusterError
    from partita.estimators.functions import k_means, kmeans_plusplus
    from partita.estimators.kernel import KernelKMeans
    from partita.estimators.kmeans import KMeans
    from partita.estimators.medoids import KMedoids
    from partita.estimators.minibatch import MiniBatchKMeans
    from partita.estimators.spherical import SphericalKMeans
    from partita.factorization import Factorization, factorize
    from partita.merging import MergeTree, merge_tree
    from partita.model_file import ModelFileError, load, save, to_sklearn
    from partita.planes import pca_plane
    from partita.progress import Progress, Trace
    from partita.stats import ClusterStats
    from partita.voronoi import Cells, cells

__version__ = "0.1.0"

_HOME = {
    "Cells": "partita.voronoi",
    "ClusterStats": "partita.stats",
    "Diagnosis": "partita.diagnosis",
    "EmptyClusterError": "partita.empty",
    "Factorization": "partita.factorization",
    "Finding": "partita.diagnosis",
    "IndefiniteKernelWarning": "partita._warnings",
    "KMeans": "partita.estimators.kmeans",
    "KMedoids": "partita.estimators.medoids",
    "KernelKMeans": "partita.estimators.kernel",
    "MergeTree": "partita.merging",
    "MiniBatchKMeans": "partita.estimators.minibatch",
    "ModelFileError": "partita.model_file",
    "Progress": "partita.progress",
    "SphericalKMeans": "partita.estimators.spherical",
    "Sweep": "partita.choosing.record",
    "Trace": "partita.progress",
    "cells": "partita.voronoi",
    "choose_k": "partita.choosing.choose",
    "diagnose": "partita.diagnosis",
    "factorize": "partita.factorization",
    "k_means": "partita.estimators.functions",
    "kmeans_plusplus": "partita.estimators.functions",
    "load": "partita.model_file",
    "merge_tree": "partita.merging",
    "pca_plane": "partita.planes",
    "sampled_silhouette": "partita.choosing.silhouette",
    "save": "partita.model_file",
    "show_versions": "partita._versions",
    "silhouette_samples": "partita.choosing.silhouette",
    "silhouette_score": "partita.choosing.silhouette",
    "to_sklearn": "partita.model_file",
}
_MODULES = ("halting", "plots", "report", "theory")

__all__ = [
    "Cells",
    "ClusterStats",
    "Diagnosis",
    "EmptyClusterError",
    "Factorization",
    "Finding",
    "IndefiniteKernelWarning",
    "KMeans",
    "KMedoids",
    "KernelKMeans",
    "MergeTree",
    "MiniBatchKMeans",
    "ModelFileError",
    "Progress",
    "SphericalKMeans",
    "Sweep",
    "Trace",
    "__version__",
    "cells",
    "choose_k",
    "diagnose",
    "factorize",
    "halting",
    "k_means",
    "kmeans_plusplus",
    "load",
    "merge_tree",
    "pca_plane",
    "plots",
    "report",
    "sampled_silhouette",
    "save",
    "show_versions",
    "silhouette_samples",
    "silhouette_score",
    "theory",
    "to_sklearn",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"partita.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'partita' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
