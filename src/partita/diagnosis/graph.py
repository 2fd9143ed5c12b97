"""Clusters that are not convex: does a cut of the neighbour graph follow the rows better?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._typing import Floats, Ints
from partita.diagnosis.look import Look
from partita.diagnosis.record import Finding, Skip
from partita.diagnosis.sample import Sample
from partita.diagnosis.subject import ROWS, SPACE
from partita.diagnosis.view import View
from partita.estimators.kernel import KernelKMeans
from partita.estimators.kmeans import KMeans

SAMPLE = 2000  # rows: neighbours of neighbours span a group of that many
VALUES = 1 << 23  # at most, where there are very many features
PER_CLUSTER = 20  # rows in a sample; with fewer the graph is nearly complete
# Neighbours, and what share of the cut by K-means is suspicious: round, overlapping and uniform data
# stay above it. Many neighbours see through noise, few see thin groups.
SCALES = ((12, 0.4), (7, 0.28))
LEAST = 1e-3  # a cut (as share of the links) that may as well be chance
STARTS = 5  # of K-means, whose best is compared: a poor start is no matter of shape


def not_convex(view: View) -> Finding | None:
    """A partition of the neighbour graph cuts far fewer links."""
    if view.k < 2 or view.d < 2:
        raise Skip("it takes two clusters and two features")
    sample = view.sample(min(SAMPLE, max(1, VALUES // view.d)), "graph")
    sample, k = _without_tiny(sample, SCALES[0][0])
    if k < 2 or len(sample.weight) < PER_CLUSTER * k:
        raise Skip(f"it takes two clusters of {PER_CLUSTER} distinct rows")
    rows = sample.dense(view.middle)
    runs = Runs(k, int(view.rng("graph").integers(2**31)), view.subject.threads)
    means = runs.means(rows, sample.weight)
    for neighbours, better in SCALES:
        links = _links(rows, sample.weight, neighbours)
        ours = min(_cut(links, sample.labels, k), _cut(links, means, k))
        theirs = _cut(links, runs.cut(links), k) if ours > LEAST else ours
        if theirs <= better * ours:
            break
    else:
        return None
    recipe = _recipe(view, runs, rows, sample, neighbours, 1.5 * theirs + LEAST)
    return Finding(
        "not-convex",
        "Groups that K-means cannot outline are suspected (not convex, or very unequal): a "
        "partition that follows neighbours from row to row cuts far fewer of their links.",
        f"Normalised cut {theirs:.3g} in place of {ours:.3g} with the same K, on the graph of "
        f"{neighbours} neighbours{sample.told}.",
        f"Look at a picture, and try {recipe}.",
    )


def _without_tiny(sample: Sample, neighbours: int) -> tuple[Sample, int]:
    """The rows of clusters that can hold a row with its neighbours, numbered anew."""
    large = np.bincount(sample.labels) > neighbours
    some = np.flatnonzero(large[sample.labels])
    number = np.cumsum(large) - 1
    part = replace(
        sample,
        rows=sample.rows[some],
        weight=sample.weight[some],
        labels=number[sample.labels[some]],
        index=sample.index[some],
    )
    return part, int(large.sum())


def _links(rows: Floats, weight: Floats, neighbours: int) -> Any:
    """Rows linked by how many neighbours they share."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, neighbours, include_self=True, n_jobs=1)
    near = sp.diags_array(weight / weight.mean()) @ near
    return sp.csr_array(near @ near.T)


def _cut(links: Any, labels: Ints, k: int) -> float:
    """The normalised cut: Σ over clusters of links that leave it / links that begin in it."""
    z = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), k))
    between = (z.T @ (links @ z)).toarray()
    begin = between.sum(axis=1)
    some = begin > 0
    return float((1 - between.diagonal()[some] / begin[some]).sum())


@dataclass(frozen=True, slots=True)
class Runs:
    """Partitions of the sample by several means, all with the same K and seed."""

    k: int
    seed: int
    threads: int

    def means(self, rows: Floats, weight: Floats) -> Ints:
        """By K-means: the best of a few starts."""
        model = KMeans(self.k, n_init=STARTS, random_state=self.seed, n_threads=self.threads)
        return model.fit(rows, sample_weight=weight).labels_

    def cut(self, links: Any) -> Ints:
        """By the normalised cut of a graph."""
        return self._kernel(links, kernel="normalized-cut")

    def smooth(self, rows: Floats, weight: Floats, gamma: float) -> Ints:
        """By the rbf kernel."""
        return self._kernel(rows, weight, gamma=gamma, init="spectral")

    def _kernel(self, X: Any, weight: Floats | None = None, **how: Any) -> Ints:
        model = KernelKMeans(self.k, random_state=self.seed, n_threads=self.threads, **how)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cluster may come out empty: its cut tells
            return model.fit(X, sample_weight=weight).labels_


def _recipe(
    view: View, runs: Runs, rows: Floats, sample: Sample, neighbours: int, enough: float
) -> str:
    """How to get such a partition: by rbf, which is simpler, if its cut is low enough."""
    gamma = float(f"{_gamma(rows, neighbours):.3g}")
    labels = runs.smooth(rows, sample.weight, gamma)
    if _cut(_links(rows, sample.weight, neighbours), labels, runs.k) <= enough:
        return f"KernelKMeans({view.k}, kernel='rbf', gamma={gamma:g}, init='spectral').fit(X)"
    return (
        f"G = kneighbors_graph(X, {neighbours}, include_self=True) of sklearn.neighbors and "
        f"KernelKMeans({view.k}, kernel='normalized-cut').fit(G @ G.T)"
    )


def _gamma(rows: Floats, neighbours: int) -> float:
    """Of rbf: such that the links of a row reach as far as its neighbours."""
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=neighbours, n_jobs=1).fit(rows)
    reach = float(np.median(near.kneighbors()[0][:, -1]))
    return 1 / (2 * reach**2) if reach > 0 else 1.0


LOOKS = (Look("not-convex", not_convex, (ROWS, SPACE)),)
