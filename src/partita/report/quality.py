"""How good a fit is: the objective, what it explains, and the silhouettes of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._random import generator
from partita._typing import Floats, Ints
from partita.choosing.silhouette import silhouettes_of_some
from partita.estimators.kernel import KernelKMeans
from partita.estimators.medoids import KMedoids
from partita.factorization import factorize
from partita.merging import MergeTree, merge_tree
from partita.plots.reading import is_spherical
from partita.report.fitted import Case
from partita.source.blocks import exact_total

_WORK = 4e9  # products of differences that silhouettes may take: some seconds
_LEAST = 30  # rows of every cluster that are measured, where rows are sampled
_SCORES = 5e7  # numbers of rows times clusters beyond which no tree of medoids is made


@dataclass(frozen=True, slots=True)
class Silhouettes:
    """Silhouettes of rows, of all or of some that are compared with all."""

    values: Floats  # (m,)
    labels: Ints  # (m,)
    means: Floats  # (k,) of the clusters; NaN where there is none
    mean: float
    error: float  # standard error of the mean; 0 if nothing was sampled
    of: int  # how many rows could have been measured

    @property
    def is_sampled(self) -> bool:
        """Whether these are not all rows."""
        return len(self.values) < self.of

    @property
    def words(self) -> str:
        """What the mean says of the clusters."""
        for least, text in ((0.7, "far apart"), (0.5, "apart"), (0.25, "touching")):
            if self.mean >= least:
                return f"the clusters are {text}"
        return "the clusters overlap, or there are none"


@dataclass(frozen=True, slots=True)
class Quality:
    """Figures of merit; where one is None, its note says why."""

    objective: float | None
    explained: float | None
    explained_note: str
    silhouettes: Silhouettes | None
    silhouettes_note: str
    tree: MergeTree | None
    tree_note: str


def quality_of(case: Case) -> Quality:
    """Measure a fit; what does not apply to this kind of model is left out, with the reason."""
    tree, tree_note = _attempt(_tree, case)
    explained, explained_note = _attempt(lambda case: _explained(case, tree), case)
    silhouettes, silhouettes_note = _attempt(_silhouettes, case)
    cost = getattr(case.model, "inertia_", None)
    return Quality(
        objective=None if cost is None else float(cost),
        explained=explained,
        explained_note=explained_note,
        silhouettes=silhouettes,
        silhouettes_note=silhouettes_note,
        tree=tree,
        tree_note=tree_note,
    )


class _NotHere(Exception):
    """It does not apply; the message says why."""


def _attempt(find: Any, case: Case) -> tuple[Any, str]:
    try:
        return find(case), ""
    except _NotHere as why:
        return None, str(why)


def _tree(case: Case) -> MergeTree:
    needs_rows = isinstance(case.model, (KernelKMeans, KMedoids))
    if needs_rows and case.n * case.k > _SCORES:
        raise _NotHere("There are too many rows to price the merges of this kind of cluster.")
    if not needs_rows and getattr(case.model, "stats_", None) is None:
        raise _NotHere("The model keeps no summaries of its clusters.")
    try:
        return merge_tree(case.model, *((case.rows, case.given_weight) if needs_rows else ()))
    except ValueError as error:
        raise _NotHere(f"{str(error)[0].upper()}{str(error)[1:].rstrip('.')}.") from error


def _explained(case: Case, tree: MergeTree | None) -> float:
    if isinstance(case.model, KMedoids):
        raise _NotHere("Medoids do not explain variance: they are rows, not means.")
    if isinstance(case.model, KernelKMeans):
        whole = math.nan if tree is None else tree.cost_at(1)
        if not whole > 0:
            raise _NotHere("The variance in the feature space of the kernel was not measured.")
        return float(1 - case.model.inertia_ / whole)
    if getattr(case.model, "cluster_centers_", None) is None:
        raise _NotHere("The model has no centers.")
    found = factorize(case.model, case.rows, case.given_weight).explained_variance
    if not math.isfinite(found):
        raise _NotHere("All rows are equal: there is no variance to explain.")
    return float(found)


def _silhouettes(case: Case) -> Silhouettes:
    metric = _metric(case)
    inside = np.flatnonzero((case.labels >= 0) & (case.weight > 0))
    labels = case.labels[inside]
    sizes = np.bincount(labels, minlength=case.k)
    if (sizes > 0).sum() < 2:
        raise _NotHere("A silhouette compares a cluster with another, and there is only one.")
    weight = case.weight[inside]
    if sizes.max() < 2 and not (weight > 1).any():
        raise _NotHere("Every row is a cluster of its own: there are no others to compare with.")
    rows = case.rows
    if len(inside) < case.n and case.is_matrix:
        raise _NotHere("Some rows of the matrix belong to no cluster, or have no weight.")
    if len(inside) < case.n:
        rows = rows[inside]
    points = _points(labels, sizes, _WORK / (len(labels) * max(1, rows.shape[1])))
    values = silhouettes_of_some(
        rows,
        labels,
        points,
        metric=metric,
        sample_weight=None if case.fitted.weight is None else weight,
        n_threads=getattr(case.model, "n_threads", None),
    )
    mass = np.bincount(labels, weight, case.k).astype(np.float64)
    return _of_strata(values, labels[points], weight[points], mass, sizes)


def _metric(case: Case) -> Any:
    model = case.model
    if isinstance(model, KernelKMeans):
        raise _NotHere("The clusters of a kernel lie in its feature space, not among the rows.")
    if getattr(model, "metric_params", None):
        raise _NotHere("The metric has parameters that silhouettes are not measured with.")
    return "cosine" if is_spherical(model) else getattr(model, "metric", "euclidean")


def _points(labels: Ints, sizes: Ints, most: float) -> Ints:
    """Which rows to measure: all, or of every cluster its share of `most`, and no fewer than 30."""
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = generator(0)
    share = most / len(labels)
    drawn = []
    for j in np.flatnonzero(sizes):
        members = np.flatnonzero(labels == j)
        m = min(len(members), max(_LEAST, round(share * len(members))))
        drawn.append(rng.choice(members, m, replace=False))
    return np.sort(np.concatenate(drawn))


def _of_strata(
    values: Floats, labels: Ints, weight: Floats, mass: Floats, sizes: Ints
) -> Silhouettes:
    """The mean over clusters of known mass, each known by a sample of its rows."""
    k = len(mass)
    heavy = np.bincount(labels, weight, k)
    safe = np.where(heavy > 0, heavy, 1.0)
    means = np.where(heavy > 0, np.bincount(labels, weight * values, k) / safe, np.nan)
    count = np.bincount(labels, minlength=k)
    gap = np.where(heavy[labels] > 0, values - np.nan_to_num(means)[labels], 0.0)
    variance = np.bincount(labels, weight * gap**2, k) / safe
    left = 1 - count / np.maximum(sizes, 1)
    share = mass / mass.sum()
    error = math.sqrt(float((share**2 * variance * left / np.maximum(count - 1, 1)).sum()))
    if len(values) == sizes.sum():  # as `silhouette_score` adds it up
        mean, error = exact_total(weight * values) / exact_total(weight), 0.0
    else:
        mean = float(share @ np.nan_to_num(means))
    return Silhouettes(values, labels, means, mean, error, int(sizes.sum()))
