"""The clusters as a table, and as a heat map of their profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Ints
from partita.chart_layout.captions import format_deviations, join_sentences
from partita.chart_layout.cluster_profile import ClusterProfile
from partita.report import charts
from partita.report.number_text import count_text, mean_text, number_text, value_text
from partita.report.report_input import ReportInput
from partita.report.summary import ClusterSummary, NamedRow, Summary

MAX_LISTED = 200  # clusters in the table, the legend and the silhouettes
_MAX_DETAILED = 60  # clusters whose typical rows are shown with their values
_DETAIL_FEATURES = 8
_HEAT_MAP_CLUSTERS = 60
_HEAT_MAP_FEATURES = 30
_CLUSTERS_PER_SHEET = 12  # of a heat map on paper
_COLOR_LEVELS = 8  # on each side of 0
_MAX_DEVIATIONS = 2.5  # at which the colours end


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """One cluster in the table."""

    cluster: ClusterSummary
    bar: str  # drawing of its share
    members: tuple[tuple[str, str], ...]  # (name, role) of the rows shown with their values
    values: tuple[tuple[str, tuple[str, ...]], ...]  # feature: cluster mean, overall mean, each row


class HeatMapCell(NamedTuple):
    """A score: the class of its colour, its text, and the mean behind it."""

    level: str
    text: str
    mean: str


@dataclass(frozen=True, slots=True)
class HeatMapTable:
    """Some clusters of the heat map, a row for every feature."""

    clusters: list[int]
    rows: tuple[tuple[str, tuple[HeatMapCell, ...]], ...]  # feature, and a cell for every cluster


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The heat map: as one table, and in parts as wide as a sheet of paper."""

    whole: HeatMapTable
    sheets: tuple[HeatMapTable, ...]  # empty if the whole fits
    note: str


def cluster_rows(
    data: ReportInput, summary: Summary, profile: ClusterProfile | None
) -> tuple[ClusterRow, ...]:
    """Return the largest clusters; the largest of these with the values of typical rows."""
    detailed = set() if profile is None else set(data.largest_clusters(_MAX_DETAILED))
    largest = max((cluster.share for cluster in summary.clusters), default=0.0)
    return tuple(
        _cluster_row(data, summary.clusters[j], largest, profile if j in detailed else None)
        for j in data.largest_clusters(MAX_LISTED)
    )


def _cluster_row(
    data: ReportInput, cluster: ClusterSummary, largest: float, profile: ClusterProfile | None
) -> ClusterRow:
    members = [(row, "typical") for row in cluster.typical]
    members += [(cluster.atypical, "most atypical")] if cluster.atypical else []
    rows = [row for row, _ in members]
    return ClusterRow(
        cluster=cluster,
        bar=charts.share_bar(cluster.share, largest, cluster.number),
        members=tuple((row.name, role) for row, role in members),
        values=() if profile is None else _feature_values(data, cluster.number, rows, profile),
    )


def _feature_values(
    data: ReportInput, j: int, rows: list[NamedRow], profile: ClusterProfile
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The features that set a cluster apart: its mean, the overall mean, and some of its rows."""
    features = np.argsort(-np.abs(profile.scores[j]), kind="stable")[:_DETAIL_FEATURES]
    values = [data.row_values(row.index) for row in rows]
    return tuple(
        (
            data.names[t],
            (
                mean_text(profile.centers[j, t]),
                mean_text(profile.mean[t]),
                *(value_text(float(row[t])) for row in values),
            ),
        )
        for t in features
    )


def heat_map(data: ReportInput, profile: ClusterProfile) -> HeatMap:
    """Return the scores of the features that separate the clusters best."""
    features = profile.order[:_HEAT_MAP_FEATURES]
    clusters = data.largest_clusters(_HEAT_MAP_CLUSTERS)
    d = len(profile.order)
    left_out = d - len(features)
    remarks = [
        "cluster mean minus overall mean, in standard deviations of all rows",
        "the features that separate the clusters best come first",
        left_out > 0 and f"{number_text(left_out)} of {number_text(d)} features are left out",
        len(clusters) < data.k and f"only the {len(clusters)} largest clusters are shown",
    ]
    step = _CLUSTERS_PER_SHEET
    parts = [clusters[i : i + step] for i in range(0, len(clusters), step)]
    sheets = [_heat_table(data, profile, features, part) for part in parts if len(parts) > 1]
    whole = _heat_table(data, profile, features, clusters)
    return HeatMap(whole, tuple(sheets), join_sentences(remarks))


def _heat_table(
    data: ReportInput, profile: ClusterProfile, features: Ints, clusters: list[int]
) -> HeatMapTable:
    rows = tuple(
        (data.names[t], tuple(_cell(profile.scores[j, t], profile.centers[j, t]) for j in clusters))
        for t in features
    )
    return HeatMapTable(clusters, rows)


def _cell(score: float, mean: float) -> HeatMapCell:
    level = min(_COLOR_LEVELS, round(abs(score) / _MAX_DEVIATIONS * _COLOR_LEVELS))
    class_ = f"z{'h' if score > 0 else 'l'}{level}" if level else ""
    return HeatMapCell(class_, format_deviations(score), mean_text(mean))


def table_remarks(summary: Summary) -> str:
    """Return the remarks above the table."""
    k, zeros = summary.n_clusters, count_text(summary.nowhere, "row")
    belong = "belongs" if summary.nowhere == 1 else "belong"
    known = any(cluster.typical for cluster in summary.clusters)
    remarks = [
        summary.nowhere > 0
        and f"{zeros} of zeros {belong} to no cluster, because zeros have no direction",
        k > MAX_LISTED and f"only the {MAX_LISTED} largest of {number_text(k)} clusters are listed",
        not known and "typical rows are not known, because the model was fitted to a matrix",
    ]
    return join_sentences(remarks)


def table_legend(data: ReportInput, summary: Summary) -> str:
    """Return the legend below the table."""
    weightless = int((data.weight == 0).sum())
    count = "counts" if weightless == 1 else "count"
    remarks = [
        f"spread: {summary.spread_is}",
        data.fitted.weight is not None and "share: of the weight",
        weightless > 0
        and f"{count_text(weightless, 'row')} of weight 0 {count} only in the number of rows",
        not data.is_matrix
        and "in brackets: the mean of the cluster, and its distance from the overall mean in "
        "standard deviations (sd)",
        data.ids is None and "rows are counted from 1",
    ]
    return join_sentences(remarks)


def values_remark(rows: tuple[ClusterRow, ...]) -> str:
    """Return a remark if only some clusters have the values of their typical rows."""
    detailed = sum(bool(row.values) for row in rows)
    partial = detailed < len(rows)
    return join_sentences([partial and f"only those of the {detailed} largest clusters"])
