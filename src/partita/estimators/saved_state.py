"""The fitted state of a model as plain values by name, for model files.

A class may define two methods. `__partita_state__(self) -> SavedState` returns the values: numbers,
texts, lists, tuples, dictionaries, arrays, CSR matrices, NumPy generators.
`__partita_restore__(self, fields)` sets the attributes of an unfitted model from `FieldReader`,
and raises ValueError if something is wrong; it must check everything on which memory safety
depends. For a class without these methods, the public attributes that end in an underscore are
saved and restored as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol

import numpy as np

from partita._common.array_types import Array
from partita.halting import StopReason
from partita.run_record import SearchRecord
from partita.stats import ClusterStats
from partita.trace import Progress, Trace

_FEATURE_NAMES = "feature_names_in_"
_OUTPUT_CONTAINERS = ("default", "pandas", "polars")


@dataclass(frozen=True, slots=True)
class SavedState:
    """The part of a fit that a model file keeps."""

    values: dict[str, Any]
    covered: frozenset[str] = frozenset()  # attributes that the values stand for
    optional: frozenset[str] = frozenset()  # values that may be left out if no file can hold them
    needed: frozenset[str] = frozenset()  # parameters without which rows get other labels


class FieldReader(Protocol):
    """Values of a file by name; every method checks what it returns and raises ValueError."""

    def has(self, name: str) -> bool: ...
    def nested(self, name: str) -> FieldReader: ...
    def flag(self, name: str) -> bool: ...
    def integer(self, name: str, least: int = 0, most: int = ...) -> int: ...
    def number(self, name: str, least: float = ..., finite: bool = False) -> float: ...
    def text(self, name: str) -> str: ...
    def texts(self, name: str, length: int | None = None) -> list[str]: ...
    def mapping(self, name: str) -> dict[Any, Any]: ...
    def pair(self, name: str) -> tuple[float, float]: ...
    def generator(self, name: str) -> np.random.Generator: ...
    def columns(self, name: str, kinds: Mapping[str, str]) -> list[dict[str, Any]]: ...
    def floats(self, name: str, shape: Any, *, finite: bool = True) -> Array: ...
    def rows(self, name: str, shape: Any, *, gaps: bool = False) -> Any: ...
    def numbers(self, name: str, shape: Any) -> Array: ...
    def ints(self, name: str, shape: Any, least: int, most: int) -> Array: ...
    def everything(self) -> dict[str, Any]: ...


def state_of(model: Any) -> SavedState:
    """The state of a fitted model."""
    if hasattr(model, "__partita_state__"):
        state: SavedState = model.__partita_state__()
        return state
    values = {
        name[:-1]: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name != "saved_"
    }
    if hasattr(model, _FEATURE_NAMES):
        values[_FEATURE_NAMES[:-1]] = [str(name) for name in model.feature_names_in_]
    return SavedState(values)


def restore_state(model: Any, fields: FieldReader) -> None:
    """Give an unfitted model its state."""
    if hasattr(model, "__partita_restore__"):
        model.__partita_restore__(fields)
        return
    for name, value in fields.everything().items():
        if not name.isidentifier() or name.startswith("_"):
            raise ValueError(f"{name!r} is not the name of an attribute")
        setattr(model, f"{name}_", value)
    if hasattr(model, _FEATURE_NAMES):
        model.feature_names_in_ = np.array(fields.texts(_FEATURE_NAMES[:-1]), dtype=object)


# --- the part that all built-in members share -----------------------------------------------------

_PLAIN_ATTRIBUTES = ("n_features_in", "n_iter", "stopped_by", "paths", "inertia")
_RUN_FIELDS = ("n_iter", "trace", "stopped_by", "paths")  # none after `partial_fit`
_COVERED_ATTRIBUTES = frozenset(
    {"trace_", _FEATURE_NAMES, "_n_features_out", "_sklearn_output_config"}
)


def common_state(model: Any, own: tuple[str, ...]) -> SavedState:
    """The state of any built-in member; `own` are names of further attributes, without `_`."""
    have = vars(model)
    values = {name: have[f"{name}_"] for name in (*_PLAIN_ATTRIBUTES, *own) if f"{name}_" in have}
    if "stopped_by" in values:
        values["stopped_by_kinds"] = list(getattr(model.stopped_by_, "kinds", ()))
    if "trace_" in have:
        values["trace"] = model.trace_.to_dict()
    if isinstance(have.get("labels_"), np.ndarray):  # lazy ones would read all rows again
        values["labels"] = model.labels_
    if _FEATURE_NAMES in have:
        values["feature_names"] = [str(feature) for feature in model.feature_names_in_]
    if "_sklearn_output_config" in have:
        values["output"] = dict(model._sklearn_output_config)
    if "stats_" in have:
        names = [field.name for field in fields(ClusterStats)]
        values["stats"] = {name: getattr(model.stats_, name) for name in names}
    return SavedState(values, _COVERED_ATTRIBUTES, optional=frozenset({"generator"}))


def restore_common(model: Any, saved: FieldReader) -> int:
    """Restore what all built-in members have, except labels; return the number of features."""
    d = saved.integer("n_features_in", 1)
    model.n_features_in_, model.inertia_ = d, saved.number("inertia")
    if len({saved.has(name) for name in _RUN_FIELDS}) > 1:
        raise ValueError(f"{', '.join(_RUN_FIELDS)} must all be there, or none of them")
    if saved.has("n_iter"):
        model.n_iter_ = saved.integer("n_iter")
    if saved.has("trace"):
        kinds = {field.name: str(field.type) for field in fields(Progress)}
        model.trace_ = Trace(tuple(Progress(**row) for row in saved.columns("trace", kinds)))
    if saved.has("stopped_by"):
        kinds_of_reason = saved.texts("stopped_by_kinds") if saved.has("stopped_by_kinds") else ()
        model.stopped_by_ = StopReason(saved.text("stopped_by"), *kinds_of_reason)
    if saved.has("paths"):
        model.paths_ = tuple(saved.texts("paths"))
    if saved.has("feature_names"):
        model.feature_names_in_ = np.array(saved.texts("feature_names", d), dtype=object)
    if saved.has("output"):
        model._sklearn_output_config = output_config(saved)
    return d


def output_config(saved: FieldReader) -> dict[str, str]:
    """Return the container that `set_output` chose."""
    config = saved.mapping("output")
    if any(key != "transform" or value not in _OUTPUT_CONTAINERS for key, value in config.items()):
        raise ValueError(f"output must name a container for transform, got {config!r}")
    return config


def restored_stats(saved: FieldReader, k: int, d: int | None, least: float = 0.0) -> ClusterStats:
    """The summaries of k clusters; no sse is below `least`."""
    stats = saved.nested("stats")
    weight = stats.floats("weight", (k,))
    sse = stats.floats("sse", (k,), finite=False)
    if (weight < 0).any() or (sse < least).any():
        raise ValueError("stats has a weight or an sse below zero")
    return ClusterStats(weight, stats.floats("mean", (k, d)), sse)


def search_state(model: Any) -> dict[str, Any]:
    """Return the record of a search by columns, for a model file."""
    if not getattr(model, "search_", ()):
        return {}
    names = [field.name for field in fields(SearchRecord)]
    rows = [asdict(record) for record in model.search_]
    return {"search": {name: [row[name] for row in rows] for name in names}}


def restore_search(model: Any, saved: FieldReader) -> None:
    """Set `search_` from a model file."""
    kinds = {field.name: str(field.type) for field in fields(SearchRecord)}
    rows = saved.columns("search", kinds) if saved.has("search") else []
    model.search_ = tuple(SearchRecord(**row) for row in rows)
