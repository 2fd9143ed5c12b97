"""The silhouette is scikit-learn's, with weights, under every metric, and sampled without bias."""

from __future__ import annotations

import os
import signal
import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from helpers.cases import adversaries
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn import metrics

import partita
from partita import silhouette_samples, silhouette_score
from partita._kernels import compiled
from partita.metrics.silhouette import sampled_silhouette, silhouettes_at
from partita.source.dissimilarities import check_dissimilarities

pytestmark = pytest.mark.sanitize


@st.composite
def labelled(draw, dtype=None):
    """(rows, labels): at least two labels, and a row that is not alone."""
    n, d = draw(st.integers(3, 150)), draw(st.integers(1, 6))
    k = draw(st.integers(2, min(n - 1, 40)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4)
    if draw(st.booleans()):
        rows = np.round(rows)  # duplicates
    labels = rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
    return rows.astype(dtype or draw(st.sampled_from([np.float32, np.float64]))), labels


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "sqeuclidean", "chebyshev"])
@given(problem=labelled())
def test_it_is_scikit_learns(metric, problem):
    rows, labels = problem
    exact = rows.astype(np.float64)
    distances = squareform(pdist(exact, "cityblock" if metric == "manhattan" else metric))
    theirs = metrics.silhouette_samples(distances, labels, metric="precomputed")
    np.testing.assert_allclose(silhouette_samples(rows, labels, metric=metric), theirs, atol=1e-10)
    ours = silhouette_score(rows, labels, metric=metric)
    assert ours == pytest.approx(theirs.mean(), abs=1e-10)


@given(problem=labelled(np.float64))
def test_cosines_are_scikit_learns(problem):
    rows, labels = problem
    rows = rows + 1e-3 * (rows == 0).all(axis=1, keepdims=True)
    # scikit-learn's 1 − cos of parallel rows is rounding, not 0: where all are, so is its result
    theirs = squareform(pdist(rows, "cosine"))
    known = metrics.silhouette_samples(np.round(theirs, 12), labels, metric="precomputed")
    ours = silhouette_samples(rows, labels, metric="cosine")
    clear = np.sort(theirs, axis=1)[:, 1:].min(axis=1, initial=1) > 1e-6
    np.testing.assert_allclose(ours[clear], known[clear], atol=1e-5)


def test_rows_of_zeros_have_scikit_learns_cosines():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(40, 3)), np.arange(40) % 3
    rows[7] = rows[9] = 0
    theirs = metrics.silhouette_samples(rows, labels, metric="cosine")
    ours = silhouette_samples(rows, labels, metric="cosine")
    np.testing.assert_allclose(ours, theirs, atol=1e-10)


