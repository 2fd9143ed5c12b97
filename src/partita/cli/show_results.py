"""Results on stdout: for people as text and tables, for programs as one object."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import typer

from partita._common.json_values import to_json_values
from partita._common.text import one_line

_TRAITS = 3  # features that a terminal says about a cluster
_FINDINGS = 6
_CLUSTERS = 20  # lines of the table
_BEFORE = 36  # letters of the columns before that
_ORDINARY = "read as utf-8, delimiter comma"  # not worth a line
_KNOWN = ("not chosen", "excluded")  # reasons that the user gave


def console() -> Any:
    """Where results go; data cannot speak in markup or colours there."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def clean(text: Any, most: int = 60) -> str:
    """Text from data on one line, without characters that a terminal would obey."""
    return one_line(text, most)


def as_json(value: dict[str, Any]) -> None:
    """Print one object; what no JSON number can say is null."""
    # where stdout lacks letters, JSON has a way to write them
    ascii_only = not (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    typer.echo(
        json.dumps(to_json_values(value), indent=2, ensure_ascii=ascii_only, allow_nan=False)
    )


def notes(texts: Sequence[str]) -> None:
    """Remarks on stderr."""
    for text in texts:
        typer.echo(f"Note: {clean(text, 500)}", err=True)


def of_data(prepared: Any) -> dict[str, Any]:
    """What was read, for programs."""
    table, chosen = prepared.table, prepared.selection
    return {
        "name": table.name,
        "format": table.format,
        "rows": table.data.num_rows,
        "rows_used": len(prepared.X),
        "features": list(chosen.names),
        "left_out": chosen.left_out,
        "filled": chosen.filled,
        "nearly": list(chosen.nearly),
        "doubtful": {name: doubt.why for name, doubt in chosen.doubtful.items()},
        "scale": prepared.scaling.kind,
        "notes": list(table.notes),
    }


def said_of_data(prepared: Any) -> list[str]:
    """The same for people, as remarks."""
    from partita.cli.workflow import doubts

    chosen = prepared.selection
    said = [note for note in prepared.table.notes if note != _ORDINARY]
    away = [
        f"{clean(name, 30)} ({clean(why)})"
        for name, why in chosen.left_out.items()
        if why not in _KNOWN and name not in chosen.nearly
    ]
    if away:
        more = f" and {len(away) - 5} more" if len(away) > 5 else ""
        said.append(f"not used: {', '.join(away[:5])}{more}")
    said += doubts(prepared)
    dropped = prepared.table.data.num_rows - len(prepared.X)
    if dropped:
        lack = "row lacks" if dropped == 1 else "rows lack"
        said.append(f"{dropped} {lack} a value; left out")
    if chosen.filled:
        many = "value" if chosen.filled == 1 else "values"
        said.append(f"{chosen.filled} missing {many} filled in by the mean of the column")
    return said


def summary(found: Any) -> None:
    """A fit in a few lines, its clusters as a table, and what to worry about."""
    out = console()
    scaled = "" if found.scale == "none" else f", scaled ({found.scale})"
    features = f"{found.features} feature{'s' * (found.features != 1)}"
    out.print(f"{clean(found.source)}: {found.rows} rows, {features}{scaled}")
    numbers = [f"J = {found.objective:.6g}"] if found.objective is not None else []
    if found.explained_variance is not None:
        numbers.append(f"{100 * found.explained_variance:.1f} % of the variance explained")
    if found.silhouette is not None:
        numbers.append(f"silhouette {found.silhouette:.3f}")
    many = f"{found.n_clusters} cluster{'s' * (found.n_clusters != 1)}"
    line = _packed([f"{many} by {found.method}:", *numbers], out.width, first=" ")
    out.print(line, style="bold")
    if found.verdict:
        out.print(found.verdict)
    if found.iterations is not None:
        times = f"{found.iterations} iteration{'s' * (found.iterations != 1)}"
        began = "" if found.verdict is None else " from clusters of the sweep"
        out.print(f"Stopped after {times}{began}: {found.stopped_by}.")
    out.print()
    out.print(_clusters(found.clusters, out.width))
    rest = len(found.clusters) - _CLUSTERS
    if rest > 0:
        out.print(f"and {rest} smaller ones: --report or --json shows them", style="dim")
    _findings(out, found)


def _clusters(clusters: Any, width: int) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    weighted = any(one.weight != one.size for one in clusters)
    for name in ("cluster", "rows", "of weight" if weighted else "share", "spread"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("what sets it apart", ratio=1)
    largest = sorted(clusters, key=lambda one: -one.share)[:_CLUSTERS]
    for one in sorted(largest, key=lambda one: one.number):
        words = [clean(trait.words) for trait in one.traits[:_TRAITS]] or ["–"]
        table.add_row(
            str(one.number),
            str(one.size),
            f"{100 * one.share:.1f} %",
            "–" if one.spread is None else f"{one.spread:.4g}",
            Text(_packed(words, width - _BEFORE)),
        )
    return table


def _packed(parts: list[str], width: int, first: str = ",") -> str:
    """Parts with commas between them, in lines that do not break amid a part.

    `first` follows the first of them in the place of a comma.
    """
    lines = [""]
    for i, part in enumerate(parts):
        part += (first.strip() if i == 0 else ",") if i < len(parts) - 1 else ""
        if lines[-1] and len(lines[-1]) + 1 + len(part) > width:
            lines.append("")
        lines[-1] += f" {part}" if lines[-1] else part
    return "\n".join(lines)


def sizes(labels: Any) -> None:
    """How many rows each cluster has, in a line or two."""
    import numpy as np

    numbers, counts = np.unique(labels, return_counts=True)
    parts = [f"cluster {j}: {n}" for j, n in zip(numbers, counts, strict=True)]
    if len(parts) > _CLUSTERS:
        parts = [*parts[:_CLUSTERS], f"and {len(parts) - _CLUSTERS} more"]
    out = console()
    out.print(_packed(parts, out.width))


def figure(value: float) -> str:
    """A number of the data, as people write it: 29 252, not 2.925e+04."""
    if 1e3 <= abs(value) < 1e9:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.4g}"


def _findings(out: Any, found: Any) -> None:
    out.print()
    if not found.findings:
        out.print("Nothing to worry about was found.")
        return
    out.print("What to worry about:", style="bold")
    for one in found.findings[:_FINDINGS]:
        item(out, f"{one['severity']}: {clean(one['what'], 400)}", 2)
        item(out, clean(one["evidence"], 400), 4, hang=0)
        item(out, f"→ {clean(one['option'] or one['advice'], 400)}", 4, "dim")
    rest = len(found.findings) - _FINDINGS
    if rest > 0:
        out.print(f"  and {rest} more: --report or --json shows them")


def item(out: Any, text: str, indent: int, style: str = "", hang: int = 2) -> None:
    """A paragraph whose later lines begin below the first word."""
    before, later = " " * indent, " " * (indent + hang)
    lines = textwrap.wrap(
        text,
        max(20, out.width),
        initial_indent=before,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    for line in lines:
        out.print(line, style=style, soft_wrap=True)


def of_sweep(sweep: Any) -> dict[str, Any] | None:
    """A choice of K, for programs."""
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


def sweep(found: Any) -> None:
    """A choice of K for people: the verdict, the reasons, and the criteria in tables that fit."""
    from partita.choosing.sweep import legend_lines, table_rows

    out = console()
    out.print(found.verdict, style="bold")
    for reason in found.reasons:
        item(out, f"- {reason}", 2)
    columns = [list(column) for column in zip(*table_rows(found), strict=True)]
    for group in _groups(columns, out.width):
        out.print()
        out.print(_grid(group))
    out.print("\n".join(legend_lines(found)), style="dim")


def _groups(columns: list[list[str]], width: int) -> list[list[list[str]]]:
    """Columns side by side as far as the width allows, the first of them in every group."""
    first, groups, used = columns[0], [], width
    for column in columns[1:]:
        need = max(map(len, column)) + 2
        if used + need > width:
            groups.append([first])
            used = max(map(len, first))
        groups[-1].append(column)
        used += need
    return groups


def _grid(columns: list[list[str]]) -> Any:
    from rich.text import Text

    wide = [max(map(len, column)) for column in columns]
    lines = [
        "  ".join(cell.rjust(w) for cell, w in zip(row, wide, strict=True))
        for row in zip(*columns, strict=True)
    ]
    return Text("\n".join(lines), no_wrap=True)


def saved(files: dict[str, str], otherwise: str = "") -> None:
    """Where things are; what to say if nothing was written."""
    out = console()
    if files or otherwise:
        out.print()
    for kind, path in files.items():
        out.print(f"{kind:>7}: {path}", soft_wrap=True)
    if otherwise and not files:
        item(out, f"({otherwise})", 0, "dim", hang=1)
