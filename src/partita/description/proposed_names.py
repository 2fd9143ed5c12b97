"""Names of groups: given ones, or proposals from what sets a group apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from partita._common.text import one_line
from partita.description.category_traits import CategoryTrait
from partita.description.group_profile import PRESENCE, SHARE
from partita.description.traits import STRONG_MIN_RATIO, Trait

MAX_NAME_CHARACTERS = 60
MAX_FEATURE_CHARACTERS = 24  # of a feature in a name
MAX_SHORT_NAME = 44  # characters up to which a name gets a second trait


def complete_names(
    given: Sequence[str | None],
    traits: Sequence[Sequence[Trait]],
    categories: Sequence[Sequence[CategoryTrait]],
    is_told: Sequence[bool],
    is_described: Sequence[bool],
    features: Collection[str] = (),
) -> tuple[str, ...]:
    """Return a name for each group: the given one, or a proposal that no other group has.

    Columns of categories that are `features` come second in a name, others last.
    Groups that are not told have their number for a name. A group that is described, but that
    nothing sets apart, is average.
    """
    if len(traits) == 1 and is_told[0]:
        return (given[0] or "All rows",)
    names: list[str] = []
    taken = {name for name in given if name}
    for j, own in enumerate(traits):
        also = [trait for trait in categories[j] if _is_largest(trait, categories)]
        average = ["Average"] * is_described[j]
        proposed = (
            name for name in _proposals(own, also, features) or average if name not in taken
        )
        name = (given[j] or next(proposed, "")) if is_told[j] else ""
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


def _proposals(
    traits: Sequence[Trait], categories: Sequence[CategoryTrait], features: Collection[str]
) -> list[str]:
    """Names from the best to the least, the longer ones last; traits are in their order."""
    least = STRONG_MIN_RATIO * max((abs(trait.score) for trait in traits), default=0.0)
    strong = [trait for trait in traits if abs(trait.score) >= least]
    phrases = [_phrase(trait) for trait in strong]
    terms = [t for t in strong if t.statistic == PRESENCE and t.score > 0]
    if terms:  # those that a group lacks tell little
        phrases = [one_line(trait.feature, MAX_FEATURE_CHARACTERS) for trait in terms]
    second = [_value_of(trait) for trait in categories if trait.column in features]
    last = [_mostly(trait) for trait in categories if trait.column not in features]
    phrases = [*phrases[:1], *second, *phrases[1:], *last]
    if not phrases:
        return []
    both = [", ".join((phrases[0], other)) for other in phrases[1:]]
    wanted = [phrases[0], *both, ", ".join(phrases[:3])]
    if both and len(both[0]) <= MAX_SHORT_NAME:
        wanted.insert(0, both[0])
    return [_capital(one_line(name, MAX_NAME_CHARACTERS)) for name in wanted]


def _value_of(trait: CategoryTrait) -> str:
    column, value = (one_line(t, MAX_FEATURE_CHARACTERS) for t in (trait.column, trait.value))
    return f"{column}: {value}"


def _mostly(trait: CategoryTrait) -> str:
    return f"mostly {one_line(trait.value, MAX_FEATURE_CHARACTERS)}"


def _phrase(trait: Trait) -> str:
    name = one_line(trait.feature, MAX_FEATURE_CHARACTERS)
    if trait.statistic in (SHARE, PRESENCE):
        return f"{'with' if trait.score > 0 else 'without'} {name}"
    if trait.is_extreme:
        return f"{'high' if trait.score > 0 else 'low'} {name}"
    return f"{'above' if trait.score > 0 else 'below'}-average {name}"


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