@given(problem=labelled(np.float64), data=st.data())
def test_whole_weights_are_repeats(problem, data):
    rows, labels = problem
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    times = rng.integers(0, 4, len(rows))
    times[[np.flatnonzero(labels == 0)[0], np.flatnonzero(labels == 1)[0]]] = 2
    metric = data.draw(st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
    many, again = np.repeat(rows, times, axis=0), np.repeat(labels, times)
    ours = silhouette_samples(rows, labels, metric=metric, sample_weight=times)
    plain = silhouette_samples(many, again, metric=metric)
    np.testing.assert_allclose(np.repeat(ours, times), plain, atol=1e-10)
    score = silhouette_score(rows, labels, metric=metric, sample_weight=times)
    assert score == pytest.approx(plain.mean(), abs=1e-10)


def test_fractions_weigh_the_others():
    rows, labels, weight = [[0.0], [1.0], [3.0], [9.0]], [0, 0, 0, 1], [0.1, 0.2, 0.3, 0.4]
    a, b = (0.2 * 1 + 0.3 * 3) / 0.5, 9.0
    found = silhouette_samples(rows, labels, sample_weight=weight)
    assert found[0] == pytest.approx((b - a) / b)
    assert found[3] == 0  # alone


def test_a_row_alone_is_zero_however_weights_round():
    weight = [0.1, 0.2, 0.3, 0.7]
    found = silhouette_samples(
        [[0.0], [5.0], [9.0], [9.5]], [0, 1, 2, 2], sample_weight=np.array(weight)
    )
    assert found[0] == found[1] == 0
    assert (found[2:] > 0).all()
    # those who share its cluster, but weigh nothing, do not count
    assert silhouette_samples([[0.0], [1.0], [9.0]], [0, 0, 1], sample_weight=[1, 0, 2])[0] == 0


@pytest.mark.parametrize("sizes", [[300, 290], [130, 70, 20], [5] * 30, [199, 1]])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_threads_change_no_bit(sizes, metric):
    rng = np.random.default_rng(1)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    rows = rng.normal(size=(len(labels), 3)) + 1e6
    one, two, three = (
        silhouette_samples(rows, labels, metric=metric, n_threads=t) for t in (1, 2, 3)
    )
    assert one.tobytes() == two.tobytes() == three.tobytes()


@pytest.mark.parametrize("name", list(adversaries(np.float64)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_hard_on_floating_point_is_measured_in_double(name, dtype):
    rows, _ = adversaries(dtype)[name]
    labels = np.random.default_rng(0).integers(0, 4, len(rows))
    exact = rows.astype(np.float64)
    distances = squareform(pdist(exact))
    theirs = metrics.silhouette_samples(distances, labels, metric="precomputed")
    np.testing.assert_allclose(silhouette_samples(rows, labels), theirs, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e300])
def test_the_unit_of_the_data_does_not_matter(scale):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    for metric in ("euclidean", "sqeuclidean", "manhattan", "cosine"):
        near = silhouette_samples(rows, labels, metric=metric)
        far = silhouette_samples(rows * scale, labels, metric=metric)
        np.testing.assert_allclose(far, near, atol=1e-10)


def test_labels_may_be_anything_that_sorts():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    plain = silhouette_samples(rows, labels)
    names = np.array(["x", "yy", "z"])[labels]
    for same in (labels - 5, labels * 1.5, names, names.tolist(), pd.Series(names)):
        np.testing.assert_array_equal(silhouette_samples(rows, same), plain)
    two = silhouette_samples(rows, (labels > 0) * 1)
    np.testing.assert_array_equal(silhouette_samples(rows, labels > 0), two)


def test_rows_may_come_in_many_forms():
    rng = np.random.default_rng(0)
    rows, labels = np.round(rng.normal(size=(60, 3)), 2), np.arange(60) % 3
    plain = silhouette_samples(rows, labels)
    frame = pd.DataFrame(rows, columns=list("abc"))
    for other in (rows.tolist(), np.asfortranarray(rows), frame, pl.from_pandas(frame)):
        np.testing.assert_array_equal(silhouette_samples(other, labels), plain)
    for other in (sp.csr_matrix(rows), sp.csr_array(rows), sp.coo_matrix(rows)):
        np.testing.assert_allclose(silhouette_samples(other, labels), plain, atol=1e-7)
    every_other = np.repeat(rows, 2, axis=0)[::2]
    np.testing.assert_array_equal(silhouette_samples(every_other, labels), plain)
    whole = np.round(rows * 100).astype(np.int32)
    np.testing.assert_allclose(silhouette_samples(whole, labels), plain, atol=1e-10)


def test_dissimilarities_may_be_given():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(80, 3)), np.arange(80) % 4
    plain, triangle = silhouette_samples(rows, labels), pdist(rows)
    for given_ in (squareform(triangle), triangle, squareform(triangle).astype(np.float32)):
        found = silhouette_samples(given_, labels, metric="precomputed")
        np.testing.assert_allclose(found, plain, atol=1e-10 if given_.itemsize == 8 else 1e-5)
    found = silhouette_samples(rows, labels, metric=lambda a, b: float(np.abs(a - b).max()))
    np.testing.assert_allclose(
        found, metrics.silhouette_samples(rows, labels, metric="chebyshev"), atol=1e-10
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_is_unbiased_and_its_error_is_right(weighted):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], [300, 90, 10])
    rows = rng.normal(size=(400, 2)) + 3 * labels[:, None]
    # those that lie worst weigh most, and are drawn again and again
    weight = np.where(labels == 1, 30, 1) if weighted else None
    exact = silhouette_score(rows, labels, sample_weight=weight)
    tries = [
        sampled_silhouette(rows, labels, sample_size=200, random_state=i, sample_weight=weight)
        for i in range(200)
    ]
    means, errors = np.array(tries).T
    assert abs(means.mean() - exact) < 4 * means.std() / np.sqrt(200)
    assert errors.mean() == pytest.approx(means.std(), rel=0.15)


