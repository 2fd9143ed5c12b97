"""`partita inspect`: the content of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partita._common.text import format_number, one_line, plural
from partita.cli import options as opt
from partita.cli.error_handling import handle_errors

MAX_CLUSTERS = 8  # columns of the table
MAX_FEATURES = 30  # rows of the table


@handle_errors
def inspect(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A model file written by fit.", show_default=False),
    ],
    json: opt.Json = False,
    debug: opt.Debug = False,
) -> None:
    """Show a model: its clusters, its features, and how it was made.

    \b
    [bold]Examples[/bold]
      partita inspect wine.partita
      partita inspect wine.partita --json
    """
    from partita import model_file
    from partita.cli import show_results

    fitted = model_file.read_model(model)
    if json:
        show_results.print_json(_json_object(fitted, str(model)))
    else:
        _print_model(fitted, str(model))


def _centers(fitted: Any) -> Any:
    """Return the centers in the units of the data, if they have coordinates."""
    centers: Any = getattr(fitted, "cluster_centers_", None)
    centers = centers.toarray() if hasattr(centers, "toarray") else centers
    scaling = fitted.saved_.scaling
    if centers is None or scaling is None or _has_directions(fitted):
        return centers
    return scaling.undo(centers)


def _has_directions(fitted: Any) -> bool:
    """Return whether centers are unit vectors, which have no units."""
    from partita.estimators.fitted_models import capabilities_of
    from partita.geometry import SPHERICAL

    return capabilities_of(fitted).geometry is SPHERICAL


def _feature_names(fitted: Any) -> list[str]:
    names = fitted.saved_.names or getattr(fitted, "feature_names_in_", None)
    if names is None:
        names = [f"c{i}" for i in range(fitted.n_features_in_)]
    return [str(name) for name in names]


def _weights(fitted: Any) -> Any:
    import numpy as np

    stats = getattr(fitted, "stats_", None)
    if stats is not None:
        return stats.weight
    labels = getattr(fitted, "labels_", None)
    return None if labels is None else np.bincount(labels[labels >= 0], minlength=_count(fitted))


def _count(fitted: Any) -> int:
    from partita.estimators.fitted_models import count_clusters

    return count_clusters(fitted)


def _json_object(fitted: Any, path: str) -> dict[str, Any]:
    import partita

    saved = fitted.saved_
    scaling = saved.scaling
    return {
        "command": "inspect",
        "partita": partita.__version__,
        "file": path,
        "method": type(fitted).__name__,
        "n_clusters": _count(fitted),
        "features": _feature_names(fitted),
        "weights": _weights(fitted),
        "centers": _centers(fitted),
        "objective": getattr(fitted, "inertia_", None),
        "iterations": getattr(fitted, "n_iter_", None),
        "stopped_by": getattr(fitted, "stopped_by_", None),
        "scaling": None
        if scaling is None
        else {"kind": scaling.kind, "center": scaling.center, "scale": scaling.scale},
        "fill": saved.fill,
        "parameters": saved.parameters,
        "versions": saved.versions,
        "created": saved.created,
        "made_by": saved.note,
        "fingerprint": saved.fingerprint,
    }


def _print_model(fitted: Any, path: str) -> None:
    from partita.cli import show_results

    out, saved, k = show_results.console(), fitted.saved_, _count(fitted)
    title = f"{path}: {type(fitted).__name__}, {plural(k, 'cluster')}"
    out.print(title, style="bold", soft_wrap=True)
    facts = {
        "J": f"{fitted.inertia_:.6g}" if hasattr(fitted, "inertia_") else None,
        "stopped": _stop_text(fitted),
        "scaling": None if saved.scaling is None else saved.scaling.kind,
        "missing": "filled in with means" if saved.fill is not None else None,
        "made by": saved.note,
        "made at": saved.created,
        "partita": (saved.versions or {}).get("partita"),
        "data": saved.fingerprint,
    }
    for name, value in facts.items():
        if value is not None:
            text = f"{name}  {one_line(value, show_results.MAX_TEXT)}"
            show_results.print_item(out, text, 8 - len(name), hang=2 + len(name))
    out.print()
    out.print(_center_table(fitted, k))


def _stop_text(fitted: Any) -> str | None:
    if not getattr(fitted, "stopped_by_", None):
        return None
    return f"after {plural(fitted.n_iter_, 'iteration')}: {fitted.stopped_by_}"


def _center_table(fitted: Any, k: int) -> Any:
    """Return a table of the centers: a row for each feature, a column for each cluster."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    names, centers, weights = _feature_names(fitted), _centers(fitted), _weights(fitted)
    shown = min(k, MAX_CLUSTERS)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("direction" if _has_directions(fitted) else "center", overflow="fold")
    for j in range(shown):
        table.add_column(f"{j}", justify="right", no_wrap=True)
    if weights is not None:
        table.add_row("(weight)", *(format_number(weight) for weight in weights[:shown]))
    if centers is not None:
        for t, name in list(enumerate(names))[:MAX_FEATURES]:
            cells = (format_number(centers[j][t]) for j in range(shown))
            table.add_row(Text(one_line(name, 30)), *cells)
    rest = [f"{k - shown} more clusters"] if k > shown else []
    more = len(names) - MAX_FEATURES if centers is not None else 0
    rest += [f"{more} more features"] if more > 0 else []
    table.caption = f"{' and '.join(rest)}: see --json" if rest else None
    return table
