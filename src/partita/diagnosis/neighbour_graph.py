"""Check for clusters that are not convex, by cuts of a graph of neighbours."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita.diagnosis.check import Check
from partita.diagnosis.finding import CheckSkipped, Finding
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.row_sample import RowSample
from partita.estimators.capabilities import ROWS, SPACE
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.kmeans import KMeans

SAMPLE_ROWS = 2000  # neighbours of neighbours connect a group of that many
MAX_SAMPLE_VALUES = 1 << 23  # fewer rows, if there are very many features
MIN_ROWS_PER_CLUSTER = 20  # in the sample; with fewer the graph is nearly complete
NEIGHBOURS = 12  # in the graph of shared neighbours: robust to noise, and few enough to see a gap
MAX_CUT_RATIO = 0.4  # cut over that of K-means; round, overlapping and uniform data stay above it
MIN_CUT = 1e-3  # a smaller cut may be chance
N_INIT = 5  # of K-means, whose best run is compared: a poor start says nothing about shape
MUTUAL_NEIGHBOURS = 8  # for rows to be in one piece
PIECE_MIN_ROWS, PIECE_MIN_SHARE = 20, 0.1  # of its cluster: a smaller piece may be chance
PIECE_MIN_EXITS = 3  # links to other clusters, through which a piece continues there
ADVISED_NEIGHBOURS = (12, 7, 5)  # of the graphs that the advice chooses from


def check_convexity(fit: FitContext) -> Finding | None:
    """Report if following neighbours from row to row gives other groups."""
    if fit.k < 2 or fit.d < 2:
        raise CheckSkipped("there is one cluster or one feature only")
    sample = fit.sample(min(SAMPLE_ROWS, max(1, MAX_SAMPLE_VALUES // fit.d)), "graph")
    sample, k = _without_tiny_clusters(sample)
    if k < 2 or len(sample.weight) < MIN_ROWS_PER_CLUSTER * k:
        raise CheckSkipped(f"it needs two clusters of {MIN_ROWS_PER_CLUSTER} distinct rows")
    rows = sample.dense(fit.mean)
    partitions = SamplePartitions(k, int(fit.rng("graph").integers(2**31)), fit.facts.threads)
    by_means, links = partitions.by_means(rows, sample.weight), _links(rows, sample.weight)
    cut = min(_normalized_cut(links, sample.labels, k), _normalized_cut(links, by_means, k))
    best_cut = _normalized_cut(links, partitions.by_cut(links), k)
    mutual = _mutual_links(rows)
    broken = min(_count_broken(mutual, sample.labels, k), _count_broken(mutual, by_means, k))
    evidence = []
    if broken:
        evidence.append(
            f"{broken} of {k} clusters fall into pieces that are linked only through other clusters"
        )
    if cut > MIN_CUT and best_cut <= MAX_CUT_RATIO * cut:
        evidence.append(
            f"a normalised cut of the graph of {NEIGHBOURS} neighbours is {best_cut:.3g} instead "
            f"of {cut:.3g} with the same K"
        )
    if not evidence:
        return None
    return Finding(
        "not-convex",
        "The data may have groups that K-means cannot separate (not convex, or very unequal).",
        f"Following neighbours from row to row, {'; '.join(evidence)}{sample.note}.",
        f"Plot the clusters, and try {_recipe(partitions, rows, sample, by_means, mutual)}.",
    )


def _without_tiny_clusters(sample: RowSample) -> tuple[RowSample, int]:
    """Keep clusters that can hold a row with its neighbours; number them from 0, and count them."""
    large = np.bincount(sample.labels) > NEIGHBOURS
    kept = np.flatnonzero(large[sample.labels])
    number = np.cumsum(large) - 1
    smaller = replace(
        sample,
        rows=sample.rows[kept],
        weight=sample.weight[kept],
        labels=number[sample.labels[kept]],
        index=sample.index[kept],
    )
    return smaller, int(large.sum())


def _links(rows: Floats, weight: Floats, neighbours: int = NEIGHBOURS) -> Any:
    """The graph (n, n) of rows, linked by how many neighbours they share."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, neighbours, include_self=True, n_jobs=1)
    near = sp.diags(weight / weight.mean()) @ near  # diags_array came with SciPy 1.12
    return sp.csr_array(near @ near.T)


