"""Projections for the alternating direction method: onto the Fantope, by few eigenvectors."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats

MARGIN = 5  # eigenvectors computed beyond those that were used the last time
GROWTH = 1.3


class FantopeProjection:
    """The nearest matrix qqᵀ + Z' with 0 ⪯ Z' ⪯ I, Z'q = 0, tr Z' = k − 1.

    Only eigenvectors whose eigenvalue exceeds the threshold matter. Their number changes little
    from one call to the next, so that is how many are computed.
    """

    def __init__(self, unit: Floats, k: int) -> None:
        self._unit, self._k = unit, k
        self._count = min(len(unit) - 1, 3 * k + MARGIN)

    def __call__(self, matrix: Floats) -> Floats:
        """Project; the matrix is overwritten."""
        unit, n = self._unit, len(self._unit)
        image = matrix @ unit
        mean = float(unit @ image)
        # moves q to the lower end of the spectrum
        low = 2.0 * float(np.linalg.norm(matrix))
        shift = np.outer(unit, image - 0.5 * (mean - low) * unit + low * unit)
        matrix -= shift
        matrix -= shift.T
        outer = np.outer(unit, unit)
        if self._k == 1:
            return outer
        values, vectors = self._largest(matrix, n)
        share = _filled(values, self._k - 1)
        used = np.flatnonzero(share)
        self._count = min(n - 1, int(GROWTH * len(used)) + MARGIN)
        part = vectors[:, used] * np.sqrt(share[used])
        outer += part @ part.T
        return outer

    def _largest(self, matrix: Floats, n: int) -> tuple[Floats, Floats]:
        """Return eigenpairs, at least all those whose share is above 0; ascending."""
        from scipy.linalg import eigh

        while True:
            count = max(self._count, self._k)
            if count >= n - 1:
                values, vectors = eigh(matrix, check_finite=False)
                return values[1:], vectors[:, 1:]  # the first is q
            values, vectors = eigh(matrix, subset_by_index=(n - count, n - 1), check_finite=False)
            if _filled(values, self._k - 1)[0] == 0.0:
                return values, vectors
            self._count = 2 * count


def _filled(values: Floats, total: int) -> Floats:
    """Return clip(values − τ, 0, 1) with the τ for which they add up to `total`.

    The sum is piecewise linear in τ, with kinks at the values and the values − 1.
    """
    kinks = np.sort(np.concatenate([values, values - 1.0]))
    sums = np.clip(values - kinks[:, None], 0.0, 1.0).sum(axis=1)  # descending
    right = int(np.searchsorted(-sums, -float(total)))  # the first with a sum <= total
    if right == 0:
        return np.asarray(np.clip(values - kinks[0], 0.0, 1.0))
    span = sums[right - 1] - sums[right]
    part = (sums[right - 1] - total) / span if span > 0 else 0.0
    tau = kinks[right - 1] + part * (kinks[right] - kinks[right - 1])
    return np.asarray(np.clip(values - tau, 0.0, 1.0))
