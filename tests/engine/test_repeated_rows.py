"""A fit over the different rows with the weight of their repeats has the bits of one over all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import KMeans, SphericalKMeans, choose_k
from partita._common.threads import Workers
from partita.engine import repeated_passes
from partita.engine.paths import choice
from partita.estimators.validation import make_source
from partita.source import repeated_rows
from partita.source.repeated_rows import as_bytes, copy_bytes, estimate_distinct, find_distinct

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def merge_after(patch, wait):
    """Merge equal rows after so many passes, however few repeat; never if it is None."""
    patch.setattr(repeated_passes, "passes_before_search", lambda *_: wait)
    for module in (repeated_rows, repeated_passes):
        patch.setattr(module, "MAX_DISTINCT_SHARE", 1.0)


def records(trace):
    return [(p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in trace]


def assert_same(merged, whole):
    for name in ("cluster_centers_", "labels_", "start_"):
        one, other = getattr(merged, name), getattr(whole, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    for one, other in zip(
        (merged.stats_.weight, merged.stats_.mean, merged.stats_.sse),
        (whole.stats_.weight, whole.stats_.mean, whole.stats_.sse),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    assert merged.inertia_ == whole.inertia_
    assert merged.n_iter_ == whole.n_iter_
    assert str(merged.stopped_by_) == str(whole.stopped_by_)
    assert records(merged.trace_) == records(whole.trace_)


def both(model, rows, wait=0, **fit):
    """Return the model fitted over the different rows, and over all."""
    fitted = []
    for after in (wait, None):
        with pytest.MonkeyPatch.context() as patch:
            merge_after(patch, after)
            clone = type(model)(**model.get_params())
            heard = []
            clone.set_params(callback=heard.append)
            fitted.append(clone.fit(rows, **fit))
            fitted[-1].heard = records(heard)
    merged, whole = fitted
    assert merged.heard == whole.heard
    return merged, whole


def notes(model):
    return [note for note in model.paths_ if "distinct rows" in note]


def repeat(different, n, seed=0):
    rng = np.random.default_rng(seed)
    return different[rng.integers(0, len(different), n)]


@st.composite
def tables(draw):
    """Rows that repeat, in any type, and centers to start from, some of them equal."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, m = draw(st.integers(2, 400)), draw(st.integers(1, 9)), draw(st.integers(1, 60))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.float16, np.uint8]))
    kind = draw(st.sampled_from(["normal", "whole", "zeros", "offset", "outlier"]))
    different = rng.normal(size=(m, d)) * 20 + 100
    if kind == "whole":
        different = np.rint(different / 20)
    elif kind == "zeros" and dtype != np.uint8:
        different = np.where(rng.random((m, d)) < 0.5, 0.0, -0.0) + rng.integers(0, 2, (m, d))
        different[different == 0] *= rng.choice([-1.0, 1.0], np.count_nonzero(different == 0))
    elif kind == "offset" and np.dtype(dtype).itemsize > 2:
        different += 1e6
    elif kind == "outlier" and np.dtype(dtype).itemsize > 2:
        different[0] = 1e8
    rows = repeat(np.clip(different, 0, 255) if dtype == np.uint8 else different, n, 1).astype(
        dtype
    )
    k = draw(st.integers(1, min(n, 12)))
    return rows, rows[rng.integers(0, n, k)].astype(np.float64), rng


@settings(max_examples=80)
@given(
    table=tables(),
    wait=st.integers(0, 3),
    empty=st.sampled_from(["relocate", "keep", "drop"]),
    weighted=st.sampled_from(["none", "whole", "halves", "equal", "uneven", "zeros"]),
    algorithm=st.sampled_from(
        ["lloyd", "plain", "bytes", "panels", "neighbours", "hamerly", "blocks"]
    ),
)
def test_every_attribute_is_that_of_a_fit_over_all_rows(table, wait, empty, weighted, algorithm):
    rows, start, rng = table
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, len(rows)),
        "halves": rng.integers(1, 5, len(rows)) * 0.5,
        "equal": np.full(len(rows), 0.7),
        "uneven": rng.random(len(rows)) + 0.1,
        "zeros": rng.integers(0, 2, len(rows)) + (np.arange(len(rows)) == 0),
    }[weighted]
    model = KMeans(
        len(start), init=start, n_init=1, empty=empty, algorithm=algorithm, tol=0, max_iter=30,
        n_threads=2,
    )  # fmt: skip
    assert_same(*both(model, rows, wait, sample_weight=weight))


