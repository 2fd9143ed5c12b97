"""The pruned kernels give their twin's labels, and bounds that hold, on every instruction set."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.bounded_passes import check, plain_labels, wander
from helpers.cases import adversaries, problems
from hypothesis import given
from hypothesis import strategies as st

from partita._kernels import reference
from partita._kernels.pruned_passes import bounds_stride
from partita.centers import Centers
from partita.engine.paths.bounds_path import RowBounds
from partita.engine.paths.center_groups import CenterGroups
from partita.engine.paths.prefix_filter import main_axes, shorten

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]


def book_of(core, centers, origin, groups):
    return core.Codebook32(centers, origin, groups.members, groups.sizes)


@pytest.fixture
def walk(core, monkeypatch):
    """Bounded passes to one set of centers after the other; labels and bounds are looked at."""
    monkeypatch.setattr("partita.engine.paths.bounds_path.kernels", core)

    def run(rows, path, *, most, geometry, length=0):
        origin = path[0].origin
        labels = plain_labels(rows, path[0].values, origin)
        distance = np.sqrt(reference.d64(rows, path[0].values, origin))
        typical = float(np.median(distance.min(axis=1))) or 1.0
        basis = main_axes(rows.astype(float) - origin, length) if length else None
        groups = CenterGroups.around(path[0].values, most)
        blurred = SimpleNamespace(blur=1e-6) if length else None  # what the bounds ask a prefix for
        bounds = RowBounds(len(rows), path[0], groups, typical / 1024, geometry, blurred)
        for step, at in enumerate(path):
            motion = bounds.follow(at, labels)
            given_rows = {}
            if basis is None:
                book = book_of(core, at.values, origin, groups)
            else:
                short = shorten(at.values, basis)
                book = book_of(core, short, np.zeros(length + 1), groups)
                y = rows.astype(float) - origin
                given_rows["filter_rows"] = shorten(y, basis).astype(np.float32)
            before = labels.copy()
            counts = core.assign_bounded(
                book, core.ExactCenters(at.values, origin), rows, labels, bounds.upper,
                bounds.other, bounds.lower, motion, step == 0, **given_rows,
            )  # fmt: skip
            np.testing.assert_array_equal(labels, plain_labels(rows, at.values, origin))
            assert counts[0] == (labels != before).sum()
            check(bounds, motion, typical / 1024, rows, at, labels)

    return run


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
@pytest.mark.parametrize("geometry", [False, True])
def test_bounds_on_adversaries(walk, dtype, name, geometry):
    rows, start = adversaries(dtype)[name]
    if name == "fill value at 1e37":
        pytest.skip("a fit takes the plain pass there: distances are too small for the data")
    origin = np.zeros(rows.shape[1])
    size = float(np.median(np.abs(rows))) / 4
    walk(rows, wander(start, origin, 5, 0, size), most=32, geometry=geometry)


@pytest.mark.parametrize("growth", [3.0, 30.0, 3e4])
@pytest.mark.parametrize("geometry", [False, True])
def test_centers_that_go_farther_than_bounds_can_count(walk, growth, geometry):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(400, 6))
    there = wander(rows[:60], np.zeros(6), 6, 4, 0.2, growth)
    walk(rows, there + there[::-1], most=32, geometry=geometry)


@pytest.mark.heavy
@given(problem=problems(), most=st.sampled_from([1, 3, 32]), seed=st.integers(0, 99))
def test_bounds_on_problems_full_of_ties(walk, problem, most, seed):
    rows, start = problem
    if np.median(np.abs(rows)) == 0:
        return
    walk(
        rows,
        wander(start, np.zeros(rows.shape[1]), 4, seed, 0.3),
        most=most,
        geometry=seed % 2 == 0,
    )


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 13, 29, 100, 500])
@pytest.mark.parametrize("d", [1, 7, 16, 130])
def test_bounds_for_any_shape(walk, dtype, k, d):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(203, d)).astype(dtype)
    path = wander(rng.normal(size=(k, d)), np.full(d, 0.25), 4, 1, 0.2)
    walk(rows, path, most=32, geometry=d < 20)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("most", [1, 3, 32])
def test_more_candidates_than_a_panel_stores(walk, dtype, most):
    rng = np.random.default_rng(most)
    rows = rng.normal(size=(150, 5)).astype(dtype)
    close = 3 + 1e-9 * rng.normal(size=(300, 5))  # closer than float32 scores tell
    walk(rows, wander(close, np.zeros(5), 5, 3, 1e-9), most=most, geometry=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [1, 4, 9])
def test_a_prefix_as_the_filter(walk, dtype, length):
    rng = np.random.default_rng(length)
    rows = (rng.normal(size=(500, 40)) * np.geomspace(3, 0.1, 40)).astype(dtype)
    walk(rows, wander(rows[:80], np.zeros(40), 4, 2, 0.1), most=32, geometry=False, length=length)


# --- leaves ---------------------------------------------------------------------------------------


def leaf_labels(core, rows, path, scale=1.0):
    origin = path[0].origin
    leaves = core.build_tree(rows, origin, scale)
    assert sorted(leaves.order.tolist()) == list(range(len(rows)))
    labels, before = np.full(len(rows), -1, np.int32), None
    for at in path:
        moved = np.ones(len(at.values), np.uint8)
        if before is not None:
            moved = (at.values != before).any(axis=1).astype(np.uint8)
        before = at.values
        core.assign_leaves(
            leaves, 0, leaves.nodes, core.TreeCodebook(at.values, scale, moved),
            core.ExactCenters(at.values, origin), rows, labels,
        )  # fmt: skip
        out = np.empty_like(labels)
        out[leaves.order] = labels
        np.testing.assert_array_equal(out, plain_labels(rows, at.values, origin))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_leaves_on_adversaries(core, dtype, name):
    rows, start = adversaries(dtype)[name]
    size = float(np.median(np.abs(rows))) / 4
    for origin in (np.zeros(rows.shape[1]), np.median(rows, axis=0).astype(float)):
        leaf_labels(core, rows, wander(start, origin, 4, 0, size), 2.0**-3)


@given(problem=problems(max_n=200), seed=st.integers(0, 99))
def test_leaves_on_problems_full_of_ties(core, problem, seed):
    rows, start = problem
    leaf_labels(core, rows, wander(start, np.zeros(rows.shape[1]), 4, seed, 0.3))


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("k", [1, 9, 200])
def test_leaves_for_any_shape(core, d, k):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(5000, d))
    leaf_labels(core, rows, wander(rng.normal(size=(k, d)), np.zeros(d), 6, 3, 0.2))


def test_rows_that_are_all_the_same_are_one_leaf(core):
    leaf_labels(core, np.ones((3000, 2)), wander(np.eye(2), np.zeros(2), 3, 0, 0.1))


# --- float32 scores for doubles, and what must not be read ----------------------------------------


@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_float32_scores_give_the_labels_of_doubles(core, name):
    rows, start = adversaries(np.float64)[name]
    for origin in (np.zeros(rows.shape[1]), rows[0]):
        centers = np.ascontiguousarray(start - origin)
        labels = np.full(len(rows), -1, np.int32)
        core.assign(core.Codebook32(centers, origin), rows, labels)
        np.testing.assert_array_equal(labels, plain_labels(rows, centers, origin))


def test_bad_groups_labels_and_memories_are_errors(core):
    rows, zero = np.zeros((40, 2)), np.zeros(2)
    centers = np.arange(6.0).reshape(3, 2)
    members, sizes = np.array([2, 0, 1], np.int32), np.array([1, 2], np.int32)
    for bad in ([0, 0, 1], [0, 1, 3], [0, 1, -1]):
        with pytest.raises(ValueError, match="each once"):
            core.Codebook32(centers, zero, np.array(bad, np.int32), sizes)
    for bad in ([3, 0], [1, 1], [4]):
        with pytest.raises(ValueError, match="group"):
            core.Codebook32(centers, zero, members, np.array(bad, np.int32))
    with pytest.raises(ValueError, match="without groups"):
        core.assign(core.Codebook32(centers, zero, members, sizes), rows, np.zeros(40, np.int32))
    leaves = core.build_tree(rows, zero, 1.0)
    book = core.TreeCodebook(centers, 1.0, np.ones(3, np.uint8))
    target = core.ExactCenters(centers, zero)
    with pytest.raises(ValueError, match="out of range"):
        core.assign_leaves(leaves, 0, 99, book, target, rows, np.zeros(40, np.int32))
    with pytest.raises(ValueError, match="outside"):
        core.assign_leaves(leaves, 0, 1, book, target, rows, np.full(40, 3, np.int32))
    with pytest.raises(ValueError, match="do not fit"):
        core.assign_leaves(leaves, 0, 1, book, target, rows[:9], np.zeros(9, np.int32))
    rows = rows + 4.0  # nearest to center 2, which the leaf remembers
    leaves = core.build_tree(rows, zero, 1.0)
    core.assign_leaves(leaves, 0, 1, book, target, rows, np.zeros(40, np.int32))
    few = core.TreeCodebook(centers[2:], 1.0, np.ones(1, np.uint8))
    labels = np.zeros(40, np.int32)
    with pytest.raises(ValueError, match="forget"):
        core.assign_leaves(leaves, 0, 1, few, core.ExactCenters(centers[2:], zero), rows, labels)
    leaves.forget()
    core.assign_leaves(leaves, 0, 1, few, core.ExactCenters(centers[2:], zero), rows, labels)
    assert (labels == 0).all()


@pytest.mark.parametrize("geometry", [False, True])
@pytest.mark.parametrize("size", [1e-3, 3.0, 300.0, 1e9])
def test_motion_is_what_its_twin_says(core, geometry, size):
    rng = np.random.default_rng(3)
    centers, zero = rng.normal(size=(70, 6)), np.zeros(6)
    groups = CenterGroups.around(centers)
    labels = rng.integers(0, 70, 500).astype(np.int32)
    books = []
    for use in (core, reference):
        motion = use.Motion(groups.members, groups.sizes, centers, zero, 0.01, 0.0, geometry)
        upper, other = np.arange(500, dtype=np.int32), np.full(500, 40_000, np.uint16)
        lower = np.full((500, bounds_stride(len(groups.sizes))), 50_000, np.uint16)
        books.append((motion, upper, other, lower))
    for _ in range(4):
        centers = centers + rng.normal(size=centers.shape) * size * (rng.random((70, 1)) < 0.4)
        for motion, *bounds in books:
            motion.follow(centers, zero, labels, *bounds)
        (ours, *bounds), (theirs, *others) = books
        np.testing.assert_allclose(ours.center_travel, theirs.center_travel, rtol=1e-12)
        np.testing.assert_allclose(ours.group_travel, theirs.group_travel, rtol=1e-12)
        np.testing.assert_allclose(ours.total_travel, theirs.total_travel, rtol=1e-12)
        for a, b in zip(bounds, others, strict=True):
            np.testing.assert_allclose(a.astype(float), b.astype(float), atol=1)


def test_motion_of_other_centers_is_refused(core):
    rows, centers, zero = np.zeros((40, 2)), np.arange(6.0).reshape(3, 2), np.zeros(2)
    groups = CenterGroups.around(centers, 1)
    few = CenterGroups.around(centers[:2], 1)
    motion = core.Motion(few.members, few.sizes, centers[:2].copy(), zero, 1.0, 0.0, False)
    labels = np.zeros(40, np.int32)
    bounds = np.zeros(40, np.int32), np.zeros(40, np.uint16), np.zeros((40, 1), np.uint16)
    if core is not reference:
        with pytest.raises(ValueError, match="other centers"):
            core.assign_bounded(
                book_of(core, centers, zero, groups), core.ExactCenters(centers, zero), rows,
                labels, *bounds, motion, True,
            )  # fmt: skip
    with pytest.raises(ValueError, match=r"\(k, d\)|broadcast"):
        motion.follow(centers, zero, labels, *bounds)


def test_what_is_written_may_not_be_what_is_read(core):
    rows, centers, zero = np.zeros((40, 2)), np.arange(6.0).reshape(3, 2), np.zeros(2)
    groups = CenterGroups.around(centers, 1)
    bounds = RowBounds(40, Centers(centers, zero), groups, 1.0, False)
    labels = np.zeros(40, np.int32)
    motion = bounds.follow(Centers(centers, zero), labels)
    with pytest.raises(ValueError, match="of their own"):
        core.assign_bounded(
            book_of(core, centers, zero, groups), core.ExactCenters(centers, zero), rows, labels,
            labels, bounds.other, bounds.lower, motion, True,
        )  # fmt: skip
