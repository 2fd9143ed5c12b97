"""Put the steps of a pipeline together from a model file.

A transformer is restored by its own `fit` on two rows, which checks its parameters and makes its
private attributes; then the saved attributes replace those of that fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array
from partita.estimators.saved_state import output_config
from partita.model_file.pipeline_steps import FORMATS, PASSTHROUGH, PipelineSteps, class_of
from partita.safe_file.checked_fields import CheckedFields, FieldError
from partita.safe_file.packed_values import unpack

MAX_STEPS = 30
MAX_ROWS_SEEN = 2**62
_PIPELINE_PARAMETERS = ("steps", "memory", "verbose", "transform_input")  # no names of steps
_IMPUTED_DTYPES = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64",
                   "uint32", "uint16", "uint8")  # fmt: skip
_FLAGS = {"PCA": ("whiten",)}  # parameters of those without a fit that transforming reads


class _ReadStep(NamedTuple):
    """A step of a file whose arrays are checked."""

    name: str
    class_name: str
    parameters: dict[str, Any]
    fields: CheckedFields
    arrays: dict[str, Array]
    n_in: int
    n_out: int


def restore_steps(
    packed: CheckedFields, array: Callable[[str], Array], width: int
) -> PipelineSteps:
    """Return the steps of a file before a model of `width` features.

    The widths of all steps are compared before anything is made of them, so nothing is larger than
    the arrays of the file.
    """
    read = [_read_step(record, array) for record in packed.records("steps", MAX_STEPS)]
    names = [*(step.name for step in read), packed.text("model")]
    _check_names(names)
    for step in reversed(read):
        if step.class_name == PASSTHROUGH:
            continue
        if step.n_out != width:
            raise FieldError(f"a step gives {step.n_out} features, but the next takes {width}")
        width = step.n_in
    steps = tuple((step.name, _restored(step)) for step in read)
    return PipelineSteps(steps, names[-1], packed.flag("verbose"))


def _check_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise FieldError("two steps have the same name")
    for name in names:
        if not name or "__" in name or name in _PIPELINE_PARAMETERS:
            raise FieldError(f"a step cannot be called {name[:80]!r}")


def _read_step(record: CheckedFields, array: Callable[[str], Array]) -> _ReadStep:
    name, class_name = record.text("name"), record.text("class")
    if class_name == PASSTHROUGH:
        return _ReadStep(name, class_name, {}, record, {}, 0, 0)
    if class_name not in FORMATS:
        raise FieldError(f"a step is a {class_name[:80]!r}, not one of {', '.join(FORMATS)}")
    form = FORMATS[class_name]
    packed = record.mapping("parameters")
    parameters = {str(key): unpack(value, array) for key, value in packed.items()}
    fields = record.unpacked("fitted", lambda value: unpack(value, array))
    n_in = fields.integer("n_features_in", 1)
    r = len(fields.numbers("components", (None, n_in))) if "components" in form.arrays else None
    arrays = {
        key: fields.numbers(key, tuple({"d": n_in, "r": r}[axis] for axis in axes))
        for key, axes in form.arrays.items()
        if fields.has(key) or _is_needed(key, form.needed_by, parameters)
    }
    if form.divisor in arrays and (arrays[form.divisor] <= 0).any():
        raise FieldError(f"{form.divisor} has values that are not positive")
    n_out = n_in if r is None else r
    if fields.has("n_components") and fields.integer("n_components") != r:
        raise FieldError(f"n_components is not the number of components, {r}")
    if class_name == "SimpleImputer" and not parameters.get("keep_empty_features"):
        n_out = int((~np.isnan(arrays["statistics"])).sum())
    if n_out == 0:
        raise FieldError("a step gives no features")
    return _ReadStep(name, class_name, parameters, fields, arrays, n_in, n_out)


def _is_needed(array: str, needed_by: Any, parameters: dict[str, Any]) -> bool:
    return array not in needed_by or parameters.get(needed_by[array], True) is not False


def _restored(step: _ReadStep) -> Any:
    """Return the fitted transformer."""
    if step.class_name == PASSTHROUGH:
        return PASSTHROUGH
    form, transformer = FORMATS[step.class_name], class_of(step.class_name)()
    unknown = set(step.parameters) - set(transformer.get_params())
    if unknown:
        raise FieldError(
            f"{step.class_name} has no parameter {sorted(unknown)[0][:80]!r} in this scikit-learn"
        )
    transformer.set_params(**step.parameters)
    for flag in _FLAGS.get(step.class_name, ()):
        if not isinstance(getattr(transformer, flag), bool):
            raise FieldError(f"{flag} must be true or false")
    if form.is_refitted:
        _fit_to_two_rows(transformer, step)
    _set_attributes(transformer, step)
    return transformer


def _fit_to_two_rows(transformer: Any, step: _ReadStep) -> None:
    dtype = "float64"
    if step.class_name == "SimpleImputer":
        dtype = step.fields.text("dtype")
        if dtype not in _IMPUTED_DTYPES or getattr(transformer, "add_indicator", False):
            raise FieldError("an imputer is of a kind that is not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a value may mean that it is missing
        transformer.fit(np.ones((2, step.n_in), dtype))


def _set_attributes(transformer: Any, step: _ReadStep) -> None:
    form, fields = FORMATS[step.class_name], step.fields
    for key in form.arrays:
        value: Any = step.arrays.get(key)
        if key == "statistics":  # scikit-learn keeps constants as objects
            value = value.astype(transformer.statistics_.dtype, copy=False)
        setattr(transformer, f"{key}_", value)
    for key in (*form.numbers, *form.counts):
        if fields.has(key):
            setattr(transformer, f"{key}_", _number(fields, key, step.n_in))
    transformer.n_features_in_ = step.n_in
    if fields.has("feature_names"):
        names = fields.texts("feature_names", step.n_in)
        transformer.feature_names_in_ = np.array(names, dtype=object)
    if fields.has("output"):
        transformer._sklearn_output_config = output_config(fields)


def _number(fields: CheckedFields, name: str, d: int) -> Any:
    """Return a number >= 0, or one for each feature."""
    value = fields.everything()[name]
    if isinstance(value, np.ndarray):
        return fields.numbers(name, (d,))
    return fields.integer(name, 0, MAX_ROWS_SEEN) if type(value) is int else fields.number(name, 0)
