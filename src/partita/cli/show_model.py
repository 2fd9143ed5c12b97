"""The content of a model file, as text and as a dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from partita._common.text import format_number, isolated, one_line, one_sentence, plural
from partita.cli import paragraphs, show_results
from partita.cli.console import console
from partita.cli.show_certificate import gap_text
from partita.cli.text_tables import print_table
from partita.model_file.contents import ModelContents
from partita.model_file.group_naming import GroupNames

MAX_CLUSTERS = 8  # columns of the table
MAX_FEATURES = 30  # rows of the table
MAX_NAMES = 50  # of groups that are listed


def to_dict(contents: ModelContents) -> dict[str, Any]:
    """Return the content of a model."""
    saved, scaling = contents.saved, contents.saved.scaling
    names, centers = _named_centers(contents)
    return {
        "method": contents.class_name,
        "n_clusters": contents.n_clusters,
        "group_names": saved.group_names,
        "features": names,
        "weights": contents.weights,
        "reach": None if saved.reference is None else saved.reference.reach,
        "centers": centers if contents.mixed is None else _mixed_json(contents),
        "objective": contents.objective,
        "starts": contents.starts,
        "iterations": contents.iterations,
        "stopped_by": contents.stopped_by,
        "certificate": None if contents.certificate is None else contents.certificate.to_dict(),
        "scaling": None
        if scaling is None
        else {"kind": scaling.kind, "center": scaling.center, "scale": scaling.scale},
        "fill": saved.fill,
        "plan": saved.plan,
        "steps": _steps(saved),
        "parameters": saved.parameters,
        "versions": saved.versions,
        "created": saved.created,
        "made_by": saved.note,
        "fingerprint": saved.fingerprint,
    }


def print_model(contents: ModelContents, path: Path) -> None:
    """Print facts on a model, and a table of its centers."""
    out, saved = console(), contents.saved
    title = f"{path}: {contents.class_name}, {plural(contents.n_clusters, 'cluster')}"
    out.print(title, style="bold", soft_wrap=True)
    reason, iterations, objective = contents.stopped_by, contents.iterations, contents.objective
    starts = contents.starts
    facts = {
        "J": None if objective is None else f"{objective:.6g}",
        "gap": None if contents.certificate is None else gap_text(contents.certificate),
        "starts": None if starts is None else f"{starts}; this is the best",
        "stopped": f"after {plural(iterations or 0, 'iteration')}: {reason}" if reason else None,
        "scaling": None if saved.scaling is None else saved.scaling.kind,
        "missing": None if saved.fill is None else "values of the fit are filled in",
        "steps": ", ".join(f"{step['name']} ({step['class']})" for step in _steps(saved) or ())
        or None,
        "made by": saved.note,
        "made at": saved.created,
        "partita": saved.versions.get("partita"),
        "data": saved.fingerprint,
    }
    for name, value in facts.items():
        if value is not None:
            text = f"{name}  {one_line(value, show_results.MAX_TEXT)}"
            paragraphs.print_item(out, text, 8 - len(name), hang=2 + len(name))
    for line in _plan_lines(saved.plan):
        paragraphs.print_item(out, one_sentence(line, show_results.MAX_TEXT), 10)
    if saved.group_names is not None:
        out.print()
        print_names(saved.group_names, out)
    out.print()
    _print_centers(contents, out)


def print_names(names: GroupNames, out: Console) -> None:
    """Print the groups with their names, a line for each."""
    width = len(str(len(names) - 1))
    for j, name in enumerate(names[:MAX_NAMES]):
        shown = "–" if name is None else isolated(name)
        paragraphs.print_item(out, f"group {j:>{width}}  {shown}", 0, hang=8 + width)
    rest = len(names) - MAX_NAMES
    if rest > 0:
        out.print(f"(and {plural(rest, 'more group')}: see inspect --json)", style="dim")


def _plan_lines(plan: dict[str, Any] | None) -> list[str]:
    """Return the lines of a plan as far as they are lines: the file may hold anything."""
    decisions = (plan or {}).get("decisions")
    decisions = decisions if isinstance(decisions, list) else []
    lines = [one.get("line") if isinstance(one, dict) else None for one in decisions]
    return [line for line in lines if isinstance(line, str)]


def _steps(saved: Any) -> list[dict[str, Any]] | None:
    """Return the steps of a pipeline before the model."""
    if saved.pipeline is None:
        return None
    return [
        {"name": name, "class": "passthrough"}
        if isinstance(step, str)
        else {"name": name, "class": type(step).__name__, "parameters": step.get_params()}
        for name, step in saved.pipeline.steps
    ]


def _named_centers(contents: ModelContents) -> tuple[list[str], Any]:
    """Return the features and the centers in the units of the data; directions have no units."""
    centers, saved, names = contents.centers, contents.saved, contents.feature_names
    if saved.pipeline is not None and centers is not None:
        if saved.pipeline.can_undo and not contents.are_directions:
            centers = saved.pipeline.undo(centers)
        else:
            names = saved.pipeline.names_out(names)
    elif saved.scaling is not None and centers is not None and not contents.are_directions:
        centers = saved.scaling.undo(centers)
    width = contents.n_features if centers is None else centers.shape[1]
    return list(names or (f"c{i}" for i in range(width))), centers


def _numbers_in_units(contents: ModelContents) -> Any:
    """Return the numbers (k, p) of centers with categories in the units of the data."""
    assert contents.mixed is not None
    scaling = contents.saved.scaling
    return contents.mixed.numbers if scaling is None else scaling.undo(contents.mixed.numbers)


def _mixed_json(contents: ModelContents) -> list[dict[str, Any]]:
    """Return the centers as records: numbers in the units of the data, and categories."""
    mixed, numbers = contents.mixed, _numbers_in_units(contents)
    assert mixed is not None
    return [
        {
            **dict(zip(mixed.number_names, numbers[j], strict=True)),
            **{name: texts[j] for name, texts in mixed.categories.items()},
        }
        for j in range(len(numbers))
    ]


def _mixed_rows(contents: ModelContents, shown: int) -> list[list[str]]:
    """Return a row for each column: numbers in the units of the data, then categories."""
    mixed, numbers = contents.mixed, _numbers_in_units(contents)
    assert mixed is not None
    rows = [
        [isolated(one_line(name, 30)), *map(format_number, column[:shown])]
        for name, column in zip(mixed.number_names, numbers.T, strict=True)
    ]
    rows += [
        [isolated(one_line(name, 30)), *(isolated(one_line(text, 16)) for text in texts[:shown])]
        for name, texts in mixed.categories.items()
    ]
    return rows[:MAX_FEATURES]


def _print_centers(contents: ModelContents, out: Console) -> None:
    """Print a table of the centers: a row for each feature, a column for each cluster."""
    (names, centers), weights = _named_centers(contents), contents.weights
    reference, k = contents.saved.reference, contents.n_clusters
    shown = min(k, MAX_CLUSTERS)
    rows = [["direction" if contents.are_directions else "center", *map(str, range(shown))]]
    if weights is not None:
        rows.append(["(weight)", *map(format_number, weights[:shown])])
    if reference is not None:
        rows.append(["(reach)", *map(format_number, reference.reach[:shown])])
    rest = [plural(k - shown, "more cluster")] if k > shown else []
    if contents.mixed is not None:
        rows += _mixed_rows(contents, shown)
    elif centers is not None:
        for name, column in zip(names[:MAX_FEATURES], centers.T, strict=False):
            rows.append([isolated(one_line(name, 30)), *map(format_number, column[:shown])])
        more = len(names) - MAX_FEATURES
        rest += [plural(more, "more feature")] if more > 0 else []
    print_table(out, list(zip(*rows, strict=True)), left=1, rule=True)
    if rest:
        out.print(f"({' and '.join(rest)}: see --json)", style="dim")
