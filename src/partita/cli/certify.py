"""`partita certify`: a bound of how far a clustering is from the best possible one."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita._common.text import plural
from partita.cli import certificate_options as limits
from partita.cli import options as opt
from partita.cli.console import console
from partita.cli.error_handling import Interrupted, collect_warnings

if TYPE_CHECKING:
    from partita.cli.prepared_data import PreparedData

LABELS_AS_MODEL = "a model prepares the rows as its fit did"


def certify(
    *,
    model: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="Model written by fit.")
    ] = None,
    labels_column: limits.LabelsColumn = None,
    columns: opt.ColumnOptions,
    time_limit: limits.TimeLimit = limits.DEFAULT_TIME_LIMIT,
    level: limits.Level = 0.95,
    seed: limits.Seed = 0,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    read: opt.ReadAndNameOptions,
) -> None:
    """Bound how far a clustering is from the best possible one.

    The clustering is that of a model, or of a column with the labels of any program. Ctrl-C ends
    the search for bounds; the best so far is printed.

    \b
    [bold]Examples[/bold]
      partita certify wine.csv --model wine.partita --time-limit 2
      partita certify out.csv --labels-column cluster --time-limit 2
      partita certify out.csv --labels-column cluster --raw --time-limit 2 --json
    """
    if (model is None) == (labels_column is None):
        raise typer.BadParameter("give either --model MODEL or --labels-column COLUMN.")
    from partita.cli import show_certificate, show_results
    from partita.cli.certification_run import (
        CertificationRequest,
        certify_column,
        certify_model,
    )
    from partita.cli.progress_reporter import ProgressReporter

    reporter = ProgressReporter(quiet or json)
    with collect_warnings() as warnings:
        with reporter.show_status("reading"):
            clustering, prepared, left = (
                _by_column(str(labels_column), read, columns)
                if model is None
                else _by_model(model, read, columns)
            )
        if not (quiet or json):
            show_results.print_preparation(prepared)
            show_results.print_notes(left)
        request = CertificationRequest(time_limit, level, seed)
        if model is None:
            certificate = certify_column(clustering, prepared, request, reporter)
        else:
            X, weight = prepared.X, prepared.selection.weight
            certificate = certify_model(clustering, X, weight, request, reporter)
    if json:
        show_results.print_json(
            command="certify",
            data=show_results.data_json(prepared),
            model=None if model is None else str(model),
            labels_column=labels_column,
            certificate=certificate.to_dict(),
            interrupted=reporter.interrupted,
            warnings=[*left, *warnings],
        )
    else:
        show_results.print_notes(warnings)
        show_certificate.print_certificate(certificate, console())
    if reporter.interrupted:
        raise Interrupted("this is the best bound that was found until then")


def _by_model(
    model: Path, read: opt.ReadOptions, columns: opt.ColumnOptions
) -> tuple[Any, PreparedData, list[str]]:
    """Return a function that certifies the model, and the rows as its fit prepared them."""
    from partita.cli.repeated_preparation import prepare_for_model

    own = {"id", "weight", "missing"}
    for field in fields(columns):
        if field.name not in own and getattr(columns, field.name) not in (None, False):
            option = f"--{field.name}"
            raise typer.BadParameter(f"{option} needs --labels-column: {LABELS_AS_MODEL}.")
    fitted, prepared = prepare_for_model(model, read, columns.id, columns.missing, columns.weight)
    return fitted, prepared, []


def _by_column(
    name: str, read: opt.ReadOptions, columns: opt.ColumnOptions
) -> tuple[Any, PreparedData, list[str]]:
    """Return the labels of the rows in a column, the prepared rows, and remarks.

    Rows without a label, or with −1, the mark of rows without a cluster, get None.
    """
    from partita.cli import prepared_data
    from partita.tables.arrow_files import plain_values

    columns = replace(columns, exclude=[*(columns.exclude or ()), name])
    prepared = prepared_data.prepare(prepared_data.read(read), columns)
    cells = plain_values(prepared.cells(name)).to_pylist()
    kept = [cells[i] for i in prepared.selection.kept.tolist()]
    labels = [None if _is_no_cluster(cell) else cell for cell in kept]
    missing = labels.count(None)
    remark = f"{plural(missing, 'row')} without a cluster (no label, or -1): left out"
    return labels, prepared, [remark] if missing else []


def _is_no_cluster(cell: Any) -> bool:
    return cell is None or str(cell).strip() in ("", "-1", "-1.0", "nan")
