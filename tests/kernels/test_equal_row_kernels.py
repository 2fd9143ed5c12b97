"""The search for equal rows, and counts of rows that stand for several, equal their twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import kernels, reference

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]


def search(module, rows, most, crew=None):
    inverse, first = np.full(len(rows), -7, np.int32), np.full(most, -7, np.int32)
    counts = np.full(most, -7, np.int64)
    m = module.distinct_rows(rows, inverse, first, counts, crew)
    return None if m < 0 else (inverse, first[:m], counts[:m])


def assert_equal(found, expected):
    assert (found is None) == (expected is None)
    for one, other in zip(found or (), expected or (), strict=True):
        np.testing.assert_array_equal(one, other)


@st.composite
def byte_rows(draw):
    n, width = draw(st.integers(0, 2000)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = draw(st.sampled_from([1, 2, 256]))
    different = rng.integers(0, values, (draw(st.integers(1, 500)), width)).astype(np.uint8)
    return different[rng.integers(0, len(different), n)]


@given(rows=byte_rows(), threads=st.sampled_from([1, 2, 3]))
def test_distinct_rows_equal_their_twin(rows, threads):
    expected = search(reference, rows, len(rows))
    assert_equal(search(kernels, rows, len(rows), kernels.Crew(threads)), expected)
    m = len(expected[1])
    for most in {m, m - 1} - {-1}:
        assert_equal(search(kernels, rows, most), search(reference, rows, most))


@pytest.mark.parametrize("width", [3, 12, 140])
def test_many_rows_that_repeat_in_batches_and_far_apart(width):
    rng = np.random.default_rng(width)
    different = rng.integers(0, 256, (9000, width)).astype(np.uint8)
    rows = np.concatenate(
        [
            np.repeat(different, 3, axis=0),
            different[rng.permutation(9000)],
            different[:1].repeat(999, 0),
        ]
    )
    expected = search(reference, rows, len(rows))
    for crew in (None, kernels.Crew(2)):
        assert_equal(search(kernels, rows, len(rows), crew), expected)


def test_rows_that_differ_in_one_bit_are_different():
    rows = np.zeros((8 * 37 + 1, 37), np.uint8)
    for bit in range(8 * 37):
        rows[bit, bit // 8] = 1 << bit % 8
    inverse, first, counts = search(kernels, rows, len(rows))
    np.testing.assert_array_equal(inverse, np.arange(len(rows)))
    assert (counts == 1).all()
    assert len(first) == len(rows)


def test_rows_whose_hashes_are_equal_are_told_apart_or_given_up():
    first_word = np.uint64(0xA0761D6478BD642F)  # it cancels the first constant of the hash
    for different, times in [(20, 40), (3000, 1), (20_000, 3)]:
        words = np.full((different * times, 2), first_word)
        words[:, 1] = np.arange(len(words)) % different
        rows = words.view(np.uint8).reshape(-1, 16)
        found = search(kernels, rows, len(rows))
        assert (found is None) == (different > 1000)
        if found is not None:
            assert_equal(found, search(reference, rows, len(rows)))


@given(n=st.integers(0, 300), k=st.integers(1, 4), seed=st.integers(0, 999), large=st.booleans())
def test_count_changes_equals_its_twin(n, k, seed, large):
    rng = np.random.default_rng(seed)
    n = n + (1 << 16 if large else 0)
    labels, before = rng.integers(-1, k, (2, n)).astype(np.int32)
    times = rng.integers(1, 2**40, n)
    for crew in (None, kernels.Crew(2)):
        mine, theirs = before.copy(), before.copy()
        counted = kernels.count_changes(labels, mine, times, crew)
        assert counted == reference.count_changes(labels, theirs, times)
        np.testing.assert_array_equal(mine, labels)
