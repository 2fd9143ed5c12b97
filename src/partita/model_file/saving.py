"""`save`: write a fitted model to a file."""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

import partita
from partita._common.array_types import Floats
from partita._common.number_arrays import as_float_array
from partita._common.parameters import (
    FLAG,
    KEYWORDS,
    TEXT,
    Got,
    check,
    check_items,
    check_path,
    describe_value,
    having,
    must_be,
    optional,
)
from partita._versions import versions
from partita.estimators.fitted_models import check_fitted, count_clusters
from partita.estimators.registry import is_registered, registered_names
from partita.estimators.saved_state import state_of
from partita.model_file.group_naming import check_group_names
from partita.model_file.loading import (
    FORMAT,
    PIPELINE_VERSION,
    READABLE_BY,
    VERSION,
    assemble,
    planned_categories,
)
from partita.safe_file.container import ModelFileError, write_container
from partita.safe_file.packed_values import Packer, UnsupportedValueError, describe

_SCALING_ARRAYS = "center", "scale"
_REFERENCE_FIELDS = "reach", "share", "mean", "deviation", "rows"
_LIMITS = "low", "high"  # may be infinite
_RULES = {
    "scaling": optional(having("kind", *_SCALING_ARRAYS, wanted="a Scaling")),
    "fingerprint": optional(TEXT),
    "note": optional(TEXT),
    "plan": optional(KEYWORDS),
}
_VERSIONS_SAVED = ("python", "numpy", "scipy", "scikit-learn", "machine", "kernel")


def save(
    model: Any,
    path: str | Path,
    *,
    scaling: Any = None,
    fill: Any = None,
    names: Any = None,
    group_names: Any = None,
    plan: Any = None,
    note: str | None = None,
    fingerprint: str | None = None,
    fitted_to: Any = None,
    sample_weight: Any = None,
    labels: bool = True,
    force: bool = False,
) -> None:
    """Write a fitted model to a file that `load` reads without executing anything.

    Parameters
    ----------
    model : KMeans, MiniBatchKMeans, SphericalKMeans, KMedoids or KernelKMeans
        Fitted; a scikit-learn Pipeline whose last step is one of them; or the result of `load`.
        Steps before it may be StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler,
        Normalizer, SimpleImputer, PCA or TruncatedSVD.
    path : str or Path
        The file, usually with the suffix .partita. It is written atomically.
    scaling : Scaling or None
        The scaling of the rows before the fit: an object with `kind`, `center` and `scale`. None
        for a pipeline, like `fill`.
    fill : array of shape (n_features,) or None
        The values that replaced missing ones.
    names : sequence of str or None
        The names of the columns of the features.
    group_names : sequence of str, mapping from int to str, or None
        The names of the clusters, by number: one line each, of at most 200 characters, and
        distinct. With a mapping, others keep the name that the file of the model gave them.
    plan : dict or None
        How the rows were prepared, as JSON.
    note : str or None
        A remark, for example the command that made the model.
    fingerprint : str or None
        `fingerprint(X, sample_weight)` of the data.
    fitted_to : array, sparse matrix or data frame, optional
        The rows of the fit, as the model takes them (or their `FitReference`). A few numbers of
        them are stored, by which `compare_with_fit` and `partita predict` find rows that are unlike
        anything in the fit.
    sample_weight : array of shape (n_samples,), optional
        The weights of these rows.
    labels : bool, default=True
        Whether to store `labels_`, one integer for each row of the fit.
    force : bool, default=False
        Whether to replace an existing file.

    `halt`, `callback` and a callable `init` are code and are left out: the header lists them under
    `dropped`. A model that needs code to label rows (a callable metric or kernel) is refused. The
    other contents of the file of a loaded model are written again, unless it was fitted since.

    Examples
    --------
    >>> import tempfile
    >>> from partita import KMeans, load, save
    >>> model = KMeans(2, random_state=0).fit([[1, 2], [1, 4], [10, 2], [10, 4]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/a.partita", note="two heights, two widths")
    ...     again = load(f"{folder}/a.partita")
    >>> again.predict([[0, 3]]) == model.predict([[0, 3]]), again.saved_.note
    (array([ True]), 'two heights, two widths')
    """
    from sklearn.utils.validation import check_is_fitted

    from partita.model_file.pipeline_saving import pack_steps, split_pipeline
    from partita.model_file.preparation import without_preparation

    path = check_path("path", path)
    check("labels", labels, FLAG)
    check("force", force, FLAG)
    reference = _reference(model, fitted_to, sample_weight)
    model, first = without_preparation(model)
    model, steps = split_pipeline(model)
    _check_class(model)
    check_is_fitted(model)
    packer = Packer()
    contents = _pack_model(model, labels, packer)
    metadata = {"names": names, "scaling": scaling, "fill": fill}
    metadata |= {"fingerprint": fingerprint, "note": note, "plan": plan}
    metadata["reference"] = reference
    if steps is not None:
        contents["pipeline"] = pack_steps(steps, packer, contents["dropped"])
        metadata["names"] = steps.feature_names if names is None else names
    width = None if steps is None else steps.n_features_in
    metadata = _pack_metadata(metadata, model, first, width or model.n_features_in_, packer)
    header: dict[str, Any] = {
        "format": FORMAT,
        "format_version": VERSION if steps is None else PIPELINE_VERSION,
        "readable_by": READABLE_BY,
        "class": type(model).__name__,
        "partita": partita.__version__,
        "versions": {name: versions()[name] for name in _VERSIONS_SAVED},
        "created": _now(),
        "group_names": _group_names(model, group_names),
        **metadata,
        **contents,
        "extra": {},
    }
    try:  # only what can be read is written
        assemble(header, packer.arrays.__getitem__)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"this model cannot be saved: {error}") from error
    write_container(path, header, packer.arrays, force)


