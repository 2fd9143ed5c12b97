"""The clusters as a table, and as a heat map of their profiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita.chart_layout.captions import join_sentences
from partita.chart_layout.cluster_profile import ClusterProfile
from partita.report.page_text import count_text, mean_text, number_text, value_text
from partita.report.report_input import ReportInput
from partita.report.summary import ClusterSummary, Summary
from partita.source.raw_rows import as_doubles

MAX_LISTED = 200  # clusters in the table, the legend and the silhouettes
_MAX_DETAILED = 60  # clusters whose typical rows are shown with their values
_DETAIL_FEATURES = 8
_HEAT_MAP_CLUSTERS = 60
_HEAT_MAP_FEATURES = 30
_CLUSTERS_PER_SHEET = 12  # of a heat map on paper
_COLOR_LEVELS = 8  # on each side of 0
_MAX_DEVIATIONS = 2.5  # at which the colours end


def cluster_values(
    data: ReportInput, summary: Summary, profile: ClusterProfile | None
) -> list[tuple[ClusterSummary, list[tuple[str, list[str]]]]]:
    """Return the largest clusters with their features: means, and values of typical rows."""
    if profile is None:
        return []
    clusters = [summary.clusters[j] for j in data.largest_clusters(_MAX_DETAILED)]
    return [(cluster, _feature_values(data, cluster, profile)) for cluster in clusters]


def _feature_values(
    data: ReportInput, cluster: ClusterSummary, profile: ClusterProfile
) -> list[tuple[str, list[str]]]:
    """The features that set a cluster apart: its mean, the overall mean, and some of its rows."""
    features = np.argsort(-np.abs(profile.scores[cluster.number]), kind="stable")
    shown = [*cluster.typical, *filter(None, [cluster.atypical])]
    values = as_doubles(data.original[[row.index for row in shown]])
    means = np.array([profile.centers[cluster.number], profile.mean])
    return [
        (data.names[t], [*map(mean_text, means[:, t]), *map(value_text, values[:, t].tolist())])
        for t in features[:_DETAIL_FEATURES]
    ]


def heat_map(data: ReportInput, profile: ClusterProfile) -> dict[str, Any]:
    """Return the scores of the features that separate the clusters best.

    As one table, and in sheets as wide as paper; no sheets if the whole fits.
    """
    features = profile.order[:_HEAT_MAP_FEATURES].tolist()
    clusters = data.largest_clusters(_HEAT_MAP_CLUSTERS)
    d, step = len(profile.order), _CLUSTERS_PER_SHEET
    left_out = d - len(features)
    remarks = [
        "cluster mean minus overall mean, in standard deviations of all rows",
        "the features that separate the clusters best come first",
        left_out > 0
        and f"{number_text(left_out)} of {number_text(d)} features "
        f"{'is' if left_out == 1 else 'are'} left out",
        len(clusters) < data.k and f"only the {len(clusters)} largest clusters are shown",
    ]
    sheets = [clusters[i : i + step] for i in range(0, len(clusters), step)]
    return {
        "features": [(t, data.names[t]) for t in features],
        "clusters": clusters,
        "sheets": sheets if len(sheets) > 1 else [],
        "scores": profile.scores,
        "means": profile.centers,
        "note": join_sentences(remarks),
    }


def heat_class(score: float) -> str:
    """Return the style of a cell of the heat map."""
    level = min(_COLOR_LEVELS, round(abs(score) / _MAX_DEVIATIONS * _COLOR_LEVELS))
    return f"z{'h' if score > 0 else 'l'}{level}" if level else ""


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
        any(cluster.categories for cluster in summary.clusters)
        and "categories: their share of the cluster, in brackets that of all rows",
        data.ids is None and "rows are counted from 1",
    ]
    return join_sentences(remarks)