@pytest.mark.compiled  # with the NumPy kernels it takes minutes
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.uint8])
@pytest.mark.parametrize("wait", [0, 2])
@pytest.mark.parametrize(("d", "k"), [(2, 9), (3, 40), (6, 5), (6, 80), (20, 12), (70, 70)])
def test_the_usual_path_of_a_shape_merges_rows(d, k, wait, dtype):
    rng = np.random.default_rng(d)
    middles = rng.normal(size=(25, d)) * 40 + 128
    different = middles[rng.integers(0, 25, 3000)] + rng.normal(size=(3000, d)) * 8
    rows = repeat(np.clip(different, 0, 255).astype(dtype), 9000)
    merged, whole = both(KMeans(k, n_init=2, random_state=1, max_iter=40), rows, wait)
    assert_same(merged, whole)
    m = len(np.unique(rows, axis=0))
    assert notes(merged) == [f"{m} distinct rows of 9000"]
    assert not notes(whole)


def test_starts_from_equal_centers_relocate_as_over_all_rows():
    rows = repeat(np.random.default_rng(3).normal(size=(50, 3)).astype(np.float32), 900)
    start = np.repeat(rows[:2], 4, axis=0)
    merged, whole = both(KMeans(8, init=start, n_init=1), rows)
    assert_same(merged, whole)
    assert merged.trace_[0].empty == 6


def test_directions_are_merged():
    rows = repeat(np.random.default_rng(4).normal(size=(700, 5)), 4000)
    assert_same(*both(SphericalKMeans(6, random_state=0), rows))


def test_restarts_search_once(monkeypatch):
    calls, real = [], repeated_passes.find_distinct
    monkeypatch.setattr(
        repeated_passes, "find_distinct", lambda *args: calls.append(1) or real(*args)
    )
    rows = repeat(np.random.default_rng(5).normal(size=(400, 4)), 3000)
    assert_same(*both(KMeans(5, n_init=4, random_state=0), rows, 1))
    assert len(calls) == 1


def test_a_sweep_searches_once_and_recommends_the_same(monkeypatch):
    seen, real = [], repeated_passes.find_distinct
    monkeypatch.setattr(
        repeated_passes,
        "find_distinct",
        lambda source, *rest: seen.append(source) or real(source, *rest),
    )
    rows = repeat(np.random.default_rng(5).normal(size=(300, 3)), 1500)
    costs = []
    for after in (0, None):
        merge_after(monkeypatch, after)
        swept = choose_k(rows, range(1, 7), estimator=KMeans(random_state=0), random_state=0)
        costs.append((swept.best_k, swept.to_dict()["inertia"]))
    assert costs[0] == costs[1]
    assert sum(source.rows is rows for source in seen) == 1


@pytest.mark.parametrize("quality", ["balanced", "best"])
def test_searches_from_merged_fits_end_alike(quality):
    rows = repeat(np.random.default_rng(6).normal(size=(120, 2)), 800)
    assert_same(*both(KMeans(6, quality=quality, random_state=0), rows))


def test_a_fit_resumes_over_merged_rows(tmp_path):
    rows = repeat(np.random.default_rng(8).normal(size=(900, 4)), 5000)
    with pytest.MonkeyPatch.context() as patch:
        merge_after(patch, 1)
        whole = KMeans(12, random_state=0, tol=0).fit(rows)
        path = tmp_path / "state"
        stopped = KMeans(12, random_state=0, tol=0, callback=lambda p: p.iteration == 4)
        stopped.fit(rows, checkpoint=path)
        resumed = KMeans(12, random_state=0, tol=0).fit(rows, resume=path)
    assert resumed.n_iter_ > 5
    assert_same(resumed, whole)


