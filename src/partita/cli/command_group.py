"""The commands, as one Typer application."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_origin

import typer
from typer.core import TyperGroup
from typer.main import get_command

from partita.cli import certify, check, choose_k, demo, fit, inspect, name, options, predict, report
from partita.cli.error_handling import ARGUMENTS_KEY, exit_code_of, handle_errors


class CommandGroup(TyperGroup):
    """A group that keeps the arguments as typed, for results, and ends in one way."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS_KEY] = tuple(args)
        return super().parse_args(ctx, args)

    def main(  # type: ignore[override]
        self, args: Any = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        run = partial(super().main, args, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        raise SystemExit(exit_code_of(run))


def _expand_records(command: Callable[..., None]) -> Callable[..., None]:
    """Replace parameters that are records of options by these options, and add `--debug`."""
    parameters, records = list[Parameter](), dict[str, tuple[Any, list[str]]]()
    for parameter in signature(command, eval_str=True).parameters.values():
        record = parameter.annotation
        if not is_dataclass(record):
            parameters.append(parameter)
            continue
        fields = signature(record, eval_str=True).parameters.values()  # type: ignore[arg-type]
        declared = [field for field in fields if get_origin(field.annotation) is Annotated]
        records[parameter.name] = record, [option.name for option in declared]
        parameters += declared
    debug = Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=options.Debug)

    @wraps(command)
    def run(**values: Any) -> None:
        for record_name, (record, option_names) in records.items():
            values[record_name] = record(**{option: values.pop(option) for option in option_names})
        command(**values)

    keywords = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = Signature([*keywords, debug])  # type: ignore[attr-defined]
    return run


_commands = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    fit.fit,
    check.check,
    predict.predict,
    choose_k.choose_k,
    certify.certify,
    inspect.inspect,
    name.name,
    report.report,
    demo.demo,
):
    _commands.command(_command.__name__.replace("_", "-"))(handle_errors(_expand_records(_command)))


def _print_version(is_requested: bool) -> None:
    if is_requested:
        import partita

        typer.echo(f"partita {partita.__version__}")
        raise typer.Exit


@_commands.callback()
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
      partita fit wine.csv --labels out.csv --report wine.html
      partita predict new.csv --model wine.partita
    """


app = get_command(_commands)  # made once, however often it is called
