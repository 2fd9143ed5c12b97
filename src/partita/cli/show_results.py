"""Results on stdout: text and tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import partita
from partita._common.json_values import to_json_values
from partita._common.number_text import number_text, percent_text
from partita._common.text import one_line, one_sentence, plural
from partita.cli.console import MIN_WIDTH, print_message, wrapped
from partita.cli.prepared_data import column_remarks
from partita.cli.text_tables import print_table
from partita.tables import undo_hint
from partita.tables.placeholders import placeholders_of
from partita.tables.preparation_plan import NEARLY
from partita.tables.text_files import layout_note

MAX_TRAITS = 3  # of a cluster
MAX_CATEGORIES = 2  # of a cluster
MAX_FINDINGS = 6
MAX_CLUSTERS = 20  # rows of the table
MAX_GROUP_NAME = 46  # characters of the name of a group
MAX_TRAIT = 100  # characters of what sets a group apart
MAX_TEXT = 500  # characters of a note or a finding
GRADE_STYLES = {
    "clear": "green",
    "mostly": "green",
    "overlapping": "yellow",
    "blurred": "yellow",
    "none": "yellow",
}
GOOD_GRADES = ("clear", "mostly")


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
        "rows": table.data.num_rows,
        "rows_used": len(prepared.X),
        "features": list(selection.names),
        "left_out": selection.left_out,
        "filled": selection.filled,
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


# --- a fit ----------------------------------------------------------------------------------------


def print_summary(summary: Any, out: Console) -> None:
    """Print the answer, the groups with what sets them apart, and what to be careful about."""
    out.print()
    print_item(out, f"{summary.sentence}.", 0, "bold", hang=0)
    if summary.grade_reason:
        print_item(out, summary.grade_reason, 0, GRADE_STYLES.get(summary.grade, ""), hang=0)
    if summary.verdict:
        print_item(out, summary.verdict, 0, hang=0)
    out.print()
    if summary.n_clusters > 1:
        _print_groups(summary, out)
    _print_findings(out, summary.findings, summary.grade)
    out.print()
    print_item(out, _fit_line(summary), 0, "dim", hang=0)


def _fit_line(summary: Any) -> str:
    """Return how the groups were found, in figures."""
    scaled = "" if summary.scale == "none" else f", scaled ({summary.scale})"
    size = f"{plural(summary.rows, 'row')}, {plural(summary.features, 'feature')}"
    parts = [f"{one_line(summary.source, 60)}: {size}{scaled}", summary.method]
    if summary.objective is not None:
        parts.append(f"J = {summary.objective:.6g}")
    if summary.explained_variance is not None:
        parts.append(f"{100 * summary.explained_variance:.1f} % {summary.explained_is}")
    if summary.silhouette is not None:
        parts.append(f"silhouette {summary.silhouette:.3f}")
    text = "; ".join([parts[0], ", ".join(parts[1:])])
    if summary.iterations is None:
        return f"{text}."
    starts = f"The best of {summary.starts} starts s" if (summary.starts or 1) > 1 else "S"
    start = ", starting from clusters of the sweep" if summary.from_sweep else ""
    iterations = plural(summary.iterations, "iteration") + start
    return f"{text}. {starts}topped after {iterations}: {summary.stopped_by}."


def _print_groups(summary: Any, out: Console) -> None:
    """Print the largest groups: number, name, share and rows, then what sets them apart."""
    groups = sorted(summary.clusters, key=lambda group: -group.share)
    shown = groups[:MAX_CLUSTERS]
    digits = max(len(str(group.number)) for group in shown)
    for group in shown:
        share = percent_text(group.share)
        size = f"{share:>7}  {plural(group.size, 'row', number_text)}"
        room = max(MIN_WIDTH, out.width - digits - len(size) - 4)
        name = one_line(group.name, min(MAX_GROUP_NAME, room))
        line = Text(f"{group.number:>{digits}}  ")
        line.append(name, style="bold")
        padding = min(MAX_GROUP_NAME, room) - cell_len(name)
        line.append(" " * max(0, padding) + size)
        out.print(line, soft_wrap=True)
        for text in wrapped(_joined_traits(group, out.width - digits - 2), out.width, digits + 2, 0):
            out.print(text.replace("\xa0", " "), soft_wrap=True)
    rest = len(groups) - MAX_CLUSTERS
    if rest > 0:
        out.print(f"and {rest} smaller ones: see --report or --json", style="dim")


def _joined_traits(group: Any, width: int) -> str:
    """Return what sets a group apart, in lines that break only between traits."""
    traits = [one_sentence(trait.words, MAX_TRAIT) for trait in group.traits[:MAX_TRAITS]]
    traits += [one_sentence(trait.words, MAX_TRAIT) for trait in group.categories[:MAX_CATEGORIES]]
    if not traits:  # an empty group has no mean
        middle = "close to the average in every feature"
        likeness = one_sentence(group.likeness, MAX_TEXT)
        return f"{middle}; {likeness}" if group.size and likeness else middle if group.size else "–"
    words = [*(f"{trait}," for trait in traits[:-1]), traits[-1]]
    fits = all(cell_len(word) <= width for word in words)
    return " ".join(word.replace(" ", "\xa0") if fits else word for word in words)


def _print_findings(out: Console, findings: Any, grade: str) -> None:
    out.print()
    if not findings:
        is_good = grade in GOOD_GRADES
        out.print("No problems were found." if is_good else "The checks found no other problem.")
        return
    out.print("Be careful:", style="bold")
    for finding in findings[:MAX_FINDINGS]:
        advice = finding["option"] or finding["advice"]
        is_warning = finding["severity"] == "warning"
        mark, style = ("!", "bold yellow") if is_warning else ("-", "bold")
        print_item(out, f"{mark} {one_sentence(finding['what'], MAX_TEXT)}", 2, style)
        print_item(out, one_sentence(finding["meaning"], MAX_TEXT), 4, hang=0)
        print_item(out, f"→ {one_sentence(advice, MAX_TEXT)}", 4, "cyan")
        print_item(out, f"({one_sentence(finding['evidence'], MAX_TEXT)})", 4, "dim", hang=1)
    rest = len(findings) - MAX_FINDINGS
    if rest > 0:
        out.print(f"  and {rest} more: see --report or --json")


def _join_within(items: list[str], width: int, title: str = "") -> str:
    """Join items with commas, after a title, in lines that break only between items."""
    words = [title, *(f"{item}," for item in items[:-1]), *items[-1:]]
    text = " ".join(word.replace(" ", "\xa0") for word in words if word)
    return "\n".join(wrapped(text, width, hang=0)).replace("\xa0", " ")


def print_item(out: Console, text: str, indent: int, style: str = "", hang: int = 2) -> None:
    """Print a paragraph; lines after the first are indented by `hang` more."""
    for line in wrapped(text, out.width, indent, hang):
        out.print(line, style=style, soft_wrap=True)


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


def print_cluster_sizes(labels: Any, out: Console) -> None:
    """Print the number of rows in each cluster."""
    items = [f"cluster {j}: {count}" for j, count in cluster_sizes(labels).items()]
    if len(items) > MAX_CLUSTERS:
        items = [*items[:MAX_CLUSTERS], f"and {len(items) - MAX_CLUSTERS} more"]
    out.print(_join_within(items, out.width), soft_wrap=True)


def print_saved_files(files: dict[str, str], out: Console, if_none: str = "") -> None:
    """Print the paths of the files written, or `if_none`."""
    if files or if_none:
        out.print()
    for kind, path in files.items():
        out.print(f"{kind:>7}: {path}", soft_wrap=True)
    if if_none and not files:
        print_item(out, f"({if_none})", 0, "dim", hang=1)
