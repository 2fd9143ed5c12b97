"""`SphericalKMeans`: directions, cosines, rows of zeros."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

from partita import KMeans, SphericalKMeans
from partita._common.threads import Workers
from partita.source.unit_rows import row_lengths, unit_rows

pytestmark = pytest.mark.sanitize


def reference(rows, centers, weight, rounds):
    """The textbook loop: largest cosine, then the direction of the weighted sum."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    centers = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    costs, labels = [], None
    for _ in range(rounds):
        cosine = unit @ centers.T
        before, labels = labels, cosine.argmax(axis=1)
        costs.append((weight * (1 - cosine.max(axis=1))).sum())
        if before is not None and (labels == before).all():
            break
        for j in range(len(centers)):
            total = (weight * (labels == j)) @ unit
            if np.linalg.norm(total) > 0:
                centers[j] = total / np.linalg.norm(total)
    return centers, labels, np.array(costs)


def blobs(seed, n=300, d=6, k=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(k, d))[rng.integers(k, size=n)] + rng.normal(scale=0.4, size=(n, d))
    return rows * rng.lognormal(size=(n, 1)), rng


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_textbook_loop(seed, kind):
    rows, rng = blobs(seed)
    weight, start = rng.random(len(rows)), rows[:4]
    centers, labels, costs = reference(rows, start.copy(), weight, 50)
    model = SphericalKMeans(4, init=start, tol=0, empty="keep", max_iter=50)
    model.fit(kind(rows), sample_weight=weight)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)
    np.testing.assert_allclose([step.cost for step in model.trace_], costs, rtol=1e-12)
    np.testing.assert_allclose(model.inertia_, costs[-1], rtol=1e-12)
    np.testing.assert_allclose(-model.score(kind(rows), sample_weight=weight), costs[-1], rtol=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([np.float32, np.float64]))
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_the_objective_by_the_lengths_of_the_means(seed, k, dtype):
    """J_cos = Σ W(1 − ‖m‖), it never rises, and plain J of the partition is at most 2·J_cos."""
    rows, rng = blobs(seed, n=60, d=3)
    weight = rng.integers(0, 5, len(rows)) + 0.0
    weight[0] = 1.0
    model = SphericalKMeans(k, random_state=seed, tol=0).fit(rows.astype(dtype), None, weight)
    costs = [cost for step in model.trace_ for cost in (step.cost, step.cost_after)]
    assert (np.diff(costs) <= 1e-14 * costs[0]).all()
    stats, close = model.stats_, 1e-5 if dtype == np.float32 else 1e-9
    length = np.linalg.norm(stats.mean, axis=1)
    expected = (stats.weight * (1 - length)).sum()
    np.testing.assert_allclose(model.inertia_, expected, rtol=close, atol=close)
    assert stats.sse.sum() <= 2 * model.inertia_ * (1 + 1e-9) + 1e-12
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1, rtol=close)


def test_tight_clusters_keep_their_digits():
    """W(1 − ‖m‖) would have none left: angles of 1e-7 make cosines that differ from 1 by 5e-15."""
    rng = np.random.default_rng(0)
    angle = rng.normal(scale=1e-7, size=400) + np.repeat([0.5, 2.0], 200)
    rows = np.column_stack([np.cos(angle), np.sin(angle)])
    model = SphericalKMeans(2, random_state=0).fit(rows)
    groups = angle.reshape(2, 200)
    exact = ((groups - groups.mean(axis=1, keepdims=True)) ** 2).sum() / 2
    np.testing.assert_allclose(model.inertia_, exact, rtol=1e-6)
    np.testing.assert_allclose(model.trace_[-1].cost_after, exact, rtol=1e-6)


@pytest.mark.parametrize("algorithm", ["hamerly", "yinyang", "prefix", "lloyd"])
def test_every_path_gives_the_same_bits(algorithm):
    rows, _ = blobs(3, n=4000, d=40, k=30)
    plain = SphericalKMeans(30, random_state=1, algorithm="plain").fit(rows.astype(np.float32))
    other = SphericalKMeans(30, random_state=1, algorithm=algorithm).fit(rows.astype(np.float32))
    assert other.inertia_ == plain.inertia_
    np.testing.assert_array_equal(other.labels_, plain.labels_)
    np.testing.assert_array_equal(other.cluster_centers_, plain.cluster_centers_)


def test_leaves_serve_directions_too():
    rows, _ = blobs(4, n=30_000, d=3, k=20)
    model = SphericalKMeans(20, random_state=0).fit(rows)
    assert model.trace_[0].path == "blocks"
    plain = SphericalKMeans(20, random_state=0, algorithm="plain").fit(rows)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == plain.inertia_


def test_lengths_do_not_matter():
    rows, rng = blobs(5)
    scale = 2.0 ** rng.integers(-500, 500, (len(rows), 1))
    model = SphericalKMeans(4, random_state=0)
    one = model.fit(rows).cluster_centers_
    np.testing.assert_array_equal(one, model.fit(rows * scale).cluster_centers_)
    np.testing.assert_array_equal(model.predict(rows), model.predict(sp.csr_array(rows * scale)))


