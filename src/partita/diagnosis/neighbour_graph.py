"""Clusters that are not convex: does a cut of the neighbour graph follow the rows better?"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, Skip
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import ROWS, SPACE
from partita.diagnosis.row_sample import Sample
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.kmeans import KMeans

SAMPLE = 2000  # rows: neighbours of neighbours span a group of that many
VALUES = 1 << 23  # at most, where there are very many features
PER_CLUSTER = 20  # rows in a sample; with fewer the graph is nearly complete
NEIGHBOURS = 12  # that rows may share: enough to see through noise, few enough to see a gap
BETTER = 0.4  # of the cut by K-means: round, overlapping and uniform data stay above it
LEAST = 1e-3  # a cut that may as well be chance
STARTS = 5  # of K-means, whose best is compared: a poor start is no matter of shape
CLOSE = 8  # neighbours that must be mutual, for rows to be in one piece
PIECE, PART = 20, 0.1  # rows, and share of its cluster: a smaller piece may be chance
TRIED = (12, 7, 5)  # neighbours, of the graphs that may be advised
WAYS_OUT = 3  # links of a piece to other clusters, by which it goes on there


def not_convex(view: View) -> Finding | None:
    """Following neighbours from row to row gives other groups."""
    if view.k < 2 or view.d < 2:
        raise Skip("it takes two clusters and two features")
    sample = view.sample(min(SAMPLE, max(1, VALUES // view.d)), "graph")
    sample, k = _without_tiny(sample, NEIGHBOURS)
    if k < 2 or len(sample.weight) < PER_CLUSTER * k:
        raise Skip(f"it takes two clusters of {PER_CLUSTER} distinct rows")
    rows = sample.dense(view.middle)
    runs = Runs(k, int(view.rng("graph").integers(2**31)), view.facts.threads)
    means, links = runs.means(rows, sample.weight), _links(rows, sample.weight)
    ours = min(_cut(links, sample.labels, k), _cut(links, means, k))
    theirs = _cut(links, runs.cut(links), k)
    near = _mutual(rows)
    broken = min(_broken(near, sample.labels, k), _broken(near, means, k))
    evidence = []
    if broken:
        evidence.append(
            f"{broken} of {k} clusters fall into pieces that are linked only through other clusters"
        )
    if ours > LEAST and theirs <= BETTER * ours:
        evidence.append(
            f"a normalised cut of the graph of {NEIGHBOURS} neighbours is {theirs:.3g} in place of "
            f"{ours:.3g} with the same K"
        )
    if not evidence:
        return None
    text = "; ".join(evidence)
    return Finding(
        "not-convex",
        "Groups that K-means cannot outline are suspected (not convex, or very unequal).",
        f"Following neighbours from row to row, {text}{sample.told}.",
        "Look at a picture, and try " + _recipe(runs, rows, sample, means, near) + ".",
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


def _links(rows: Floats, weight: Floats, neighbours: int = NEIGHBOURS) -> Any:
    """Rows linked by how many neighbours they share."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, neighbours, include_self=True, n_jobs=1)
    near = sp.diags(weight / weight.mean()) @ near  # diags_array came with SciPy 1.12
    return sp.csr_array(near @ near.T)


def _cut(links: Any, labels: Ints, k: int) -> float:
    """The normalised cut: Σ over clusters of links that leave it / links that begin in it."""
    z = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), k))
    between = (z.T @ (links @ z)).toarray()
    begin = between.sum(axis=1)
    some = begin > 0
    return float((1 - between.diagonal()[some] / begin[some]).sum())


def _mutual(rows: Floats) -> Any:
    """Links of rows that are each among the neighbours of the other."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, CLOSE, n_jobs=1)
    return near.minimum(near.T).tocoo()


def _broken(near: Any, labels: Ints, k: int) -> int:
    """How many clusters have two or more pieces that go on in other clusters.

    A convex group that was cut by a face leaves one piece on each side. An arm that winds around
    another leaves several, with the other's between them.
    """
    from scipy.sparse.csgraph import connected_components

    inside = labels[near.row] == labels[near.col]
    links = (np.ones(int(inside.sum())), (near.row[inside], near.col[inside]))
    count, piece = connected_components(sp.csr_matrix(links, shape=near.shape), directed=False)
    size, out = np.bincount(piece), np.bincount(piece[near.row[~inside]], minlength=count)
    owner = labels[np.unique(piece, return_index=True)[1]]
    least = np.maximum(PIECE, PART * np.bincount(labels, minlength=k)[owner])
    counts = np.bincount(owner[(size >= least) & (out >= WAYS_OUT)], minlength=k)
    return int((counts >= 2).sum())


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
        model = KernelKMeans(
            self.k, kernel="normalized-cut", random_state=self.seed, n_threads=self.threads
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a cluster may come out empty: its cut tells
            return model.fit(links).labels_


def _recipe(runs: Runs, rows: Floats, sample: Sample, means: Ints, near: Any) -> str:
    """What gave the least broken, and among these the least cut, clusters."""
    links = _links(rows, sample.weight)
    price = {0: (_broken(near, means, runs.k), _cut(links, means, runs.k))}
    for neighbours in TRIED:
        labels = runs.cut(_links(rows, sample.weight, neighbours))
        price[neighbours] = _broken(near, labels, runs.k), _cut(links, labels, runs.k)
    best = min(price, key=lambda neighbours: price[neighbours])
    if not best:
        return "KernelKMeans with other kernels, or sklearn.cluster.HDBSCAN"
    return (
        f"KernelKMeans({runs.k}, kernel='normalized-cut').fit(G @ G.T), where G = "
        f"sklearn.neighbors.kneighbors_graph(X, {best}, include_self=True)"
    )


LOOKS = (Look("not-convex", not_convex, (ROWS, SPACE)),)
