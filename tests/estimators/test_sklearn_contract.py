"""The family under scikit-learn's own estimator checks."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from partita import (
    BalancedKMeans,
    BisectingKMeans,
    KMeans,
    KMedoids,
    KPrototypes,
    MiniBatchKMeans,
    SphericalKMeans,
    TrimmedKMeans,
)

# scikit-learn declares these two for its own KMeans: with other rows, k-means++ makes other random
# choices, so a weighted and a repeated data set start elsewhere. From the same start they agree bit
# for bit (test_promises.py).
RANDOM_START = "a start draws other rows when rows are repeated or removed"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": RANDOM_START,
    "check_sample_weight_equivalence_on_sparse_data": RANDOM_START,
}

MEMBERS = [
    KMeans(),
    KMeans(n_clusters=2, n_init=2),
    KMeans(missing="partial"),
    MiniBatchKMeans(),
    TrimmedKMeans(),
    BalancedKMeans(),
    BalancedKMeans(n_clusters=2, size_min=3),
    BisectingKMeans(),
    BisectingKMeans(n_clusters=2, bisecting_strategy="largest_cluster"),
    KPrototypes(),
    SphericalKMeans(zero_rows="drop"),  # some checks give it rows of zeros
]


# Some checks give eight clusters fewer distinct rows; scikit-learn warns there, and so do we.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@parametrize_with_checks(MEMBERS, expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


MEDOIDS = [
    KMedoids(),
    KMedoids(n_clusters=2, metric="manhattan", method="pam"),
    KMedoids(n_clusters=2, metric="precomputed"),
]
ROWS = "the check gives rows of features where dissimilarities are expected"
NUMBERS = "clusters are numbered by the rows of their medoids, which the check shuffles"


def expected_of(estimator):
    return {"check_clustering": ROWS} if estimator.metric == "precomputed" else {}


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@parametrize_with_checks(MEDOIDS, expected_failed_checks=expected_of)
def test_scikit_learn_checks_of_medoids(estimator, check):
    if check.func.__name__ in EXPECTED:  # some versions of them pass by chance
        pytest.skip(NUMBERS if estimator.method == "pam" else RANDOM_START)
    check(estimator)
