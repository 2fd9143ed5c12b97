"""Python values as JSON and arrays, and back: a closed set of types, so no code is ever run.

None, booleans, integers, texts, finite floats, lists and dictionaries with text keys are plain
JSON. Everything else is an object with one key that begins with `$`.
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.sparse_format import MAX_FEATURES, compressed_problems, is_sparse
from partita.safe_file.container import as_storable

MAX_PACKED_DEPTH = 20
MAX_UNPACKED_DEPTH = 2 * MAX_PACKED_DEPTH  # a `$dict` or `$tuple` adds levels
MAX_NAME_CHARACTERS = 100
_CSR_PARTS = ("data", "indices", "indptr")
_SEED_FIELDS = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
_NONFINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# the state of these is a few integers, and any integers are a valid state
_BIT_GENERATORS = ("PCG64", "PCG64DXSM")  # of numpy.random


class UnsupportedValueError(ValueError):
    """A value cannot be stored in a file."""


class Packer:
    """Convert values to JSON; `arrays` collects the arrays among them."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}

    def pack(self, value: Any, name: str, depth: int = 0) -> Any:
        """Return the value as JSON; arrays are named after `name`, the place of the value."""
        if depth > MAX_PACKED_DEPTH:
            raise UnsupportedValueError(f"{name} is nested too deeply")
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
            return {"$array": self._store(value, name)}
        if is_sparse(value) and value.format == "csr":
            return self._pack_csr(value, name)
        if isinstance(value, np.random.Generator):
            return {"$generator": self._pack_generator(value, name, depth)}
        raise UnsupportedValueError(f"{name} is {describe(value)}")

    def _pack_mapping(self, value: Mapping[Any, Any], name: str, depth: int) -> Any:
        deeper, items = depth + 1, value.items()
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {str(key): self.pack(item, f"{name}.{key}", deeper) for key, item in items}
        return {
            "$dict": [
                [self.pack(key, name, deeper), self.pack(item, f"{name}.{i}", deeper)]
                for i, (key, item) in enumerate(items)
            ]
        }

    def _pack_csr(self, value: Any, name: str) -> Any:
        parts = {part: self._store(getattr(value, part), f"{name}.{part}") for part in _CSR_PARTS}
        from scipy.sparse import sparray

        is_array = isinstance(value, sparray)
        return {"$csr": {**parts, "shape": list(value.shape), "array": is_array}}

    def _pack_generator(self, value: np.random.Generator, name: str, depth: int) -> Any:
        bit_generator: Any = value.bit_generator
        seeds: Any = getattr(bit_generator, "seed_seq", None)
        kind = type(bit_generator).__name__
        if kind not in _BIT_GENERATORS or type(seeds) is not np.random.SeedSequence:
            raise UnsupportedValueError(f"{name} is a generator with {kind}")
        fields = {field: getattr(seeds, field) for field in _SEED_FIELDS}
        return {
            "state": self.pack(bit_generator.state, name, depth + 1),
            "seeds": self.pack(fields, name, depth + 1),
        }

    def _store(self, value: Array, name: str) -> str:
        """Add an array, and return the name of its member."""
        stored = as_storable(value)
        if stored is None or stored.ndim > 2:
            shape = f"{value.dtype} with {value.ndim} axes"
            raise UnsupportedValueError(f"{name} is an array of {shape}")
        name = re.sub(r"[^A-Za-z0-9_.]", "_", name, flags=re.ASCII)[:MAX_NAME_CHARACTERS]
        name = ".".join(part or "_" for part in name.split("."))
        while name in self.arrays:
            name += "_"
        self.arrays[name] = stored
        return name


def unpack(value: Any, array: Callable[[str], Array], depth: int = 0) -> Any:
    """Return the value that was packed, or raise a ValueError; `array` returns arrays by name."""
    if depth > MAX_UNPACKED_DEPTH:
        raise ValueError("values are nested too deeply")

    def unpack_item(item: Any) -> Any:
        return unpack(item, array, depth + 1)

    if isinstance(value, list):
        return [unpack_item(item) for item in value]
    if not isinstance(value, dict):
        return value
    kinds = [key for key in value if key.startswith("$")]
    if not kinds:
        return {key: unpack_item(item) for key, item in value.items()}
    if len(value) == 1:
        kind, content = kinds[0], value[kinds[0]]
        if kind == "$array" and isinstance(content, str):
            return array(content)
        if kind == "$float" and content in list(_NONFINITE):
            return _NONFINITE[content]
        if kind == "$tuple" and isinstance(content, list):
            return tuple(unpack_item(item) for item in content)
        if kind == "$dict" and _are_pairs(content):
            return {unpack_item(key): unpack_item(item) for key, item in content}
        if kind == "$csr" and isinstance(content, dict):
            return _unpack_csr(content, array)
        if kind == "$generator" and isinstance(content, dict):
            return _unpack_generator(unpack_item(content))
    raise ValueError(f"a value of the kind {kinds[0]!r} is unknown or malformed")


def _are_pairs(content: Any) -> bool:
    """Return whether this is a list of pairs whose first item is hashable."""
    return isinstance(content, list) and all(
        isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str | int | float | None)
        for pair in content
    )


def _unpack_csr(content: dict[str, Any], array: Callable[[str], Array]) -> Any:
    from scipy.sparse import csr_array, csr_matrix

    names, shape = [content.get(part) for part in _CSR_PARTS], content.get("shape")
    if not all(isinstance(name, str) for name in names) or not (
        isinstance(shape, list) and len(shape) == 2 and all(type(n) is int for n in shape)
    ):
        raise ValueError("a sparse matrix is malformed")
    data, indices, indptr = (array(str(name)) for name in names)
    rows, columns = shape
    if rows < 0 or not 0 <= columns <= MAX_FEATURES or data.ndim != 1:
        raise ValueError("a sparse matrix is malformed")
    # SciPy does not check these, and would read outside the arrays
    problem = next(compressed_problems(indptr, indices, len(data), (rows, columns)), None)
    if problem or indptr[-1] != len(data):
        raise ValueError(f"a sparse matrix is malformed: {problem or 'values without an index'}")
    make = csr_array if content.get("array") is True else csr_matrix
    return make((data, indices, indptr), shape=(rows, columns))


def _unpack_generator(content: Any) -> np.random.Generator:
    try:
        state, seeds = dict(content["state"]), dict(content["seeds"])
        pool_size = seeds["pool_size"]
        if type(pool_size) is not int or not 4 <= pool_size <= 64:
            raise ValueError("a random generator has a seed pool of an unknown size")
        sequence = np.random.SeedSequence(**{field: seeds[field] for field in _SEED_FIELDS})
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError("a random generator is of an unknown kind")
        bit_generator = getattr(np.random, state["bit_generator"])(sequence)
        bit_generator.state = state
    except (KeyError, IndexError, TypeError, OverflowError, AttributeError) as error:
        raise ValueError(f"a random generator is malformed: {error}") from error
    return np.random.Generator(bit_generator)


def describe(value: Any) -> str:
    """Return the repr of a value without memory addresses, which change from run to run."""
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", repr(value))[:1000]
