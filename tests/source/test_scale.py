"""Many clusters, many elements, little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from partita import KMeans

pytestmark = pytest.mark.sanitize


@pytest.mark.compiled
def test_fifty_thousand_clusters_need_no_array_of_their_pairs():
    rows = np.random.default_rng(0).random((60_000, 2), dtype=np.float32)
    tracemalloc.start()
    model = KMeans(50_000, init="random", n_init=1, max_iter=2, random_state=0).fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.cluster_centers_.shape == (50_000, 2)
    assert peak < 200e6  # an array of pairs would be 10 or 20 GB


@pytest.mark.heavy
@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_small_types_are_not_copied_whole(dtype):
    rows = np.random.default_rng(0).integers(0, 255, (40_000, 250)).astype(dtype)
    start = rows[:4].astype(np.float64)
    tracemalloc.start()
    KMeans(4, init=start, max_iter=3, n_threads=2).fit(rows)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < rows.size * 4 / 2  # half of what one float32 copy would take


@pytest.mark.compiled
def test_the_memory_of_a_fit_does_not_grow_with_rows_times_clusters():
    rows = np.random.default_rng(0).random((50_000, 8), dtype=np.float32)
    peaks = []
    for k in (10, 1000):
        tracemalloc.start()
        KMeans(k, init=rows[:k], max_iter=3, n_threads=2).fit(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    bounds = 24 + 2 * 32  # bytes a row
    assert max(peaks) < rows.nbytes + len(rows) * bounds + 2e6


@pytest.mark.slow
@pytest.mark.compiled
def test_more_than_two_to_the_31_elements():
    n, d = 2**25 + 1000, 64
    rows = np.zeros((n, d), np.uint8)
    rows[1::2] = 200
    rows[-1] = 100
    model = KMeans(3, init=np.array([[0.0], [200.0], [100.0]]) * np.ones((3, d))).fit(rows)
    assert rows.size > 2**31
    np.testing.assert_array_equal(np.bincount(model.labels_), [n // 2, n // 2 - 1, 1])
    assert model.labels_[-1] == 2
    assert model.inertia_ == 0.0
