"""Declared checks of parameters, with one wording for all errors.

>>> check("n_clusters", 3, integer(1))
3
>>> check("gamma", -1, either(number(above=0), choice("scale", "auto")))
Traceback (most recent call last):
    ...
partita._common.errors.ParameterError: `gamma` must be a number > 0, 'scale' or 'auto', got -1.
"""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from partita._common.errors import ParameterError
from partita._common.text import did_you_mean, one_line

MAX_VALUE_LENGTH = 80  # characters of a value in a message
MAX_ITEMS_SHOWN = 40  # of a list; the repr of a longer one takes long and is cut anyway
MAX_DIGITS_SHOWN = 40  # of an integer; Python refuses to print very long ones
MAX_REASON_LENGTH = 200  # characters of another library's reason in a message
MAX_PATH_LENGTH = 4096  # characters; no system opens a longer path


@dataclass(frozen=True, slots=True)
class Rule:
    """The values that a parameter accepts, and their wording."""

    wanted: tuple[str, ...]  # alternatives, as in "an integer >= 1" or "None"
    accepts: Callable[[Any], bool]
    advice: str = ""  # a sentence that follows the error
    names: tuple[str, ...] = ()  # the texts among the values: one may be what was meant

    @property
    def text(self) -> str:
        """The alternatives in words: "an integer >= 1 or None"."""
        *first, last = self.wanted
        return f"{', '.join(first)} or {last}" if first else last


def integer(minimum: int, maximum: int | None = None) -> Rule:
    """Accept integers of at least `minimum`, and at most `maximum` if given; not booleans."""
    if maximum is None:
        return Rule((f"an integer >= {minimum}",), lambda v: is_integer(v) and v >= minimum)
    wanted = f"an integer from {minimum} to {maximum}"
    return Rule((wanted,), lambda v: is_integer(v) and minimum <= v <= maximum)


def number(
    minimum: float = -math.inf,
    maximum: float = math.inf,
    *,
    above: float = -math.inf,
    finite: bool = False,
) -> Rule:
    """Accept real numbers that a double can hold, infinity unless `finite`; not booleans or NaN."""
    wanted = "a finite number" if finite else "a number"
    if maximum < math.inf:
        wanted += f" from {minimum:g} to {maximum:g}"
    elif above > -math.inf:
        wanted += f" > {above:g}"
    elif minimum > -math.inf:
        wanted += f" >= {minimum:g}"

    def accepts(value: Any) -> bool:
        if not is_number(value) or (finite and math.isinf(value)):
            return False
        return minimum <= value <= maximum and (value > above or above == -math.inf)

    return Rule((wanted,), accepts)


def choice(*names: str) -> Rule:
    """Accept one of these names."""
    return Rule(tuple(map(repr, names)), lambda v: isinstance(v, str) and v in names, names=names)


def instance(kind: type | tuple[type, ...], wanted: str, advice: str = "") -> Rule:
    """Accept objects of a class, or of one of several."""
    return Rule((wanted,), lambda v: isinstance(v, kind), advice)


def having(*attributes: str, wanted: str) -> Rule:
    """Accept objects with these attributes, but no classes."""

    def accepts(value: Any) -> bool:
        return not isinstance(value, type) and all(hasattr(value, name) for name in attributes)

    return Rule((wanted,), accepts)


def either(*rules: Rule, advice: str = "") -> Rule:
    """Accept what any of the rules accepts."""
    wanted = tuple(text for rule in rules for text in rule.wanted)
    advice = advice or next((rule.advice for rule in rules if rule.advice), "")
    names = tuple(name for rule in rules for name in rule.names)
    first, *others = (rule.accepts for rule in rules)
    return Rule(wanted, lambda v: first(v) or any(one(v) for one in others), advice, names)


def optional(rule: Rule, advice: str = "") -> Rule:
    """Accept None and what `rule` accepts."""
    wanted, accepts = (*rule.wanted, *NONE.wanted), rule.accepts
    return Rule(wanted, lambda v: v is None or accepts(v), advice or rule.advice, rule.names)


