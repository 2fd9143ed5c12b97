"""The map of a report: rows, groups and cells in a plane, packed for the browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.number_text import number_text, percent_text
from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_scene import build_scene
from partita.chart_layout.model_rows import left_out_note
from partita.chart_layout.projection import Box, PlaneView, ProjectionPlane, with_equal_scale
from partita.description.group_profile import GroupProfile
from partita.estimators.capabilities import CELLS
from partita.estimators.fitted_models import capabilities_of
from partita.report.map.axis_frame import AxisFrame, axis_frame
from partita.report.map.axis_words import AxisWords, feature_words, principal_words
from partita.report.map.group_bubbles import bubble_map
from partita.report.map.map_packing import (
    NO_GROUP,
    affordable_rows,
    packed,
    packed_positions,
    packed_values,
)
from partita.report.map.map_sample import MIN_CLUSTER_ROWS, GroupPlane, group_plane, project_rows
from partita.report.map.stacked_histogram import histogram
from partita.report.map.value_units import axis_units
from partita.report.report_input import ReportInput
from partita.report.svg import MARKER_OUTLINES

MAX_ROWS = 100_000  # that are drawn; more are sampled
MAX_LEGEND_GROUPS = 200  # the largest ones
_CELL_REACH = 4.0  # how far beyond the box cells are drawn, in boxes
_GRID_SIDE = 0.15  # of the width, added at each side of a grid of predictions
_MIN_CELL_SHARE = 0.95  # of the rows inside the cell of their own group; else cells mislead
_CELL_TEST_ROWS = 5_000
_CELL_TEST_VALUES = 4_000_000

_GAPS_NOTE = "missing values are drawn at the center of their group"


@dataclass(frozen=True, slots=True)
class LegendGroup:
    """One entry of the legend."""

    number: int
    name: str
    share: float


@dataclass(frozen=True, slots=True)
class ReportMap:
    """The contents of the section: data for the browser, or a drawing that needs none."""

    legend: tuple[LegendGroup, ...]  # the largest first
    data: dict[str, Any] | None = None  # JSON values
    drawing: str = ""  # SVG, if there is no data
    plane_note: str = ""  # about the plane that is shown first


@np.errstate(all="ignore")
def map_of(data: ReportInput, profile: GroupProfile | None) -> tuple[ReportMap | None, str]:
    """Return the map, and the note below it."""
    if data.is_matrix:
        return None, "The model was fitted to a matrix, which has no points to draw."
    if profile is None:
        return None, "There are too few rows to be drawn."
    legend = _legend(data)
    placed = "" if data.places is None else data.places.note
    if data.points.shape[1] == 1:
        drawing, note = histogram(data)
        return ReportMap(legend, drawing=drawing), note
    if data.fitted.no_rows:
        drawing, note = bubble_map(data)
        return ReportMap(legend, drawing=drawing), join_sentences([placed, note.rstrip(".")])
    contents, plane_note, note = _packed_map(data, profile)
    return ReportMap(legend, contents, plane_note=plane_note), note


def _packed_map(data: ReportInput, profile: GroupProfile) -> tuple[dict[str, Any], str, str]:
    """Return the JSON values, the note on the plane, and the note on the rows."""
    drawn, names = affordable_rows(data, MAX_ROWS)
    placed = "" if data.places is None else data.places.note
    place = group_plane(data)
    points = project_rows(data, place.plane, drawn)
    left_out = left_out_note(data.model, data.labels)
    left_out = left_out and f"{left_out}: dots in grey"
    frames = [axis_frame(points[:, t], place.centers[:, t]) for t in (0, 1)]
    labels = data.labels[drawn]
    values, feature_frames = packed_values(data, profile, drawn, names)
    axes = _plane_axes(data, place, points, frames, drawn)
    if place.plane.n_features > 2:
        words = map(feature_words, values["names"])
        choices = zip(words, feature_frames, values["days"], strict=True)
        axes += [
            _axis(word, frame, feature=t, is_day=is_day)
            for t, (word, frame, is_day) in enumerate(choices)
        ]
    cells, cell_note = _cells(data, place, points, labels, frames)
    contents = {
        "k": data.k,
        "total": data.n,
        "labels": packed(np.where(labels < 0, NO_GROUP, labels), "u2"),
        "rows": packed(data.row_numbers[drawn], "u4"),
        "ids": None if names is None else names.rest,
        "id_prefix": "" if names is None else names.prefix,
        "axes": axes,
        "centers": _positions(place.centers, frames),
        "outlines": MARKER_OUTLINES,
        **values,
        **cells,
    }
    sampled = (
        len(drawn) < data.n
        and f"{number_text(len(drawn))} of {number_text(data.n)} rows are drawn: a random sample "
        f"with at least {MIN_CLUSTER_ROWS} rows of every group that has so many"
    )
    scales = not _has_equal_scale(frames) and "the axes have different scales"
    gaps = data.places is None and data.left_missing > 0 and _GAPS_NOTE
    notes = [sampled, placed, place.note, left_out, gaps]
    return contents, join_sentences([scales, cell_note]), join_sentences(notes)


def _legend(data: ReportInput) -> tuple[LegendGroup, ...]:
    total = float(data.cluster_weight.sum()) or 1.0
    order = data.groups_by_size()[:MAX_LEGEND_GROUPS]
    return tuple(
        LegendGroup(j, data.group_name(j), float(data.cluster_weight[j] / total)) for j in order
    )


# --- axes --------------------------------------------------------------------------------------


def _plane_axes(
    data: ReportInput, place: GroupPlane, points: Floats, frames: list[AxisFrame], drawn: Ints
) -> list[dict[str, Any]]:
    """The two axes of the plane: principal axes, or the only two features in the data's units."""
    made = []
    is_projection = place.plane.n_features > 2
    units = [] if is_projection else [axis_units(data, t, drawn) for t in (0, 1)]
    if is_projection:
        words: tuple[AxisWords, ...] = principal_words(place.plane, data.point_names)
        ticks: list[list[float] | None] = [None, None]
    else:
        words = tuple(feature_words(data.names[t], units[t].suffix) for t in (0, 1))
        ticks = [units[t].ticks(frames[t]) for t in (0, 1)]
    for t in (0, 1):
        is_day = not is_projection and t in data.day_features and not units[t].suffix
        axis = _axis(words[t], frames[t], ticks[t], is_day=is_day)
        length = frames[t].high - frames[t].low
        axis["length"] = length if np.isfinite(length) else None
        axis["packed"] = packed_positions(points[:, t], frames[t])
        made.append(axis)
    return made