def _normalized_cut(links: Any, labels: Ints, k: int) -> float:
    """Σ over clusters of (links that leave it / links that start in it)."""
    z = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)), (len(labels), k))
    between = (z.T @ (links @ z)).toarray()
    degree = between.sum(axis=1)
    linked = degree > 0
    return float((1 - between.diagonal()[linked] / degree[linked]).sum())


def _mutual_links(rows: Floats) -> Any:
    """The graph (n, n) of rows that are both among the neighbours of the other."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, MUTUAL_NEIGHBOURS, n_jobs=1)
    return near.minimum(near.T).tocoo()


def _count_broken(mutual: Any, labels: Ints, k: int) -> int:
    """The number of clusters with two or more pieces that continue in other clusters.

    A convex group that a face cuts leaves one piece on each side. An arm that winds around another
    leaves several, with pieces of the other in between.
    """
    from scipy.sparse.csgraph import connected_components

    inside = labels[mutual.row] == labels[mutual.col]
    links = (np.ones(int(inside.sum())), (mutual.row[inside], mutual.col[inside]))
    count, piece = connected_components(sp.csr_matrix(links, shape=mutual.shape), directed=False)
    size, exits = np.bincount(piece), np.bincount(piece[mutual.row[~inside]], minlength=count)
    owner = labels[np.unique(piece, return_index=True)[1]]
    share = PIECE_MIN_SHARE * np.bincount(labels, minlength=k)[owner]
    large = size >= np.maximum(PIECE_MIN_ROWS, share)
    pieces = np.bincount(owner[large & (exits >= PIECE_MIN_EXITS)], minlength=k)
    return int((pieces >= 2).sum())


@dataclass(frozen=True, slots=True)
class SamplePartitions:
    """Partitions of the sample by other methods, all with the same K and seed."""

    k: int
    seed: int
    threads: int

    def by_means(self, rows: Floats, weight: Floats) -> Ints:
        """Labels by the best of several runs of K-means."""
        model = KMeans(self.k, n_init=N_INIT, random_state=self.seed, n_threads=self.threads)
        return model.fit(rows, sample_weight=weight).labels_

    def by_cut(self, links: Any) -> Ints:
        """Labels by the normalised cut of a graph."""
        model = KernelKMeans(
            self.k, kernel="normalized-cut", random_state=self.seed, n_threads=self.threads
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about an empty cluster, which shows in the cut
            return model.fit(links).labels_


def _recipe(
    partitions: SamplePartitions, rows: Floats, sample: RowSample, by_means: Ints, mutual: Any
) -> str:
    """Name the method with the fewest broken clusters, and of these the one with the least cut."""
    links, k = _links(rows, sample.weight), partitions.k

    def quality(labels: Ints) -> tuple[int, float]:
        return _count_broken(mutual, labels, k), _normalized_cut(links, labels, k)

    scores = {0: quality(by_means)}
    for neighbours in ADVISED_NEIGHBOURS:
        scores[neighbours] = quality(partitions.by_cut(_links(rows, sample.weight, neighbours)))
    best = min(scores, key=lambda neighbours: scores[neighbours])
    if not best:
        return "KernelKMeans with other kernels, or sklearn.cluster.HDBSCAN"
    return (
        f"KernelKMeans({k}, kernel='normalized-cut').fit(G @ G.T), where G = "
        f"sklearn.neighbors.kneighbors_graph(X, {best}, include_self=True)"
    )


CHECKS = (Check("not-convex", check_convexity, (ROWS, SPACE)),)
