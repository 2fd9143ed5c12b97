"""`partita demo`: from a table to a report, with the wine data of scikit-learn."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from partita._common.errors import ExistingFileError, Setting
from partita.cli import options as opt


def demo(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder for the files; created if needed.")
    ] = Path("partita-demo"),
    force: opt.Force = False,
) -> None:
    """Cluster 178 Italian wines by their chemistry, and write a report.

    The wines come from three growers; the clustering does not use that.

    \b
    [bold]Examples[/bold]
      partita demo
      partita demo somewhere --force
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ExistingFileError(f"{folder} is not a folder. Choose another name.") from None
    except OSError as error:
        raise OSError(error.errno, f"{folder} cannot be created: {error.strerror}.") from None
    names = ("wine.csv", "wine-clusters.csv", "wine.partita", "wine.html")
    data, labels, model, report = (str(folder / name) for name in names)
    if not force and os.path.exists(data):
        raise ExistingFileError(
            f"{data} already exists. Choose another folder, or overwrite the files with {{}}.",
            Setting("force", True),
        )
    _write_wine(data)
    lines = [["partita", "fit", data, "--id", "wine"]]
    lines += [["--labels", labels], ["--model", model], ["--report", report]]
    lines += [["--force"]] if force else []
    typer.echo("$ " + " \\\n    ".join(shlex.join(words) for words in lines) + "\n")
    arguments = [word for words in lines for word in words][1:] + ["--debug"] * ctx.params["debug"]
    code = ctx.find_root().command.main(arguments, prog_name="partita", standalone_mode=False)
    if code:
        raise typer.Exit(code)
    typer.echo(f"\nOpen the report in a browser: {Path(report).resolve()}")


def _write_wine(path: str) -> None:
    from sklearn.datasets import load_wine

    from partita.tables import write_table
    from partita.tables.table import arrow

    wine = load_wine()
    columns = {"wine": [f"wine {i + 1}" for i in range(len(wine.data))]}
    columns |= {name: wine.data[:, t].tolist() for t, name in enumerate(wine.feature_names)}
    write_table(arrow().table(columns), path, force=True)