def is_integer(value: Any) -> TypeGuard[int]:
    """Return whether the value is an integer of Python or NumPy, not a boolean."""
    if type(value) is int:  # faster than a look at abstract classes
        return True
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether the value is an integer or float that a double can hold, not NaN or a boolean.

    Fractions are refused: NumPy would make objects of them.
    """
    if type(value) is float:
        return not math.isnan(value)
    is_float = isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational)
    if not is_float and not is_integer(value):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # beyond 1e308
        return False


def _is_path(value: Any) -> bool:
    """Return whether the value can be the name of a file; an integer would be a descriptor."""
    if not isinstance(value, str | bytes | os.PathLike):
        return False
    try:
        name = os.fsencode(value)
    except (TypeError, UnicodeEncodeError):  # an odd PathLike; half of a surrogate pair
        return False
    return 0 < len(name) <= MAX_PATH_LENGTH and b"\0" not in name


def _is_flag(value: Any) -> bool:
    """Return whether the value is a boolean, of Python or NumPy; 0 and 1 stand for them."""
    known = isinstance(value, int) or type(value).__name__ in ("bool", "bool_")  # NumPy's
    return known and bool(value == 0 or value == 1)


_ABSENT = object()
NONE = Rule(("None",), lambda value: value is None)
PATH = Rule(("a text or a Path",), _is_path)
CALLABLE = Rule(("a callable",), callable)
TEXT = Rule(("a text",), lambda value: isinstance(value, str))
FLAG = Rule(("True", "False"), _is_flag)
KEYWORDS = Rule(
    ("a dictionary with text keys",),
    lambda value: isinstance(value, Mapping) and all(isinstance(key, str) for key in value),
)
VERBOSITY = either(integer(0), FLAG)


def check(name: str, value: Any, rule: Rule, advice: str = "") -> Any:
    """Return the value if the rule accepts it, else raise a `ParameterError`."""
    if rule.accepts(value):
        return value
    hint = did_you_mean(value, rule.names) if isinstance(value, str) else ""
    raise must_be(name, rule.text, value, f"{hint} {advice or rule.advice}".strip())


def check_integer(
    name: str, value: Any, minimum: int = 1, maximum: int | None = None, advice: str = ""
) -> int:
    """Return an integer of at least `minimum`, else raise a `ParameterError`."""
    return int(check(name, value, integer(minimum, maximum), advice))


def check_names(name: str, value: Any, names: Collection[str]) -> tuple[str, ...]:
    """Return one or more of `names`, given as a text or an iterable of texts."""
    try:
        given = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        given = ()
    if given and all(isinstance(one, str) and one in names for one in given):
        return given
    unknown = next((one for one in given if isinstance(one, str) and one not in names), "")
    wanted = f"names from {', '.join(names)}"
    raise must_be(name, wanted, value, did_you_mean(unknown, names))


def check_integers(name: str, value: Any, minimum: int, maximum: int) -> tuple[int, ...]:
    """Return a sequence of integers within limits."""
    rule = integer(minimum, maximum)
    try:
        given = tuple(value)
    except TypeError:
        given = (None,)
    if all(rule.accepts(one) for one in given):
        return tuple(map(int, given))
    raise must_be(name, f"a sequence of integers from {minimum} to {maximum}", value)


def check_items(name: str, value: Any, length: int, items: str) -> list[Any]:
    """Return a list of this length from any sequence, for example of "names, one for each row"."""
    wanted = f"a sequence of {length} {items}"
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        raise must_be(name, wanted, value)
    try:
        given = list(value)
    except TypeError:  # an array of no dimensions
        raise must_be(name, wanted, value) from None
    if len(given) != length:
        raise must_be(name, wanted, Got(f"{len(given)} items"))
    return given


def check_path(name: str, value: Any) -> str:
    """Return the name of a file as text, else raise a `ParameterError`."""
    return os.fsdecode(check(name, value, PATH))


def check_parameters(model: Any, rules: Mapping[str, Rule]) -> None:
    """Check the attributes that a model has against a table of rules."""
    for name, rule in rules.items():
        value = getattr(model, name, _ABSENT)
        if value is not _ABSENT and not rule.accepts(value):
            check(name, value, rule)


def must_be(name: str, wanted: str, value: Any, advice: str = "") -> ParameterError:
    """Make the error "`name` must be wanted, got value. advice"."""
    text = f"`{name}` must be {wanted}, got {describe_value(value)}."
    return ParameterError(f"{text} {advice}".rstrip(), parameter=name)


def with_reason(value: Any, error: Exception) -> Got:
    """Word a value that another library refused, with the reason it gave."""
    return Got(f"{describe_value(value)} ({one_line(error, MAX_REASON_LENGTH).rstrip('.')})")


def describe_value(value: Any) -> str:
    """Return a value in one line; of an array or a table, its shape; of a long list, its length.

    >>> import numpy as np
    >>> describe_value([1, 2]), describe_value(np.ones((150, 4)))
    ('[1, 2]', 'an array of shape (150, 4)')
    >>> describe_value(10**400), describe_value([0] * 1000)
    ('an integer of 401 digits', 'a list of 1000 items')
    """
    if isinstance(value, Got):
        return one_line(value)
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) > 1:
        kind = type(value).__name__
        return f"{'an array' if kind == 'ndarray' else f'a {kind}'} of shape {shape}"
    if is_integer(value) and abs(int(value)) >= 10**MAX_DIGITS_SHOWN:
        return f"an integer of {int(math.log10(abs(int(value)))) + 1} digits"
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value) > MAX_ITEMS_SHOWN:
        return f"a {type(value).__name__} of {len(value)} items"
    try:
        return one_line(repr(value), MAX_VALUE_LENGTH)
    except Exception:  # a repr of any class may fail
        return f"a {type(value).__name__}"


class Got(str):
    """A wording of a value for `must_be`, in place of its repr: "an array of shape (3,)"."""
