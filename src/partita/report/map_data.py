"""The map of a report: rows, centers and cells in a plane, packed for the browser."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.random_state import generator
from partita.chart_layout.model_rows import Rows
from partita.chart_layout.projection import Plane, box_around, even, plane_of
from partita.plots.cluster_display import scene_of, shown_centers, spread
from partita.report.cluster_profiles import Profile
from partita.report.report_input import Case
from partita.report.safe_text import number, shown
from partita.report.svg import MARKS

MOST = 40_000  # rows that are drawn; more are sampled
_LEAST = 20  # of these, rows of every cluster
_VALUES = 400_000  # values that the map can show, of all rows together
_FEATURES = 16  # values of one row
_STEPS = 65_535  # places along an axis
_SHARE = re.compile(r" \(nan%[^)]*\)$")  # of a variance that is beyond all numbers
_FAR = 4.0  # how far beyond the box cells are drawn, in boxes


def map_of(case: Case, profile: Profile) -> tuple[dict[str, Any], list[str]]:
    """The map as JSON takes it, and what to say below it."""
    some = _sample(case)
    rows = Rows(
        _doubles(case.rows[some]), case.labels[some], case.weight[some], list(case.names), case.n
    )
    plane = plane_of(rows)
    points = spread(plane.project(rows.values), rows.values.shape[1])
    centers, remark = shown_centers(case.model, rows)
    at = plane.project(centers)
    box, equal = even(box_around(points, at), len(plane.origin))
    wide = (*_beyond(box, -_FAR), *_beyond(box, 1 + _FAR)) if plane.is_cut or equal else box
    straight = len(plane.origin) != 1
    scene, note = scene_of(case.model, plane, points, rows.labels, wide if straight else box, at)
    if scene.regions is not None and wide is not box:  # a grid is asked for where the rows are
        scene, note = scene_of(case.model, plane, points, rows.labels, box, at)
    unit = _Unit(box)
    data = {
        "labels": _packed(np.where(rows.labels < 0, _STEPS, rows.labels), "<u2"),
        "xy": _packed(np.clip(np.rint(unit(points) * _STEPS), 0, _STEPS), "<u2"),
        "rows": _packed(np.array([case.row_number(i) for i in some]), "<u4"),
        "ids": None if case.ids is None else [case.row_name(i) for i in some],
        "centers": _short(unit(at)),
        "cells": [_short(unit(part)) if len(part) else [] for part in scene.polygons],
        "grid": _grid(scene.regions),
        "box": [float(edge) for edge in box],
        "ticks": len(plane.origin) <= 2 and bool(np.isfinite(box).all()),
        "flat": not plane.names[1],
        "equal": equal,
        "axes": _axes(case, plane),
        "k": case.k,
        "of": case.n,
        "marks": MARKS,
        **_values(case, profile, some),
    }
    chance = "" if plane.names[1] else "up and down rows lie by chance, to be told apart"
    scales = "" if equal or data["flat"] else "the axes have different scales"
    return data, [part for part in (_of(case, some), scales, chance, note, remark) if part]


def _sample(case: Case) -> Ints:
    """Which rows are drawn, in an order by chance, so that no cluster lies above the others."""
    rng = generator(0)
    if case.n <= MOST:
        return rng.permutation(case.n)
    drawn = rng.choice(case.n, MOST, replace=False)
    count = np.bincount(case.labels[drawn] + 1, minlength=case.k + 1)[1:]
    more = []
    free = np.ones(case.n, dtype=bool)
    free[drawn] = False
    for j in np.flatnonzero(count < np.minimum(_LEAST, case.sizes)).tolist():
        others = case.members(j)
        others = others[free[others]]
        more.append(rng.choice(others, min(len(others), _LEAST - int(count[j])), replace=False))
    return rng.permutation(np.concatenate([drawn, *more]))


def _of(case: Case, some: Ints) -> str:
    if len(some) == case.n:
        return ""
    return (
        f"{number(len(some))} of {number(case.n)} rows are drawn, sampled at random, but at least "
        f"{_LEAST} of every cluster that has so many"
    )


def _values(case: Case, profile: Profile, some: Ints) -> dict[str, Any]:
    """What hovering shows of a row: the features that tell clusters apart, in the user's units."""
    d = len(case.names)
    few = int(np.clip(_VALUES // max(1, len(some)), 1, min(_FEATURES, d)))
    first = np.sort(profile.order[:few])
    part = case.original[some][:, first]
    return {
        "names": [case.names[t] for t in first],
        "values": _packed(_doubles(part.toarray() if sp.issparse(part) else part), "<f8"),
        "more": d - few,
    }


def _axes(case: Case, plane: Plane) -> list[str]:
    kind = str(getattr(case.fitted.scaling, "kind", "none"))
    scaled = kind != "none" and not plane.is_cut
    return [
        shown(_SHARE.sub("", name) if plane.is_cut else name, 60) + " (scaled)" * scaled
        if name
        else ""
        for name in plane.names
    ]


class _Unit:
    """Coordinates within the box: 0 at its lower edge, 1 at its upper one."""

    def __init__(self, box: tuple[float, float, float, float]) -> None:
        self._low, self._high = np.array(box[:2]), np.array(box[2:])

    def __call__(self, points: Floats) -> Floats:
        """Points (n, 2) of the plane."""
        return np.asarray((points - self._low) / (self._high - self._low))


def _beyond(box: tuple[float, float, float, float], t: float) -> tuple[float, float]:
    low, high = np.array(box[:2]), np.array(box[2:])
    x, y = (low + t * (high - low)).tolist()
    return float(x), float(y)


def _grid(regions: Array | None) -> dict[str, Any] | None:
    if regions is None:
        return None
    rows, columns = regions.shape
    return {"rows": rows, "columns": columns, "labels": _packed(regions, "<u2")}


def _doubles(values: Any) -> Any:
    return values.astype(np.float64)


def _packed(values: Array, kind: str) -> str:
    """An array as text: four letters for three bytes, little end first."""
    return base64.b64encode(np.ascontiguousarray(values).astype(kind).tobytes()).decode("ascii")


def _short(points: Floats) -> list[list[float]]:
    return [[round(float(x), 5), round(float(y), 5)] for x, y in points]
