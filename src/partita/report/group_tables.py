"""The tables of the groups: sizes and traits, the profile in units, categories, unused columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from partita._common.number_text import count_text, number_text, percent_text
from partita.chart_layout.captions import join_sentences
from partita.description.category_traits import LeadingCategories, leading_categories
from partita.description.group_profile import MEDIAN, SHARES, GroupProfile, group_profile
from partita.description.traits import FormatValue, value_formatter
from partita.report.charts import category_bar
from partita.report.group_summary import EXAMPLE_TRAITS
from partita.report.histograms import FeatureHistogram, feature_histograms, spark
from partita.report.page_text import safe_line
from partita.report.report_input import ReportInput
from partita.report.summary import ReportAnalysis, Summary
from partita.source.raw_rows import as_doubles

MAX_LISTED = 200  # groups in the table, the legend and the silhouettes
MAX_PROFILE_GROUPS = 60
MAX_PROFILE_FEATURES = 40
MAX_HISTOGRAM_GROUPS = 20  # beyond it, cells hold only numbers
MAX_UNUSED = 20  # columns of each kind
GROUPS_PER_SHEET = 6  # of a profile on paper
COLOR_LEVELS = 6  # on each side of 0
MAX_SCORE = 3.0  # spreads within groups, at which the colours end


@dataclass(frozen=True, slots=True)
class ProfileCell:
    """A typical value of a group."""

    text: str
    drawing: str = ""
    shade: str = ""  # class of the background
    title: str = ""  # quartiles


@dataclass(frozen=True, slots=True)
class ProfileRow:
    """One feature: of all rows, and of the groups."""

    feature: str
    overall: ProfileCell
    cells: tuple[ProfileCell, ...]


@dataclass(frozen=True, slots=True)
class CategoryCell:
    """One category in a group: its share, and a bar of it."""

    value: str
    share: str
    bar: str


@dataclass(frozen=True, slots=True)
class CategoryRow:
    """One column of categories: the leading ones of all rows, and of the groups by number."""

    column: str
    overall: tuple[CategoryCell, ...]
    groups: tuple[tuple[CategoryCell, ...], ...]


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """Features by groups, in units."""

    groups: tuple[int, ...]
    sheets: tuple[tuple[int, ...], ...]  # positions of groups that fit on paper; none: all do
    rows: tuple[ProfileRow, ...]
    note: str


def profile_table(analysis: ReportAnalysis) -> ProfileTable | None:
    """Return the profile; None if the rows have no features."""
    data, profile, text = analysis.data, analysis.described.profile, analysis.described.text
    if profile is None or text is None:
        return None
    features = profile.order[:MAX_PROFILE_FEATURES].tolist()
    groups = data.groups_by_size()[:MAX_PROFILE_GROUPS]
    histograms: dict[int, FeatureHistogram] = {}
    if len(groups) <= MAX_HISTOGRAM_GROUPS and not sp.issparse(data.original):
        drawn = [t for t in features if profile.statistic[t] not in SHARES]
        histograms = feature_histograms(data, drawn)
    rows = tuple(
        _profile_row(profile, text, (t, data.names[t]), groups, histograms.get(t)) for t in features
    )
    left_out = len(profile.order) - len(features)
    remarks = [
        "typical value of each group, and how the rows of the group are distributed"
        if histograms
        else "typical value of each group",
        "orange: higher than in all rows, violet: lower, by the spread within groups",
        (profile.statistic == MEDIAN).any()
        and "values are means; medians where a few rows would pull the mean (marked with *)",
        left_out > 0
        and f"{count_text(left_out, 'feature')} that differ less "
        f"{'is' if left_out == 1 else 'are'} left out",
        bool(data.used_categories)
        and "of categories: the most frequent ones, with a tick at their share in all rows",
        len(groups) < data.k and f"only the {len(groups)} largest groups are shown",
    ]
    step, count = GROUPS_PER_SHEET, len(groups)
    sheets = tuple(tuple(range(i, min(i + step, count))) for i in range(0, count, step))
    sheets = sheets if len(sheets) > 1 else ()
    return ProfileTable(tuple(groups), sheets, rows, join_sentences(remarks))


def _profile_row(
    profile: GroupProfile,
    text: FormatValue,
    feature: tuple[int, str],
    groups: list[int],
    histogram: FeatureHistogram | None = None,
) -> ProfileRow:
    t, name = feature
    star = "*" if profile.statistic[t] == MEDIAN else ""
    drawing = "" if histogram is None else spark(histogram.overall)
    overall = ProfileCell(text(t, float(profile.overall[t])), drawing)
    cells = []
    for j in groups:
        quartiles = "" if profile.quartiles is None else _quartile_text(profile, text, t, j)
        cells.append(
            ProfileCell(
                text(t, float(profile.typical[j, t])),
                "" if histogram is None else spark(histogram.groups[j], j),
                shade(float(profile.scores[j, t])),
                quartiles,
            )
        )
    return ProfileRow(f"{name}{star}", overall, tuple(cells))


def _quartile_text(profile: GroupProfile, text: FormatValue, t: int, j: int) -> str:
    assert profile.quartiles is not None
    if profile.statistic[t] in SHARES or not np.isfinite(profile.quartiles[:, j, t]).all():
        return ""
    low, median, high = (text(t, float(value)) for value in profile.quartiles[:, j, t])
    return f"half of the group: {low} to {high}; median {median}"


def shade(score: float) -> str:
    """Return the style of a cell: a colour by the distance from all rows."""
    level = min(COLOR_LEVELS, round(abs(score) / MAX_SCORE * COLOR_LEVELS))
    return f"z{'h' if score > 0 else 'l'}{level}" if level else ""


def category_table(
    data: ReportInput, names: Collection[str] | None = None
) -> tuple[LeadingCategories, ...]:
    """Return the leading categories of columns: of all, or of those named."""
    told = data.told_categories.items()
    known = {name: column for name, column in told if names is None or name in names}
    rows, columns = data.told_rows, dict(list(known.items())[:MAX_UNUSED])
    return leading_categories(columns, data.labels[rows], data.weight[rows], data.k, data.min_rows)


def unused_categories(data: ReportInput) -> tuple[LeadingCategories, ...]:
    """Return the leading categories of the columns that are not features."""
    return category_table(data, set(data.categories) - set(data.used_categories))


def category_rows(data: ReportInput) -> tuple[CategoryRow, ...]:
    """Return the columns of categories that are features: bars of shares by group."""
    return tuple(
        CategoryRow(
            column.column,
            _category_cells(column.overall, column),
            tuple(_category_cells(group, column, j) for j, group in enumerate(column.groups)),
        )
        for column in category_table(data, data.used_categories)
    )


def _category_cells(
    shares: Sequence[tuple[str, float]], column: LeadingCategories, j: int | None = None
) -> tuple[CategoryCell, ...]:
    return tuple(
        CategoryCell(value, percent_text(share), category_bar(share, column.shares.get(value), j))
        for value, share in shares
    )


def unused_rows(data: ReportInput) -> tuple[ProfileRow, ...]:
    """Return typical values of the columns of numbers that are not features."""
    columns, rows = dict(list(data.unused.items())[:MAX_UNUSED]), data.told_rows
    if not columns:
        return ()
    values = np.column_stack([column[rows] for column in columns.values()])
    profile = group_profile(values, data.labels[rows], data.weight[rows], data.k, data.min_rows)
    text, groups = value_formatter(profile), data.groups_by_size()[:MAX_PROFILE_GROUPS]
    return tuple(
        _profile_row(profile, text, (t, safe_line(name)), groups) for t, name in enumerate(columns)
    )


def typical_rows(analysis: ReportAnalysis) -> dict[int, list[tuple[str, str]]]:
    """Return, by group, the features that set it apart with the values of its most typical row."""
    data, profile, text = analysis.data, analysis.described.profile, analysis.described.text
    if profile is None or text is None or data.fitted.no_rows:
        return {}
    found: dict[int, list[tuple[str, str]]] = {}
    for group in analysis.summary.clusters:
        if group.example is not None:
            traits = [t for t in group.traits[:EXAMPLE_TRAITS] if t.statistic not in SHARES]
            row = as_doubles(data.original[[group.example.index]])[0]
            found[group.number] = [(t.feature, text(t.index, float(row[t.index]))) for t in traits]
    return found


def table_remarks(summary: Summary, no_rows: bool) -> str:
    """Return the remarks above the table."""
    k, zeros = summary.n_clusters, count_text(summary.nowhere, "row")
    belong = "belongs" if summary.nowhere == 1 else "belong"
    known = no_rows or any(group.typical for group in summary.clusters)
    remarks = [
        summary.left_out and f"{summary.left_out}; their label is −1",
        summary.nowhere > 0
        and not summary.left_out
        and f"{zeros} of zeros {belong} to no group, because zeros have no direction",
        k > MAX_LISTED and f"only the {MAX_LISTED} largest of {number_text(k)} groups are listed",
        not known and "typical rows are not known, because the model was fitted to a matrix",
    ]
    return join_sentences(remarks)


def table_legend(data: ReportInput, summary: Summary) -> str:
    """Return the legend below the table."""
    weightless = int((data.weight == 0).sum())
    count = "counts" if weightless == 1 else "count"
    remarks = [
        data.fitted.weight is not None and "share: of the weight",
        weightless > 0
        and f"{count_text(weightless, 'row')} of weight 0 {count} only in the number of rows",
        data.ids is None and not data.fitted.no_rows and "rows are counted from 1",
    ]
    return join_sentences(remarks)
