"""A coreset costs at any centers about what all rows cost."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.list_partitions import ListPartitions
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import Coreset, KMeans, coreset

RNG = np.random.default_rng(0)
SIZES = (4000, 900, 90, 10)
ROWS = np.concatenate(
    [RNG.normal(20 * i, 1, (n, 3)) for i, n in enumerate(SIZES)], dtype=np.float64
)
CENTERS = [ROWS[RNG.permutation(len(ROWS))[:4]] for _ in range(3)]


def cost_of(rows, centers, weight=None):
    return Coreset(rows, np.ones(len(rows)) if weight is None else weight).cost(centers)


def test_the_mean_cost_of_many_coresets_is_that_of_all_rows():
    many = [coreset(ROWS, 200, k=4, random_state=seed) for seed in range(60)]
    for centers in CENTERS:
        cost, truth = np.array([one.cost(centers) for one in many]), cost_of(ROWS, centers)
        assert abs(cost.mean() - truth) < 4 * cost.std() / np.sqrt(len(cost)) + 1e-3 * truth
        assert np.abs(cost / truth - 1).max() < 0.2


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 60), m=st.integers(1, 80), k=st.integers(1, 70), seed=st.integers(0, 99))
def test_weights_add_up_to_those_of_all_rows(n, m, k, seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.integers(0, 4, (n, 2)).astype(np.float32), rng.integers(0, 3, n) * 1.5
    weight[0] = 2.0
    small = coreset(rows, m, k, weight, seed)
    assert len(small.points) <= m
    assert small.points.dtype == np.float32
    assert (small.weights > 0).all()
    np.testing.assert_allclose(small.weights.sum(), weight.sum(), rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_the_bits_do_not_depend_on_threads(make):
    one, two = (coreset(make(ROWS), 300, 5, random_state=1, n_threads=t) for t in (1, 2))
    assert one.weights.tobytes() == two.weights.tobytes()
    assert abs(one.points - two.points).max() == 0


def test_sparse_and_dense_rows_give_the_same_points():
    dense, sparse = (
        coreset(ROWS, 300, random_state=0),
        coreset(sp.csr_array(ROWS), 300, random_state=0),
    )
    np.testing.assert_array_equal(sparse.points.toarray(), dense.points)
    np.testing.assert_allclose(sparse.merge(dense).cost(CENTERS[0]), 2 * dense.cost(CENTERS[0]))


def test_merging_equals_concatenating():
    one, two = coreset(ROWS[::2], 200, random_state=0), coreset(ROWS[1::2], 200, random_state=1)
    both = one.merge(two)
    np.testing.assert_allclose(both.weights.sum(), len(ROWS))
    for centers in CENTERS:
        np.testing.assert_allclose(both.cost(centers), one.cost(centers) + two.cost(centers))
        assert abs(both.reduce(200, 4, 0).cost(centers) / cost_of(ROWS, centers) - 1) < 0.2


def test_weights_stand_for_repeated_rows():
    times = RNG.integers(1, 5, len(ROWS))
    for centers in CENTERS:
        truth = cost_of(np.repeat(ROWS, times, axis=0), centers)
        by_weight = coreset(ROWS, 500, 4, times, 0)
        repeated = coreset(np.repeat(ROWS, times, axis=0), 500, 4, random_state=0)
        assert abs(by_weight.cost(centers) / truth - 1) < 0.1
        assert abs(repeated.cost(centers) / truth - 1) < 0.1


def test_a_fit_to_a_coreset_finds_groups_of_any_size():
    small = coreset(ROWS, 200, k=4, random_state=0)
    fit = KMeans(4, random_state=0, n_init=3).fit(small.points, sample_weight=small.weights)
    found = np.sort(np.bincount(fit.predict(ROWS)))
    np.testing.assert_array_equal(found, np.sort(SIZES))


@pytest.mark.parametrize("rows", [np.ones((1, 2)), np.ones((50, 2)), 1e200 * ROWS[:100]])
def test_odd_rows_keep_their_weight(rows):
    small = coreset(rows, 10, k=3, random_state=0)
    np.testing.assert_allclose(small.weights.sum(), len(rows))
    assert np.isin(small.points, rows).all()


def test_as_many_draws_as_rows_return_the_rows():
    small = coreset(ROWS[:5], 4, sample_weight=[1, 0, 2, 3, 1])
    np.testing.assert_array_equal(small.points, ROWS[[0, 2, 3, 4]])
    np.testing.assert_array_equal(small.weights, [1, 2, 3, 1])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: coreset(ROWS, 0), "`m` must be an integer >= 1, got 0"),
        (lambda: coreset(ROWS, 5, k=1.5), "`k` must be an integer >= 1, got 1.5"),
        (lambda: coreset(ROWS, 5).merge(3), "`other` must be a Coreset, got 3"),
        (lambda: coreset(ROWS, 5).merge(coreset([[1.0]], 1)), "3 features, got one with 1"),
        (lambda: coreset(ROWS, 5).cost([[1.0]]), r"`centers` must be centers of shape \(k, 3\)"),
    ],
)
def test_errors_name_the_argument(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("free", [2.0**30, 0.0], ids=["in memory", "by blocks"])
def test_a_file_gives_the_coreset_of_its_rows(tmp_path, monkeypatch, free):
    monkeypatch.setattr("partita.coresets.free_memory", lambda: free)
    np.save(tmp_path / "rows.npy", ROWS)
    of_rows = coreset(ROWS, 100, 3, random_state=1)
    of_file = coreset(tmp_path / "rows.npy", 100, 3, random_state=1)
    assert np.array_equal(of_file.points, of_rows.points)
    assert np.array_equal(of_file.weights, of_rows.weights)


@pytest.mark.parametrize("weighted", [False, True])
def test_partitions_are_reduced_where_they_are(weighted):
    weight = np.random.default_rng(4).random(len(ROWS)) if weighted else None
    if weighted:
        weight[:300] = 0  # a partition without weight
    blocks = np.split(ROWS, [256, 1000])
    made = [
        coreset(ListPartitions(blocks), 200, 3, weight, random_state=seed) for seed in (0, 0, 1)
    ]
    assert np.array_equal(made[0].points, made[1].points)
    assert not np.array_equal(made[0].points, made[2].points)
    assert len(made[0].points) <= 200
    total = len(ROWS) if weight is None else weight.sum()
    assert np.isclose(made[0].weights.sum(), total)
    model = KMeans(3, random_state=0).fit(ROWS, sample_weight=weight)
    assert np.isclose(made[0].cost(model), model.inertia_, rtol=0.15)


def test_rows_of_a_file_that_cannot_be_squared_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("partita.coresets.free_memory", lambda: 0.0)
    np.save(tmp_path / "rows.npy", 1e200 * ROWS)
    with pytest.raises(ValueError, match="of a magnitude that can be squared"):
        coreset(tmp_path / "rows.npy", 100, 3)
