"""Passes over panels skip rows only where their labels are those of D64, however centers move."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import adversaries, labels_by_d64
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import kernels, reference
from partita.engine.paths.center_groups import CenterGroups
from partita.exact_weights import Weights
from partita.moments import Grid, Moments

pytestmark = pytest.mark.sanitize
FLOATS = [np.float32, np.float64]
ADVERSARIES = sorted(adversaries(np.float64))


class Walk:
    """A run over panels, whose centers move as a test says."""

    def __init__(self, module, rows, tile=0):
        self.module, self.rows, self.tile = module, rows, tile
        self.labels = np.full(len(rows), -1, np.int32)
        self.panels, self.counts, self.groups = None, [], None

    def book(self, centers, origin):
        """Centers in groups of `tile`, those of the first pass; 0: all are one group."""
        if self.tile and self.groups is None:
            self.groups = CenterGroups.in_tiles(centers, self.tile)
        grouping = (self.groups.members, self.groups.sizes) if self.groups else (None, None)
        return self.module.Codebook32(centers, origin, *grouping, like=self.panels)

    def scan(self, book, rows, labels, **keywords):
        """A pass in two parts."""
        most, middle = self.panels.panels, self.panels.panels // 2
        parts = [
            self.module.assign_panels(book, self.panels, rows, labels, *ends, **keywords)
            for ends in ((0, middle), (middle, most))
        ]
        return [sum(counts) for counts in zip(*parts, strict=True)]

    def to(self, centers, origin=None, sort=False):
        """Make a pass; the labels must be those of D64."""
        origin = np.zeros(self.rows.shape[1]) if origin is None else origin
        book = self.book(centers, origin)
        if self.panels is None or not self.panels.fit(book):
            self.panels = self.module.pack_panels(book, self.rows, self.labels)
        elif sort:
            self.module.sort_panels(book, self.panels, self.rows)
        before = self.labels.copy()
        self.panels.follow(book)
        counts = self.scan(book, self.rows, self.labels)
        expected = labels_by_d64(self.rows, centers, origin)
        np.testing.assert_array_equal(self.labels, expected)
        assert counts[0] == (before != expected).sum()
        assert 0 <= counts[3] <= counts[2]
        self.counts.append(counts)

    @property
    def compared(self):
        """Share of the pairs compared in the last pass, and that with open rows."""
        pairs = self.panels.panels * self.panels.width * self.panels.k
        return self.counts[-1][2] / pairs, self.counts[-1][3] / pairs


def groups(n=2000, d=6, k=9, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(k, d)) * 4
    return (middles[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype), middles


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 15, 16, 17, 700])
@pytest.mark.parametrize("d", [1, 5, 33])
@pytest.mark.parametrize(("k", "tile"), [(1, 0), (2, 0), (2, 1), (9, 0), (9, 4), (40, 0), (40, 6)])
def test_labels_of_a_walk(core, dtype, n, d, k, tile):
    rows, _ = groups(n, d, dtype=dtype)
    rng = np.random.default_rng(n + d + k)
    centers, walk = rng.normal(size=(k, d)) * 4, Walk(core, rows, tile)
    for step, size in enumerate([1.0, 0.3, 0.1, 1e-2, 1e-4, 1e-8, 0.0, 0.5]):
        centers = centers + rng.normal(size=(k, d)) * size
        walk.to(centers, sort=step % 3 == 2)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tile", [0, 2])
@pytest.mark.parametrize("name", ADVERSARIES)
def test_adversaries(core, name, dtype, tile):
    rows, start = adversaries(dtype)[name]
    centers, rng = start.astype(float), np.random.default_rng(3)
    walk = Walk(core, rows, tile)
    reach = float(np.abs(centers).max()) or 1.0
    for size in (0.0, 1e-3, 1e-9, 1e-15, 0.0):
        centers = centers + rng.normal(size=centers.shape) * size * reach
        walk.to(centers, sort=True)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tile", [0, 1, 3])
def test_ties_that_d64_decides(core, dtype, seed, tile):
    """Rows between centers get their label after their panel, and bounds of that label."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (900, 3)).astype(dtype)
    centers, walk = rng.integers(0, 4, (12, 3)).astype(float), Walk(core, rows, tile)
    for step in range(24):
        walk.to(centers, sort=step % 2 == 1)
        moved = rng.random(12) < 0.3
        size = rng.choice([0.5, 0.25, 2.0**-20, 2.0**-45])
        centers[moved] += rng.integers(-1, 2, (moved.sum(), 3)) * size


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("tile", [0, 1])
def test_a_row_that_d64_moved_has_the_bound_of_its_new_label(core, dtype, tile):
    """Row 5 ties at x = 4; its old center then travels farther than its new one."""
    rows = np.concatenate([np.full(40, -1.0), np.full(40, 8.0), np.full(40, 120.0)])
    rows[5] = 4.0
    walk = Walk(core, rows[:, None].astype(dtype), tile)
    for step, (b, a, c) in enumerate([(10, 0, 100), (8, 0, 105), (8, -5, 114), (8, 1, 114)]):
        walk.to(np.array([[b], [a], [c]], float), sort=step == 3)