def _axis(
    words: AxisWords,
    frame: AxisFrame,
    ticks: list[float] | None = None,
    feature: int | None = None,
    is_day: bool = False,
) -> dict[str, Any]:
    """One axis as JSON values; the browser computes the positions of a feature from its values."""
    return {
        "name": words.name,
        "parts": words.parts,
        "share": words.share,
        "box": ticks if feature is None else [frame.low, frame.high],
        "whole": frame.whole,
        "squeezed": frame.is_squeezed,
        "feature": feature,
        "is_day": is_day,  # whether values are days since 1970
        "length": None,  # in the units of the rows, if both axes have the same
        "packed": None,
    }


def _has_equal_scale(frames: list[AxisFrame]) -> bool:
    """Return whether a unit has the same length along both axes of the first plane."""
    return with_equal_scale(_first_box(frames), 2)[1]


def _first_box(frames: list[AxisFrame]) -> Box:
    """The part of the plane that is shown first, without outliers if they squeeze the rest."""
    if any(frame.is_squeezed for frame in frames):
        return frames[0].low, frames[1].low, frames[0].high, frames[1].high
    return _whole_box(frames)


def _whole_box(frames: list[AxisFrame]) -> Box:
    low, high = np.array([_whole_ends(frame) for frame in frames]).T.tolist()
    return low[0], low[1], high[0], high[1]


