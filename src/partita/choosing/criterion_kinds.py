"""The criteria by name: what each is called, what it looks for, and what it is."""

from __future__ import annotations

from typing import NamedTuple


class CriterionKind(NamedTuple):
    """One criterion."""

    short: str  # at the head of a column
    title: str  # above a picture, and in a sentence
    better: str  # "high", "low", "elbow" or "rule"
    about: str


CRITERION_KINDS = {
    "inertia": CriterionKind(
        "J", "elbow of J", "elbow", "the objective, which falls with every cluster"
    ),
    "silhouette": CriterionKind(
        "silhouette",
        "silhouette",
        "high",
        "how much nearer rows are to their own cluster than to the next",
    ),
    "simplified_silhouette": CriterionKind(
        "simplified", "simplified silhouette", "high", "the same, by distances to centers"
    ),
    "calinski_harabasz": CriterionKind(
        "Cal.-Har.", "Calinski-Harabasz", "high", "the variance between clusters over that within"
    ),
    "davies_bouldin": CriterionKind(
        "Dav.-Bou.",
        "Davies-Bouldin",
        "low",
        "spreads over the distance of two centers, for the worst pairs",
    ),
    "bic": CriterionKind(
        "BIC", "BIC", "low", "the likelihood of round Gaussians, and what their parameters cost"
    ),
    "gap": CriterionKind(
        "gap", "gap statistic", "rule", "how far log J is below that of uniform rows"
    ),
    "prediction_strength": CriterionKind(
        "strength",
        "prediction strength",
        "rule",
        "the share of pairs that the other half keeps together",
    ),
    "stability": CriterionKind(
        "stability",
        "stability",
        "high",
        "the adjusted Rand index between the clusters of two halves",
    ),
}
