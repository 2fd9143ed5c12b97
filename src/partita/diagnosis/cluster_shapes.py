"""Checks of single clusters: too close to another, elongated, or empty."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from partita._common.array_types import Floats, Ints
from partita._common.errors import Setting
from partita._common.text import plural
from partita.diagnosis.cluster_borders import clusters_of, is_touching
from partita.diagnosis.finding import CheckSkipped, Finding, list_few, percent
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.row_sample import RowSample

MAX_CLUSTERS_PAIRED = 5000  # beyond that there are too many pairs
COINCIDENT_MAX_INCREASE = 1e-3  # of the sse of both: what merging may add if the two are one
ELONGATED_MIN_RATIO = 9.0  # first variance over the mean of the others
ELONGATED_MIN_SHARE = 0.5  # first variance over all
ELONGATED_MIN_ROWS = 20  # and more in many features, as few rows are elongated by chance:
ELONGATED_MIN_ROWS_PER_FEATURE = 5
ELONGATED_SAMPLE_ROWS = 20_000
POWER_ITERATIONS = 40  # enough where the first direction stands out


def check_coincident_centers(fit: FitContext) -> Finding | None:
    """Report centers so close that merging their clusters adds almost nothing to J."""
    stats, k = fit.stats, fit.k
    occupied = np.flatnonzero(stats.weight > 0)
    if k > MAX_CLUSTERS_PAIRED:
        raise CheckSkipped(f"there are more than {MAX_CLUSTERS_PAIRED} clusters")
    pairs: list[tuple[int, int]] = []
    for position, i in enumerate(occupied[:-1]):
        rest = occupied[position + 1 :]
        sse = stats.sse[i] + stats.sse[rest]
        price = stats.merge_price(np.full(len(rest), i), rest)
        coincident = (price <= COINCIDENT_MAX_INCREASE * sse) & (sse > 0)
        pairs += [(int(i), int(j)) for j in rest[coincident]]
    if not pairs:
        return None
    first, second = np.array(pairs).T
    clusters = np.union1d(first, second).tolist()
    graph = sp.csr_matrix((np.ones(len(pairs)), (first, second)), shape=(k, k))
    merged = int(connected_components(graph, directed=False)[0])
    highest = float(stats.merge_price(first, second).max())
    return Finding(
        "coincident-centers",
        f"{len(clusters)} groups are at nearly the same place.",
        f"Clusters {list_few(clusters)}: merging a pair adds at most {highest:.3g} to J, "
        f"{percent(highest / fit.cost)} of it.",
        f"Reduce n_clusters by {k - merged}, to {merged}, which describes the data equally well.",
        clusters=tuple(clusters),
        settings=(Setting("n_clusters", merged),),
    )


def check_elongated_clusters(fit: FitContext) -> Finding | None:
    """Report clusters that are much longer in one direction and touch others."""
    if fit.d < 2:
        raise CheckSkipped("there is one feature only")
    sample = fit.sample(ELONGATED_SAMPLE_ROWS, "elongated")
    min_rows = max(ELONGATED_MIN_ROWS, ELONGATED_MIN_ROWS_PER_FEATURE * fit.d)
    ratios: dict[int, float] = {}
    # a long cluster that touches no other was not cut
    for j in clusters_of(pair for pair in fit.boundaries.pairs if is_touching(pair)):
        rows = np.flatnonzero(sample.labels == j)
        if len(rows) >= min_rows:
            ratio, share = _first_variance(fit, sample, rows)
            if ratio >= ELONGATED_MIN_RATIO and share >= ELONGATED_MIN_SHARE:
                ratios[j] = ratio
    if not ratios:
        return None
    longest = max(ratios, key=lambda j: ratios[j])
    single = len(ratios) == 1
    return Finding(
        "elongated-clusters",
        f"{len(ratios)} of {fit.k} groups {'is' if single else 'are'} long and thin and "
        f"touch{'es' * single} others.",
        f"Cluster {longest} is {np.sqrt(ratios[longest]):.3g} times as long as wide (standard "
        f"deviations){sample.note}.",
        "Check whether neighbours of such a cluster continue it. "
        f"{'' if fit.scaling else 'Scaling or '}PCA(whiten=True) may make groups rounder; "
        "GaussianMixture(covariance_type='full') learns their shape; or use "
        "more clusters and merge them (merge_tree).",
        clusters=tuple(ratios),
    )


def _first_variance(fit: FitContext, sample: RowSample, rows: Ints) -> tuple[float, float]:
    """The first principal variance of a cluster: over the mean of the others, and over all."""
    block, weight = sample.rows[rows], sample.weight[rows]
    if sp.issparse(block):  # stays sparse: there may be very many features
        mean = block.T @ weight / weight.sum()
        whole = float(weight @ block.multiply(block).sum(axis=1) - weight.sum() * (mean @ mean))
    else:
        block = np.asarray(block, dtype=np.float64) - block[0]
        block = block - weight @ block / weight.sum()
        mean, whole = np.zeros(fit.d), float(weight @ np.einsum("nd,nd->n", block, block))
    axis: Floats = fit.rng("elongated").normal(size=fit.d)
    first = 0.0
    for _ in range(POWER_ITERATIONS):
        length = float(np.sqrt(axis @ axis))
        if not length > 0:
            return 0.0, 0.0
        axis = axis / length
        along = block @ axis - mean @ axis
        axis, before = block.T @ (weight * along) - mean * float(weight @ along), axis
        first = float(axis @ before)
    rest = (whole - first) / (fit.d - 1)
    return first / rest if rest > 0 else np.inf, first / whole if whole > 0 else 0.0


def check_empty_clusters(fit: FitContext) -> Finding | None:
    """Report clusters without rows, unless there are too few distinct rows, which says more."""
    empty = fit.empty_clusters
    if not empty.size or 1 < len(fit.distinct[0]) <= fit.k:
        return None
    left = fit.k - len(empty)
    return Finding(
        "empty-clusters",
        f"{len(empty)} of {plural(fit.k, 'group')} {'has' if len(empty) == 1 else 'have'} no rows.",
        f"Empty: {list_few(empty.tolist())}.",
        f"Reduce n_clusters to {left}, or use empty='relocate', which finds rows for them.",
        clusters=tuple(int(j) for j in empty),
        settings=(Setting("n_clusters", left),),
    )
