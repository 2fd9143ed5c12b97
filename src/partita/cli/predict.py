"""`partita predict`: the clusters of new rows, by a saved model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from partita._common.errors import Setting
from partita._common.text import listed, plural
from partita.cli import options as opt
from partita.cli.error_handling import collect_warnings, handle_errors
from partita.cli.output_checks import check_outputs
from partita.cli.requests import ReadRequest


@handle_errors
def predict(
    data: opt.Data,
    model: opt.ModelIn,
    labels: opt.LabelsOut = None,
    only_labels: opt.OnlyLabels = False,
    id: opt.Id = None,
    missing: opt.MissingAsFitted = None,
    json: opt.Json = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    header: opt.Header = None,
    source_column: opt.SourceColumn = None,
    debug: opt.Debug = False,
) -> None:
    """Label the rows of a file with a model. Columns are found by name.

    Without --labels or --json, the labelled table is printed.

    \b
    [bold]Examples[/bold]
      partita predict new.csv --model wine.partita --labels new-clusters.csv
      partita predict new.csv --model wine.partita --only-labels --id name
      tail -n +2 new.csv | partita predict - --no-header --model wine.partita
    """
    if labels == "-" and json:
        raise typer.BadParameter("--labels - and --json both print to stdout. Choose one.")
    check_outputs(labels, inputs=(model,), force=force)
    from partita.cli import show_results
    from partita.cli.outputs import Outputs, print_labels

    request = ReadRequest(data, delimiter, encoding, header, source_column)
    outputs = Outputs(labels=labels, only_labels=only_labels, force=force)
    with collect_warnings() as warnings:
        policy = None if missing is None else missing.value
        fitted, prepared = prepare_for_model(model, request, id, policy)
        clusters = fitted.predict(prepared.X)
        outputs.write_labels(prepared, clusters, id)
    if json:
        saved = outputs.saved
        show_results.print_json(_json_object(prepared, clusters, saved, str(model), warnings))
        return
    if not quiet:
        show_results.print_notes([*show_results.data_notes(prepared), *warnings])
    if labels in (None, "-"):
        print_labels(prepared, clusters, id, only_labels)
    elif not quiet:
        typer.echo(f"{plural(len(clusters), 'row')} labelled by {model}")
        show_results.print_cluster_sizes(clusters)
        show_results.print_saved_files(outputs.saved)


def prepare_for_model(
    path: Any, request: ReadRequest, id: str | None, missing: str | None, weight: str | None = None
) -> Any:
    """Return the model in a file, and rows with its columns, scaling and means."""
    from partita import model_file
    from partita.cli.workflow import PreparedData, read
    from partita.tables import Scaling, TableError, select

    fitted = model_file.read_model(path)
    saved = fitted.saved_
    table, names = _with_model_names(read(request), fitted, path)
    vars(fitted).pop("feature_names_in_", None)  # the rows are arrays without names
    if missing == "mean" and saved.fill is None:
        raise TableError(
            f"{path} has no means to fill in. Fit it with {{}}, or leave such rows out with {{}}.",
            Setting("missing", "mean"),
            Setting("missing", "drop"),
        )
    missing = missing or ("error" if saved.fill is None else "mean")
    selection = select(
        table,
        columns=names,
        id=id,
        weight=weight,
        missing=missing,
        fill=saved.fill if missing == "mean" else None,
        ways=("drop",) if saved.fill is None else ("drop", "mean"),
    )
    scaling = saved.scaling or Scaling.fit(selection.X, "none")
    return fitted, PreparedData(table, selection, scaling, scaling.apply(selection.X))


def _with_model_names(table: Any, fitted: Any, path: Any) -> Any:
    """Return the table with columns named as in the model, and these names."""
    from partita.tables import TableError

    names = fitted.saved_.names
    if names is None:
        names = tuple(map(str, getattr(fitted, "feature_names_in_", ()))) or None
    is_unnamed = names is not None and not table.named and not set(names) <= set(table.names)
    if names is None or (is_unnamed and table.data.num_columns == len(names)):
        width, expected = table.data.num_columns, fitted.n_features_in_
        if names is None and width != expected:
            raise TableError(
                f"{table.name} must have {expected} columns like the data that {path} was fitted "
                f"to (which had no names), got {width}. Remove the other columns."
            )
        if is_unnamed:
            note = f"the file has no column names; they are taken to be {listed(names)}"
            table = replace(table.renamed(tuple(names)), notes=(*table.notes, note))
        names = names or table.names
    known = set(table.names)
    lacking = [name for name in names if name not in known]
    if lacking:
        raise TableError(
            f"{table.name} lacks {listed(lacking)} of the {len(names)} columns that {path} was "
            f"fitted to; it has {listed(table.names)}"
        )
    return table, names


def _json_object(
    prepared: Any, labels: Any, saved: dict[str, str], model: str, warnings: list[str]
) -> dict[str, Any]:
    import numpy as np

    import partita
    from partita.cli import show_results

    clusters, counts = np.unique(labels, return_counts=True)
    ids = prepared.selection.ids
    return {
        "command": "predict",
        "partita": partita.__version__,
        "data": show_results.data_json(prepared),
        "model": model,
        "labels": labels,
        "rows": prepared.selection.kept + 1,
        "ids": None if ids is None else ids.to_pylist(),
        "sizes": {int(j): int(count) for j, count in zip(clusters, counts, strict=True)},
        "outputs": saved,
        "warnings": warnings,
    }
