"""Columns under Gower's dissimilarity: the user's wishes, and what a fit learns of each."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Array, Floats
from partita._common.number_arrays import as_float_array
from partita._common.parameters import Got, check, must_be
from partita._common.text import did_you_mean, listed
from partita.estimators.mixed_input import chosen_columns
from partita.source.dataframes import is_frame, names_of
from partita.source.mixed_columns import Category
from partita.source.mixed_rows import MixedFeatures, MixedRows

NUMBER, ORDINAL, NOMINAL, ASYMMETRIC = "number", "ordinal", "nominal", "asymmetric"
KINDS = (NUMBER, ORDINAL, NOMINAL, ASYMMETRIC)  # of columns; numbers and ordinals have a range
NUMBER_KINDS, CATEGORY_KINDS = (NUMBER, ORDINAL), (ORDINAL, NOMINAL, ASYMMETRIC)
PARAMETERS = ("categorical", "ordinal", "asymmetric", "weights")
PRESENT = True  # in a column of booleans, or of 0 and 1


@dataclass(frozen=True, slots=True)
class Wishes:
    """Wishes of the user for the columns, by position."""

    categorical: frozenset[int]  # nominal, whatever they hold
    ordinal: Mapping[int, list[Any] | None]  # the levels in their order, if given
    asymmetric: Mapping[int, Any]  # the level that is present
    weights: Floats  # (d) at least 0; not all of them

    @property
    def read_as_categories(self) -> list[int]:
        """The columns that are read as categories whatever they hold."""
        ordered = [t for t, order in self.ordinal.items() if order is not None]
        return sorted({*self.categorical, *ordered, *self.asymmetric})

    def widened(self, features: MixedFeatures) -> MixedFeatures:
        """Return the columns of a fit with the levels that no row has, but an order names."""
        levels = list(features.levels)
        for t, order in self.ordinal.items():
            known = levels[t]
            if order is not None and known is not None:
                levels[t] = (*known, *(level for level in order if level not in known))
        return replace(features, levels=tuple(levels))


def read_wishes(params: Mapping[str, Any] | None, X: Any) -> Wishes:
    """Check the `metric_params` of Gower's dissimilarity for a dataframe or an array (n, d)."""
    given, d = dict(params or {}), len(names_of(X)) if is_frame(X) else X.shape[1]
    for name in given:
        if name not in PARAMETERS:
            wanted = f"a dictionary with keys among {listed(PARAMETERS)}"
            raise must_be("metric_params", wanted, name, did_you_mean(str(name), PARAMETERS))
    categorical = _columns("categorical", given, X, d)
    ordinal, asymmetric = _columns("ordinal", given, X, d), _columns("asymmetric", given, X, d)
    for one, other in ((categorical, ordinal), (categorical, asymmetric), (ordinal, asymmetric)):
        if both := one.keys() & other.keys():
            got = Got(f"column {min(both)} under two of its keys")
            raise must_be("metric_params", "one kind for each column", got)
    present = {t: PRESENT if value is None else value for t, value in asymmetric.items()}
    weights = _weights(given.get("weights"), X, d)
    return Wishes(frozenset(categorical), ordinal, present, weights)


def _columns(name: str, given: Mapping[str, Any], X: Any, d: int) -> dict[int, Any]:
    """Return columns by position, with what a dictionary says of them, else None."""
    parameter, columns = f"metric_params[{name!r}]", given.get(name)
    if columns is None:
        return {}
    if isinstance(columns, Mapping) and name != "categorical":
        said = {_position(parameter, column, X, d): value for column, value in columns.items()}
        return {t: _order(t, value) if name == "ordinal" else value for t, value in said.items()}
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        wanted = "a list of columns, by name or position"
        raise must_be(parameter, wanted, columns, "A list may hold a single column.")
    return {_position(parameter, column, X, d): None for column in columns}


def _position(parameter: str, column: Any, X: Any, d: int) -> int:
    (position,) = chosen_columns(parameter, [column], X, d)
    return position


def _order(column: int, levels: Any) -> list[Any]:
    """Return the levels of a column in their order."""
    ordered = isinstance(levels, Iterable) and not isinstance(levels, str | bytes | set | Mapping)
    found = [v.item() if isinstance(v, np.generic) else v for v in levels] if ordered else []
    if len(found) < 2 or not all(isinstance(v, Hashable) for v in found):
        wanted = "lists of levels, the lowest first"
        raise must_be(f"metric_params['ordinal'] of column {column}", wanted, levels)
    if len(set(found)) < len(found):
        got = Got(f"a level twice: {listed(found)}")
        raise must_be(f"metric_params['ordinal'] of column {column}", "different levels", got)
    return found


def _weights(given: Any, X: Any, d: int) -> Floats:
    parameter = "metric_params['weights']"
    weights: Floats = np.ones(d)
    if isinstance(given, Mapping):
        for column, weight in given.items():
            check(f"{parameter}[{column!r}]", weight, accept.number(0))
            weights[_position(parameter, column, X, d)] = weight
    elif given is not None:
        weights = np.array(as_float_array(parameter, given, "numeric"))
        if weights.shape != (d,):
            wanted = f"{d} numbers, one for each column, or a dictionary"
            raise must_be(parameter, wanted, Got(f"an array of shape {weights.shape}"))
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise must_be(parameter, "finite and >= 0, and > 0 for a column", given)
    weights /= weights.max()
    return weights


