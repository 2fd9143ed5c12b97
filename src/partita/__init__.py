"""partita: partitional clustering, exact, fast, reproducible, and with reasons for its answer.

`import partita` is cheap: scikit-learn, SciPy and the kernels are loaded when a name that needs
them is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partita import halting, plots, report, theory
    from partita._common.warnings import IndefiniteKernelWarning, InterruptedFitWarning
    from partita._versions import show_versions
    from partita.certificates.certificate import Certificate
    from partita.choosing.choose_k import choose_k
    from partita.choosing.sweep import Sweep
    from partita.coresets import Coreset, coreset
    from partita.diagnosis.diagnose import diagnose
    from partita.diagnosis.finding import Diagnosis, Finding
    from partita.empty_clusters import EmptyClusterError
    from partita.estimators.balanced import BalancedKMeans
    from partita.estimators.bisecting import BisectingKMeans
    from partita.estimators.certification import certify
    from partita.estimators.checkpoint import Checkpoint
    from partita.estimators.functions import k_means, kmeans_plusplus
    from partita.estimators.kernel.estimator import KernelKMeans
    from partita.estimators.kmeans import KMeans
    from partita.estimators.medoids.estimator import KMedoids
    from partita.estimators.minibatch import MiniBatchKMeans
    from partita.estimators.prototypes.estimator import KPrototypes
    from partita.estimators.registry import register
    from partita.estimators.spherical import SphericalKMeans
    from partita.estimators.trimmed import TrimmedKMeans
    from partita.factorization import Factorization, factorize
    from partita.merging.tree import MergeTree, merge_tree
    from partita.metrics.silhouette import (
        sampled_silhouette,
        silhouette_samples,
        silhouette_score,
    )
    from partita.model_file import ModelFileError, load, save, to_sklearn
    from partita.new_rows.compare_with_fit import compare_with_fit
    from partita.new_rows.comparison import Comparison
    from partita.optimum.exact import ExactProgress, ExactResult, exact
    from partita.progress.bars import progress_bar
    from partita.report.describe import Description, describe
    from partita.scanning.scan import Scan, scan
    from partita.stats import ClusterStats
    from partita.trace import Progress, Trace
    from partita.voronoi.principal_plane import pca_plane
    from partita.voronoi.voronoi_cells import Cells, cells

__version__ = "0.1.0"

_HOME = {
    "BalancedKMeans": "partita.estimators.balanced",
    "BisectingKMeans": "partita.estimators.bisecting",
    "Cells": "partita.voronoi.voronoi_cells",
    "Certificate": "partita.certificates.certificate",
    "Checkpoint": "partita.estimators.checkpoint",
    "ClusterStats": "partita.stats",
    "Comparison": "partita.new_rows.comparison",
    "Coreset": "partita.coresets",
    "Description": "partita.report.describe",
    "Diagnosis": "partita.diagnosis",
    "EmptyClusterError": "partita.empty_clusters",
    "ExactProgress": "partita.optimum.exact",
    "ExactResult": "partita.optimum.exact",
    "Factorization": "partita.factorization",
    "Finding": "partita.diagnosis",
    "IndefiniteKernelWarning": "partita._common.warnings",
    "InterruptedFitWarning": "partita._common.warnings",
    "KMeans": "partita.estimators.kmeans",
    "KMedoids": "partita.estimators.medoids.estimator",
    "KPrototypes": "partita.estimators.prototypes.estimator",
    "KernelKMeans": "partita.estimators.kernel.estimator",
    "MergeTree": "partita.merging.tree",
    "MiniBatchKMeans": "partita.estimators.minibatch",
    "ModelFileError": "partita.model_file",
    "Progress": "partita.trace",
    "Scan": "partita.scanning.scan",
    "SphericalKMeans": "partita.estimators.spherical",
    "Sweep": "partita.choosing.sweep",
    "Trace": "partita.trace",
    "TrimmedKMeans": "partita.estimators.trimmed",
    "cells": "partita.voronoi.voronoi_cells",
    "certify": "partita.estimators.certification",
    "choose_k": "partita.choosing.choose_k",
    "compare_with_fit": "partita.new_rows.compare_with_fit",
    "coreset": "partita.coresets",
    "describe": "partita.report.describe",
    "diagnose": "partita.diagnosis",
    "exact": "partita.optimum.exact",
    "factorize": "partita.factorization",
    "k_means": "partita.estimators.functions",
    "kmeans_plusplus": "partita.estimators.functions",
    "load": "partita.model_file",
    "merge_tree": "partita.merging.tree",
    "pca_plane": "partita.voronoi.principal_plane",
    "progress_bar": "partita.progress.bars",
    "register": "partita.estimators.registry",
    "sampled_silhouette": "partita.metrics.silhouette",
    "save": "partita.model_file",
    "scan": "partita.scanning.scan",
    "show_versions": "partita._versions",
    "silhouette_samples": "partita.metrics.silhouette",
    "silhouette_score": "partita.metrics.silhouette",
    "to_sklearn": "partita.model_file",
}
_MODULES = ("halting", "plots", "report", "theory")

__all__ = [
    "BalancedKMeans",
    "BisectingKMeans",
    "Cells",
    "Certificate",
    "Checkpoint",
    "ClusterStats",
    "Comparison",
    "Coreset",
    "Description",
    "Diagnosis",
    "EmptyClusterError",
    "ExactProgress",
    "ExactResult",
    "Factorization",
    "Finding",
    "IndefiniteKernelWarning",
    "InterruptedFitWarning",
    "KMeans",
    "KMedoids",
    "KPrototypes",
    "KernelKMeans",
    "MergeTree",
    "MiniBatchKMeans",
    "ModelFileError",
    "Progress",
    "Scan",
    "SphericalKMeans",
    "Sweep",
    "Trace",
    "TrimmedKMeans",
    "__version__",
    "cells",
    "certify",
    "choose_k",
    "compare_with_fit",
    "coreset",
    "describe",
    "diagnose",
    "exact",
    "factorize",
    "halting",
    "k_means",
    "kmeans_plusplus",
    "load",
    "merge_tree",
    "pca_plane",
    "plots",
    "progress_bar",
    "register",
    "report",
    "sampled_silhouette",
    "save",
    "scan",
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
