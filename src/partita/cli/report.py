"""`partita report`: a report on a saved model and the rows of a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from partita._common.text import plural
from partita.cli import options as opt
from partita.cli.console import console
from partita.cli.error_handling import collect_warnings, typed_command

if TYPE_CHECKING:
    from partita.cli.prepared_data import PreparedData
    from partita.report.report_input import OtherModel


def report(
    ctx: typer.Context,
    *,
    model: opt.ModelIn,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="OUT.html", help="The file to write.")
    ],
    against: Annotated[
        Path | None,
        typer.Option(
            "--against", metavar="MODEL", help="Another model: which rows change their group."
        ),
    ] = None,
    names: opt.GroupNames = None,
    sending: opt.SendingOptions,
    id: opt.Id = None,
    weight: opt.Weight = None,
    missing: opt.MissingAsFitted = None,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    read: opt.ReadOptions,
) -> None:
    """Write a report on a saved model and a file, as one HTML page.

    Rows other than those of the fit are compared with them.

    \b
    [bold]Examples[/bold]
      partita report wine.csv --model wine.partita --out wine.html
      partita report wine.csv --model wine.partita --out wine.html --no-rows --author Ann
      partita report wine.csv --model new.partita --against old.partita --out both.html
    """
    from partita.cli import group_names, show_comparison, show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.progress_reporter import ProgressReporter
    from partita.cli.repeated_preparation import prepare_for_model

    outputs = Outputs(report=out, force=force, sending=sending)
    outputs.check(read.data, inputs=(model,) if against is None else (model, against))
    if against is not None:
        _check_can_be_read_twice(read.data)
    given_names = group_names.read_names(names)
    status = ProgressReporter(quiet).show_status("describing the clusters")
    other = comparison = None
    with collect_warnings() as warnings, status:
        fitted, prepared = prepare_for_model(model, read, id, missing, weight)
        outcome = workflow.FitOutcome(
            prepared=prepared,
            model=fitted,
            labels=fitted.predict(prepared.X),
            seed=fitted.get_params().get("random_state"),
            group_names=group_names.names_for_model(given_names, fitted) or (),
            command=typed_command(ctx),
        )
        remarks = _weight_remarks(fitted, weight)
        if against is not None:
            other, more = _labels_by(against, read, missing, prepared)
            remarks += more
        unseen = show_comparison.unseen_categories(fitted, prepared)
        unseen_note = show_comparison.unseen_note(unseen, len(prepared.X))
        remarks += unseen_note
        told = [text for text in remarks if not (sending.no_rows and text in unseen_note)]
        record = workflow.report_input(outcome, [*_made_by(fitted), *told], sending)
        if record.fingerprint != fitted.saved_.fingerprint:  # these are other rows
            comparison = show_comparison.compare(fitted, prepared, outcome.labels)[1]
        if comparison is not None and outcome.group_names:
            comparison = replace(comparison, group_names=outcome.group_names)
        outputs.write_report(replace(record, comparison=comparison, other=other))
    if not quiet:
        out_console = console()
        show_results.print_preparation(prepared)
        show_results.print_notes([*remarks, *warnings])
        if comparison is not None:
            show_comparison.print_comparison(comparison, prepared, out_console)
        if other is not None:
            show_comparison.print_flows(outcome, other, out_console)
        show_results.print_saved_files(outputs.saved, out_console)
    outputs.raise_errors()


def _check_can_be_read_twice(data: list[str]) -> None:
    """Refuse streams: each of two models reads its own columns of the file."""
    for path in data:
        if path == "-" or Path(path).is_fifo():
            source = "standard input" if path == "-" else path
            raise typer.BadParameter(
                f"--against needs a file that can be read twice, got {source}. Save it first."
            )


def _labels_by(
    path: Path, read: opt.ReadOptions, missing: str | None, prepared: PreparedData
) -> tuple[OtherModel, list[str]]:
    """Return the groups of the prepared rows by the model in a file, and remarks."""
    from partita.cli.repeated_preparation import prepare_for_model
    from partita.estimators.fitted_models import count_clusters
    from partita.report.report_input import OtherModel

    other, its_rows = prepare_for_model(path, read, None, missing)
    every = its_rows.labels_of_all_rows(other.predict(its_rows.X))
    kept = prepared.selection.kept
    names = getattr(other.saved_, "group_names", None) or (None,) * count_clusters(other)
    texts = [name or f"Group {j}" for j, name in enumerate(names)]
    beyond = int((every >= 0).sum() - (every[kept] >= 0).sum())
    verb = "is" if beyond == 1 else "are"
    remark = f"{path.name} has a group for {plural(beyond, 'row')} that {verb} left out here"
    return OtherModel(every[kept], texts, path.name), [remark] if beyond else []


def _made_by(fitted: Any) -> list[str]:
    note = fitted.saved_.note
    return [f"the model was made by `{note}`"] if note else []


def _weight_remarks(fitted: Any, weight: str | None) -> list[str]:
    """Return a remark if the model was fitted with weights that the report does not use."""
    from partita.estimators.fitted_models import capabilities_of

    stats, labels = getattr(fitted, "stats_", None), getattr(fitted, "labels_", None)
    if weight is not None or stats is None or labels is None:
        return []
    if capabilities_of(fitted).left_out:  # rows at the cut count in part
        return []
    if abs(stats.weight.sum() - (labels >= 0).sum()) <= 1e-9 * len(labels):
        return []
    return ["the model was fitted with weights, but the report does not use them; add --weight"]
