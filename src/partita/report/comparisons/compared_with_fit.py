"""The section about new rows: what has changed since the fit, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.number_text import count_text, mean_text, number_text, percent_text
from partita.chart_layout.captions import format_deviations, join_sentences
from partita.new_rows.comparison import MIN_ROWS, Comparison
from partita.report.comparisons.change_charts import mean_arrow, share_pair
from partita.report.comparisons.named_groups import count_rows, quoted_group
from partita.report.report_input import ReportInput

_MAX_GROUPS = 20
_MAX_COLUMNS = 30
_MAX_STRANGERS = 50
_MAX_SHOWN = 5  # strangers before the others are folded
_SHARE_DIGITS = 3  # of a share, by which changes are ordered
_ROUNDING = 1e-9  # standard deviations: smaller means are 0, as those of scaled rows
_USUAL_STRANGERS = 0.002  # of new rows: twice the share among rows like those of the fit
_CHANGE_WORDS = ((1.0, "far "), (0.5, "clearly "), (0.0, "a little "))  # from so many deviations on

_ADVICE = {
    "units": "Check first that these rows have the units, the columns and the preparation of the "
    "rows of the fit. If they do, the groups do not describe them: fit again.",
    "strangers": "Look at the rows that are unlike the fit: they are mistakes, or something new. "
    "Their group is only the nearest one. If there will be more like them, fit again.",
    "usual": "So few are normal: about 1 of 1\u202f000 new rows is unlike the fit by chance.",
    "shares": "The groups still hold, but their sizes have changed. If that goes on, fit again.",
    "means": "Ask why these columns have changed: another unit, another way to record them, or a "
    "real change. If it is real and lasts, fit again.",
    "none": "The groups still fit. There is no need to fit again.",
    "few": f"Fewer than {MIN_ROWS} rows are too few to tell whether shares or means have changed.",
}


@dataclass(frozen=True, slots=True)
class ShareChange:
    """A group with its shares in the fit and now."""

    number: int
    name: str
    fit: str
    now: str
    drawing: str
    is_clear: bool  # more than chance explains
    reach: str
    strangers: str  # number of rows


@dataclass(frozen=True, slots=True)
class MeanChange:
    """A column with its means in the fit and now."""

    name: str
    fit: str
    now: str
    change: str  # in words
    deviations: str
    drawing: str
    is_clear: bool


@dataclass(frozen=True, slots=True)
class Stranger:
    """A row unlike anything in the fit."""

    row: str
    number: int  # of its group
    group: str
    distance: str
    times_reach: str


@dataclass(frozen=True, slots=True)
class ComparedWithFit:
    """The contents of the section."""

    headline: str  # HTML
    lead: str
    advice: list[str]
    shares: list[ShareChange]  # the largest change first
    shares_note: str
    means: list[MeanChange]  # the largest change first
    means_note: str
    strangers: list[Stranger]  # the farthest first
    strangers_note: str  # HTML

    @property
    def clear_means(self) -> list[MeanChange]:
        """Columns that differ by more than chance explains."""
        return [change for change in self.means if change.is_clear]

    @property
    def parts_of_strangers(self) -> list[list[Stranger]]:
        """The strangers to show, and those to fold away."""
        return [self.strangers[:_MAX_SHOWN], self.strangers[_MAX_SHOWN:]]


def compared_with_fit(data: ReportInput) -> ComparedWithFit | None:
    """Return the section; None if there is nothing to compare."""
    comparison: Comparison | None = data.fitted.comparison
    if comparison is None:
        return None
    means, means_note = _means(data, comparison)
    shares, shares_note = _shares(data, comparison)
    strangers, strangers_note = _strangers(data, comparison)
    return ComparedWithFit(
        headline=_headline(data, comparison, means),
        lead=f"The fit had {count_text(comparison.reference.rows, 'row')}.",
        advice=[_ADVICE[key] for key in _advice(comparison)],
        shares=shares,
        shares_note=shares_note,
        means=means,
        means_note=means_note,
        strangers=strangers,
        strangers_note=strangers_note,
    )


def _headline(data: ReportInput, comparison: Comparison, means: list[MeanChange]) -> str:
    n, n_strange = len(comparison.labels), int(comparison.is_stranger.sum())
    rows = count_rows(data, n, "new")
    parts = []
    if n_strange:
        which = number_text(n_strange) if n_strange < n else "all" if n > 1 else "it"
        parts.append(f"{which} {'is' if n_strange == 1 else 'are'} unlike anything in the fit")
    if comparison.share_drift:
        drift, *more = comparison.share_drift
        verb = "grown" if drift.share > drift.fit_share else "shrunk"
        parts.append(
            f"{quoted_group(data, drift.cluster)} has {verb} from {percent_text(drift.fit_share)} "
            f"to {percent_text(drift.share)}{_and_others(len(more), 'group')}"
        )
    if clear := [change for change in means if change.is_clear]:
        first, *others = clear
        verb = "fallen" if first.deviations.startswith("−") else "risen"
        parts.append(
            f"<bdi>{escape(first.name)}</bdi> has {verb} from {first.fit} to {first.now}"
            f"{_and_others(len(others), 'column')}"
        )
    if not parts:
        return f"{rows} {'is' if n == 1 else 'are'} like those of the fit"
    if len(parts) == 1 and _are_usual(n_strange, n):
        return f"{rows} are like those of the fit ({parts[0].replace('the fit', 'it')})"
    return f"{rows}: {'; '.join(parts)}"


def _and_others(count: int, noun: str) -> str:
    if not count:
        return ""
    return f" ({count_text(count, f'other {noun}')} ha{'s' if count == 1 else 've'} changed too)"


def _advice(comparison: Comparison) -> Iterator[str]:
    """Yield the keys of the advice that applies."""
    n, n_strange = len(comparison.labels), int(comparison.is_stranger.sum())
    unusual = n_strange > 0 and not _are_usual(n_strange, n)
    if 2 * n_strange > n >= MIN_ROWS:
        yield "units"
    elif n_strange:
        yield "strangers" if unusual else "usual"
    if comparison.share_drift:
        yield "shares"
    if comparison.mean_drift:
        yield "means"
    if n < MIN_ROWS:
        yield "few"
    elif not (unusual or comparison.share_drift or comparison.mean_drift):
        yield "none"


def _are_usual(n_strange: int, n: int) -> bool:
    """Return whether so few strangers are chance."""
    return 0 < n_strange <= _USUAL_STRANGERS * n


def _shares(data: ReportInput, comparison: Comparison) -> tuple[list[ShareChange], str]:
    fit, now = comparison.reference, comparison.share
    k = min(len(now), data.k)
    change = np.abs(now - fit.share)[:k].round(_SHARE_DIGITS)
    order = np.lexsort((-now[:k], -change)).tolist()  # equal changes: the largest group first
    largest = float(max(now[:k].max(initial=0), fit.share[:k].max(initial=0)))
    clear = {drift.cluster for drift in comparison.share_drift}
    strange = np.bincount(comparison.labels[comparison.is_stranger], minlength=len(now))
    shares = [
        ShareChange(
            number=j,
            name=data.group_name(j),
            fit=percent_text(float(fit.share[j])),
            now=percent_text(float(now[j])),
            drawing=share_pair(float(fit.share[j]), float(now[j]), largest, j),
            is_clear=j in clear,
            reach=number_text(float(fit.reach[j])),
            strangers=_count_told(data, int(strange[j])),
        )
        for j in order[:_MAX_GROUPS]
    ]
    left_out = k - len(shares)
    remarks = [
        "grey: in the fit; in colour: now",
        bool(clear) and "bold: more than chance explains",
        left_out > 0 and f"and {count_text(left_out, 'more group')} with smaller changes",
    ]
    return shares, join_sentences(remarks)


def _count_told(data: ReportInput, count: int) -> str:
    return f"<{data.min_rows}" if 0 < count < data.min_rows else number_text(count)


def _means(data: ReportInput, comparison: Comparison) -> tuple[list[MeanChange], str]:
    """Return the columns that differ most, with means in the user's units."""
    fit = comparison.reference
    if comparison.mean is None or fit.mean is None or fit.deviation is None:
        return [], ""
    if not np.isfinite(comparison.mean).all():
        return [], "No row has a group, so there are no means to compare."
    n_like = int(((comparison.labels >= 0) & ~comparison.is_stranger).sum())
    if min(n_like, fit.rows) < data.min_rows:
        return [], ""
    unit = np.where(fit.deviation > 0, fit.deviation, np.inf)
    change = (comparison.mean - fit.mean) / unit
    now, then = (_in_units(data, mean, unit) for mean in (comparison.mean, fit.mean))
    clear = {drift.feature for drift in comparison.mean_drift}
    order = np.argsort(-np.abs(change), kind="stable").tolist()
    order.sort(key=lambda t: t not in clear)
    means = [
        MeanChange(
            name=data.names[t],
            fit=mean_text(then[t]),
            now=mean_text(now[t]),
            change=_in_words(change[t]),
            deviations=format_deviations(change[t]),
            drawing=mean_arrow(float(change[t])),
            is_clear=t in clear,
        )
        for t in order[:_MAX_COLUMNS]
    ]
    left_out = len(order) - len(means)
    remarks = [
        "means of the rows that are like the fit (of all rows if most are not)",
        left_out > 0 and f"{count_text(left_out, 'column')} with smaller changes are left out",
    ]
    return means, join_sentences(remarks)


