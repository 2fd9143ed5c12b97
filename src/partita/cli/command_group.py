"""The commands, gathered."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from partita.cli import choose_k, demo, fit, inspect, predict, report
from partita.cli.error_handling import ARGUMENTS


class Commands(TyperGroup):
    """Keeps what was typed, so that a result can say how it was made."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the words, then read them."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order in which they are needed, not by the alphabet."""
        return list(self.commands)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (fit.fit, predict.predict, choose_k.choose_k, inspect.inspect, report.report):
    app.command(_command.__name__.replace("_", "-"))(_command)
app.command("demo")(demo.demo)


def _version(wanted: bool) -> None:
    if wanted:
        import partita

        typer.echo(f"partita {partita.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Find groups in a table: exact, fast, the same every time, and saying why.

    [bold]Examples[/bold]

      partita demo

      partita fit wine.csv --scale standard --labels out.csv --report wine.html

      partita predict new.csv --model wine.partita
    """
