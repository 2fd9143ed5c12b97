"""The cells of a fit: which part of space belongs to which center.

Cell j is a polytope, the points x with (c_j − c_l)·x ≥ ½(‖c_j‖² − ‖c_l‖²) for all l. Its faces lie
halfway between centers and may reach to infinity. Coincident centers share a cell; where only one
can have it, the lower number has.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.threads import Workers, one_blas_thread
from partita.estimators import labelling, validation
from partita.estimators.fitted_models import check_fitted, goes_down_a_tree, unwrap_pipeline
from partita.estimators.medoids.estimator import KMedoids
from partita.estimators.medoids.metric import has_flat_cells
from partita.estimators.spherical import SphericalKMeans
from partita.geometry import directions
from partita.source.plain_rows import doubles, spans
from partita.source.unit_rows import unit_rows
from partita.voronoi.neighbours import shared_facets
from partita.voronoi.polygons import lowest_regions

_ROUGH = 1e-6  # how far from 1 the length of a direction may be: what float32 makes of it
_STEEPEST = 700  # powers of two: with _ROOM and many features still below the largest double
_ROOM = 200  # powers of two: how large the farthest center may be, so that near ones keep digits


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The Voronoi cells of centers (k, d); or, for directions, the cones about them.

    >>> two = Cells([[0.0, 0.0], [4.0, 0.0]])
    >>> two.contains([[1.0, 9.0], [2.0, 0.0], [3.0, 0.0]]).tolist()  # ties go to the lower number
    [0, 0, 1]
    >>> two.margins([[1.0, 9.0], [2.0, 0.0], [3.0, 0.0]]).tolist()
    [1.0, 0.0, 1.0]
    >>> two.half_spaces(0)
    (array([[-4.,  0.]]), array([-8.]))
    """

    centers: Floats
    cones: bool = False  # faces go through 0: rows count by their direction

    def __post_init__(self) -> None:
        centers = validation.as_centers(self.centers, "centers", "k", "d")
        if 0 in centers.shape:
            raise ValueError(f"centers have the shape {centers.shape}; (k, d) is expected")
        if self.cones:
            centers = _unit(centers)
        object.__setattr__(self, "centers", centers)

    def half_spaces(self, j: int) -> tuple[Floats, Floats]:
        """A (k − 1, d) and b (k − 1,): x is in cell j if A @ x >= b; one row per other center."""
        own, others = self.centers[self._number(j)], np.delete(self.centers, j, axis=0)
        normal = own - others
        if self.cones:
            return normal, np.zeros(len(others))
        # ½(‖c_j‖² − ‖c_l‖²), without the squares of an offset
        return normal, np.asarray(np.einsum("kd,kd->k", normal, (own + others) / 2))

    def contains(self, X: Any, j: int | None = None) -> Array:
        """The cell (n,) in which each row is, as `predict` says; or whether (n,) it is in cell j.

        A row on a face belongs to the lower number. A row of zeros is in no cone, as it has no
        direction: −1, whatever `zero_rows` of the model says.
        """
        rows = self._rows(X)
        if not self.cones:
            labels = labelling.nearest(rows, self.centers, None, None)
        else:
            with Workers(1) as workers:
                rows, length = unit_rows(rows, workers)
            labels = labelling.nearest(rows, self.centers, None, None)
            labels = np.where(length > 0, labels, -1)
        return labels if j is None else labels == self._number(j)

    def margins(self, X: Any, labels: Any = None) -> Floats:
        """How far (n,) each row is inside the nearest face of its cell; negative if it is outside.

        The nearest face is often not that of the second nearest center, so all are looked at. With
        `labels` (n,) the cells are these; a label of −1 gives NaN. Infinite if there is no face.
        """
        rows = self._rows(X)
        label = self.contains(rows) if labels is None else self._labels(labels, rows.shape[0])
        out, widest = np.full(rows.shape[0], np.nan), max(self.centers.shape)
        with one_blas_thread():
            for j in np.unique(label[label >= 0]):
                own = self.centers[j]
                normal, length = directions(own - self.centers)
                faces = length > 0
                unit = normal[faces]
                about, half = (0.0, 0.0) if self.cones else (own, length[faces] / 2)
                own_rows = np.flatnonzero(label == j)
                for some in (own_rows[span] for span in spans(len(own_rows), widest)):
                    gap = doubles(rows[some]) - about
                    out[some] = (gap @ unit.T + half).min(axis=1, initial=np.inf)
        return np.maximum(out, 0.0) if labels is None else out  # what rounding left

    def neighbours(self) -> Array:
        """(k, k) bool: which cells share a facet (of d − 1 dimensions, not just an edge).

        Exact up to facets that are shallower than a millionth of the distance of their centers.
        Beyond four dimensions every pair is looked at, most of them by a small linear program, so
        the time grows with the square of their number and more.
        """
        return shared_facets(self.centers)

    def slice(self, origin: Any, axes: Any) -> PlaneCells:
        """The cells cut by the plane origin + s·axes[0] + t·axes[1].

        Cells of the plane's own, not of projected centers: a cell that the plane misses is empty.
        """
        d = self.centers.shape[1]
        start, span = np.asarray(origin, dtype=np.float64), np.asarray(axes, dtype=np.float64)
        if start.shape != (d,) or span.shape != (2, d):
            raise ValueError(
                f"origin has the shape {start.shape} and axes {span.shape}; ({d},) and (2, {d}) "
                "are expected"
            )
        if not (np.isfinite(start).all() and np.isfinite(span).all()):
            raise ValueError("origin or axes hold NaN or infinity; finite numbers are expected")
        if self.cones:
            return PlaneCells(self.centers @ span.T, self.centers @ -start)
        away = self.centers - start
        # no square leaves the doubles, even if one center is very far from the others
        unit = 2.0 ** min(1000, _ROOM - math.frexp(float(np.abs(away).max()))[1])
        away = away * unit
        # ... and no slope, where the centers are much nearer to each other than the axes are long
        steep = math.frexp(unit)[1] + math.frexp(float(np.abs(span).max()))[1]
        gentle = 2.0 ** min(0, _STEEPEST - steep)
        return PlaneCells(
            away @ (unit * gentle * span).T, gentle * np.einsum("kd,kd->k", away, away) / 2
        )

    def polygons(self, box: Any) -> list[Floats]:
        """The cells of two features as polygons (m, 2), cut off at (xmin, ymin, xmax, ymax)."""
        if self.centers.shape[1] != 2:
            raise ValueError(
                f"the cells have {self.centers.shape[1]} features; polygons are there for 2: "
                "take slice(origin, axes).polygons(box), for example "
                "slice(*partita.pca_plane(X))"
            )
        edges = _box(box)
        middle = (edges[:2] + edges[2:]) / 2
        plane = self.slice(middle, np.eye(2))
        return [part + middle for part in plane.polygons(edges - np.tile(middle, 2))]

    def _number(self, j: int) -> int:
        whole = isinstance(j, (int, np.integer)) and not isinstance(j, bool)
        if not whole or not 0 <= j < len(self.centers):
            raise ValueError(f"j={j!r} was given; 0 to {len(self.centers) - 1} are expected")
        return int(j)

    def _labels(self, labels: Any, n: int) -> Ints:
        given, k = np.asarray(labels), len(self.centers)
        fits = given.shape == (n,) and given.dtype.kind in "iu"
        if not fits or (n and not (given.min() >= -1 and given.max() < k)):
            raise ValueError(
                f"labels have the shape {given.shape} and the dtype {given.dtype}; whole numbers "
                f"from 0 to {k - 1} are expected, one for each of {n} rows"
            )
        return given

    def _rows(self, X: Any) -> Any:
        rows = validation.as_rows(X, "Cells")
        if rows.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the cells have {self.centers.shape[1]}"
            )
        with Workers(1) as workers:
            validation.check_finite(validation.make_source(rows, None, workers), rows)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class PlaneCells:
    """Cells in a plane: cell j is where level_j − slope_j·(s, t) is the least of all.

    `Cells.slice` makes them. (Half of what the squared distances differ by, in a unit of its own.)
    """

    slope: Floats  # (k, 2)
    level: Floats  # (k,)

    def polygons(self, box: Any) -> list[Floats]:
        """Polygons (m, 2), cut off at (smin, tmin, smax, tmax); (0, 2) for cells not in it.

        Corners go round against the clock.
        """
        return lowest_regions(self.slope, self.level, _box(box))


