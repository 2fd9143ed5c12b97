"""Checks of features: too dominant, constant, or repeated."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import list_features
from partita.diagnosis.finding import CheckSkipped, Finding, percent
from partita.diagnosis.fit_context import FitContext
from partita.metrics.dominant_features import dominant_features
from partita.source.raw_rows import as_doubles

CORRELATED_MIN = 0.95  # within clusters: nine tenths of the variance is shared
CORRELATED_MIN_SHARE = 0.5  # of all squared deviations: together they outweigh the rest
CORRELATED_SAMPLE_ROWS = 5000
MAX_SUBJECT_CHARACTERS = 60  # of a list of features in the title of a finding
CORRELATED_MAX_FEATURES = 1000  # beyond that the matrix of correlations is too large


def check_scale(fit: FitContext) -> Finding | None:
    """Report if one feature, or few, hold nearly all squared deviations."""
    if fit.d < 2:
        raise CheckSkipped("there is one feature only")
    dominance = dominant_features(fit.variance, fit.varies)
    if dominance is None:
        return None
    names = _names(fit, dominance.features)
    advice = (
        "If the features have different units, scale them first: "
        "make_pipeline(StandardScaler(), model), or RobustScaler() if there are outliers."
    )
    if fit.scaling:
        advice = (
            "The rows were scaled, so look for outliers and long tails in these features: correct "
            "the values, or take logarithms."
        )
    return Finding(
        "scale",
        _decides_alone(names, fit.d),
        f"{dominance.sentence(fit.names)}. Standard deviation {dominance.deviation:.3g}, compared "
        f"with {dominance.other_deviation:.3g} of the median other feature.",
        advice,
        "warning" if dominance.is_other_unit else "note",
        features=names,
    )


def check_constant_features(fit: FitContext) -> Finding | None:
    """Report features with a single value."""
    if fit.n == 1:
        raise CheckSkipped("there is one row only")
    constant = np.flatnonzero(~fit.varies)
    if not constant.size or not fit.varies.any():  # all constant: all rows are equal
        return None
    names = _names(fit, constant)
    return Finding(
        "constant-features",
        f"{len(constant)} of {fit.d} columns {'has' if len(constant) == 1 else 'have'} the same "
        "value everywhere.",
        f"Without variance: {list_features(names)}.",
        "Constant features have no effect; leave them out.",
        "note",
        features=names,
    )


def check_correlated_features(fit: FitContext) -> Finding | None:
    """Report correlated features that together outweigh the others."""
    sample = fit.sample(CORRELATED_SAMPLE_ROWS, "correlated")
    varying = np.flatnonzero(fit.varies)
    if len(varying) < 3:
        raise CheckSkipped("fewer than three features vary")
    if len(varying) > CORRELATED_MAX_FEATURES:
        raise CheckSkipped(f"there are more than {CORRELATED_MAX_FEATURES} features")
    if len(sample.weight) < 3 * fit.k + 10:
        raise CheckSkipped(f"there are fewer than {3 * fit.k + 10} distinct rows")
    gap = (as_doubles(sample.rows) - fit.mean) - (fit.stats.mean - fit.mean)[sample.labels]
    gap = gap[:, varying] * np.sqrt(sample.weight)[:, None]
    length = np.sqrt(np.einsum("nd,nd->d", gap, gap))
    gap /= np.where(length > 0, length, 1.0)
    group = _largest_group(np.abs(gap.T @ gap) >= CORRELATED_MIN, fit.variance[varying])
    share = float(fit.variance[varying][group].sum() / fit.variance.sum())
    if len(group) < 2 or share < CORRELATED_MIN_SHARE or len(group) == len(varying):
        return None
    names = _names(fit, varying[group])
    return Finding(
        "correlated-features",
        f"{len(names)} of {fit.d} columns say nearly the same, and together outweigh the rest.",
        f"Correlated by {CORRELATED_MIN:g} or more within the clusters: {list_features(names)}. "
        f"Together they have {percent(share)} of all squared deviations{sample.note}.",
        "Keep one of them, or replace them by one component with PCA(whiten=True).",
        "note",
        features=names,
    )


def _largest_group(linked: Array, variance: Floats) -> Ints:
    """The connected group of features with the most variance."""
    _, group = connected_components(linked, directed=False)
    return np.flatnonzero(group == np.argmax(np.bincount(group, weights=variance)))


def _decides_alone(names: tuple[str | int, ...], d: int) -> str:
    listed = list_features(names)
    which = f": {listed}" if len(listed) <= MAX_SUBJECT_CHARACTERS else ""
    verb = "decides" if len(names) == 1 else "decide"
    return f"{len(names)} of {d} columns {verb} the groups nearly alone{which}."


def _names(fit: FitContext, features: Ints) -> tuple[str | int, ...]:
    return tuple(fit.names[feature] for feature in features)
