"""Rows and partitions in the form in which certificates bound them: doubles of positive weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.memory import free_memory
from partita._common.parameters import Got, must_be
from partita._common.sparse_format import is_sparse
from partita._common.threads import Workers
from partita.certificates.bounding import CertifiedPartition
from partita.certificates.certified_rows import certify_costs, certify_labels, round_up
from partita.estimators import labelling, validation

DENSE_COPIES = 4  # of the rows, as doubles: sorted, centred and rotated ones
MAX_MEMORY_SHARE = 0.8  # of what is free


class CountedRows(NamedTuple):
    """The rows of positive weight."""

    rows: Floats  # (m, d)
    weight: Floats  # (m,)
    places: Ints  # (m,) in X


def counted_rows_of(rows: Any, weight: Floats | None, workers: Workers, names: Any) -> CountedRows:
    """Return finite rows as doubles, without those of weight 0."""
    validation.check_finite(validation.make_source(rows, None, workers), rows, names)
    n, d = rows.shape
    index = np.arange(n) if weight is None else np.flatnonzero(weight)
    check_room(DENSE_COPIES * 8.0 * len(index) * d, f"{len(index)} rows of {d} features as doubles")
    kept = rows if len(index) == n else rows[index]
    dense = kept.toarray() if is_sparse(kept) else np.asarray(kept)
    doubles = np.ascontiguousarray(dense, dtype=np.float64)
    counted = (np.ones(n) if weight is None else weight)[index]
    validation.check_squares(doubles, counted)
    return CountedRows(doubles, counted, index)


def check_room(needed: float, what: str) -> None:
    """Raise an error if a certificate needs more memory than there is."""
    room = MAX_MEMORY_SHARE * free_memory()
    if needed > room:
        raise MemoryError(
            f"A certificate needs {what}, {needed / 1e9:.3g} GB, and {room / 1e9:.3g} GB are free. "
            "Certify a clustering of fewer rows or features."
        )


def certify_at_centers(
    model: Any, X: Any, weight: Floats | None, workers: Workers
) -> CertifiedPartition:
    """Return the partition of X by the nearest centers of a model that was fitted to rows."""
    names = getattr(model, "feature_names_in_", None)
    counted = counted_rows_of(validation.check_new_rows(model, X), weight, workers, names)
    return centers_partition(counted, model.cluster_centers_, workers)


def centers_partition(counted: CountedRows, centers: Any, workers: Workers) -> CertifiedPartition:
    """Return the partition of rows by the nearest centers (k, d), whose objective is at these."""
    rows, weight, _ = counted
    doubles = np.ascontiguousarray(centers, dtype=np.float64)
    labels = labelling.nearest(rows, doubles, workers.n, None)
    cost = labelling.own_squares(rows, doubles, workers.n, None)
    objective = round_up(exact_total(cost, weight), rows.shape[1])
    return certify_costs(rows, labels.astype(np.int64), weight, len(doubles), objective)


def labels_partition(counted: CountedRows, labels: Array) -> CertifiedPartition:
    """Return the partition of rows by one label for every row of X, of any kind."""
    numbers, k = label_numbers(labels[counted.places])
    return certify_labels(counted.rows, numbers, counted.weight, k)


def label_numbers(labels: Array) -> tuple[Ints, int]:
    """Return labels as numbers 0…k−1, and k.

    >>> label_numbers(np.array(["b", "a", "b"]))
    (array([1, 0, 1]), 2)
    """
    if labels.dtype.kind == "O":
        labels = np.array([_text_of_label(label) for label in labels.tolist()])
    elif labels.dtype.kind == "f" and np.isnan(labels).any():
        raise _missing_label()
    names, numbers = np.unique(labels, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(names)


def _text_of_label(label: Any) -> str:
    if label is None or label != label:
        raise _missing_label()
    return f"{type(label).__name__} {label}"


def _missing_label() -> Exception:
    return must_be(
        "labels_or_centers", "complete", Got("missing labels"), "Leave such rows out of X too."
    )
