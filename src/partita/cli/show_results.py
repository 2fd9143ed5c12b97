"""Results on stdout: text and tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import re
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
from partita._common.number_text import count_text, percent_text
from partita._common.text import isolated, one_line, one_sentence, plural
from partita.cli.console import MIN_WIDTH, print_message, wrapped
from partita.cli.prepared_data import column_remarks
from partita.cli.text_tables import print_table
from partita.tables import undo_hint
from partita.tables.placeholders import placeholders_of
from partita.tables.preparation_plan import NEARLY
from partita.tables.text_files import layout_note

MAX_TRAITS = 3  # of a group
MAX_CATEGORIES = 2  # of a group
MAX_FINDINGS = 6
MAX_CLUSTERS = 20  # sizes in a list
MAX_GROUPS = 12  # as many as the report has cards
MAX_GROUPS_IN_FULL = 8  # more have one line of traits each
MAX_SOURCE = 60  # characters of the name of the data
MAX_TEXT = 500  # characters of a note or a finding
NO_BREAK = "\xa0"  # a space at which no line ends
# parts of a text in which no line ends
WHOLE = re.compile(r".+")
NUMBERS = re.compile(r"\([^()]*\)")  # of a trait
COMMANDS = re.compile(r"`[^`]+`|--[\w-]+ \d+")  # of advice
# substitutes of characters that only some encodings have
IN_ANY_ENCODING = str.maketrans({"−": "-", "–": "-", "→": "->", "±": "+/-"})
FILLER = "\x00"  # stands for the second cell of a wide character; no text for people has it
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
    """Print the answer, its grade, the groups, what to be careful about, and the figures."""
    out.print()
    print_item(out, f"{summary.sentence}.", 0, "bold", hang=0)
    if summary.grade_reason:
        print_item(out, summary.grade_reason, 0, GRADE_STYLES.get(summary.grade, ""), hang=0)
    out.print()
    if summary.n_clusters > 1 and summary.grade != "none":
        _print_groups(summary, out)
        out.print()
    _print_findings(out, summary.findings, summary.grade)
    out.print()
    for line in _figures(summary):
        print_item(out, line, 0, "dim")


def _figures(summary: Any) -> list[str]:
    """Return how the groups were found: the data, the choice of K, the fit, why it stopped."""
    scaled = "" if summary.scale == "none" else f", scaled ({summary.scale})"
    rows, features = count_text(summary.rows, "row"), count_text(summary.features, "feature")
    lines = [f"{one_line(summary.source, MAX_SOURCE)}: {rows}, {features}{scaled}."]
    if summary.verdict:
        lines.append(one_sentence(summary.verdict, MAX_TEXT))
    parts = []
    if summary.objective is not None:
        parts.append(f"J{NO_BREAK}={NO_BREAK}{summary.objective:.6g}")
    if summary.explained_variance is not None and summary.n_clusters > 1:
        parts.append(f"{100 * summary.explained_variance:.1f}{NO_BREAK}% {summary.explained_is}")
    if summary.silhouette is not None:
        parts.append(f"silhouette {summary.silhouette:.3f}")
    lines.append(f"{summary.method}{': ' * bool(parts)}{', '.join(parts)}.")
    if summary.iterations is None:
        return lines
    starts = f"The best of {summary.starts} starts s" if (summary.starts or 1) > 1 else "S"
    start = ", starting from clusters of the sweep" if summary.from_sweep else ""
    iterations = plural(summary.iterations, "iteration") + start
    return [*lines, f"{starts}topped after {iterations}: {summary.stopped_by}."]


def _print_groups(summary: Any, out: Console) -> None:
    """Print the largest groups: number, name, share and rows, then what sets them apart."""
    from partita.description.sentences import rows_text

    groups = sorted(summary.clusters, key=lambda group: -group.share)
    shown, is_short = groups[:MAX_GROUPS], len(groups) > MAX_GROUPS_IN_FULL
    noun = getattr(summary, "noun", "")
    shares = _right_aligned([_encodable(percent_text(group.share), out) for group in shown])
    rows = _right_aligned([_encodable(rows_text(group.size, noun), out) for group in shown])
    indent = 2 + max(len(str(group.number)) for group in shown)
    names = [isolated(group.name) for group in shown]
    sizes = [
        f"  {share}  {count}".replace(NO_BREAK, " ")
        for share, count in zip(shares, rows, strict=True)
    ]
    room = max(MIN_WIDTH, out.width - indent - cell_len(sizes[0]))
    width = min(room, max(map(cell_len, names)))
    for group, name, size in zip(shown, names, sizes, strict=True):
        _print_name(out, f"{group.number:>{indent - 2}}  ", name, size, width)
        print_item(out, _trait_text(group, out, indent, is_short), indent, hang=0)
    if len(groups) > len(shown):
        rest = plural(len(groups) - len(shown), "more group")
        print_item(out, f"and {rest}: see --report or --json", indent, hang=0)
    if any(group.weight != group.size for group in groups):
        print_item(out, "(Shares are of the weight, not of the rows.)", 0, "dim", hang=1)


def _right_aligned(texts: list[str]) -> list[str]:
    width = max(map(cell_len, texts))
    return [" " * (width - cell_len(text)) + text for text in texts]


def _print_name(out: Console, number: str, name: str, size: str, width: int) -> None:
    """Print the name of a group in a column of that width, and its size beside or below it."""
    first, *rest = _wrapped_cells(name, width, hang=0)
    line = Text(number).append(first, style="bold")
    padding = width - cell_len(first)
    fits = padding >= 0 and len(number) + width + cell_len(size) <= out.width
    out.print(line.append(" " * padding + size) if fits else line, soft_wrap=True)
    for part in rest:
        out.print(Text(" " * len(number)).append(part, style="bold"), soft_wrap=True)
    if not fits:
        out.print(" " * len(number) + size.strip(), soft_wrap=True)


def _trait_text(group: Any, out: Console, indent: int, is_short: bool) -> str:
    """Return what sets a group apart: traits that no line breaks, or as many as one line holds."""
    traits = [trait.words for trait in group.traits[:MAX_TRAITS]] or [_remark(group)]
    traits += [trait.words for trait in group.categories[:MAX_CATEGORIES]]
    traits = [_encodable(trait, out) for trait in traits if trait]
    room = max(MIN_WIDTH, out.width) - indent
    while is_short and len(traits) > 1 and cell_len(", ".join(traits)) > room:
        traits.pop()
    items = [*(f"{trait}," for trait in traits[:-1]), *traits[-1:]]
    return " ".join(_unbroken(item, WHOLE if cell_len(item) <= room else NUMBERS) for item in items)


def _remark(group: Any) -> str:
    """Return what is said of a group that no feature sets apart."""
    from partita.report.group_summary import MIN_ROWS_TO_TELL

    if not group.size:
        return ""
    if group.neighbour is None and group.share < 1:  # the options leave out what tells of rows
        is_small = group.share > 0 and group.size < MIN_ROWS_TO_TELL
        return "too few rows to be described without showing them" if is_small else ""
    middle = "close to the average in every feature"
    return f"{middle}; {group.likeness}" if group.likeness else middle


def _print_findings(out: Console, findings: Any, grade: str) -> None:
    if not findings:
        is_good = grade in GOOD_GRADES
        out.print("No problems were found." if is_good else "The checks found no other problem.")
        return
    out.print("Be careful:", style="bold")
    for finding in findings[:MAX_FINDINGS]:
        advice = one_sentence(finding["option"] or finding["advice"], MAX_TEXT)
        is_warning = finding["severity"] == "warning"
        mark, style = ("!", "bold yellow") if is_warning else ("-", "bold")
        print_item(out, f"{mark} {one_sentence(finding['what'], MAX_TEXT)}", 2, style)
        print_item(out, one_sentence(finding["meaning"], MAX_TEXT), 4, hang=0)
        print_item(out, f"→ {_unbroken(advice, COMMANDS)}", 4, "cyan")
        print_item(out, one_sentence(finding["evidence"], MAX_TEXT), 4, "dim", hang=0)
    rest = len(findings) - MAX_FINDINGS
    if rest > 0:
        out.print(f"  and {rest} more: see --report or --json")


def _unbroken(text: str, parts: re.Pattern[str]) -> str:
    """Return text in which no line ends inside such parts."""
    return parts.sub(lambda part: part[0].replace(" ", NO_BREAK), text)


def _join_within(items: list[str], width: int, title: str = "") -> str:
    """Join items with commas, after a title, in lines that break only between items."""
    words = [title, *(f"{item}," for item in items[:-1]), *items[-1:]]
    text = " ".join(_unbroken(word, WHOLE) for word in words if word)
    return "\n".join(_wrapped_cells(text, width, hang=0))


def _encodable(text: str, out: Console) -> str:
    """Return text with ordinary spaces in numbers, in characters that the stream can encode."""
    text = text.replace("\u202f", NO_BREAK)
    return text if out.encoding.startswith("utf") else text.translate(IN_ANY_ENCODING)


def _wrapped_cells(text: str, width: int, indent: int = 0, hang: int = 2) -> list[str]:
    """Split a paragraph as `wrapped` does, but count the cells of wide characters.

    Lines do not end at NO_BREAK, which is printed as a space.
    """
    counted = "".join(letter + FILLER * (cell_len(letter) - 1) for letter in text)
    lines = wrapped(counted, width, indent, hang)
    return [line.replace(FILLER, "").replace(NO_BREAK, " ") for line in lines]


def print_item(out: Console, text: str, indent: int, style: str = "", hang: int = 2) -> None:
    """Print a paragraph; lines after the first are indented by `hang` more."""
    for line in _wrapped_cells(_encodable(text, out), out.width, indent, hang):
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
    items = [f"group {j}: {count}" for j, count in cluster_sizes(labels).items()]
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