def _whole_ends(frame: AxisFrame) -> list[float]:
    length = frame.high - frame.low
    return [frame.low + position * length for position in frame.whole]


def _positions(points: Floats, frames: list[AxisFrame]) -> list[list[float]]:
    """Points (n, 2) as pairs of positions in the frames."""
    pairs = np.column_stack([frames[t].position(points[:, t]) for t in (0, 1)])
    return [[round(x, 5) for x in pair] for pair in np.nan_to_num(pairs).tolist()]


# --- cells -------------------------------------------------------------------------------------


def _cells(
    data: ReportInput, place: GroupPlane, points: Floats, labels: Ints, frames: list[AxisFrame]
) -> tuple[dict[str, Any], str]:
    """Return cells or a grid of predictions, and a note; none where they would mislead."""
    plane = place.plane
    none: dict[str, Any] = {"cells": [], "grid": None}
    whole = _enlarged(_whole_box(frames))
    if not np.isfinite([*plane.origin, *whole]).all() or not np.isfinite(points).all():
        return none, "no borders are drawn, because the values are too large"
    if plane.n_features > 2 and capabilities_of(data.model).has(CELLS):
        share = _share_in_own_cell(data, plane, points, labels)
        if share < _MIN_CELL_SHARE:
            return none, (
                f"no borders are drawn, because in this plane only {percent_text(share)} of the "
                "rows would lie inside those of their own group"
            )
    view = PlaneView(plane, points, (place.centers,), _whole_box(frames), equal_scale=True)
    if not capabilities_of(data.model).has(CELLS):  # a grid covers only the part shown first
        box = _grid_box(_first_box(frames))
        scene, note = build_scene(data.model, view, labels, box)
        if scene.regions is None:
            return none, note
        corners = _positions(np.reshape(box, (2, 2)), frames)
        return {"cells": [], "grid": _grid(scene.regions, corners)}, note
    scene, _ = build_scene(data.model, view, labels, _enlarged(view.box))
    borders = [_positions(corners, frames) for corners in scene.polygons]
    note = "rows are projected on the plane, so some lie across a border of their group"
    return {"cells": borders, "grid": None}, note if plane.n_features > 2 else ""


def _share_in_own_cell(
    data: ReportInput, plane: ProjectionPlane, points: Floats, labels: Ints
) -> float:
    """The share of rows whose place in the plane belongs to their own group."""
    inside = np.flatnonzero(labels >= 0)
    count = int(np.clip(_CELL_TEST_VALUES // plane.n_features, 200, _CELL_TEST_ROWS))
    some = inside[:count]  # rows are in random order
    if not len(some):
        return 1.0
    lifted = points[some] @ plane.axes + plane.origin
    directed = lifted.any(axis=1)  # zeros have no direction, so no group of directions has them
    lifted, some = lifted[directed], some[directed]
    if not len(some):
        return 1.0
    dtype = np.result_type(data.rows.dtype, np.float32)  # some models predict only their own
    return float(np.mean(data.model.predict(lifted.astype(dtype)) == labels[some]))


def _grid_box(box: Box) -> Box:
    """The box with the aspect of a panel, and wider still: some panels are."""
    box, is_equal = with_equal_scale(box, 2)
    side = _GRID_SIDE * (box[2] - box[0]) if is_equal else 0.0
    return box[0] - side, box[1], box[2] + side, box[3]


def _enlarged(box: Box) -> Box:
    low, high = np.reshape(box, (2, 2))
    reach = _CELL_REACH * (high - low)
    return (*(low - reach).tolist(), *(high + reach).tolist())


def _grid(regions: Array, corners: list[list[float]]) -> dict[str, Any]:
    rows, columns = regions.shape
    return {
        "rows": rows,
        "columns": columns,
        "labels": packed(regions, "u2"),
        "box": [*corners[0], *corners[1]],
    }
