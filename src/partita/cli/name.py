"""`partita name`: the names of the groups in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from partita.cli import options as opt


def name(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.")],
    *,
    names: opt.GroupNames = None,
    out: Annotated[
        Path | None,
        opt.writing("--out -o", "OUT", "Write another file. Default: MODEL is changed."),
    ] = None,
    force: opt.Force = False,
) -> None:
    """Name the groups of a model, or list their names.

    Groups without a new name keep theirs. Nothing else in the file changes.

    \b
    [bold]Examples[/bold]
      partita name wine.partita
      partita name wine.partita --names 0=Light,1=Dark
      partita name wine.partita --names '2="Sweet, old"' --out named.partita
    """
    from partita.cli import group_names
    from partita.cli.console import console
    from partita.cli.outputs import stream_of
    from partita.cli.show_model import print_names
    from partita.model_file.contents import read_contents

    if names is None and out is not None:
        raise typer.BadParameter("--out needs --names.")
    if out is not None and stream_of(out) is not None:
        raise typer.BadParameter(f"--out must be a file, got {out}.")
    given = group_names.read_names(names)
    if given:
        written = group_names.write_names(given, model, out, force)
    else:
        contents = read_contents(model)
        written = contents.saved.group_names or (None,) * contents.n_clusters
    print_names(written, console())
