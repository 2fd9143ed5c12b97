"""Provenance of a fit: everything needed to repeat it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from partita._common.number_text import count_text, number_text
from partita._common.parameters import describe_value
from partita.report.page_text import safe_line
from partita.report.quality import FitQuality
from partita.report.report_input import Fitted, ReportInput
from partita.report.summary import Summary
from partita.tables.preparation_plan import Plan, kind_of_reason

_MAX_NAMES = 40  # of features
_MAX_COMMAND_LENGTH = 4000


def provenance_of(
    data: ReportInput, summary: Summary, quality: FitQuality
) -> list[tuple[str, str]]:
    """Return names and values of what is known about the making of a fit."""
    fitted = data.fitted
    installed = {name: v for name, v in (fitted.versions or {}).items() if v != "not installed"}
    versions = [f"{name} {version}" for name, version in installed.items()]
    counts = ((summary.filled, "filled in"), (summary.left_missing, "left out"))
    missing = "; ".join(f"{number_text(count)}, {done}" for count, done in counts if count)
    facts = [
        ("Command", _line(fitted.command, _MAX_COMMAND_LENGTH)),
        ("Source", _line(fitted.source, 300)),
        ("Data fingerprint", _line(fitted.fingerprint, 120)),
        ("Rows", _rows(summary)),
        ("Features", _features(data)),
        ("Missing values", missing),
        ("Scaling", summary.scale),
        ("Preparation", "; ".join(_line(text, 300) for text in told_plan(fitted))),
        ("Weights", _weights(data)),
        ("Model", safe_line(_model(data.model, data.fitted.no_rows), 600)),
        ("Left out", _line(summary.left_out.removeprefix("left out: "), 200)),
        *((name, safe_line(text, 600)) for name, text in summary.facts),
        ("Start", _start(data)),
        ("Objective", _objective(quality)),
        ("Certificate", "" if summary.certified is None else safe_line(summary.certified, 600)),
        ("Seed", _seed_text(fitted.seed)),
        ("Time", "" if fitted.seconds is None else f"{fitted.seconds:.3g} seconds"),
        ("Created", _line(fitted.created)),
        ("Versions", _line(", ".join(versions), 800)),
    ]
    return [(name, value) for name, value in facts if value]


def told_plan(fitted: Fitted) -> Sequence[str]:
    """Return the lines of the plan; without single rows, those that tell nothing of them."""
    if isinstance(fitted.plan, Plan):
        return fitted.plan.lines_without_rows if fitted.no_rows else fitted.plan.lines
    return () if fitted.no_rows else fitted.plan


def told_reasons(fitted: Fitted) -> list[tuple[str, str]]:
    """Return columns that were left out, and why; without single rows, no cell of them."""
    columns = (fitted.left_out or {}).items()
    return [(name, kind_of_reason(why) if fitted.no_rows else why) for name, why in columns]


def _line(text: str, max_length: int = 48) -> str:
    return safe_line(text, max_length) if text else ""


def _rows(summary: Summary) -> str:
    rows = count_text(summary.rows, "row")
    if summary.rows_total > summary.rows:
        rows += f" of {number_text(summary.rows_total)}; the others have too few values"
    if summary.rows_described < summary.rows:
        rows += f"; a sample of {number_text(summary.rows_described)} describes the groups"
    return rows


def _weights(data: ReportInput) -> str:
    if data.fitted.weight is None:
        return "none"
    weightless = int((data.weight == 0).sum())
    rest = f"; {count_text(weightless, 'row')} of weight 0" if weightless else ""
    return f"{number_text(float(data.weight.sum()))} in total{rest}"


def _start(data: ReportInput) -> str:
    if not data.started_in_sweep:
        return ""
    again = "the command does both" if data.fitted.command else "Sweep.model repeats this fit"
    return f"from clusters of the sweep over numbers of clusters; {again}"


def _objective(quality: FitQuality) -> str:
    if quality.of_fit or quality.fit_objective is None:
        return ""
    here, fit = number_text(quality.objective), number_text(quality.fit_objective)
    return f"J = {here} of these rows; J = {fit} of the rows of the fit"


def _features(data: ReportInput) -> str:
    if data.is_matrix:
        return "none: the model was fitted to a matrix"
    more = len(data.names) - _MAX_NAMES
    text = ", ".join(data.names[:_MAX_NAMES])
    text += f" and {number_text(more)} more" if more > 0 else ""
    used = [(name, data.categories[name]) for name in data.used_categories[:_MAX_NAMES]]
    counts = ", ".join(f"{safe_line(name)} ({len(column.values)})" for name, column in used)
    return "; categories: ".join(filter(None, [text, counts]))


def _model(model: Any, no_rows: bool) -> str:
    """The estimator with its parameters, as code; without arrays, which may hold rows."""
    try:
        if no_rows:
            model = clone(model).set_params(**_without_arrays(model.get_params()))
        return " ".join(repr(model).split())
    except Exception:  # the repr of a parameter must not break the report
        return type(model).__name__


def _without_arrays(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that hold arrays or lists, with a word in their place."""
    large = {name: value for name, value in parameters.items() if np.ndim(value) > 0}
    return {name: f"<shape {np.shape(value)}>" for name, value in large.items()}


def _seed_text(seed: Any) -> str:
    if seed is None:
        return ""
    return safe_line(seed if isinstance(seed, str) else describe_value(seed))
