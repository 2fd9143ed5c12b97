"""`--names`: names of groups, typed as 0=Occasional,1=Loyal or in a file of two columns."""

from __future__ import annotations

import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from partita._common.errors import ParameterError
from partita._common.text import listed, one_line, quoted
from partita.cli.option_values import KRequest
from partita.model_file.group_naming import (
    GroupNames,
    check_each_name,
    check_group_names,
    check_numbers,
)

_EXAMPLE = "0=Occasional,1=Loyal"
_QUOTING = 'Put a name with a comma in quotes: 0="Young, loyal".'
# 0=name, or 0="name" with "" for a quote, up to the next comma
_ITEM = re.compile(r'([^=,]*)=\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|\Z)')
_NUMBER = re.compile(r"[0-9]{1,9}")
_NUMBER_CELL = re.compile(r"([0-9]{1,9})(?:\.0*)?")  # spreadsheets may write 1.0


def read_names(texts: Iterable[str] | None) -> dict[int, str]:
    """Return the names that `--names` gives, by the numbers of the groups.

    A text that is the path of a file stands for the names in it.
    """
    names: dict[int, str] = {}
    for text in texts or ():
        items = list(_read_file(text) if os.path.isfile(text) else _parse(text))
        if not items:
            raise typer.BadParameter(f"--names must name a group, but {text} has only a header.")
        for number, name in items:
            if number in names:
                both = f"{quoted(names[number])} and {quoted(name)}"
                raise typer.BadParameter(
                    f"--names must name a group once, got {both} for {number}."
                )
            names[number] = name
    with _as_option_error():
        return check_each_name(names)


def check_possible(names: Mapping[int, str], k: KRequest) -> None:
    """Refuse numbers that no group will have, before the work; `--k auto` allows all."""
    k_max = k.fixed or (k.candidates[-1] if k.candidates else None)
    if k_max is not None:
        with _as_option_error():
            check_numbers(names, k_max)


def names_of_fit(names: Mapping[int, str], k: int) -> GroupNames:
    """Return a name or None for each of k groups of a fit; warn of numbers that no group has."""
    unused = sorted(number for number in names if number >= k)
    if unused:
        groups = "there is only group 0" if k == 1 else f"the groups are 0 to {k - 1}"
        warnings.warn(f"--names names {listed(unused, str)}, but {groups}", stacklevel=2)
    return tuple(names.get(number) for number in range(k))


def names_for_model(names: Mapping[int, str], fitted: Any) -> GroupNames | None:
    """Return the names of the groups of a loaded model, replaced by those that are given."""
    from partita.estimators.fitted_models import count_clusters

    known: GroupNames | None = fitted.saved_.group_names
    if not names:
        return known
    with _as_option_error():
        return check_group_names(names, count_clusters(fitted), known)


def require_names(fitted: Any, path: Path) -> GroupNames:
    """Return the names of the groups of a loaded model; an error if it has none."""
    known: GroupNames | None = fitted.saved_.group_names
    if known is None:
        command = f"partita name {shlex.quote(one_line(path))} --names {_EXAMPLE}"
        raise typer.BadParameter(
            f"--with-names needs a model whose groups have names, but those of {path} have none. "
            f"Name them first: {command}"
        )
    return known


def write_names(names: Mapping[int, str], model: Path, out: Path | None, force: bool) -> GroupNames:
    """Write names of groups to a model file; return all names in it."""
    from partita.model_file.renaming import write_group_names

    with _as_option_error():
        return write_group_names(model, names, out, force=force) or ()


@contextmanager
def _as_option_error() -> Iterator[None]:
    """Word the errors of names as errors of the option."""
    try:
        yield
    except ParameterError as error:
        raise typer.BadParameter(str(error).replace("`group_names`", "--names")) from None


def _parse(text: str) -> Iterator[tuple[int, str]]:
    if not text.strip():
        raise typer.BadParameter(f"--names must be like {_EXAMPLE}, or a file, got an empty text.")
    position = 0
    while position < len(text):
        match = _ITEM.match(text, position)
        if match is None:
            raise _no_item(text[position:], is_first=position == 0)
        number, in_quotes, plain = match.groups()
        if not _NUMBER.fullmatch(number.strip()):
            advice = f" {_QUOTING}" if position else ""
            raise typer.BadParameter(
                "--names must have the number of a group before '=', got "
                f"{quoted(number.strip())}.{advice}"
            )
        if plain is not None and plain.startswith('"'):
            raise typer.BadParameter(
                f"--names must end a name with its quote, got {quoted(plain)}."
            )
        yield int(number), plain if in_quotes is None else in_quotes.replace('""', '"')
        position = match.end()


def _no_item(rest: str, is_first: bool) -> typer.BadParameter:
    item = quoted(rest.split(",")[0].strip())
    fault = f"got {item}, which is not a file" if is_first else f"got {item} without '='"
    advice = "" if is_first else f" {_QUOTING}"
    return typer.BadParameter(f"--names must be like {_EXAMPLE}, or a file, {fault}.{advice}")


def _read_file(path: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers and the names of a table of two columns; a header is optional."""
    from partita.tables import TableError, read_table

    table = read_table(path, header=False)
    if len(table.names) != 2:
        raise TableError(
            f"{path} must have two columns, the numbers of groups and their names, got "
            f"{len(table.names)}."
        )
    cells = table.data if table.text is None else table.text
    numbers, names = (cells.column(t).to_pylist() for t in range(2))
    for row, (cell, name) in enumerate(zip(numbers, names, strict=True)):
        number = _NUMBER_CELL.fullmatch("" if cell is None else str(cell).strip())
        if number is None and row == 0 and not table.named:
            continue
        if number is None:
            got = quoted("" if cell is None else str(cell))
            raise TableError(f"{path}: {table.where(row)} must begin with a number, got {got}.")
        yield int(number[1]), "" if name is None else str(name)
