"""`partita demo`: from a table to a report, with the wine data of scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from partita.cli import options as opt
from partita.cli.error_handling import handle_errors
from partita.cli.output_checks import check_outputs
from partita.cli.requests import ColumnRequest, KRequest, MethodRequest, ReadRequest


@handle_errors
def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the files; created if needed.")
    ] = Path("partita-demo"),
    force: opt.Force = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster 178 Italian wines by their chemistry, and write a report.

    The wines come from three growers; the clustering does not use that.

    \b
    [bold]Examples[/bold]
      partita demo
      partita demo somewhere --force
    """
    from partita.cli import workflow
    from partita.cli.fit import FitJob, run
    from partita.cli.outputs import Outputs

    workflow.require_report_package()
    folder.mkdir(parents=True, exist_ok=True)
    names = ("wine.csv", "wine-clusters.csv", "wine.partita", "wine.html")
    data, labels, model, report = (folder / name for name in names)
    check_outputs(str(labels), model, report, others=(data,), force=force)
    _write_wine(data, force)
    lines = [["partita", "fit", str(data), "-k", "2:8", "--scale", "standard", "--id", "wine"]]
    lines += [["--labels", str(labels)], ["--model", str(model)], ["--report", str(report)]]
    typer.echo("$ " + " \\\n    ".join(shlex.join(words) for words in lines) + "\n")
    job = FitJob(
        ReadRequest([str(data)]),
        ColumnRequest(id="wine", scale="standard"),
        KRequest(candidates=range(2, 9)),
        MethodRequest(),
        Outputs(str(labels), model, report, force=force),
        shlex.join(word for words in lines for word in words),
    )
    run(job)
    typer.echo(f"\nOpen the report in a browser: {report.resolve()}")


def _write_wine(path: Path, force: bool) -> None:
    from sklearn.datasets import load_wine

    from partita.tables import write_table
    from partita.tables.table import arrow

    wine = load_wine()
    columns = {"wine": [f"wine {i + 1}" for i in range(len(wine.data))]}
    columns |= {name: wine.data[:, t].tolist() for t, name in enumerate(wine.feature_names)}
    write_table(arrow().table(columns), path, force=force)
