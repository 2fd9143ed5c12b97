"""The columns of a prepared table, as a table for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console

from partita._common.text import format_number, isolated, one_line, plural
from partita.cli.prepared_data import PreparedData
from partita.cli.text_tables import print_table
from partita.tables.cell_types import without_missing
from partita.tables.column_values import read_column, read_days
from partita.tables.table import arrow

MAX_COLUMNS_SHOWN = 60
MAX_NAME_CHARACTERS = 24
MAX_USE_CHARACTERS = 26  # the longest rule: labels of an earlier fit


def print_columns(prepared: PreparedData, out: Console) -> None:
    """Print a row for each column: what it is used as, its gaps, and its range."""
    table = prepared.table
    used = plural(len(prepared.selection.all_names), "feature")
    columns = plural(len(table.names), "column")
    rows = plural(table.data.num_rows, "row")
    out.print(
        f"{one_line(table.name, 60)}: {rows}, {columns}, {used}", style="bold", soft_wrap=True
    )
    lines = [["column", "used as", "missing", "distinct", "min", "median", "max"]]
    for name in table.names[:MAX_COLUMNS_SHOWN]:
        shown = isolated(one_line(name, MAX_NAME_CHARACTERS))
        lines.append([shown, *_facts(prepared, name)])
    print_table(out, list(zip(*lines, strict=True)), left=2, rule=True)
    more = len(table.names) - MAX_COLUMNS_SHOWN
    if more > 0:
        out.print(f"(and {plural(more, 'more column')}: see --json)", style="dim")


def _facts(prepared: PreparedData, name: str) -> list[str]:
    """Return the cells of a column's row: use, gaps, distinct values, range."""
    values, count = read_column(prepared.table, name).values, format_number
    if values is None and name in prepared.selection.days:
        values = read_days(prepared.table, name)
    if values is None:
        cells = prepared.table.data[name]
        if arrow().types.is_string(cells.type):
            cells = without_missing(cells, prepared.table.cells.missing)
        known = cells.drop_null()
        return [_use(prepared, name), count(cells.null_count), count(len(known.unique())), *"–––"]
    known = values[np.isfinite(values)]
    middle = (known.min(), np.median(known), known.max()) if len(known) else ()
    shown = [format_number(float(value)) for value in middle] or [*"–––"]
    distinct = count(len(np.unique(known)))
    return [_use(prepared, name), count(len(values) - len(known)), distinct, *shown]


def _use(prepared: PreparedData, name: str) -> str:
    selection, scaling = prepared.selection, prepared.scaling
    if name in selection.names:
        logged: Any = scaling.logged
        is_logged = logged is not None and bool(logged[selection.names.index(name)])
        as_days = ", days" if name in selection.days else ""
        return f"feature{', logarithm' if is_logged else as_days}"
    if name in selection.categories:
        return "category"
    if name in selection.nearly:
        return "– (not all numbers)"
    why = selection.left_out.get(name)
    return "id or weight" if why is None else f"– ({one_line(_kind(why), MAX_USE_CHARACTERS)})"


def _kind(why: str) -> str:
    return why.partition(":")[0].partition(",")[0]
