"""The map of a report: rows, centers and cells in a plane, packed for the browser."""

from __future__ import annotations

import base64
import re
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.random_state import generator
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_profile import ClusterProfile
from partita.chart_layout.cluster_scene import ClusterScene, build_scene, marked_centers
from partita.chart_layout.model_rows import DrawnRows
from partita.chart_layout.projection import Box, PlaneView, view_rows
from partita.report.page_text import number_text, safe_line
from partita.report.report_input import ReportInput
from partita.report.svg import MARKER_OUTLINES
from partita.source.raw_rows import as_doubles

MAX_ROWS = 40_000  # that are drawn; more are sampled
_MIN_CLUSTER_ROWS = 20  # of every cluster in a sample
_MAX_VALUES = 400_000  # of all rows together, to show when pointing at them
_MAX_FEATURES = 16  # of one row
_GRID_STEPS = 65_535  # positions along an axis
_CELL_REACH = 4.0  # how far beyond the box cells are drawn, in boxes
_UNDEFINED_SHARE = re.compile(r" \(nan%[^)]*\)$")  # of a variance that overflows


@np.errstate(all="ignore")
def map_of(data: ReportInput, profile: ClusterProfile | None) -> tuple[dict[str, Any] | None, str]:
    """Return the map as JSON values, and the note below it."""
    if profile is None:
        return None, "The model was fitted to a matrix, which has no points to draw."
    drawn = _sample(data)
    values = data.rows[drawn].astype(np.float64)
    rows = DrawnRows(values, data.labels[drawn], data.weight[drawn], list(data.names))
    centers, center_note = marked_centers(data.model, rows)
    view = view_rows(rows, [centers])
    scene, cell_note = _scene(data.model, view, rows.labels)
    one_feature = view.plane.n_features == 1
    positions = np.rint(_in_box(view.points, view.box) * _GRID_STEPS)
    contents = {
        "labels": _packed(np.where(rows.labels < 0, _GRID_STEPS, rows.labels), "<u2"),
        "xy": _packed(np.clip(positions, 0, _GRID_STEPS), "<u2"),
        "rows": _packed(data.row_numbers[drawn], "<u4"),
        "ids": None if data.ids is None else [data.row_name(i) for i in drawn],
        "centers": _rounded(scene.centers, view.box),
        "cells": [_rounded(corners, view.box) for corners in scene.polygons],
        "grid": None if scene.regions is None else _grid(scene.regions),
        "box": list(map(float, view.box)),
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
        len(drawn) < data.n
        and f"{number_text(len(drawn))} of {number_text(data.n)} rows are drawn: a random sample "
        f"with at least {_MIN_CLUSTER_ROWS} rows of every cluster that has so many",
        not (view.equal_scale or one_feature) and "the axes have different scales",
        one_feature and "heights are random, so that rows do not overlap",
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
    drawn = [rng.choice(data.n, MAX_ROWS, replace=False)]
    free = np.ones(data.n, dtype=bool)
    free[drawn[0]] = False
    for rows in data.cluster_rows:
        others = rows[free[rows]]
        missing = min(len(others), _MIN_CLUSTER_ROWS - (len(rows) - len(others)))
        if missing > 0:
            drawn.append(rng.choice(others, missing, replace=False))
    return rng.permutation(np.concatenate(drawn))


def _values(data: ReportInput, profile: ClusterProfile, drawn: Ints) -> dict[str, Any]:
    """The values shown on pointing at a row: of the features that separate clusters best."""
    d = len(data.names)
    count = int(np.clip(_MAX_VALUES // max(1, len(drawn)), 1, min(_MAX_FEATURES, d)))
    features = np.sort(profile.order[:count])
    return {
        "names": [data.names[t] for t in features],
        "values": _packed(as_doubles(data.original[drawn][:, features]), "<f8"),
        "more": d - count,
    }


def _axis_names(data: ReportInput, view: PlaneView) -> list[str]:
    principal = view.plane.n_features > 2
    unit = " (scaled)" if data.scaling != "none" and not principal else ""
    names = [_UNDEFINED_SHARE.sub("", name) if principal else name for name in view.plane.names]
    return [safe_line(name, 60) + unit if name else "" for name in names]


def _in_box(points: Floats, box: Box) -> Floats:
    """Points (n, 2) relative to the box: 0 at its lower edge, 1 at its upper one."""
    low, high = np.reshape(box, (2, 2))
    return np.asarray((points - low) / (high - low))


def _enlarged(box: Box) -> Box:
    low, high = np.reshape(box, (2, 2))
    reach = _CELL_REACH * (high - low)
    return (*(low - reach).tolist(), *(high + reach).tolist())


def _grid(regions: Array) -> dict[str, Any]:
    rows, columns = regions.shape
    return {"rows": rows, "columns": columns, "labels": _packed(regions, "<u2")}


def _packed(values: Array, dtype: str) -> str:
    """An array as base64 of its bytes."""
    return base64.b64encode(values.astype(dtype).tobytes()).decode("ascii")


def _rounded(points: Floats, box: Box) -> list[list[float]]:
    return [[round(x, 5) for x in point] for point in _in_box(points, box).tolist()]
