"""Passes over panels of one label compare all centers that may be nearer, however centers move."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import adversaries, labels_by_d64
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import kernels, reference

pytestmark = pytest.mark.sanitize
FLOATS = [np.float32, np.float64]
ADVERSARIES = sorted(adversaries(np.float64))


class Walk:
    """A run over panels of one label, whose centers move as a test says."""

    def __init__(self, module, rows):
        self.module, self.rows = module, rows
        self.labels, self.panels, self.counts = None, None, []
        self.is_sorted = False

    def prepare(self, centers, origin, sort):
        """Pack or sort the rows; return the book of the pass, and whether that was done."""
        book = self.module.Codebook32(centers, origin, like=self.panels)
        if self.panels is None or not self.panels.fit(book):
            self.panels, book = None, self.module.Codebook32(centers, origin)
            square = ((self.rows - origin - centers[self.labels]) ** 2).sum(axis=1)
            self.panels = self.module.pack_neighbours(
                book, self.rows, self.labels, square.astype(np.float64)
            )
            return book, True
        if sort or not self.is_sorted:
            self.module.sort_neighbours(book, self.panels, self.rows, self.labels)
            return book, True
        return book, False

    def to(self, centers, origin=None, sort=False, gaps=None):
        """Make a pass; the labels must be those of D64."""
        origin = np.zeros(self.rows.shape[1]) if origin is None else origin
        if self.labels is None:  # of a plain pass before
            self.labels = labels_by_d64(self.rows, centers, origin).astype(np.int32)
        with np.errstate(all="ignore"):
            book, fresh = self.prepare(centers, origin, sort)
        before, middle = self.labels.copy(), self.panels.panels // 2
        self.panels.follow(book, fresh if gaps is None else gaps)
        parts = [
            self.module.assign_neighbours(book, self.panels, self.rows, self.labels, *ends)
            for ends in ((0, middle), (middle, self.panels.panels))
        ]
        counts = [sum(part) for part in zip(*parts, strict=True)]
        np.testing.assert_array_equal(self.labels, labels_by_d64(self.rows, centers, origin))
        assert counts[0] == (before != self.labels).sum()
        self.is_sorted = self.panels.settle(self.labels)
        self.counts.append(counts)

    @property
    def compared(self):
        """Share of the pairs that the last pass compared."""
        return self.counts[-1][2] / (len(self.rows) * self.panels.k)


def groups(n=2000, d=6, k=9, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(k, d)) * 4
    return (middles[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype), middles


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 15, 33, 700])
@pytest.mark.parametrize("d", [1, 5, 33])
@pytest.mark.parametrize("k", [1, 2, 9, 40])
def test_labels_of_a_walk(core, dtype, n, d, k):
    rows, _ = groups(n, d, dtype=dtype)
    rng = np.random.default_rng(n + d + k)
    centers, walk = rng.normal(size=(k, d)) * 4, Walk(core, rows)
    for step, size in enumerate([1.0, 0.3, 0.1, 1e-2, 1e-4, 1e-8, 0.0, 0.5, 0.1, 0.1, 0.1]):
        centers = centers + rng.normal(size=(k, d)) * size
        walk.to(centers, sort=step % 5 == 2, gaps=True if step == 4 else None)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ADVERSARIES)
def test_adversaries(core, name, dtype):
    rows, start = adversaries(dtype)[name]
    centers, rng = start.astype(float), np.random.default_rng(3)
    walk = Walk(core, rows)
    reach = float(np.abs(centers).max()) or 1.0
    for step, size in enumerate((0.0, 1e-3, 1e-9, 1e-15, 0.0)):
        centers = centers + rng.normal(size=centers.shape) * size * reach
        walk.to(centers, sort=step == 3)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("dtype", FLOATS)
def test_ties_that_d64_decides(core, dtype, seed):
    """Rows between centers get their label after their panel, and no bound from the old one."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, (900, 3)).astype(dtype)
    centers, walk = rng.integers(0, 4, (12, 3)).astype(float), Walk(core, rows)
    for step in range(24):
        walk.to(centers, sort=step % 8 == 1)
        moved = rng.random(12) < 0.3
        size = rng.choice([0.5, 0.25, 2.0**-20, 2.0**-45])
        centers[moved] += rng.integers(-1, 2, (moved.sum(), 3)) * size


