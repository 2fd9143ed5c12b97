"""Every kernel equals its NumPy twin, for every instruction set this machine has."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.cases import adversaries, problems, sums_of
from hypothesis import given
from hypothesis import strategies as st

from partita._common.exact_sum import rounded_total
from partita._kernels import kernels, reference
from partita.exact_weights import Weights
from partita.moments import Grid, Moments

pytestmark = [pytest.mark.compiled, pytest.mark.sanitize]
FLOATS = [np.float32, np.float64]


def book_for(module, dtype, centers, origin):
    make = module.Codebook32 if dtype == np.float32 else module.Codebook64
    return make(np.ascontiguousarray(centers, dtype=np.float64), origin)


def grid_for(rows, weights, origin=None):
    low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
    return Grid.of_extent(low, high, low if origin is None else origin, weights)


def weights_of(kind, n):
    rng = np.random.default_rng(3)
    given_weights = {
        "none": None,
        "whole": rng.integers(0, 5, n).astype(float) + (np.arange(n) == 0),
        "real": rng.random(n) + 0.01,
    }
    return Weights.of(given_weights[kind], n)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_labels_are_those_of_the_twin_on_adversaries(core, dtype, name):
    rows, start = adversaries(dtype)[name]
    for origin in (np.zeros(rows.shape[1]), rows[0].astype(float)):
        centers = start.astype(float) - origin
        ours, twin = np.full(len(rows), -1, np.int32), np.full(len(rows), -1, np.int32)
        core.assign(book_for(core, dtype, centers, origin), rows, ours)
        reference.assign(reference.Codebook(centers, origin), rows, twin)
        np.testing.assert_array_equal(ours, twin)


@given(problem=problems())
def test_labels_are_those_of_the_twin(core, problem):
    rows, start = problem
    origin = np.zeros(rows.shape[1])
    centers = start.astype(np.float64)
    ours, twin = np.full(len(rows), -1, np.int32), np.full(len(rows), -1, np.int32)
    core.assign(book_for(core, rows.dtype, centers, origin), rows, ours)
    reference.assign(reference.Codebook(centers, origin), rows, twin)
    np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("k", [1, 2, 3, 5, 6, 7, 13, 14, 15, 28, 29, 100, 701])
def test_labels_are_those_of_the_twin_for_any_number_of_centers(core, dtype, k):
    rng = np.random.default_rng(k)
    rows = rng.normal(size=(777, 7)).astype(dtype)
    centers, origin = rng.normal(size=(k, 7)), np.zeros(7)
    ours, twin = np.full(777, -1, np.int32), np.full(777, -1, np.int32)
    moved, _ = core.assign(book_for(core, dtype, centers, origin), rows, ours)
    reference.assign(reference.Codebook(centers, origin), rows, twin)
    np.testing.assert_array_equal(ours, twin)
    assert moved == 777


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 15, 16, 17, 63, 64, 65, 129, 1000])
def test_labels_are_those_of_the_twin_for_any_number_of_features(core, dtype, d):
    rng = np.random.default_rng(d)
    rows = rng.normal(size=(133, d)).astype(dtype)
    centers, origin = rng.normal(size=(19, d)), np.zeros(d)
    ours, twin = np.full(133, -1, np.int32), np.full(133, -1, np.int32)
    core.assign(book_for(core, dtype, centers, origin), rows, ours)
    reference.assign(reference.Codebook(centers, origin), rows, twin)
    np.testing.assert_array_equal(ours, twin)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_rows_that_were_kept_give_the_same_labels(core, dtype, threads, name):
    """Packed for one set of centers, they serve another, about another origin."""
    rows, start = adversaries(dtype)[name]
    rows = np.tile(rows, (3, 1))
    zero, origin, crew = np.zeros(rows.shape[1]), rows[0].astype(float), core.Crew(threads)
    kept = core.keep_rows(core.Codebook32(start.astype(float), zero), rows, crew)
    for centers in (start.astype(float) - origin, (start[::-1] * 1.5).astype(float) - origin):
        ours, twin = np.full(len(rows), -1, np.int32), np.full(len(rows), -1, np.int32)
        book = core.Codebook32(centers, origin, like=kept)
        core.assign(book, rows, ours, crew=crew, kept=kept)
        reference.assign(reference.Codebook(centers, origin), rows, twin)
        np.testing.assert_array_equal(ours, twin)
        ours[64:] = -1
        core.assign(book, rows[64:], ours[64:], kept=kept, at=64)
        np.testing.assert_array_equal(ours, twin)


def test_rows_of_another_size_were_not_kept(core):
    if core is reference:
        pytest.skip("NumPy text keeps nothing")
    rows, zero = np.random.default_rng(0).normal(size=(100, 3)), np.zeros(3)
    kept = core.keep_rows(core.Codebook32(rows[:4], zero), rows)
    book = core.Codebook32(rows[:4], zero, like=kept)
    more, labels = np.vstack([rows, rows]), np.full(200, -1, np.int32)
    for at in (0, 32, 7, 1 << 40):
        with pytest.raises(ValueError, match="other rows were kept"):
            core.assign(book, more, labels, kept=kept, at=at)
    with pytest.raises(ValueError, match="another number of features"):
        core.Codebook32(rows[:4, :2].copy(), np.zeros(2), like=kept)


@pytest.mark.heavy
@pytest.mark.parametrize("dtype", FLOATS)
def test_center_panels_beyond_the_cache_change_nothing(core, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(70, 256)).astype(dtype)
    centers, origin = rng.normal(size=(1500, 256)), np.zeros(256)
    ours, twin = np.full(70, -1, np.int32), np.full(70, -1, np.int32)
    core.assign(book_for(core, dtype, centers, origin), rows, ours)
    reference.assign(reference.Codebook(centers, origin), rows, twin)
    np.testing.assert_array_equal(ours, twin)


def test_one_far_outlier_does_not_send_every_row_to_the_recheck(core):
    rows, start = adversaries(np.float32)["outlier at 1e8"]
    start = np.vstack([start, rows[17]])
    labels = np.full(len(rows), -1, np.int32)
    book = book_for(core, np.float32, start, np.zeros(rows.shape[1]))
    _, rechecked = core.assign(book, rows, labels)
    assert rechecked < len(rows) / 10


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_sums_have_the_bits_of_the_twin(core, dtype, kind, name):
    rows, start = adversaries(dtype)[name]
    weights = weights_of(kind, len(rows))
    grid = grid_for(rows, weights)
    centers = start.astype(float) - grid.origin
    ours, twin = Moments.zero(len(start), grid), Moments.zero(len(start), grid)
    a, b = np.full(len(rows), -1, np.int32), np.full(len(rows), -1, np.int32)
    keywords = weights.kernel_arguments(slice(None))
    book = book_for(core, dtype, centers, grid.origin)
    plain = reference.Codebook(centers, grid.origin)
    for _ in range(3):  # the second and third pass are corrections
        core.assign(book, rows, a, sums_of(core, ours), **keywords)
        reference.assign(plain, rows, b, sums_of(reference, twin), **keywords)
        np.testing.assert_array_equal(ours.hi, twin.hi)
        np.testing.assert_array_equal(ours.lo, twin.lo)
        centers = np.roll(centers, 1, axis=0) * 1.01
        book = book_for(core, dtype, centers, grid.origin)
        plain = reference.Codebook(centers, grid.origin)


@given(problem=problems(), cut=st.integers(0, 60))
def test_corrected_sums_equal_sums_from_scratch(core, problem, cut):
    rows, start = problem
    k, grid = len(start), grid_for(rows, Weights.of(None, len(rows)))
    rng = np.random.default_rng(cut)
    before = rng.integers(0, k, len(rows)).astype(np.int32)
    after = rng.integers(0, k, len(rows)).astype(np.int32)
    nowhere = np.full(len(rows), -1, np.int32)
    corrected, fresh = Moments.zero(k, grid), Moments.zero(k, grid)
    for part in (slice(0, cut), slice(cut, None)):
        core.move_rows(sums_of(core, corrected), rows[part], nowhere[part], before[part])
    core.move_rows(sums_of(core, corrected), rows, before, after)
    core.move_rows(sums_of(core, fresh), rows, nowhere, after)
    np.testing.assert_array_equal(corrected.hi, fresh.hi)
    np.testing.assert_array_equal(corrected.lo, fresh.lo)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["none", "whole", "real"])
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_summaries_have_the_bits_of_the_twin(core, dtype, kind, name):
    rows, start = adversaries(dtype)[name]
    k, weights = len(start) + 1, weights_of(kind, len(rows))  # one cluster stays empty
    grid = grid_for(rows, weights)
    labels = np.random.default_rng(1).integers(0, k - 1, len(rows)).astype(np.int32)
    centers = rows[:k].astype(np.float64) - grid.origin
    moments = Moments.zero(k, grid)
    nowhere = np.full(len(rows), -1, np.int32)
    core.move_rows(
        sums_of(core, moments), rows, nowhere, labels, **weights.kernel_arguments(slice(None))
    )
    found = []
    for module in (core, reference):
        weight, sse, gap = np.empty((3, k))
        mean = np.empty((k, rows.shape[1]))
        module.summarise(sums_of(module, moments), grid.unit, centers, weight, mean, sse, gap)
        found.append(weight.tobytes() + mean.tobytes() + sse.tobytes() + gap.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", list(adversaries(np.float64)))
def test_summaries_are_right_to_the_last_digits(dtype, name):
    rows, _ = adversaries(dtype)[name]
    moments = Moments.zero(1, grid_for(rows, Weights.of(None, len(rows))))
    labels = np.zeros(len(rows), np.int32)
    kernels.move_rows(moments.sums, rows, np.full(len(rows), -1, np.int32), labels)
    stats = moments.stats()
    x = rows.astype(np.longdouble)
    mean = x.mean(axis=0)
    sse = float(((x - mean) ** 2).sum())
    if name == "fill value at 1e37":
        pytest.skip("no grid holds it: a fit uses long sums there")
    np.testing.assert_allclose(stats.mean[0] + moments.grid.origin, mean.astype(float), rtol=1e-13,
                               atol=1e-13 * float(np.abs(x).max()))  # fmt: skip
    assert math.isclose(stats.sse[0], sse, rel_tol=1e-12)


@given(problem=problems())
def test_distances_have_the_bits_of_the_twin(core, problem):
    rows, start = problem
    centers = start.astype(np.float64)
    labels = (np.arange(len(rows)) % len(start)).astype(np.int32)
    ours, twin = np.empty(len(rows)), np.empty(len(rows))
    origin = centers.mean(axis=0)
    core.own_distance(rows, centers - origin, origin, labels, ours)
    reference.own_distance(rows, centers - origin, origin, labels, twin)
    assert ours.tobytes() == twin.tobytes()
    full, expected = np.empty((len(rows), len(start))), np.empty((len(rows), len(start)))
    core.distances(rows, centers, full)
    reference.distances(rows, centers, expected)
    assert full.tobytes() == expected.tobytes()
    core.squares(rows, centers - origin, origin, full)
    reference.squares(rows, centers - origin, origin, expected)
    assert full.tobytes() == expected.tobytes()
    assert full[np.arange(len(rows)), labels].tobytes() == ours.tobytes()
    few, some = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
    core.assign_few(rows, centers, few)
    reference.assign_few(rows, centers, some)
    np.testing.assert_array_equal(few, some)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [1, 3, 8, 15, 130])
@pytest.mark.parametrize("n", [1, 7, 300, 2000])
def test_extents_of_parts_are_those_of_all_rows(core, dtype, n, d):
    rows = np.random.default_rng(n * d).normal(size=(n, d)).astype(dtype)
    low, high, taint = np.full(d, np.inf, dtype), np.full(d, -np.inf, dtype), np.zeros(d, dtype)
    core.extent(rows, low, high, taint, None, core.Crew(3))
    assert (low == rows.min(axis=0)).all()
    assert (high == rows.max(axis=0)).all()
    assert not np.isnan(taint).any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("odd", [0.5, -0.25, np.nan, np.inf, 2.0**20 + 1, 2.0**20, -7.0, 1e300])
@pytest.mark.parametrize("shape", [(1, 1), (30, 5), (700, 3)])
def test_whole_numbers_are_told_from_others(core, dtype, odd, shape):
    rows = np.random.default_rng(0).integers(-9, 2**20, shape).astype(dtype)
    assert core.are_whole(rows)
    assert reference.are_whole(rows)
    with np.errstate(over="ignore"):
        rows[-1, shape[1] // 2] = odd
    assert core.are_whole(rows) == reference.are_whole(rows) == (odd in (2.0**20, -7.0))


@given(seed=st.integers(0, 10_000), n=st.sampled_from([1, 2, 5, 64, 501]), single=st.booleans())
def test_crowded_features_are_those_of_the_twin(core, seed, n, single):
    rng = np.random.default_rng(seed)
    far = np.where(rng.random(n) < rng.random(), 0.0, 10.0 ** rng.integers(-300, 300))
    columns = [
        rng.normal(size=n),
        np.full(n, 3.0),
        rng.normal(size=n) + far,
        (rng.random(n) < 0.7) * far,
        rng.integers(0, 3, n) * 1e-7 + far,
        np.where(rng.random(n) < 0.5, rng.normal(size=n) * 1e-7, 1.0),
        far * 1e-300,
    ]
    with np.errstate(over="ignore"):
        rows = np.nan_to_num(np.column_stack(columns).astype(np.float32 if single else float))
    low, high = rows.min(axis=0).astype(float), rows.max(axis=0).astype(float)
    with np.errstate(over="ignore"):
        extent = np.minimum(high - low, 1e307)
    outs = []
    for module, crew in ((core, None), (core, core.Crew(2)), (reference, None)):
        outs.append(np.full(rows.shape[1], 9, np.uint8))
        module.crowded_features(rows, low, extent, extent * 2.0**-20, outs[-1], crew)
    np.testing.assert_array_equal(outs[0], outs[2])
    np.testing.assert_array_equal(outs[1], outs[2])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 511, 3000])
def test_own_costs_are_those_of_the_twin(core, dtype, weighted, n):
    rng = np.random.default_rng(n)
    rows, centers = rng.normal(size=(n, 5)).astype(dtype), rng.normal(size=(4, 5))
    labels, weight = rng.integers(0, 4, n).astype(np.int32), rng.random(n) if weighted else None
    origin, digits = rng.normal(size=5), np.zeros((3, 1, 136), np.int64)
    for module, out in zip((core, core, reference), digits, strict=True):
        crew = core.Crew(2) if out is digits[1] else None
        assert module.own_cost(rows, centers, origin, labels, out, weight, crew)
    for part in digits[:2]:
        assert rounded_total([part]) == rounded_total([digits[2]])
    if n:
        centers[labels[-1]] = 1e200
        for module in (core, reference):
            assert not module.own_cost(rows, centers, origin, labels, digits[0], weight)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [1, 3, 8, 15, 16, 20, 37, 130, 519])
@pytest.mark.parametrize("k", [1, 7, 300])
def test_sums_of_a_first_pass_have_the_bits_of_the_twin(core, dtype, d, k):
    rng = np.random.default_rng(d)
    rows, weights = rng.normal(size=(3000, d)).astype(dtype), Weights.of(None, 3000)
    centers, found = rng.normal(size=(k, d)), []
    for module in (core, reference):
        moments = Moments.zero(k, grid_for(rows, weights))
        parts = moments.hi, moments.lo, moments.grid.origin, moments.grid.up
        sums = module.Sums(*parts, moments.grid.scale, moments.grid.limb)
        labels = np.full(3000, -1, np.int32)
        labels[1::5] = 0  # not all rows join
        book = book_for(module, dtype, centers, np.zeros(d))
        module.assign(book, rows, labels, sums, crew=module.Crew(3))
        found.append((labels, moments.hi, moments.lo))
    for ours, twin in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, twin)


FIVE_LOWS = st.lists(st.floats(-1e300, 1e300), min_size=5, max_size=5)
FIVE_EXTENTS = st.lists(st.floats(0, 1e300), min_size=5, max_size=5)


@given(FIVE_LOWS, FIVE_EXTENTS, st.floats(0, 1), st.integers(0, 50), st.booleans())
def test_the_steps_of_a_grid_are_those_of_the_twin(lows, extents, share, bits, whole):
    low, extent = np.array(lows), np.array(extents)
    args = low, low + extent, low + share * extent, 2.0**bits, whole
    ups = np.empty((2, 7))
    scales = [one.grid_steps(*args, up) for one, up in zip((kernels, reference), ups, strict=True)]
    assert scales[0] == scales[1]
    np.testing.assert_array_equal(ups[0], ups[1])
    reach = np.maximum(args[1] - args[2], args[2] - args[0]) * scales[0]
    assert reach.max() <= 1
    assert (reach * ups[0, :5] <= args[3]).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_extent_equals_the_twin_and_taints_what_is_not_finite(core, dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 6)).astype(dtype)
    rows[3, 1], rows[4, 2], rows[5, 5] = np.nan, np.inf, -np.inf
    weight = (np.arange(50) % 3).astype(float)
    for module in (core, reference):
        low, high = np.full(6, np.inf, dtype), np.full(6, -np.inf, dtype)
        taint = np.zeros(6, dtype)
        module.extent(rows, low, high, taint, weight)
        assert np.isnan(taint).tolist() == [False, True, True, False, False, True]
        counted = rows[weight > 0]
        fine = [0, 3, 4]
        np.testing.assert_array_equal(low[fine], counted.min(axis=0)[fine])
        np.testing.assert_array_equal(high[fine], counted.max(axis=0)[fine])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5, 1000])
def test_counts_beyond_cuts_equal_their_twin(core, dtype, weighted, n):
    rng = np.random.default_rng(n)
    rows = rng.integers(-3, 4, (n, 37)).astype(dtype)
    rows[:, ::3] *= dtype(0.1)
    cuts = np.vstack([rng.integers(-3, 4, (3, 37)), np.full(37, np.inf)]).astype(dtype)
    times = rng.integers(0, 2**40, n) if weighted else None
    ours, twin = np.zeros((4, 37), np.int64), np.zeros((4, 37), np.int64)
    core.count_beyond(rows, cuts, ours, times, core.Crew(3))
    reference.count_beyond(rows, cuts, twin, times)
    np.testing.assert_array_equal(ours, twin)
    assert (ours[3] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("d", [1, 3, 37, 100, 519])
@pytest.mark.parametrize("kind", ["equal", "times", "weight"])
def test_a_total_equals_its_twin(core, dtype, d, kind):
    rng = np.random.default_rng(d)
    for n in (1, 70, 5000):
        rows = rng.normal(size=(n, d)).astype(dtype)
        weight = {"times": rng.integers(1, 5, n), "weight": rng.random(n)}.get(kind)
        weights = Weights.of(weight, n)
        cuts = np.sort(rng.normal(size=(4, d)), axis=0).astype(dtype)
        results = []
        for module in (core, reference):
            moments = Moments.zero(1, grid_for(rows, weights))
            parts = moments.hi, moments.lo, moments.grid.origin, moments.grid.up
            sums = module.Sums(*parts, moments.grid.scale, moments.grid.limb)
            counts = np.zeros((4, d), np.int64)
            arguments = weights.kernel_arguments(slice(None))
            crew = module.Crew(3)
            module.total_rows(sums, rows, cuts, counts, weights.counts(), **arguments, crew=crew)
            results.append((moments.hi, moments.lo, counts))
        for ours, twin in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, twin)


@given(
    terms=st.lists(
        st.tuples(*[st.floats(allow_nan=False, allow_infinity=False)] * 2, st.integers(0, 2)),
        max_size=40,
    ),
    has_weight=st.booleans(),
)
def test_exact_sums_are_exact(core, terms, has_weight):
    values, weight, labels = (np.array([term[i] for term in terms]) for i in range(3))
    arguments = values.astype(np.float64), np.zeros((3, reference.DIGITS), np.int64)
    optional = weight.astype(np.float64) if has_weight else None, labels.astype(np.int32)
    expected = [Fraction(0)] * 3
    for value, times, label in terms:
        expected[label] += Fraction(value) * (Fraction(times) if has_weight else 1)
    for module in (core, reference):
        arguments[1][:] = 0
        module.exact_sum(*arguments, *optional)
        wholes = [sum(int(x) << (32 * i) for i, x in enumerate(row)) for row in arguments[1]]
        assert [Fraction(whole, 1 << reference.POINT) for whole in wholes] == expected


def test_exact_sums_check_their_arguments(core):
    values, digits = np.ones(3), np.zeros((2, reference.DIGITS), np.int64)
    with pytest.raises(ValueError, match="shapes"):
        core.exact_sum(values, digits)  # two sums, but no labels
    with pytest.raises(ValueError, match="shapes"):
        core.exact_sum(values, digits[:1], np.ones(2))
    with pytest.raises(ValueError, match="labels"):
        core.exact_sum(values, digits, None, np.array([0, 1, 2], np.int32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_one_far_center_does_not_blur_the_others(core, dtype):
    far = 1e200 if dtype == np.float64 else 1e30
    centers = np.array([[far], [0.0], [1.0], [1.0 + 1e-6]])
    rows = np.array([[0.0], [1.0], [0.4], [far], [2.0]], dtype=dtype)
    labels = np.full(5, -1, np.int32)
    core.assign(book_for(core, dtype, centers, np.zeros(1)), rows, labels)
    assert labels.tolist() == [1, 2, 1, 0, 3]


def test_a_codebook_is_read_by_the_kernels_it_was_packed_for(core):
    rng = np.random.default_rng(0)
    rows, centers = rng.normal(size=(300, 9)), rng.normal(size=(40, 9))
    book = book_for(core, np.float64, centers, np.zeros(9))
    before, labels, other = core.instruction_set(), np.full(300, -1, np.int32), None
    core.assign(book, rows, labels)
    for name in core.instruction_sets():
        core.use_instruction_set(name)
        other = np.full(300, -1, np.int32)
        core.assign(book, rows, other)
        np.testing.assert_array_equal(labels, other)
    core.use_instruction_set(before)


def test_wrong_shapes_and_labels_are_errors_not_crashes(core):
    rows, centers, origin = np.zeros((5, 3)), np.zeros((2, 3)), np.zeros(3)
    book = book_for(core, np.float64, centers, origin)
    with pytest.raises(ValueError, match="features"):
        core.assign(book, np.zeros((5, 4)), np.full(5, -1, np.int32))
    with pytest.raises(ValueError, match="one per row"):
        core.assign(book, rows, np.full(4, -1, np.int32))
    with pytest.raises(ValueError, match="outside"):
        core.assign(book, rows, np.full(5, 2, np.int32))
    with pytest.raises(ValueError, match="outside"):
        core.own_distance(rows, centers, origin, np.full(5, -1, np.int32), np.empty(5))
    start, column = np.array([0, 1]), np.array([3], np.int32)
    with pytest.raises(ValueError, match="column index"):
        core.Csr64(start, column, np.array([1.0]), 3)
    with pytest.raises(ValueError, match="not available"):
        core.use_instruction_set("avx1024")
