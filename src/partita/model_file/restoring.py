"""Restore a fitted model from the values of a file; its class checks its own state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from partita._common.array_types import Array
from partita.estimators.registry import member_class
from partita.estimators.saved_state import restore_state
from partita.model_file.checked_fields import CheckedFields, FieldError
from partita.model_file.packed_values import unpack

_MAX_THREADS = 4096


class LazyValues(Mapping[str, Any]):
    """Packed values that are unpacked when read. A newer partita may add fields of other kinds."""

    def __init__(self, packed: Mapping[str, Any], array: Callable[[str], Array]) -> None:
        self._packed, self._array = packed, array
        self._unpacked: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._unpacked:
            self._unpacked[name] = unpack(self._packed[name], self._array)
        return self._unpacked[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)


def restored(name: str, parameters: dict[str, Any], values: Mapping[str, Any]) -> Any:
    """Return the fitted model; a FieldError or another ValueError if something is wrong."""
    cls = member_class(name)
    model = cls(**parameters)
    threads = getattr(model, "n_threads", None)
    if threads is not None and not (type(threads) is int and 1 <= threads <= _MAX_THREADS):
        raise FieldError(f"`n_threads` must be None or 1 to {_MAX_THREADS}, got {threads!r}.")
    restore_state(model, CheckedFields(values))
    d = getattr(model, "n_features_in_", None)
    if type(d) is not int or d < 1:
        raise FieldError(f"`n_features_in` must be an integer >= 1, got {d!r}.")
    return model
