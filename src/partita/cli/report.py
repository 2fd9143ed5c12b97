"""`partita report`: a report on a saved model and the rows of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli import options as opt
from partita.cli.console import console
from partita.cli.error_handling import collect_warnings, typed_command


def report(
    ctx: typer.Context,
    *,
    model: opt.ModelIn,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.html", help="The file to write.")
    ],
    id: opt.Id = None,
    weight: opt.Weight = None,
    missing: opt.MissingAsFitted = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    read: opt.ReadOptions,
) -> None:
    """Write a report on a saved model and a file, as one HTML page.

    Rows other than those of the fit are compared with them.

    \b
    [bold]Examples[/bold]
      partita report wine.csv --model wine.partita --out wine.html
    """
    from partita.cli import prepared_data, show_comparison, show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.progress_bar import ProgressReporter

    outputs = Outputs(report=out, force=force)
    outputs.check(read.data, inputs=(model,))
    status = ProgressReporter(quiet).show_status("describing the clusters")
    with collect_warnings() as warnings, status:
        fitted, prepared = prepared_data.prepare_for_model(model, read, id, missing, weight)
        outcome = workflow.FitOutcome(
            prepared=prepared,
            model=fitted,
            labels=fitted.predict(prepared.X),
            seed=fitted.get_params().get("random_state"),
            command=typed_command(ctx),
        )
        remarks, note = _weight_remarks(fitted, weight), fitted.saved_.note
        made_by = [f"the model was made by `{note}`"] if note else []
        record = workflow.report_input(outcome, [*made_by, *remarks])
        comparison = None
        if record.fingerprint != fitted.saved_.fingerprint:  # these are other rows
            comparison = show_comparison.compare(fitted, prepared, outcome.labels)[1]
        outputs.write_report(replace(record, comparison=comparison))
    if not quiet:
        out_console = console()
        show_results.print_preparation(prepared)
        show_results.print_notes([*remarks, *warnings])
        if comparison is not None:
            show_comparison.print_comparison(comparison, prepared, out_console)
        show_results.print_saved_files(outputs.saved, out_console)
    outputs.raise_errors()


def _weight_remarks(fitted: Any, weight: str | None) -> list[str]:
    """Return a remark if the model was fitted with weights that the report does not use."""
    stats, labels = getattr(fitted, "stats_", None), getattr(fitted, "labels_", None)
    if weight is not None or stats is None or labels is None:
        return []
    if abs(stats.weight.sum() - (labels >= 0).sum()) <= 1e-9 * len(labels):
        return []
    return ["the model was fitted with weights, but the report does not use them; add --weight"]
