"""The section about new rows: shares and means beside those of the fit, and strangers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.chart_layout.captions import format_deviations, join_sentences
from partita.new_rows.comparison import Comparison
from partita.report.page_text import count_text, mean_text, number_text, percent_text
from partita.report.report_input import ReportInput

_MAX_CLUSTERS = 60
_MAX_FEATURES = 30
_MAX_STRANGERS = 50


@dataclass(frozen=True, slots=True)
class ComparedWithFit:
    """The texts of the section."""

    lead: str
    clusters: list[tuple[int, list[str]]]  # number; share here and in the fit, reach, strangers
    clusters_note: str
    features: list[tuple[str, list[str]]]  # name; mean here and in the fit, difference
    features_note: str
    strangers: list[tuple[str, int, list[str]]]  # name of the row, cluster; distance, also / reach
    strangers_note: str


def compared_with_fit(data: ReportInput) -> ComparedWithFit | None:
    """Return the section; None if there is nothing to compare."""
    comparison: Comparison | None = data.fitted.comparison
    if comparison is None:
        return None
    features, features_note = _features(data, comparison)
    strangers, n = comparison.strangers.tolist(), len(comparison.labels)
    shown = data.largest_clusters(_MAX_CLUSTERS)
    left_out = len(strangers) - _MAX_STRANGERS
    return ComparedWithFit(
        lead=_lead(comparison),
        clusters=[(j, _cluster(comparison, j)) for j in shown if j < len(comparison.share)],
        clusters_note=join_sentences(
            [
                "reach: rows farther from the center, in units of the fit, are unlike anything in "
                "the fit",
                len(shown) < data.k and f"only the {len(shown)} largest clusters are listed",
            ]
        ),
        features=features,
        features_note=features_note,
        strangers=[_stranger(data, comparison, i) for i in strangers[:_MAX_STRANGERS]],
        strangers_note=join_sentences(
            [
                f"{count_text(len(strangers), 'row')} of {number_text(n)}, the farthest first",
                left_out > 0 and f"{number_text(left_out)} more are not listed",
            ]
        ),
    )


def _lead(comparison: Comparison) -> str:
    share = comparison.is_stranger.mean() if len(comparison.labels) else 0.0
    n_strange, fit = int(comparison.is_stranger.sum()), comparison.reference
    drifts = [
        f"the {noun} of one {kind} differs clearly"
        if count == 1
        else f"the {noun}s of {count_text(count, kind)} differ clearly"
        for noun, kind, count in (
            ("share", "cluster", len(comparison.share_drift)),
            ("mean", "feature", len(comparison.mean_drift)),
        )
        if count
    ]
    verb = "is" if n_strange == 1 else "are"
    strange = f"{count_text(n_strange, 'row')} ({percent_text(share)}) {verb} unlike anything in it"
    return join_sentences(
        [
            f"the fit had {count_text(fit.rows, 'row')}",
            strange if n_strange else "no row is unlike those of the fit",
            *(drifts or ["shares and means differ no more than chance explains"]),
        ]
    )


def _cluster(comparison: Comparison, j: int) -> list[str]:
    fit = comparison.reference
    strange = int((comparison.is_stranger & (comparison.labels == j)).sum())
    shares = percent_text(float(comparison.share[j])), percent_text(float(fit.share[j]))
    return [*shares, number_text(float(fit.reach[j])), number_text(strange)]


def _features(data: ReportInput, comparison: Comparison) -> tuple[list[Any], str]:
    """Return the features that differ most, with means in the user's units."""
    fit = comparison.reference
    if comparison.mean is None or fit.mean is None or fit.deviation is None:
        return [], ""
    if not np.isfinite(comparison.mean).all():
        return [], "No row has a label, so there are no means to compare."
    unit = np.where(fit.deviation > 0, fit.deviation, np.inf)
    change = (comparison.mean - fit.mean) / unit
    undo = getattr(data.fitted.scaling, "undo", np.asarray)
    here, there = undo(comparison.mean[None])[0], undo(fit.mean[None])[0]
    order = np.argsort(-np.abs(change), kind="stable")[:_MAX_FEATURES].tolist()
    left_out = len(change) - len(order)
    rows = [
        (data.names[t], [mean_text(here[t]), mean_text(there[t]), format_deviations(change[t])])
        for t in order
    ]
    remarks = [
        "means over the rows within reach (all rows if most are beyond it); the difference in "
        "standard deviations of the fit",
        left_out > 0 and f"{count_text(left_out, 'feature')} that differ less are left out",
    ]
    return rows, join_sentences(remarks)


def _stranger(data: ReportInput, comparison: Comparison, i: int) -> tuple[str, int, list[str]]:
    j, distance = int(comparison.labels[i]), float(comparison.distance[i])
    ratio = distance / float(comparison.reference.reach[j])
    return data.row_name(i), j, [number_text(distance), number_text(ratio)]
