"""`Plan`: what was decided about a table before a fit, a line for each decision, with its rule."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common.text import format_number, isolated, listed, one_line, plural, quoted
from partita.tables import auto_scaling as auto
from partita.tables import column_roles as roles
from partita.tables import table_roles as beside
from partita.tables.column_roles import percent
from partita.tables.feature_selection import (
    EXCLUDED,
    FRAME_INDEX,
    NO_VALUE_LEFT,
    NOT_CHOSEN,
    Selection,
)
from partita.tables.missing_values import KNOWN_MIN_SHARE, LENIENT_POLICIES
from partita.tables.quantiles import quantiles
from partita.tables.scaling import Scaling
from partita.tables.table import Table

NO_CLUSTER = -1  # the label of rows that are left out
MAX_ALIKE = 8  # columns left out for one reason that get lines of their own
MAX_NAME_CHARACTERS = 40
MAX_REASON_CHARACTERS = 100
MAX_ROWS_NAMED = 3
ALIKE_MAX_RATIO = 1.5  # of standard deviations that need no mention
MAX_LIMITED = 3  # features with outliers that get lines of their own
AS_REQUESTED, AS_IN_FIT = "as requested", "new rows get the values that gaps got in the fit"

NEARLY = "nearly numeric"  # the kind of a decision that notes tell, with more words

RULES = {
    "constant": "a feature needs at least two values",
    "mostly gaps": f"more than {percent(roles.MISSING_MAX_SHARE)} of the values are missing; "
    f"{percent(roles.OPEN_MAX_SHARE)} where gaps stay open",
    "many gaps": f"more than {percent(beside.FILLED_MAX_SHARE)} of the values are missing: equal "
    "values filled in for them would be groups of their own. Such columns are features if they are "
    "the majority, or gaps stay open",
    NO_VALUE_LEFT: f"no row that has {percent(KNOWN_MIN_SHARE)} of the features has a value, so "
    "there is no median to fill in",
    roles.LABELS: "integers in a column called cluster or labels",
    roles.ROW_NUMBER: f"at least {roles.COUNTER_MIN_ROWS} consecutive integers, each once, in any "
    "order; or distinct integers in a first column without a name",
    roles.ID: "integers in a column whose name ends in id; or in nr, number, key, index, … if "
    f"{percent(roles.DISTINCT_MIN_SHARE)} are distinct",
    roles.CODE: "integers with leading zeros; of 4 digits or more in a column called zip, phone, "
    f"code, …; or of {roles.CODE_MIN_DIGITS} digits or more, all of one length, "
    f"{percent(roles.DISTINCT_MIN_SHARE)} distinct and evenly spread over {roles.CODE_MIN_ROWS} "
    "rows or more, unless the name is that of a measure like price or income",
    "a copy": f"correlated by {beside.COPY_MIN_CORRELATION} or more with a column before it, "
    "where both are known",
    "two values only": "yes or no is a category: it would split every group in two. Such columns "
    "are features if they are the majority, where the one-hot columns of a category count as one",
    "dates": "a date is a feature only on request: it becomes days since 1970. Dates are cells "
    "like 2024-05-31, 31.5.2024, 5/31/2024 or 31 May 2024, integers like 20240531, years in a "
    "column called year, and seconds in a column called time, timestamp, …",
    NEARLY: "a column is numeric only if all its cells are numbers of one style, or gaps",
    "text": "categories are described for each cluster, not measured",
    "log": "no value is negative (zeros are shifted by the 5 % quantile of the other values), the "
    f"95 % quantile is at least {auto.LOG_MIN_RATIO:g} times the 5 % quantile and at least 3 times "
    "as far from the median, and logarithms are at least "
    f"{1 / auto.LOG_MAX_SKEWNESS_LEFT:.0f} times less skewed, by where the median is "
    "between these quantiles; results are in the original units",
    "limit": f"a few values more than {auto.FENCE_IQRS:g} interquartile ranges beyond the "
    f"quartiles ({percent(auto.OUTLIERS_MAX_SHARE)} of the rows at most, or "
    f"{auto.OUTLIERS_MAX_ROWS} of {auto.OUTLIERS_MIN_ROWS} or more) count as the last value before "
    "them, so that outliers neither set the scale nor form clusters. Of a skewed feature with more "
    f"values out there, those more than {auto.FAR_IQRS:g} interquartile ranges beyond, if they are "
    f"as few and make the standard deviation at least {auto.FAR_MIN_GROWTH:g} times as large",
    "scale": "features have different units: after that, each has mean 0 and standard deviation 1. "
    "Features stay as they are if their names end in one unit, they are coordinates, half of them "
    "reach both ends of one scale (pixels, grades) and the others cover half of it or are of the "
    "same numbered series, or they are a numbered series of similar spread",
    "categories": "text, and columns of two values, with 2 to 20 different values which repeat; a "
    "gap is no category",
    "gamma": "two rows differ on average as much in a column of categories as in one of numbers; "
    "--gamma sets the cost, --gamma auto is half a standard deviation",
    "na": "texts and numbers that --na named, now or in the fit",
    "gaps": "distances use the values that a row has",
    "fill": "the median of the feature, which outliers do not change",
    "rows": f"fewer than {percent(KNOWN_MIN_SHARE)} of the features are known, so the cluster "
    "would be a guess; where gaps stay open, none is",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision: its kind, the columns it is about, and a line for the user."""

    kind: str  # "left out", NEARLY, "log", "limit", "scale", "fill", "rows"
    columns: tuple[str, ...]
    line: str
    rule: str = ""
    undo: str = ""  # options of the command line
    line_without_rows: str = ""  # if `line` shows a cell or names a row

    def to_dict(self) -> dict[str, Any]:
        """Return the decision for JSON."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "line": self.line,
            "rule": self.rule,
            "undo": self.undo,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """The decisions about a table, in the order in which they were made."""

    features: tuple[str, ...]
    missing: str  # the policy for missing values, which holds for new rows too
    decisions: tuple[Decision, ...]
    days: tuple[str, ...] = ()  # the features that are dates, as days since 1970
    categories: tuple[str, ...] = ()  # the features that are categories, after `features`
    na: tuple[str, ...] = ()  # cells that are missing besides the usual ones, as the user said

    @property
    def lines(self) -> list[str]:
        """A line for each decision."""
        return [decision.line for decision in self.decisions]

    @property
    def lines_without_rows(self) -> list[str]:
        """The same, without the cells and the places of single rows."""
        return [decision.line_without_rows or decision.line for decision in self.decisions]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan for JSON."""
        decisions = [decision.to_dict() for decision in self.decisions]
        return {
            "features": list(self.features),
            "missing": self.missing,
            "days": list(self.days),
            "categories": list(self.categories),
            "na": list(self.na),
            "decisions": decisions,
        }


