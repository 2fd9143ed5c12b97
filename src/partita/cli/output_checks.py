"""Checks of output paths, made before the work so that it is not lost."""

from __future__ import annotations

import os
import stat
from typing import Any

import typer


def check_outputs(
    labels: Any = None,
    model: Any = None,
    report: Any = None,
    *,
    others: Any = (),
    data: Any = (),
    inputs: Any = (),
    force: bool,
) -> None:
    """Raise if an output cannot be written.

    Labels may replace the data, since they are a copy of it. No output may replace `inputs`.
    """
    outputs = [path for path in (labels, model, report, *others) if path is not None]
    for option, path in (("--model", model), ("the report", report)):
        if path is not None and os.fspath(path) == "-":
            raise typer.BadParameter(f"{option} must be a file; only --labels can be '-'.")
    if report is not None and not os.fspath(report).lower().endswith((".html", ".htm")):
        raise typer.BadParameter(f"the name of the report must end in .html, got {report}.")
    if labels is not None and labels != "-":
        _check_suffix(labels)
    if "" in map(os.fspath, outputs):
        raise typer.BadParameter("the name of an output is empty.")
    protected = {os.path.realpath(path) for path in inputs}
    copied = {os.path.realpath(path) for path in data}
    for path in outputs:
        if os.path.realpath(path) in (protected if path is labels else protected | copied):
            raise typer.BadParameter(f"{path} is an input of this command. Choose another name.")
    files = [path for path in map(os.fspath, outputs) if path != "-" and not _is_device(path)]
    real = [os.path.realpath(path) for path in files]
    for path in files:
        if real.count(os.path.realpath(path)) > 1:
            raise typer.BadParameter(f"{path} is the name of two outputs. Choose another name.")
    for path in files:
        _check_writable(path, force)


def _check_suffix(labels: str) -> None:
    from partita.tables.compression import without_compression_suffix
    from partita.tables.file_formats import FORMAT_OF_SUFFIX

    suffix = without_compression_suffix(labels).suffix.lower()
    if suffix and suffix not in FORMAT_OF_SUFFIX:
        raise typer.BadParameter(
            f"the suffix of --labels must be one of {', '.join(FORMAT_OF_SUFFIX)}, got {labels}."
        )


def _check_writable(path: str, force: bool) -> None:
    from partita.tables import check_new

    check_new(path, force=force)
    folder = os.path.dirname(os.path.realpath(path))
    if not os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(f"{path} cannot be written: no permission for the folder {folder}")


def _is_device(path: str) -> bool:
    """Return whether the path is a pipe, a terminal or the like: written to, not replaced."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
