"""Features with few values, such as 0 and 1, between which there is a gap in every group."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita.diagnosis.row_sample import RowSample
from partita.source.raw_rows import as_doubles

MAX_STEP_RATIO = 0.5  # of the distance to the last of a row's neighbours
MAX_VALUES = 20  # of a lattice; with more, a value has neighbours enough
PROBED_ROWS = 200  # enough to see that a feature has more values than that


def lattice_steps(sample: RowSample) -> Floats:
    """Return the distance (d,) between neighbouring values of a lattice; 0 for other features.

    It is the median over the rows of the gap to the nearest other value. Sparse rows have none.
    """
    steps = np.zeros(sample.rows.shape[1])
    if not sp.issparse(sample.rows):
        probe = np.sort(as_doubles(sample.rows[:PROBED_ROWS]), axis=0)
        few = (np.diff(probe, axis=0) > 0).sum(axis=0) < MAX_VALUES
        for t in np.flatnonzero(few):
            steps[t] = _step(as_doubles(sample.rows[:, t]), sample.weight)
    return steps


def _step(column: Floats, weight: Floats) -> float:
    values, value = np.unique(column, return_inverse=True)
    if not 1 < len(values) <= MAX_VALUES:
        return 0.0
    gap = np.diff(values)
    nearest = np.minimum(np.append(gap, np.inf), np.insert(gap, 0, np.inf))
    weights = np.bincount(value, weight)
    order = np.argsort(nearest, kind="stable")
    middle = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(nearest[order][middle])


def without_coarse_lattices(rows: Floats, steps: Floats, neighbours: int) -> Ints:
    """Return the features whose steps are short beside the distance to a row's neighbours.

    A longer step divides the rows into slices whose rows have their neighbours among themselves.
    """
    kept: Ints = np.arange(rows.shape[1])
    while len(kept) > 1 and (steps[kept] > 0).any():
        coarse = steps[kept] > MAX_STEP_RATIO * _neighbour_distance(rows[:, kept], neighbours)
        if not coarse.any():
            break
        kept = kept[~coarse]  # what is left lies closer together: look again
    return kept


def _neighbour_distance(rows: Array, neighbours: int) -> float:
    from sklearn.neighbors import NearestNeighbors

    near = NearestNeighbors(n_neighbors=min(neighbours, len(rows) - 1), n_jobs=1).fit(rows)
    return float(np.median(near.kneighbors()[0][:, -1]))
