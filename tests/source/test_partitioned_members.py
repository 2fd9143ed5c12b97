"""Other members than KMeans on rows in partitions: directions and mini-batches, as in memory."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.list_partitions import ListPartitions

from partita import KMeans, MiniBatchKMeans, SphericalKMeans

SIZES = [1, 255, 257, 0, 300, 1000, 1]
N = 3000


def groups(dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(N, 6)) + 4 * rng.integers(0, 5, (N, 1))).astype(dtype)


def with_zeros(dtype=np.float64):
    """Rows with zeros here and there, a whole block of zeros, and a block of which few are left."""
    X = groups(dtype)
    X[np.random.default_rng(2).random(N) < 0.1] = 0
    X[1:256], X[520:810] = 0, 0
    return X


def weights(kind):
    rng = np.random.default_rng(1)
    whole, real = rng.integers(0, 4, N), rng.random(N)
    return {"none": None, "whole": whole, "real": real}[kind]


def parts_of(X, loss=0.0):
    return ListPartitions(np.split(X, np.cumsum(SIZES)), loss=loss)


def bits(model):
    stats, trace = model.stats_, [(p.cost, p.shift, p.moved_points) for p in model.trace_]
    arrays = [model.cluster_centers_, stats.weight, stats.mean, stats.sse, np.array(trace)]
    if hasattr(model, "labels_"):
        arrays.append(np.asarray(model.labels_))
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays], model.inertia_, model.n_iter_


@pytest.mark.parametrize("loss", [pytest.param(0.0, marks=pytest.mark.slow), 0.3])
@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random", "random-partition"])
def test_directions_have_the_bits_of_memory(init, kind, loss):
    settings = {"n_clusters": 5, "init": init, "n_init": 2, "max_iter": 8, "random_state": 3}
    for dtype in (np.float32, np.float64):
        weight = weights(kind)
        for X, zero_rows in ((groups(dtype), "error"), (with_zeros(dtype), "drop")):
            model = SphericalKMeans(**settings, zero_rows=zero_rows)
            held = bits(model.fit(X, sample_weight=weight))
            assert bits(model.fit(parts_of(X, loss), sample_weight=weight)) == held


@pytest.mark.parametrize("zero_rows", ["drop", "separate"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_rows_of_zeros_get_their_label_wherever_they_are(zero_rows, dtype):
    X = np.abs(with_zeros()).astype(dtype)
    model = SphericalKMeans(5, random_state=0, zero_rows=zero_rows).fit(X)
    parts = SphericalKMeans(5, random_state=0, zero_rows=zero_rows).fit(parts_of(X, 0.2))
    assert bits(parts) == bits(model)
    assert (np.asarray(parts.labels_)[1:256] == (-1 if zero_rows == "drop" else 5)).all()
    for method in ("predict", "transform", "soft_membership"):
        held, elsewhere = (getattr(model, method)(rows) for rows in (X, parts_of(X)))
        assert held.dtype == elsewhere.dtype
        np.testing.assert_array_equal(held, elsewhere)


def test_normalized_rows_are_not_copied_but_checked():
    X = groups()
    X /= np.sqrt((X * X).sum(axis=1, keepdims=True))
    model = SphericalKMeans(5, random_state=0, normalized=True)
    assert bits(model.fit(parts_of(X))) == bits(model.fit(X))
    X[700] *= 3
    with pytest.raises(ValueError, match="got 1 others: row 700 has length 3"):
        model.fit(parts_of(X))


def test_errors_about_directions_are_those_of_memory():
    def same_error(X, weight=None, **settings):
        texts = []
        for rows in (X, parts_of(X)):
            with pytest.raises(ValueError) as error:  # noqa: PT011 (the texts are compared)
                SphericalKMeans(**{"n_clusters": 3, **settings}).fit(rows, sample_weight=weight)
            texts.append(str(error.value))
        assert texts[0] == texts[1]
        return texts[0]

    X = with_zeros()
    assert "rows of zeros" in same_error(X)
    assert "number of rows that are not zero" in same_error(X, n_clusters=2990, zero_rows="drop")
    on_zeros = (X == 0).all(axis=1).astype(float)
    assert "one row of X that is not zero" in same_error(X, on_zeros, zero_rows="drop")
    X[2000, 3] = np.nan
    assert "contains NaN: 1 of 3000 rows, in column 3" in same_error(X)


@pytest.mark.parametrize("empty", ["relocate", "drop"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_of_directions_become_the_same(empty):
    X, far = np.abs(with_zeros()), -np.eye(6)[:3]
    settings = {"n_clusters": 6, "init": np.vstack([X[300:303], far]), "zero_rows": "drop"}
    held = SphericalKMeans(**settings, empty=empty).fit(X)
    assert held.trace_[0].empty > 0
    assert bits(SphericalKMeans(**settings, empty=empty).fit(parts_of(X, 0.2))) == bits(held)


BATCHES = {
    "default": {},
    "all rows": {"max_no_improvement": None, "init": "random"},
    "one start": {"n_init": 1, "batch_size": 100},
    "no labels": {"compute_labels": False},
    "tolerance": {"tol": 1e-3, "reassignment_ratio": 0.5},
}


@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("case", BATCHES)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_mini_batches_have_the_bits_of_memory(case, kind):
    for dtype in (np.float32, np.float64):
        X, weight = groups(dtype), weights(kind)
        model = MiniBatchKMeans(6, random_state=2, **BATCHES[case])
        held = bits(model.fit(X, sample_weight=weight)), model.n_steps_
        parts = model.fit(parts_of(X, 0.2), sample_weight=weight)
        assert (bits(parts), parts.n_steps_) == held
        assert hasattr(parts, "labels_") == parts.compute_labels


@pytest.mark.parametrize("kind", ["none", "real"])
def test_a_start_from_mini_batches_has_the_bits_of_memory(kind):
    X, weight = groups(), weights(kind)
    model = KMeans(6, init="mini-batch", random_state=2)
    held = bits(model.fit(X, sample_weight=weight))
    assert bits(model.fit(parts_of(X), sample_weight=weight)) == held


def test_a_batch_beyond_the_memory_limit_is_refused():
    with pytest.raises(ValueError, match=r"`memory_limit` must be at least .* bytes"):
        MiniBatchKMeans(3, memory_limit=1000).fit(parts_of(groups()))


def test_a_stream_takes_blocks_and_not_partitions():
    with pytest.raises(ValueError, match=r"a batch of rows in memory.*one block of rows"):
        MiniBatchKMeans(3).partial_fit(parts_of(groups()))


@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("member", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_a_score_has_the_bits_of_memory(member, kind):
    X, weight = groups(np.float32), weights(kind)
    model = member(4, random_state=0, max_iter=3).fit(X)
    given = parts_of(X)
    assert model.score(given, sample_weight=weight) == model.score(X, sample_weight=weight)
    assert given.opened.closed
    with pytest.raises(ValueError, match="`sample_weight` must be finite"):
        model.score(parts_of(X), sample_weight=np.full(N, np.inf))