def _group_names(model: Any, group_names: Any) -> list[str | None] | None:
    """Return the names of the clusters, given or of the file of the model."""
    names = known = getattr(getattr(model, "saved_", None), "group_names", None)
    if group_names is not None:
        names = check_group_names(group_names, count_clusters(model), known)
    return None if names is None else list(names)


def _pack_model(model: Any, labels: bool, packer: Packer) -> dict[str, Any]:
    """Return the parameters and the result of the fit, and what a file cannot hold of them."""
    state = state_of(model)
    values = {name: v for name, v in state.values.items() if labels or name != "labels"}
    parameters, dropped = _pack_all(_parameters(model), state.needed, packer, "parameters.")
    fitted, dropped_values = _pack_all(values, set(values) - state.optional, packer)
    covered = {f"{name}_" for name in state.values} | state.covered | {"saved_"}
    unknown = sorted(set(vars(model)) - covered - set(parameters) - set(dropped))
    dropped |= dropped_values | dict.fromkeys(
        unknown, "an attribute that is not part of the format"
    )
    return {"parameters": parameters, "dropped": dropped, "fitted": fitted}


def _check_class(model: Any) -> None:
    kind = type(model)
    if not is_registered(kind):
        raise TypeError(
            f"`model` must be a fitted {', '.join(registered_names())}, got "
            f"{describe_value(model)} of the class {kind.__module__}.{kind.__name__}. A class "
            "of your own needs partita.register."
        )