def plan_of(table: Table, selection: Selection, scaling: Scaling, why_unscaled: str = "") -> Plan:
    """Describe how the features of a table were chosen and prepared."""
    n_rows, n_used = table.data.num_rows, len(selection.kept)
    decisions = [*_left_out(selection), *_categories(selection)]
    decisions += gap_decisions(selection, n_rows, n_used)
    if (selection.X[:1] != selection.X).any():  # equal rows have no scale
        decisions += _changes(table, selection, scaling, why_unscaled)
    return _plan(table, selection, decisions)


def _plan(table: Table, selection: Selection, decisions: Iterable[Decision]) -> Plan:
    kinds = selection.names, selection.missing, tuple(decisions), selection.days
    return Plan(*kinds, tuple(selection.categories), table.cells.missing)


def repeated_plan_of(table: Table, selection: Selection, scaling: Scaling) -> Plan:
    """Describe how new rows are prepared as those of a fit; only the gaps allow other options."""
    changes = [replace(d, undo="") for d in _changes(table, selection, scaling)]
    n_rows, n_used = table.data.num_rows, len(selection.kept)
    gaps = gap_decisions(selection, n_rows, n_used, of_fit=True)
    return _plan(table, selection, [*_markers(table), *gaps, *changes])


def _markers(table: Table) -> Iterator[Decision]:
    if markers := table.cells.missing:
        yield Decision(
            "na", (), f"read as missing: {listed(map(quoted, markers), str)}", RULES["na"]
        )


