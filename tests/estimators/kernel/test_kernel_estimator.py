"""KernelKMeans behaves as the other estimators: halting, frames, new rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.kernel_cases import sample
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from partita import IndefiniteKernelWarning, KernelKMeans, KMeans
from partita.halting import MaxIter
from partita.source.kernel_function import KernelFunction

pytestmark = pytest.mark.sanitize


def test_halting_watching_and_restarts(capsys):
    X, start, _ = sample(300, 3, 5)
    seen = []
    model = KernelKMeans(5, init=start, callback=seen.append, verbose=1).fit(X)
    assert seen == list(model.trace_)
    assert "Iteration 0" in capsys.readouterr().out
    short = KernelKMeans(5, init=start, halt=MaxIter(2)).fit(X)
    assert short.n_iter_ == 2
    assert "limit" in short.stopped_by_
    loose = KernelKMeans(5, init=start, tol=0.1).fit(X)
    assert loose.n_iter_ < model.n_iter_
    assert "centers moved" in loose.stopped_by_
    asked = KernelKMeans(5, init="random", callback=lambda p: True, random_state=0).fit(X)
    assert asked.n_iter_ == 1
    one, ten = [KernelKMeans(5, n_init=m, random_state=0).fit(X).inertia_ for m in (1, 10)]
    assert ten <= one


def test_frames_pickles_and_clones():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X, start, _ = sample()
    plain = KernelKMeans(4, init=start).fit(X)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, schema=list("abc"))):
        model = KernelKMeans(4, init=start).fit(frame)
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert list(model.feature_names_in_) == list("abc")
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(frame), model.labels_)
        np.testing.assert_array_equal(copy.transform(frame), plain.transform(X))
    assert clone(plain).get_params()["n_clusters"] == 4
    single = pd.DataFrame(X.astype(np.float32))
    assert KernelKMeans(4, init=start).fit(single).transform(single).dtype == np.float32


@pytest.mark.parametrize("kind", ["float32", "sparse", "uint8"])
def test_other_kinds_of_rows(kind):
    X = np.abs(np.round(sample()[0] * 4))
    start = sample()[1]
    other = {"float32": X.astype(np.float32), "sparse": sp.csr_array(X), "uint8": X.astype("u1")}
    other = other[kind]
    for kernel in ("rbf", "linear", "cosine", "laplacian"):
        a = KernelKMeans(4, kernel=kernel, gamma=0.01, init=start).fit(X)
        b = KernelKMeans(4, kernel=kernel, gamma=0.01, init=start).fit(other)
        assert b.inertia_ == pytest.approx(a.inertia_, rel=1e-4)
        np.testing.assert_array_equal(b.predict(other), b.labels_)
        assert b.transform(other).dtype == (np.float32 if kind == "float32" else np.float64)


def test_what_is_said_of_new_rows():
    X, start, weight = sample(200, 3, 4)
    model = KernelKMeans(4, gamma=0.1, init=start).fit(X, sample_weight=weight)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.score(X, sample_weight=weight) == pytest.approx(-model.inertia_, rel=1e-9)
    new = X[:9] + 0.3
    K, cross = rbf_kernel(X, gamma=0.1), rbf_kernel(new, X, gamma=0.1)
    Z = (model.labels_[:, None] == np.arange(4)) * weight[:, None]
    Z /= Z.sum(axis=0)
    squares = 1 - 2 * cross @ Z + np.einsum("nk,nk->k", Z, K @ Z)
    np.testing.assert_allclose(model.transform(new), np.sqrt(squares), rtol=1e-10)
    np.testing.assert_array_equal(model.predict(new), squares.argmin(axis=1))
    soft = model.soft_membership(new)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    np.testing.assert_array_equal(soft.argmax(axis=1), model.predict(new))
    assert model.membership_.shape == (200, 4)


def test_soft_memberships_of_a_linear_kernel_are_those_of_k_means():
    X, _ = make_blobs(300, 3, centers=np.zeros((1, 3)), random_state=0)  # round: all directions
    ours = KernelKMeans(3, kernel="linear", init=X[:3]).fit(X)
    plain = KMeans(3, init=X[:3], tol=0).fit(X)
    np.testing.assert_allclose(ours.soft_membership(X), plain.soft_membership(X), atol=0.05)
    heat = plain._temperature()
    np.testing.assert_allclose(
        ours.soft_membership(X, heat), plain.soft_membership(X, heat), atol=1e-9
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear", "cosine", "poly", "laplacian"])
@pytest.mark.parametrize("path", [{}, {"approximation": "nystrom"}], ids=["exact", "nystrom"])
def test_sparse_and_dense_rows_meet(kernel, path):
    """Far from 0, where a fit to dense rows moves them first."""
    X = np.abs(sample(80)[0]) + 5
    for fitted, new in ((X, sp.csr_array(X)), (sp.csr_array(X), X)):
        model = KernelKMeans(3, kernel=kernel, random_state=0, **path).fit(fitted)
        np.testing.assert_array_equal(model.predict(new), model.predict(fitted))
        np.testing.assert_allclose(model.transform(new), model.transform(fitted), atol=1e-6)


def test_an_indefinite_objective_may_be_negative():
    K = -np.eye(6)
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelKMeans(2, kernel="precomputed", init=np.arange(6) % 2, max_iter=1).fit(K)
    true = sum(
        np.trace(K[np.ix_(some, some)]) - K[np.ix_(some, some)].sum() / len(some)
        for some in (np.flatnonzero(model.labels_ == j) for j in range(2))
        if len(some)
    )
    assert model.objective_interval_[0] == pytest.approx(true)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "polynomial", "cosine"])
def test_the_diagonal_is_that_of_the_gram_matrix(name):
    rows = np.random.default_rng(0).normal(size=(130, 3)) * 1e3
    params = {"degree": 2, "coef0": 1.0} if name == "polynomial" else {}
    kernel = KernelFunction(name, params)
    assert np.allclose(kernel.diagonal(rows), kernel.between(rows).diagonal(), rtol=1e-12)
    if name in ("rbf", "laplacian"):
        assert np.array_equal(kernel.diagonal(rows), kernel.between(rows).diagonal())
