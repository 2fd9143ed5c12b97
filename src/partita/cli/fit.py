"""`partita fit`: cluster a file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import typer

from partita._common.text import one_line, plural
from partita.cli import options as opt
from partita.cli.certificate_options import CertifyOptions
from partita.cli.checkpoint_options import CheckpointOptions
from partita.cli.console import console, print_message
from partita.cli.error_handling import (
    EXIT_NOT_CONVERGED,
    Interrupted,
    collect_warnings,
    typed_command,
)
from partita.cli.method_options import AUTO, K, MethodAndHaltOptions


def fit(
    ctx: typer.Context,
    *,
    k: K = AUTO,
    method: MethodAndHaltOptions,
    files: CheckpointOptions,
    columns: opt.ColumnOptions,
    labels: opt.LabelsOut = None,
    only_labels: opt.OnlyLabels = False,
    with_names: opt.WithNames = False,
    names: opt.GroupNames = None,
    model: opt.ModelOut = None,
    report: opt.ReportOut = None,
    sending: opt.SendingOptions,
    certificate: CertifyOptions,
    json: opt.Json = False,
    explain: opt.Explain = False,
    strict: opt.Strict = False,
    force: opt.Force = False,
    quiet: opt.Quiet = False,
    read: opt.ReadAndNameOptions,
) -> None:
    """Cluster a file: its groups, what sets them apart, and possible problems.

    \b
    [bold]Examples[/bold]
      partita fit wine.csv
      partita fit wine.csv -k 3 --labels out.csv --model wine.partita
      partita fit wine.csv -k 3 --names 0=Light,1=Dark --model wine.partita
      partita fit wine.csv --report wine.html --title Wines --no-rows
      partita fit part-*.parquet -k 2:20 --id customer --exclude age,zip --json
      partita fit wine.csv -k 3 --certify --certify-time 2
      partita fit big.parquet -k 20 --memory-limit 2GiB --checkpoint big.ck
      cat rows.csv | partita fit - -k 5 --halt 'Deadline(60)' --labels -
    """
    for option, is_given in (("--only-labels", only_labels), ("--with-names", with_names)):
        if is_given and labels is None:
            raise typer.BadParameter(f"{option} needs --labels OUT.")
    sending.check(report)
    from partita.cli import group_names, large_files, show_results
    from partita.cli.outputs import Outputs
    from partita.cli.progress_bar import ProgressReporter

    outputs = Outputs(labels, only_labels, columns.id, model, report, force, sending, with_names)
    outputs.check(read.data, json=json)
    files.check(k, method.method, [*read.data, labels, model, report])
    given_names = group_names.read_names(names)
    group_names.check_possible(given_names, k)
    form = "json" if json else "quiet" if quiet else "text"
    reporter = ProgressReporter(form != "text")
    with collect_warnings() as warnings:
        with reporter.show_status("reading"):
            prepared = large_files.prepare(read, columns, method, method.memory_limit)
        outputs.check_streamed(prepared)
        certificate.check_streamed(prepared)
        if not quiet and not json:
            show_results.print_preparation(prepared, explain)
        outcome = _cluster(prepared, k, method, typed_command(ctx), reporter, files)
        try:
            _certify(outcome, certificate, reporter)
            with reporter.show_status("naming the groups"):
                outcome = _with_names(outcome, given_names, outputs)
            _write_and_show(outcome, outputs, form, reporter, warnings)
        except KeyboardInterrupt:
            state = f"the fit is complete, with {_state(outcome.model)}, but not its outputs"
            raise outputs.interrupted(state) from None
    if outputs.uses_stdout:
        outputs.print_labels(prepared, outcome.all_labels)
    outputs.raise_errors()
    if outcome.interrupted:
        advice = files.advice(outcome.command, bool(outputs.saved))
        state = f"the fit was stopped early, with {_state(outcome.model)}"
        raise outputs.interrupted(state, advice)
    if reporter.interrupted:
        raise outputs.interrupted("the search for bounds was stopped early")
    if strict and not outcome.converged:
        print_message(f"Not converged: {outcome.model.stopped_by_}")
        raise typer.Exit(EXIT_NOT_CONVERGED)


def _cluster(
    prepared: Any, k: Any, method: Any, command: str, reporter: Any, files: CheckpointOptions
) -> Any:
    from partita.cli import workflow

    try:
        return workflow.cluster(prepared, k, method, command, reporter, files.files)
    except KeyboardInterrupt:  # the second; the state of the fit is saved on the way
        advice = files.advice(command, has_outputs=False)
        if not advice:
            raise
        raise Interrupted(f"nothing else was saved{advice}") from None


def _certify(outcome: Any, options: CertifyOptions, reporter: Any) -> None:
    """Certify a fit that was not interrupted; the model keeps the certificate."""
    if not options.certify or outcome.interrupted:
        return
    from partita.cli.certification_run import CertificationRequest, certify_model

    request = CertificationRequest(options.seconds, seed=outcome.seed)
    X, weight = outcome.prepared.rows_to_fit
    try:
        outcome.model.certificate_ = certify_model(outcome.model, X, weight, request, reporter)
    except (ValueError, MemoryError) as error:  # the fit is worth more than its certificate
        print_message(f"No certificate: {one_line(error)}")


def _with_names(outcome: Any, given: Any, outputs: Any) -> Any:
    """Name the groups; if that fails, the fit is saved without proposed names."""
    from partita.cli import group_names, workflow
    from partita.estimators.fitted_models import count_clusters

    names = group_names.names_of_fit(given, count_clusters(outcome.model))
    with outputs.keep_error():
        outcome = workflow.named(outcome, names, outputs.sending)
        names = outcome.group_names
    outputs.group_names = names
    return replace(outcome, group_names=names)


def _state(model: Any) -> str:
    iterations = len(getattr(model, "trace_", ())) or model.n_iter_
    return f"J = {model.inertia_:.6g} after {plural(iterations, 'iteration')}"


def _write_and_show(
    outcome: Any, outputs: Any, form: str, reporter: Any, warnings: list[str]
) -> None:
    with outputs.keep_error():
        outputs.write_model(outcome)
    with outputs.keep_error():
        outputs.write_labels(outcome.prepared, outcome.all_labels)
    is_described = form == "json" or (form == "text" and not outcome.interrupted)
    if is_described or outputs.report is not None:
        _describe(outcome, outputs, form, reporter, warnings)


def _describe(outcome: Any, outputs: Any, form: str, reporter: Any, warnings: list[str]) -> None:
    """Write the report, and print the same results."""
    from partita.cli import show_results, show_summary, workflow

    if outcome.interrupted:
        reporter.print_line(outputs.with_saved_files("Stopped early") + "; summary follows")
    summary = None
    with reporter.show_status("describing the clusters"), outputs.keep_error():
        record = outcome.record or workflow.report_input(outcome, sending=outputs.sending)
        summary = outputs.write_report(record)
    if form == "json":
        show_results.print_json(
            command="fit",
            data=show_results.data_json(outcome.prepared),
            summary=None if summary is None else summary.to_dict(),
            sweep=show_results.sweep_json(outcome.sweep),
            converged=outcome.converged,
            interrupted=outcome.interrupted,
            outputs=outputs.saved,
            errors=outputs.error_texts(),
            warnings=warnings,
        )
    elif form == "text" and summary is not None:
        out = console(stderr=outputs.uses_stdout)
        show_results.print_notes(warnings)
        show_summary.print_summary(summary, out)
        advice = "nothing was saved; --labels, --model and --report write files"
        show_results.print_saved_files(
            outputs.saved, out, "" if outputs.uses_stdout or outputs.errors else advice
        )