def test_a_sample_is_of_the_same_silhouettes():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(200, 2)), rng.integers(0, 3, 200)
    score = silhouette_score(rows, labels, sample_size=50, random_state=3)
    assert score == sampled_silhouette(rows, labels, sample_size=50, random_state=3).mean
    all_of_it = silhouette_samples(rows, labels)
    drawn = np.random.default_rng(3).choice(200, 50, replace=False)
    assert score == pytest.approx(all_of_it[drawn].mean(), abs=1e-12)
    by_table = silhouette_score(
        squareform(pdist(rows)), labels, metric="precomputed", sample_size=50, random_state=3
    )
    assert by_table == pytest.approx(score, abs=1e-12)
    # a row is not dissimilar to itself, also where few are compared with all
    strange = {"metric": lambda a, b: 1.0 + float(np.abs(a - b).sum())}
    some = np.sort(np.random.default_rng(3).choice(60, 20, replace=False))
    drawn = silhouette_score(rows[:60], labels[:60], sample_size=20, random_state=3, **strange)
    every = silhouette_samples(rows[:60], labels[:60], **strange)
    assert drawn == pytest.approx(every[some].mean(), abs=1e-12)
    for size in (200, 10**9):
        found = sampled_silhouette(rows, labels, sample_size=size)
        assert found.mean == silhouette_score(rows, labels)
        assert found.error == 0
    assert np.isnan(sampled_silhouette(rows, labels, sample_size=1).error)


ROWS = [[0.0], [1.0], [5.0]]


@pytest.mark.parametrize(
    ("rows", "labels", "keywords", "message"),
    [
        (ROWS, [0, 0, 0], {}, "Number of labels is 1"),
        (ROWS, [0, 1, 2], {}, r"Valid values are 2 to n_samples - 1 = 2"),
        (ROWS, [0, 1], {}, r"`labels` must be of shape \(3,\), .*got an array of shape \(2,\)"),
        (ROWS, [[0], [1], [1]], {}, "`labels` must be of shape"),
        (ROWS, [0, np.nan, 1], {}, "`labels` must not contain NaN, got 1 in 3 rows"),
        (ROWS, np.array([0, "a", None], object), {}, "cannot be sorted"),
        ([[0.0], [np.nan], [1.0]], [0, 0, 1], {}, "contains NaN"),
        ([[0.0], [np.inf], [1.0]], [0, 0, 1], {}, "contains infinity"),
        (np.empty((0, 2)), [], {}, "0 sample"),
        (ROWS, [0, 0, 1], {"metric": "near"}, "`metric` must be .*got 'near'"),
        (ROWS, [0, 0, 1], {"sample_weight": [1, 1, 0]}, "Number of labels is 1"),
        (ROWS, [0, 0, 1], {"sample_weight": [1, -1, 1]}, "Negative"),
        (ROWS, [0, 0, 1], {"n_threads": 0}, "`n_threads` must be an integer >= 1 or None, got 0"),
        (ROWS, [0, 0, 1], {"metric": "precomputed"}, "square matrix"),
    ],
)
def test_invalid_parameters_of_silhouettes(rows, labels, keywords, message):
    for ask in (silhouette_samples, silhouette_score):
        with pytest.raises(ValueError, match=message):
            ask(rows, labels, **keywords)


