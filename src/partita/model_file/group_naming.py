"""Names of groups (clusters) in a model file, checked when they are written and when read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from partita._common.errors import ParameterError
from partita._common.parameters import Got, check_items, is_integer, must_be
from partita._common.text import one_line, quoted
from partita.safe_file.checked_fields import CheckedFields, FieldError

MAX_NAME_CHARACTERS = 200

GroupNames = tuple[str | None, ...]  # (k,); None: the group has no name


def check_group_names(value: Any, k: int, known: GroupNames | None = None) -> GroupNames | None:
    """Return a name or None for each of k groups; None if no group has a name.

    `value` is a sequence of k names, or a mapping from numbers of groups to names: the others keep
    the name that is `known`. Names become one line each.

    >>> check_group_names({1: "loyal"}, 3, ("new", "old", None))
    ('new', 'loyal', None)
    """
    if isinstance(value, Mapping):
        check_numbers(value, k)
        names = dict(enumerate(known or ())) | {int(j): name for j, name in value.items()}
    else:
        names = dict(enumerate(check_items("group_names", value, k, "names, one for each group")))
    checked = check_each_name(names)
    return tuple(checked.get(j) for j in range(k)) if checked else None


def check_numbers(names: Iterable[Any], k: int) -> None:
    """Refuse numbers of groups other than 0 to k - 1."""
    for number in names:
        if not is_integer(number) or not 0 <= number < k:
            groups = f"groups 0 to {k - 1}" if k > 1 else "group 0, the only one"
            raise _must(f"name {groups}, got {quoted(number)}.")


def check_each_name(names: Mapping[int, Any]) -> dict[int, str]:
    """Return names as one line each, without those that are None; refuse equal ones."""
    checked = {j: _checked_name(name, j) for j, name in names.items() if name is not None}
    first_number: dict[str, int] = {}
    for number, name in checked.items():
        first = first_number.setdefault(name, number)
        if first != number:
            both = f"got {quoted(name)} for groups {first} and {number}."
            raise _must(f"be distinct, {both} Give each group a name of its own.")
    return checked


def _checked_name(name: Any, number: int) -> str:
    if not isinstance(name, str):
        raise must_be("group_names", f"a text for group {number}", name)
    line = one_line(name)
    if not line:
        raise must_be("group_names", f"a text for group {number}", Got("an empty one"))
    if len(line) > MAX_NAME_CHARACTERS:
        limit = f"a text of at most {MAX_NAME_CHARACTERS} characters for group {number}"
        raise must_be("group_names", limit, Got(f"{len(line)} characters"))
    return line


def _must(rest: str) -> ParameterError:
    return ParameterError(f"`group_names` must {rest}", parameter="group_names")


def read_group_names(top: CheckedFields, k: int) -> GroupNames | None:
    """Return the names of k groups in a header; None if it has none."""
    if not top.has("group_names"):
        return None
    names = top.optional_texts("group_names", k)
    try:
        return check_group_names(names, k)
    except ParameterError as error:
        raise FieldError(str(error)) from error
