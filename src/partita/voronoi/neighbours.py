"""Voronoi cells that share a facet.

Two cells share a facet if a point on the bisector of their centers is strictly inside all other
faces of the first cell. Three steps decide, each for the pairs that the one before left open:

1. Up to six dimensions, only edges of the Delaunay triangulation are candidates.
2. The relaxation method for linear inequalities (Agmon; Motzkin and Schoenberg 1954) looks for such
   a point, for all pairs at once: it starts midway and crosses the face that is violated most.
3. A linear program per pair finds how deep inside a point can be (HiGHS).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import one_blas_thread
from partita.geometry import directions

MIN_FACET_DEPTH = 1e-6  # of the distance between the two centers; a shallower facet is not counted
TRIANGULATION_MAX_DIMENSIONS = 6  # beyond that the number of simplices explodes
RELAXATION_ROUNDS = 30  # few points are found later, and the linear program finds these
OVERSHOOT_FACTOR = 1.9  # of the violation; 2 reflects, 1 projects, which converges slowly
CHUNK_VALUES = 1 << 21  # distances held at a time
PROGRAMS_PER_CALL = 32  # a call of its own for each takes three times as long
MAX_FACE_DISTANCE = 1e9  # distances of the pair; beyond it rounding moves a face by the facet depth


def shared_facets(centers: Floats) -> Array:
    """Return (k, k) bool: which cells share a facet of d − 1 dimensions, not just a vertex or edge.

    Of coincident centers the first has the cell, so the others have no neighbours.
    """
    first = np.sort(np.unique(centers, axis=0, return_index=True)[1])
    shared = np.zeros((len(centers), len(centers)), dtype=bool)
    distinct = _scaled(centers[first])
    edges = _delaunay_edges(_coordinates_in_span(distinct))
    pairs = np.column_stack(np.triu_indices(len(distinct), 1)) if edges is None else edges
    with one_blas_thread(), np.errstate(all="ignore"):  # pairs that overflow stay open
        is_facet = _relax(distinct, pairs)
        is_facet[~is_facet] = facet_depths(distinct, pairs[~is_facet]) > MIN_FACET_DEPTH
    i, j = first[pairs[is_facet]].T
    shared[i, j] = shared[j, i] = True
    return shared


def _scaled(centers: Floats) -> Floats:
    """The centers about their median, scaled by a power of two; a far center moves no median."""
    centers = np.ldexp(centers, -1 - np.frexp(np.abs(centers).max())[1])  # no difference overflows
    about = centers - np.median(centers, axis=0)
    return np.asarray(np.ldexp(about, -np.frexp(np.abs(about).max())[1]))


def _delaunay_edges(centers: Floats | None) -> Ints | None:
    """Edges (m, 2) of the triangulation of centers that span their space; None without one."""
    from scipy.spatial import Delaunay, QhullError

    if centers is None or centers.shape[1] > TRIANGULATION_MAX_DIMENSIONS:
        return None
    k, d = centers.shape
    if d == 1:
        order = np.argsort(centers[:, 0])
        return np.column_stack([order[:-1], order[1:]])
    try:
        triangulation = Delaunay(centers) if k > d + 2 else None
    except QhullError:
        return None
    if triangulation is None or len(triangulation.coplanar):  # too close to others to be vertices
        return None
    i, j = np.triu_indices(d + 1, 1)
    ends = triangulation.simplices[:, i].ravel(), triangulation.simplices[:, j].ravel()
    code = np.unique(np.minimum(*ends).astype(np.int64) * k + np.maximum(*ends))
    return np.column_stack([code // k, code % k])


def _coordinates_in_span(centers: Floats) -> Floats | None:
    """Coordinates in the affine span of the centers, across which cells do not change.

    None if they are so uneven that a triangulation, which squares distances, would lose neighbours.
    """
    from scipy.spatial import cKDTree

    if len(centers) < 2:
        return None
    eps, nearest = np.finfo(np.float64).eps, cKDTree(centers).query(centers, k=2)[0][:, 1]
    if not eps < MIN_FACET_DEPTH * np.median(nearest) ** 2:  # the largest coordinate is 0.5 to 1
        return None
    left, size, _ = np.linalg.svd(centers - centers.mean(axis=0), full_matrices=False)
    rank = max(1, int((size > size[0] * max(centers.shape) * eps).sum()))
    return np.asarray(left[:, :rank] * size[:rank])


def _relax(centers: Floats, pairs: Ints) -> Array:
    """Return whether (p,) the relaxation method found a point of a deep enough facet."""
    step = max(1, CHUNK_VALUES // len(centers))
    chunks = [
        _relax_chunk(centers, pairs[start : start + step]) for start in range(0, len(pairs), step)
    ]
    return np.concatenate([np.zeros(0, dtype=bool), *chunks])


def _relax_chunk(centers: Floats, pairs: Ints) -> Array:
    has_facet, open_ = np.zeros(len(pairs), dtype=bool), np.arange(len(pairs))
    axis, apart = directions(centers[pairs[:, 1]] - centers[pairs[:, 0]])
    point = centers[pairs].mean(axis=1)
    for _ in range(RELAXATION_ROUNDS):
        depth, error = _depths(centers, pairs[open_], point)
        inside = (depth - error).min(axis=1) > MIN_FACET_DEPTH * apart[open_]
        has_facet[open_[inside]] = True
        open_, point, depth = open_[~inside], point[~inside], depth[~inside]
        if not len(open_):
            break
        worst = depth.argmin(axis=1)
        violation = MIN_FACET_DEPTH * apart[open_] - depth[np.arange(len(open_)), worst]
        normal, _ = directions(centers[pairs[open_, 0]] - centers[worst])
        along = np.einsum("pd,pd->p", normal, axis[open_])[:, None]
        normal -= along * axis[open_]  # within the bisector
        length = np.einsum("pd,pd->p", normal, normal)
        point = point + (OVERSHOOT_FACTOR * violation / length)[:, None] * normal
    return has_facet


def _depths(centers: Floats, pairs: Ints, point: Floats) -> tuple[Floats, Floats]:
    """Depths (p, k) of points inside the faces of a pair's first center, and rounding errors.

    Infinite for the pair itself.
    """
    from scipy.spatial.distance import cdist

    (i, j), p = pairs.T, np.arange(len(pairs))
    width = cdist(centers[i], centers)
    width[p, i] = width[p, j] = 1.0
    square = np.einsum("kd,kd->k", centers, centers)
    inner = np.einsum("pd,pd->p", centers[i], point)[:, None] - point @ centers.T
    depth = (inner + (square - square[i, None]) / 2) / width
    depth[p, i] = depth[p, j] = np.inf
    reach = np.einsum("pd,pd->p", point, point)[:, None] + square + square[i, None]
    return depth, 4 * np.finfo(np.float64).eps * (centers.shape[1] + 4) * reach / width


def facet_depths(centers: Floats, pairs: Ints) -> Floats:
    """Greatest depth (p,) inside all other faces of a point on the bisector of a pair, at most 1.

    In units of the distance of the two centers, about the point midway: the largest t <= 1 such
    that normal·y >= offset + t for all faces and axis·y = 0. The dual has a row per feature
    instead of one per face: min t₀ − offset·z such that Σ z·normal + s·axis = 0,
    t₀ + Σ z = 1, z >= 0. HiGHS solves several programs in one call, as independent blocks.
    """
    depth = np.zeros(len(pairs))
    for start in range(0, len(pairs), PROGRAMS_PER_CALL):
        batch = [_program(centers, i, j) for i, j in pairs[start : start + PROGRAMS_PER_CALL]]
        solved = _solve(batch)
        if solved is None:  # one of them is too badly scaled
            single = [_solve([program]) for program in batch]
            solved = np.concatenate([np.zeros(1) if value is None else value for value in single])
        depth[start : start + len(batch)] = solved
    return depth


def _program(centers: Floats, i: int, j: int) -> tuple[Floats, Floats]:
    """Costs (m + 2,) and equations (d + 1, m + 2) of the dual: of z, t₀ and s."""
    others = np.delete(centers, [i, j], axis=0)
    axis, apart = directions((centers[j] - centers[i])[None])
    normal, _ = directions(centers[i] - others)
    offset = np.einsum("md,md->m", normal, (others - centers[j]) / (2 * apart))
    m, d = normal.shape
    equations = np.zeros((d + 1, m + 2))
    equations[:d, :m], equations[:d, m + 1], equations[d, : m + 1] = normal.T, axis[0], 1.0
    return np.concatenate([np.minimum(-offset, MAX_FACE_DISTANCE), [1.0, 0.0]]), equations


def _solve(programs: list[tuple[Floats, Floats]]) -> Floats | None:
    """The optima of independent programs of one shape; None if HiGHS fails."""
    from scipy.optimize import linprog

    cost = np.array([program[0] for program in programs])
    lower = np.zeros_like(cost)
    lower[:, -1] = -np.inf
    right = np.zeros((len(programs), len(programs[0][1])))
    right[:, -1] = 1.0
    solution = linprog(
        cost.ravel(),
        A_eq=sp.block_diag([program[1] for program in programs], format="csc"),
        b_eq=right.ravel(),
        bounds=np.column_stack([lower.ravel(), np.full(lower.size, np.inf)]),
        method="highs-ds",
        options={"presolve": False},  # takes longer than the programs do
    )
    return (solution.x.reshape(cost.shape) * cost).sum(axis=1) if solution.status == 0 else None