def _changes(
    table: Table, selection: Selection, scaling: Scaling, why_unscaled: str = ""
) -> Iterator[Decision]:
    """Yield how the values of the features are changed."""
    yield from _logarithms(selection, scaling)
    yield from _limits(table, selection, scaling)
    yield from _scale(scaling, why_unscaled)


def _left_out(selection: Selection) -> Iterator[Decision]:
    for name in selection.nearly:
        line = f"left out: {_name(name)} ({_why(selection, name)})"
        short = f"left out: {_name(name)} ({kind_of_reason(selection.left_out[name])})"
        yield Decision(NEARLY, (name,), line, RULES[NEARLY], line_without_rows=short)
    by_kind: dict[str, list[str]] = {}
    for name, why in selection.left_out.items():
        if why not in (NOT_CHOSEN, EXCLUDED) and name not in selection.nearly:
            by_kind.setdefault(kind_of_reason(why), []).append(name)
    for kind, names in by_kind.items():
        rule = RULES.get(kind, "")
        if len(names) > MAX_ALIKE:
            line = f"left out: {len(names)} columns ({kind}): {listed(map(_name, names), str)}"
            yield Decision("left out", tuple(names), line, rule, _including(kind, names))
            continue
        for name in names:
            line = f"left out: {_name(name)} ({_why(selection, name)})"
            short = f"left out: {_name(name)} ({kind})"
            yield Decision("left out", (name,), line, rule, _including(kind, [name]), short)


def _categories(selection: Selection) -> Iterator[Decision]:
    if selection.categories:
        parts = [f"{_name(n)} ({len(c.levels)})" for n, c in selection.categories.items()]
        names, rule = tuple(selection.categories), RULES["categories"]
        line = f"used as categories: {listed(parts, str)}"
        yield Decision("categories", names, line, rule, "--categories none")


def kind_of_reason(why: str) -> str:
    """Return why a column was left out in a word or two, without the cells that show it.

    >>> kind_of_reason("text, as 'Ann' in line 2"), kind_of_reason("an id: by its name")
    ('text', 'an id')
    """
    return why.partition(":")[0].partition(",")[0]


def _why(selection: Selection, name: str) -> str:
    return one_line(selection.left_out[name], MAX_REASON_CHARACTERS)


def _including(kind: str, names: Sequence[str]) -> str:
    """Return the option that uses the columns, for a shell; empty if they cannot be features."""
    if kind == NO_VALUE_LEFT:
        return "--missing mean"  # which keeps all rows
    can_be_features = kind == FRAME_INDEX or (kind in RULES and kind != "text")
    return f"--include {shlex.quote(','.join(names))}" if can_be_features else ""


def gap_decisions(
    selection: Selection, n_rows: int, n_used: int, of_fit: bool = False
) -> Iterator[Decision]:
    """Yield what becomes of gaps in a table of so many rows, of which so many are clustered."""
    by_rule = selection.missing in LENIENT_POLICIES
    if selection.missing == "partial" and selection.gaps:
        total = sum(selection.gaps.values())
        places = [f"{_name(name)} {count}" for name, count in selection.gaps.items()]
        line = f"left open: {plural(total, 'missing value')}: {listed(places, str)}"
        yield Decision("gaps", tuple(selection.gaps), line, RULES["gaps"], "--missing drop")
    if selection.filled:
        places = [f"{_name(name)} {count}" for name, count in selection.gaps.items()]
        middle = f"the {'median' if by_rule else 'mean'} of the column"
        line = (
            f"filled in: {plural(selection.filled, 'missing value')} with "
            f"{'values of the fit' if of_fit else middle}: {listed(places, str)}"
        )
        rule = AS_IN_FIT if of_fit else RULES["fill"] if by_rule else AS_REQUESTED
        yield Decision("fill", tuple(selection.gaps), line, rule, "--missing drop")
    if n_used < n_rows:
        is_open = selection.missing == "partial"
        few = "no value" if is_open else "too few values" if by_rule else "a missing value"
        line = (
            f"left out: {n_rows - n_used} of {plural(n_rows, 'row')} "
            f"({percent(1 - n_used / n_rows)}) with {few}; their label is {NO_CLUSTER}"
        )
        rule = RULES["rows"] if by_rule else AS_REQUESTED
        yield Decision("rows", (), line, rule, "--missing mean")