def cells(model: Any) -> Cells:
    """The cells of a fitted model, in which its `predict` looks up rows.

    For models that assign rows to the nearest of their centers, scikit-learn's too. Those of
    `SphericalKMeans` are cones. Those of a pipeline lie in the space of its last step: give rows as
    `model[:-1].transform(X)` makes them.

    >>> from partita import KMeans, cells
    >>> cells(KMeans(2, random_state=0).fit([[1.0], [2.0], [9.0]])).margins([[5.0]]).tolist()
    [0.25]
    """
    model, _, _ = unwrap_pipeline(model)
    check_fitted(model)
    name, centers = type(model).__name__, getattr(model, "cluster_centers_", None)
    if isinstance(model, KMedoids) and not has_flat_cells(model.metric, model.metric_params):
        raise ValueError(
            f"metric={model.metric!r} has no cells with flat faces; those of metric='euclidean' "
            "and 'sqeuclidean' have. predict says where a row belongs"
        )
    if centers is None:
        raise ValueError(
            f"{name} has no centers in the space of its rows, so its cells are no polytopes; "
            "predict says where a row belongs"
        )
    if goes_down_a_tree(model):
        raise ValueError(
            f"{name} assigns rows down a tree, not to the nearest center; predict says "
            "where a row belongs, and Cells(model.cluster_centers_) are the cells of its centers"
        )
    return Cells(centers, cones=isinstance(model, SphericalKMeans))


def _unit(centers: Floats) -> Floats:
    """Centers of cones at unit length; those of a fit are, and stay as `predict` has them."""
    unit, length = directions(centers)
    if not length.all():
        raise ValueError(
            f"{int((length == 0).sum())} of {len(centers)} centers are zero, without a direction; "
            "cones need centers that have one"
        )
    return centers if (np.abs(length - 1) <= _ROUGH).all() else unit


def _box(box: Any) -> Floats:
    edges = np.asarray(box, dtype=np.float64)
    fits = edges.shape == (4,) and bool(np.isfinite(edges).all())
    if not fits or not (edges[:2] < edges[2:]).all():
        raise ValueError(f"box={box!r} was given; (xmin, ymin, xmax, ymax) is expected")
    return edges
