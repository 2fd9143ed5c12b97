"""A source elsewhere than in memory: it needs the narrow protocol only, and gives the same bits."""

from __future__ import annotations

import numpy as np
import pytest

from partita import KMeans
from partita._common.threads import Workers
from partita.empty_clusters import POLICIES
from partita.engine.lloyd import LloydOptions
from partita.engine.restarts import best_of
from partita.estimators.validation import make_source
from partita.exact_weights import Weights
from partita.halting import MaxIter, SamePartition
from partita.init import STARTS
from partita.source.blocked_rows import BlockedRows
from partita.source.blocks import ALIGN, as_kernel_type
from partita.source.dense import DenseSource
from partita.source.protocol import Source


class BlockList(BlockedRows):
    """Rows in a list of blocks, which are read in an odd order by all threads."""

    prunable_rows = None

    def __init__(self, blocks, weights, workers):
        self._blocks = blocks
        self._first = np.cumsum([0, *(len(block) for block in blocks)])
        super().__init__((self._first[-1], blocks[0].shape[1]), blocks[0].dtype, weights, workers)

    def each_block(self, work_per_row, begin):
        def work(numbers):
            run = begin()
            for number in numbers:
                i = len(self._blocks) - 1 - number
                rows = slice(self._first[i], self._first[i + 1])
                run(rows, as_kernel_type(self._blocks[i]))

        self.workers.share(len(self._blocks), work)

    def read_rows(self, rows):
        block = np.searchsorted(self._first, rows, side="right") - 1
        pairs = zip(block, rows - self._first[block], strict=True)
        return np.array([self._blocks[i][j] for i, j in pairs], self._blocks[0].dtype)

    def whole_rows(self, work_per_row):
        return None  # they do not fit in memory

    def subset(self, rows, weights, survey=None):
        return DenseSource(self.read_rows(rows), weights, self.workers, survey)


def data(dtype, n=5000, d=6):
    rng = np.random.default_rng(3)
    centers = rng.uniform(20, 200, (12, d))
    return (centers[rng.integers(0, 12, n)] + rng.normal(scale=9, size=(n, d))).astype(dtype)


def blocks_of(rows, weight, workers):
    sizes = np.array([3, 1, 7, 2, 4, 1, 1]) * ALIGN
    return BlockList(np.split(rows, np.cumsum(sizes)), Weights.of(weight, len(rows)), workers)


def run(source: Source, start, k=12):
    options = LloydOptions(k, SamePartition() | MaxIter(50), POLICIES["relocate"])
    return best_of(source, [lambda: start(source, k, np.random.default_rng(1), np.inf)], options)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_blocks_in_any_order_give_the_bits_of_rows_in_memory(dtype, init, threads):
    rows = data(dtype)
    weight = np.random.default_rng(0).integers(0, 3, len(rows)) * 0.5
    for some in (None, weight):
        with Workers(threads) as workers:
            listed = run(blocks_of(rows, some, workers), STARTS[init])
            held = run(make_source(rows, some, workers), STARTS[init])
        np.testing.assert_array_equal(listed.centers, held.centers)
        np.testing.assert_array_equal(listed.labels, held.labels)
        assert listed.inertia == held.inertia
        assert [p.cost for p in listed.fit.trace] == [p.cost for p in held.fit.trace]
        assert {p.path for p in listed.fit.trace} == {"plain"}


def test_a_fit_from_given_centers_is_that_of_the_estimator():
    rows = data(np.float32)
    model = KMeans(12, init=rows[:12], tol=0, max_iter=50).fit(rows)
    with Workers(2) as workers:
        listed = run(blocks_of(rows, None, workers), lambda *_: rows[:12])
    np.testing.assert_array_equal(listed.centers, model.cluster_centers_)
    np.testing.assert_array_equal(listed.labels, model.labels_)
    assert listed.inertia == model.inertia_


def test_weights_that_no_grid_holds_are_summed_alike_in_any_blocks():
    rows = data(np.float64)
    weight = 10.0 ** np.random.default_rng(0).integers(-12, 12, len(rows))
    with Workers(2) as workers:
        listed = run(blocks_of(rows, weight, workers), STARTS["random"])
        source = make_source(rows, weight, workers)
        held = run(source, STARTS["random"])
    assert source.survey().beyond_grid
    np.testing.assert_array_equal(listed.centers, held.centers)


def test_columns_that_are_not_finite_are_found_in_any_block():
    rows = data(np.float64)
    rows[4000, 2], rows[10, 4] = np.nan, np.inf
    with Workers(3) as workers:
        low, high, columns = blocks_of(rows, None, workers).extent()
        expected = make_source(rows, None, workers).extent()
    assert columns.tolist() == expected[2].tolist() == [2, 4]
    np.testing.assert_array_equal(low[[0, 1, 3, 5]], expected[0][[0, 1, 3, 5]])
    np.testing.assert_array_equal(high[[0, 1, 3, 5]], expected[1][[0, 1, 3, 5]])
