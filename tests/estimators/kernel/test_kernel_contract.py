"""`KernelKMeans` under scikit-learn's own estimator checks."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from partita import KernelKMeans

pytestmark = pytest.mark.sanitize

# As for KMeans: with other rows, k-means++ makes other random choices. From the same start they
# agree (test_kernel_kmeans.py).
RANDOM_START = "k-means++ draws other rows when rows are repeated or removed"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": RANDOM_START,
    "check_sample_weight_equivalence_on_sparse_data": RANDOM_START,
}
NOT_SQUARE = "the check passes rows of features where a Gram matrix is expected"
EXPECTED_OF_MATRICES = {
    **EXPECTED,
    "check_clustering": NOT_SQUARE,
    "check_estimators_nan_inf": NOT_SQUARE,
}


def expected(model):
    if model.kernel == "nearest_neighbors":
        return {}  # its start is a function of the rows as a set
    return EXPECTED_OF_MATRICES if model.kernel == "precomputed" else EXPECTED


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@parametrize_with_checks(
    [
        KernelKMeans(),
        KernelKMeans(2, kernel="precomputed"),
        KernelKMeans(2, approximation="nystrom"),
        KernelKMeans(2, kernel="nearest_neighbors"),
    ],
    expected_failed_checks=expected,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@parametrize_with_checks(
    [KernelKMeans(2, approximation="exact", memory_limit=0)], expected_failed_checks=expected
)
def test_scikit_learn_checks_in_little_memory(estimator, check):
    check(estimator)
