"""Check for clusters that are not convex, by cuts of a graph of neighbours."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from partita._common.array_types import Floats, Ints
from partita._common.text import list_features
from partita.diagnosis.finding import CheckSkipped, Finding
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.lattice import lattice_steps, without_coarse_lattices
from partita.diagnosis.refits import fit_quietly
from partita.diagnosis.row_sample import RowSample
from partita.estimators.kernel.estimator import KernelKMeans
from partita.estimators.kmeans import KMeans
from partita.source.raw_rows import as_doubles

SAMPLE_ROWS = 2000  # neighbours of neighbours connect a group of that many
MAX_SAMPLE_VALUES = 1 << 23  # fewer rows, if there are very many features
MIN_ROWS_PER_CLUSTER = 20  # in the sample; with fewer the graph is nearly complete
NEIGHBOURS = 12  # in the graph of shared neighbours: robust to noise, and few enough to see a gap
MAX_CUT_RATIO = 0.4  # cut over that of K-means; round, overlapping and uniform data stay above it
MIN_CUT = 1e-3  # a smaller cut may be chance
N_INIT = 5  # of K-means, whose best run is compared: a poor start is no evidence of shape
MUTUAL_NEIGHBOURS = 8  # for rows to be in one piece
ADVISED_KERNEL = "nearest_neighbors"
PIECE_MIN_ROWS, PIECE_MIN_SHARE = 20, 0.1  # of its cluster: a smaller piece may be chance
PIECE_MIN_EXITS = 3  # links to other clusters, through which a piece continues there
ADVISED_NEIGHBOURS = ("auto", 7, 5)  # of the graphs that the advice chooses from


def check_convexity(fit: FitContext) -> Finding | None:
    """Report if following neighbours from row to row gives other groups."""
    if fit.k < 2 or fit.d < 2:
        raise CheckSkipped("there is one cluster or one feature only")
    sample, lattices = _without_lattices(fit)
    sample, k = _without_tiny_clusters(sample)
    if k < 2 or len(sample.weight) < MIN_ROWS_PER_CLUSTER * k:
        raise CheckSkipped(f"it needs two clusters of {MIN_ROWS_PER_CLUSTER} distinct rows")
    rows, weight = as_doubles(sample.rows), sample.weight
    rows = rows - rows.mean(axis=0)
    links = _links(rows, weight)
    quality = partial(_quality, links, _mutual_links(rows), k)
    seed = int(fit.rng("graph").integers(2**31))
    options: dict[str, Any] = {"random_state": seed, "n_threads": fit.threads}
    by_means = KMeans(k, n_init=N_INIT, **options).fit(rows, sample_weight=weight).labels_
    broken, cut = map(min, quality(by_means), quality(sample.labels))
    cutter = KernelKMeans(k, kernel="normalized-cut", **options)
    best_cut = quality(fit_quietly(cutter, links).labels_)[1]
    evidence = []
    if broken:
        evidence.append(
            f"{broken} of {k} clusters {'falls' if broken == 1 else 'fall'} into pieces that are "
            "linked only through other clusters"
        )
    if cut > MIN_CUT and best_cut <= MAX_CUT_RATIO * cut:
        evidence.append(
            f"a normalised cut of the graph of {NEIGHBOURS} neighbours is {best_cut:.3g} instead "
            f"of {cut:.3g} with the same K"
        )
    if not evidence:
        return None
    scores: dict[Any, tuple[int, float]] = {None: quality(by_means)}
    for neighbours in ADVISED_NEIGHBOURS:
        graph = KernelKMeans(k, kernel=ADVISED_KERNEL, n_neighbors=neighbours, **options)
        scores[neighbours] = quality(fit_quietly(graph, rows, weight).labels_)
    return Finding(
        "not-convex",
        "There may be groups of a shape that this method cannot separate.",
        f"Following neighbours from row to row, {'; '.join(evidence)}{sample.note}.",
        f"Plot the clusters, and try {_recipe(k, scores, lattices)}.",
    )


def _without_lattices(fit: FitContext) -> tuple[RowSample, tuple[str | int, ...]]:
    """A sample without features of few values, whose gaps are none between groups; their names."""
    sample = fit.sample(min(SAMPLE_ROWS, max(1, MAX_SAMPLE_VALUES // fit.d)), "graph")
    steps = lattice_steps(sample)
    if not steps.any():
        return sample, ()
    kept = without_coarse_lattices(as_doubles(sample.rows), steps, NEIGHBOURS)
    if len(kept) < 2:
        raise CheckSkipped("fewer than two features have values enough to be neighbours by them")
    left_out = tuple(fit.names[t] for t in np.setdiff1d(np.arange(fit.d), kept))
    return (_with_features(sample, kept) if left_out else sample), left_out


def _with_features(sample: RowSample, kept: Ints) -> RowSample:
    """The distinct rows of a sample in these features alone."""
    rows, first, group = np.unique(
        sample.rows[:, kept], axis=0, return_index=True, return_inverse=True
    )
    weight = as_doubles(np.bincount(group.ravel(), sample.weight))
    return RowSample(rows, weight, sample.labels[first], sample.note)


def _without_tiny_clusters(sample: RowSample) -> tuple[RowSample, int]:
    """Keep clusters that can hold a row with its neighbours; number them from 0, and count them."""
    large = np.bincount(sample.labels) > NEIGHBOURS
    kept = np.flatnonzero(large[sample.labels])
    number = np.cumsum(large) - 1
    labels = number[sample.labels[kept]]
    smaller = RowSample(sample.rows[kept], sample.weight[kept], labels, sample.note)
    return smaller, int(large.sum())


def _links(rows: Floats, weight: Floats, neighbours: int = NEIGHBOURS) -> Any:
    """The graph (n, n) of rows, linked by how many neighbours they share."""
    from sklearn.neighbors import kneighbors_graph

    near = kneighbors_graph(rows, neighbours, include_self=True, n_jobs=1)
    near = sp.diags(weight / weight.mean()) @ near  # diags_array came with SciPy 1.12
    return sp.csr_array(near @ near.T)


def _quality(links: Any, mutual: Any, k: int, labels: Ints) -> tuple[int, float]:
    """The broken clusters and the normalised cut of a partition; less is better."""
    return _count_broken(mutual, labels, k), _normalized_cut(links, labels, k)


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
    inside = labels[mutual.row] == labels[mutual.col]
    links = (np.ones(int(inside.sum())), (mutual.row[inside], mutual.col[inside]))
    count, piece = connected_components(sp.csr_matrix(links, shape=mutual.shape), directed=False)
    size, exits = np.bincount(piece), np.bincount(piece[mutual.row[~inside]], minlength=count)
    owner = labels[np.unique(piece, return_index=True)[1]]
    share = PIECE_MIN_SHARE * np.bincount(labels, minlength=k)[owner]
    large = size >= np.maximum(PIECE_MIN_ROWS, share)
    pieces = np.bincount(owner[large & (exits >= PIECE_MIN_EXITS)], minlength=k)
    return int((pieces >= 2).sum())


def _recipe(k: int, scores: dict[Any, tuple[int, float]], left_out: tuple[str | int, ...]) -> str:
    """Name the graph, by its number of neighbours, whose cut is best; None stands for K-means."""
    best = min(scores, key=lambda neighbours: scores[neighbours])
    if best is None:
        return "KernelKMeans with other kernels, or sklearn.cluster.HDBSCAN"
    count = "" if best == "auto" else f", n_neighbors={best}"
    recipe = f"KernelKMeans({k}, kernel='{ADVISED_KERNEL}'{count}).fit(X)"
    if not left_out:
        return recipe
    return (
        f"{recipe}, where X is without {list_features(left_out)}: so few values make no neighbours"
    )
