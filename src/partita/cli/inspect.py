"""`partita inspect`: the content of a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from partita.cli import options as opt


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.")],
    json: opt.Json = False,
) -> None:
    """Show a model: its clusters, its features, and how it was made.

    \b
    [bold]Examples[/bold]
      partita inspect wine.partita
      partita inspect wine.partita --json
    """
    from partita.cli import show_model, show_results
    from partita.model_file.contents import read_contents

    contents = read_contents(model)
    if json:
        show_results.print_json(command="inspect", file=str(model), **show_model.to_dict(contents))
    else:
        show_model.print_model(contents, model)
