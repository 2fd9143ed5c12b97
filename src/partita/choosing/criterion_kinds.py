"""The criteria by name: column heads, titles, and descriptions."""

from __future__ import annotations

from typing import NamedTuple


class CriterionKind(NamedTuple):
    """One criterion."""

    short: str  # head of a table column
    title: str  # in plots and sentences
    better: str  # "high", "low", "elbow" or "rule"
    about: str


CRITERION_KINDS = {
    "inertia": CriterionKind(
        "J", "elbow of J", "elbow", "the objective, which decreases with every cluster"
    ),
    "silhouette": CriterionKind(
        "silhouette", "silhouette", "high", "how much closer the own cluster is than the next"
    ),
    "simplified_silhouette": CriterionKind(
        "simplified", "simplified silhouette", "high", "the same, by distances to centers"
    ),
    "calinski_harabasz": CriterionKind(
        "Cal.-Har.", "Calinski-Harabasz", "high", "variance between clusters over variance within"
    ),
    "davies_bouldin": CriterionKind(
        "Dav.-Bou.", "Davies-Bouldin", "low", "spreads over distances of centers, for worst pairs"
    ),
    "bic": CriterionKind(
        "BIC", "BIC", "low", "likelihood of round Gaussians, with a penalty for their parameters"
    ),
    "gap": CriterionKind(
        "gap", "gap statistic", "rule", "how far log J is below that of uniform data"
    ),
    "prediction_strength": CriterionKind(
        "strength", "prediction strength", "rule", "share of pairs kept together by the other half"
    ),
    "stability": CriterionKind(
        "stability", "stability", "high", "adjusted Rand index of the clusters of two halves"
    ),
}
