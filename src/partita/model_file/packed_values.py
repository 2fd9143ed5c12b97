"""Values of Python as JSON and arrays, and back: a closed set of kinds, so no code is ever run.

None, true and false, whole numbers, texts, finite numbers and lists are those of JSON; so is a
dictionary whose keys are texts. All else is an object with one key that begins with `$`.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array
from partita.model_file.container import as_storable

_DEEP = 20  # dictionaries in dictionaries
_STRANGE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# generators whose state is a handful of numbers, any of which is a state
_ENGINES = {"PCG64": np.random.PCG64, "PCG64DXSM": np.random.PCG64DXSM}


class UnsupportedValueError(ValueError):
    """A value that has no place in a file."""


class Packer:
    """Turns values to JSON; `arrays` has what is too large for it."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def pack(self, value: Any, name: str, depth: int = 0) -> Any:
        """The value as JSON; `name` is where it belongs, and what arrays are called by."""
        if depth > _DEEP:
            raise UnsupportedValueError(f"{name} is too deep")
        if value is None or isinstance(value, bool | np.bool_):
            return None if value is None else bool(value)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, numbers.Integral):
            return int(value)
        if isinstance(value, float | np.floating):
            number = float(value)
            return number if math.isfinite(number) else {"$float": str(number)}
        if isinstance(value, list | tuple):
            items = [self.pack(item, f"{name}.{i}", depth + 1) for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"$tuple": items}
        if isinstance(value, Mapping):
            return self._pack_mapping(value, name, depth)
        if isinstance(value, np.ndarray):
            return {"$array": self._keep(value, name)}
        if sp.issparse(value) and value.format == "csr":
            return self._pack_csr(value, name)
        if isinstance(value, np.random.Generator):
            return {"$generator": self._pack_generator(value, name, depth)}
        raise UnsupportedValueError(f"{name} is {describe(value)}")

    def _pack_mapping(self, value: Mapping[Any, Any], name: str, depth: int) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {
                str(key): self.pack(item, f"{name}.{key}", depth + 1) for key, item in value.items()
            }
        pairs = [
            [self.pack(key, name, depth + 1), self.pack(item, f"{name}.{i}", depth + 1)]
            for i, (key, item) in enumerate(value.items())
        ]
        return {"$dict": pairs}

    def _pack_csr(self, value: Any, name: str) -> Any:
        parts = {part: self._keep(getattr(value, part), f"{name}.{part}") for part in _PARTS}
        return {
            "$csr": {**parts, "shape": list(value.shape), "array": isinstance(value, sp.sparray)}
        }

    def _pack_generator(self, value: np.random.Generator, name: str, depth: int) -> Any:
        engine: Any = value.bit_generator
        seeds: Any = getattr(engine, "seed_seq", None)
        if type(engine).__name__ not in _ENGINES or type(seeds) is not np.random.SeedSequence:
            raise UnsupportedValueError(f"{name} is a generator by {type(engine).__name__}")
        family = {
            part: getattr(seeds, part)
            for part in ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        }
        return {
            "state": self.pack(engine.state, name, depth + 1),
            "seeds": self.pack(family, name, depth + 1),
        }

    def _keep(self, value: Array, name: str) -> str:
        kept = as_storable(value)
        if kept is None or kept.ndim > 2:
            raise UnsupportedValueError(
                f"{name} is an array of {value.dtype} with {value.ndim} axes"
            )
        name = re.sub(r"[^A-Za-z0-9_.]", "_", name, flags=re.ASCII)[:100]
        name = ".".join(part or "_" for part in name.split("."))
        while name in self.arrays:
            name += "_"
        self.arrays[name] = kept
        return name


_PARTS = ("data", "indices", "indptr")


def unpack(value: Any, array: Callable[[str], Array], depth: int = 0) -> Any:
    """The value that was packed; `array` gives an array by its name. ValueError: there is none."""
    if depth > 2 * _DEEP:
        raise ValueError("values are too deep")

    def inside(item: Any) -> Any:
        return unpack(item, array, depth + 1)

    if isinstance(value, list):
        return [inside(item) for item in value]
    if not isinstance(value, dict):
        return value
    kinds = [key for key in value if key.startswith("$")]
    if not kinds:
        return {key: inside(item) for key, item in value.items()}
    kind, content = kinds[0], value[kinds[0]]
    if len(value) == 1 and kind == "$array" and isinstance(content, str):
        return array(content)
    if len(value) == 1 and kind == "$float" and content in list(_STRANGE):
        return _STRANGE[content]
    if len(value) == 1 and kind == "$tuple" and isinstance(content, list):
        return tuple(inside(item) for item in content)
    if len(value) == 1 and kind == "$dict" and _are_pairs(content):
        return {inside(key): inside(item) for key, item in content}
    if len(value) == 1 and kind == "$csr" and isinstance(content, dict):
        return _unpack_csr(content, array)
    if len(value) == 1 and kind == "$generator" and isinstance(content, dict):
        return _unpack_generator(inside(content))
    raise ValueError(f"a value of the kind {kind!r} is not known, or is not well formed")


def _are_pairs(content: Any) -> bool:
    """Keys must be such that a dictionary takes them."""
    return isinstance(content, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float | None)
        for pair in content
    )


def _unpack_csr(content: dict[str, Any], array: Callable[[str], Array]) -> Any:
    names, shape = [content.get(part) for part in _PARTS], content.get("shape")
    if not all(isinstance(name, str) for name in names) or not (
        isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    ):
        raise ValueError("a sparse matrix is not well formed")
    data, indices, indptr = (array(str(name)) for name in names)
    rows, columns = shape
    # SciPy trusts these numbers, and would read beyond the arrays
    if not (
        data.ndim == indices.ndim == indptr.ndim == 1
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and 0 <= columns < 2**31
        and len(indptr) == rows + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and (indptr[1:] >= indptr[:-1]).all()  # differences may wrap around
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < columns))
    ):
        raise ValueError("a sparse matrix points outside of itself")
    make = sp.csr_array if content.get("array") is True else sp.csr_matrix
    return make((data, indices, indptr), shape=(rows, columns))


def _unpack_generator(content: dict[str, Any]) -> np.random.Generator:
    if not isinstance(content, dict):
        raise ValueError("a generator of random numbers is not well formed")
    state, seeds = content.get("state"), content.get("seeds")
    if not isinstance(state, dict) or state.get("bit_generator") not in _ENGINES:
        raise ValueError("a generator of random numbers is not known")
    if not isinstance(seeds, dict):
        raise ValueError("a generator of random numbers has no seeds")
    wanted = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
    if not 4 <= _number(seeds.get("pool_size")) <= 64:
        raise ValueError("a generator of random numbers has seeds of an unknown size")
    try:
        family = np.random.SeedSequence(**{name: seeds[name] for name in wanted})
        engine = _ENGINES[state["bit_generator"]](family)
        engine.state = state
    except (KeyError, IndexError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"a generator of random numbers is not well formed: {error}") from error
    return np.random.Generator(engine)


def _number(value: Any) -> int:
    return value if type(value) is int else -1


def describe(value: Any) -> str:
    """What a value is, in words that do not change from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))[:1000]
