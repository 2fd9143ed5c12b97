"""`partita report`: a report on a saved model and the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli import options as opt
from partita.cli.error_handling import collect_warnings, handle_errors, typed_command
from partita.cli.output_checks import check_outputs
from partita.cli.requests import ReadRequest


@handle_errors
def report(
    ctx: typer.Context,
    data: opt.Data,
    model: opt.ModelIn,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="OUT.html", help="The file to write.", show_default=False
        ),
    ],
    id: opt.Id = None,
    weight: opt.Weight = None,
    missing: opt.MissingAsFitted = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    header: opt.Header = None,
    debug: opt.Debug = False,
) -> None:
    """Write a report on a saved model and a file, as one HTML page.

    \b
    [bold]Examples[/bold]
      partita report wine.csv --model wine.partita --out wine.html
    """
    check_outputs(report=out, data=data, inputs=(model,), force=force)
    from partita.cli import show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.predict import prepare_for_model
    from partita.cli.progress_bar import ProgressReporter

    workflow.require_report_package()
    outputs = Outputs(report=out, force=force)
    request = ReadRequest(data, delimiter, encoding, header)
    status = ProgressReporter(quiet).show_status("describing the clusters")
    with collect_warnings() as warnings, status:
        policy = None if missing is None else missing.value
        fitted, prepared = prepare_for_model(model, request, id, policy, weight)
        labels = fitted.predict(prepared.X)
        outcome = workflow.FitOutcome(prepared, fitted, None, labels, 0.0, False)
        remarks = _weight_remarks(fitted, weight)
        note = fitted.saved_.note
        made_by = [f"the model was made by `{note}`"] if note else []
        seed = fitted.get_params().get("random_state")
        command = typed_command(ctx)
        outputs.write_report(
            workflow.report_input(outcome, command, seed, timed=False, remarks=[*made_by, *remarks])
        )
    if not quiet:
        show_results.print_notes([*show_results.data_notes(prepared), *remarks, *warnings])
        show_results.print_saved_files(outputs.saved)


def _weight_remarks(fitted: Any, weight: str | None) -> list[str]:
    """Return a remark if the model was fitted with weights that the report does not use."""
    stats, labels = getattr(fitted, "stats_", None), getattr(fitted, "labels_", None)
    if weight is not None or stats is None or labels is None:
        return []
    if abs(stats.weight.sum() - (labels >= 0).sum()) <= 1e-9 * len(labels):
        return []
    return ["the model was fitted with weights, but the report does not use them; add --weight"]
