"""The capabilities of `KPrototypes`, and its state in model files."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from partita._common.array_types import Floats
from partita.estimators import capabilities as needs
from partita.estimators import validation
from partita.estimators.capabilities import Capabilities, Replay, lacking, unfitted
from partita.estimators.mixed_input import (
    check_complete_numbers,
    check_mixed_rows,
    features_state,
    restored_features,
)
from partita.estimators.prototypes.number_scaling import NumberScaling
from partita.estimators.saved_state import FieldReader
from partita.source.mixed_columns import MISSING
from partita.source.mixed_rows import MixedRows, MixedView

NO_COORDINATES = "categories have no coordinates"
NO_MEANS = "categories have modes, not means"
NO_BOUNDS = "no lower bounds are known of a sum with categories"
MAX_EMBEDDED_VALUES = 1 << 26  # 512 MB
OWN_SCALES = "categories have no scale, and numbers are standardized"


def declare(model: Any) -> Capabilities:
    """The capabilities of a `KPrototypes`."""
    lacks = {
        **lacking(NO_COORDINATES, needs.SPACE, needs.CELLS),
        needs.MEANS: NO_MEANS,
        needs.FEATURES: OWN_SCALES,
        needs.BOUNDS: NO_BOUNDS,
    }
    return Capabilities(
        geometry=None,
        lacks=lacks,
        metric="euclidean",
        distance_name="distance to the prototype",
        merge_rule="representatives",
        warm_start="centers",
        exact_sums=True,
        costs=model._costs,
        distances=model.transform,
        pairs=lambda X: (embedded(model, _checked_rows(model, X)), "euclidean"),
        mixed=partial(_mixed_view, model),
        replay=Replay(partial(_rerun, model), partial(_at_start, model)),
    )


def _checked_rows(model: Any, X: Any) -> MixedRows:
    rows = check_mixed_rows(model, X, model._features)
    check_complete_numbers(rows, model._features)
    return rows


def embedded(model: Any, rows: MixedRows) -> Floats:
    """Return rows in a Euclidean space, where squared distances are the costs between rows.

    Scaled numbers, and for each category of these rows a coordinate of √(gamma / 2) where a row has
    it. A missing category is halfway: gamma / 2 from the others.
    """
    parts = [model._scaling.apply(rows.numbers)]
    side = np.sqrt(model.gamma_ / 2)
    for codes in rows.codes.T:
        parts.append(np.where(codes[:, None] == np.unique(codes[codes >= 0]), side, 0.0))
    return np.hstack(parts)


def _mixed_view(model: Any, X: Any) -> MixedView:
    rows = _checked_rows(model, X)
    width = rows.numbers.shape[1] + int(model._features.counts.sum())
    fits = rows.n * width <= MAX_EMBEDDED_VALUES
    view: MixedView = model._features.view(rows, embedded(model, rows) if fits else None)
    return view


def _rerun(model: Any) -> Any:
    return unfitted(model, init=model.start_)


def _at_start(model: Any, X: Any) -> Any:
    first = copy.copy(model)
    start = model._features.encode(model.start_)
    weights = np.zeros((start.n, int(model._features.counts.sum())))
    first._set_prototypes(model._features, model._scaling, start, start, weights)
    return first


# --- model files ----------------------------------------------------------------------------------


def own_state(model: Any) -> dict[str, Any]:
    """Prototypes, what was learned of the columns, and the weights of categories."""
    start = model._features.encode(model.start_)
    weights = [np.empty((model._prototypes.n, 0)), *model.category_weights_.values()]
    return {
        "features": features_state(model._features),
        "scaling": model._scaling.state(),
        "numbers": model._prototypes.numbers,
        "codes": model._prototypes.codes,
        "start_numbers": start.numbers,
        "start_codes": start.codes,
        "category_weights": np.hstack(weights),
        "weight": model._weight,
    }


def restore(model: Any, saved: FieldReader, d: int) -> int:
    """Set the attributes of a fit from a file; return the number of clusters."""
    features = restored_features(saved.nested("features"), d)
    scaling = NumberScaling.restored(saved.nested("scaling"), len(features.number_columns))
    prototypes = _restored_rows(saved, "", features)
    if prototypes.n == 0:
        raise ValueError("numbers is empty")
    start = _restored_rows(saved, "start_", features)
    shape = prototypes.n, int(features.counts.sum())
    weights = saved.floats("category_weights", shape)
    if (weights < 0).any():
        raise ValueError("category_weights must not be negative")
    model.cluster_weights_ = saved.floats("cluster_weights", (prototypes.n,))
    if (model.cluster_weights_ < 0).any():
        raise ValueError("cluster_weights must not be negative")
    model.gamma_ = saved.number("gamma", 0.0, finite=True)
    model._weight = saved.number("weight", validation.MIN_WEIGHT, finite=True)
    model._set_prototypes(features, scaling, prototypes, start, weights)
    return prototypes.n


def _restored_rows(saved: FieldReader, prefix: str, features: Any) -> MixedRows:
    """Return prototypes with finite numbers, and codes that the columns have."""
    p, q = len(features.number_columns), len(features.counts)
    numbers = saved.floats(f"{prefix}numbers", (None, p))
    highest = int(features.counts.max(initial=1)) - 1
    codes = saved.ints(f"{prefix}codes", (len(numbers), q), MISSING, max(highest, 0))
    if (codes >= features.counts).any():
        raise ValueError("codes must be those of known categories")
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    return MixedRows(np.ascontiguousarray(numbers, dtype=np.float64), codes)
