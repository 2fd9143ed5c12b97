"""The commands, as one Typer application."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from partita.cli import choose_k, demo, fit, inspect, predict, report
from partita.cli.error_handling import ARGUMENTS_KEY


class CommandGroup(TyperGroup):
    """A group that keeps the arguments as typed, so that a result can name its command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS_KEY] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)  # in order of use, not of the alphabet


app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    fit.fit,
    predict.predict,
    choose_k.choose_k,
    inspect.inspect,
    report.report,
    demo.demo,
):
    app.command(_command.__name__.replace("_", "-"))(_command)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        import partita

        typer.echo(f"partita {partita.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            "-V",
            callback=_print_version,
            is_eager=True,
            metavar="",
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Find groups in a table: exact, fast, reproducible, and with reasons.

    \b
    [bold]Examples[/bold]
      partita demo
      partita fit wine.csv --scale standard --labels out.csv --report wine.html
      partita predict new.csv --model wine.partita
    """
