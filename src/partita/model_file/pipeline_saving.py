"""Take the steps of a pipeline apart for a model file."""

from __future__ import annotations

from typing import Any

import numpy as np

from partita._common.array_types import Array
from partita._common.text import one_line, quoted
from partita.model_file.pipeline_steps import FORMATS, PASSTHROUGH, PipelineSteps, class_of
from partita.safe_file.container import ModelFileError
from partita.safe_file.packed_values import Packer, UnsupportedValueError, describe

_OPTIONAL_PARAMETERS = ("random_state",)  # of no use to a fitted transformer


def split_pipeline(model: Any) -> tuple[Any, PipelineSteps | None]:
    """Return the model of a pipeline, and the steps before it; None if it is no pipeline."""
    from sklearn.pipeline import Pipeline

    if type(model) is not Pipeline:
        return model, None
    *steps, (name, last) = model.steps
    for step_name, step in steps:
        _check_step(step_name, step)
    return last, PipelineSteps(tuple((n, _plain(step)) for n, step in steps), name, model.verbose)


def _plain(step: Any) -> Any:
    return PASSTHROUGH if step is None else step


def _check_step(name: str, step: Any) -> None:
    if step is None or (isinstance(step, str) and step == PASSTHROUGH):
        return
    kind = type(step).__name__
    if kind in FORMATS and type(step) is class_of(kind):
        return
    why = {
        "ColumnTransformer": "prepare the columns before the pipeline",
        "FunctionTransformer": "call the function before the pipeline, as a file holds no code",
    }.get(kind, "transform the rows before the pipeline")
    raise TypeError(
        f"a step of a pipeline must be one of {', '.join(FORMATS)}, got {quoted(name)}, a "
        f"{one_line(kind, 80)}. To save this model, {why}; or pickle it, if everyone who reads it "
        "trusts you."
    )


def pack_steps(pipeline: PipelineSteps, packer: Packer, dropped: dict[str, str]) -> dict[str, Any]:
    """Return the steps as JSON; `dropped` receives parameters that no file can hold."""
    from sklearn.utils.validation import check_is_fitted

    packed: list[dict[str, Any]] = []
    for i, (name, step) in enumerate(pipeline.steps):
        place = f"pipeline.steps.{i}"
        if step == PASSTHROUGH:
            packed.append({"name": name, "class": PASSTHROUGH})
            continue
        check_is_fitted(step)
        if getattr(step, "add_indicator", False):
            raise ModelFileError(
                f"this model cannot be saved: the step {quoted(name)} has add_indicator=True, "
                "which adds columns. Use add_indicator=False."
            )
        values: dict[str, Any] = {"n_features_in": step.n_features_in_, **_fitted_values(step)}
        packed.append(
            {
                "name": name,
                "class": type(step).__name__,
                "parameters": _pack_parameters(step, name, packer, place, dropped),
                "fitted": packer.pack(values, place),
            }
        )
    return {"steps": packed, "model": pipeline.model_name, "verbose": bool(pipeline.verbose)}


def _pack_parameters(
    step: Any, name: str, packer: Packer, place: str, dropped: dict[str, str]
) -> dict[str, Any]:
    parameters = {}
    for key, value in step.get_params(deep=False).items():
        try:
            parameters[key] = packer.pack(value, f"{place}.parameters.{key}")
        except UnsupportedValueError as error:
            if key not in _OPTIONAL_PARAMETERS:
                raise ModelFileError(
                    f"this model cannot be saved, because the step {quoted(name)} needs "
                    f"{key}={describe(value)[:200]}, which no file can hold."
                ) from error
            dropped[f"{name}__{key}"] = describe(value)
    return parameters


def _fitted_values(step: Any) -> dict[str, Any]:
    form = FORMATS[type(step).__name__]
    names = (*form.arrays, *form.numbers, *form.counts)
    values: dict[str, Any] = {name: getattr(step, f"{name}_", None) for name in names}
    if "statistics" in values:
        values["statistics"] = _as_numbers(values["statistics"])
        values["dtype"] = str(step._fit_dtype if hasattr(step, "_fit_dtype") else np.dtype(float))
    if hasattr(step, "feature_names_in_"):
        values["feature_names"] = [str(name) for name in step.feature_names_in_]
    if hasattr(step, "_sklearn_output_config"):
        values["output"] = dict(step._sklearn_output_config)
    return {name: value for name, value in values.items() if value is not None}


def _as_numbers(statistics: Array) -> Array:
    """Return statistics of objects, as constants have them, as floats."""
    if statistics.dtype != object:
        return statistics
    try:
        floats = statistics.astype(np.float64)
        same = all(a == b or a != a for a, b in zip(statistics, floats.tolist(), strict=True))
    except (TypeError, ValueError):
        same = False
    if not same:
        raise ModelFileError("this model cannot be saved: an imputer fills in values of no float.")
    return floats
