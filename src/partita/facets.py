"""Which Voronoi cells share a facet."""

from __future__ import annotations

import numpy as np

from partita._typing import Array, Floats, Ints

DEPTH = 1e-6  # the least depth of a facet, as a part of the distance of the two centers
_FLAT = 4  # dimensions up to which a triangulation names the few pairs that can be neighbours


def shared_facets(centers: Floats) -> Array:
    """(k, k) bool: whether the cells of two centers share a facet, not just an edge or a corner.

    A facet has a point that is as near to both as to no other. First the point midway is tried
    (Gabriel); for pairs that it leaves open, linear programming finds the one that is deepest
    inside. Of coincident centers the first has the cell, so the others have no neighbours.
    """
    first = np.sort(np.unique(centers, axis=0, return_index=True)[1])
    found = np.zeros((len(centers), len(centers)), dtype=bool)
    some = _own_space(centers[first])
    pairs = _candidates(some)
    near = np.zeros((len(some), len(some)), dtype=bool)
    near[pairs[:, 0], pairs[:, 1]] = near[pairs[:, 1], pairs[:, 0]] = True
    for (i, j), midway in zip(pairs, _midway(some, pairs), strict=True):
        near[i, j] = False  # which leaves the others that may cut this facet
        if midway or _depth(some[i], some[j], some[near[i]]) > DEPTH:
            found[first[i], first[j]] = found[first[j], first[i]] = True
        near[i, j] = True
    return found


def _own_space(centers: Floats) -> Floats:
    """Coordinates in the flat that the centers span: cells are the same across it."""
    away = centers - centers.mean(axis=0)
    peak = np.abs(away).max(initial=0.0)
    left, size, _ = np.linalg.svd(away / (peak if peak > 0 else 1.0), full_matrices=False)
    tiny = size.max(initial=0.0) * max(away.shape) * np.finfo(np.float64).eps
    rank = max(1, int((size > tiny).sum()))
    return np.asarray(left[:, :rank] * size[:rank])


def _candidates(centers: Floats) -> Ints:
    """Pairs (m, 2) among which all neighbours are: edges of a triangulation, or simply all."""
    k, d = centers.shape
    if d == 1:
        order = np.argsort(centers[:, 0])
        return np.column_stack([order[:-1], order[1:]])
    every = np.column_stack(np.triu_indices(k, 1))
    if d > _FLAT or k <= d + 2:
        return every
    from scipy.spatial import Delaunay, QhullError

    try:
        made = Delaunay(centers)
    except QhullError:  # too flat for it
        return every
    if len(made.coplanar):  # centers too close to others to be corners
        return every
    simplices = made.simplices
    i, j = np.triu_indices(d + 1, 1)
    edges = np.sort(np.column_stack([simplices[:, i].ravel(), simplices[:, j].ravel()]), axis=1)
    return np.asarray(np.unique(edges, axis=0))


def _midway(centers: Floats, pairs: Ints) -> Array:
    """Whether the point midway is nearer to the pair than to any other center.

    It is if every other center sees the two under an acute angle (Thales).
    """
    seen = np.ones(len(pairs), dtype=bool)
    i, j = pairs.T
    for m in range(len(centers)):
        away = centers - centers[m]
        length = np.sqrt(np.einsum("kd,kd->k", away, away))
        few = 4 * len(pairs) < len(centers) ** 2
        angle = np.einsum("nd,nd->n", away[i], away[j]) if few else (away @ away.T)[i, j]
        seen &= (angle > DEPTH * length[i] * length[j]) | (i == m) | (j == m)
    return seen


def _depth(one: Floats, two: Floats, others: Floats) -> float:
    """How far inside both cells a point between them can be, as a part of the centers' distance.

    Coordinates are about the point midway, in units of that distance.
    """
    from scipy.optimize import linprog

    gap, d = two - one, len(one)
    unit = float(np.sqrt(gap @ gap))
    normal, middle = (one - others) / unit, (others - two) / (2 * unit)  # of the faces of `one`
    size = np.sqrt(np.einsum("md,md->m", normal, normal))
    inside = np.einsum("md,md->m", normal, middle) / size  # normal·y / size >= inside
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.column_stack([-normal / size[:, None], np.ones(len(others))]),
        b_ub=-inside,
        A_eq=np.append(gap / unit, 0.0)[None],
        b_eq=[0.0],
        bounds=[(None, None)] * d + [(None, 1.0)],
        method="highs",
    )
    return float(-found.fun) if found.status == 0 else 0.0
