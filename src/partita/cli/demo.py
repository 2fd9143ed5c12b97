"""`partita demo`: from a table to a report, on wines that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from partita.cli import options as o
from partita.cli.error_handling import check_outputs, guarded
from partita.cli.requests import Choice, Clusters, Reading, Way


@guarded
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where to put the files; it is made.")
    ] = Path("partita-demo"),
    force: o.Force = False,
    debug: o.Debug = False,
) -> None:
    """Group 178 Italian wines by their chemistry, and write a report to look at.

    The wines come from three growers, which the clustering is not told.

    [bold]Examples[/bold]

      partita demo

      partita demo somewhere --force
    """
    from partita.cli import workflow
    from partita.cli.fit import Job, run
    from partita.cli.outputs import Outputs

    workflow.require_report()
    folder.mkdir(parents=True, exist_ok=True)
    names = ("wine.csv", "wine-clusters.csv", "wine.partita", "wine.html")
    data, labels, model, report = (folder / name for name in names)
    check_outputs(str(labels), model, report, others=(data,), force=force)
    _write_wine(data, force)
    lines = [["partita", "fit", str(data), "-k", "2:8", "--scale", "standard", "--id", "wine"]]
    lines += [["--labels", str(labels)], ["--model", str(model)], ["--report", str(report)]]
    typer.echo("$ " + " \\\n    ".join(shlex.join(words) for words in lines) + "\n")
    job = Job(
        Reading([str(data)]),
        Choice(id="wine", scale="standard"),
        Clusters(ks=range(2, 9)),
        Way(),
        Outputs(str(labels), model, report, force=force),
        shlex.join(word for words in lines for word in words),
    )
    run(job)
    typer.echo(f"\nThe report is in {report.resolve()}: open it in a browser.")


def _write_wine(path: Path, force: bool) -> None:
    from sklearn.datasets import load_wine

    from partita.tables import write_table
    from partita.tables.table import arrow

    wine = load_wine()
    columns = {"wine": [f"wine {i + 1}" for i in range(len(wine.data))]}
    columns |= {name: wine.data[:, t].tolist() for t, name in enumerate(wine.feature_names)}
    write_table(arrow().table(columns), path, force=force)
