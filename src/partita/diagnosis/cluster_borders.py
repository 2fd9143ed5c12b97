"""Checks of the faces between cells: through a gap, through a group, or next to a gap."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from partita._common.text import plural
from partita.diagnosis.boundary_density import BIN_WIDTH, FACE_BIN, CenterPair
from partita.diagnosis.finding import Finding, list_few, percent
from partita.diagnosis.fit_context import FitContext

NEAR_MARGIN = 0.25  # standard deviations from a face: a small change moves such rows over it
NEAR_MIN_SHARE = 0.1  # of round groups three deviations apart, only a thirtieth is near a face
NO_GAP_MIN_RATIO = 0.75  # density at the face over that at the centers: there is no gap
TOUCHING_MIN_RATIO = 0.25  # the same, where two round groups are four deviations apart
GAP_MIN_RATIO = 3.0  # density on both sides of a gap over that in it
GAP_MIN_ERRORS = 4.0  # standard errors of the difference of two counts
MAX_STEP = 1.5 * BIN_WIDTH  # of a lattice: with longer ones, a slab without rows may be no gap
SLAB_MIN_ROWS = 20  # to call a slab occupied
UNEQUAL_WEIGHT_RATIO, UNEQUAL_RADIUS_RATIO = 10.0, 2.0  # a face midway is then in the wrong place


def check_near_faces(fit: FitContext) -> Finding | None:
    """Report if many rows lie close to a face."""
    sample, near = fit.boundaries.sample, fit.boundaries.margin <= NEAR_MARGIN
    share = float(sample.weight[near].sum() / sample.weight.sum())
    if share < NEAR_MIN_SHARE:
        return None
    advice = "Treat their labels with caution"
    if hasattr(fit.model, "soft_membership"):
        advice = "Use model.soft_membership(X) instead of labels"
    return Finding(
        "near-faces",
        f"About {100 * share:.0f} % of the rows lie close to the border of their group.",
        f"{percent(share)} of the weight is within {NEAR_MARGIN:g} standard deviations of a face"
        f"{sample.note}.",
        f"{advice}, and check with choose_k whether there are groups at all, and how many.",
        "note",
        tuple(int(j) for j in np.unique(sample.labels[near])),
    )


def check_split_groups(fit: FitContext) -> Finding | None:
    """Report faces as densely populated as the centers: one group was divided."""
    pairs = [pair for pair in fit.boundaries.pairs if has_no_gap(pair)]
    if not pairs:
        return None
    worst = max(pairs, key=lambda pair: pair.face)
    names = list_few(f"{pair.first}|{pair.second}" for pair in pairs)
    return Finding(
        "split-groups",
        f"{plural(len(pairs), 'pair')} of groups ha{'s' if len(pairs) == 1 else 've'} no gap in "
        "between.",
        f"Pairs {names}. Between {worst.first} and {worst.second}: weight {worst.face:.3g} at the "
        f"face, {worst.centers[0]:.3g} and {worst.centers[1]:.3g} at the centers"
        f"{fit.boundaries.sample.note}.",
        "Try fewer clusters (choose_k, or merge_tree, which merges the cheapest pairs first). If "
        "K is fixed, read these clusters as parts of one group.",
        "note",
        clusters_of(pairs),
    )


def check_unequal_clusters(fit: FitContext) -> Finding | None:
    """Report faces midway between centers although the gap is, or should be, elsewhere."""
    misplaced = [pair for pair in fit.boundaries.pairs if gap_next_to_face(pair)]
    pairs = misplaced or [pair for pair in fit.boundaries.pairs if _is_uneven(fit, pair)]
    if not pairs:
        return None
    worst = max(pairs, key=lambda pair: pair.face)
    i, j = worst.first, worst.second
    if misplaced:
        what = "A border cuts through a group although there is a gap next to it."
        evidence = (
            f"Between clusters {i} and {j}: weight {worst.face:.3g} at the face, "
            f"{gap_next_to_face(worst):.3g} in the gap next to it"
        )
    else:
        what = "Groups of very unequal size or spread touch each other."
        weight, radius = fit.stats.weight, fit.radius
        evidence = (
            f"Clusters {i} and {j}: weights {weight[i]:.6g} and {weight[j]:.6g}, radii "
            f"{radius[i]:.3g} and {radius[j]:.3g}"
        )
    return Finding(
        "unequal-clusters",
        what,
        f"{evidence}; {plural(len(pairs), 'such pair')}{fit.boundaries.sample.note}.",
        "Plot the clusters. Try sklearn.mixture.GaussianMixture, which learns sizes and spreads, "
        "or use more clusters and merge them (merge_tree).",
        clusters=clusters_of(pairs),
    )


def is_touching(pair: CenterPair) -> bool:
    """Return whether rows lie all the way from center to center."""
    return pair.face >= max(SLAB_MIN_ROWS, TOUCHING_MIN_RATIO * min(pair.centers))


def has_no_gap(pair: CenterPair) -> bool:
    """Return whether rows are as dense at the face as at the centers."""
    level = NO_GAP_MIN_RATIO * sum(pair.centers) / 2
    return pair.face >= max(SLAB_MIN_ROWS, level) and min(pair.centers) > 0


def _is_uneven(fit: FitContext, pair: CenterPair) -> bool:
    """Return whether neighbours that touch differ much in weight or radius."""
    both = [pair.first, pair.second]
    weight, radius = fit.stats.weight[both], fit.radius[both]
    unequal = (
        weight.max() >= UNEQUAL_WEIGHT_RATIO * weight.min()
        or radius.max() >= UNEQUAL_RADIUS_RATIO * radius.min()
    )
    return bool(unequal and is_touching(pair) and weight.min() >= SLAB_MIN_ROWS)


def gap_next_to_face(pair: CenterPair) -> float:
    """The weight in a gap between the face and a dense slab beyond; 0 if there is no such gap."""
    if pair.face < SLAB_MIN_ROWS or pair.step > MAX_STEP:
        return 0.0
    for side in (pair.slabs[FACE_BIN:], pair.slabs[FACE_BIN::-1]):  # from the face outwards
        beyond = np.maximum.accumulate(side[::-1])[::-1]
        for i in range(3, len(side) - 3):  # slabs of three bins that do not overlap
            if _is_emptier(side[i], pair.face) and _is_emptier(side[i], beyond[i + 3]):
                return max(float(side[i]), 0.5)
    return 0.0


def _is_emptier(gap: float, dense: float) -> bool:
    certain = dense - gap >= GAP_MIN_ERRORS * math.sqrt(dense + gap)
    return certain and dense >= GAP_MIN_RATIO * gap and dense >= SLAB_MIN_ROWS


def clusters_of(pairs: Iterable[CenterPair]) -> tuple[int, ...]:
    """Return the clusters of some pairs, ascending."""
    return tuple(sorted({j for pair in pairs for j in (pair.first, pair.second)}))
