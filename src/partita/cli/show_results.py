"""Results on stdout: text and tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import typer
from rich.console import Console

import partita
from partita._common.json_values import to_json_values
from partita._common.text import one_line, one_sentence
from partita.cli.console import print_message
from partita.cli.paragraphs import join_within, print_item
from partita.cli.prepared_data import column_remarks
from partita.cli.text_tables import print_table
from partita.tables import undo_hint
from partita.tables.placeholders import placeholders_of
from partita.tables.preparation_plan import NEARLY
from partita.tables.text_files import layout_note

MAX_CLUSTERS = 20  # sizes in a list
MAX_TEXT = 500  # characters of a note or a finding


# --- JSON -----------------------------------------------------------------------------------------


def print_json(*, command: str, **values: Any) -> None:
    """Print the object of a command; NaN and infinity are null."""
    # the characters that stdout cannot encode are escaped
    ascii_only = not (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    result = to_json_values({"command": command, "partita": partita.__version__, **values})
    typer.echo(json.dumps(result, indent=2, ensure_ascii=ascii_only, allow_nan=False))


def data_json(prepared: Any) -> dict[str, Any]:
    """Return the object that describes the data."""
    table, selection = prepared.table, prepared.selection
    return {
        "name": table.name,
        "format": table.format,
        "rows": prepared.n_rows,
        "rows_used": prepared.n_used,
        "rows_sampled": len(prepared.X) if prepared.is_sample else None,
        "features": list(selection.all_names),
        "categories": {name: len(c.levels) for name, c in selection.categories.items()},
        "unused_categories": list(selection.candidates),
        "method": None if prepared.method is None else prepared.method.method,
        "left_out": selection.left_out,
        "filled": prepared.filled,
        "nearly": list(selection.nearly),
        "doubtful": {name: role.why for name, role in selection.doubtful.items()},
        "placeholders": {name: p.why for name, p in placeholders_of(selection).items()},
        "plan": prepared.plan.to_dict(),
        "scale": prepared.scaling.kind,
        "notes": list(table.notes),
    }


def sweep_json(sweep: Any) -> dict[str, Any] | None:
    """Return the object that describes how K was chosen."""
    if sweep is None:
        return None
    return {
        "best_k": sweep.best_k,
        "verdict": sweep.verdict,
        "reasons": list(sweep.reasons),
        "structure": sweep.structure,
        "ranking": list(sweep.ranking),
        "complete": sweep.complete,
        "table": sweep.to_dict(),
        "picks": {name: criterion.pick for name, criterion in sweep.criteria.items()},
    }


# --- notes on stderr ------------------------------------------------------------------------------


def print_notes(notes: Sequence[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        print_message(f"Note: {one_line(note, MAX_TEXT)}")


def data_notes(prepared: Any) -> list[str]:
    """Return notes on what was detected in the file, and on doubtful columns."""
    usual = layout_note("utf-8", "comma")
    notes = [note for note in prepared.table.notes if note != usual]
    return [*notes, *column_remarks(prepared)]


def print_preparation(prepared: Any, explain: bool | None = None) -> None:
    """Print notes on the data, then a line for each decision about it, on stderr.

    `explain` is None for commands without options about decisions.
    """
    print_notes(data_notes(prepared))
    for line in plan_lines(prepared.plan, explain):
        print_message(line)


def plan_lines(plan: Any, explain: bool | None) -> list[str]:
    """Return a line for each decision about the data, with its rule, or how to undo it."""
    lines = []
    for decision in (d for d in plan.decisions if d.kind != NEARLY):
        rule = f". Rule: {decision.rule}" if explain and decision.rule else ""
        lines.append(one_sentence(f"{decision.line}{rule}", MAX_TEXT))
    hint = undo_hint(plan)
    return [*lines, f"({hint})"] if hint and explain is False else lines


# --- a sweep, labels, files -----------------------------------------------------------------------


def print_sweep(sweep: Any, out: Console) -> None:
    """Print the verdict, the reasons, and the criteria in tables that fit the terminal."""
    from partita.choosing.sweep import legend_lines, table_rows

    print_item(out, sweep.verdict, 0, "bold", hang=0)
    for reason in sweep.reasons:
        print_item(out, f"- {reason}", 2)
    columns = [list(column) for column in zip(*table_rows(sweep), strict=True)]
    out.print()
    print_table(out, columns)
    for line in legend_lines(sweep):
        print_item(out, line, 0, "dim", hang=0)


def cluster_sizes(labels: Any) -> dict[int, int]:
    """Return the number of rows in each cluster."""
    clusters, counts = np.unique(labels, return_counts=True)
    return dict(zip(clusters.tolist(), counts.tolist(), strict=True))


def print_cluster_sizes(sizes: Mapping[int, int], out: Console) -> None:
    """Print the number of rows in each cluster."""
    items = [f"{f'group {j}' if j >= 0 else 'left out'}: {count}" for j, count in sizes.items()]
    if len(items) > MAX_CLUSTERS:
        items = [*items[:MAX_CLUSTERS], f"and {len(items) - MAX_CLUSTERS} more"]
    out.print(join_within(items, out.width), soft_wrap=True)


def print_saved_files(files: dict[str, str], out: Console, if_none: str = "") -> None:
    """Print the paths of the files written, or `if_none`."""
    if files or if_none:
        out.print()
    for kind, path in files.items():
        out.print(f"{kind:>7}: {path}", soft_wrap=True)
    if if_none and not files:
        print_item(out, f"({if_none})", 0, "dim", hang=1)
