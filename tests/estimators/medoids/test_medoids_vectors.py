"""k-medoids of rows: metrics, sparse rows, scales, offsets."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from helpers import medoid_reference as reference
from helpers.medoid_cases import BLOBS, METHODS, fit, recomputed
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances

from partita import KMedoids
from partita.engine.medoids import swap

pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.sanitize,
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine", "chebyshev"])
@pytest.mark.parametrize("method", METHODS)
def test_bits_do_not_depend_on_threads_or_memory(method, metric, dtype):
    rows, models = BLOBS.astype(dtype), []
    for threads, memory in ((1, None), (2, None), (3, None), (1, 0), (2, 0), (3, 0)):
        models.append(
            KMedoids(
                7, metric=metric, method=method, n_init=2, random_state=3, n_threads=threads,
                memory_limit=memory,
            ).fit(rows)
        )  # fmt: skip
    first = models[0]
    for model in models[1:]:
        np.testing.assert_array_equal(model.labels_, first.labels_)
        np.testing.assert_array_equal(model.medoid_indices_, first.medoid_indices_)
        assert model.inertia_ == first.inertia_
        assert [p.cost for p in model.trace_] == [p.cost for p in first.trace_]
    np.testing.assert_array_equal(first.predict(rows), first.labels_)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "cosine"])
def test_rows_and_their_matrix_agree(metric):
    table = pairwise_distances(BLOBS, metric=metric)
    rows = KMedoids(5, metric=metric, random_state=1).fit(BLOBS)
    matrix = fit(table, 5, random_state=1)
    np.testing.assert_array_equal(rows.medoid_indices_, matrix.medoid_indices_)
    np.testing.assert_array_equal(rows.labels_, matrix.labels_)
    assert rows.inertia_ == pytest.approx(matrix.inertia_, rel=1e-12)
    np.testing.assert_array_equal(rows.cluster_centers_, BLOBS[rows.medoid_indices_])
    assert matrix.cluster_centers_ is None
    np.testing.assert_allclose(rows.transform(BLOBS), matrix.transform(table), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_rows_are_rows(metric):
    rows = np.maximum(BLOBS, 0)
    dense = KMedoids(4, metric=metric, random_state=0).fit(rows)
    for made in (sp.csr_array(rows), sp.csc_matrix(rows)):
        sparse = KMedoids(4, metric=metric, random_state=0).fit(made)
        np.testing.assert_array_equal(sparse.medoid_indices_, dense.medoid_indices_)
        np.testing.assert_array_equal(sparse.predict(made), dense.labels_)
        assert sparse.inertia_ == pytest.approx(dense.inertia_)


def _largest_gap(a, b):
    gap = a - b
    return float(abs(gap).max())


@pytest.mark.parametrize(
    ("metric", "dtype"),
    [
        *product(["euclidean", "l1", "cosine"], [np.float32, np.float64, np.int32]),
        (_largest_gap, np.float32),
        *(pytest.param(_largest_gap, dtype, marks=pytest.mark.slow) for dtype in (float, np.int32)),
    ],
)
def test_fit_and_predict_take_dense_and_sparse_rows(metric, dtype):
    rows = np.rint(np.maximum(BLOBS[:25], 0) * 4).astype(dtype) + np.eye(25, 3, dtype=dtype)
    rows = rows[rows.any(axis=1)]
    forms = rows, sp.csr_array(rows), sp.csr_matrix(rows), sp.csc_array(rows)
    expected = KMedoids(4, metric=metric, random_state=0).fit(rows)
    far = expected.transform(rows)
    for fitted in forms:
        model = KMedoids(4, metric=metric, random_state=0).fit(fitted)
        np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
        assert sp.issparse(model.cluster_centers_) == sp.issparse(fitted)
        for new in forms:
            np.testing.assert_array_equal(model.predict(new), expected.labels_)
            np.testing.assert_allclose(model.transform(new), far, rtol=1e-6, atol=1e-6)
            assert model.score(new) == pytest.approx(-expected.inertia_, rel=1e-6)
            assert model.soft_membership(new).shape == (len(rows), 4)


@pytest.mark.parametrize("metric", ["sqeuclidean", "chebyshev", "nan_euclidean"])
def test_sparse_rows_may_follow_a_dense_fit_under_any_metric(metric):
    model = KMedoids(4, metric=metric, random_state=0).fit(BLOBS)
    np.testing.assert_array_equal(model.predict(sp.csr_array(BLOBS)), model.labels_)


def test_any_metric_of_scikit_learn_and_its_parameters():
    rows = load_iris().data[::3] + 0.1
    for metric, params in (
        ("minkowski", {"p": 3}), ("minkowski", {"p": 1}), ("seuclidean", None), ("jaccard", None),
        ("mahalanobis", None), ("canberra", None), ("correlation", None), ("hamming", None),
        ("braycurtis", None), ("l2", None), ("cityblock", None), ("nan_euclidean", None),
        (lambda a, b: float(np.abs(a - b).max()), None),
        (lambda a, b, p: float((np.abs(a - b) ** p).sum()), {"p": 3}),
    ):  # fmt: skip
        data = (rows > 2.5).astype(float) if metric == "jaccard" else rows
        model = KMedoids(3, metric=metric, metric_params=params, random_state=0).fit(data)
        kind = data.astype(bool) if metric == "jaccard" else data
        table = pairwise_distances(kind, metric=metric, **(params or {}))
        np.testing.assert_allclose(
            model.transform(data), table[:, model.medoid_indices_], rtol=1e-12, atol=1e-12
        )
        assert model.inertia_ == pytest.approx(recomputed(table, model), rel=1e-12)
        np.testing.assert_array_equal(model.predict(data), model.labels_)
        assert reference.best_swap(table, model.medoid_indices_.tolist(), np.ones(50))[
            0
        ] >= model.inertia_ * (1 - 1e-9)


@pytest.mark.heavy
def test_a_callable_is_as_good_as_a_name():
    named = KMedoids(5, metric="manhattan", random_state=0).fit(BLOBS[:150])
    for memory in (None, 0):
        model = KMedoids(
            5, metric=lambda a, b: np.abs(a - b).sum(), random_state=0, memory_limit=memory
        ).fit(BLOBS[:150])
        np.testing.assert_array_equal(model.medoid_indices_, named.medoid_indices_)
        assert model.inertia_ == pytest.approx(named.inertia_, rel=1e-12)


def test_gaps_are_allowed_where_the_metric_allows_them():
    rows = load_iris().data.copy()
    rows[::7, 1] = np.nan
    model = KMedoids(3, metric="nan_euclidean", random_state=0).fit(rows)
    assert np.isfinite(model.inertia_)
    with pytest.raises(ValueError, match="NaN"):
        KMedoids(3).fit(rows)
    rows[0], rows[1] = np.nan, np.nan
    with pytest.raises(ValueError, match="must be finite for all pairs of rows, got NaN"):
        KMedoids(3, metric="nan_euclidean").fit(rows)


def test_a_row_of_zeros_under_cosine_is_not_dissimilar_to_itself():
    rows = np.r_[np.zeros((2, 3)), np.eye(3)]
    model = KMedoids(5, metric="cosine", random_state=0).fit(rows)
    assert model.inertia_ == 0
    np.testing.assert_array_equal(model.labels_, np.arange(5))
    for memory in (None, 0):
        model = KMedoids(4, metric="cosine", random_state=0, memory_limit=memory).fit(rows)
        assert model.trace_[-1].cost_after == model.inertia_ == 1


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e200])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean"])
def test_vectors_of_any_scale(scale, metric):
    plain = KMedoids(4, metric=metric, random_state=0).fit(BLOBS)
    model = KMedoids(4, metric=metric, random_state=0).fit(BLOBS * scale)
    np.testing.assert_array_equal(model.medoid_indices_, plain.medoid_indices_)
    np.testing.assert_array_equal(model.predict(BLOBS * scale), plain.labels_)
    with np.errstate(over="ignore", under="ignore"):
        expected = plain.inertia_ * np.float64(scale) ** (2 if metric == "sqeuclidean" else 1)
    assert model.inertia_ == pytest.approx(expected, rel=1e-9)
    if scale in (1e-30, 1e30):
        single = KMedoids(4, metric=metric, random_state=0).fit((BLOBS * scale).astype(np.float32))
        assert single.inertia_ == pytest.approx(expected, rel=1e-5)


def test_a_large_offset_costs_no_digits():
    plain = KMedoids(7, random_state=0).fit(BLOBS)
    far = KMedoids(7, random_state=0).fit(BLOBS + 1e6)
    assert far.inertia_ == pytest.approx(plain.inertia_, rel=1e-9)


@pytest.mark.compiled
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_twin_makes_the_same_fit(core, monkeypatch, method, dtype):
    from partita._kernels import reference as twin
    from partita.estimators.medoids import metric as face
    from partita.source import dissimilarities as source

    rows = BLOBS.astype(dtype)
    weight = np.random.default_rng(0).random(len(rows))
    keywords = {"method": method, "random_state": 0, "init": "k-medoids++"}
    ours = KMedoids(9, **keywords).fit(rows, sample_weight=weight)
    for module in (swap, face, source):
        monkeypatch.setattr(module, "kernels", twin)
    same = KMedoids(9, **keywords).fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(ours.medoid_indices_, same.medoid_indices_)
    assert ours.inertia_ == same.inertia_
    assert [p.cost for p in ours.trace_] == [p.cost for p in same.trace_]
