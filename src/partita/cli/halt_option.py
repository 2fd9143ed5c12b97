"""`--halt`: halting criteria as text. The text is parsed by `ast`; nothing is evaluated."""

from __future__ import annotations

import ast
from inspect import signature
from typing import Any

import typer

# the criteria of partita.halting that take a number, or nothing
CRITERIA = ("MaxIter", "Shift", "Decrease", "RelDecrease", "SamePartition", "Target", "Deadline")
MAX_CHARACTERS = 2000  # a deeply nested text can overflow the stack of the parser
_USAGE = (
    "Combine criteria with | (whichever comes first) and & (all at once), for example "
    f"'RelDecrease(1e-4) | Deadline(60)'. The criteria are {', '.join(CRITERIA)}."
)


class HaltError(typer.BadParameter):
    """A text that is not a halting criterion; the message has the place and the usage."""

    def __init__(self, fault: str, column: int) -> None:
        super().__init__(f"{fault} (at character {column + 1}). {_USAGE}")


def parse_halt(text: str) -> Any:
    """Return the criterion of `partita.halting` that `text` describes.

    >>> parse_halt("RelDecrease(1e-4) | (Deadline(60) & MaxIter(5))")
    RelDecrease(0.0001) | (Deadline(60) & MaxIter(5))
    """
    line = " ".join(text.split())
    if len(line) > MAX_CHARACTERS:
        raise HaltError(f"the text has more than {MAX_CHARACTERS} characters", MAX_CHARACTERS)
    if "#" in line:  # `ast` would ignore the rest
        raise HaltError("'#' is not part of a criterion", line.index("#"))
    try:
        return _halt_of(ast.parse(line, mode="eval").body, line)
    except SyntaxError as error:
        raise HaltError(f"{text!r} is not a criterion", (error.offset or 1) - 1) from None
    except (ValueError, RecursionError, MemoryError):
        raise HaltError("the text is nested too deeply or has a null byte", 0) from None


def _halt_of(node: ast.expr, line: str) -> Any:
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return _halt_of(left, line) | _halt_of(right, line)
        case ast.BinOp(left, ast.BitAnd(), right):
            return _halt_of(left, line) & _halt_of(right, line)
        case ast.Call(ast.Name(name), args, []) if name in CRITERIA:
            return _criterion(name, [_number(arg, line) for arg in args], node.col_offset)
    raise _fault(node, line, "is not a criterion")


def _criterion(name: str, numbers: list[Any], column: int) -> Any:
    from partita import halting

    criterion = getattr(halting, name)
    try:
        signature(criterion).bind(*numbers)
    except TypeError:
        takes = "one number" if signature(criterion).parameters else "no number"
        raise HaltError(f"{name} takes {takes}, got {len(numbers)}", column) from None
    try:
        return criterion(*numbers)
    except (TypeError, ValueError, OverflowError) as error:
        raise HaltError(str(error).rstrip("."), column) from None


def _number(node: ast.expr, line: str) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError):
        value = None
    if type(value) not in (int, float):
        raise _fault(node, line, "is not a number")
    return value


def _fault(node: ast.expr, line: str, fault: str) -> HaltError:
    source = ast.get_source_segment(line, node) or line
    return HaltError(f"{source[:30]!r} {fault}", node.col_offset)
