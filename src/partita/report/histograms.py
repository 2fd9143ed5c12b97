"""Small histograms of every feature: of all rows, and of each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.random_state import generator
from partita.report.report_input import ReportInput
from partita.report.svg import N_COLORS, element
from partita.source.raw_rows import as_doubles

BINS = 16
TAIL_SHARE = 0.01  # of the rows, beyond each end of the bins; they count in the end bins
MAX_ROWS = 200_000  # that are counted; more are sampled
_HEIGHT = 10


@dataclass(frozen=True, slots=True, eq=False)
class FeatureHistogram:
    """Weights in bins."""

    overall: Floats  # (BINS,)
    groups: Floats  # (k, BINS)


def feature_histograms(data: ReportInput, features: list[int]) -> dict[int, FeatureHistogram]:
    """Return histograms of features with several values, by number."""
    rows: Ints = np.arange(data.n)[data.told_rows]
    if len(rows) > MAX_ROWS:
        rows = np.sort(generator(0).choice(rows, MAX_ROWS, replace=False))
    values = as_doubles(data.original[rows][:, features])
    labels, weight = data.labels[rows], data.weight[rows]
    least = data.min_rows
    found = {}
    for column, t in enumerate(features):
        histogram = _histogram(values[:, column], labels, weight, data.k, least)
        if histogram is not None:
            found[t] = histogram
    return found


def _histogram(
    values: Floats, labels: Ints, weight: Floats, k: int, least: int
) -> FeatureHistogram | None:
    known = np.isfinite(values) & (weight > 0)
    values, labels, weight = values[known], labels[known], weight[known]
    if not len(values):
        return None
    tail = max(TAIL_SHARE, (least - 1) / len(values))
    if 2 * tail >= 1:
        return None
    low, high = np.quantile(values, [tail, 1 - tail])
    if not low < high and least == 1:
        low, high = values.min(), values.max()
    width = high / BINS - low / BINS
    if not 0 < width < np.inf:
        return None
    # halves first: the difference of two doubles may overflow
    place = np.clip((values / 2 - low / 2) / (width / 2), 0, BINS - 1).astype(np.intp)
    cell = np.where(labels >= 0, labels, k) * BINS + place
    size = (k + 1) * BINS
    counts = np.bincount(cell, minlength=size).reshape(k + 1, BINS)
    sums = np.bincount(cell, weight, size).reshape(k + 1, BINS)
    groups = np.where(counts >= least, sums, 0.0)[:k]
    overall = np.where(counts.sum(axis=0) >= least, sums.sum(axis=0), 0.0)
    return FeatureHistogram(overall, groups)


def spark(counts: Floats, group: int | None = None) -> str:
    """Draw a histogram as small as a word; grey if it is of all rows."""
    highest = float(counts.max(initial=0.0))
    if not highest > 0:
        return ""
    heights = [round(_HEIGHT * float(count) / highest, 1) for count in counts]
    steps = "".join(f"V{_HEIGHT - height:g}H{i + 1}" for i, height in enumerate(heights))
    color = "soft" if group is None else f"c{group % N_COLORS}"
    outline = element("path", d=f"M0 {_HEIGHT}{steps}V{_HEIGHT}Z", fill="currentColor")
    frame = {"viewBox": f"0 0 {BINS} {_HEIGHT}", "preserveAspectRatio": "none"}
    return element("svg", outline, **frame, class_=f"spark {color}", aria_hidden="true")
