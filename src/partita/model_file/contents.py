"""The contents of a model file as values, read without the class of the model."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita._common.parameters import is_integer
from partita.certificates.certificate import Certificate
from partita.estimators.center_model import GEOMETRY_OF_CLASS
from partita.estimators.saved_certificate import restored_certificate
from partita.geometry import SPHERICAL
from partita.model_file.loading import Header, LazyValues, ReadArray, Saved, read_file, read_saved
from partita.safe_file.checked_fields import CheckedFields, FieldError
from partita.safe_file.packed_values import unpack
from partita.source.column_table import category_text
from partita.source.raw_rows import as_doubles

MAX_ROW = 2**62  # an index of a row


@dataclass(frozen=True, slots=True, eq=False)
class ModelContents:
    """The facts about a model in its file; None where the file has none."""

    class_name: str
    n_features: int
    n_clusters: int
    feature_names: tuple[str, ...] | None  # those that `fit` saw, or of the columns of a file
    centers: Floats | None  # (k, d) as the model was fitted; None if they have no coordinates
    are_directions: bool  # the centers
    weights: Floats | None  # (k,) of the rows of each cluster
    objective: float | None
    starts: int | None  # of which it is the best
    iterations: int | None
    stopped_by: str | None
    certificate: Certificate | None
    saved: Saved
    mixed: MixedCenters | None = None  # in place of `centers`, if there are categories


@dataclass(frozen=True, slots=True, eq=False)
class MixedCenters:
    """Centers of a table of numbers and categories."""

    number_names: tuple[str, ...]
    numbers: Floats  # (k, p) as the model was fitted, NaN where missing
    categories: Mapping[str, tuple[str, ...]]  # by column (k,), as texts


def read_contents(path: str | Path) -> ModelContents:
    """Return the contents of a model file; `ModelFileError` if they are not valid.

    >>> import tempfile
    >>> from partita import KMeans, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KMeans(2, random_state=0).fit([[1], [2], [9]]), f"{folder}/a.partita")
    ...     read_contents(f"{folder}/a.partita").weights
    array([2., 1.])
    """
    return read_file(path, _contents)


def _contents(header: Header, array: ReadArray) -> ModelContents:
    top = CheckedFields(header)
    fields = CheckedFields(LazyValues(top.mapping("fitted"), array))
    d = fields.integer("n_features_in", 1)
    names = fields.texts("feature_names", d) if fields.has("feature_names") else None
    centers = None
    if fields.has("cluster_centers"):
        centers = as_doubles(fields.rows("cluster_centers", (None, d), gaps=True))
    mixed = _mixed_centers(fields, d)
    weights = _weights(fields, centers if mixed is None else mixed.numbers)
    shown = weights if centers is None else centers
    shown = shown if mixed is None else mixed.numbers
    if shown is None or len(shown) == 0:
        raise FieldError("the file holds no clusters")
    saved = read_saved(header, _parameters(top, array), array, (len(shown), d))
    n_init = saved.parameters.get("n_init")
    return ModelContents(
        class_name=header["class"],
        n_features=d,
        n_clusters=len(shown),
        feature_names=saved.names or (None if names is None else tuple(names)),
        centers=centers,
        are_directions=GEOMETRY_OF_CLASS.get(header["class"]) is SPHERICAL,
        weights=weights,
        objective=fields.number("inertia") if fields.has("inertia") else None,
        starts=n_init if is_integer(n_init) else None,
        iterations=fields.integer("n_iter") if fields.has("n_iter") else None,
        stopped_by=fields.text("stopped_by") if fields.has("stopped_by") else None,
        certificate=_certificate(fields),
        saved=saved,
        mixed=mixed,
    )


def _mixed_centers(fields: CheckedFields, d: int) -> MixedCenters | None:
    """Return the centers of a model that was fitted to numbers and categories, if it is one."""
    if not (fields.has("numbers") and fields.has("codes")):
        return None
    from partita.estimators.mixed_input import MAX_LEVELS, restored_features

    owner = fields.nested("metric") if fields.has("metric") else fields
    features = restored_features(owner.nested("features"), d)
    p = len(features.number_columns)
    numbers = fields.numbers("numbers", (None, p)).astype(np.float64)
    codes = fields.ints("codes", (len(numbers), d - p), -1, MAX_LEVELS)
    if (codes >= features.counts).any():
        raise FieldError("codes must be those of known categories")
    names, levels = features.category_names, features.categories
    columns = zip(names, levels, codes.T.tolist(), strict=True)
    texts = {
        name: tuple(category_text((*known, None)[code]) for code in column)
        for name, known, column in columns
    }
    return MixedCenters(features.number_names, numbers, texts)


def _certificate(fields: CheckedFields) -> Certificate | None:
    return restored_certificate(fields.nested("certificate")) if fields.has("certificate") else None


def _parameters(top: CheckedFields, array: ReadArray) -> dict[str, Any]:
    """Return the parameters, without those that only a newer partita can unpack."""
    parameters: dict[str, Any] = {}
    for name, value in top.mapping("parameters").items():
        with suppress(ValueError):
            parameters[name] = unpack(value, array)
    return parameters


def _weights(fields: CheckedFields, centers: Floats | None) -> Floats | None:
    """Return the weights (k,) of the clusters, by their summaries or by the labels of the rows."""
    k = None if centers is None else len(centers)
    if fields.has("cluster_weights"):
        return fields.floats("cluster_weights", (k,))
    if fields.has("stats"):
        return fields.nested("stats").floats("weight", (k,))
    if fields.has("medoid_indices"):
        k = len(fields.ints("medoid_indices", (k,), 0, MAX_ROW))
    if k is None or not fields.has("labels"):
        return None
    labels = fields.ints("labels", (None,), -1, k - 1)
    return np.bincount(labels[labels >= 0], minlength=k).astype(np.float64)
