"""Rules that tell whether all features are measured in one unit, so that scaling would distort."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from partita._common.array_types import Floats

BOUNDS_MIN_SHARE = 0.5  # of the features that reach the least, and the greatest value of all
BOUNDS_MIN_FEATURES = 3
SERIES_MIN_FEATURES = 8
BOUNDS_MIN_RANGE = 0.5  # of the common scale, for features that are no series
COMPARABLE_MAX_RATIO = 10.0  # of the largest to the smallest interdecile range of a series

_UNIT = re.compile(r"[(\[]\s*([^()\[\]]+?)\s*[)\]]\s*$")  # petal length (cm)
_NO_UNIT = re.compile(
    r"\d+|avg|average|mean|median|max|min|sum|total|count|n|std|sd|log|ln|old|new|before|after|self"
)  # in parentheses too: Wind (avg), Sales (2019)
_UNIT_SUFFIX = re.compile(
    r"[ _](mm|cm|dm|m|km|mg|g|kg|t|ml|cl|l|s|ms|min|h|eur|usd|gbp|chf|pct|percent|px|ppm)$"
)
_COORDINATES = (
    {"x", "y"}, {"x", "y", "z"}, {"lat", "lon"}, {"lat", "lng"}, {"lat", "long"},
    {"latitude", "longitude"}, {"easting", "northing"}, {"east", "north"},
)  # fmt: skip
_NUMBERED = re.compile(r"^(.*?)[ _.-]?\d+([ _.,x-]\d+)*$")


def shared_unit(names: Sequence[str], X: Floats) -> str:
    """Return why all features seem to have one unit; empty if they do not, or if d = 1.

    NaN is a gap, which tells nothing; every feature must have a known value.
    """
    if len(names) < 2:
        return ""
    units = {_unit(name) for name in names}
    if len(units) == 1 and "" not in units:
        return f"all features are in {units.pop()}, by their names"
    words = {name.strip().lower() for name in names}
    if words in _COORDINATES and ("x" not in words or _are_comparable(X)):
        return "the features are coordinates, by their names"
    stems = {match[1] if (match := _NUMBERED.match(name)) else name for name in names}
    is_series = len(names) >= SERIES_MIN_FEATURES and len(stems) == 1
    if _have_common_bounds(X, is_series):
        low, high = float(np.nanmin(X)), float(np.nanmax(X))
        return f"the features share one scale, from {low:.6g} to {high:.6g}"
    if is_series and _are_comparable(X):
        return "the features are a numbered series of similar spread"
    return ""


def _unit(name: str) -> str:
    match = _UNIT.search(name.lower()) or _UNIT_SUFFIX.search(name.lower())
    return match[1] if match and not _NO_UNIT.fullmatch(match[1]) else ""


def _have_common_bounds(X: Floats, is_series: bool) -> bool:
    """Return whether many features reach both ends of one scale: pixels, grades, answers.

    The others of a series may have any range: pixels at the border of an image are always dark.
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    low, high = low / 2, high / 2  # whose difference is finite
    bounded = (low == low.min()).mean() >= BOUNDS_MIN_SHARE
    bounded = bounded and (high == high.max()).mean() >= BOUNDS_MIN_SHARE
    scale = high.max() - low.min()
    bounded = bounded and (is_series or bool((high - low >= BOUNDS_MIN_RANGE * scale).all()))
    return bool(X.shape[1] >= BOUNDS_MIN_FEATURES and bounded and scale > 0)


def _are_comparable(X: Floats) -> bool:
    """Return whether no spread is many times another; outliers do not count."""
    known = (~np.isnan(X)).sum(axis=0)
    places = np.stack([known // 10, known - 1 - known // 10])
    low, high = np.take_along_axis(np.sort(X, axis=0), places, axis=0)  # which puts gaps last
    spread = high - low
    return bool(0 < spread.max() <= COMPARABLE_MAX_RATIO * spread.min())
