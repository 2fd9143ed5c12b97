"""Where the faces of the cells run: through a gap, through a crowd, or beside the gap."""

from __future__ import annotations

import math

import numpy as np

from partita.diagnosis.boundary_density import ENDS, Pair
from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, few, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import CELLS, ROWS, SPACE

NEAR = 0.25  # standard deviations from a face: rows that a small change moves over
MANY = 0.1  # share of near rows; of round groups three deviations apart, a thirtieth is near
LEVEL = 0.75  # of the crowd at the centers: with so many rows at the face there is no gap
CROWDED = 0.25  # of the crowd at the centers: two round groups are four deviations apart
DEEP = 3.0  # times emptier than what is on both sides of it: a gap
SURE = 4.0  # standard errors of two counts
ENOUGH = 20  # rows in a slab, to say that it is not empty
LIGHTER, NARROWER = 10.0, 2.0  # how unequal neighbours are when their face should not be midway


def near_faces(view: View) -> Finding | None:
    """Many rows lie next to a face."""
    crowd = view.crowd
    near = crowd.margin <= NEAR
    share = float(crowd.sample.weight[near].sum() / crowd.sample.weight.sum())
    if share < MANY:
        return None
    return Finding(
        "near-faces",
        "Many rows lie next to the border of their cluster: small changes of the data would "
        "give them another label.",
        f"{percent(share)} of the weight is within {NEAR:g} standard deviations of a face"
        f"{crowd.sample.told}.",
        "Use model.soft_membership(X) in place of labels, and ask choose_k whether there are "
        "groups at all, and how many.",
        "note",
        tuple(int(j) for j in np.unique(crowd.sample.labels[near])),
    )


def split_groups(view: View) -> Finding | None:
    """Faces with as many rows as there are at the centers: one group was divided."""
    found = [pair for pair in view.crowd.pairs if _is_level(pair)]
    if not found:
        return None
    worst = max(found, key=lambda pair: pair.face)
    clusters = sorted({j for pair in found for j in (pair.first, pair.second)})
    names = few(f"{pair.first}|{pair.second}" for pair in found)
    return Finding(
        "split-groups",
        f"{len(found)} pair{'s' * (len(found) > 1)} of clusters ha{_s(found)} no gap in between: "
        "each looks like one group that was divided.",
        f"Pairs {names}. Between {worst.first} and {worst.second}: weight {worst.face:.3g} at the "
        f"face, {worst.centers[0]:.3g} and {worst.centers[1]:.3g} at the centers"
        f"{view.crowd.sample.told}.",
        "Try fewer clusters (choose_k, or merge_tree, which merges the cheapest pairs first); if "
        "K is given from outside, read the clusters as parts of a whole.",
        "note",
        tuple(clusters),
    )


def unequal(view: View) -> Finding | None:
    """Faces midway between centers, where the gap is elsewhere or should be."""
    moved = [pair for pair in view.crowd.pairs if _gap_elsewhere(pair)]
    uneven = [pair for pair in view.crowd.pairs if _is_uneven(view, pair)]
    found = moved or uneven
    if not found:
        return None
    pair = max(found, key=lambda pair: pair.face)
    if moved:
        what = "A face runs through a crowd, although there is a gap beside it: groups of unequal "
        what += "size or spread are cut in the wrong place."
        evidence = f"Between clusters {pair.first} and {pair.second}: weight {pair.face:.3g} at "
        evidence += f"the face, {_gap_elsewhere(pair):.3g} in the gap beside it"
    else:
        what = "Neighbours of very unequal size or spread touch: K-means puts the face midway and "
        what += "gives the smaller one too much."
        weight, radius = view.stats.weight, view.radius
        evidence = f"Clusters {pair.first} and {pair.second}: weights {weight[pair.first]:.6g} and "
        evidence += f"{weight[pair.second]:.6g}, radii {radius[pair.first]:.3g} and "
        evidence += f"{radius[pair.second]:.3g}"
    return Finding(
        "unequal-clusters",
        what,
        evidence + f"; {len(found)} such pair{'s' * (len(found) > 1)}{view.crowd.sample.told}.",
        "Look at a picture; try sklearn.mixture.GaussianMixture, which learns sizes and spreads, "
        "or more clusters, to be merged afterwards (merge_tree).",
        clusters=tuple(sorted({j for each in found for j in (each.first, each.second)})),
    )


def touching(pair: Pair) -> bool:
    """Whether there are rows on the way from center to center."""
    return pair.face >= max(ENOUGH, CROWDED * min(pair.centers))


def _is_level(pair: Pair) -> bool:
    both = pair.centers
    return pair.face >= max(ENOUGH, LEVEL * sum(both) / 2) and min(both) > 0


def _is_uneven(view: View, pair: Pair) -> bool:
    """Whether neighbours that touch differ much in weight, or in spread."""
    weight, radius = view.stats.weight, view.radius
    i, j = pair.first, pair.second
    lighter = max(weight[i], weight[j]) >= LIGHTER * min(weight[i], weight[j])
    narrower = max(radius[i], radius[j]) >= NARROWER * min(radius[i], radius[j])
    return bool((lighter or narrower) and touching(pair) and min(weight[i], weight[j]) >= ENOUGH)


def _gap_elsewhere(pair: Pair) -> float:
    """The weight in a gap beside the face that has a crowd behind it; 0 if there is none."""
    if pair.face < ENOUGH:
        return 0.0
    for side in (pair.slabs[ENDS:], pair.slabs[ENDS::-1]):  # from the face outwards
        behind = np.maximum.accumulate(side[::-1])[::-1]
        for at in range(3, len(side) - 3):  # slabs of three bins that do not overlap
            if _deeper(side[at], pair.face) and _deeper(side[at], behind[at + 3]):
                return max(float(side[at]), 0.5)
    return 0.0


def _deeper(gap: float, crowd: float) -> bool:
    return crowd >= DEEP * gap and crowd - gap >= SURE * math.sqrt(crowd + gap) and crowd >= ENOUGH


def _s(found: list[Pair]) -> str:
    return "ve" if len(found) > 1 else "s"


LOOKS = (
    Look("near-faces", near_faces, (ROWS, SPACE, CELLS)),
    Look("split-groups", split_groups, (ROWS, SPACE, CELLS)),
    Look("unequal-clusters", unequal, (ROWS, SPACE, CELLS)),
)
