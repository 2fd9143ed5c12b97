"""The clusters as a table, and as a heat map of their profiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Ints
from partita.plots.style import sentences
from partita.report import charts
from partita.report.cluster_profiles import Profile
from partita.report.report_input import Case
from partita.report.safe_text import number, percent, plural, rounded, signed, value
from partita.report.summary import Cluster, Member, Summary
from partita.report.svg import COLORS, chip

SHOWN = 200  # clusters of the table, the legend and the silhouettes
_COLUMNS = 60  # clusters of the heat map
_SHEET = 12  # of these, as many as a sheet of paper is wide
_DETAILED = 60  # clusters whose typical rows are shown with their values
_HEAT = 30  # features of the heat map
_TABLE = 8  # features of typical rows
_LEVELS = 8  # colours on each side of 0
_FAR = 2.5  # deviations at which the colours end


@dataclass(frozen=True, slots=True)
class Line:
    """One cluster in the table."""

    number: int
    chip: str
    color: int
    size: str
    share: str
    bar: str
    spread: str
    silhouette: str
    traits: tuple[str, ...]
    typical: tuple[str, ...]
    atypical: str
    members: tuple[tuple[str, str], ...]  # names of rows, and what they are
    values: tuple[tuple[str, tuple[str, ...]], ...]  # features: mean, mean of all rows, of each row


class Cell(NamedTuple):
    """A score of the heat map: its colour, its text, and the mean behind it."""

    level: str
    text: str
    mean: str


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Some clusters of the heat map, a row for every feature."""

    numbers: tuple[tuple[int, str], ...]  # of clusters, with their marks
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # name, and a cell for every cluster


@dataclass(frozen=True, slots=True)
class Heat:
    """The heat map: as one table, and in parts that are as wide as a sheet of paper."""

    whole: HeatTable
    sheets: tuple[HeatTable, ...]  # none, if the whole fits
    note: str


def lines_of(case: Case, summary: Summary, profile: Profile | None) -> tuple[Line, ...]:
    """The largest clusters; the largest of these with the values of their typical rows."""
    detailed = set() if profile is None else set(case.largest(_DETAILED))
    most = max((cluster.share for cluster in summary.clusters), default=0.0)
    return tuple(
        _line(case, summary.clusters[j], most, profile if j in detailed else None)
        for j in case.largest(SHOWN)
    )


def _line(case: Case, cluster: Cluster, most: float, profile: Profile | None) -> Line:
    j = cluster.number
    named = [(member, "typical") for member in cluster.typical]
    named += [(cluster.atypical, "most atypical")] if cluster.atypical else []
    mean = cluster.silhouette
    return Line(
        number=j,
        chip=chip(j),
        color=j % COLORS,
        size=number(cluster.size),
        share=percent(cluster.share),
        bar=charts.bar(cluster.share, most, j),
        spread=number(cluster.spread),
        silhouette="–" if mean is None else f"{mean:.2f}".replace("-", "−"),
        traits=tuple(trait.words for trait in cluster.traits),
        typical=tuple(member.name for member in cluster.typical),
        atypical=cluster.atypical.name if cluster.atypical else "",
        members=tuple((member.name, what) for member, what in named),
        values=()
        if profile is None
        else _values(case, j, [member for member, _ in named], profile),
    )


def _values(
    case: Case, j: int, members: list[Member], profile: Profile
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The features that set a cluster apart: its mean, that of all rows, and some of its rows."""
    first = np.argsort(-np.abs(profile.scores[j]), kind="stable")[:_TABLE]
    rows = [case.values(member.index) for member in members]
    return tuple(
        (
            case.names[t],
            (
                rounded(profile.means[j, t]),
                rounded(profile.mean[t]),
                *(value(float(row[t])) for row in rows),
            ),
        )
        for t in first
    )


def heat_of(case: Case, profile: Profile) -> Heat:
    """The features that tell clusters apart, at most thirty."""
    first = profile.order[:_HEAT]
    columns = case.largest(_COLUMNS)
    left = len(profile.order) - len(first)
    note = sentences(
        [
            "the mean of a cluster less that of all rows, in deviations of all rows",
            "features that tell the clusters apart best come first",
            f"{number(left)} of {number(len(profile.order))} features are left out" if left else "",
            "" if len(columns) == case.k else f"only the {len(columns)} largest clusters are shown",
        ]
    )
    parts = [columns[i : i + _SHEET] for i in range(0, len(columns), _SHEET)]
    sheets = tuple(_table(case, profile, first, part) for part in parts) if len(parts) > 1 else ()
    return Heat(_table(case, profile, first, columns), sheets, note)


def _table(case: Case, profile: Profile, features: Ints, clusters: list[int]) -> HeatTable:
    rows = tuple(
        (case.names[t], tuple(_cell(profile.scores[j, t], profile.means[j, t]) for j in clusters))
        for t in features
    )
    return HeatTable(tuple((j, chip(j)) for j in clusters), rows)


def _cell(score: float, mean: float) -> Cell:
    return Cell(_level(score), signed(score), rounded(mean))


def _level(score: float) -> str:
    level = min(_LEVELS, round(abs(score) / _FAR * _LEVELS))
    return f"z{'h' if score > 0 else 'l'}{level}" if level else ""


def remarks_on(summary: Summary) -> str:
    """What is to be said of the clusters besides."""
    nowhere = plural(summary.nowhere, "row")
    known = any(cluster.typical for cluster in summary.clusters)
    return sentences(
        [
            f"{nowhere} of zeros, which have no direction, belong to no cluster"
            if summary.nowhere
            else "",
            f"only the {SHOWN} largest of {number(summary.n_clusters)} clusters are listed"
            if summary.n_clusters > SHOWN
            else "",
            "" if known else "typical rows are not known: a matrix was given in place of rows",
        ]
    )


def legend_of(case: Case, summary: Summary) -> str:
    """How to read the table."""
    empty = int((case.weight == 0).sum())
    return sentences(
        [
            f"spread: {summary.spread_is}",
            "" if case.fitted.weight is None else "share: of the weight",
            f"{plural(empty, 'row')} of weight 0 {'is' if empty == 1 else 'are'} counted among the "
            "rows, but for nothing else"
            if empty
            else "",
            ""
            if case.is_matrix
            else "in brackets: the mean of the cluster, and how many standard deviations (sd) it "
            "lies from that of all rows",
            "rows are counted from 1" if case.ids is None else "",
        ]
    )


def remark_on_values(lines: tuple[Line, ...]) -> str:
    """Whose typical rows are shown with their values, if not all of them are."""
    some = sum(bool(line.values) for line in lines)
    return sentences([f"only those of the {some} largest clusters"]) if some < len(lines) else ""
