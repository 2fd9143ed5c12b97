"""`partita check`: what `fit` would do with a file, without fitting."""

from __future__ import annotations

from partita.cli import options as opt
from partita.cli.error_handling import collect_warnings


def check(
    *,
    columns: opt.ColumnOptions,
    memory_limit: opt.MemoryLimit = None,
    explain: opt.Explain = False,
    json: opt.Json = False,
    read: opt.ReadAndNameOptions,
) -> None:
    """Show how a file would be prepared: its columns, what becomes of them, and why.

    \b
    [bold]Examples[/bold]
      partita check wine.csv
      partita check customers.csv --include zip --explain
    """
    from partita.cli import large_files, paragraphs, show_results
    from partita.cli.console import console
    from partita.cli.show_columns import print_columns

    with collect_warnings() as warnings:
        prepared = large_files.prepare_sample(read, columns, None, memory_limit)
    if json:
        data = show_results.data_json(prepared)
        show_results.print_json(command="check", data=data, warnings=warnings)
        return
    out = console()
    print_columns(prepared, out)
    out.print()
    for line in show_results.plan_lines(prepared.plan, explain):
        paragraphs.print_item(out, line, 0)
    show_results.print_notes([*show_results.data_notes(prepared), *warnings])
