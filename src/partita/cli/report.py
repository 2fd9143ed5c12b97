"""`partita report`: a page about a model that was saved, and the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from partita.cli import options as o
from partita.cli.error_handling import check_outputs, command_line, guarded, heard_warnings
from partita.cli.requests import Reading


@guarded
def report(
    ctx: typer.Context,
    data: o.Data,
    model: o.ModelFrom,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="OUT.html", help="Where to write it.", show_default=False
        ),
    ],
    id: o.Id = None,
    weight: o.Weight = None,
    missing: o.MissingAsFitted = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    debug: o.Debug = False,
) -> None:
    """Write a report on a model and the rows of a file: one page that opens from a mail.

    [bold]Examples[/bold]

      partita report wine.csv --model wine.partita --out wine.html
    """
    check_outputs(report=out, data=data, used=(model,), force=force)
    from partita.cli import show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.predict import apply
    from partita.cli.progress_bar import Watch

    workflow.require_report()
    outputs = Outputs(report=out, force=force)
    reading = Reading(data, delimiter, encoding, header)
    with heard_warnings() as warned, Watch(quiet).doing("looking at the clusters"):
        how = None if missing is None else missing.value
        fitted, prepared = apply(model, reading, id, how, weight)
        found = workflow.Found(prepared, fitted, None, fitted.predict(prepared.X), 0.0, False)
        made = fitted.saved_.note
        remarks = [f"the model was made by `{made}`"] if made else []
        remarks += _weights(fitted, weight)
        seed = fitted.get_params().get("random_state")
        record = workflow.fitted_record(
            found, command_line(ctx), seed, timed=False, remarks=remarks
        )
        outputs.write_report(record)
    if not quiet:
        show_results.notes(
            [*show_results.said_of_data(prepared), *_weights(fitted, weight), *warned]
        )
        show_results.saved(outputs.saved)


def _weights(fitted: Any, weight: str | None) -> list[str]:
    """A model that was fitted with weights says little about rows without them."""
    stats, labels = getattr(fitted, "stats_", None), getattr(fitted, "labels_", None)
    if weight is not None or stats is None or labels is None:
        return []
    if abs(stats.weight.sum() - (labels >= 0).sum()) <= 1e-9 * len(labels):
        return []
    return ["the model was fitted with weights, and this page is without them: give --weight NAME"]
