"""The certification of a clustering of a prepared table, with its progress."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partita._common.errors import PartitaError, Setting
from partita.tables import TableError

if TYPE_CHECKING:
    from partita.certificates.certificate import Certificate
    from partita.cli.prepared_data import PreparedData
    from partita.cli.progress_reporter import ProgressReporter


class CertificationRequest(NamedTuple):
    """The options of a certification."""

    time_limit: float  # seconds; infinity: no limit
    level: float = 0.95
    seed: int = 0


def certify_model(
    model: Any, X: Any, weight: Any, request: CertificationRequest, reporter: ProgressReporter
) -> Certificate:
    """Return the certificate of a fitted model on rows, or of labels (n,)."""
    from partita.estimators.certification import NoBoundsError, certify

    seconds = request.time_limit if math.isfinite(request.time_limit) else None
    is_member = hasattr(model, "certify")  # it keeps the certificate of its fit
    with reporter.noting_interrupt():
        options = {
            "sample_weight": weight,
            "time_limit": seconds,
            "level": request.level,
            "random_state": request.seed,
            "callback": reporter.bar,
        }
        try:
            certificate: Certificate = (
                model.certify(X, **options) if is_member else certify(X, model, **options)
            )
        except NoBoundsError as error:
            raise PartitaError(
                f"{error.reason}. {{}} bounds the sum of squares of the labels in a column.",
                Setting("labels_column", "COLUMN"),
            ) from None
    return certificate


def certify_column(
    labels: list[Any],
    prepared: PreparedData,
    request: CertificationRequest,
    reporter: ProgressReporter,
) -> Certificate:
    """Return the certificate of labels of the prepared rows; those with None are left out."""
    known = np.array([label is not None for label in labels], bool)
    if not known.any():
        raise TableError(f"{prepared.table.name}: no row has a label")
    weight = prepared.selection.weight
    texts = np.array([str(label) for label in labels if label is not None])
    kept = None if weight is None else weight[known]
    return certify_model(texts, prepared.X[known], kept, request, reporter)
