"""Scaling of the features by the steps of a pipeline before the model."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

_KINDS = {"StandardScaler": "standard", "RobustScaler": "robust"}
_SCALERS = ("Scaler", "PowerTransformer", "QuantileTransformer", "standard", "robust")  # in a kind


def pipeline_scaling(model: Any) -> Any:
    """Return the scaling by the steps before a model, as a record with its `kind`; or None."""
    steps = [step for _, step in getattr(model, "steps", ())[:-1]]
    own = next((step.scaling for step in steps if getattr(step, "scaling", None)), None)
    kinds = [_KINDS.get(type(step).__name__, type(step).__name__) for step in steps]
    return own or (SimpleNamespace(kind=", ".join(kinds)) if kinds else None)


def scaled_by(scaling: Any) -> str:
    """Return the kind of a scaling if it put the features on another scale, else "".

    >>> scaled_by(None), scaled_by(SimpleNamespace(kind="SimpleImputer, MinMaxScaler"))
    ('', 'SimpleImputer, MinMaxScaler')
    """
    kind, scale = str(getattr(scaling, "kind", "none")), getattr(scaling, "scale", None)
    if kind == "none":
        return ""
    if scale is None:
        return kind if any(scaler in kind for scaler in _SCALERS) else ""
    return "" if np.all(np.asarray(scale) == 1) else kind
