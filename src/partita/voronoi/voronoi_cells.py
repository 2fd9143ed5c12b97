"""Voronoi cells: the part of space that belongs to each center.

Cell j is the polytope of points x with (c_j − c_l)·x ≥ ½(‖c_j‖² − ‖c_l‖²) for all l; it may be
unbounded. Coincident centers share a cell; where only one can have it, the lower index does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.number_arrays import as_any_array, as_float_array
from partita._common.parameters import FLAG, Got, check, is_integer, must_be
from partita._common.power_of_two import largest_magnitude, square_scale
from partita._common.text import plural
from partita._common.threads import Workers, one_blas_thread
from partita.estimators import labelling, validation
from partita.estimators.capabilities import CELLS
from partita.estimators.fitted_models import capabilities_of, check_fitted, unwrap_pipeline
from partita.geometry import SPHERICAL, directions
from partita.source.raw_rows import as_doubles, row_slices
from partita.source.unit_rows import unit_rows
from partita.voronoi.neighbours import shared_facets
from partita.voronoi.polygons import lowest_regions

UNIT_LENGTH_TOLERANCE = 1e-6  # rounding of float32 directions
MAX_CENTER_EXPONENT = 200  # of the farthest center after scaling, so that near ones keep digits
MAX_SCALE_EXPONENT = 1022  # of a normal double
MAX_SLOPE_EXPONENT = 700  # with MAX_CENTER_EXPONENT and many features still below the overflow


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """Voronoi cells of centers (k, d); with `cones`, the cones around their directions.

    >>> two = Cells([[0.0, 0.0], [4.0, 0.0]])
    >>> two.contains([[1.0, 9.0], [2.0, 0.0], [3.0, 0.0]]).tolist()  # ties go to the lower index
    [0, 0, 1]
    >>> two.margins([[1.0, 9.0], [2.0, 0.0], [3.0, 0.0]]).tolist()
    [1.0, 0.0, 1.0]
    >>> two.half_spaces(0)
    (array([[-4.,  0.]]), array([-8.]))
    """

    centers: Floats
    cones: bool = False  # all faces go through 0, so only the direction of a row matters

    def __post_init__(self) -> None:
        check("cones", self.cones, FLAG)
        centers = validation.as_centers(self.centers, "centers", "k", "d")
        if 0 in centers.shape:
            raise must_be("centers", "of shape (k, d) with k, d >= 1", Got(centers.shape))
        if self.cones:
            centers = _unit(centers)
        object.__setattr__(self, "centers", centers)

    def __repr__(self) -> str:
        k, d = self.centers.shape
        kind = "Cells (cones)" if self.cones else "Cells"
        return f"{kind} of {plural(k, 'center')} in {plural(d, 'dimension')}"

    def half_spaces(self, j: int) -> tuple[Floats, Floats]:
        """Return A (k − 1, d) and b (k − 1,): x is in cell j if A @ x >= b.

        A row of A is the own center minus another one, scaled by a power of two if squares of the
        centers would be too large or too small for a double.
        """
        own, others = self.centers[self._number(j)], np.delete(self.centers, j, axis=0)
        # a half space stays the same if both its sides are scaled; squares stay in range
        scale = square_scale(largest_magnitude(self.centers), max_exponent=MAX_SCALE_EXPONENT)
        normal = own * scale - others * scale
        if self.cones:
            return normal, np.zeros(len(others))
        # ½(‖c_j‖² − ‖c_l‖²), without the squares of an offset
        return normal, np.asarray(np.einsum("kd,kd->k", normal, own / 2 + others / 2))

    def contains(self, X: Any, j: int | None = None) -> Array:
        """Return the cell (n,) of each row, as `predict` does; with j, whether (n,) it is cell j.

        A row on a face belongs to the lower index. A row of zeros has no direction and is in no
        cone: −1, for any `zero_rows` of the model.
        """
        rows = self._rows(X)
        length = np.ones(rows.shape[0])
        if self.cones:
            with Workers(1) as workers:
                rows, length = unit_rows(rows, workers)
        labels = np.where(length > 0, labelling.nearest(rows, self.centers, None, None), -1)
        return labels if j is None else labels == self._number(j)

    def margins(self, X: Any, labels: Any = None) -> Floats:
        """Return the distance (n,) of each row to the nearest face of its cell; negative outside.

        All faces count, as the nearest is often not that of the second nearest center. `labels`
        (n,) gives other cells than the own; a label of −1 gives NaN. Infinite without faces.
        """
        rows = self._rows(X)
        label = self.contains(rows) if labels is None else self._labels(labels, rows.shape[0])
        margin, width = np.full(rows.shape[0], np.nan), max(self.centers.shape)
        with one_blas_thread():
            for j in np.unique(label[label >= 0]):
                own = self.centers[j]
                normal, length = directions(own - self.centers)
                faces = length > 0
                unit = normal[faces]
                about, half = (0.0, 0.0) if self.cones else (own, length[faces] / 2)
                own_rows = np.flatnonzero(label == j)
                for block in (own_rows[span] for span in row_slices(len(own_rows), width)):
                    gap = as_doubles(rows[block]) - about
                    margin[block] = (gap @ unit.T + half).min(axis=1, initial=np.inf)
        return np.maximum(margin, 0.0) if labels is None else margin  # rounding may leave −1e-17

    def neighbours(self) -> Array:
        """Return (k, k) bool: which cells share a facet (of d − 1 dimensions, not just an edge).

        Facets shallower than a millionth of the distance of their centers do not count. Beyond six
        features all pairs are candidates, and those without a facet take a small linear program
        each: seconds for 200 centers.
        """
        return shared_facets(self.centers)

    def slice(self, origin: Any, axes: Any) -> PlaneCells:
        """Cut the cells by the plane origin + s·axes[0] + t·axes[1].

        This is a true section: a cell that the plane misses is empty.
        """
        d = self.centers.shape[1]
        start, span = _finite("origin", origin, (d,)), _finite("axes", axes, (2, d))
        if self.cones:
            return PlaneCells(self.centers @ span.T, self.centers @ -start)
        away = self.centers - start
        # no square overflows, even if one center is very far from the others
        unit = 2.0 ** min(1000, MAX_CENTER_EXPONENT - math.frexp(float(np.abs(away).max()))[1])
        away = away * unit
        # nor does a slope, if the axes are much longer than the distances of the centers
        steep = math.frexp(unit)[1] + math.frexp(float(np.abs(span).max()))[1]
        gentle = 2.0 ** min(0, MAX_SLOPE_EXPONENT - steep)
        return PlaneCells(
            away @ (unit * gentle * span).T, gentle * np.einsum("kd,kd->k", away, away) / 2
        )

    def polygons(self, box: Any) -> list[Floats]:
        """Return the cells of two features as polygons (m, 2) within (xmin, ymin, xmax, ymax)."""
        if self.centers.shape[1] != 2:
            raise ValueError(
                f"polygons() needs cells of 2 features, got {self.centers.shape[1]}. Use "
                "slice(origin, axes).polygons(box), for example slice(*partita.pca_plane(X))."
            )
        edges = _box(box)
        middle = (edges[:2] + edges[2:]) / 2
        plane = self.slice(middle, np.eye(2))
        return [polygon + middle for polygon in plane.polygons(edges - np.tile(middle, 2))]

    def _number(self, j: int) -> int:
        if not is_integer(j) or not 0 <= j < len(self.centers):
            raise must_be("j", f"an integer from 0 to {len(self.centers) - 1}", j)
        return int(j)

    def _labels(self, labels: Any, n: int) -> Ints:
        k = len(self.centers)
        wanted = f"integers from -1 to {k - 1}, one for each of {n} rows"
        given = as_any_array("labels", labels, wanted)
        fits = given.shape == (n,) and given.dtype.kind in "iu"
        if not fits or (n and not (given.min() >= -1 and given.max() < k)):
            raise must_be("labels", wanted, Got(f"shape {given.shape} and dtype {given.dtype}"))
        return given

    def _rows(self, X: Any) -> Any:
        rows = validation.as_rows(X, "Cells")
        if rows.shape[1] != self.centers.shape[1]:
            raise ValueError(
                f"X has {rows.shape[1]} features, but the cells have {self.centers.shape[1]}; both "
                "must have the same number."
            )
        with Workers(1) as workers:
            validation.check_finite(validation.make_source(rows, None, workers), rows)
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class PlaneCells:
    """Cells in a plane: cell j is where level_j − slope_j·(s, t) is the minimum.

    Made by `Cells.slice`. (Half of a difference of squared distances, in arbitrary units.)
    """

    slope: Floats  # (k, 2)
    level: Floats  # (k,)

    def polygons(self, box: Any) -> list[Floats]:
        """Return polygons (m, 2) within (smin, tmin, smax, tmax); empty (0, 2) if outside.

        Vertices are counter-clockwise.
        """
        return lowest_regions(self.slope, self.level, _box(box))


def cells(model: Any) -> Cells:
    """Return the cells of a fitted model that assigns rows to the nearest center.

    Models of scikit-learn are accepted. The cells of `SphericalKMeans` are cones. Those of a
    pipeline lie in the space of its last step: give rows as `model[:-1].transform(X)`.

    >>> from partita import KMeans, cells
    >>> cells(KMeans(2, random_state=0).fit([[1.0], [2.0], [9.0]])).margins([[5.0]]).tolist()
    [0.25]
    """
    model, _, _ = unwrap_pipeline(model)
    check_fitted(model)
    capabilities = capabilities_of(model)
    if not capabilities.has(CELLS):
        raise ValueError(
            f"`cells` is not available for {type(model).__name__}: {capabilities.why_not(CELLS)}. "
            "Use model.predict(X) to locate rows."
        )
    return Cells(model.cluster_centers_, cones=capabilities.geometry is SPHERICAL)


def _finite(name: str, value: Any, shape: tuple[int, ...]) -> Floats:
    wanted = f"finite numbers of shape {shape}"
    values = as_float_array(name, value, wanted)
    if values.shape != shape:
        raise must_be(name, wanted, Got(f"an array of shape {values.shape}"))
    if not np.isfinite(values).all():
        raise must_be(name, wanted, Got("NaN or infinity"))
    return values


def _unit(centers: Floats) -> Floats:
    """Centers at unit length; those of a fit stay as they are, so that labels equal `predict`."""
    unit, length = directions(centers)
    if not length.all():
        raise ValueError(
            f"`centers` of cones must not be zero, got {int((length == 0).sum())} of "
            f"{len(centers)} centers without a direction."
        )
    return centers if (np.abs(length - 1) <= UNIT_LENGTH_TOLERANCE).all() else unit


def _box(box: Any) -> Floats:
    wanted = "(xmin, ymin, xmax, ymax) with min < max, all finite"
    edges = as_float_array("box", box, wanted)
    fits = edges.shape == (4,) and bool(np.isfinite(edges).all())
    if not fits or not (edges[:2] < edges[2:]).all():
        raise must_be("box", wanted, box)
    return edges