def test_centers_that_rest_are_skipped(core):
    rows, middles = groups()
    walk = Walk(core, rows)
    walk.to(middles)
    walk.to(middles)
    assert walk.counts[0][2] >= len(rows) * len(middles)
    assert walk.counts[1][2] == 0


def test_sorting_gathers_open_rows(core):
    """Unsorted, almost every panel has an open row; sorted, few more are scanned than are open."""
    rows, middles = groups(n=8000)
    walk, move = Walk(core, rows), np.full(middles.shape, 0.05)
    walk.to(middles)
    walk.to(middles + move)
    unsorted = walk.compared[0]
    walk.to(middles + 2 * move, sort=True)
    walk.to(middles + 3 * move, sort=True)
    compared, is_open = walk.compared
    assert compared < 0.7 * unsorted
    assert is_open <= compared < 1.5 * is_open + 0.05


def test_groups_of_centers_that_rest_are_not_compared(core):
    """One center moves: its panels are compared with their own group and with its group."""
    rows, middles = groups(n=8000, k=40, d=8)
    walk = Walk(core, rows, tile=5)
    for step in range(3):
        walk.to(middles, sort=step > 0)
    moved = middles.copy()
    moved[7] += 0.5
    walk.to(moved)
    assert 0 < walk.compared[0] < 0.45
    assert len(walk.groups.sizes) == 8


def test_groups_compare_less_than_one_bound_for_all(core):
    """In a cloud without gaps, where centers move by a hundredth of their distances."""
    rows, compared = np.random.default_rng(0).normal(size=(6000, 8)), {}
    for tile in (0, 5):
        walk, rng = Walk(core, rows, tile), np.random.default_rng(1)
        centers, shares = rows[:40].copy(), []
        for step in range(7):
            walk.to(centers, sort=step == 1)
            shares.append(walk.compared[0])
            centers += rng.normal(size=centers.shape) * 0.01
        compared[tile] = sum(shares[2:])
    assert compared[5] < 0.85 * compared[0]


def test_another_origin_moves_no_center(core):
    rows, middles = groups()
    rows += 1e6
    walk, origin = Walk(core, rows), rows.mean(axis=0)
    walk.to((middles + 1e6) - origin, origin)
    walk.to(middles + 1e6)
    walk.to((middles + 1e6) - origin, origin)
    assert walk.counts[1][2] < 0.3 * walk.counts[0][2]
    assert walk.counts[2][2] < 0.3 * walk.counts[0][2]


def test_labels_that_change_from_outside_lose_their_bounds(core):
    rows, middles = groups()
    walk = Walk(core, rows)
    walk.to(middles)
    changed = np.arange(0, len(rows), 100)
    walk.labels[changed] = (walk.labels[changed] + 1) % len(middles)
    walk.panels.relabel(walk.labels)
    walk.to(middles)
    assert walk.counts[-1][0] == len(changed)


