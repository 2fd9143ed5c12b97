"""Features that decide nearly alone, because they hold nearly all squared deviations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import list_features

MIN_SHARE = 0.96  # of all squared deviations: of two features, one five times as wide as the other
MAX_FEATURES = 0.1  # share of the features that may dominate together (or one feature)
OTHER_UNIT_MIN_RATIO = 10.0  # of standard deviations: an order of magnitude suggests another unit
CONSTANT_MAX_DEVIATION = 1e-12  # of the largest: what rounding makes of one value


@dataclass(frozen=True, slots=True)
class Dominance:
    """The features that dominate, and by how much."""

    features: Ints  # (m,), the largest variance first
    share: float  # of all squared deviations
    deviation: float  # standard deviation, the lowest of these features
    other_deviation: float  # that of the median other feature

    @property
    def is_other_unit(self) -> bool:
        """True if the features that dominate are an order of magnitude larger."""
        return self.deviation >= OTHER_UNIT_MIN_RATIO * self.other_deviation

    def sentence(self, names: Sequence[str | int]) -> str:
        """Say which features dominate; `names` are those of all features."""
        dominant = list_features([names[t] for t in self.features.tolist()])
        which = "they decide" if len(self.features) > 1 else "it decides"
        share = f"{100 * self.share:.3g} %"
        return f"{share} of all squared deviations are in {dominant}: {which} nearly alone"


def dominant_features(variance: Floats, varies: Array | None = None) -> Dominance | None:
    """Return the features that outweigh all others, by their variances (d,); None if none do.

    `varies` (d,) is False for constant features, which do not count. Without it, the smallest
    variances count as those of constants.

    >>> dominant_features(np.array([1.0, 99.0])).features.tolist()
    [1]
    >>> dominant_features(np.array([1.0, 2.0])), dominant_features(np.array([0.0, 99.0]))
    (None, None)
    """
    whole = float(variance.sum())
    if not 0 < whole < np.inf:
        return None
    order = np.argsort(-variance, kind="stable")
    deviation = np.sqrt(variance[order])
    if varies is None:
        varies = np.sqrt(variance) > CONSTANT_MAX_DEVIATION * deviation[0]
    order = order[varies[order]]
    deviation = np.sqrt(variance[order])
    share = np.cumsum(variance[order]) / whole
    count = int(np.searchsorted(share, MIN_SHARE)) + 1
    if count == len(order) or count > max(1, MAX_FEATURES * len(variance)):
        return None
    other = float(np.median(deviation[count:]))
    return Dominance(order[:count], float(share[count - 1]), float(deviation[count - 1]), other)
