"""References of one cloud: features as skewed, heavy-tailed and correlated as those of the data.

A uniform box has less structure than a cloud that is dense in a corner, such as independent
exponential features. Here each feature has the unimodal distribution nearest to that of the data
(Grenander's estimator on both sides of the best mode), and a Gaussian copula gives features the
rank correlations of the data. Features on a grid, such as counts, stay on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.isotonic import isotonic_regression

from partita._common.array_types import Floats
from partita._common.threads import one_blas_thread
from partita.choosing.value_grid import is_on_grid

N_MODES = 24  # tried, at even quantiles
WIDE_GAP = 1.5  # typical gaps of a grid: a wider one lacks values in between
MIN_WIDTH = 1e-12  # of the range: equal values have a width too


def unimodal_cloud(rows: Floats) -> Callable[[np.random.Generator], Floats]:
    """Return a function that draws as many rows as the data has."""
    n = len(rows)
    draws = [unimodal_quantiles(column) for column in rows.T]
    factor = _factor(np.column_stack([_normal_scores(column) for column in rows.T]))

    def draw(rng: np.random.Generator) -> Floats:
        with one_blas_thread():
            share = ndtr(rng.normal(size=(n, factor.shape[1])) @ factor.T)
        return np.column_stack([draw(share[:, t]) for t, draw in enumerate(draws)])

    return draw


def unimodal_quantiles(column: Floats) -> Callable[[Floats], Floats]:
    """Return the quantile function of the unimodal distribution nearest to the values.

    >>> two_peaks = np.repeat([0.0, 1, 3, 4], [40, 10, 10, 40])
    >>> np.unique(unimodal_quantiles(two_peaks)(np.linspace(0, 1, 101))).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    values, counts = _values_and_counts(column)
    if len(values) == 1:
        return lambda share: np.full(len(share), values[0])
    on_grid = is_on_grid(values, len(column))
    if on_grid:
        values, counts = _with_gaps_filled(values, counts)
    edges = _edges(values)
    width = np.maximum(np.diff(edges), MIN_WIDTH * (edges[-1] - edges[0]))
    reached = np.concatenate([[0.0], np.cumsum(_unimodal_mass(counts / counts.sum(), width))])

    def quantiles(share: Floats) -> Floats:
        drawn: Floats = np.interp(share * reached[-1], reached, edges)
        return values[np.searchsorted(edges[1:-1], drawn)] if on_grid else drawn

    return quantiles


def _values_and_counts(column: Floats) -> tuple[Floats, Floats]:
    values, counts = np.unique(column, return_counts=True)
    return values, counts.astype(np.float64)


def _normal_scores(column: Floats) -> Floats:
    """Return normal quantiles (n,) of the ranks; equal values share their mean rank."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray(ndtri((np.cumsum(counts) - 0.5 * counts) / len(column))[place.ravel()])


def _factor(scores: Floats) -> Floats:
    """Return A with A·Aᵀ the correlations of the columns; constant columns correlate with none."""
    gap = scores - scores.mean(axis=0)
    length = np.sqrt((gap * gap).sum(axis=0))
    unit = np.divide(gap, length, out=np.zeros_like(gap), where=length > 0)
    with one_blas_thread():
        values, vectors = np.linalg.eigh(unit.T @ unit)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    length = np.sqrt((factor * factor).sum(axis=1))
    return np.asarray(factor / np.where(length > 0, length, 1.0)[:, None])


def _with_gaps_filled(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Insert values that a grid lacks between two groups, with a count of 0."""
    gaps = np.diff(values)
    typical = np.median(gaps)
    lacking = np.where(gaps > WIDE_GAP * typical, np.rint(gaps / typical) - 1, 0.0).astype(int)
    lacking = np.minimum(lacking, len(values))  # an outlier is far away: coarser steps do
    between = [
        low + gap * np.arange(1, count + 1) / (count + 1)
        for low, gap, count in zip(values[:-1], gaps, lacking, strict=True)
    ]
    every = np.concatenate([values, *between])
    order = np.argsort(every, kind="stable")
    return every[order], np.concatenate([counts, np.zeros(len(every) - len(counts))])[order]


def _edges(values: Floats) -> Floats:
    """Return the ends (m + 1,) of the cells around values: midpoints, and as far at both ends."""
    middle = (values[:-1] + values[1:]) / 2
    first, last = 2 * values[0] - middle[0], 2 * values[-1] - middle[-1]
    return np.concatenate([[first], middle, [last]])


def _unimodal_mass(mass: Floats, width: Floats) -> Floats:
    """Return the mass (m,) of cells whose density rises to a mode and falls after it."""
    density, reached = mass / width, np.cumsum(mass)
    modes = np.unique(np.searchsorted(reached, (np.arange(N_MODES) + 0.5) / N_MODES))
    best, least = mass, np.inf
    for mode in np.unique(np.minimum([0, *modes, len(mass) - 1], len(mass) - 1)).tolist():
        rising = isotonic_regression(density[: mode + 1], sample_weight=width[: mode + 1])
        falling = isotonic_regression(
            density[mode + 1 :], sample_weight=width[mode + 1 :], increasing=False
        ) if mode + 1 < len(mass) else density[:0]  # fmt: skip
        fitted = np.concatenate([rising, falling]) * width
        distance = np.abs(np.cumsum(fitted) - reached).max()
        if distance < least:
            best, least = fitted, distance
    return best