@pytest.mark.parametrize("limit", [0, 10_000, 100_000, 300_000, 10**7])
def test_memory_limits_change_no_bit(limit):
    rows = repeat(np.random.default_rng(9).normal(size=(800, 6)), 6000)
    merged, whole = both(KMeans(9, random_state=0, n_init=2, memory_limit=limit), rows)
    assert_same(merged, whole)
    assert bool(notes(merged)) == (limit >= 10**5)


def test_found_rows_fit_the_memory():
    rows = repeat(np.random.default_rng(9).normal(size=(800, 6)), 6000)
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        found = find_distinct(source, 800, 1e9)
        kept = copy_bytes(source, len(found.first))
        assert kept >= found.source.rows.nbytes + found.inverse.nbytes
        assert find_distinct(source, 800, kept - 1) is None
        np.testing.assert_array_equal(found.source.rows[found.inverse], rows)
        np.testing.assert_array_equal(found.repeats, np.bincount(found.inverse))
        assert (np.diff(found.first) > 0).all()


@pytest.mark.parametrize("rows", [np.ones((50, 2), order="F"), np.ones((50, 4))[:, ::2]])
def test_rows_that_are_not_contiguous_are_left_alone(rows):
    with Workers(1) as workers:
        assert as_bytes(make_source(rows, None, workers)) is None


@pytest.mark.parametrize("times", [1, 1.05, 4, 20])
@pytest.mark.parametrize("n", [1500, 40_000, 300_000])
def test_rows_that_repeat_alike_are_seen_in_a_sample(n, times):
    rng = np.random.default_rng(n)
    m = int(n / times)
    rows = rng.permutation(np.arange(n) % m).view(np.uint8).reshape(n, 8)
    estimate = estimate_distinct(rows)
    assert m / 4 < estimate < 4 * m
    assert (estimate > repeated_rows.MAX_DISTINCT_SHARE * n) == (times < 2)
    if times == 1 or n == 1500:
        assert estimate == m


@pytest.mark.parametrize("exponent", [1.2, 1.5, 2.0])
def test_rows_that_repeat_unevenly_are_seen_in_a_sample(exponent):
    rows = np.random.default_rng(1).zipf(exponent, 200_000)
    m = len(np.unique(rows))
    assert m / 4 < estimate_distinct(rows.view(np.uint8).reshape(-1, 8)) < 4 * m


def test_rows_that_repeat_side_by_side_are_seen_in_a_sample():
    rows = np.repeat(np.arange(50_000), 4).view(np.uint8).reshape(-1, 8)
    assert estimate_distinct(rows) < repeated_rows.MAX_DISTINCT_SHARE * len(rows)


def test_rows_without_repeats_are_not_searched(monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(repeated_passes, "find_distinct", refuse)
    monkeypatch.setattr(repeated_passes, "passes_before_search", lambda *_: 0)
    KMeans(20, random_state=0, max_iter=3).fit(np.random.default_rng(0).random((5000, 3)))


def test_progress_counts_pairs_of_all_rows():
    rows = repeat(np.random.default_rng(5).normal(size=(500, 30)), 4000)
    merged, _ = both(KMeans(5, random_state=0, algorithm="plain"), rows)
    assert {p.compared for p in merged.trace_} == {len(np.unique(rows, axis=0)) / 4000}


def test_the_plan_is_that_of_the_different_rows(monkeypatch):
    seen, real = [], choice.plan_for
    merge_after(monkeypatch, 0)
    monkeypatch.setattr(
        repeated_passes,
        "plan_for",
        lambda source, *rest: seen.append(source.n) or real(source, *rest),
    )
    KMeans(5, random_state=0).fit(repeat(np.random.default_rng(5).normal(size=(500, 3)), 4000))
    assert seen == [500]
