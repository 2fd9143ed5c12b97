"""Features that decide too much, too little, or the same thing twice."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita.diagnosis.check import Look
from partita.diagnosis.finding import Finding, Skip, few, percent
from partita.diagnosis.fit_context import View
from partita.diagnosis.model_facts import FEATURES, ROWS, SPACE

DOMINANT = 0.9  # share of all squared deviations: what is left hardly moves a label
FEW = 0.1  # "few" features are at most this share of them (or one)
APART = 10.0  # times the typical deviation of the others: an order of magnitude is a unit's doing
CONSTANT = 1e-12  # of the largest deviation: what rounding makes of one value
SAME = 0.95  # correlation within clusters: nine tenths of the variance is the other feature's
SAMPLE = 5000  # rows are enough for correlations
MOST = 1000  # features beyond which the matrix of correlations is not made


def scale(view: View) -> Finding | None:
    """One feature, or few, hold nearly all of the squared deviations."""
    variance = view.variance
    whole = float(variance.sum())
    if view.d < 2:
        raise Skip("there is one feature only")
    if not 0 < whole < np.inf:
        return None
    order = np.argsort(-variance, kind="stable")
    share = np.cumsum(variance[order]) / whole
    size = int(np.searchsorted(share, DOMINANT)) + 1
    rest = _varying(np.sqrt(variance[order[size:]]), float(variance.max()))
    least = float(np.sqrt(variance[order[size - 1]]))
    if size > max(1, FEW * view.d) or (rest.size and least < APART * np.median(rest)):
        return None
    if not rest.size:  # all others are constant, which is said elsewhere
        return None
    names = _names(view, order[:size])
    return Finding(
        "scale",
        f"{few(names)} decide{'s' * (size == 1)} nearly alone: features on larger scales "
        "outweigh the others.",
        f"{percent(float(share[size - 1]))} of all squared deviations; standard deviation "
        f"{least:.3g}, against {np.median(rest):.3g} of the median other feature.",
        "If the features have different units, bring them to one scale first: "
        "make_pipeline(StandardScaler(), model), or RobustScaler() where there are outliers.",
        features=names,
    )


def constant(view: View) -> Finding | None:
    """Features that have one value."""
    if view.n == 1:
        raise Skip("there is one row only")
    spread = np.sqrt(view.variance)
    flat = np.flatnonzero(~(spread > CONSTANT * float(spread.max())))
    if not flat.size:
        return None
    names = _names(view, flat)
    return Finding(
        "constant-features",
        f"{len(flat)} of {view.d} features have the same value everywhere.",
        f"Without variance: {few(names)}.",
        "They do no harm and no good: leave them out.",
        "note",
        features=names,
    )


def correlated(view: View) -> Finding | None:
    """Features that say the same, and together outweigh the others."""
    sample = view.sample(SAMPLE, "correlated")
    varying = np.flatnonzero(view.variance > (CONSTANT**2) * view.variance.max())
    if len(varying) < 3:
        raise Skip("it takes three features that vary")
    if len(varying) > MOST:
        raise Skip(f"there are more than {MOST} features")
    if len(sample.weight) < 3 * view.k + 10:
        raise Skip(f"it takes {3 * view.k + 10} distinct rows")
    gap = sample.dense(view.middle) - (view.stats.mean - view.middle)[sample.labels]
    gap = gap[:, varying] * np.sqrt(sample.weight)[:, None]
    length = np.sqrt(np.einsum("nd,nd->d", gap, gap))
    gap /= np.where(length > 0, length, 1.0)
    group = _largest_group(np.abs(gap.T @ gap) >= SAME, view.variance[varying])
    share = float(view.variance[varying][group].sum() / view.variance.sum())
    if len(group) < 2 or share < 0.5 or len(group) == len(varying):
        return None
    names = _names(view, varying[group])
    return Finding(
        "correlated-features",
        f"{len(names)} of {view.d} features say nearly the same and together outweigh the rest: "
        f"that counts {len(names)} times.",
        f"{few(names)}: correlated by {SAME:g} or more within the clusters, and "
        f"{percent(share)} of all squared deviations{sample.told}.",
        "Keep one of them, or let PCA(whiten=True) put one in their place.",
        "note",
        features=names,
    )


def _largest_group(same: Array, variance: Floats) -> Ints:
    """The features linked to each other that have the most variance together."""
    from scipy.sparse.csgraph import connected_components

    _, group = connected_components(same, directed=False)
    return np.flatnonzero(group == np.argmax(np.bincount(group, weights=variance)))


def _varying(spread: Floats, peak: float) -> Floats:
    return np.asarray(spread[spread > CONSTANT * np.sqrt(peak)])


def _names(view: View, which: Ints) -> tuple[str | int, ...]:
    return tuple(view.facts.names[t] for t in which)


LOOKS = (
    Look("scale", scale, (ROWS, FEATURES)),
    Look("constant-features", constant, (ROWS, FEATURES)),
    Look("correlated-features", correlated, (ROWS, FEATURES, SPACE)),
)
