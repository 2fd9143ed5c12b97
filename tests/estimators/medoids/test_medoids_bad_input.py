"""Input that `KMedoids` cannot take: each has an error of its own that says what to do."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

from partita import KMedoids

X = load_iris().data
D = np.abs(X[:30, None] - X[None, :30]).sum(axis=2)


def spoiled(value, row=3, column=7, both=True, dtype=np.float64):
    table = D.astype(dtype)
    table[row, column] = value
    if both:
        table[column, row] = value
    return table


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            lambda t: spoiled(1.0, both=False, dtype=t),
            r"`X` must be .*got d\(i, j\) and d\(j, i\) that differ by up to 0\.3",
        ),
        (lambda t: spoiled(-1.0, dtype=t), "Negative values.*-1"),
        (lambda t: spoiled(np.nan, dtype=t), "contains NaN"),
        (lambda t: spoiled(np.inf, dtype=t), "contains infinity"),
        (lambda t: spoiled(0.5, 4, 4, dtype=t), "diagonal.*0.5"),
        (lambda t: D[:, :20].astype(t), r"`X` must be .*got the shape \(30, 20\)"),
        (lambda t: D[None].astype(t), r"shape \(1, 30, 30\)"),
        (lambda t: D[0].astype(t), "`X` must be .*got the length 30"),
        (lambda t: np.full(6, np.nan, t), "contains NaN"),
        (lambda t: np.full(6, -2.0, t), "Negative values.*-2"),
        (lambda t: np.empty((0, 0), t), "0 sample"),
        (
            lambda t: np.full((2, 2), "a"),
            r"`X` must be numeric, got text: could not convert string to float: ",
        ),
        (lambda t: np.eye(3) * 1j, "omplex"),
    ],
)
def test_a_matrix_that_is_none(table, words, dtype):
    model = KMedoids(2, metric="precomputed", random_state=0).fit(D)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.fit(table(dtype))
    assert dict(vars(model)) == before  # the earlier fit is as it was


@pytest.mark.parametrize("fault", [-1, 3])
def test_whole_numbers_are_looked_at_too(fault):
    table = np.rint(D).astype(np.int32)
    table[2, 9] += 5 if fault == 3 else 0
    if fault == -1:
        table[2, 9] = table[9, 2] = -1
    with pytest.raises(ValueError, match="Negative" if fault == -1 else "symmetric"):
        KMedoids(2, metric="precomputed").fit(table)


def test_rounding_is_no_fault():
    table = spoiled(D[3, 7] * (1 + 1e-14), both=False)
    table[5, 5] = 1e-14
    assert KMedoids(2, metric="precomputed").fit(table).inertia_ > 0


def test_a_sparse_matrix_of_dissimilarities():
    with pytest.raises(TypeError, match="dense matrix"):
        KMedoids(2, metric="precomputed").fit(sp.csr_matrix(D))
    with pytest.raises(ValueError, match="for sparse X, got 'chebyshev'"):
        KMedoids(2, metric="chebyshev").fit(sp.csr_matrix(X))


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
        ({"n_clusters": 151}, "n_samples=150 should be >= n_clusters=151"),
        ({"metric": "euclid"}, "`metric` must be .*got 'euclid'"),
        ({"metric": None}, "`metric` must be .*got None"),
        (
            {"metric_params": 3},
            "`metric_params` must be a dictionary with text keys or None, got 3",
        ),
        (
            {"metric": "precomputed", "metric_params": {"p": 1}},
            r"`metric_params` must be None with metric='precomputed', got \{'p': 1\}",
        ),
        ({"method": "voronoi"}, "`method` must be .*got 'voronoi'"),
        ({"init": "k-means++"}, r"`init` must be .*got 'k-means\+\+'"),
        ({"init": None}, "`init` must be .*got None"),
        ({"init": [0, 0, 1]}, "a row twice"),
        (
            {"init": [0, 1]},
            "3 different rows from 0 to 149, got 2 numbers",
        ),
        (
            {"init": [0, 1, 150]},
            "3 different rows from 0 to 149, got 0 to 150",
        ),
        (
            {"init": [0, 1, -1]},
            "3 different rows from 0 to 149, got -1 to 1",
        ),
        ({"init": [0.5, 1, 2]}, "the numbers of 3 different rows from 0 to 149"),
        (
            {"init": np.array([True, False, True])},
            r"`init` must be .*got an array of shape \(3,\) and dtype bool",
        ),
        (
            {"n_clusters": 2, "init": [True, False]},
            r"`init` must be .*got an array of shape \(2,\) and dtype bool",
        ),
        ({"init": [True, 0, 2]}, "the numbers of 3 different rows from 0 to 149"),
        ({"init": X[:3]}, "shape \\(3, 4\\)"),
        ({"init": [0, 1, 2], "method": "clara"}, "not with method='clara'"),
        (
            {"init": lambda X, k, random_state: [1]},
            "3 different rows from 0 to 149, got 1 numbers",
        ),
        ({"n_init": 0}, "`n_init` must be an integer from 1 to 100000 or 'auto', got 0"),
        ({"max_iter": 0}, "`max_iter` must be an integer >= 1, got 0"),
        ({"batch_size": 0}, "`batch_size` must be an integer >= 1 or None, got 0"),
        ({"k_range": 1}, "`k_range` must be numbers of clusters >= 2: .* or None, got 1"),
        ({"k_range": (1, 4)}, r"`k_range` must be numbers of clusters >= 2: .*got \(1, 4\)"),
        ({"k_range": [2, 3.5]}, "k_range"),
        ({"k_range": "4:2"}, "k_range"),
        ({"k_range": ()}, "k_range"),
        ({"k_range": (5, 4)}, "k_range"),
        ({"k_range": (2, 4), "method": "clara"}, "`method` must be .*got 'clara'"),
        ({"k_range": (2, 200)}, "n_clusters=200"),
        ({"halt": 3}, r"`halt` must be a criterion from partita\.halting or None, got 3"),
        ({"callback": 3}, "`callback` must be a callable or None, got 3"),
        ({"n_threads": 0}, "`n_threads` must be an integer >= 1 or None, got 0"),
        (
            {"memory_limit": -1},
            "`memory_limit` must be a number >= 0, a size such as '2GiB' or None",
        ),
        ({"random_state": "a"}, "`random_state` must be .*got 'a'"),
        (
            {"metric": lambda a, b: -1.0},
            r"`metric` must be >= 0 for all pairs of rows, got -1",
        ),
        ({"metric": lambda a, b: float("nan")}, "NaN or infinity"),
        (
            {"metric": lambda a, b: float(np.maximum(a - b, 0).sum())},
            r"`metric` must be .*got .*d\(a, b\) and d\(b, a\) differ",
        ),
    ],
)
def test_parameters_that_cannot_be(keywords, words):
    with pytest.raises(ValueError, match=words):
        KMedoids(**{"n_clusters": 3, **keywords}).fit(X)


def test_a_covariance_without_an_inverse():
    with pytest.raises(ValueError, match=r"mahalanobis.*'VI'"):
        KMedoids(3, metric="mahalanobis").fit(np.c_[X[:, :2], np.ones(150)])
    one = KMedoids(3, metric="mahalanobis", random_state=0).fit(X[:, :1])
    same = KMedoids(3, random_state=0).fit(X[:, :1])
    np.testing.assert_array_equal(one.labels_, same.labels_)


def test_explicit_rows_make_one_run():
    with pytest.warns(RuntimeWarning, match="only one init"):
        KMedoids(3, init=[1, 2, 3], n_init=5).fit(X)


def test_new_rows_must_fit_the_fit():
    model = KMedoids(3, metric="precomputed", random_state=0).fit(D)
    assert model.predict(D[:4]).shape == (4,)
    with pytest.raises(ValueError, match="30 features"):
        model.predict(D[:4, :20])
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.predict(D[0])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(np.full((2, 30), np.nan))
    with pytest.raises(ValueError, match="Negative"):
        model.transform(-D)
    rows = KMedoids(3).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        rows.predict(np.full((2, 4), np.nan))
    with pytest.raises(ValueError, match="4 features"):
        rows.predict(X[:, :3])


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "kill"), reason="signals are sent by os.kill")
@pytest.mark.parametrize("memory", [0, 4e9])
def test_ctrl_c_is_heard(memory):
    rows = np.random.default_rng(0).normal(size=(20_000, 24))
    model = KMedoids(200, random_state=0, memory_limit=memory, n_init=100, n_threads=2)
    timer = threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(rows)
    assert time.process_time() - begin < 8  # of two threads; a whole run takes far longer
    assert not hasattr(model, "labels_")


def test_a_start_that_is_called_may_not_choose_rows_without_weight():
    weight = np.ones(150)
    weight[:50] = 0
    model = KMedoids(2, init=lambda X, k, random_state: [60, 140]).fit(X, sample_weight=weight)
    assert (model.medoid_indices_ >= 50).all()
    with pytest.raises(ValueError, match="a row of weight zero"):
        KMedoids(2, init=lambda X, k, random_state: [3, 140]).fit(X, sample_weight=weight)
    with pytest.raises(ValueError, match="not with method='clara'"):
        KMedoids(2, init=lambda X, k, random_state: [3, 140], method="clara").fit(X)
    for table in (D.tolist(), D[np.triu_indices(30, 1)]):
        keywords = {"metric": "precomputed", "init": lambda X, k, random_state: [3, 29]}
        assert KMedoids(2, **keywords).fit(table).inertia_ > 0


def test_a_matrix_as_it_may_lie_in_memory():
    model = KMedoids(3, metric="precomputed", random_state=0)
    plain = model.fit(D).inertia_
    frozen = D.copy()
    frozen.flags.writeable = False
    crooked = np.frombuffer(b"x" + D.tobytes(), np.uint8)[1:].view(np.float64).reshape(D.shape)
    for table in (frozen, crooked, D.astype(">f8"), D.astype(np.longdouble), D.astype(object)):
        assert model.fit(table).inertia_ == plain
