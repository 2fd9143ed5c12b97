"""`partita fit`: cluster a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer

from partita._common.text import plural
from partita.cli import options as opt
from partita.cli.error_handling import (
    EXIT_NOT_CONVERGED,
    collect_warnings,
    handle_errors,
    typed_command,
)
from partita.cli.output_checks import check_outputs
from partita.cli.requests import ColumnRequest, KRequest, MethodRequest, ReadRequest, parse_k


@dataclass(frozen=True, slots=True)
class FitJob:
    """Everything that one fit needs, from reading to writing."""

    read: ReadRequest
    columns: ColumnRequest
    k: KRequest
    method: MethodRequest
    outputs: Any
    command: str
    json: bool = False
    quiet: bool = False


@handle_errors
def fit(
    ctx: typer.Context,
    data: opt.Data,
    k: opt.K = "auto",
    method: opt.Method = opt.MethodName.kmeans,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    id: opt.Id = None,
    weight: opt.Weight = None,
    scale: opt.Scale = opt.ScaleName.none,
    missing: opt.Missing = opt.MissingPolicy.error,
    halt: opt.Halt = None,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    n_init: opt.NInit = None,
    max_iter: opt.MaxIter = None,
    kernel: opt.Kernel = None,
    gamma: opt.Gamma = None,
    metric: opt.Metric = None,
    zero_rows: opt.ZeroRows = None,
    labels: opt.LabelsOut = None,
    only_labels: opt.OnlyLabels = False,
    model: opt.ModelOut = None,
    report: opt.ReportOut = None,
    json: opt.Json = False,
    strict: opt.Strict = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    header: opt.Header = None,
    source_column: opt.SourceColumn = None,
    debug: opt.Debug = False,
) -> None:
    """Cluster a file: its groups, what sets them apart, and possible problems.

    \b
    [bold]Examples[/bold]
      partita fit wine.csv --scale standard
      partita fit wine.csv -k 3 --labels out.csv --model wine.partita
      partita fit part-*.parquet -k 2:20 --id customer --exclude age,zip --json
      cat rows.csv | partita fit - -k 5 --halt 'Deadline(60)' --labels -
    """
    zero = None if zero_rows is None else zero_rows.value
    request = MethodRequest(
        method.value, seed, threads, halt, n_init, max_iter, kernel, gamma, metric, zero
    )
    request.check()
    if only_labels and labels is None:
        raise typer.BadParameter("--only-labels needs --labels OUT.")
    if labels == "-" and json:
        raise typer.BadParameter("--labels - and --json both print to stdout. Choose one.")
    check_outputs(labels, model, report, data=data, force=force)
    from partita.cli.outputs import Outputs

    outcome = run(
        FitJob(
            ReadRequest(data, delimiter, encoding, header, source_column),
            ColumnRequest(columns, exclude, id, weight, missing.value, scale.value),
            parse_k(k),
            request,
            Outputs(labels, model, report, only_labels, force),
            typed_command(ctx),
            json,
            quiet or labels == "-",
        )
    )
    if strict and not outcome.converged:
        typer.echo(f"Not converged: {outcome.model.stopped_by_}", err=True)
        raise typer.Exit(EXIT_NOT_CONVERGED)


def run(job: FitJob) -> Any:
    """Read, fit, write, show."""
    from partita.cli import show_results, workflow
    from partita.cli.outputs import print_labels
    from partita.cli.progress_bar import ProgressReporter

    outputs, id = job.outputs, job.columns.id
    if outputs.report is not None:
        workflow.require_report_package()
    reporter = ProgressReporter(job.quiet or job.json)
    with collect_warnings() as warnings:
        with reporter.show_status("reading"):
            prepared = workflow.prepare(workflow.read(job.read), job.columns)
        outcome = workflow.cluster(prepared, job.k, job.method, reporter)
        try:
            with outputs.keep_error():
                outputs.write_model(outcome, job.command)
            with outputs.keep_error():
                outputs.write_labels(prepared, outcome.labels, id)
            if not (job.quiet or job.json):
                show_results.print_notes(show_results.data_notes(prepared))
            with outputs.keep_error():
                _show(job, outcome, reporter, warnings)
        except KeyboardInterrupt:
            state = f"the fit is complete, with {_state(outcome.model)}, but not its outputs"
            raise outputs.interrupted(state) from None
    if outputs.labels == "-":
        print_labels(prepared, outcome.labels, id, outputs.only_labels)
    outputs.raise_first_error()
    if outcome.interrupted:
        raise outputs.interrupted(f"the fit was stopped early, with {_state(outcome.model)}")
    return outcome


def _state(model: Any) -> str:
    iterations = len(getattr(model, "trace_", ())) or model.n_iter_
    return f"J = {model.inertia_:.6g} after {plural(iterations, 'iteration')}"


def _show(job: FitJob, outcome: Any, reporter: Any, warnings: list[str]) -> None:
    """Write the report, and print the same results."""
    from partita.cli import show_results, workflow

    is_needed = job.json or job.outputs.report is not None
    if not is_needed and (job.quiet or outcome.interrupted):
        return
    if outcome.interrupted:
        reporter.print_line(job.outputs.with_saved_files("Stopped early") + "; summary follows")
    with reporter.show_status("describing the clusters"):
        fitted = workflow.report_input(outcome, job.command, job.method.seed)
        summary = job.outputs.write_report(fitted)
    if job.json:
        show_results.print_json(
            {
                "command": "fit",
                "partita": fitted.versions["partita"],
                "data": show_results.data_json(outcome.prepared),
                "summary": summary.to_dict(),
                "sweep": show_results.sweep_json(outcome.sweep),
                "converged": outcome.converged,
                "interrupted": outcome.interrupted,
                "outputs": job.outputs.saved,
                "warnings": warnings,
            }
        )
    elif not job.quiet:
        show_results.print_notes(warnings)
        show_results.print_summary(summary)
        show_results.print_saved_files(
            job.outputs.saved, "nothing was saved; --labels, --model and --report write files"
        )