@pytest.mark.parametrize("size", [0, -1, 2.5, True, "all"])
def test_a_sample_is_a_whole_number(size):
    with pytest.raises(ValueError, match="sample_size"):
        silhouette_score(ROWS, [0, 0, 1], sample_size=size)


def test_what_rounding_made_negative_is_no_dissimilarity():
    found = np.array([[-1e-12, 1.0], [0.5, 0.0]])
    check_dissimilarities(found)
    np.testing.assert_array_equal(found, [[0.0, 1.0], [0.5, 0.0]])


def test_rows_that_all_coincide_are_zero():
    assert not silhouette_samples(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]).any()
    weighted = silhouette_samples([[0.0], [1.0]], [0, 1], sample_weight=[2, 3])
    np.testing.assert_array_equal(weighted, 1.0)  # as many copies at distance 0


def test_a_fitted_model_gives_labels():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 2)) + 9 * (np.arange(300) % 3)[:, None]
    model = partita.KMeans(3, random_state=0).fit(rows)
    assert silhouette_score(rows, model.labels_) > 0.7


@pytest.mark.compiled
@pytest.mark.skipif(not compiled(), reason="the NumPy kernels hold blocks of distances")
def test_no_matrix_of_distances_is_made():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(6000, 4)), rng.integers(0, 20, 6000)
    silhouette_score(rows, labels)
    tracemalloc.start()
    silhouette_score(rows, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * rows.nbytes < 6000 * 6000


@pytest.mark.heavy
@pytest.mark.skipif(not hasattr(os, "kill"), reason="signals are sent by os.kill")
@pytest.mark.parametrize("k", [5, 20_000])
@pytest.mark.parametrize("metric", ["euclidean", "canberra"])
def test_ctrl_c_interrupts(k, metric):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(50_000, 64)), rng.integers(0, k, 50_000)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.process_time()  # of both threads: other programs do not count
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        silhouette_samples(rows, labels, metric=metric, n_threads=2)
    assert time.process_time() - begin < 8


@pytest.mark.data
@pytest.mark.parametrize("name", ["pendigit", "letter"])
def test_real_clusters_have_scikit_learns_silhouettes(data_folder, name):
    found = list(data_folder.rglob(f"{name}.npz"))
    if not found:
        pytest.skip(f"{name} is not among the data sets")
    with np.load(found[0]) as file:
        rows = file["X"].astype(np.float64)[:4000]
    model = partita.KMeans(10, n_init=1, random_state=0).fit(rows)
    theirs = metrics.silhouette_samples(rows, model.labels_)
    np.testing.assert_allclose(silhouette_samples(rows, model.labels_), theirs, atol=1e-7)
    distances = squareform(pdist(rows))
    theirs = metrics.silhouette_samples(distances, model.labels_, metric="precomputed")
    np.testing.assert_allclose(silhouette_samples(rows, model.labels_), theirs, atol=1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_the_silhouettes_of_some_rows_are_those_they_have_among_all(metric):
    rng = np.random.default_rng(0)
    X, labels, weight = rng.normal(size=(70, 3)), rng.integers(4, size=70), rng.uniform(1, 3, 70)
    whole = silhouette_samples(X, labels, metric=metric, sample_weight=weight)
    some = np.array([3, 20, 21, 69])
    found = silhouettes_at(X, labels, some, metric=metric, sample_weight=weight)
    np.testing.assert_allclose(found, whole[some], rtol=1e-12)
    every = silhouettes_at(X, labels, np.arange(70), metric=metric, sample_weight=weight)
    np.testing.assert_array_equal(every, whole)
