"""The clusters as a table, and as a heat map of their profiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from partita.plots.style import sentences
from partita.report import charts
from partita.report.fitted import Case
from partita.report.profile import Profile
from partita.report.summary import Cluster, Member, Summary
from partita.report.svg import COLORS, chip
from partita.report.text import number, percent, plural, signed, value

SHOWN = 200  # clusters of the table, the legend and the silhouettes
_COLUMNS = 60  # clusters of the heat map
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


@dataclass(frozen=True, slots=True)
class Heat:
    """The heat map: a row for every feature."""

    numbers: tuple[tuple[int, str], ...]  # of clusters, with their marks
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # name, (class, text) per cluster
    note: str


def line_of(case: Case, cluster: Cluster, summary: Summary, profile: Profile | None) -> Line:
    """One cluster as the table shows it."""
    j = cluster.number
    most = max((other.share for other in summary.clusters), default=0.0)
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
            tuple(value(float(f"{found:.4g}")) for found in (profile.means[j, t], profile.mean[t]))
            + tuple(value(float(row[t])) for row in rows),
        )
        for t in first
    )


def heat_of(case: Case, profile: Profile) -> Heat:
    """The features that tell clusters apart, at most thirty."""
    first = profile.order[:_HEAT]
    columns = case.largest(_COLUMNS)
    rows = tuple(
        (case.names[t], tuple((_level(s), signed(s)) for s in profile.scores[columns, t].tolist()))
        for t in first
    )
    left = len(profile.order) - len(first)
    note = sentences(
        [
            "the mean of a cluster less that of all rows, in deviations of all rows",
            "features that tell the clusters apart best come first",
            f"{number(left)} of {number(len(profile.order))} features are left out" if left else "",
            "" if len(columns) == case.k else f"only the {len(columns)} largest clusters are shown",
        ]
    )
    return Heat(tuple((j, chip(j)) for j in columns), rows, note)


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
