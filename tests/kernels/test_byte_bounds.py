"""Passes with bounds over bytes give the labels of D64, and bounds that hold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from helpers.bounded_passes import check, plain_labels, wander
from helpers.cases import adversaries, problems
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference
from partita.centers import Centers
from partita.engine.paths.bounds_path import RowBounds
from partita.engine.paths.center_groups import CenterGroups
from partita.exact_weights import Weights
from partita.moments import Grid, Moments

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]


def rounded(core, rows, origin):
    copy = core.ByteRows(len(rows), origin, np.zeros((1, rows.shape[1])))
    largest = float(np.abs(rows.astype(float) - origin).max())
    core.round_rows(copy, rows, 0, 2.0 ** -np.ceil(np.log2(largest)) if largest > 0 else 1.0)
    return copy


@pytest.fixture
def walk(byte_core, monkeypatch):
    """Bounded passes over bytes to one set of centers after the other, each in parts."""
    monkeypatch.setattr("partita.engine.paths.bounds_path.kernels", byte_core)

    def run(rows, path, *, most=32, origin=None, parts=1, geometry=False):
        n, start = len(rows), path[0]
        labels = plain_labels(rows, start.values, start.origin)
        distance = np.sqrt(reference.d64(rows, start.values, start.origin))
        typical = float(np.median(distance.min(axis=1))) or 1.0
        groups = CenterGroups.around(start.values, most)
        copy = rounded(byte_core, rows, start.origin if origin is None else origin)
        bounds = RowBounds(n, start, groups, typical / 1024, geometry, copy=copy)
        byte_core.turn_codes(copy, by_row=True)
        for step, at in enumerate(path):
            motion = bounds.follow(at, labels)
            book = byte_core.ByteBook(copy, at.values, at.origin, groups.members, groups.sizes)
            before, moved = labels.copy(), 0
            cuts = np.linspace(0, n, parts + 1).astype(int)
            for first, last in pairwise(cuts):
                here = slice(first, last)
                counts = byte_core.assign_byte_bounded(
                    copy, book, rows[here], first, labels[here], bounds.upper[here],
                    bounds.other[here], bounds.lower[here], motion, step == 0,
                )  # fmt: skip
                moved += counts[0]
            np.testing.assert_array_equal(labels, plain_labels(rows, at.values, at.origin))
            assert moved == (labels != before).sum()
            check(bounds, motion, typical / 1024, rows, at, labels)
        return copy

    return run


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(adversaries(np.float64)))
def test_bounds_on_adversaries(walk, dtype, name):
    rows, start = adversaries(dtype)[name]
    if name == "fill value at 1e37":
        pytest.skip("a fit takes the plain pass there: distances are too small for the data")
    size = float(np.median(np.abs(rows))) / 4
    zero = np.zeros(rows.shape[1])
    walk(rows, wander(start, zero, 5, 0, size))
    walk(rows, wander(start, zero, 3, 1, size), origin=rows[len(rows) // 2].astype(float))


@pytest.mark.heavy
@given(problem=problems(), most=st.sampled_from([1, 3, 32]), seed=st.integers(0, 99))
def test_bounds_on_problems_full_of_ties(walk, problem, most, seed):
    rows, start = problem
    if np.median(np.abs(rows)) == 0:
        return
    path = wander(start, np.zeros(rows.shape[1]), 4, seed, 0.3)
    walk(rows, path, most=most, geometry=seed % 2 == 0)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 13, 29, 100, 500])
@pytest.mark.parametrize("d", [1, 7, 16, 130])
def test_bounds_for_any_shape(walk, dtype, k, d):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(603, d)).astype(dtype)
    path = wander(rng.normal(size=(k, d)), np.full(d, 0.25), 4, 1, 0.2)
    walk(rows, path, geometry=d < 20, parts=1 + k % 3)


@pytest.mark.parametrize("most", [1, 3, 32])
def test_more_candidates_than_a_panel_stores(walk, most):
    rng = np.random.default_rng(most)
    rows = rng.normal(size=(150, 5)).astype(np.float32)
    close = 1 + 1e-4 * rng.normal(size=(300, 5))  # closer than bytes tell
    walk(rows, wander(close, np.zeros(5), 5, 3, 1e-4), most=most)


@pytest.mark.parametrize("steps", [63, 127])
def test_rows_that_bytes_place_as_wrongly_as_they_can(walk, steps):
    """Every feature half a step from its code, in the direction of one of the centers."""
    d, rng = 60, np.random.default_rng(steps)
    across = rng.choice([-1.0, 1.0], d)
    across[0] = 0.0  # this feature sets the step
    rows = np.repeat((0.5 / steps * across)[None], 64, axis=0)
    rows[:, 0] = 1.0
    for apart in (0.02, 0.3, 5.0):
        for lean in (-1e-3, 0.0, 1e-12, 1e-3):
            middle = 0.5 / steps + lean
            there = np.stack([(middle - apart) * across, (middle + apart) * across])
            back = there[::-1]
            zero = np.zeros(d)
            walk(rows, [Centers(np.ascontiguousarray(c), zero) for c in (there, back, there)])


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_narrow_rows_are_read_where_they_are(byte_core, dtype):
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 256, (700, 45)).astype(dtype)
    narrow = rows if dtype is np.uint8 else rows.view(np.uint16)
    wide, zero = rows.astype(np.float32), np.zeros(45)
    path = wander(wide[:30], zero, 4, 0, 20.0)
    groups = CenterGroups.around(path[0].values, 4)
    copy = rounded(byte_core, wide, zero)
    byte_core.turn_codes(copy, by_row=True)
    labels = plain_labels(wide, path[0].values, zero)
    bounds = RowBounds(700, path[0], groups, 0.5, False, copy=copy)
    sums = [
        Moments.zero(30, Grid.of_extent(zero, zero + 255, zero, Weights.of(None, 700)))
        for _ in "ab"
    ]
    for step, at in enumerate(path):
        motion, before = bounds.follow(at, labels), labels.copy()
        book = byte_core.ByteBook(copy, at.values, zero, groups.members, groups.sizes)
        byte_core.assign_byte_bounded(
            copy, book, narrow, 0, labels, bounds.upper, bounds.other, bounds.lower, motion,
            step == 0, sums[0].sums,
        )  # fmt: skip
        byte_core.move_rows(sums[1].sums, wide, before, labels)
        np.testing.assert_array_equal(labels, plain_labels(wide, at.values, zero))
        check(bounds, motion, 0.5, wide, at, labels)
        for a, b in ((sums[0].hi, sums[1].hi), (sums[0].lo, sums[1].lo)):
            np.testing.assert_array_equal(a, b)


def test_codes_are_the_same_after_they_were_turned_twice(byte_core):
    rng = np.random.default_rng(0)
    rows, centers, zero = rng.normal(size=(777, 21)), rng.normal(size=(9, 21)), np.zeros(21)
    copy = rounded(byte_core, rows, zero)
    book = byte_core.ByteBook(copy, centers, zero)
    counts = []
    for _ in range(2):
        labels = np.full(777, -1, np.int32)
        counts.append(byte_core.assign_bytes(copy, book, rows, 0, labels))
        byte_core.turn_codes(copy, by_row=True)
        with pytest.raises(ValueError, match="order of tiles"):
            byte_core.assign_bytes(copy, book, rows, 0, labels)
        byte_core.turn_codes(copy, by_row=True)  # they are: nothing happens
        byte_core.turn_codes(copy, by_row=False)
    assert counts[0] == counts[1]


def test_other_books_layouts_and_rows_are_errors(byte_core):
    rng = np.random.default_rng(1)
    rows, centers, zero = rng.normal(size=(50, 4)), rng.normal(size=(5, 4)), np.zeros(4)
    groups = CenterGroups.around(centers, 1)
    copy = rounded(byte_core, rows, zero)
    two = byte_core.ByteRows(50, zero, np.zeros((2, 4)))
    with pytest.raises(ValueError, match="one pivot"):
        byte_core.ByteBook(two, centers, zero, groups.members, groups.sizes)
    motion = byte_core.Motion(groups.members, groups.sizes, centers, zero, 0.1, 0.0, False)
    bounds = np.zeros(50, np.int32), np.zeros(50, np.uint16), np.zeros((50, 1), np.uint16)
    labels = np.zeros(50, np.int32)

    def run(book, base=0):
        byte_core.assign_byte_bounded(copy, book, rows, base, labels, *bounds, motion, True)

    grouped = byte_core.ByteBook(copy, centers, zero, groups.members, groups.sizes)
    with pytest.raises(ValueError, match="by row"):
        run(grouped)
    byte_core.turn_codes(copy, by_row=True)
    with pytest.raises(ValueError, match="in groups"):
        run(byte_core.ByteBook(copy, centers, zero))
    if byte_core is not reference:
        with pytest.raises(ValueError, match="fewer rows"):
            run(grouped, base=1)
