"""The family under scikit-learn's own estimator checks."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from partita import KMeans, MiniBatchKMeans, SphericalKMeans

# scikit-learn declares these two for its own KMeans: with other rows, k-means++ makes other random
# choices, so a weighted and a repeated data set start elsewhere. From the same start they agree bit
# for bit (test_promises.py).
RANDOM_START = "k-means++ draws other rows when rows are repeated or removed"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": RANDOM_START,
    "check_sample_weight_equivalence_on_sparse_data": RANDOM_START,
}

MEMBERS = [
    KMeans(),
    KMeans(n_clusters=2, n_init=2),
    MiniBatchKMeans(),
    SphericalKMeans(zero_rows="drop"),  # some checks give it rows of zeros
]


# Some checks give eight clusters fewer distinct rows; scikit-learn warns there, and so do we.
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@parametrize_with_checks(MEMBERS, expected_failed_checks=lambda _: EXPECTED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
