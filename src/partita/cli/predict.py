"""`partita predict`: the clusters of new rows, by a model that was saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from partita.cli import options as o
from partita.cli.error_handling import check_outputs, guarded, heard_warnings
from partita.cli.requests import Reading


@guarded
def predict(
    data: o.Data,
    model: o.ModelFrom,
    labels: o.LabelsTo = None,
    only_labels: o.OnlyLabels = False,
    id: o.Id = None,
    missing: o.MissingAsFitted = None,
    json: o.Json = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    source_column: o.SourceColumn = None,
    debug: o.Debug = False,
) -> None:
    """Label the rows of a file by a model. Columns are found by name, in any order.

    Without --labels and --json, the table is printed with its labels.

    [bold]Examples[/bold]

      partita predict new.csv --model wine.partita --labels new-clusters.csv

      partita predict new.csv --model wine.partita --only-labels --id name

      tail -n +2 new.csv | partita predict - --no-header --model wine.partita
    """
    if labels == "-" and json:
        raise typer.BadParameter("--labels - and --json both print on stdout; choose one")
    check_outputs(labels, used=(model,), force=force)
    from partita.cli import show_results
    from partita.cli.fit import print_labels
    from partita.cli.outputs import Outputs

    reading = Reading(data, delimiter, encoding, header, source_column)
    outputs = Outputs(labels=labels, only=only_labels, force=force)
    with heard_warnings() as warned:
        fitted, prepared = apply(model, reading, id, None if missing is None else missing.value)
        found = fitted.predict(prepared.X)
        outputs.write_labels(prepared, found, id)
    if json:
        show_results.as_json(_object(prepared, found, outputs.saved, str(model), warned))
        return
    if not quiet:
        show_results.notes([*show_results.said_of_data(prepared), *warned])
    if labels in (None, "-"):
        print_labels(prepared, found, id, only_labels)
    elif not quiet:
        rows = len(found)
        typer.echo(f"{rows} row{'s' * (rows != 1)} labelled by {model}")
        show_results.sizes(found)
        show_results.saved(outputs.saved)


def apply(
    path: Any, reading: Reading, id: str | None, missing: str | None, weight: str | None = None
) -> Any:
    """The model and the rows of a file as it wants them: its columns, its scaling, its means."""
    from partita import model_file
    from partita.cli.workflow import Prepared, read
    from partita.tables import Scaling, TableError, select

    fitted = model_file.read_model(path)
    saved = fitted.saved_
    table, names = _named(read(reading), fitted, path)
    vars(fitted).pop("feature_names_in_", None)  # from here on rows have no names
    if missing == "mean" and saved.fill is None:
        raise TableError(
            f"--missing mean was given, but {path} holds no means: fit it with --missing mean, "
            "or leave such rows out by --missing drop"
        )
    missing = missing or ("error" if saved.fill is None else "mean")
    fill = saved.fill if missing == "mean" else None
    ways = ("drop",) if saved.fill is None else ("drop", "mean")  # no means, no way out
    asked = {"columns": names, "id": id, "weight": weight, "missing": missing}
    chosen = select(table, **asked, fill=fill, ways=ways)
    scaling = saved.scaling or Scaling.fit(chosen.X, "none")
    return fitted, Prepared(table, chosen, scaling, scaling.apply(chosen.X))


def _named(table: Any, fitted: Any, path: Any) -> Any:
    """A table whose columns have the names that the model knows, and these."""
    from partita.tables import TableError

    names = fitted.saved_.names
    if names is None:
        names = tuple(map(str, getattr(fitted, "feature_names_in_", ()))) or None
    unnamed = names is not None and not table.named and not set(names) <= set(table.names)
    if names is None or (unnamed and table.data.num_columns == len(names)):
        width, wanted = table.data.num_columns, fitted.n_features_in_
        if names is None and width != wanted:
            raise TableError(
                f"{table.name} has {width} columns, but {path} was fitted to {wanted} without "
                "names; give a file with these columns only"
            )
        if unnamed:
            note = f"the file has no names: its columns are taken for {_few(names)}, in this order"
            table = replace(table.renamed(tuple(names)), notes=(*table.notes, note))
        names = names or table.names
    there = set(table.names)
    lacking = [name for name in names if name not in there]
    if lacking:
        raise TableError(
            f"{table.name} lacks {_few(lacking)} of the {len(names)} columns that {path} was "
            f"fitted to; it has {_few(table.names)}"
        )
    return table, names


def _few(names: Any) -> str:
    from partita._common.text import listed

    return listed(names)


def _object(
    prepared: Any, labels: Any, saved: dict[str, str], model: str, warned: list[str]
) -> dict[str, Any]:
    import numpy as np

    import partita
    from partita.cli import show_results

    numbers, counts = np.unique(labels, return_counts=True)
    ids = prepared.selection.ids
    return {
        "command": "predict",
        "partita": partita.__version__,
        "data": show_results.of_data(prepared),
        "model": model,
        "labels": labels,
        "rows": prepared.selection.kept + 1,
        "ids": None if ids is None else ids.to_pylist(),
        "sizes": {int(j): int(count) for j, count in zip(numbers, counts, strict=True)},
        "outputs": saved,
        "warnings": warned,
    }
