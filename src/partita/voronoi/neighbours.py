"""Which Voronoi cells share a facet."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import one_blas_thread
from partita.voronoi.interior_points import OPEN, YES, deeper_than

DEPTH = 1e-6  # the least depth of a facet, as a part of the distance of the two centers
_FLAT = 4  # dimensions up to which a triangulation names the few pairs that can be neighbours
_FEW = 32  # faces that are tried first, and two more for every dimension
_MORE, _ROUNDS = 8, 24  # faces that join where a point is outside, and how often
_VALUES = 1 << 20  # of the normals of faces that are held at once


def shared_facets(centers: Floats) -> Array:
    """(k, k) bool: whether the cells of two centers share a facet, not just an edge or a corner.

    A facet has a point that is as near to both as to no other. First the point midway is tried
    (Gabriel); for pairs that it leaves open, linear programming tells whether there is one that is
    deep enough inside. Of coincident centers the first has the cell, so the others have no
    neighbours.
    """
    first = np.sort(np.unique(centers, axis=0, return_index=True)[1])
    found = np.zeros((len(centers), len(centers)), dtype=bool)
    some = _own_space(centers[first])
    pairs = _candidates(some)
    if len(some) > some.shape[1] + 1:  # else all cells meet in one point, and each pair on from it
        with one_blas_thread():
            near = _midway(some, pairs)
            near[~near] = _deep(some, pairs[~near])
        pairs = pairs[near]
    i, j = first[pairs].T
    found[i, j] = found[j, i] = True
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


def _deep(centers: Floats, pairs: Ints) -> Array:
    """Whether (p,) a point between the pair is deeper than DEPTH inside both cells."""
    verdict = np.full(len(pairs), OPEN, dtype=np.int8)
    step = max(1, _VALUES // ((_FEW + 2 * centers.shape[1]) * centers.shape[1] + len(centers)))
    for start in range(0, len(pairs), step):
        some = slice(start, start + step)
        verdict[some] = _by_few_faces(centers, pairs[some])
    for p in np.flatnonzero(verdict == OPEN):  # what rounding left so is solved by itself
        i, j = pairs[p]
        verdict[p] = _depth(centers[i], centers[j], np.delete(centers, [i, j], axis=0)) > DEPTH
    return np.asarray(verdict == YES)


def _by_few_faces(centers: Floats, pairs: Ints) -> Ints:
    """The verdict (p,) by few faces at a time, those next to the point midway at first.

    Where no point is deep inside these, none is inside all. Where one is, it is held against all
    faces, and those that it is not inside of join the few.
    """
    verdict, which = np.full(len(pairs), OPEN, dtype=np.int8), np.arange(len(pairs))
    unit = np.sqrt(((centers[pairs[:, 1]] - centers[pairs[:, 0]]) ** 2).sum(axis=1))[:, None]
    at = centers[pairs].mean(axis=1)
    faces, more = np.empty((len(pairs), 0), dtype=np.intp), _FEW + 2 * centers.shape[1]
    for _ in range(_ROUNDS):
        room, rough = _room(centers, pairs[which], at, unit[which])
        deep = (verdict[which] == YES) & ((room - rough).min(axis=1) > DEPTH)
        verdict[which[(verdict[which] == YES) & ~deep]] = OPEN
        going = verdict[which] == OPEN
        which, faces, room = which[going], faces[going], room[going]
        if not len(which):
            break
        count = min(more, len(centers) - 2)
        worst = np.argpartition(room, count - 1, axis=1)[:, :count]
        faces, more = np.concatenate([faces, worst], axis=1), _MORE
        verdict[which], at = _inside(centers, pairs[which], unit[which], faces)
    verdict[which[verdict[which] == YES]] = OPEN  # which was not held against all
    return verdict


def _inside(centers: Floats, pairs: Ints, unit: Floats, faces: Ints) -> tuple[Ints, Floats]:
    """The verdict (p,) of these faces (p, m) alone, and points (p, d) which for YES are deep."""
    one, two, others = centers[pairs[:, 0]], centers[pairs[:, 1]], centers[faces]
    away = one[:, None] - others
    normal = away / np.sqrt(np.einsum("pmd,pmd->pm", away, away))[:, :, None]
    inside = np.einsum("pmd,pmd->pm", normal, (others - two[:, None]) / 2) / unit
    # coordinates along the face of the pair: a reflection turns its normal into the first axis
    axis = (two - one) / unit
    axis[:, 0] += np.where(axis[:, 0] < 0, -1.0, 1.0)
    axis *= np.sqrt(2 / np.einsum("pd,pd->p", axis, axis))[:, None]
    normal -= np.einsum("pmd,pd->pm", normal, axis)[:, :, None] * axis[:, None]
    verdict, point = deeper_than(DEPTH, normal[:, :, 1:], inside)
    at = np.column_stack([np.zeros(len(pairs)), point])
    at -= np.einsum("pd,pd->p", at, axis)[:, None] * axis
    return verdict, (one + two) / 2 + unit * at


def _room(centers: Floats, pairs: Ints, at: Floats, unit: Floats) -> tuple[Floats, Floats]:
    """How far (p, k) points are inside the faces of the first of a pair, and how rough that is.

    Infinite for the pair itself.
    """
    from scipy.spatial.distance import cdist

    (i, j), p = pairs.T, np.arange(len(pairs))
    few, which = np.unique(i, return_inverse=True)
    width = cdist(centers[few], centers)[which.ravel()] * unit
    width[p, i] = width[p, j] = 1.0
    square = np.einsum("kd,kd->k", centers, centers)
    along = np.einsum("pd,pd->p", centers[i], at)[:, None] - at @ centers.T
    room = (along + (square - square[i, None]) / 2) / width
    room[p, i] = room[p, j] = np.inf
    far = np.sqrt(np.einsum("pd,pd->p", at, at))[:, None] + np.sqrt(square.max())
    rough = np.finfo(np.float64).eps * (centers.shape[1] + 4) * far * far / width
    return room, rough


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
