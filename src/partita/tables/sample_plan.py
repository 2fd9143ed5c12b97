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

SAMPLE = "sample"  # the kind of the decision to prepare rows by a sample
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
    return replace(plan, decisions=(_sample(rows), *columns, *gaps, *limits, *changes))


def _sample(rows: StreamedRows) -> Decision:
    drawn, total = number_text(len(rows.sample.rows)), count_text(rows.n_rows, "row")
    return Decision(
        SAMPLE,
        (),
        f"read by blocks, prepared from a sample of {drawn} of {total}",
        "the table does not fit the memory that it may take. The sample tells which columns are "
        "features, their medians, logarithms and limits; means and standard deviations are those "
        "of all rows",
    )


def _limits(rows: StreamedRows, selection: Selection) -> Iterator[Decision]:
    counts = rows.limited.tolist()
    limited = {name: count for name, count in zip(selection.names, counts, strict=True) if count}
    if limited:
        names = [isolated(one_line(name, MAX_NAME_CHARACTERS)) for name in limited]
        places = [f"{n} {count}" for n, count in zip(names, limited.values(), strict=True)]
        what = f"limited: {plural(sum(counts), 'outlier')}"
        line = f"{what} of {names[0]}" if len(names) == 1 else f"{what}: {listed(places, str)}"
        yield Decision("limit", tuple(limited), line, RULES["limit"], "--scale standard")
