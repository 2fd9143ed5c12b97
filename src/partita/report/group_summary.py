"""Groups as records: sizes, traits, neighbours, categories, typical rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.text import isolated
from partita.chart_layout.mixed_places import most_frequent
from partita.description.category_traits import CategoryTrait, category_traits
from partita.description.group_profile import GroupProfile, group_profile
from partita.description.proposed_names import complete_names
from partita.description.traits import (
    FormatValue,
    Neighbour,
    Trait,
    group_traits,
    nearest_groups,
    value_formatter,
)
from partita.report.cluster_distances import RowDistances
from partita.report.report_input import Fitted, ReportInput, check_input
from partita.source.raw_rows import as_doubles

TYPICAL_ROWS = 3  # of a group
EXAMPLE_CANDIDATES = 20  # rows nearest to the center
EXAMPLE_TRAITS = 3  # in which the example is typical


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row that stands for its group, or for its edge."""

    name: str  # its id, or "row 17"
    row: int  # its number in the source, from 1
    far: float  # distance from the center, or what replaces it
    index: int  # its number among the rows of the fit, from 0


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One group in numbers and words."""

    number: int
    name: str  # given, or proposed from what sets it apart
    size: int  # rows
    weight: float
    share: float  # of the weight of all groups
    spread: float | None  # see `Summary.spread_is`
    silhouette: float | None
    traits: tuple[Trait, ...]
    categories: tuple[CategoryTrait, ...]  # of columns that are not features
    neighbour: Neighbour | None  # the nearest other group
    typical: tuple[NamedRow, ...]  # nearest to the center
    atypical: NamedRow | None  # farthest from it
    example: NamedRow | None = None  # near the center, and typical in what sets the group apart
    remark: str = ""  # on a group without traits

    @property
    def words(self) -> str:
        """The features and categories that set it apart, in words."""
        traits: tuple[Trait | CategoryTrait, ...] = (*self.traits, *self.categories)
        return ", ".join(trait.words for trait in traits)

    @property
    def likeness(self) -> str:
        """The nearest other group in words; empty if there is none."""
        if self.neighbour is None:
            return ""
        one = self.neighbour
        like = f"most like group {one.number}"
        if not one.level:
            return like
        values = f"{one.value_text}; {one.other_text} there"
        return f"{like}, but {one.level} {isolated(one.feature)} ({values})"


@dataclass(frozen=True, slots=True, eq=False)
class DescribedGroups:
    """All groups, the profile behind their traits, and how to write its values."""

    groups: tuple[GroupSummary, ...]
    profile: GroupProfile | None  # None if the rows have no features
    text: FormatValue | None


@np.errstate(all="ignore")  # overflow is shown as such
def describe_groups(data: ReportInput, distances: RowDistances) -> DescribedGroups:
    """Describe every group in the user's units."""
    told, rows = data.is_told, data.told_rows
    labels, weight, columns = data.labels[rows], data.weight[rows], data.told_categories
    categories = category_traits(columns, labels, weight, data.k, data.min_rows)
    profile, text = None, None
    traits: list[tuple[Trait, ...]] = [()] * data.k
    neighbours: list[Neighbour | None] = [None] * data.k
    if not data.is_matrix and len(labels):
        values = data.original if isinstance(rows, slice) else data.original[rows]
        values = _limited(data, values)
        profile = group_profile(values, labels, weight, data.k, data.min_rows)
        text = value_formatter(profile, data.day_features)
        traits = group_traits(profile, data.names, text)
        neighbours = nearest_groups(profile, data.names, text)
        if data.places is not None:
            neighbours = _neighbours_by_all_columns(data, values, labels, weight)
    is_described = told & (data.cluster_weight > 0) & (profile is not None)
    may_name = told | (data.min_rows <= 1)  # also what no row is in, by its given name
    kinds = may_name.tolist(), is_described.tolist(), data.used_categories
    names = complete_names(data.given_names, traits, categories, *kinds)
    groups = []
    for j in range(data.k):
        order = _by_distance(data, distances, j)
        facts = traits[j], categories[j], neighbours[j]
        group = _group(data, distances, order, j, names[j], facts)
        example = _example(data, distances, order, profile, group)
        has_traits = group.traits or (group.categories and data.used_categories)
        remark = "" if profile is None or has_traits else _remark(group, bool(told[j]))
        groups.append(replace(group, remark=remark, example=example))
    return DescribedGroups(tuple(groups), profile, text)


def _limited(data: ReportInput, numbers: Floats) -> Floats:
    """Of rows with categories: numbers with outliers as they count in the fit, at the limits."""
    low = getattr(data.fitted.scaling, "low", None)
    if data.places is None or low is None:
        return numbers
    return np.clip(numbers, low, data.fitted.scaling.high)