def test_unit_rows_at_the_ends_of_the_range():
    hard = np.array([[1.5e308, 1.5e308], [5e-324, 0.0], [3e-310, 4e-310], [0.0, 0.0], [3.0, 4.0]])
    with Workers(1) as workers:
        for kind in (np.asarray, sp.csr_array):
            unit, length = unit_rows(kind(hard), workers)
            unit = unit.toarray() if sp.issparse(unit) else unit
            np.testing.assert_allclose(unit[:2], [[0.5**0.5, 0.5**0.5], [1, 0]])
            np.testing.assert_allclose(unit[2], [0.6, 0.8], rtol=1e-12)
            np.testing.assert_array_equal(unit[3:], [[0, 0], [0.6, 0.8]])
            np.testing.assert_array_equal(length[3:], [0, 5])
            assert (length[:3] > 0).all()
            np.testing.assert_array_equal(row_lengths(kind(hard), workers), length)


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int64, np.float32])
def test_other_numbers_are_read(dtype):
    rows = load_digits().data[:300].astype(dtype)
    model = SphericalKMeans(5, random_state=0).fit(rows)
    plain = SphericalKMeans(5, random_state=0).fit(rows.astype(np.float64))
    np.testing.assert_allclose(model.inertia_, plain.inertia_, rtol=1e-3)
    single = dtype in (np.float16, np.uint8, np.float32)
    assert model.cluster_centers_.dtype == (np.float32 if single else np.float64)
    np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_distances_are_those_of_cosines():
    rows, _ = blobs(6)
    model = SphericalKMeans(4, random_state=0).fit(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = 1 - unit @ model.cluster_centers_.T
    for kind in (np.asarray, sp.csr_array):
        np.testing.assert_allclose(model.transform(kind(rows)), expected, atol=1e-14)
    np.testing.assert_array_equal(model.transform(rows).argmin(axis=1), model.labels_)
    assert model.transform(rows.astype(np.float32)).dtype == np.float32


def test_weights_are_repeats():
    rows, rng = blobs(7)
    times = rng.integers(0, 4, len(rows))
    model = SphericalKMeans(4, init=rows[:4], tol=0)
    weighted = model.fit(rows, sample_weight=times)
    centers, inertia, labels = model.cluster_centers_, model.inertia_, weighted.predict(rows)
    model.fit(np.repeat(rows, times, axis=0))
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    assert model.inertia_ == inertia
    np.testing.assert_array_equal(model.predict(rows), labels)


def test_opposite_rows_keep_the_center_they_had():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    model = SphericalKMeans(1, init=[[0.6, 0.8]]).fit(rows[:2])
    np.testing.assert_allclose(model.cluster_centers_, [[0.6, 0.8]])
    assert model.inertia_ == pytest.approx(2)


# --- rows of zeros ---


def with_zeros():
    rows, _ = blobs(8, n=50)
    rows[[3, 17]] = 0
    return rows


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_rows_of_zeros_are_named(kind):
    for rows, text in ((with_zeros(), "rows 3, 17"), (with_zeros()[:9], "row 3")):
        with pytest.raises(ValueError, match=rf"got zeros in {text}\. .*zero_rows='drop'"):
            SphericalKMeans(3).fit(kind(rows))
    model = SphericalKMeans(3, random_state=0).fit(blobs(8)[0])
    with pytest.raises(ValueError, match="rows of zeros"):
        model.predict(kind(with_zeros()))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(("choice", "label"), [("drop", -1), ("separate", 3)])
def test_rows_of_zeros_are_left_out_or_kept_apart(kind, choice, label):
    rows = with_zeros()
    some = np.delete(np.arange(len(rows)), [3, 17])
    model = SphericalKMeans(3, random_state=0, zero_rows=choice).fit(kind(rows))
    alone = SphericalKMeans(3, random_state=0).fit(kind(rows[some]))
    np.testing.assert_array_equal(model.labels_[some], alone.labels_)
    np.testing.assert_array_equal(model.labels_[[3, 17]], label)
    np.testing.assert_array_equal(model.predict(kind(rows)), model.labels_)
    assert model.inertia_ == alone.inertia_
    assert model.score(kind(rows)) == alone.score(kind(rows[some]))
    away = model.transform(kind(rows))
    np.testing.assert_array_equal(away[[3, 17]], 1)
    assert away.shape == (50, 3)
    share = model.soft_membership(kind(rows))
    found = model.membership_.toarray()
    if choice == "drop":
        np.testing.assert_array_equal(share[[3, 17]], 0)
        np.testing.assert_array_equal(found[[3, 17]], 0)
        np.testing.assert_array_equal(found.shape, share.shape)
    else:
        np.testing.assert_array_equal(share[[3, 17]], np.eye(4)[[3, 3]])
        np.testing.assert_array_equal(found, np.eye(4)[model.labels_])
    np.testing.assert_allclose(share[some].sum(axis=1), 1)
    np.testing.assert_array_equal(share[some].argmax(axis=1), model.labels_[some])
    np.testing.assert_array_equal(model.predict(kind(rows[[3]])), [label])
    assert model.match(model).labels_[3] == label
    nothing = kind(np.zeros((2, 6)))
    np.testing.assert_array_equal(model.predict(nothing), [label, label])
    np.testing.assert_array_equal(model.transform(nothing), 1)
    assert model.score(nothing) == 0
    assert model.soft_membership(nothing).shape == share[:2].shape


def test_too_few_directions():
    rows = np.zeros((5, 2))
    rows[0] = 1
    for choice in ("drop", "separate"):
        with pytest.raises(ValueError, match=r"got 2 with 1 such rows of 5"):
            SphericalKMeans(2, zero_rows=choice).fit(rows)
    with pytest.raises(ValueError, match="positive for at least one row of X that is not zero"):
        SphericalKMeans(1, zero_rows="drop").fit(rows, sample_weight=[0, 1, 1, 1, 1])


# --- rows that are said to be of unit length ---


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_unit_rows_are_trusted_after_a_look(kind):
    rows, _ = blobs(9)
    with Workers(1) as workers:
        unit, _ = unit_rows(rows, workers)
    plain = SphericalKMeans(4, random_state=0).fit(rows)
    model = SphericalKMeans(4, random_state=0, normalized=True).fit(kind(unit))
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.inertia_, plain.inertia_, rtol=1e-12)
    unit[7] *= 1.5
    with pytest.raises(ValueError, match=r"got 1 others: row 7 has length 1\.5"):
        model.fit(kind(unit))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_distances_of_small_numbers_are_floats(dtype):
    rows = np.eye(4, dtype=dtype)[np.arange(40) % 4]
    model = SphericalKMeans(2, random_state=0, normalized=True).fit(rows)
    found = model.transform(rows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, model.transform(rows.astype(np.float64)), atol=1e-6)


