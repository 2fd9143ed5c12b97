"""`partita choose-k`: how many clusters, by one sweep and several criteria."""

from __future__ import annotations

from typing import Any

import typer

from partita.cli import options as opt
from partita.cli.error_handling import collect_warnings, handle_errors, typed_command
from partita.cli.output_checks import check_outputs
from partita.cli.requests import ColumnRequest, MethodRequest, ReadRequest, parse_k


@handle_errors
def choose_k(
    ctx: typer.Context,
    data: opt.Data,
    k: opt.KRange = "auto",
    method: opt.Method = opt.MethodName.kmeans,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    id: opt.Id = None,
    weight: opt.Weight = None,
    scale: opt.Scale = opt.ScaleName.none,
    missing: opt.Missing = opt.MissingPolicy.error,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    n_init: opt.NInit = None,
    max_iter: opt.MaxIter = None,
    kernel: opt.Kernel = None,
    gamma: opt.Gamma = None,
    metric: opt.Metric = None,
    zero_rows: opt.ZeroRows = None,
    report: opt.ReportOut = None,
    json: opt.Json = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    header: opt.Header = None,
    source_column: opt.SourceColumn = None,
    debug: opt.Debug = False,
) -> None:
    """Recommend a number of clusters with reasons, or report that there are none.

    \b
    [bold]Examples[/bold]
      partita choose-k wine.csv --scale standard
      partita choose-k wine.csv -k 2:12 --method spherical --json
      partita choose-k wine.csv -k 2:12 --report wine.html
    """
    k_request = parse_k(k)
    if k_request.fixed is not None:
        raise typer.BadParameter(
            f"--k must be a range, like 2:{max(3, k_request.fixed)}, got a single number {k}."
        )
    zero = None if zero_rows is None else zero_rows.value
    request = MethodRequest(
        method.value, seed, threads, None, n_init, max_iter, kernel, gamma, metric, zero
    )
    request.check()
    check_outputs(report=report, data=data, force=force)
    from partita.cli import show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.progress_bar import ProgressReporter

    if report is not None:
        workflow.require_report_package()
    outputs, reporter = Outputs(report=report, force=force), ProgressReporter(quiet or json)
    with collect_warnings() as warnings:
        with reporter.show_status("reading"):
            table = workflow.read(ReadRequest(data, delimiter, encoding, header, source_column))
            prepared = workflow.prepare(
                table, ColumnRequest(columns, exclude, id, weight, missing.value, scale.value)
            )
        outcome = workflow.cluster(prepared, k_request, request, reporter)
        if report is not None:
            with reporter.show_status("writing the report"):
                outputs.write_report(workflow.report_input(outcome, typed_command(ctx), seed))
    if json:
        show_results.print_json(_json_object(outcome, outputs.saved, warnings))
    elif not quiet:
        show_results.print_notes([*show_results.data_notes(prepared), *warnings])
        show_results.print_sweep(outcome.sweep)
        show_results.print_saved_files(outputs.saved)
    if outcome.interrupted:
        raise outputs.interrupted("the sweep was stopped early; these are its results so far")


def _json_object(outcome: Any, saved: dict[str, str], warnings: list[str]) -> dict[str, Any]:
    import partita
    from partita.cli import show_results

    return {
        "command": "choose-k",
        "partita": partita.__version__,
        "data": show_results.data_json(outcome.prepared),
        "sweep": show_results.sweep_json(outcome.sweep),
        "interrupted": outcome.interrupted,
        "outputs": saved,
        "warnings": warnings,
    }
