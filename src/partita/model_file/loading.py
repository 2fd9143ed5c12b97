"""`load`: read a fitted model from a file."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import partita
from partita._common.array_types import Array, Floats
from partita.estimators.center_model import GEOMETRY_OF_CLASS, restore_center_model
from partita.estimators.fitted_models import count_clusters
from partita.estimators.registry import member_class, registered_names
from partita.estimators.saved_state import restore_state
from partita.estimators.validation import check_threads
from partita.model_file.group_naming import GroupNames, read_group_names
from partita.safe_file.checked_fields import CheckedFields, FieldError
from partita.safe_file.container import Container, ModelFileError
from partita.safe_file.packed_values import unpack

if TYPE_CHECKING:
    from partita.model_file.pipeline_steps import PipelineSteps

FORMAT = "partita model"
VERSION = 1
PIPELINE_VERSION = 2  # of files with steps, which a reader of version 1 would leave out
READABLE_BY = "0.1.0"  # the oldest partita that reads what this one writes

T = TypeVar("T")
Header = Mapping[str, Any]
ReadArray = Callable[[str], Array]  # by name
_HEADER_FIELDS = (
    "format", "format_version", "readable_by", "class", "partita", "versions", "created", "names",
    "group_names", "scaling", "fill", "fingerprint", "note", "plan", "reference", "pipeline",
    "parameters", "dropped", "fitted", "extra",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """The contents of a file other than the model: `model.saved_` after `load`.

    Attributes
    ----------
    scaling : Scaling or None
        How rows are scaled before the model.
    fill : ndarray of shape (n_features,) or None
        The values that replace missing ones, before scaling.
    names : tuple of str or None
        The columns of the features.
    group_names : tuple of (str or None), or None
        The names of the clusters, by number; None for one without a name.
    versions : dict
        Of partita, Python and the packages that wrote the model.
    parameters : dict
        The parameters of the model that a file can hold.
    dropped : dict
        The parameters and attributes that it cannot hold, and their repr.
    created : str
        When the file was written, in UTC.
    note, fingerprint : str or None
        A remark, and the fingerprint of the data.
    plan : dict or None
        How the rows of the fit were prepared.
    reference : FitReference or None
        What is known of the rows of the fit, to compare new rows with them.
    pipeline : PipelineSteps or None
        The steps of a pipeline before the model.
    extra : dict
        Fields that are unknown to this version of partita, as JSON.
    """

    scaling: Any
    fill: Floats | None
    names: tuple[str, ...] | None
    group_names: GroupNames | None
    versions: dict[str, str]
    parameters: dict[str, Any]
    dropped: dict[str, str]
    created: str
    note: str | None
    fingerprint: str | None
    plan: dict[str, Any] | None
    reference: Any
    pipeline: PipelineSteps | None
    extra: dict[str, Any]

    @property
    def days(self) -> tuple[str, ...]:
        """The features that are dates, by the plan; the file may hold anything."""
        return self._planned_texts("days")

    @property
    def na(self) -> tuple[str, ...]:
        """The cells that are missing besides the usual ones, by the plan."""
        return self._planned_texts("na")

    def _planned_texts(self, field: str) -> tuple[str, ...]:
        texts = (self.plan or {}).get(field)
        return tuple(t for t in texts if isinstance(t, str)) if isinstance(texts, list) else ()

    @property
    def categories(self) -> tuple[str, ...]:
        """The last of `names`: the features that are categories, by the plan."""
        return planned_categories(self.plan, self.names)


def planned_categories(plan: Any, names: Any) -> tuple[str, ...]:
    """Return the columns of categories of a plan: the last features, or none."""
    found = plan.get("categories") if isinstance(plan, Mapping) else None
    if not (isinstance(found, list) and found and names is not None):
        return ()
    return tuple(found) if tuple(names)[-len(found) :] == tuple(found) else ()


class LazyValues(UserDict[str, Any]):
    """Packed values that are unpacked when read. A newer partita may add fields of other kinds."""

    def __init__(self, packed: Mapping[str, Any], array: Callable[[str], Array]) -> None:
        super().__init__(packed)
        self._array, self._unpacked = array, dict[str, Any]()

    def __getitem__(self, name: str) -> Any:
        if name not in self._unpacked:
            self._unpacked[name] = unpack(self.data[name], self._array)
        return self._unpacked[name]


def load(path: str | Path) -> Any:
    """Return the fitted model that `save` wrote: it predicts with the same bits.

    Nothing in the file is executed, and everything in it is checked. A file that is not a model, is
    damaged or needs a newer partita raises `ModelFileError`. `model.saved_` has the other contents
    of the file: scaling, names, versions, and what `save` left out.

    If the file holds a scaling, values for missing ones, or the steps of a pipeline, the result is
    a pipeline that takes rows in the units of the data; `load(path)[-1]` is the model itself.

    >>> import tempfile
    >>> from partita import KMeans, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KMeans(2, random_state=0).fit([[1], [2], [9]]), f"{folder}/a.partita")
    ...     load(f"{folder}/a.partita").predict([[8]])
    array([1], dtype=int32)
    """
    from partita.model_file.preparation import with_preparation

    return with_preparation(read_model(path))


def read_model(path: str | Path) -> Any:
    """Return the model without its preparation: it takes rows as it was fitted to them."""
    return read_file(path, assemble)


def read_labeller(path: str | Path) -> Any:
    """Return an object that labels rows as the model does, with `predict` and `saved_`.

    Where centers are enough, it is a `CenterModel`, made without scikit-learn; else the model.
    """
    return read_file(path, _assemble_labeller)


def read_file(path: str | Path, make: Callable[[Header, ReadArray], T]) -> T:
    """Return what `make` builds of the header and the arrays of a file."""
    with Container(path) as file:
        header = _checked_header(file)
        try:
            return make(header, file.array)
        except ModelFileError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            raise file.error(f"does not hold a valid model: {error}") from error


def read_header(path: str | Path) -> dict[str, Any]:
    """Return the header of a model file, without reading the arrays.

    >>> import tempfile
    >>> from partita import KMeans, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(KMeans(2, random_state=0).fit([[1], [2], [9]]), f"{folder}/a.partita")
    ...     read_header(f"{folder}/a.partita")["fitted"]["inertia"]
    0.5
    """
    with Container(path) as file:
        return _checked_header(file)


def _checked_header(file: Container) -> dict[str, Any]:
    """Refuse a file that is not a model, or that this version of partita cannot read."""
    header = file.header()
    if header.get("format") != FORMAT:
        raise file.error(f"is not a model file: its format is {header.get('format')!r}"[:200])
    version = header.get("format_version")
    if type(version) is not int or version < 1:
        raise file.error(f"has a format version that is not an integer >= 1: {version!r}"[:200])
    if version > PIPELINE_VERSION:
        raise file.error(
            f"has format version {version}, but this is partita {partita.__version__}, which reads "
            f"versions up to {PIPELINE_VERSION}. It needs partita "
            f"{_printable(header.get('readable_by'))} or newer (it was written by "
            f"{_printable(header.get('partita'))}): pip install --upgrade partita"
        )
    class_name = header.get("class")
    if not isinstance(class_name, str) or class_name not in registered_names():
        raise file.error(
            f"holds a model of the class {_printable(class_name)}, which is not registered. Known "
            f"classes: {', '.join(registered_names())}. If the class is yours, import it and call "
            "partita.register on it first."
        )
    return header


def _printable(value: Any) -> str:
    """Return text from a file for a message, without control characters."""
    return ascii(value[:80])[1:-1] if isinstance(value, str) else "unknown"


def _assemble_labeller(header: Header, array: ReadArray) -> Any:
    name, top = header["class"], CheckedFields(header)
    if name not in GEOMETRY_OF_CLASS:
        return assemble(header, array)
    parameters = LazyValues(top.mapping("parameters"), array)
    fields = CheckedFields(LazyValues(top.mapping("fitted"), array))
    model = restore_center_model(name, parameters, fields)
    model.saved_ = read_saved(header, {}, array, model.cluster_centers_.shape)
    return model


def assemble(header: Header, array: ReadArray) -> Any:
    """Return the model of a checked header; a ValueError, TypeError or OverflowError if invalid."""
    top, model_class = CheckedFields(header), member_class(header["class"])
    known, packed = model_class().get_params(), top.mapping("parameters")
    parameters = {name: unpack(value, array) for name, value in packed.items() if name in known}
    model = model_class(**parameters)
    check_threads(getattr(model, "n_threads", None))
    restore_state(model, CheckedFields(LazyValues(top.mapping("fitted"), array)))
    d = getattr(model, "n_features_in_", None)
    if type(d) is not int or d < 1:
        raise FieldError(f"`n_features_in` must be an integer >= 1, got {d!r}.")
    k = _count_clusters(model) if top.has("group_names") else 0
    model.saved_ = read_saved(header, parameters, array, (k, d))
    return model


def _count_clusters(model: Any) -> int:
    try:
        return count_clusters(model)
    except AttributeError:  # a class of the user's own
        raise FieldError("group_names are of a model that does not tell its clusters") from None


def read_saved(
    header: Header, parameters: dict[str, Any], array: ReadArray, shape: tuple[int, int]
) -> Saved:
    """Return the contents of a header other than the model, for (k, d) clusters and features."""
    k, d = shape
    top, unpacked = CheckedFields(header), CheckedFields(LazyValues(header, array))
    pipeline, n_columns = None, d
    if top.has("pipeline"):
        from partita.model_file.pipeline_loading import restore_steps

        if top.has("scaling") or top.has("fill"):
            raise FieldError("a pipeline has a scaling or values to fill in besides its steps")
        pipeline = restore_steps(top.nested("pipeline"), array, d)
        n_columns = pipeline.n_features_in or d
    names = tuple(top.texts("names", n_columns)) if top.has("names") else None
    plan = top.mapping("plan") if top.has("plan") else None
    p = d - len(planned_categories(plan, names))  # columns of numbers, which are scaled
    scaling = _scaling(unpacked.nested("scaling"), p) if top.has("scaling") else None
    extra = {key: value for key, value in header.items() if key not in _HEADER_FIELDS}
    return Saved(
        scaling=scaling,
        fill=unpacked.floats("fill", (p,)) if top.has("fill") else None,
        names=names,
        group_names=read_group_names(top, k),
        versions={"partita": top.text("partita"), **_texts(top, "versions")},
        parameters=parameters,
        dropped=_texts(top, "dropped"),
        created=top.text("created"),
        note=top.text("note") if top.has("note") else None,
        fingerprint=top.text("fingerprint") if top.has("fingerprint") else None,
        plan=plan,
        reference=_reference(unpacked.nested("reference"), d) if top.has("reference") else None,
        pipeline=pipeline,
        extra={**(top.mapping("extra") if top.has("extra") else {}), **extra},
    )


def _scaling(fields: CheckedFields, d: int) -> Any:
    from partita.tables.scaling import SCALING_KINDS, Scaling

    kind = fields.text("kind")
    center, scale = (fields.floats(name, (d,)) for name in ("center", "scale"))
    if kind not in SCALING_KINDS or not (scale > 0).all():
        raise FieldError("scaling has an unknown kind, or a scale that is not positive")
    if kind != "auto":
        return Scaling(kind, center, scale)
    logged, offset = fields.floats("logged", (d,)) > 0, fields.floats("offset", (d,))
    low, high = (fields.floats(name, (d,), finite=False) for name in ("low", "high"))
    if not (low <= high).all() or not (low + offset > 0)[logged].all():
        raise FieldError("scaling has limits in the wrong order, or a logarithm of 0")
    return Scaling(kind, center, scale, logged, offset, low, high)


def _reference(fields: CheckedFields, d: int) -> Any:
    from partita.new_rows.fit_reference import FitReference

    reach = fields.floats("reach", (None,), finite=False)
    share = fields.floats("share", (len(reach),))
    mean, deviation = (
        fields.floats(name, (d,)) if fields.has(name) else None for name in ("mean", "deviation")
    )
    if (reach < 0).any() or (share < 0).any() or (deviation is not None and (deviation < 0).any()):
        raise FieldError("reference has a reach, a share or a deviation below zero")
    return FitReference(reach, share, mean, deviation, fields.integer("rows", 1))


def _texts(top: CheckedFields, name: str) -> dict[str, str]:
    fields = top.nested(name)
    return {key: fields.text(key) for key in top.mapping(name)}