# --- bad input ---


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_what_is_not_finite_is_named(kind, wrong):
    rows, _ = blobs(10)
    model = SphericalKMeans(3, random_state=0).fit(rows)
    rows[5, 2] = wrong
    for call in (SphericalKMeans(3).fit, model.predict, model.transform):
        with pytest.raises(ValueError, match=r"1 of 300 rows, in column 2"):
            call(kind(rows))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"zero_rows": "keep"}, "`zero_rows` must be 'error', 'drop' or 'separate', got 'keep'"),
        ({"n_clusters": 0}, "`n_clusters` must be an integer >= 1, got 0"),
        (
            {"init": [[0.0, 0.0], [1.0, 2.0]], "n_clusters": 2},
            "`init` must not have centers of zero",
        ),
        ({"algorithm": "cosine"}, "`algorithm` must be .*got 'cosine'"),
    ],
)
def test_parameters_are_checked(wrong, words):
    with pytest.raises(ValueError, match=words):
        SphericalKMeans(**wrong).fit([[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]])


def test_a_failed_fit_leaves_the_earlier_one():
    model = SphericalKMeans(3, random_state=0).fit(load_iris().data)
    centers = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="rows of zeros"):
        model.fit(np.zeros((9, 4)))
    np.testing.assert_array_equal(model.cluster_centers_, centers)


def test_starts_may_be_of_any_length():
    rows, _ = blobs(11)
    long = SphericalKMeans(4, init=rows[:4] * 1e9).fit(rows)
    np.testing.assert_array_equal(long.labels_, SphericalKMeans(4, init=rows[:4]).fit(rows).labels_)
    lent = SphericalKMeans(4, init=KMeans(4, random_state=0).fit(rows)).fit(rows)
    assert lent.inertia_ <= long.inertia_ * 2


@pytest.mark.parametrize("init", ["box", "random", "random-partition", "k-means||", "mini-batch"])
def test_every_start_serves(init):
    rows, _ = blobs(12, n=2000)
    model = SphericalKMeans(4, init=init, random_state=0).fit(rows)
    np.testing.assert_allclose(np.linalg.norm(model.cluster_centers_, axis=1), 1)
    best = SphericalKMeans(4, n_init=20, random_state=0).fit(rows).inertia_
    assert model.inertia_ <= 1.3 * best


@pytest.mark.slow
def test_sparse_text_at_length():
    """100 000 × 50 000 at 0.1 %: the sums alone are larger than the rows."""
    rng = np.random.default_rng(0)
    topics = rng.integers(50, size=100_000)
    column = np.where(
        rng.random((100_000, 50)) < 0.5,
        topics[:, None] * 1000 + rng.integers(1000, size=(100_000, 50)),
        rng.integers(50_000, size=(100_000, 50)),
    )
    start = np.arange(0, 5_000_001, 50)
    X = sp.csr_array((np.ones(5_000_000), column.ravel(), start), shape=(100_000, 50_000))
    model = SphericalKMeans(50, random_state=0, max_iter=20).fit(X)
    agree = np.zeros((50, 50))
    np.add.at(agree, (model.labels_, topics), 1)
    assert agree.max(axis=1).sum() > 80_000  # one start may merge a few of the 50 topics
