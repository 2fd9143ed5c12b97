"""Rows in partitions: the same bits as in memory, and little that travels."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pytest
from helpers.list_partitions import ListPartitions

from partita import KMeans
from partita._common.threads import Workers
from partita.engine.partitioned_sums import SumsChange
from partita.estimators.validation import make_source
from partita.exact_weights import WeightScale
from partita.moments import Grid, Moments
from partita.source.partitioned_rows import PartitionedRows
from partita.source.partitions import aligned_pieces, aligned_sizes

SIZES = [1, 255, 257, 0, 300, 1000, 1]
N = 3000
INITS = ["k-means++", "k-means||", "random", "box", "random-partition"]


def groups(dtype=np.float64, n=N, d=6):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + 4 * rng.integers(0, 5, (n, 1))).astype(dtype)


def weights(kind):
    rng = np.random.default_rng(1)
    whole, real = rng.integers(0, 4, N), rng.random(N)
    uneven = 10.0 ** rng.uniform(-20, 0, N)
    return {"none": None, "whole": whole, "real": real, "uneven": uneven}[kind]


def blocks_of(X):
    return np.split(X, np.cumsum(SIZES))


def records(model):
    return [(p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in model.trace_]


def assert_same_bits(one, two):
    np.testing.assert_array_equal(one.start_, two.start_)
    np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, np.asarray(two.labels_))
    np.testing.assert_array_equal(one.stats_.mean, two.stats_.mean)
    assert one.cluster_centers_.dtype == two.cluster_centers_.dtype
    assert one.inertia_ == two.inertia_
    assert records(one) == records(two)


def test_partitions_begin_at_multiples_of_a_leaf_and_hold_every_row_once():
    X = np.arange(sum(SIZES))
    blocks = np.split(X, np.cumsum(SIZES)[:-1])
    parts = [np.concatenate([blocks[i][rows] for i, rows in p]) for p in aligned_pieces(SIZES)]
    np.testing.assert_array_equal(np.concatenate(parts), X)
    assert all(len(part) and part[0] % 256 == 0 for part in parts)
    assert [len(part) for part in parts] == aligned_sizes(SIZES)


@pytest.mark.parametrize("loss", [pytest.param(0.0, marks=pytest.mark.slow), 0.2])
@pytest.mark.parametrize("kind", ["none", "whole", "real", "uneven"])
@pytest.mark.parametrize("init", INITS)
def test_partitions_give_the_bits_of_memory_even_if_state_is_lost(init, kind, loss):
    for dtype in (np.float32, np.float64):
        X, weight = groups(dtype), weights(kind)
        settings = {"n_clusters": 7, "init": init, "n_init": 2, "max_iter": 12, "random_state": 3}
        held = [KMeans(**settings, n_threads=t).fit(X, sample_weight=weight) for t in (1, 4)]
        parts = KMeans(**settings).fit(
            ListPartitions(blocks_of(X), loss=loss), sample_weight=weight
        )
        for model in held:
            assert_same_bits(model, parts)


@pytest.mark.parametrize("empty", ["relocate", "keep", "drop"])
@pytest.mark.parametrize("loss", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["none", "whole"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_become_the_same(empty, kind, loss):
    X, weight = groups(), weights(kind)
    init = np.vstack([X[:4], np.full((3, 6), 1e3), X[10:12], np.full((1, 6), -1e3)])
    settings = {"n_clusters": 10, "init": init, "empty": empty}
    held = KMeans(**settings).fit(X, sample_weight=weight)
    parts = KMeans(**settings).fit(ListPartitions(blocks_of(X), loss=loss), sample_weight=weight)
    assert held.trace_[0].empty > 0
    assert_same_bits(held, parts)


@pytest.mark.parametrize(
    "algorithm", ["plain", "bytes", "neighbours", "panels", "hamerly", "yinyang"]
)
def test_every_path_of_a_partition_gives_the_same_bits(algorithm):
    X = groups(np.float32)
    settings = {"n_clusters": 7, "random_state": 0, "algorithm": algorithm}
    parts = KMeans(**settings).fit(ListPartitions(blocks_of(X), loss=0.2))
    assert_same_bits(KMeans(n_clusters=7, random_state=0).fit(X), parts)


def odd_columns(n):
    rng = np.random.default_rng(2)
    far = rng.normal(size=n)
    far[7] = 1e15
    mostly = np.where(rng.random(n) < 0.9, 3.0, rng.normal(size=n))
    mostly[5] = -1e9
    whole = rng.integers(0, 9, n).astype(float)
    whole[3] = 1e5
    return np.column_stack([rng.normal(size=n), far, mostly, whole, np.full(n, 2.5)])


@pytest.mark.parametrize("kind", ["none", "whole", "real"])
def test_the_survey_finds_the_same_origin_and_grid(kind):
    X, weight = odd_columns(N), weights(kind)
    parts = ListPartitions(blocks_of(X), weight, loss=0.1)
    with Workers(1) as workers:
        source = make_source(X, weight, workers)
        w = source.weights
        form = "equal" if w.all_equal else "times" if w.whole else "values"
        scale = WeightScale(w.count, w.unit, form, w.beyond_grid)
        mine, theirs = source.survey(), PartitionedRows(parts, scale, workers).survey()
    for name in ("origin", "up", "scale", "limb", "unit"):
        np.testing.assert_array_equal(getattr(mine.grid, name), getattr(theirs.grid, name))
    assert (mine.spread, mine.beyond_grid) == (theirs.spread, theirs.beyond_grid)


def test_what_travels_in_an_iteration_grows_with_the_centers_and_not_with_the_rows():
    def bytes_of_a_pass(n, k, d):
        X = ListPartitions(np.split(groups(n=n, d=d), 2))
        KMeans(k, init="random", n_init=1, random_state=0, max_iter=3, tol=0).fit(X)
        opened = X.opened
        assert opened.closed
        return [
            max(size for name, size in way if name == "MakePass")
            for way in (opened.sent, opened.returned)
        ]

    few, many = bytes_of_a_pass(2048, 4, 8), bytes_of_a_pass(16_384, 4, 8)
    assert np.allclose(few, many, atol=200)
    sent, returned = bytes_of_a_pass(2048, 16, 32)
    assert sent < 2 * 16 * 32 * 8 + 8 * 32 * 8 + 4000  # two sets of centers, and the survey
    assert returned < 2 * 16 * 34 * 8 + 2000  # two limbs of every sum


def test_late_iterations_send_only_the_sums_of_clusters_that_changed():
    rng = np.random.default_rng(0)
    rows = rng.random((8192, 4))
    for loss in (0.0, 0.3):
        X = ListPartitions(np.split(rows, 4), loss=loss)
        KMeans(200, init=rows[:200], tol=0, max_iter=400).fit(X)
        size = [bytes_ for name, bytes_ in X.opened.returned if name == "MakePass"]
        passes = np.reshape(size, (-1, 4)).max(axis=1)[:-1]  # the last labels the rows again
        whole = 2 * 200 * 6 * 8
        assert passes[0] > whole
        assert passes[-1] < 2000  # nothing changed: an iteration that converged
        assert passes[-5:].mean() < 0.2 * passes[0]


def test_changes_of_sums_add_up_in_any_order_to_those_of_all_rows():
    rng, grid = (
        np.random.default_rng(0),
        Grid.of_extent(np.zeros(3), np.ones(3), np.zeros(3), WeightScale(count=100.0)),
    )
    whole, changes = Moments.zero(9, grid), []
    before = [rng.integers(-99, 99, (2, 9, 5)) for _ in range(6)]
    for limbs in before:
        after = limbs.copy()
        after[:, rng.random(9) < 0.6] += rng.integers(1, 9)
        whole.add(Moments(grid, *(after - limbs)))
        changes.append(SumsChange.between(tuple(limbs), Moments(grid, *after)))
    for order in (range(6), [3, 1, 5, 0, 2, 4]):
        total = Moments.zero(9, grid)
        reduce(operator.add, [changes[i] for i in order]).add_to(total)
        np.testing.assert_array_equal(total.hi, whole.hi)
        np.testing.assert_array_equal(total.lo, whole.lo)
    assert len(SumsChange.between(tuple(before[0]), Moments(grid, *before[0])).clusters) == 0


def test_errors_are_those_of_rows_in_memory():
    X = groups()
    X[17, 2], X[2000, 4] = np.nan, np.inf
    with pytest.raises(ValueError, match="NaN and infinity: 2 of 3000 rows, in columns 2, 4"):
        KMeans(3).fit(ListPartitions(blocks_of(X)))
    with pytest.raises(ValueError, match="`sample_weight` must be finite"):
        KMeans(3).fit(ListPartitions(blocks_of(groups())), sample_weight=np.full(N, np.nan))
    with pytest.raises(ValueError, match="n_samples=3000 should be >= n_clusters=4000"):
        KMeans(4000).fit(ListPartitions(blocks_of(groups())))