@pytest.mark.parametrize("dtype", FLOATS)
def test_far_centers_and_rows(core, dtype):
    """Centers whose errors are much larger than those of the others."""
    rows, middles = groups(n=600, dtype=dtype)
    rows[5] *= 1e6
    middles[3] *= 1e6
    walk, rng = Walk(core, rows), np.random.default_rng(1)
    for _ in range(6):
        walk.to(middles)
        middles = middles + rng.normal(size=middles.shape) * 0.05


def test_centers_that_rest_are_compared_with_nothing(core):
    rows, middles = groups()
    walk = Walk(core, rows)
    for _ in range(3):
        walk.to(middles)
    assert walk.counts[0][2] > 0
    assert walk.counts[2][2] < 0.1 * walk.counts[0][2]


def test_sorted_rows_are_compared_with_near_centers(core):
    """Without bounds from passes before: distances between centers are enough."""
    rng = np.random.default_rng(0)
    middles = rng.normal(size=(60, 5)) * 30
    rows = middles[rng.integers(0, 60, 6000)] + rng.normal(size=(6000, 5))
    walk = Walk(core, rows)
    walk.to(middles)
    assert walk.compared < 0.1


def test_one_center_that_moves_is_compared_alone(core):
    rows, middles = groups(n=8000, k=40, d=8)
    walk = Walk(core, rows)
    for _ in range(3):
        walk.to(middles)
    middles[7] += 0.5
    walk.to(middles)
    assert 0 < walk.compared < 0.15


@pytest.mark.parametrize("k", range(2, 24))
def test_lists_of_every_length_leave_nothing_to_d64(core, k):
    """What fills the last tile of a list is no second center at the same distance."""
    rng = np.random.default_rng(k)
    rows, centers = rng.normal(size=(600, 4)), rng.normal(size=(k, 4))
    walk = Walk(core, rows)
    for _ in range(4):
        walk.to(centers.copy(), gaps=False)
        centers += rng.normal(size=(k, 4)) * 0.3
    moved, rechecked = (sum(counts[e] for counts in walk.counts) for e in (0, 1))
    assert rechecked < 0.02 * moved


def test_another_origin_moves_no_center(core):
    rows, middles = groups()
    rows += 1e6
    walk, origin = Walk(core, rows), rows.mean(axis=0)
    for at in (origin, origin * 0, origin):
        walk.to((middles + 1e6) - at, at)


def test_labels_that_change_from_outside_lose_their_bounds(core):
    rows, middles = groups()
    walk = Walk(core, rows)
    for _ in range(2):
        walk.to(middles)
    changed = np.arange(0, len(rows), 100)
    walk.labels[changed] = (walk.labels[changed] + 1) % len(middles)
    walk.is_sorted = walk.panels.relabel(walk.labels)
    walk.to(middles)
    assert walk.counts[-1][0] == len(changed)


def test_rows_are_sorted_again_where_panels_have_no_room(core):
    """All rows go from one center to the other and back."""
    rows = np.random.default_rng(0).normal(size=(400, 2))
    walk = Walk(core, rows)
    for step in range(6):
        far = 100.0 if step % 2 else -100.0
        walk.to(np.array([[0.0, far], [0.0, -far], [1e3, 0.0]]))


@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_the_twin_agrees(n, d, k, seed):
    rng = np.random.default_rng(seed)
    rows, centers = rng.integers(0, 6, (n, d)).astype(float), rng.integers(0, 6, (k, d)) * 1.0
    walks = [Walk(module, rows) for module in (kernels, reference)]
    for _ in range(4):
        for walk in walks:
            walk.to(centers.copy())
        np.testing.assert_array_equal(walks[0].labels, walks[1].labels)
        centers += rng.integers(-1, 2, (k, d)) * rng.choice([0.5, 2.0**-30])
