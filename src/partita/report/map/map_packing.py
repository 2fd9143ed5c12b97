"""Rows of a map as base64 of typed arrays, within a budget of bytes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.description.group_profile import GroupProfile
from partita.report.map.axis_frame import AxisFrame, axis_frame
from partita.report.map.map_sample import sample_rows
from partita.report.report_input import ReportInput
from partita.source.raw_rows import as_doubles

NO_GROUP = 65_535  # the label of rows without a group
MAX_CHARACTERS = 4_300_000  # of all rows in the page
_MIN_FEATURES, _MAX_FEATURES = 3, 16  # of one row, to show when pointing at it
_GRID_STEPS = 65_535  # positions along an axis without outliers
_BASE64 = 4 / 3  # characters for a byte
_POSITION_BYTES = 4 + 2 + 2 * 2  # row number, label and two positions of a row
_ESTIMATE_ROWS = 2_000  # whose ids tell how long ids are
_MIN_ROWS = 5_000  # drawn even if their ids are very long
_MAX_SINGLE = 1e6  # fractions beyond it need more digits than a float32 has
_MIN_SINGLE = 1e-30


@dataclass(frozen=True, slots=True)
class RowNames:
    """The ids of rows; what all of them begin with is stored once."""

    prefix: str
    rest: tuple[str, ...]

    @property
    def mean_characters(self) -> float:
        """The average length of an id in the page, with its quotes and a comma."""
        return sum(len(json.dumps(text)) + 1 for text in self.rest) / max(1, len(self.rest))


def affordable_rows(data: ReportInput, max_rows: int) -> tuple[Ints, RowNames | None]:
    """Sample rows to draw, with their ids: fewer if ids are so long that the page would swell."""
    drawn = sample_rows(data, max_rows)
    if data.ids is None:
        return drawn, None
    names = _row_names(data, drawn[:_ESTIMATE_ROWS])
    for _ in range(2):  # all ids may be longer than some: they may have less in common
        cost = _BASE64 * (_POSITION_BYTES + 4 * _MIN_FEATURES) + names.mean_characters
        if cost * len(drawn) > MAX_CHARACTERS:
            drawn = sample_rows(data, max(_MIN_ROWS, int(MAX_CHARACTERS / cost)))
        elif len(names.rest) == len(drawn):
            break
        names = _row_names(data, drawn)
    return drawn, names


def packed_values(
    data: ReportInput, profile: GroupProfile, drawn: Ints, names: RowNames | None
) -> tuple[dict[str, Any], list[AxisFrame]]:
    """Pack the features that separate groups best; return JSON values and the frame of each."""
    d, m = len(data.names), max(1, len(drawn))
    name_length = 0.0 if names is None else names.mean_characters
    room = (MAX_CHARACTERS / m - name_length) / _BASE64 - _POSITION_BYTES  # bytes of a row
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
    """Return whether float32 changes no integer, and of no other value a digit that is shown."""
    finite = values[np.isfinite(values)]
    whole = finite == np.rint(finite)
    size = np.abs(finite[~whole])
    return bool(
        (finite[whole].astype(np.float32) == finite[whole]).all()
        and ((size < _MAX_SINGLE) & (size > _MIN_SINGLE)).all()
    )


def _row_names(data: ReportInput, drawn: Ints) -> RowNames:
    names = [data.row_name(i) for i in drawn.tolist()]
    first, last = min(names, default=""), max(names, default="")
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    prefix = "".join(letter for letter, _ in pairs)
    return RowNames(prefix, tuple(name[len(prefix) :] for name in names))