def _pack_metadata(
    metadata: dict[str, Any], model: Any, first: Any, d: int, packer: Packer
) -> dict[str, Any]:
    """Convert the rest of the header to JSON.

    The default is the value of the pipeline's first step, or of the file of the model.
    """
    saved = getattr(model, "saved_", None)
    for name in [name for name, value in metadata.items() if value is None]:
        source = first if first is not None and hasattr(first, name) else saved
        metadata[name] = getattr(source, name, None)
    for name, rule in _RULES.items():
        check(name, metadata[name], rule)
    names, scaling, fill = (metadata[name] for name in ("names", "scaling", "fill"))
    if names is not None:
        names = list(map(str, check_items("names", names, d, "names, one for each feature")))
        if len(set(names)) < len(names):
            raise ModelFileError("`names` must be distinct, got a name twice.")
    p = d - len(planned_categories(metadata["plan"], names))  # columns of numbers
    if scaling is not None:
        scaling = packer.pack(_scaling_fields(scaling, p), "scaling")
    if fill is not None:
        fill = packer.pack(_numbers("fill", fill, p), "fill")
    reference = metadata["reference"]
    if reference is not None:
        fields = {name: getattr(reference, name) for name in _REFERENCE_FIELDS}
        reference = packer.pack(fields, "reference")
    packed = {"names": names, "scaling": scaling, "fill": fill, "reference": reference}
    return {**metadata, **packed}


def _reference(model: Any, fitted_to: Any, sample_weight: Any) -> Any:
    """Return the `FitReference` of the rows of the fit; None if there are none."""
    from partita.new_rows.compare_with_fit import reference_of
    from partita.new_rows.fit_reference import FitReference

    if fitted_to is None or isinstance(fitted_to, FitReference):
        return fitted_to
    check_fitted(model)
    return reference_of(model, fitted_to, sample_weight)


def _scaling_fields(scaling: Any, d: int) -> dict[str, Any]:
    parts = {part: _numbers("scaling", getattr(scaling, part), d) for part in _SCALING_ARRAYS}
    if getattr(scaling, "logged", None) is not None:
        parts["logged"] = np.asarray(scaling.logged, dtype=np.float64)
        parts["offset"] = _numbers("scaling", scaling.offset, d)
        for part in _LIMITS:
            parts[part] = np.asarray(getattr(scaling, part), dtype=np.float64)
    return {"kind": str(scaling.kind), **parts}


def _numbers(name: str, value: Any, d: int) -> Floats:
    wanted = f"{'a Scaling of ' * (name == 'scaling')}{d} finite numbers, one for each feature"
    values = as_float_array(name, value, wanted)
    if values.shape != (d,):
        raise must_be(name, wanted, Got(f"an array of shape {values.shape}"))
    return values


def _pack_all(
    values: dict[str, Any], required: Collection[str], packer: Packer, prefix: str = ""
) -> tuple[dict[str, Any], dict[str, str]]:
    """Pack values; return them, and the repr of those that no file can hold."""
    packed: dict[str, Any] = {}
    dropped: dict[str, str] = {}
    for name, value in values.items():
        try:
            packed[name] = packer.pack(value, f"{prefix}{name}")
        except UnsupportedValueError as error:
            if name in required:
                raise ModelFileError(
                    f"this model cannot be saved, because it needs {name}={describe(value)[:200]}, "
                    "which no file can hold. Use a named metric or kernel, or 'precomputed' with a "
                    "matrix; or pickle the model, if everyone who reads it trusts you."
                ) from error
            dropped[name] = describe(value)
    return packed, dropped


def _parameters(model: Any) -> dict[str, Any]:
    """Return the parameters; a model as `init` is replaced by its centers."""
    parameters: dict[str, Any] = model.get_params()
    init = parameters.get("init")
    if hasattr(init, "get_params"):
        centers = (getattr(init, name, None) for name in ("medoid_indices_", "cluster_centers_"))
        parameters["init"] = next((values for values in centers if values is not None), init)
    elif not (init is None or isinstance(init, str) or callable(init)):
        parameters["init"] = np.asarray(init)
    return parameters


def _now() -> str:
    """Return the time in UTC; SOURCE_DATE_EPOCH fixes it, for reproducible files."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    seconds = int(fixed) if fixed.isdecimal() and len(fixed) < 12 else time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
