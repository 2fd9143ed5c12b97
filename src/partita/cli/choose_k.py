"""`partita choose-k`: a number of clusters, by one sweep and several criteria."""

from __future__ import annotations

import typer

from partita.cli import options as opt
from partita.cli.console import console
from partita.cli.error_handling import collect_warnings, typed_command
from partita.cli.method_options import AUTO, KRange, MethodOptions


def choose_k(
    ctx: typer.Context,
    *,
    k: KRange = AUTO,
    method: MethodOptions,
    columns: opt.ColumnOptions,
    memory_limit: opt.MemoryLimit = None,
    report: opt.ReportOut = None,
    json: opt.Json = False,
    explain: opt.Explain = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    read: opt.ReadAndNameOptions,
) -> None:
    """Recommend a number of clusters with reasons, or report that there are none.

    \b
    [bold]Examples[/bold]
      partita choose-k wine.csv
      partita choose-k wine.csv -k 2:12 --method spherical --json
      partita choose-k wine.csv -k 2:12 --report wine.html
    """
    if k.fixed is not None:
        raise typer.BadParameter(
            f"--k must be a range, like 2:{max(3, k.fixed)}, got a single number {k.fixed}."
        )
    from partita.cli import large_files, show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.progress_reporter import ProgressReporter

    outputs, reporter = Outputs(report=report, force=force), ProgressReporter(quiet or json)
    outputs.check(read.data)
    with collect_warnings() as warnings:
        with reporter.show_status("reading"):
            prepared = large_files.prepare_sample(read, columns, method, memory_limit)
        if not quiet and not json:
            show_results.print_preparation(prepared, explain)
        outcome = workflow.cluster(prepared, k, method, typed_command(ctx), reporter)
        if report is not None:
            with reporter.show_status("writing the report"), outputs.keep_error():
                outputs.write_report(workflow.report_input(outcome))
    if json:
        show_results.print_json(
            command="choose-k",
            data=show_results.data_json(prepared),
            sweep=show_results.sweep_json(outcome.sweep),
            interrupted=outcome.interrupted,
            outputs=outputs.saved,
            errors=outputs.error_texts(),
            warnings=warnings,
        )
    elif not quiet:
        show_results.print_notes(warnings)
        out = console()
        show_results.print_sweep(outcome.sweep, out)
        show_results.print_saved_files(outputs.saved, out)
    outputs.raise_errors()
    if outcome.interrupted:
        raise outputs.interrupted("the sweep was stopped early; these are its results so far")
