"""`partita fit`: cluster a file."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from partita.cli import options as o
from partita.cli.error_handling import (
    NOT_CONVERGED,
    check_outputs,
    command_line,
    guarded,
    heard_warnings,
)
from partita.cli.requests import (
    Choice,
    Clusters,
    Reading,
    Way,
    k_option,
    parse_clusters,
)

K = Annotated[
    str,
    typer.Option(
        "--k",
        "-k",
        callback=k_option,
        metavar="K",
        help="How many clusters: a number, auto, or 2:20 to choose among these.",
        rich_help_panel=o.METHOD,
    ),
]


@dataclass(frozen=True, slots=True)
class Job:
    """One fit, from reading to writing."""

    reading: Reading
    choice: Choice
    clusters: Clusters
    way: Way
    outputs: Any
    command: str
    json: bool = False
    quiet: bool = False


@guarded
def fit(
    ctx: typer.Context,
    data: o.Data,
    k: K = "auto",
    method: o.MethodBy = o.Method.kmeans,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    id: o.Id = None,
    weight: o.Weight = None,
    scale: o.ScaleBy = o.Scale.none,
    missing: o.MissingBy = o.Missing.error,
    halt: o.HaltBy = None,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    n_init: o.NInit = None,
    max_iter: o.MaxIter = None,
    kernel: o.Kernel = None,
    gamma: o.Gamma = None,
    metric: o.Metric = None,
    zero_rows: o.ZeroRowsBy = None,
    labels: o.LabelsTo = None,
    only_labels: o.OnlyLabels = False,
    model: o.ModelTo = None,
    report: o.ReportTo = None,
    json: o.Json = False,
    strict: o.Strict = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    source_column: o.SourceColumn = None,
    debug: o.Debug = False,
) -> None:
    """Cluster a file: how many groups there are, what sets them apart, what to worry about.

    [bold]Examples[/bold]

      partita fit wine.csv --scale standard

      partita fit wine.csv -k 3 --labels out.csv --model wine.partita --report wine.html

      partita fit part-*.parquet -k 2:20 --id customer --exclude age,zip --json

      cat rows.csv | partita fit - -k 5 --halt 'RelDecrease(1e-4) | Deadline(60)' --labels -
    """
    zero = None if zero_rows is None else zero_rows.value
    way = Way(method.value, seed, threads, halt, n_init, max_iter, kernel, gamma, metric, zero)
    way.check()
    if only_labels and labels is None:
        raise typer.BadParameter("--only-labels says what --labels OUT holds; give it too")
    if labels == "-" and json:
        raise typer.BadParameter("--labels - and --json both print on stdout; choose one")
    check_outputs(labels, model, report, data=data, force=force)
    from partita.cli.outputs import Outputs

    job = Job(
        Reading(data, delimiter, encoding, header, source_column),
        Choice(columns, exclude, id, weight, missing.value, scale.value),
        parse_clusters(k),
        way,
        Outputs(labels, model, report, only_labels, force),
        command_line(ctx),
        json,
        quiet or labels == "-",
    )
    found = run(job)
    if strict and not found.converged:
        typer.echo(f"Not converged: {found.model.stopped_by_}", err=True)
        raise typer.Exit(NOT_CONVERGED)


def run(job: Job) -> Any:
    """Read, fit, write, show."""
    from partita.cli import show_results, workflow
    from partita.cli.progress_bar import Watch

    if job.outputs.report is not None:
        workflow.require_report()
    watch = Watch(job.quiet or job.json)
    with heard_warnings() as warned:
        with watch.doing("reading"):
            prepared = workflow.prepare(workflow.read(job.reading), job.choice)
        found = workflow.cluster(prepared, job.clusters, job.way, watch)
        try:
            with job.outputs.each():
                job.outputs.write_model(found, job.command)
            with job.outputs.each():
                job.outputs.write_labels(prepared, found.labels, job.choice.id)
            if not job.quiet:
                show_results.notes(show_results.said_of_data(prepared) if not job.json else [])
            with job.outputs.each():
                tell(job, found, watch, warned)
        except KeyboardInterrupt:
            done = f"the fit is done, with {_state(found.model)}, what follows it is not"
            raise job.outputs.interrupted(done) from None
    if job.outputs.labels == "-":
        print_labels(prepared, found.labels, job.choice.id, job.outputs.only)
    job.outputs.check()
    if found.interrupted:
        raise job.outputs.interrupted(f"the fit ended early, with {_state(found.model)}")
    return found


def _state(model: Any) -> str:
    """How far a fit came."""
    times = len(getattr(model, "trace_", ())) or model.n_iter_
    return f"J = {model.inertia_:.6g} after {times} iteration{'s' * (times != 1)}"


def tell(job: Job, found: Any, watch: Any, warned: list[str]) -> None:
    """The report, and the results on stdout; they say the same."""
    from partita.cli import show_results, workflow

    wanted = job.json or job.outputs.report is not None
    if not wanted and (job.quiet or found.interrupted):
        return
    if found.interrupted:
        watch.say(job.outputs.so_far("Stopped early") + "; now its summary")
    with watch.doing("looking at the clusters"):
        fitted = workflow.fitted_record(found, job.command, job.way.seed)
        summary = job.outputs.write_report(fitted)
    if job.json:
        show_results.as_json(
            {
                "command": "fit",
                "partita": fitted.versions["partita"],
                "data": show_results.of_data(found.prepared),
                "summary": summary.to_dict(),
                "sweep": show_results.of_sweep(found.sweep),
                "converged": found.converged,
                "interrupted": found.interrupted,
                "outputs": job.outputs.saved,
                "warnings": warned,
            }
        )
    elif not job.quiet:
        show_results.notes(warned)
        show_results.summary(summary)
        show_results.saved(
            job.outputs.saved, "nothing was saved; --labels, --model and --report write files"
        )


def print_labels(prepared: Any, labels: Any, id: str | None, only: bool) -> None:
    """The table with its labels, as text on stdout."""
    from partita.cli.outputs import with_labels
    from partita.tables import write_text

    data = with_labels(prepared, labels, id, only, "csv")
    sys.stdout.flush()
    layout = prepared.table.layout("csv")
    between, newline = prepared.table.delimiter or layout["delimiter"], layout["newline"]
    write_text(data, sys.stdout.buffer, between or ",", newline=newline or "\n")
    sys.stdout.buffer.flush()
