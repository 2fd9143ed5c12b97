"""The plan of a table that is a sample: its decisions, with the counts of all rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from partita._common.number_text import count_text, number_text
from partita._common.text import isolated, listed, one_line, plural
from partita.tables.feature_selection import Selection
from partita.tables.preparation_plan import (
    MAX_NAME_CHARACTERS,
    RULES,
    Decision,
    Plan,
    gap_decisions,
    plan_of,
)
from partita.tables.scaling import Scaling
from partita.tables.streamed_rows import StreamedRows
from partita.tables.table_sample import TableSample

SAMPLE = "sample"  # the kind of the decision to prepare rows by a sample
RULE = (
    "a table that does not fit the memory that it may take is read by blocks, and a random sample "
    "of its rows tells which columns are features, and their medians, logarithms and limits"
)
EXACT = "Means and standard deviations are those of all rows, and so are the counts below"
COUNTED = ("fill", "rows", "limit")  # kinds of decisions that count rows or values


def plan_of_streamed(
    rows: StreamedRows, selection: Selection, scaling: Scaling, why_unscaled: str = ""
) -> Plan:
    """Describe how all rows of files were prepared, as a sample of them shows."""
    plan = plan_of(rows.sample.table, selection, scaling, why_unscaled)
    if rows.sample.is_whole:
        return plan
    others = [decision for decision in plan.decisions if decision.kind not in COUNTED]
    changes = [decision for decision in others if decision.kind in ("log", "scale")]
    columns = [decision for decision in others if decision not in changes]
    gaps = gap_decisions(replace(selection, gaps=rows.gaps), rows.n_rows, rows.n_used)
    limits = _limits(rows, selection)
    line, rule = f"read by blocks, prepared from {_sample_text(rows.sample)}", f"{RULE}. {EXACT}"
    first = Decision(SAMPLE, (), line, rule)
    return replace(plan, decisions=(first, *columns, *gaps, *limits, *changes))


def plan_of_sample(sample: TableSample, plan: Plan) -> Plan:
    """Return the plan of a sample, with a line that tells that it is one."""
    if sample.is_whole:
        return plan
    first = Decision(SAMPLE, (), f"read by blocks: {_sample_text(sample)}", RULE)
    return replace(plan, decisions=(first, *plan.decisions))


def _sample_text(sample: TableSample) -> str:
    drawn, total = number_text(len(sample.rows)), count_text(sample.n_rows, "row")
    return f"a sample of {drawn} of {total}"


def _limits(rows: StreamedRows, selection: Selection) -> Iterator[Decision]:
    counts = rows.limited.tolist()
    limited = {name: count for name, count in zip(selection.names, counts, strict=True) if count}
    if limited:
        names = [isolated(one_line(name, MAX_NAME_CHARACTERS)) for name in limited]
        places = [f"{n} {count}" for n, count in zip(names, limited.values(), strict=True)]
        what = f"limited: {plural(sum(counts), 'outlier')}"
        line = f"{what} of {names[0]}" if len(names) == 1 else f"{what}: {listed(places, str)}"
        yield Decision("limit", tuple(limited), line, RULES["limit"], "--scale standard")
