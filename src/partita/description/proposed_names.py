"""Names of groups: given ones, or proposals from what sets a group apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita._common.parameters import Got, describe_value, is_integer, must_be
from partita._common.text import one_line
from partita.description.category_traits import CategoryTrait
from partita.description.group_profile import PRESENCE, SHARE
from partita.description.traits import Trait

MAX_NAME_CHARACTERS = 60
MAX_FEATURE_CHARACTERS = 24  # of a feature in a name
MAX_SHORT_NAME = 42  # characters up to which a name gets a second trait
SECOND_MIN_RATIO = 0.4  # of the largest score: a smaller one is not worth a word


def check_group_names(names: Any, k: int) -> dict[int, str]:
    """Check given names, a sequence or a mapping by number, and return those that are not empty."""
    if names is None:
        return {}
    if isinstance(names, str) or not isinstance(names, Mapping | Sequence):
        raise must_be(
            "group_names",
            f"{k} names, or a mapping from numbers of groups to names",
            Got(describe_value(names)),
        )
    pairs = dict(names) if isinstance(names, Mapping) else dict(enumerate(names))
    for j in pairs:
        if not is_integer(j) or not 0 <= j < k:
            raise must_be("group_names", f"names of the groups 0 to {k - 1}", Got(f"one of {j!r}"))
    shown = {int(j): one_line(name, MAX_NAME_CHARACTERS) for j, name in pairs.items() if name}
    return {j: name for j, name in shown.items() if name}


def complete_names(
    given: Mapping[int, str],
    traits: Sequence[Sequence[Trait]],
    categories: Sequence[Sequence[CategoryTrait]],
) -> tuple[str, ...]:
    """Return a name for each group: the given one, or a proposal that no other group has."""
    names: list[str] = []
    taken = set(given.values())
    for j, (own, also) in enumerate(zip(traits, categories, strict=True)):
        name = given.get(j) or next(
            (name for name in _proposals(own, also) if name not in taken), ""
        )
        name = name or f"Group {j}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def _proposals(traits: Sequence[Trait], categories: Sequence[CategoryTrait]) -> list[str]:
    """Names from the best to the least, the longer ones last.

    A trait in which the group is the extreme of all groups tells more than a larger one in which
    another group goes further.
    """
    least = SECOND_MIN_RATIO * max((abs(trait.score) for trait in traits), default=0.0)
    strong = [trait for trait in traits if abs(trait.score) >= least]
    ordered = sorted(strong, key=lambda trait: not trait.is_extreme)
    phrases = [_phrase(trait) for trait in ordered]
    terms = [t for t in strong if t.statistic == PRESENCE and t.score > 0]
    if terms:  # those that a group lacks tell little
        phrases = [one_line(trait.feature, MAX_FEATURE_CHARACTERS) for trait in terms]
    phrases += [f"mostly {one_line(trait.value, MAX_FEATURE_CHARACTERS)}" for trait in categories]
    if not phrases:
        return ["Average"]
    both = [", ".join((phrases[0], other)) for other in phrases[1:]]
    wanted = [phrases[0], *both, ", ".join(phrases[:3])]
    if both and len(both[0]) <= MAX_SHORT_NAME:
        wanted.insert(0, both[0])
    return [_capital(one_line(name, MAX_NAME_CHARACTERS)) for name in wanted]


def _phrase(trait: Trait) -> str:
    name = one_line(trait.feature, MAX_FEATURE_CHARACTERS)
    if trait.statistic in (SHARE, PRESENCE):
        return f"{'with' if trait.score > 0 else 'without'} {name}"
    level = "high" if trait.score > 0 else "low"
    return f"{level if trait.is_extreme else f'fairly {level}'} {name}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
