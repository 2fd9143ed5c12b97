"""The content of a model file, as text and as a dictionary."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from partita._common.text import format_number, one_line, plural
from partita.chart_layout.model_rows import centers_of, is_spherical
from partita.cli import show_results
from partita.cli.console import console
from partita.estimators.fitted_models import count_clusters

MAX_CLUSTERS = 8  # columns of the table
MAX_FEATURES = 30  # rows of the table


def to_dict(fitted: Any) -> dict[str, Any]:
    """Return the content of a model."""
    saved, scaling = fitted.saved_, fitted.saved_.scaling
    return {
        "method": type(fitted).__name__,
        "n_clusters": count_clusters(fitted),
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


def print_model(fitted: Any, path: Path) -> None:
    """Print facts on a model, and a table of its centers."""
    out, saved, k = console(), fitted.saved_, count_clusters(fitted)
    title = f"{path}: {type(fitted).__name__}, {plural(k, 'cluster')}"
    out.print(title, style="bold", soft_wrap=True)
    reason = getattr(fitted, "stopped_by_", None)
    facts = {
        "J": f"{fitted.inertia_:.6g}" if hasattr(fitted, "inertia_") else None,
        "stopped": f"after {plural(fitted.n_iter_, 'iteration')}: {reason}" if reason else None,
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


def _centers(fitted: Any) -> Any:
    """Return the centers in the units of the data; directions have no units."""
    centers, scaling = centers_of(fitted), fitted.saved_.scaling
    if centers is None or scaling is None or is_spherical(fitted):
        return centers
    return scaling.undo(centers)


def _feature_names(fitted: Any) -> list[str]:
    names = fitted.saved_.names or getattr(fitted, "feature_names_in_", None)
    if names is None:
        names = [f"c{i}" for i in range(fitted.n_features_in_)]
    return [str(name) for name in names]


def _weights(fitted: Any) -> Any:
    if (stats := getattr(fitted, "stats_", None)) is not None:
        return stats.weight
    if (labels := getattr(fitted, "labels_", None)) is not None:
        return np.bincount(labels[labels >= 0], minlength=count_clusters(fitted))
    return None


def _center_table(fitted: Any, k: int) -> Table:
    """Return a table of the centers: a row for each feature, a column for each cluster."""
    names, centers, weights = _feature_names(fitted), _centers(fitted), _weights(fitted)
    shown = min(k, MAX_CLUSTERS)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("direction" if is_spherical(fitted) else "center", overflow="fold")
    for j in range(shown):
        table.add_column(f"{j}", justify="right", no_wrap=True)
    if weights is not None:
        table.add_row("(weight)", *(format_number(weight) for weight in weights[:shown]))
    rest = [f"{k - shown} more clusters"] if k > shown else []
    if centers is not None:
        for name, column in zip(names[:MAX_FEATURES], centers.T, strict=False):
            table.add_row(Text(one_line(name, 30)), *map(format_number, column[:shown]))
        more = len(names) - MAX_FEATURES
        rest += [f"{more} more features"] if more > 0 else []
    table.caption = f"{' and '.join(rest)}: see --json" if rest else None
    return table
