"""The classes that model files may name: the built-in members, and those that are registered."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

from partita._common.parameters import describe_value

Member = TypeVar("Member", bound=type)

# Imported on demand. Nothing else is imported because a file names it.
_BUILT_IN = {
    "BalancedKMeans": "partita.estimators.balanced",
    "BisectingKMeans": "partita.estimators.bisecting",
    "KMeans": "partita.estimators.kmeans",
    "KernelKMeans": "partita.estimators.kernel.estimator",
    "KMedoids": "partita.estimators.medoids.estimator",
    "KPrototypes": "partita.estimators.prototypes.estimator",
    "MiniBatchKMeans": "partita.estimators.minibatch",
    "SphericalKMeans": "partita.estimators.spherical",
    "TrimmedKMeans": "partita.estimators.trimmed",
}
_REGISTERED: dict[str, type] = {}


def register(cls: Member) -> Member:
    """Register a class under its name, so that `save` and `load` accept its models.

    A class decorator. The class follows scikit-learn's contract; it describes itself by
    `__partita_capabilities__`, and may define `__partita_state__` and `__partita_restore__`
    (without them, `save` keeps the public attributes that end in an underscore).
    See docs/design/new_member.md.

    >>> import partita
    >>> @partita.register
    ... class Shifted(partita.KMeans):
    ...     pass
    """
    methods = ("fit", "predict", "get_params", "set_params")
    if not isinstance(cls, type) or not all(hasattr(cls, name) for name in methods):
        raise TypeError(
            f"`cls` must be the class of a clusterer with {', '.join(methods)}, got "
            f"{describe_value(cls)}."
        )
    name = cls.__name__
    known = _REGISTERED.get(name)
    redefined = known is None or _full_name(known) == _full_name(cls)  # a notebook cell run again
    if name in _BUILT_IN or not redefined:
        raise ValueError(
            f"The name {name!r} is taken by {_full_name(member_class(name))}. Rename the class."
        )
    _REGISTERED[name] = cls
    return cls


def registered_names() -> tuple[str, ...]:
    """The names of all classes that a model file may hold."""
    return (*_BUILT_IN, *_REGISTERED)


def is_registered(cls: type) -> bool:
    """Return whether models of exactly this class can be saved and loaded."""
    name = cls.__name__
    return name in registered_names() and member_class(name) is cls


def member_class(name: str) -> Any:
    """The class of this name; KeyError if it is not registered."""
    if name in _BUILT_IN:
        return getattr(importlib.import_module(_BUILT_IN[name]), name)
    return _REGISTERED[name]


def _full_name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
