"""The map of a report: rows, centers and cells in a plane, packed for the browser."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.random_state import generator
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_profile import ClusterProfile
from partita.chart_layout.cluster_scene import ClusterScene, build_scene, marked_centers
from partita.chart_layout.model_rows import DrawnRows
from partita.chart_layout.projection import Box, PlaneView, view_rows
from partita.report.number_text import number_text
from partita.report.report_input import ReportInput
from partita.report.safe_text import safe_line
from partita.report.svg import MARKER_OUTLINES

MAX_ROWS = 40_000  # that are drawn; more are sampled
_MIN_CLUSTER_ROWS = 20  # of every cluster in a sample
_MAX_VALUES = 400_000  # of all rows together, to show when pointing at them
_MAX_FEATURES = 16  # of one row
_GRID_STEPS = 65_535  # positions along an axis
_CELL_REACH = 4.0  # how far beyond the box cells are drawn, in boxes
_UNDEFINED_SHARE = re.compile(r" \(nan%[^)]*\)$")  # of a variance that overflows


def map_of(data: ReportInput, profile: ClusterProfile) -> tuple[dict[str, Any], str]:
    """Return the map as JSON values, and the note below it."""
    drawn = _sample(data)
    rows = DrawnRows(
        data.rows[drawn].astype(np.float64),
        data.labels[drawn],
        data.weight[drawn],
        list(data.names),
        data.n,
    )
    centers, center_note = marked_centers(data.model, rows)
    view = view_rows(rows, [centers])
    scene, cell_note = _scene(data.model, view, rows.labels)
    one_feature = view.plane.n_features == 1
    contents = {
        "labels": _packed(np.where(rows.labels < 0, _GRID_STEPS, rows.labels), "<u2"),
        "xy": _packed(
            np.clip(np.rint(_in_box(view.points, view.box) * _GRID_STEPS), 0, _GRID_STEPS), "<u2"
        ),
        "rows": _packed(np.array([data.row_number(i) for i in drawn]), "<u4"),
        "ids": None if data.ids is None else [data.row_name(i) for i in drawn],
        "centers": _rounded(scene.centers, view.box),
        "cells": [_rounded(corners, view.box) for corners in scene.polygons],
        "grid": _grid(scene.regions),
        "box": [float(edge) for edge in view.box],
        "ticks": view.plane.n_features <= 2 and bool(np.isfinite(view.box).all()),
        "flat": one_feature,
        "equal": view.equal_scale,
        "axes": _axis_names(data, view),
        "k": data.k,
        "total": data.n,
        "outlines": MARKER_OUTLINES,
        **_values(data, profile, drawn),
    }
    remarks = [
        _sample_note(data, drawn),
        not (view.equal_scale or one_feature) and "the axes have different scales",
        one_feature and "heights are random, so that rows can be told apart",
        cell_note,
        center_note,
    ]
    return contents, join_sentences(remarks)


def _scene(model: Any, view: PlaneView, labels: Ints) -> tuple[ClusterScene, str]:
    """The scene with cells far beyond the box, so that zooming out does not end them."""
    beyond = view.plane.n_features > 2 or view.equal_scale
    box = _enlarged(view.box) if beyond and view.plane.n_features > 1 else view.box
    scene, note = build_scene(model, view, labels, box)
    if scene.regions is not None and box is not view.box:  # a grid covers only the box
        scene, note = build_scene(model, view, labels, view.box)
    return scene, note


def _sample(data: ReportInput) -> Ints:
    """The rows to draw, in random order, so that no cluster covers the others."""
    rng = generator(0)
    if data.n <= MAX_ROWS:
        return rng.permutation(data.n)
    drawn = rng.choice(data.n, MAX_ROWS, replace=False)
    count = np.bincount(data.labels[drawn] + 1, minlength=data.k + 1)[1:]
    more = []
    free = np.ones(data.n, dtype=bool)
    free[drawn] = False
    for j in np.flatnonzero(count < np.minimum(_MIN_CLUSTER_ROWS, data.cluster_sizes)).tolist():
        others = data.cluster_rows(j)
        others = others[free[others]]
        missing = min(len(others), _MIN_CLUSTER_ROWS - int(count[j]))
        more.append(rng.choice(others, missing, replace=False))
    return rng.permutation(np.concatenate([drawn, *more]))


def _sample_note(data: ReportInput, drawn: Ints) -> str:
    if len(drawn) == data.n:
        return ""
    return (
        f"{number_text(len(drawn))} of {number_text(data.n)} rows are drawn: a random sample with "
        f"at least {_MIN_CLUSTER_ROWS} rows of every cluster that has so many"
    )


def _values(data: ReportInput, profile: ClusterProfile, drawn: Ints) -> dict[str, Any]:
    """The values shown on pointing at a row: of the features that separate clusters best."""
    d = len(data.names)
    count = int(np.clip(_MAX_VALUES // max(1, len(drawn)), 1, min(_MAX_FEATURES, d)))
    features = np.sort(profile.order[:count])
    values = data.original[drawn][:, features]
    return {
        "names": [data.names[t] for t in features],
        "values": _packed(values.toarray() if sp.issparse(values) else values, "<f8"),
        "more": d - count,
    }


def _axis_names(data: ReportInput, view: PlaneView) -> list[str]:
    kind = str(getattr(data.fitted.scaling, "kind", "none"))
    principal = view.plane.n_features > 2
    unit = " (scaled)" if kind != "none" and not principal else ""
    names = [_UNDEFINED_SHARE.sub("", name) if principal else name for name in view.plane.names]
    return [safe_line(name, 60) + unit if name else "" for name in names]


def _in_box(points: Floats, box: Box) -> Floats:
    """Points (n, 2) relative to the box: 0 at its lower edge, 1 at its upper one."""
    low, high = np.array(box[:2]), np.array(box[2:])
    return np.asarray((points - low) / (high - low))


def _enlarged(box: Box) -> Box:
    low, high = np.array(box[:2]), np.array(box[2:])
    reach = _CELL_REACH * (high - low)
    return (*(low - reach).tolist(), *(high + reach).tolist())


def _grid(regions: Array | None) -> dict[str, Any] | None:
    if regions is None:
        return None
    rows, columns = regions.shape
    return {"rows": rows, "columns": columns, "labels": _packed(regions, "<u2")}


def _packed(values: Array, dtype: str) -> str:
    """An array as base64 of its bytes."""
    return base64.b64encode(np.ascontiguousarray(values).astype(dtype).tobytes()).decode("ascii")


def _rounded(points: Floats, box: Box) -> list[list[float]]:
    return [[round(float(x), 5), round(float(y), 5)] for x, y in _in_box(points, box)]