@pytest.mark.compiled
@given(
    place=st.floats(-1, 1),
    gap=st.floats(1e-6, 1.0),
    ulps=st.integers(-3, 3),
    offset=st.sampled_from([0.0, 1.0, 1e6]),
    dtype=st.sampled_from(FLOATS),
)
def test_a_center_that_comes_as_near_as_the_own_one(place, gap, ulps, offset, dtype):
    """The other center moves by the margin of a row, give or take a few ulps."""
    row = np.full((1, 2), offset, dtype)
    x = row.astype(float)
    own, other = x - np.array([[0.5, 0.0]]), x + np.array([[0.5 + gap, 0.0]])
    walk = Walk(kernels, row)
    walk.to(np.concatenate([own, other]))
    near = other - [[gap, 0.0]]
    for _ in range(abs(ulps)):
        near = np.nextafter(near, np.sign(ulps) * np.inf)
    walk.to(np.concatenate([own, near]))
    walk.to(np.concatenate([own + place * 1e-12, near]))


@pytest.mark.compiled
def test_sums_and_weights_are_those_of_the_twin(core):
    rows, middles = groups(n=900)
    weights = Weights.of(np.random.default_rng(1).integers(0, 4, len(rows)).astype(float), 900)
    grid = Grid.of_extent(rows.min(axis=0), rows.max(axis=0), rows.mean(axis=0), weights)
    keywords, sums = weights.kernel_arguments(slice(0, 900)), {}
    for module in (core, reference):
        moments, walk = Moments.zero(len(middles), grid), Walk(module, rows)
        view = module.Sums(moments.hi, moments.lo, grid.origin, grid.up, grid.scale, grid.limb)
        for shift in (0.0, 0.3, 0.31):
            book = module.Codebook32(middles + shift, np.zeros(6), like=walk.panels)
            if walk.panels is None:
                walk.panels = module.pack_panels(book, rows, walk.labels)
            walk.panels.follow(book)
            walk.scan(book, rows, walk.labels, sums=view, **keywords)
        sums[module] = moments.hi.tobytes() + moments.lo.tobytes()
    assert sums[core] == sums[reference]


def test_what_does_not_fit_is_refused(core):
    rows, middles = groups(n=100)
    book = core.Codebook32(middles, np.zeros(6))
    panels = core.pack_panels(book, rows, np.full(100, -1, np.int32))
    labels = np.full(99, -1, np.int32)
    if core is reference:
        pytest.skip("the twin is given what fits")
    panels.follow(book)
    with pytest.raises(ValueError, match="other rows"):
        core.assign_panels(book, panels, rows[:99], labels, 0, 1)
    narrow = np.ascontiguousarray(rows[:, :2])
    with pytest.raises(ValueError, match="other rows"):
        core.assign_panels(book, panels, narrow, np.full(100, -1, np.int32), 0, 1)
    with pytest.raises(ValueError, match="other rows"):
        core.sort_panels(book, panels, narrow)
    labels = np.full(100, -1, np.int32)
    with pytest.raises(ValueError, match="fewer panels"):
        core.assign_panels(book, panels, rows, labels, 0, 100)
    fewer = core.Codebook32(middles[:4], np.zeros(6))
    with pytest.raises(ValueError, match="packed for these centers"):
        core.assign_panels(fewer, panels, rows, labels, 0, 1)
    with pytest.raises(ValueError, match="packed for these centers"):
        panels.follow(fewer)
    moved = core.Codebook32(middles + 0.1, np.zeros(6), like=panels)
    with pytest.raises(ValueError, match="must follow"):
        core.assign_panels(moved, panels, rows, labels, 0, 1)
    with pytest.raises(ValueError, match="outside"):
        core.pack_panels(book, rows, np.full(100, 50, np.int32))


def test_centers_in_other_groups_are_refused(core):
    rows, middles = groups(n=100)
    walk = Walk(core, rows, tile=3)
    walk.to(middles)
    ungrouped = core.Codebook32(middles, np.zeros(6), like=walk.panels)
    members = np.roll(walk.groups.members, 1)
    other = core.Codebook32(middles, np.zeros(6), members, walk.groups.sizes, like=walk.panels)
    for book in (ungrouped, other):
        assert not walk.panels.fit(book)
        if core is not reference:
            with pytest.raises(ValueError, match="packed for these centers"):
                core.assign_panels(book, walk.panels, rows, walk.labels, 0, 1)