def _logarithms(selection: Selection, scaling: Scaling) -> Iterator[Decision]:
    if scaling.logged is None:
        return
    logged = np.flatnonzero(scaling.logged).tolist()
    if len(logged) > MAX_ALIKE:
        names = [selection.names[t] for t in logged]
        line = f"logarithm of {len(names)} features (very skewed): {listed(map(_name, names), str)}"
        yield Decision("log", tuple(names), line, RULES["log"], "--scale standard")
        return
    for t in logged:
        name, offset = selection.names[t], float(scaling.offset[t])
        q5, q95 = quantiles(selection.X[:, t], selection.weight, [0.05, 0.95])
        what = f"of {_name(name)}" if offset == 0 else f"of {_name(name)} + {format_number(offset)}"
        line = f"logarithm {what} (very skewed: from {format_number(q5)} to {format_number(q95)})"
        short = f"logarithm of {_name(name)} (very skewed)"
        yield Decision("log", (name,), line, RULES["log"], "--scale standard", short)


def _limits(table: Table, selection: Selection, scaling: Scaling) -> Iterator[Decision]:
    if scaling.logged is None:
        return
    rows = selection.X
    beyond = (rows < scaling.low) | (rows > scaling.high)
    counts = beyond.sum(axis=0).tolist()
    limited = {name: count for name, count in zip(selection.names, counts, strict=True) if count}
    if len(limited) > MAX_LIMITED:
        total, places = sum(counts), [f"{_name(name)} {count}" for name, count in limited.items()]
        line = f"limited: {plural(total, 'outlier')}: {listed(places, str)}"
        yield Decision("limit", tuple(limited), line, RULES["limit"], "--scale standard")
        return
    for t, name in enumerate(selection.names):
        if name in limited:
            where = _rows_text(table, selection, np.flatnonzero(beyond[:, t]))
            line = f"limited: {plural(limited[name], 'outlier')} of {_name(name)}"
            shown = f"{line} ({where})"
            yield Decision("limit", (name,), shown, RULES["limit"], "--scale standard", line)


def _rows_text(table: Table, selection: Selection, rows: Any) -> str:
    if selection.ids is not None:
        named = [one_line(selection.ids[i], MAX_NAME_CHARACTERS) for i in rows[:MAX_ROWS_NAMED]]
    else:
        named = [table.where(int(selection.kept[i])) for i in rows[:MAX_ROWS_NAMED]]
    more = f" and {len(rows) - MAX_ROWS_NAMED} more" if len(rows) > MAX_ROWS_NAMED else ""
    return ", ".join(named) + more


def _scale(scaling: Scaling, why_unscaled: str) -> Iterator[Decision]:
    if why_unscaled:
        line = f"not scaled: {why_unscaled}"
        yield Decision("scale", (), line, RULES["scale"], "--scale standard")
    elif scaling.kind == "auto" and len(scaling.scale) > 1:
        plain = scaling.scale[~scaling.logged]
        low, high = map(format_number, (plain.min(initial=np.inf), plain.max(initial=0.0)))
        differ = len(plain) > 1 and plain.max() > ALIKE_MAX_RATIO * plain.min()
        before = f" (they were {low} to {high})" if differ else ""
        line = f"scaled: every feature to a standard deviation of 1{before}"
        yield Decision("scale", (), line, RULES["scale"], "--scale none")


def _name(name: str) -> str:
    return isolated(one_line(name, MAX_NAME_CHARACTERS))


def undo_hint(plan: Plan) -> str:
    """Return how a user undoes decisions; empty if there are none."""
    if not plan.decisions:
        return ""
    can_be_typed = (
        decision.undo
        for decision in plan.decisions
        if decision.undo.startswith("--include")
        and len(decision.columns) == 1
        and one_line(decision.columns[0], MAX_NAME_CHARACTERS) == decision.columns[0]
    )
    include = next((f"{undo} uses that column, " for undo in can_be_typed), "")
    return f"{include}--explain tells the rules, --raw prepares nothing"
