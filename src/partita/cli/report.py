"""`partita report`: a page about a model that was saved, and the rows of a file."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from partita.cli import options as o
from partita.cli.asking import Reading
from partita.cli.running import check_outputs, guarded, heard_warnings


@guarded
def report(
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
    check_outputs(report=out, force=force)
    from partita.cli import show, work
    from partita.cli.outputs import Outputs
    from partita.cli.predict import apply
    from partita.cli.watching import Watch

    work.require_report()
    outputs = Outputs(report=out, force=force)
    reading = Reading(data, delimiter, encoding, header)
    with heard_warnings() as warned, Watch(quiet).doing("looking at the clusters"):
        how = None if missing is None else missing.value
        fitted, prepared = apply(model, reading, id, how, weight)
        found = work.Found(prepared, fitted, None, fitted.predict(prepared.X), 0.0, False)
        made = fitted.saved_.note or f"partita report {shlex.join(data)} --model {model}"
        seed = fitted.get_params().get("random_state")
        record = work.fitted_record(found, str(made), seed, timed=False)
        outputs.write_report(record)
    if not quiet:
        show.notes([*show.said_of_data(prepared), *warned])
        show.saved(outputs.saved)