def _neighbours_by_all_columns(
    data: ReportInput, numbers: Floats, labels: Ints, weight: Floats
) -> list[Neighbour | None]:
    """The nearest other groups by the numbers and by a column for each category."""
    names, columns = list(data.names), [numbers]
    for name in data.used_categories:
        column = data.told_categories[name]
        for value in most_frequent(column):
            names.append(f"{name}: {column.values[value]}")
            has_it = (column.codes == value).astype(np.float64)
            columns.append(np.where(column.codes < 0, np.nan, has_it)[:, None])
    profile = group_profile(np.hstack(columns), labels, weight, data.k, data.min_rows)
    near = nearest_groups(profile, names, value_formatter(profile, data.day_features))
    categories = names[len(data.names) :]
    return [_in_words_of_shares(one, categories) for one in near]


def _in_words_of_shares(near: Neighbour | None, categories: list[str]) -> Neighbour | None:
    """More or less of a category, where a number would be higher or lower."""
    if near is None or near.feature not in categories:
        return near
    words = {"higher": "more", "lower": "less"}
    return replace(near, level=words.get(near.level, near.level))


def propose_names(fitted: Fitted) -> tuple[str, ...]:
    """Return a name for each group of a fit: the given one, else from what sets it apart."""
    data = check_input(fitted)
    unknown = RowDistances(np.full(data.n, np.nan), "distance", True)
    return tuple(group.name for group in describe_groups(data, unknown).groups)


def _example(
    data: ReportInput,
    distances: RowDistances,
    order: Ints,
    profile: GroupProfile | None,
    group: GroupSummary,
) -> NamedRow | None:
    """Of the rows nearest to the center, that with the most typical values of the first traits."""
    if profile is None or not group.typical:
        return group.typical[0] if group.typical else None
    order = order[:EXAMPLE_CANDIDATES]
    features = sorted(trait.index for trait in group.traits[:EXAMPLE_TRAITS])
    values = as_doubles(data.original[order][:, features])
    gap = (values - profile.typical[group.number, features]) / profile.spread[features]
    square = np.nan_to_num(gap**2, nan=np.inf).sum(axis=1)
    return _named_row(data, int(order[int(square.argmin())]), distances)


def _by_distance(data: ReportInput, distances: RowDistances, j: int) -> Ints:
    """The rows of a group that have weight and a distance, the nearest to the center first."""
    members = data.cluster_rows[j]
    members = members[(data.weight[members] > 0) & np.isfinite(distances.values[members])]
    return members[np.argsort(distances.values[members], kind="stable")]


def _remark(group: GroupSummary, is_told: bool) -> str:
    """Return the remark on a group without traits."""
    if not group.size:
        return "No rows."
    if not is_told:
        return "Too few rows to be described without showing them."
    if not group.weight > 0:
        return "Its rows have no weight."
    return "Close to the average of all rows in every feature."


def _group(
    data: ReportInput,
    distances: RowDistances,
    order: Ints,
    j: int,
    name: str,
    traits: tuple[tuple[Trait, ...], tuple[CategoryTrait, ...], Neighbour | None],
) -> GroupSummary:
    members = data.cluster_rows[j]
    members = members[data.weight[members] > 0]
    weight, sampled = data.weight[members], data.fitted.sampled
    size, weights = len(data.cluster_rows[j]), data.cluster_weight
    if sampled is not None:  # all rows count, the sample only describes them
        size, weights = int(sampled.cluster_rows[j]), sampled.cluster_weight
    total = float(weights.sum())
    shown = order[: 0 if data.fitted.no_rows else TYPICAL_ROWS]
    is_last_shown = not data.fitted.no_rows and len(order) > TYPICAL_ROWS
    return GroupSummary(
        number=j,
        name=name,
        size=size,
        weight=float(weights[j]),
        share=float(weights[j]) / total if total > 0 else 0.0,
        spread=finite_or_none(distances.spread(members, weight)) if data.is_told[j] else None,
        silhouette=None,
        traits=traits[0],
        categories=traits[1],
        neighbour=traits[2],
        typical=tuple(_named_row(data, i, distances) for i in shown),
        atypical=_named_row(data, order[-1], distances) if is_last_shown else None,
    )


def _named_row(data: ReportInput, i: int, distances: RowDistances) -> NamedRow:
    return NamedRow(data.row_name(i), int(data.row_numbers[i]), float(distances.values[i]), int(i))


def finite_or_none(value: float) -> float | None:
    """Return the value; None if it is not finite."""
    return value if math.isfinite(value) else None
