"""Declared checks of parameters, with one wording for all errors.

>>> check("n_clusters", 3, integer(1))
3
>>> check("gamma", -1, either(number(above=0), choice("scale", "auto")))
Traceback (most recent call last):
    ...
partita._common.errors.ParameterError: `gamma` must be a number > 0, 'scale' or 'auto', got -1.
"""

from __future__ import annotations

import numbers
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from partita._common.errors import ParameterError
from partita._common.text import one_line

MAX_VALUE_LENGTH = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Rule:
    """The values that a parameter accepts, and their wording."""

    wanted: tuple[str, ...]  # alternatives, as in "an integer >= 1" or "None"
    accepts: Callable[[Any], bool]
    advice: str = ""  # a sentence that follows the error

    @property
    def text(self) -> str:
        """The alternatives in words: "an integer >= 1 or None"."""
        *first, last = self.wanted
        return f"{', '.join(first)} or {last}" if first else last


def integer(minimum: int) -> Rule:
    """Accept integers of at least `minimum`, not booleans."""
    return Rule((f"an integer >= {minimum}",), lambda v: is_integer(v) and v >= minimum)


def number(minimum: float | None = None, *, above: float | None = None) -> Rule:
    """Accept real numbers, not booleans or NaN."""
    if above is not None:
        return Rule((f"a number > {above:g}",), lambda v: is_number(v) and v > above)
    if minimum is not None:
        return Rule((f"a number >= {minimum:g}",), lambda v: is_number(v) and v >= minimum)
    return Rule(("a number",), is_number)


def choice(*names: str) -> Rule:
    """Accept one of these names."""
    return Rule(tuple(map(repr, names)), lambda v: isinstance(v, str) and v in names)


def instance(kind: type, wanted: str, advice: str = "") -> Rule:
    """Accept objects of a class."""
    return Rule((wanted,), lambda v: isinstance(v, kind), advice)


def either(*rules: Rule, advice: str = "") -> Rule:
    """Accept what any of the rules accepts."""
    wanted = tuple(text for rule in rules for text in rule.wanted)
    advice = advice or next((rule.advice for rule in rules if rule.advice), "")
    return Rule(wanted, lambda v: any(rule.accepts(v) for rule in rules), advice)


def optional(rule: Rule, advice: str = "") -> Rule:
    """Accept None and what `rule` accepts."""
    return either(rule, NONE, advice=advice)


def is_integer(value: Any) -> TypeGuard[int]:
    """Return whether the value is an integer of Python or NumPy, not a boolean."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is a real number, not NaN and not a boolean."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and bool(value == value)


NONE = Rule(("None",), lambda value: value is None)
PATH = Rule(("a text or a Path",), lambda value: isinstance(value, str | bytes | os.PathLike))
CALLABLE = Rule(("a callable",), callable)


def check(name: str, value: Any, rule: Rule, advice: str = "") -> Any:
    """Return the value if the rule accepts it, else raise a `ParameterError`."""
    if rule.accepts(value):
        return value
    raise must_be(name, rule.text, value, advice or rule.advice)


def check_integer(name: str, value: Any, minimum: int = 1, advice: str = "") -> int:
    """Return an integer of at least `minimum`, else raise a `ParameterError`."""
    return int(check(name, value, integer(minimum), advice))


def check_parameters(model: Any, rules: Mapping[str, Rule]) -> None:
    """Check the attributes that a model has against a table of rules."""
    for name, rule in rules.items():
        if hasattr(model, name):
            check(name, getattr(model, name), rule)


def must_be(name: str, wanted: str, value: Any, advice: str = "") -> ParameterError:
    """Make the error "`name` must be wanted, got value. advice"."""
    text = f"`{name}` must be {wanted}, got {describe_value(value)}."
    return ParameterError(f"{text} {advice}".rstrip(), parameter=name)


def describe_value(value: Any) -> str:
    """Return a value in one line; of an array or a table, its shape.

    >>> import numpy as np
    >>> describe_value([1, 2]), describe_value(np.ones((150, 4)))
    ('[1, 2]', 'an array of shape (150, 4)')
    """
    if isinstance(value, Got):
        return one_line(value)
    if len(shape := getattr(value, "shape", None) or ()) > 1:
        kind = type(value).__name__
        return f"{'an array' if kind == 'ndarray' else f'a {kind}'} of shape {shape}"
    return one_line(repr(value), MAX_VALUE_LENGTH)


class Got(str):
    """A wording of a value for `must_be`, in place of its repr: "an array of shape (3,)"."""
