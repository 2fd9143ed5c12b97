"""Parameters, matrices and data that kernel K-means accepts or refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import objective, sample
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from partita import EmptyClusterError, KernelKMeans, KMeans

pytestmark = pytest.mark.sanitize


@pytest.mark.parametrize(
    "wrong",
    [
        {"kernel": "gauss"},
        {"gamma": -1},
        {"gamma": "median"},
        {"gamma": None},
        {"gamma": np.nan},
        {"degree": 0},
        {"coef0": "1"},
        {"kernel_params": 3},
        {"kernel_params": {"sigma": 1}},
        {"approximation": "rff"},
        {"n_components": 0},
        {"diagonal_shift": -1},
        {"diagonal_shift": "least"},
        {"empty": "ignore"},
        {"tol": -1},
        {"n_clusters": 0},
        {"n_clusters": 121},
        {"max_iter": 0},
        {"memory_limit": -1},
        {"approximation": "nystrom", "diagonal_shift": 1.0},
        {"approximation": "nystrom", "init": "spectral"},
    ],
    ids=str,
)
def test_parameters_that_do_not_fit(wrong):
    X, start, _ = sample()
    model = KernelKMeans(4, init=start).fit(X)
    before = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    name = next(iter(wrong)) if len(wrong) == 1 else list(wrong)[1]
    with pytest.raises(ValueError, match=f"{name}|n_samples"):
        model.set_params(**wrong).fit(X)
    after = pickle.dumps({k: v for k, v in vars(model).items() if k.endswith("_")})
    assert before == after, "a fit that fails must leave an earlier one as it was"


def test_matrices_that_are_none():
    X, _, _ = sample()
    K = rbf_kernel(X)
    model = KernelKMeans(3, kernel="precomputed")
    with pytest.raises(ValueError, match=r"a square Gram matrix, got the shape \(120, 119\)"):
        model.fit(K[:, :-1])
    for value, word in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = K.copy()
        bad[3, 5] = bad[5, 3] = value
        for matrix in (bad, sp.csr_array(bad)):
            with pytest.raises(ValueError, match=word):
                model.fit(matrix)
    bad = K.copy()
    bad[3, 5] += 0.1
    for matrix in (bad, sp.csr_array(bad)):
        with pytest.raises(
            ValueError,
            match=r"`X` must be a symmetric",
        ):
            model.fit(matrix)
    with pytest.raises(ValueError, match="needs no approximation"):
        KernelKMeans(3, kernel="precomputed", approximation="nystrom").fit(K)
    fitted = model.fit(K)
    with pytest.raises(ValueError, match="119 features"):
        fitted.predict(K[:, :-1])
    with pytest.raises(ValueError, match="diagonal"):
        fitted.distances(K)
    with pytest.raises(ValueError, match="one finite number for each of 120 rows"):
        fitted.distances(K, np.ones(3))
    assert not hasattr(fitted, "transform")
    assert not hasattr(fitted, "score")
    assert fitted.soft_membership(K).shape == (120, 3)


def test_a_callable_kernel():
    X, start, _ = sample(60)

    def inner(a, b, power):
        return float(a @ b) ** power

    ours = KernelKMeans(4, kernel=inner, kernel_params={"power": 1}, init=start[:60]).fit(X)
    plain = KernelKMeans(4, kernel="linear", init=start[:60]).fit(X)
    np.testing.assert_array_equal(ours.labels_, plain.labels_)
    assert ours.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)
    np.testing.assert_allclose(ours.transform(X), plain.transform(X), rtol=1e-6, atol=1e-6)
    with pytest.raises(
        ValueError,
        match=r"`kernel` must be symmetric",
    ):
        KernelKMeans(4, kernel=lambda a, b: float(a[0] * b[1])).fit(X)


def test_other_names_of_scikit_learn():
    X = np.abs(sample()[0])
    for kernel in ("chi2", "additive_chi2", "poly"):
        assert KernelKMeans(3, kernel=kernel, random_state=0).fit(X).n_iter_ >= 1
    a = KernelKMeans(3, kernel="poly", random_state=0).fit(X)
    b = KernelKMeans(3, kernel="polynomial", random_state=0).fit(X)
    assert a.inertia_ == b.inertia_


PATHS = [{}, {"approximation": "exact", "memory_limit": 0}, {"approximation": "nystrom"}]


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_a_kernel_that_overflows(path):
    X = sample()[0] * 1e120
    with pytest.raises(ValueError, match="gave NaN or infinity"):
        KernelKMeans(3, kernel="poly", gamma=1.0, **path).fit(X)
    with pytest.raises(ValueError, match="gave NaN or infinity"):
        KernelKMeans(3, kernel="linear", **path).fit(X * 1e60)


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly", "laplacian"])
@pytest.mark.parametrize("kind", ["one", "two", "constant", "zeros", "tiny"])
def test_hardly_any_data(path, kernel, kind):
    X = {
        "one": np.array([[1.0, 2.0]]),
        "two": np.array([[1.0], [3.0]]),
        "constant": np.full((9, 2), 3.7),
        "zeros": np.zeros((9, 2)),
        "tiny": sample(20)[0] * 1e-130,
    }[kind]
    weight = np.arange(len(X)) % 2 + (len(X) == 1)
    for some in (None, weight):
        model = KernelKMeans(1, kernel=kernel, random_state=0, **path).fit(X, None, some)
        assert (model.labels_ == 0).all()
        assert 0 <= model.inertia_ < 1e3
        assert np.isfinite(model.transform(X)).all()
        assert np.isfinite(model.soft_membership(X)).all()


def test_as_many_clusters_as_rows():
    X, _, _ = sample(30)
    model = KernelKMeans(30, random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(30))
    assert model.inertia_ == pytest.approx(0, abs=1e-12)


def test_one_cluster():
    X, _, weight = sample()
    model = KernelKMeans(1, gamma=0.1, random_state=0).fit(X, sample_weight=weight)
    K = rbf_kernel(X, gamma=0.1)
    assert model.inertia_ == pytest.approx(objective(K, np.zeros(120), weight), rel=1e-12)


def test_duplicates():
    X = np.repeat(np.array([[0.0, 0.0], [5.0, 5.0], [9.0, 0.0]]), 20, axis=0)
    model = KernelKMeans(3, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(0, abs=1e-10)
    assert len(set(zip(model.labels_.tolist(), X[:, 0].tolist(), strict=True))) == 3
    with pytest.warns(ConvergenceWarning, match="3"):
        more = KernelKMeans(5, random_state=0).fit(X)
    assert len(np.unique(more.labels_)) == 3
    np.testing.assert_array_equal(more.predict(X), more.labels_)


def test_rows_without_a_direction_under_the_cosine():
    X, _, _ = sample(60)
    X[[3, 40]] = 0
    model = KernelKMeans(3, kernel="cosine", random_state=0).fit(X)
    assert model.labels_[3] == model.labels_[40]
    K = pairwise_kernels(X, metric="cosine")
    assert model.objective_interval_[0] == pytest.approx(objective(K, model.labels_), rel=1e-12)


def test_empty_clusters():
    X = np.concatenate([sample(60, 2)[0], [[400.0, 400.0]]])
    far = np.array([X[0], X[1], [1e5, 1e5]])
    keywords = {"kernel": "linear", "init": far}
    filled = KernelKMeans(3, **keywords).fit(X)
    assert len(np.unique(filled.labels_)) == 3
    plain = KMeans(3, init=far, tol=0).fit(X)
    np.testing.assert_array_equal(filled.labels_, plain.labels_)
    assert KernelKMeans(3, empty="drop", **keywords).fit(X).stats_.weight.shape == (2,)
    with pytest.raises(EmptyClusterError):
        KernelKMeans(3, empty="fail", **keywords).fit(X)
    with pytest.warns(ConvergenceWarning):
        kept = KernelKMeans(3, empty="keep", **keywords).fit(X)
    assert kept.stats_.weight[2] == 0
    np.testing.assert_array_equal(kept.predict(X), kept.labels_)


def test_a_center_that_is_kept_without_members_attracts_no_new_rows():
    """It may be no mean of rows, so a fit that ends with it cannot say where it is."""
    X, keywords = [[0.0], [10.0]], {"kernel": "linear", "init": [[9.0], [14.9]], "empty": "keep"}
    with pytest.warns(ConvergenceWarning):
        short = KernelKMeans(2, max_iter=1, **keywords).fit(X)
    assert short.labels_.tolist() == short.predict(X).tolist() == [0, 0]
    assert np.isinf(short.transform(X)[:, 1]).all()
    long = KernelKMeans(2, **keywords).fit(X)  # in the next iteration it gets one
    assert long.labels_.tolist() == long.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize("weight", [1e-200, 1e200])
def test_weights_whose_squares_are_no_numbers(weight):
    with pytest.raises(ValueError, match=r"`sample_weight` must be between .* divide all of them"):
        KernelKMeans(2).fit(sample(20)[0], sample_weight=np.full(20, weight))


@pytest.mark.parametrize("power", [-280, 275])
def test_matrices_beyond_the_grid(power):
    X = sample(20)[0]
    with pytest.raises(ValueError, match=r"The inner products of the kernel must be between"):
        KernelKMeans(2, kernel="precomputed").fit(X @ X.T * 10.0**power)


@pytest.mark.parametrize("wrong", [{"gamma": -2}, {"degree": None}, {"coef0": "1"}])
def test_parameters_of_the_kernel_are_checked_wherever_they_are_given(wrong):
    with pytest.raises(ValueError, match="must be a finite number"):
        KernelKMeans(2, kernel="poly", kernel_params=wrong).fit(sample(20)[0])
