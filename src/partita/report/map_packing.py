"""Rows of a map as base64 of typed arrays, within a budget of bytes."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.chart_layout.cluster_profile import ClusterProfile
from partita.report.axis_frame import AxisFrame, axis_frame
from partita.report.map_sample import sample_rows
from partita.report.report_input import ReportInput
from partita.source.raw_rows import as_doubles

NO_GROUP = 65_535  # the label of rows without a group
MAX_CHARACTERS = 4_200_000  # of all rows in the page
_MIN_FEATURES, _MAX_FEATURES = 3, 16  # of one row, to show when pointing at it
_GRID_STEPS = 65_535  # positions along an axis without outliers
_BASE64 = 4 / 3  # characters for a byte
_POSITION_BYTES = 4 + 2 + 2 * 4  # row number, label and two positions of a row
_SEPARATORS = 3  # characters around an id
_MIN_ROWS = 5_000  # drawn even if their ids are very long
_MAX_SINGLE = 1e6  # fractions beyond it need more digits than a float32 has
_MIN_SINGLE = 1e-30


def affordable_rows(data: ReportInput, max_rows: int) -> tuple[Ints, list[str] | None]:
    """Sample rows to draw, with their ids: fewer if ids are so long that the page would swell."""
    drawn = sample_rows(data, max_rows)
    names = _row_names(data, drawn)
    cost = _row_characters(len(drawn), names) + _BASE64 * 4 * _MIN_FEATURES * len(drawn)
    if cost > MAX_CHARACTERS and len(drawn) > _MIN_ROWS:
        drawn = sample_rows(data, max(_MIN_ROWS, int(len(drawn) * MAX_CHARACTERS / cost)))
        names = _row_names(data, drawn)
    return drawn, names


def packed_values(
    data: ReportInput, profile: ClusterProfile, drawn: Ints, names: Sequence[str] | None
) -> tuple[dict[str, Any], list[AxisFrame]]:
    """Pack the features that separate groups best; return JSON values and the frame of each."""
    d, m = len(data.names), max(1, len(drawn))
    room = (MAX_CHARACTERS - _row_characters(m, names)) / (_BASE64 * m)  # bytes of a row
    most = min(_MAX_FEATURES, d)
    count = int(np.clip(room // 4, min(_MIN_FEATURES, d), most))
    features = np.sort(profile.order[:count])
    columns = as_doubles(data.original[drawn][:, features]).T
    kinds = ["f8" if 8 * count <= room or not _fits_single(one) else "f4" for one in columns]
    contents = {
        "names": [data.names[t] for t in features],
        "values": [packed(one, kind) for one, kind in zip(columns, kinds, strict=True)],
        "types": kinds,
        "days": [t in data.day_features for t in features.tolist()],
        "more": d - count,
    }
    return contents, [axis_frame(one) for one in columns]


def packed(values: Array, kind: str) -> str:
    """Return an array as base64 of its bytes, the lowest first."""
    return base64.b64encode(values.astype(f"<{kind}").tobytes()).decode("ascii")


def packed_positions(values: Floats, frame: AxisFrame) -> dict[str, str]:
    """Pack positions along an axis; as 16-bit integers, or floats if there are outliers."""
    position = np.nan_to_num(frame.position(values))
    if frame.has_outliers:
        return {"type": "f4", "data": packed(position, "f4")}
    steps = np.clip(np.rint(position * _GRID_STEPS), 0, _GRID_STEPS)
    return {"type": "u2", "data": packed(steps, "u2")}


def _fits_single(values: Floats) -> bool:
    """Whether float32 changes no integer, and of no other value a digit that is shown."""
    finite = values[np.isfinite(values)]
    whole = finite == np.rint(finite)
    size = np.abs(finite[~whole])
    return bool(
        (finite[whole].astype(np.float32) == finite[whole]).all()
        and ((size < _MAX_SINGLE) & (size > _MIN_SINGLE)).all()
    )


def _row_names(data: ReportInput, drawn: Ints) -> list[str] | None:
    return None if data.ids is None else [data.row_name(i) for i in drawn]


def _row_characters(m: int, names: Sequence[str] | None) -> float:
    """Characters of m rows without their values."""
    ids = 0 if names is None else sum(map(len, map(json.dumps, names))) + _SEPARATORS * m
    return _BASE64 * _POSITION_BYTES * m + ids
