"""Checks of single clusters: too small, too close to another, elongated, or empty."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from partita._common.array_types import Array, Floats, Ints
from partita._common.errors import Setting
from partita._common.text import plural
from partita.diagnosis.cluster_borders import clusters_of, is_touching
from partita.diagnosis.finding import CheckSkipped, Finding, list_few, percent
from partita.diagnosis.fit_context import FitContext
from partita.diagnosis.row_sample import RowSample

OUTLIER_ROWS = (3, 20)  # a cluster of outliers holds at most so many rows, in small and large data
OUTLIER_MAX_SHARE = 0.005  # of all rows, within these limits
OUTLIER_MAX_RATIO = 0.1  # of the median cluster: among small clusters, few rows are nothing special
OUTLIER_MIN_RADII = 3.0  # from the nearest cluster: a round group does not extend so far
MAX_CLUSTERS_PAIRED = 5000  # beyond that there are too many pairs
COINCIDENT_MAX_INCREASE = 1e-3  # of the sse of both: what merging may add if the two are one
ELONGATED_MIN_RATIO = 9.0  # first variance over the mean of the others
ELONGATED_MIN_SHARE = 0.5  # first variance over all
ELONGATED_MIN_ROWS = 20  # and more in many features, as few rows are elongated by chance:
ELONGATED_MIN_ROWS_PER_FEATURE = 5
ELONGATED_SAMPLE_ROWS = 20_000
POWER_ITERATIONS = 40  # enough where the first direction stands out


def check_outliers(fit: FitContext) -> Finding | None:
    """Report clusters of a handful of rows far from all others."""
    weight = fit.stats.weight
    low, high = OUTLIER_ROWS
    max_rows = max(low, min(high, OUTLIER_MAX_SHARE * fit.total))
    median = np.median(weight[weight > 0])
    tiny = (weight > 0) & (weight <= max_rows) & (weight <= OUTLIER_MAX_RATIO * median)
    distance = {int(j): _radii_to_nearest(fit, int(j), tiny) for j in np.flatnonzero(tiny)}
    clusters = [j for j, radii in distance.items() if radii >= OUTLIER_MIN_RADII]
    if not clusters:
        return None
    rows = np.sort(fit.index[np.isin(fit.labels, clusters)])
    nearest = min(distance[j] for j in clusters)
    return Finding(
        "outliers",
        f"{len(clusters)} cluster{'s hold' if len(clusters) > 1 else ' holds'} a handful of rows "
        "far from all others.",
        f"{len(rows)} of {fit.n} rows ({fit.list_rows(rows)}), {nearest:.3g} radii of the "
        "nearest cluster away or more.",
        "Look at these rows. Remove them, or use KMedoids, whose distances are not squared. With "
        "RobustScaler() they do not set the scale.",
        clusters=tuple(clusters),
    )


def _radii_to_nearest(fit: FitContext, j: int, tiny: Array) -> float:
    """The distance of cluster j to the nearest cluster that is not tiny, in radii of that one."""
    others = np.flatnonzero(~tiny & (fit.stats.weight > 0))
    gap = fit.centers[others] - fit.centers[j]
    distance = np.sqrt(np.einsum("kd,kd->k", gap, gap))
    nearest = int(distance.argmin())
    radius = fit.radius[others[nearest]]
    return float(distance[nearest] / radius) if radius > 0 else np.inf


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
        f"{len(clusters)} clusters have centers at nearly the same place.",
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
        f"{len(ratios)} of {fit.k} clusters {'is' if single else 'are'} long and thin and "
        f"touch{'es' * single} others; K-means looks for round groups and cuts long ones across.",
        f"Cluster {longest} is {np.sqrt(ratios[longest]):.3g} times as long as wide (standard "
        f"deviations){sample.note}.",
        "Check whether neighbours of such a cluster continue it. Scaling or PCA(whiten=True) may "
        "make groups rounder; GaussianMixture(covariance_type='full') learns their shape; or use "
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
    """Report clusters without rows."""
    empty = np.flatnonzero(np.bincount(fit.labels, minlength=fit.k) == 0)
    if not empty.size:
        return None
    left = fit.k - len(empty)
    return Finding(
        "empty-clusters",
        f"{len(empty)} of {plural(fit.k, 'cluster')} have no rows.",
        f"Empty: {list_few(empty.tolist())}.",
        f"Reduce n_clusters to {left}, or use empty='relocate', which finds rows for them.",
        clusters=tuple(int(j) for j in empty),
        settings=(Setting("n_clusters", left),),
    )
