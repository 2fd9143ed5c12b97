"""`partita predict`: the clusters of new rows, by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from partita._common.text import plural
from partita.cli import options as opt
from partita.cli.console import console
from partita.cli.error_handling import collect_warnings

if TYPE_CHECKING:
    from rich.console import Console


class PredictRequest(NamedTuple):
    """The model and the options of `predict` that are not about files."""

    model: Path
    id: str | None
    missing: str | None
    distance: bool
    json: bool
    quiet: bool


def predict(
    *,
    model: opt.ModelIn,
    labels: opt.LabelsOut = None,
    only_labels: opt.OnlyLabels = False,
    with_names: opt.WithNames = False,
    distance: opt.Distance = False,
    id: opt.Id = None,
    missing: opt.MissingAsFitted = None,
    memory_limit: opt.MemoryLimit = None,
    json: opt.Json = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    read: opt.ReadAndNameOptions,
) -> None:
    """Label the rows of a file with a model. Columns are found by name.

    Without --labels or --json, the labelled table is printed.
    Rows that are unlike anything in the fit are listed, and what has drifted.

    \b
    [bold]Examples[/bold]
      partita predict new.csv --model wine.partita --labels new-clusters.csv
      partita predict new.csv --model wine.partita --only-labels --id name
      partita predict new.csv --model wine.partita --distance -o far.csv
      partita predict new.csv --model wine.partita --with-names --only-labels
      tail -n +2 new.csv | partita predict - --no-header --model wine.partita
    """
    from partita.cli import large_files
    from partita.cli.outputs import Outputs
    from partita.cli.streamed_predict import predict_blocks

    if labels is None and not json:
        labels = "-"
    outputs = Outputs(labels, only_labels, id, force=force, with_names=with_names)
    outputs.check(inputs=(model,), json=json)
    request = PredictRequest(model, id, missing, distance, json, quiet)
    blocks = large_files.blocks_beyond(read, memory_limit)
    if blocks is None:
        _predict_table(request, read, outputs)
    elif json:
        raise large_files.too_many_labels(blocks)
    else:
        predict_blocks(request, blocks, large_files.memory_allowed(memory_limit), outputs)


def _predict_table(request: PredictRequest, read: opt.ReadOptions, outputs: Any) -> None:
    """Label rows that fit memory."""
    from partita.cli import group_names, show_comparison, show_results
    from partita.cli.repeated_preparation import prepare_for_model
    from partita.model_file.loading import read_labeller

    model, id, missing, distance, json, quiet = request
    with collect_warnings() as warnings:
        fitted, prepared = prepare_for_model(model, read, id, missing, read_model=read_labeller)
        if outputs.with_names:
            outputs.group_names = group_names.require_names(fitted, model)
        clusters = fitted.predict(prepared.X)
        distances, comparison = show_comparison.compare(fitted, prepared, clusters)
        unseen = show_comparison.unseen_categories(fitted, prepared)
        if distance:
            outputs.more_columns = show_comparison.columns(distances, comparison)
        with outputs.keep_error():
            outputs.write_labels(prepared, clusters)
    if json:
        show_results.print_json(
            command="predict",
            **_labels_json(fitted, model, prepared, clusters),
            **show_comparison.to_dict(distances, comparison, prepared),
            unseen_categories=unseen,
            outputs=outputs.saved,
            errors=outputs.error_texts(),
            warnings=warnings,
        )
    elif not quiet:
        show_results.print_preparation(prepared)
        show_results.print_notes(warnings)
        show_results.print_notes(show_comparison.unseen_note(unseen, len(clusters)))
        if comparison is None:
            show_results.print_notes([show_comparison.NO_REFERENCE])
    if outputs.uses_stdout:
        outputs.print_labels(prepared, clusters)
    if not (json or quiet):
        out = console(stderr=outputs.uses_stdout)
        out.print(f"{plural(len(clusters), 'row')} labelled by {model}", soft_wrap=True)
        _print_results(prepared, clusters, comparison, outputs.saved, out)
    outputs.raise_errors()


def _labels_json(fitted: Any, model: Path, prepared: Any, clusters: Any) -> dict[str, Any]:
    from partita.cli import show_results

    id = prepared.id_column
    return {
        "data": show_results.data_json(prepared),
        "model": str(model),
        "labels": prepared.labels_of_all_rows(clusters),
        "ids": None if id is None else prepared.cells(id).to_pylist(),
        "group_names": fitted.saved_.group_names,
        "sizes": show_results.cluster_sizes(clusters),
    }


def _print_results(
    prepared: Any, clusters: Any, comparison: Any, saved: dict[str, str], out: Console
) -> None:
    from partita.cli import show_comparison, show_results

    show_results.print_cluster_sizes(show_results.cluster_sizes(clusters), out)
    if comparison is not None:
        show_comparison.print_comparison(comparison, prepared, out)
    show_results.print_saved_files(saved, out)