# --- what a fit learns ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class GowerColumn:
    """The way a column counts, and what its values stand for.

    A number stands for itself, or, in an ordinal column, for its rank among `values`. Of
    categories, `values` has what each level stands for, and at the end what an unseen one does:
    its code, its rank (NaN: missing), or whether it is present.
    """

    kind: str
    weight: float
    values: Floats
    low: float = 0.0  # of the numbers or ranks of the fit
    high: float = 0.0

    @property
    def has_range(self) -> bool:
        """Return whether differences are divided by the range."""
        return self.kind in (NUMBER, ORDINAL)

    def stand_for(self, column: Array) -> Floats:
        """Return what numbers, or codes of categories, stand for; NaN where they are missing."""
        if column.dtype.kind == "i":
            return np.append(self.values, np.nan)[column]
        if self.kind == ORDINAL and len(self.values):
            return np.interp(column, self.values, np.arange(len(self.values)))
        return column

    def coded(self, column: Array) -> Floats:
        """Return the column for the kernel: in a range from 0 to `weight`, where it has one."""
        found = self.stand_for(column)
        if not self.has_range:
            return found
        # halves, because a range may be beyond the largest double
        half = self.high / 2 - self.low / 2
        place = np.clip(found, self.low, self.high) / 2 - self.low / 2
        return place * 0.0 if half == 0 else place / half * self.weight


def learn_columns(
    rows: MixedRows, features: MixedFeatures, wishes: Wishes, counted: Array
) -> tuple[GowerColumn, ...]:
    """Learn ranges and ranks from the rows that are `counted` (n,)."""
    learned: list[GowerColumn] = []
    numbers, codes = iter(rows.numbers.T), iter(rows.codes.T)
    for t, levels in enumerate(features.levels):
        column, weight = next(numbers if levels is None else codes), float(wishes.weights[t])
        kind = _kind(t, features, wishes)
        if levels is None:
            several = np.unique(column[counted & ~np.isnan(column)]) if kind == ORDINAL else ()
            values: Floats = np.array(several, dtype=np.float64)
        else:
            values = _values_of_levels(t, kind, features, wishes)
        learned.append(_with_range(GowerColumn(kind, weight, values), column[counted]))
    return tuple(learned)


def _kind(t: int, features: MixedFeatures, wishes: Wishes) -> str:
    if t in wishes.asymmetric:
        return ASYMMETRIC
    if t in wishes.ordinal or (features.ordered[t] and t not in wishes.categorical):
        return ORDINAL
    return NUMBER if features.levels[t] is None else NOMINAL


def _values_of_levels(t: int, kind: str, features: MixedFeatures, wishes: Wishes) -> Floats:
    """Return what the levels of a column of categories stand for, and at the end an unseen one."""
    levels = features.levels[t] or ()
    if kind == ASYMMETRIC:
        return _presences(features.names[t], levels, wishes.asymmetric[t])
    if kind == NOMINAL:
        return np.arange(len(levels) + 1.0)
    name, order = features.names[t], wishes.ordinal.get(t)
    if order is None and not features.ordered[t] and any(isinstance(v, str) for v in levels):
        got = Got(f"texts without an order: {listed(levels)}")
        advice = f"Give their order: 'ordinal': {{{name!r}: [lowest, ..., highest]}}."
        raise must_be(f"metric_params['ordinal'] of {name!r}", "numbers", got, advice)
    rank = {level: i for i, level in enumerate(levels if order is None else order)}
    unknown = [level for level in levels if level not in rank]
    if unknown:
        wanted = "a list of all levels in X, the lowest first"
        got = Got(f"no place for {listed(unknown)}")
        raise must_be(f"metric_params['ordinal'] of {name!r}", wanted, got)
    return np.array([*(float(rank[level]) for level in levels), np.nan])


def _presences(name: str, levels: tuple[Category, ...], present: Any) -> Floats:
    if present is PRESENT and not set(levels) <= {False, True}:
        wanted = "columns of booleans, or of 0 and 1"
        advice = f"Say which value is present: 'asymmetric': {{{name!r}: value}}."
        got = Got(f"{name!r} with the values {listed(levels)}")
        raise must_be("metric_params['asymmetric']", wanted, got, advice)
    if present is not PRESENT and present not in levels:
        wanted = f"a value of {name!r} ({listed(levels)})"
        raise must_be(f"metric_params['asymmetric'] of {name!r}", wanted, present)
    return np.array([*(float(level == present) for level in levels), 0.0])


def _with_range(column: GowerColumn, values: Array) -> GowerColumn:
    found = column.stand_for(values)
    if not column.has_range or np.isnan(found).all():
        return column
    return replace(column, low=float(np.nanmin(found)), high=float(np.nanmax(found)))
