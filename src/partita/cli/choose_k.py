"""`partita choose-k`: how many clusters, by one sweep and several criteria."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from partita.cli import options as o
from partita.cli.error_handling import check_outputs, command_line, guarded, heard_warnings
from partita.cli.requests import (
    Choice,
    Reading,
    Way,
    k_option,
    parse_clusters,
)

Ks = Annotated[
    str,
    typer.Option(
        "--k",
        "-k",
        callback=k_option,
        metavar="K:K",
        help="The numbers to try, like 2:20; auto: 2 to the root of the number of rows.",
        rich_help_panel=o.METHOD,
    ),
]


@guarded
def choose_k(
    ctx: typer.Context,
    data: o.Data,
    k: Ks = "auto",
    method: o.MethodBy = o.Method.kmeans,
    columns: o.Columns = None,
    exclude: o.Exclude = None,
    id: o.Id = None,
    weight: o.Weight = None,
    scale: o.ScaleBy = o.Scale.none,
    missing: o.MissingBy = o.Missing.error,
    seed: o.Seed = 0,
    threads: o.Threads = None,
    n_init: o.NInit = None,
    max_iter: o.MaxIter = None,
    kernel: o.Kernel = None,
    gamma: o.Gamma = None,
    metric: o.Metric = None,
    zero_rows: o.ZeroRowsBy = None,
    report: o.ReportTo = None,
    json: o.Json = False,
    force: o.Force = False,
    quiet: o.Quiet = False,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    header: o.Header = None,
    source_column: o.SourceColumn = None,
    debug: o.Debug = False,
) -> None:
    """Say how many clusters a file has, and why; or that it has none.

    [bold]Examples[/bold]

      partita choose-k wine.csv --scale standard

      partita choose-k wine.csv -k 2:12 --method spherical --json

      partita choose-k wine.csv -k 2:12 --report wine.html
    """
    clusters = parse_clusters(k)
    if clusters.fixed is not None:
        raise typer.BadParameter(
            f"--k {k}: several numbers are expected, like 2:{max(3, clusters.fixed)}"
        )
    zero = None if zero_rows is None else zero_rows.value
    way = Way(method.value, seed, threads, None, n_init, max_iter, kernel, gamma, metric, zero)
    way.check()
    check_outputs(report=report, data=data, force=force)
    from partita.cli import show_results, workflow
    from partita.cli.outputs import Outputs
    from partita.cli.progress_bar import Watch

    if report is not None:
        workflow.require_report()
    reading = Reading(data, delimiter, encoding, header, source_column)
    choice = Choice(columns, exclude, id, weight, missing.value, scale.value)
    outputs, watch = Outputs(report=report, force=force), Watch(quiet or json)
    with heard_warnings() as warned:
        with watch.doing("reading"):
            prepared = workflow.prepare(workflow.read(reading), choice)
        found = workflow.cluster(prepared, clusters, way, watch)
        if report is not None:
            with watch.doing("writing the report"):
                record = workflow.fitted_record(found, command_line(ctx), seed)
                outputs.write_report(record)
    if json:
        show_results.as_json(_object(prepared, found, outputs.saved, warned))
    elif not quiet:
        show_results.notes([*show_results.said_of_data(prepared), *warned])
        show_results.sweep(found.sweep)
        show_results.saved(outputs.saved)
    if found.interrupted:
        raise outputs.interrupted("the sweep ended early, this is what it had found")


def _object(prepared: Any, found: Any, saved: dict[str, str], warned: list[str]) -> dict[str, Any]:
    import partita
    from partita.cli import show_results

    return {
        "command": "choose-k",
        "partita": partita.__version__,
        "data": show_results.of_data(prepared),
        "sweep": show_results.of_sweep(found.sweep),
        "interrupted": found.interrupted,
        "outputs": saved,
        "warnings": warned,
    }
