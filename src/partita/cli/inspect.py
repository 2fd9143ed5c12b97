"""`partita inspect`: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli import options as o
from partita.cli.error_handling import guarded

_MOST = 8  # clusters side by side
_FEATURES = 30


@guarded
def inspect(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="The file that fit wrote.", show_default=False)
    ],
    json: o.Json = False,
    debug: o.Debug = False,
) -> None:
    """Say what a model is: its clusters, its features, and how it was made.

    [bold]Examples[/bold]

      partita inspect wine.partita

      partita inspect wine.partita --json
    """
    from partita import model_file
    from partita.cli import show_results

    fitted = model_file.read_model(model)
    if json:
        show_results.as_json(_object(fitted, str(model)))
    else:
        _show(fitted, str(model))


def _centers(fitted: Any) -> Any:
    """The centers in the units of the data, if they have coordinates."""
    centers: Any = getattr(fitted, "cluster_centers_", None)
    centers = centers.toarray() if hasattr(centers, "toarray") else centers
    scaling = fitted.saved_.scaling
    if centers is None or scaling is None or _are_directions(fitted):
        return centers
    return scaling.undo(centers)


def _are_directions(fitted: Any) -> bool:
    """Whether centers have length 1, and no units."""
    return type(fitted).__name__ == "SphericalKMeans"


def _names(fitted: Any) -> list[str]:
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


def _object(fitted: Any, path: str) -> dict[str, Any]:
    import partita

    saved = fitted.saved_
    scaling = saved.scaling
    return {
        "command": "inspect",
        "partita": partita.__version__,
        "file": path,
        "method": type(fitted).__name__,
        "n_clusters": _count(fitted),
        "features": _names(fitted),
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


def _show(fitted: Any, path: str) -> None:
    from partita.cli import show_results

    out, saved, k = show_results.console(), fitted.saved_, _count(fitted)
    title = f"{path}: {type(fitted).__name__}, {k} cluster{'s' * (k != 1)}"
    out.print(title, style="bold", soft_wrap=True)
    lines = {
        "J": f"{fitted.inertia_:.6g}" if hasattr(fitted, "inertia_") else None,
        "stopped": _stopped(fitted),
        "scaled": None if saved.scaling is None else saved.scaling.kind,
        "missing": "means are filled in" if saved.fill is not None else None,
        "made by": saved.note,
        "made at": saved.created,
        "partita": (saved.versions or {}).get("partita"),
        "data": saved.fingerprint,
    }
    for name, value in lines.items():
        if value is not None:
            text = f"{name:>8}  {show_results.clean(value, 500)}".lstrip()
            show_results.item(out, text, 8 - len(name), hang=2 + len(name))
    out.print()
    out.print(_table(fitted, k))


def _stopped(fitted: Any) -> str | None:
    if not getattr(fitted, "stopped_by_", None):
        return None
    times = fitted.n_iter_
    return f"after {times} iteration{'s' * (times != 1)}: {fitted.stopped_by_}"


def _table(fitted: Any, k: int) -> Any:
    """Features down, clusters across: the centers in the units of the data."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from partita.cli import show_results

    names, centers, weights = _names(fitted), _centers(fitted), _weights(fitted)
    shown = min(k, _MOST)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("direction" if _are_directions(fitted) else "center", overflow="fold")
    for j in range(shown):
        table.add_column(f"{j}", justify="right", no_wrap=True)
    if weights is not None:
        table.add_row("(weight)", *(show_results.figure(w) for w in weights[:shown]))
    if centers is not None:
        for t, name in list(enumerate(names))[:_FEATURES]:
            cells = (show_results.figure(centers[j][t]) for j in range(shown))
            table.add_row(Text(show_results.clean(name, 30)), *cells)
    rest = [f"{k - shown} more clusters"] if k > shown else []
    more = len(names) - _FEATURES if centers is not None else 0
    rest += [f"{more} more features"] if more > 0 else []
    table.caption = f"{' and '.join(rest)}: --json shows them" if rest else None
    return table
