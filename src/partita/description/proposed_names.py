"""Names of groups: given ones, or proposals from what sets a group apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from partita._common.parameters import Got, describe_value, is_integer, must_be
from partita._common.text import one_line
from partita.description.category_traits import CategoryTrait
from partita.description.group_profile import PRESENCE, SHARE
from partita.description.traits import STRONG_MIN_RATIO, Trait

MAX_NAME_CHARACTERS = 60
MAX_FEATURE_CHARACTERS = 24  # of a feature in a name
MAX_SHORT_NAME = 44  # characters up to which a name gets a second trait


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
    if len(traits) == 1 and not given:
        return ("All rows",)
    names: list[str] = []
    taken = set(given.values())
    for j, own in enumerate(traits):
        also = [trait for trait in categories[j] if _is_largest(trait, categories)]
        name = given.get(j) or next(
            (name for name in _proposals(own, also) if name not in taken), ""
        )
        name = name or f"Group {j}"
        taken.add(name)
        names.append(name)
    return tuple(names)


def _is_largest(trait: CategoryTrait, categories: Sequence[Sequence[CategoryTrait]]) -> bool:
    """Return whether no group has a larger share of a category."""
    same = (
        other.share
        for group in categories
        for other in group
        if (other.column, other.value) == (trait.column, trait.value)
    )
    return trait.share >= max(same)


def _proposals(traits: Sequence[Trait], categories: Sequence[CategoryTrait]) -> list[str]:
    """Names from the best to the least, the longer ones last; traits are in their order."""
    least = STRONG_MIN_RATIO * max((abs(trait.score) for trait in traits), default=0.0)
    strong = [trait for trait in traits if abs(trait.score) >= least]
    phrases = [_phrase(trait) for trait in strong]
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
    if trait.is_extreme:
        return f"{'high' if trait.score > 0 else 'low'} {name}"
    return f"{'above' if trait.score > 0 else 'below'}-average {name}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
