"""Every member of the family certifies itself, or says why it cannot."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import rbf_kernel

import partita
from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, certify
from partita.estimators.capabilities import Capabilities, lacking
from partita.estimators.registry import member_class, registered_names
from partita.theory import partitions

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(36, 3)) + 6.0 * np.eye(3)[np.repeat([0, 1, 2], 12)]
FEW = np.round(RNG.normal(size=(7, 2)) * 3, 1) + 0.05
WEIGHT = RNG.integers(1, 4, 7).astype(float)
ONE_BOUND = {"callback": lambda progress: True}


@pytest.mark.parametrize("name", registered_names())
def test_every_member_certifies_or_says_why_not(name):
    model = member_class(name)(3).fit(ROWS)
    try:
        certificate = certify(ROWS, model, **ONE_BOUND)
    except ValueError as error:
        assert f"{name} cannot be certified: " in str(error)  # noqa: PT017
        return
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-9)
    assert 0.0 < certificate.lower_bound <= certificate.objective
    assert certificate.n_clusters == 3


def test_a_member_without_bounds_gives_its_reason():
    class Guess(ClusterMixin, BaseEstimator):
        def fit(self, X):
            self.labels_ = np.zeros(len(X))
            return self

        def predict(self, X):
            return np.zeros(len(X))

        def __partita_capabilities__(self):
            return Capabilities(lacks=lacking("it only guesses", "certificates"))

    with pytest.raises(ValueError, match="Guess cannot be certified: it only guesses"):
        certify(ROWS, Guess().fit(ROWS))


# --- the objectives of the family against enumeration ---------------------------------------------


def best_of(cost, k):
    return min(cost(z) for z in partitions(len(FEW), k))


def cost_of_directions(labels):
    unit = FEW / np.linalg.norm(FEW, axis=1)[:, None]
    sums = np.stack([WEIGHT[labels == j] @ unit[labels == j] for j in range(labels.max() + 1)])
    return WEIGHT.sum() - np.linalg.norm(sums, axis=1).sum()


def cost_in_feature_space(gram):
    def cost(labels):
        total = WEIGHT @ gram.diagonal()
        for j in range(labels.max() + 1):
            mass = np.where(labels == j, WEIGHT, 0.0)
            total -= mass @ gram @ mass / mass.sum()
        return total

    return cost


@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_directions_are_below_the_bound(k):
    model = SphericalKMeans(k, random_state=0).fit(FEW, sample_weight=WEIGHT)
    certificate = model.certify(FEW, sample_weight=WEIGHT, time_limit=None)
    best = best_of(cost_of_directions, k)
    assert certificate.lower_bound <= best * (1 + 1e-12)
    assert certificate.lower_bound >= 0.5 * best
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-12)
    assert (certificate.kind == "exact") == (k == 1)
    assert "1 − cos" in certificate.sentence


@pytest.mark.parametrize("k", [1, 2, 3])
def test_no_kernel_clusters_are_below_the_bound(k):
    gram = rbf_kernel(FEW, gamma=0.2)
    model = KernelKMeans(k, kernel="precomputed", random_state=0).fit(gram, sample_weight=WEIGHT)
    certificate = model.certify(gram, sample_weight=WEIGHT, time_limit=None)
    best = best_of(cost_in_feature_space(gram), k)
    assert 0.5 * best <= certificate.lower_bound <= best * (1 + 1e-9)
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-9)
    assert certificate.n_features is None


def test_a_linear_kernel_is_certified_as_k_means_is():
    by_rows = certify(ROWS, KMeans(3, random_state=0).fit(ROWS), **ONE_BOUND)
    model = KernelKMeans(3, kernel="linear", random_state=0).fit(ROWS)
    by_kernel = model.certify(ROWS, **ONE_BOUND)
    assert by_kernel.objective == pytest.approx(by_rows.objective, rel=1e-9)
    assert by_kernel.lower_bound == pytest.approx(by_rows.lower_bound, rel=1e-6)


def test_an_indefinite_kernel_needs_a_shift():
    gram = rbf_kernel(ROWS, gamma=0.2) - 2.0 * np.eye(len(ROWS))
    with pytest.warns(UserWarning, match="not positive semidefinite"):
        plain = KernelKMeans(3, kernel="precomputed", random_state=0).fit(gram)
    with pytest.raises(ValueError, match="positive semidefinite on these rows"):
        plain.certify(gram)
    shifted = KernelKMeans(3, kernel="precomputed", random_state=0, diagonal_shift="auto").fit(gram)
    certificate = shifted.certify(gram, **ONE_BOUND)
    assert certificate.objective == pytest.approx(shifted.inertia_, rel=1e-9)
    assert 0.0 < certificate.lower_bound <= certificate.objective


def test_a_normalized_cut_and_a_nystrom_fit_are_certified():
    cut = KernelKMeans(3, kernel="normalized-cut", random_state=0).fit(rbf_kernel(ROWS, gamma=0.1))
    certificate = cut.certify(rbf_kernel(ROWS, gamma=0.1), **ONE_BOUND)
    assert certificate.objective == pytest.approx(cut.inertia_, rel=1e-9)
    few = KernelKMeans(3, approximation="nystrom", n_components=9, random_state=0).fit(ROWS)
    low, high = few.objective_interval_
    certificate = few.certify(ROWS, **ONE_BOUND)
    assert low * (1 - 1e-9) <= certificate.objective <= high * (1 + 1e-9)
    assert few.certificate_ is certificate


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "precomputed"])
def test_medoids_reach_the_best_possible(metric):
    far = np.abs(FEW[:, None] - FEW).sum(axis=2)
    X = far if metric == "precomputed" else FEW
    model = KMedoids(3, metric=metric, random_state=0, n_init=5)
    model.fit(X, sample_weight=WEIGHT)
    certificate = model.certify(X, sample_weight=WEIGHT, time_limit=None)
    assert certificate.is_optimal
    assert certificate.objective == pytest.approx(model.inertia_, rel=1e-12)
    if metric == "precomputed":
        from itertools import combinations

        sets = combinations(range(len(FEW)), 3)
        best = min(WEIGHT @ far[list(chosen)].min(axis=0) for chosen in sets)
        assert certificate.lower_bound == pytest.approx(best, rel=1e-9)


def test_medoids_are_certified_on_the_rows_of_their_fit():
    model = KMedoids(3, random_state=0).fit(ROWS)
    with pytest.raises(ValueError, match="`X` must be the rows of the fit, in their order, got"):
        model.certify(ROWS[::-1])
    alone = KMedoids(2, random_state=0).fit(ROWS, sample_weight=np.arange(36) % 2)
    certificate = alone.certify(ROWS, sample_weight=np.arange(36) % 2)
    assert certificate.n_rows == 18
    assert certificate.objective == pytest.approx(alone.inertia_, rel=1e-12)


# --- the certificate that a model keeps -----------------------------------------------------------


BOUNDED = ("KMeans", "BisectingKMeans", "MiniBatchKMeans", "SphericalKMeans", "KMedoids")


@pytest.mark.parametrize("name", BOUNDED)
def test_a_model_keeps_the_certificate_of_its_fit(name):
    model = getattr(partita, name)(3).fit(ROWS)
    assert model.certify(ROWS, **ONE_BOUND) is model.certificate_
    model.fit(ROWS)
    assert not hasattr(model, "certificate_")


def test_a_model_keeps_no_certificate_of_other_rows():
    model = KMeans(3, random_state=0).fit(ROWS)
    model.certify(2 * ROWS, **ONE_BOUND)
    model.certify(ROWS, sample_weight=np.arange(36.0), **ONE_BOUND)
    assert not hasattr(model, "certificate_")
    kept = model.certify(ROWS, **ONE_BOUND)
    model.certify(2 * ROWS, **ONE_BOUND)
    assert model.certificate_ is kept


def test_later_batches_remove_the_certificate():
    model = MiniBatchKMeans(3, random_state=0).fit(ROWS)
    model.certify(ROWS, **ONE_BOUND)
    model.partial_fit(ROWS)
    assert not hasattr(model, "certificate_")


def test_directions_without_a_length_do_not_count():
    X = np.vstack([ROWS, np.zeros((2, 3))])
    model = SphericalKMeans(3, random_state=0, zero_rows="drop").fit(X)
    certificate = model.certify(X, **ONE_BOUND)
    assert certificate.n_rows == len(ROWS)
    assert model.certificate_ is certificate