def _in_units(data: ReportInput, mean: Floats, unit: Floats) -> Any:
    undo = getattr(data.fitted.scaling, "undo", np.asarray)
    rounded = np.where(np.abs(mean) < _ROUNDING * np.minimum(unit, 1.0), 0.0, mean)
    return undo(rounded[None])[0]


def _in_words(deviations: float) -> str:
    size = next(word for least, word in _CHANGE_WORDS if abs(deviations) >= least)
    return f"{size}{'higher' if deviations > 0 else 'lower'}"


def _strangers(data: ReportInput, comparison: Comparison) -> tuple[list[Stranger], str]:
    rows = comparison.strangers.tolist()
    if not rows:
        return [], ""
    known = f"{count_rows(data, len(rows))} of {number_text(len(comparison.labels))}"
    if data.fitted.no_rows:
        verb = "is" if len(rows) == 1 else "are"
        return [], f"{known} {verb} unlike the fit. This report names no single rows."
    left_out = len(rows) - _MAX_STRANGERS
    remarks = [
        f"{known}, the farthest first",
        "the reach of a group is how far from its center the rows of the fit lie",
        left_out > 0 and f"{number_text(left_out)} more are not listed",
    ]
    return [_stranger(data, comparison, i) for i in rows[:_MAX_STRANGERS]], join_sentences(remarks)


def _stranger(data: ReportInput, comparison: Comparison, i: int) -> Stranger:
    j, distance = int(comparison.labels[i]), float(comparison.distance[i])
    reach = float(comparison.reference.reach[j])
    ratio = distance / reach if reach > 0 else np.inf
    name = data.group_name(j)
    return Stranger(data.row_name(i), j, name, number_text(distance), number_text(ratio))
