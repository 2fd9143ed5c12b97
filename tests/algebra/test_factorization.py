"""A fit as X ≈ ZΘ: the laws of the factors, and the way back from labels to rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import Birch
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.cluster import MiniBatchKMeans as TheirMiniBatchKMeans
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    factorize,
)
from partita.theory import sse

MAKE = {"dense": np.asarray, "sparse": sp.csr_array}


def rows(seed, n=60, d=4, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, (n, 1)) + offset + 1
    return X, rng.integers(0, 3, n) + 0.5


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


@pytest.mark.heavy
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.sampled_from([0.0, 1e6]))
def test_the_factors_keep_their_laws(make, seed, k, offset):
    X, w = rows(seed, offset=offset)
    model = KMeans(k, random_state=0, tol=0.0).fit(make(X), sample_weight=w)
    found = factorize(model, make(X), w)
    Z, Y, D = found.Z.toarray(), found.Y.toarray(), np.diag(w)
    np.testing.assert_array_equal(Z.sum(axis=1), 1.0)
    assert set(np.unique(Z)) <= {0.0, 1.0}
    np.testing.assert_allclose(Z.T @ D @ Z, np.diag(found.mass), rtol=1e-12)
    np.testing.assert_allclose(Z.T @ w, found.mass, rtol=1e-12)
    np.testing.assert_allclose(Y.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(Y, D @ Z @ np.linalg.inv(Z.T @ D @ Z), rtol=1e-9)
    np.testing.assert_allclose(found.means, Y.T @ X, rtol=1e-12)
    np.testing.assert_array_equal(found.reconstruction, Z @ found.theta)
    gap = np.sqrt(w)[:, None] * (X - found.reconstruction)
    np.testing.assert_allclose((gap**2).sum(), found.objective, rtol=1e-9)
    np.testing.assert_allclose(((X - found.reconstruction) ** 2).sum(axis=1), found.residuals)
    assert found.objective == model.inertia_  # the same bits
    np.testing.assert_allclose(found.theta, found.means, rtol=1e-9)  # the fit has converged
    share = 1 - model.inertia_ / sse(X, w)
    np.testing.assert_allclose(found.explained_variance, share, atol=1e-9)


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_directions_are_factored_at_unit_length(make):
    X, w = rows(1)
    model = SphericalKMeans(3, random_state=0).fit(make(X), sample_weight=w)
    found = factorize(model, make(X), w)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    assert found.objective == pytest.approx(model.inertia_)
    np.testing.assert_allclose(((unit - found.reconstruction) ** 2).sum(axis=1), found.residuals)
    np.testing.assert_allclose(found.means, found.Y.toarray().T @ unit)


@pytest.mark.parametrize("zero_rows", ["drop", "separate"])
def test_rows_without_direction_have_no_center(zero_rows):
    X, w = rows(2)
    X[5] = 0.0
    model = SphericalKMeans(3, random_state=0, zero_rows=zero_rows).fit(X, sample_weight=w)
    found = factorize(model, X, w)
    assert found.labels[5] == -1
    assert found.residuals[5] == 0.0
    np.testing.assert_array_equal(found.reconstruction[5], 0.0)
    assert found.mass.sum() == pytest.approx(w.sum() - w[5])
    assert found.objective == pytest.approx(model.inertia_)
    assert found.Y.shape == found.Z.shape == (60, 3)  # a column for each center, and no other
    own = model.membership_.toarray()
    np.testing.assert_array_equal(found.Z.toarray(), own[:, :3])
    assert own.shape[1] == 3 + (zero_rows == "separate")


@pytest.mark.parametrize("theirs", [TheirKMeans, TheirMiniBatchKMeans])
def test_models_of_scikit_learn(theirs):
    X, w = rows(3)
    model = theirs(3, n_init=1, random_state=0).fit(X, sample_weight=w)
    found = factorize(model, X, w)
    assert found.objective == pytest.approx(-model.score(X, sample_weight=w))


def test_other_members_and_new_rows():
    X, w = rows(4)
    new = rows(5)[0]
    batches = MiniBatchKMeans(3, random_state=0).fit(X)
    assert factorize(batches, new).objective == pytest.approx(-batches.score(new))
    squared = KMedoids(3, metric="sqeuclidean", random_state=0).fit(X, sample_weight=w)
    assert factorize(squared, X, w).objective == pytest.approx(squared.inertia_)
    thin = KMedoids(3, random_state=0).fit(sp.csr_array(X))
    found = factorize(thin, sp.csr_array(X))
    np.testing.assert_array_equal(
        found.reconstruction.toarray(), X[thin.medoid_indices_][found.labels]
    )


def test_single_precision_and_bytes():
    X, _ = rows(6)
    small = np.abs(X * 10).astype(np.uint8)
    model = KMeans(3, random_state=0).fit(small)
    assert factorize(model, small).objective == pytest.approx(model.inertia_)
    single = X.astype(np.float32)
    model = KMeans(3, random_state=0).fit(single)
    assert factorize(model, single).objective == model.inertia_
    assert factorize(model, single[:, ::-1][:, ::-1]).objective == model.inertia_


def test_a_cluster_without_rows_has_no_mean_and_no_mass():
    X, w = rows(12)
    model = KMeans(3, init=[X[0], X[1], X[1] + 1e4], empty="keep", max_iter=1, n_init=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    found = factorize(model, X, w)
    empty = found.mass == 0
    assert empty.sum() == 1
    np.testing.assert_array_equal(found.means[empty], 0.0)
    np.testing.assert_allclose(found.Y.toarray().sum(axis=0), np.where(empty, 0.0, 1.0))


def test_the_explained_variance_of_equal_rows_is_nan():
    X = np.ones((5, 2))
    assert np.isnan(factorize(KMeans(1).fit(X), X).explained_variance)
    assert "5 rows of 2 features by 1 centers" in repr(factorize(KMeans(1).fit(X), X))


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
@pytest.mark.parametrize("power", [-700, 530])
def test_size_does_not_change_what_is_explained(make, power):
    X, w = rows(13)
    size = 2.0**power
    plain = factorize(KMeans(3, random_state=0).fit(make(X), sample_weight=w), make(X), w)
    found = factorize(
        KMeans(3, random_state=0).fit(make(X * size), sample_weight=w), make(X * size), w
    )
    assert found.explained_variance == pytest.approx(plain.explained_variance, rel=1e-12)
    assert found.objective == found.residuals.max() == (0.0 if power < 0 else np.inf)
    tiny = factorize(KMeans(3, random_state=0).fit(make(X)), make(X * 2.0**-700))
    assert np.isfinite(tiny.residuals).all()
    assert tiny.residuals.max() > 0.1  # rows at 0, but centers where they were


def test_models_without_centers_are_rejected_with_an_alternative():
    X, _ = rows(7)
    with pytest.raises(ValueError, match="membership_"):
        factorize(KernelKMeans(2, random_state=0).fit(X), X)
    apart = np.abs(X[:, :1] - X[:, 0])
    with pytest.raises(ValueError, match="membership_"):
        factorize(KMedoids(2, metric="precomputed").fit(apart), apart)
    with pytest.raises(ValueError, match=r"model.predict\(X\)"):
        factorize(Birch(n_clusters=2).fit(X), X)
    with pytest.raises(NotFittedError):
        factorize(KMeans(2), X)
    with pytest.raises(ValueError, match="features"):
        factorize(KMeans(2).fit(X), X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        factorize(KMeans(2).fit(X), np.where(X > 5, np.nan, X))
    with pytest.raises(ValueError, match="`sample_weight` must be of shape"):
        factorize(KMeans(2).fit(X), X, np.ones(3))


# --- the way back ---------------------------------------------------------------------------------

MEMBERS = [
    KMeans(3, random_state=0),
    MiniBatchKMeans(3, random_state=0),
    SphericalKMeans(3, random_state=0),
    KMedoids(3, random_state=0),
]


@pytest.mark.parametrize("model", MEMBERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE)
def test_labels_and_memberships_lead_back_to_rows(model, make):
    X = make(rows(8)[0])
    model.fit(X)
    centers = dense(model.cluster_centers_)
    labels = model.predict(X)
    np.testing.assert_array_equal(dense(model.inverse_transform(labels)), centers[labels])
    hard, soft = model.membership_, model.soft_membership(X)
    np.testing.assert_array_equal(dense(model.inverse_transform(hard)), centers[labels])
    np.testing.assert_array_equal(dense(model.inverse_transform(hard.toarray())), centers[labels])
    np.testing.assert_allclose(dense(model.inverse_transform(soft)), soft @ centers)
    half = soft.astype(np.float32)
    np.testing.assert_allclose(dense(model.inverse_transform(half)), half @ centers, rtol=1e-5)
    assert model.inverse_transform(np.empty(0, int)).shape == (0, 4)
    assert model.inverse_transform([2, 0]).shape == (2, 4)


@pytest.mark.parametrize("model", MEMBERS, ids=lambda m: type(m).__name__)
def test_invalid_codes_are_rejected(model):
    X = rows(9)[0]
    with pytest.raises(NotFittedError):
        type(model)().inverse_transform([0])
    model.fit(X)
    with pytest.raises(ValueError, match="transform returns distances"):
        model.inverse_transform(model.transform(X))
    for wrong in ([3], [-1], [[0, 1]], [[0.2, 0.2, 0.2]], [[2.0, -1.0, 0.0]], [0.5], [["a"] * 3]):
        with pytest.raises(ValueError, match="must be"):
            model.inverse_transform(wrong)
    with pytest.raises(ValueError, match="must be"):
        model.inverse_transform([[np.nan, 0.5, 0.5]])


def test_the_cluster_of_zeros_leads_back_to_zeros():
    X = rows(10)[0]
    X[3] = 0.0
    model = SphericalKMeans(3, random_state=0, zero_rows="separate").fit(X)
    np.testing.assert_array_equal(model.inverse_transform(model.labels_)[3], 0.0)
    np.testing.assert_array_equal(model.inverse_transform(model.membership_)[3], 0.0)


def test_precomputed_dissimilarities_have_no_centers():
    X = rows(11)[0]
    model = KMedoids(2, metric="precomputed").fit(np.abs(X[:, :1] - X[:, 0]))
    with pytest.raises(ValueError, match="medoid_indices_"):
        model.inverse_transform([0, 1])
