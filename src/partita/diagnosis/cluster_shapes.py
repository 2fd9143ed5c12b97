"""Clusters that are too small, too close to each other, too long, or empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.errors import Setting
from partita.diagnosis.check import Look
from partita.diagnosis.cluster_borders import touching
from partita.diagnosis.finding import Finding, Skip, few, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import CELLS, ROWS, SPACE
from partita.diagnosis.row_sample import Sample

FEW_ROWS, FEW_SHARE, MOST_ROWS = 3, 0.005, 20  # a handful, however many rows there are
LIGHT = 0.1  # of the median cluster: beside small clusters, few rows are nothing special
FAR = 3.0  # radii of the nearest other cluster: a round group of it would not reach so far
MANY = 5000  # clusters beyond which their pairs are too many
CHEAP = 1e-3  # of the sse of both: what a merge may add if the two are one
LONG, MAIN = 9.0, 0.5  # first variance: times the mean of the others, and share of all
ROWS_PER_FEATURE = 5  # fewer rows of a cluster are long in some direction by chance
SAMPLE = 20_000
TURNS = 40  # of the power iteration: where it matters, the first direction stands out


def outliers(view: View) -> Finding | None:
    """A handful of far rows that own a cluster."""
    weight = view.stats.weight
    if view.k < 2:
        raise Skip("there is one cluster only")
    few_rows = max(FEW_ROWS, min(MOST_ROWS, FEW_SHARE * view.total))
    tiny = (weight > 0) & (weight <= few_rows) & (weight <= LIGHT * np.median(weight[weight > 0]))
    found = [j for j in np.flatnonzero(tiny) if _nearest_other(view, j, tiny) >= FAR]
    if not found:
        return None
    rows = np.sort(view.index[np.isin(view.labels, found)])
    far = min(_nearest_other(view, j, tiny) for j in found)
    return Finding(
        "outliers",
        f"{len(found)} cluster{'s hold' if len(found) > 1 else ' holds'} a handful of rows far "
        "from all others.",
        f"{len(rows)} of {view.n} rows ({few(rows.tolist())}), {far:.3g} radii of the nearest "
        "cluster away or more.",
        "Look at these rows. Take them out, or use KMedoids (its distances are not squared); "
        "RobustScaler() keeps them from setting the scale.",
        clusters=tuple(int(j) for j in found),
    )


def _nearest_other(view: View, j: Any, tiny: Any) -> float:
    """How far the nearest cluster that is not tiny itself is from cluster j, in its own radii."""
    others = np.flatnonzero(~tiny & (view.stats.weight > 0))
    away = view.centers[others] - view.centers[j]
    near = np.sqrt(np.einsum("kd,kd->k", away, away))
    at = int(near.argmin())
    radius = view.radius[others[at]]
    return float(near[at] / radius) if radius > 0 else np.inf


def coincident(view: View) -> Finding | None:
    """Centers so close that merging their clusters costs next to nothing."""
    stats, k = view.stats, view.k
    some = np.flatnonzero(stats.weight > 0)
    if len(some) < 2:
        raise Skip("there is one cluster only")
    if k > MANY:
        raise Skip(f"there are more than {MANY} clusters")
    pairs = []
    for at, i in enumerate(some[:-1]):
        rest = some[at + 1 :]
        own = stats.sse[i] + stats.sse[rest]
        cheap = stats.merge_price(np.full(len(rest), i), rest) <= CHEAP * own
        pairs += [(i, j) for j in rest[cheap & (own > 0)]]
    if not pairs:
        return None
    clusters = sorted({int(j) for pair in pairs for j in pair})
    group = _merged(k, pairs)
    price = float(stats.merge_price(*np.array(pairs).T).max())  # of the dearest
    return Finding(
        "coincident-centers",
        f"{len(clusters)} clusters have centers at nearly the same place.",
        f"Clusters {few(clusters)}: merging a pair adds at most {price:.3g} to J, "
        f"{percent(price / view.cost)} of it.",
        f"Lower n_clusters by {k - group}, to {group}: that says as much.",
        clusters=tuple(clusters),
        settings=(Setting("n_clusters", group),),
    )


def _merged(k: int, pairs: list[Any]) -> int:
    """How many clusters are left when all pairs are merged."""
    from scipy.sparse.csgraph import connected_components

    first, second = np.array(pairs).T
    graph = sp.csr_matrix((np.ones(len(pairs)), (first, second)), shape=(k, k))
    return int(connected_components(graph, directed=False)[0])


def elongated(view: View) -> Finding | None:
    """Clusters much longer in one direction than in the others."""
    if view.d < 2:
        raise Skip("there is one feature only")
    crowd, sample = view.crowd, view.sample(SAMPLE, "elongated")
    ratios: dict[int, float] = {}
    # a long cluster that touches no other was not cut
    for j in sorted({j for p in crowd.pairs if touching(p) for j in (p.first, p.second)}):
        rows = np.flatnonzero(sample.labels == j)
        if len(rows) >= max(20, ROWS_PER_FEATURE * view.d):
            ratio, share = _stretch(view, sample, rows)
            if ratio >= LONG and share >= MAIN:
                ratios[j] = ratio
    if not ratios:
        return None
    longest = max(ratios, key=lambda j: ratios[j])
    return Finding(
        "elongated-clusters",
        f"{len(ratios)} of {view.k} clusters {'is' if len(ratios) == 1 else 'are'} long and thin "
        f"and touch{'es' * (len(ratios) == 1)} others; K-means looks for "
        "round groups and cuts long ones across.",
        f"Cluster {longest} is {np.sqrt(ratios[longest]):.3g} times as long as wide (standard "
        f"deviations){sample.told}.",
        "Look whether neighbours of such a cluster continue it. Scaling or PCA(whiten=True) may "
        "make groups rounder; GaussianMixture(covariance_type='full') learns their shape; or take "
        "more clusters and merge them (merge_tree).",
        clusters=tuple(ratios),
    )


def _stretch(view: View, sample: Sample, rows: Any) -> tuple[float, float]:
    """The first variance of a cluster: times the mean of the others, and as a share of all."""
    block, weight = sample.rows[rows], sample.weight[rows]
    if sp.issparse(block):  # is not made dense: features may be very many
        mean = block.T @ weight / weight.sum()
        whole = float(weight @ block.multiply(block).sum(axis=1) - weight.sum() * (mean @ mean))
    else:
        block = np.asarray(block, dtype=np.float64) - block[0]
        mean = weight @ block / weight.sum()
        block = block - mean
        mean, whole = np.zeros(view.d), float(weight @ np.einsum("nd,nd->n", block, block))
    axis, top = view.rng("elongated").normal(size=view.d), 0.0
    for _ in range(TURNS):
        length = float(np.sqrt(axis @ axis))
        if not length > 0:
            return 0.0, 0.0
        axis = axis / length
        along = block @ axis - mean @ axis
        axis, before = block.T @ (weight * along) - mean * float(weight @ along), axis
        top = float(axis @ before)
    rest = (whole - top) / (view.d - 1)
    return top / rest if rest > 0 else np.inf, top / whole if whole > 0 else 0.0


def empty(view: View) -> Finding | None:
    """Clusters without rows."""
    found = np.flatnonzero(np.bincount(view.labels, minlength=view.k) == 0)
    if not found.size:
        return None
    return Finding(
        "empty-clusters",
        f"{len(found)} of {view.k} clusters have no row.",
        f"Empty: {few(found.tolist())}.",
        f"Lower n_clusters to {view.k - len(found)}, or let empty='relocate' find rows for them.",
        clusters=tuple(int(j) for j in found),
        settings=(Setting("n_clusters", view.k - len(found)),),
    )


LOOKS = (
    Look("outliers", outliers, (ROWS, SPACE)),
    Look("coincident-centers", coincident, (ROWS, SPACE)),
    Look("elongated-clusters", elongated, (ROWS, SPACE, CELLS)),
    Look("empty-clusters", empty),
)
