"""Passes over bytes give the labels of D64, on every instruction set, whatever the data."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import adversaries, labels_by_d64, problems
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference
from partita._kernels.byte_tiles import MAX_BYTE_FEATURES

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]
ADVERSARIES = sorted(adversaries(np.float64))


def scale_of(rows):
    """A power of two that brings the rows into the range of float."""
    largest = float(np.abs(np.asarray(rows, np.float64)).max())
    return 2.0 ** -np.ceil(np.log2(largest)) if largest > 0 else 1.0


def rounded(byte_core, rows, origin, pivots=None):
    """Rows as bytes in their own order."""
    pivots = np.zeros((1, rows.shape[1])) if pivots is None else pivots
    copy = byte_core.ByteRows(len(rows), origin, pivots)
    byte_core.round_rows(copy, rows, 0, scale_of(rows.astype(np.float64) - origin))
    return copy


def by_bytes(byte_core, rows, centers, origin=None, at=None, **keywords):
    """Labels and counts of a pass; `at`: the origin of the rows."""
    origin = np.zeros(rows.shape[1]) if origin is None else origin
    copy = rounded(byte_core, rows, origin if at is None else at)
    labels = np.full(len(rows), -1, np.int32)
    counts = byte_core.assign_bytes(
        copy, byte_core.ByteBook(copy, centers, origin), rows, 0, labels, **keywords
    )
    return labels, counts


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ADVERSARIES)
def test_labels_are_those_of_d64(byte_core, name, dtype):
    rows, start = adversaries(dtype)[name]
    centers, origin = start.astype(float), np.zeros(rows.shape[1])
    labels, counts = by_bytes(byte_core, rows, centers)
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, origin))
    assert counts[0] == len(rows)
    assert 0 <= counts[1] <= len(rows)
    assert 2 * counts[1] <= counts[2] <= counts[1] * len(centers)


@given(problems(), st.integers(0, 2**32 - 1))
def test_labels_of_any_problem_are_those_of_d64(byte_core, problem, seed):
    rows, start = problem
    rng = np.random.default_rng(seed)
    origin = rng.choice(rows).astype(float)
    centers = start.astype(float) - origin
    labels, _ = by_bytes(byte_core, rows, centers, origin, at=rng.choice(rows).astype(float))
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, origin))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 31, 32, 33, 255, 256, 257, 600])
def test_any_number_of_rows(byte_core, n, dtype):
    rng = np.random.default_rng(n)
    rows, centers = rng.normal(size=(n, 7)).astype(dtype), rng.normal(size=(5, 7))
    labels, _ = by_bytes(byte_core, rows, centers)
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, np.zeros(7)))


@pytest.mark.parametrize(
    ("k", "d"),
    [(1, 1), (2, 2), (3, 3), (13, 4), (14, 5), (15, 16), (28, 17), (29, 33), (100, 64), (1100, 9)],
)
def test_any_number_of_centers_and_features(byte_core, k, d):
    rng = np.random.default_rng(100 * k + d)
    centers = rng.normal(size=(k, d)) * 3
    rows = (centers[rng.integers(0, k, 70)] + rng.normal(size=(70, d))).astype(np.float32)
    labels, _ = by_bytes(byte_core, rows, centers)
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, np.zeros(d)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_centers_within_rounding_of_a_tie_are_decided_by_d64(byte_core, dtype):
    """Rows in the middle between two centers, up to the last unit in the last place."""
    rng = np.random.default_rng(3)
    middle = rng.normal(size=(300, 24)).astype(dtype)
    across = rng.normal(size=(1, 24))
    rows = middle.copy()
    last = np.asarray(np.spacing(rows[:, 0]))
    rows[:, 0] += rng.integers(-2, 3, 300) * last
    for gap in (1.0, 2.0**-10, 2.0**-30):
        centers = np.concatenate([middle[:1] - gap * across, middle[:1] + gap * across]).astype(
            float
        )
        same = np.repeat(middle[:1], 300, axis=0)
        same[:, 0] = rows[:, 0] - middle[:, 0] + middle[0, 0]
        labels, _ = by_bytes(byte_core, same, centers)
        np.testing.assert_array_equal(labels, labels_by_d64(same, centers, np.zeros(24)))


@pytest.mark.parametrize("sign", [-1, 1])
def test_rounding_that_adds_up_is_within_the_bound(byte_core, sign):
    """Every feature is rounded by half a step in the same direction: Cauchy–Schwarz is tight."""
    d = 64
    rows = np.full((64, d), 0.5 / 127, np.float32)
    rows[:, 0] = 1.0  # the step is 1/127
    rows *= np.float32(sign)
    worst = np.full(d, 1.0) - np.eye(d)[0]
    rng = np.random.default_rng(5)
    centers = np.stack([worst * s for s in (1, -1)] + list(rng.normal(size=(10, d)) * 0.1))
    for lean in np.linspace(-1e-2, 1e-2, 41):
        moved = centers.copy()
        moved[0] += lean * sign * worst
        labels, _ = by_bytes(byte_core, rows, moved)
        np.testing.assert_array_equal(labels, labels_by_d64(rows, moved, np.zeros(d)))


@given(
    steps=st.sampled_from([63, 127]),
    d=st.integers(2, 90),
    ulps=st.integers(-4, 4),
    apart=st.floats(0.01, 100),
    signs=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from(FLOATS),
)
def test_a_bound_that_is_tight_to_the_last_place(byte_core, steps, d, ulps, apart, signs, dtype):
    """A row half a step from its code, away from the center that bytes take for the nearest.

    The other center is nearer by a few units in the last place, or as far, or farther: the
    products of bytes are off by all that Cauchy–Schwarz allows.
    """
    across = np.random.default_rng(signs).choice([-1.0, 1.0], d)
    across[0] = 0.0  # this feature only sets the step, 1 / steps
    half = np.nextafter(dtype(0.5 / steps), dtype(0))
    rows = (half * across).astype(dtype)[None].repeat(40, axis=0)
    rows[:, 0] = 1.0
    middle = float(half)
    for _ in range(abs(ulps)):
        middle = np.nextafter(middle, np.sign(ulps) * np.inf)
    centers = np.stack([(middle - apart) * across, (middle + apart) * across])
    for order in (slice(None), slice(None, None, -1)):
        labels, counts = by_bytes(byte_core, rows, centers[order])
        expected = labels_by_d64(rows, centers[order], np.zeros(d))
        np.testing.assert_array_equal(labels, expected)
        assert counts[1] == len(rows)  # no row is decided by bytes


def test_uint8_values_lose_nothing_but_what_the_pivot_costs(byte_core):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 256, (500, 40)).astype(np.float32)
    centers = rows[:30].astype(float)
    labels, _ = by_bytes(byte_core, rows, centers)
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, np.zeros(40)))


def test_separate_groups_leave_one_candidate(byte_core):
    rng = np.random.default_rng(2)
    centers = rng.normal(size=(20, 32)) * 5
    rows = (centers[rng.integers(0, 20, 640)] + rng.normal(size=(640, 32))).astype(np.float32)
    _, counts = by_bytes(byte_core, rows, centers)
    assert counts[1] < 20


@pytest.mark.parametrize("dtype", FLOATS)
def test_pivots_near_the_rows_leave_fewer_candidates(byte_core, dtype):
    """Tight groups far apart: a byte for the distance to all of them cannot tell rows apart."""
    rng = np.random.default_rng(4)
    far = rng.normal(size=(8, 10)) * 1e4
    group = rng.integers(0, 8, 2000).astype(np.int32)
    rows = (far[group] + rng.normal(size=(2000, 10)) * 20).astype(dtype)
    centers = np.repeat(far, 4, axis=0) + rng.normal(size=(32, 10)) * 20
    origin, order = np.zeros(10), np.argsort(group, kind="stable").astype(np.int32)
    copy = byte_core.ByteRows(2000, origin, far)
    byte_core.round_in_order(copy, rows, order, group, scale_of(rows))
    labels = np.full(2000, -1, np.int32)
    book = byte_core.ByteBook(copy, centers, origin)
    counts = byte_core.assign_bytes(copy, book, rows, 0, labels)
    np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, origin))
    _, one_pivot = by_bytes(byte_core, rows, centers)
    assert counts[2] <= one_pivot[2]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [3, 9, 40, 130, 519])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_are_those_of_the_plain_pass(byte_core, dtype, d, weighted):
    rng, k = np.random.default_rng(6), 6
    rows, centers = rng.normal(size=(700, d)).astype(dtype), rng.normal(size=(k, d))
    origin = np.zeros(d)

    def sums():
        hi, lo = np.zeros((k, d + 2), np.int64), np.zeros((k, d + 2), np.int64)
        return byte_core.Sums(hi, lo, origin, np.full(d + 2, 2.0**30), 1.0, 2.0**30), hi, lo

    keywords = {"times": rng.integers(0, 4, 700)} if weighted else {}
    by_plain, hi, lo = sums()
    labels = np.full(700, -1, np.int32)
    byte_core.assign(byte_core.Codebook32(centers, origin), rows, labels, by_plain, **keywords)
    now, hi_now, lo_now = sums()
    again, _ = by_bytes(byte_core, rows, centers, sums=now, **keywords)
    np.testing.assert_array_equal(labels, again)
    np.testing.assert_array_equal(hi, hi_now)
    np.testing.assert_array_equal(lo, lo_now)


def test_parts_and_threads_change_nothing(byte_core):
    rng = np.random.default_rng(8)
    rows, centers = rng.normal(size=(1000, 20)).astype(np.float32), rng.normal(size=(9, 20))
    origin = np.zeros(20)
    whole, counts = by_bytes(byte_core, rows, centers)
    crew = byte_core.Crew(3)
    copy, labels, total = (
        byte_core.ByteRows(1000, origin, np.zeros((1, 20))),
        np.full(1000, -1, np.int32),
        [],
    )
    for first in (0, 512, 768):
        last = {0: 512, 512: 768, 768: 1000}[first]
        byte_core.round_rows(copy, rows[first:last], first, 1.0, crew)
    book = byte_core.ByteBook(copy, centers, origin, crew=crew)
    for first, last in ((0, 256), (256, 1000)):
        part = labels[first:last]
        total.append(byte_core.assign_bytes(copy, book, rows[first:last], first, part, crew=crew))
    np.testing.assert_array_equal(labels, whole)
    assert sum(part[0] for part in total) == counts[0]


def test_the_compiled_filter_leaves_no_more_than_the_twin_by_far(byte_core):
    rng = np.random.default_rng(9)
    rows, centers = rng.random((960, 48)).astype(np.float32), rng.random((40, 48))
    _, counts = by_bytes(byte_core, rows, centers)
    _, twin = by_bytes(reference, rows, centers)
    assert counts[1] <= 2.5 * twin[1] + 20  # centers of 7 bits leave up to twice as many


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_narrow_rows_are_read_in_place_with_the_same_bits(byte_core, dtype, weighted):
    """Rows that are decided, that move, and that all centers are compared with: d = 21, 300."""
    for seed, d in ((0, 21), (1, 300)):
        rng = np.random.default_rng(seed)
        rows = rng.integers(0, 9, (700, d)).astype(dtype)
        centers = rng.choice(rows, 9).astype(float)
        centers[:, 0] += [0.0] * 8 + [1e200 * seed]  # beyond the range of the filter
        weight = rng.random(700) if weighted else None
        wide, origin = rows.astype(np.float32), np.zeros(d)
        results = []
        for values in (wide, rows if dtype == np.uint8 else rows.view(np.uint16)):
            copy, labels = rounded(byte_core, wide, origin), np.full(700, -1, np.int32)
            hi, lo = np.zeros((2, 9, d + 2), np.int64)
            sums = byte_core.Sums(hi, lo, origin, np.full(d + 2, 2.0**20), 1.0, 2.0**20)
            book = byte_core.ByteBook(copy, centers, origin)
            for step in range(2):  # the second time few rows move
                labels[: 30 * step] = 0
                counts = byte_core.assign_bytes(copy, book, values, 0, labels, sums, weight=weight)
            results.append((labels.copy(), hi, lo, counts))
        for one, two in zip(*results, strict=True):
            np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(results[0][0], labels_by_d64(wide, centers, origin))


def test_every_half_becomes_its_float(byte_core):
    bits = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 32)
    out = np.empty(bits.shape, np.float32)
    byte_core.widen_halves(bits, out)
    expected = bits.view(np.float16).astype(np.float32)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(np.signbit(out), np.signbit(expected))


def test_wrong_calls_raise(byte_core):
    rows, origin = np.zeros((300, 3), np.float32), np.zeros(3)
    copy = byte_core.ByteRows(300, origin, np.zeros((1, 3)))
    book, labels = byte_core.ByteBook(copy, np.ones((2, 3)), origin), np.zeros(300, np.int32)
    with pytest.raises(ValueError, match="were not rounded"):
        byte_core.assign_bytes(copy, book, rows, 0, labels)
    with pytest.raises(ValueError, match="shape"):
        byte_core.widen_halves(np.zeros((3, 2), np.uint16), np.zeros((2, 2), np.float32))
    with pytest.raises(ValueError, match="too many"):
        byte_core.ByteRows(5, np.zeros(MAX_BYTE_FEATURES + 1), np.zeros((1, MAX_BYTE_FEATURES + 1)))
    with pytest.raises(ValueError, match="too many"):
        byte_core.ByteRows(0, origin, np.zeros((1, 3)))


def test_as_many_features_as_fit_32_bits(byte_core):
    """All products have the largest size and the same sign: sums come close to 2³¹."""
    d = MAX_BYTE_FEATURES
    rows = np.ones((3, d), np.float32)
    rows[1] = -1.0
    rows[2, ::2] = -1.0
    centers = np.stack([np.ones(d), -np.ones(d), np.where(np.arange(d) % 2, 1.0, -1.0)])
    labels, _ = by_bytes(byte_core, rows, centers)
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [1e-45, 1e-42, 1e-39, 1e-37, 1e37])
def test_rows_at_the_ends_of_float(byte_core, size):
    """Denormal rows have no step that float can hold: D64 decides."""
    rng = np.random.default_rng(11)
    rows = (rng.integers(-9, 10, (300, 40)) * np.float32(size)).astype(np.float32)
    centers = rows[:7].astype(float) + rng.normal(size=(7, 40)) * size
    origin = np.zeros(40)
    for scale in (1.0, 2.0**100, 2.0**140, scale_of(rows)):
        copy = byte_core.ByteRows(300, origin, np.zeros((1, 40)))
        byte_core.round_rows(copy, rows, 0, scale)
        labels = np.full(300, -1, np.int32)
        byte_core.assign_bytes(copy, byte_core.ByteBook(copy, centers, origin), rows, 0, labels)
        np.testing.assert_array_equal(labels, labels_by_d64(rows, centers, origin))
