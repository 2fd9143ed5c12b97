"""Passes over bytes: made once for all runs, left when they do not pay, the bits of any path."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.cases import fit_from, same_bits

from partita import KMeans, MiniBatchKMeans, SphericalKMeans, choose_k
from partita._common.threads import Workers
from partita._kernels import kernels
from partita.centers import Centers
from partita.engine.paths import bytes_path, choice, scheduler
from partita.engine.paths.bytes_path import byte_memory
from partita.engine.paths.choice import plan_for
from partita.engine.paths.scheduler import PassScheduler
from partita.estimators.validation import make_source
from partita.moments import Moments
from partita.source import blocked_rows, pass_price
from partita.source.dense import DenseSource
from partita.source.pass_price import byte_cost, passes_before_bytes, plain_cost

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def groups(n=4000, d=40, k=30, spread=3.0, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(k, d)) * spread
    return (middles[rng.integers(0, k, n)] + rng.normal(size=(n, d))).astype(dtype)


@pytest.fixture
def fast_bytes(monkeypatch):
    """A machine whose products of bytes are four times as fast as those of floats."""
    monkeypatch.setattr(kernels, "has_byte_products", lambda: True)
    monkeypatch.setattr(pass_price, "PRICES", pass_price.AVX512)


@pytest.fixture
def rounded(monkeypatch):
    """How often rows were rounded."""
    calls, real = [], DenseSource._byte_rows

    def counted(self):
        calls.append(self.n)
        return real(self)

    monkeypatch.setattr(DenseSource, "_byte_rows", counted)
    return calls


@pytest.fixture
def eager_bounds(monkeypatch):
    """Bounds that begin as soon as they can, and are never left."""
    monkeypatch.setattr(scheduler, "MAX_BYTE_COST_SHARE", np.inf)
    monkeypatch.setattr(scheduler, "MAX_MOVED_SHARE", 1.0)
    monkeypatch.setattr(PassScheduler, "_review", lambda *_: None)


def test_the_trace_tells_candidates(fast_bytes):
    rows = groups()
    model = fit_from(rows, rows[:30], algorithm="bytes")
    assert {p.path for p in model.trace_} == {"bytes"}
    assert all(1.0 <= p.candidates < 3.0 for p in model.trace_)
    plain = fit_from(rows, rows[:30], algorithm="plain")
    assert {p.candidates for p in plain.trace_} == {0.0}


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.int16, bool])
def test_rows_of_other_types_have_the_same_bits(dtype):
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 2 if dtype is bool else 200, (900, 24)).astype(dtype)
    start = rows[:12].astype(float) + rng.random((12, 24)) * 0.1
    for limit in (0, None):
        keywords = {"max_iter": 8, "memory_limit": limit}
        plain = fit_from(rows, start, algorithm="plain", **keywords)
        assert same_bits(plain, fit_from(rows, start, algorithm="bytes", **keywords))


@pytest.mark.parametrize("model", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_members_take_bytes_and_keep_their_bits(fast_bytes, monkeypatch, model):
    rows = groups(n=20_000, d=96, k=60)

    def fit():
        return model(60, init="random", n_init=1, max_iter=20, random_state=3).fit(rows)

    by_bytes = fit()
    assert "bytes" in {p.path for p in by_bytes.trace_}
    monkeypatch.setattr(kernels, "has_byte_products", lambda: False)
    plain = fit()
    assert "bytes" not in {p.path for p in plain.trace_}
    assert np.array_equal(by_bytes.labels_, plain.labels_)
    assert np.array_equal(by_bytes.cluster_centers_, plain.cluster_centers_)
    assert by_bytes.inertia_ == plain.inertia_


def test_weights_have_the_same_bits():
    rows, rng = groups(n=1500, d=20), np.random.default_rng(2)
    weight = rng.integers(0, 4, 1500) * 0.5
    keywords = {"sample_weight": weight, "max_iter": 10}
    plain = fit_from(rows, rows[:25], algorithm="plain", **keywords)
    assert same_bits(plain, fit_from(rows, rows[:25], algorithm="bytes", **keywords))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_rounded_as_they_are_assigned_make_the_same_copy(monkeypatch, dtype, threads):
    monkeypatch.setattr(blocked_rows, "ROUNDED_BYTES", 0)  # few rows at a time
    rows = groups(n=3000, d=70).astype(dtype)
    start, later = (Centers(rows[at : at + 20].astype(float), np.zeros(70)) for at in (0, 900))
    found = []
    with Workers(threads, many_passes=True) as workers:
        for at_once in (True, False):
            source = make_source(rows, None, workers)
            labels, sums = np.full(3000, -1, np.int32), Moments.zero(20, source.survey().grid)
            if at_once:
                copy, counts = source.round_and_assign(start, labels, sums)
            else:
                copy = source.round_to_bytes()
                counts = source.assign_bytes(copy, start, labels, sums)
            first = labels.copy()
            again = source.assign_bytes(copy, later, labels, sums)
            found.append((counts, again, *map(bytes, (first, labels, sums.hi, sums.lo))))
    assert found[0] == found[1]


def test_runs_share_one_copy(fast_bytes, rounded):
    rows = groups(n=6000, d=64)
    KMeans(30, init="random", n_init=4, max_iter=5, random_state=0, algorithm="bytes").fit(rows)
    assert rounded == [6000]


def test_a_sweep_over_k_shares_one_copy(fast_bytes, rounded):
    rows = groups(n=3000, d=20, k=5)
    choose_k(rows, [3, 4, 5], estimator=KMeans(algorithm="bytes", random_state=0))
    assert rounded.count(3000) == 1


@pytest.mark.parametrize(("k", "d", "path"), [(20, 300, "hamerly"), (90, 128, "yinyang")])
def test_bounds_compare_open_rows_in_bytes(fast_bytes, eager_bounds, rounded, k, d, path):
    rows = groups(n=12_000, d=d, k=2 * k, spread=0.3)
    model = fit_from(rows, rows[:k], max_iter=40)
    assert path in {p.path for p in model.trace_}
    assert f"{path}: open rows are compared in bytes" in model.paths_
    assert rounded.count(12_000) == 1  # by all paths
    assert same_bits(model, fit_from(rows, rows[:k], max_iter=40, algorithm="plain"))


@pytest.mark.parametrize("dtype", [np.uint8, np.float16])
def test_bounds_read_narrow_rows_where_they_are(fast_bytes, eager_bounds, monkeypatch, dtype):
    monkeypatch.setattr(bytes_path, "MAX_FLOAT_COPY_BYTES", 0)
    monkeypatch.setattr(DenseSource, "kernel_rows", property(lambda self: 1 / 0))
    rows = np.clip(groups(n=9000, d=128, k=80, spread=0.3) * 25 + 128, 0, 255).astype(dtype)
    start = rows[:60].astype(float)
    model = fit_from(rows, start, max_iter=12)
    assert "yinyang" in {p.path for p in model.trace_}, model.paths_
    plain = fit_from(rows.astype(np.float64), start, max_iter=12, algorithm="plain")
    assert same_bits(model, plain)


def test_bounds_over_bytes_follow_policies_for_empty_clusters(fast_bytes, eager_bounds):
    rows = groups(n=9000, d=128, k=40, spread=0.5)
    start = np.concatenate([rows[:60], np.full((6, 128), 50.0)])
    for empty in ("relocate", "drop"):
        keywords = {"max_iter": 30, "empty": empty}
        model = fit_from(rows, start, **keywords)
        assert any("compared in bytes" in note for note in model.paths_)
        assert same_bits(model, fit_from(rows, start, algorithm="plain", **keywords))


def test_bytes_are_not_taken_where_they_leave_many_candidates(fast_bytes):
    """Pairs of centers nearer to each other than a byte can tell."""
    rng = np.random.default_rng(3)
    far = rng.normal(size=(6, 64)) * 1e5
    rows = (far[rng.integers(0, 6, 20_000)] + rng.normal(size=(20_000, 64))).astype(np.float32)
    start = np.repeat(far, 50, axis=0) + rng.normal(size=(300, 64))
    model = fit_from(rows, start, max_iter=8)
    assert "bytes" not in {p.path for p in model.trace_}  # a sample of rows told so
    assert any("bytes left" in note for note in model.paths_)
    assert same_bits(model, fit_from(rows, start, max_iter=8, algorithm="plain"))


def test_bytes_need_products_memory_and_enough_work(fast_bytes, monkeypatch):
    with Workers(1) as workers:
        source = make_source(groups(n=20_000, d=128), None, workers)
        assert passes_before_bytes(source.n, 100, source.d, source.row_bytes) in (0, 1)
        assert passes_before_bytes(source.n, 1, source.d, source.row_bytes) is None
        plan = plan_for(source, 100, "auto", np.inf)
        assert plan.bytes_after is not None
        little = plan_for(source, 100, "auto", choice.memory_of(plan.path, source, 100) + 1e5)
        assert little.bytes_after is None
        assert little.spare == pytest.approx(1e5)
        enough = choice.memory_of(plan.path, source, 100) + byte_memory(source)
        assert plan_for(source, 100, "auto", enough).spare == 0
        monkeypatch.setattr(kernels, "has_byte_products", lambda: False)
        assert plan_for(source, 100, "auto", np.inf).bytes_after is None


def test_few_passes_are_not_rounded_for(fast_bytes):
    """The fewer the centers, the more passes it takes until rounding pays."""
    with Workers(1) as workers:
        source = make_source(groups(n=20_000, d=128), None, workers)
        waits = [
            passes_before_bytes(source.n, k, source.d, source.row_bytes) for k in (500, 100, 30)
        ]
    assert None not in waits
    assert waits == sorted(waits)


def test_more_features_than_32_bits_hold_take_plain_passes(monkeypatch):
    monkeypatch.setattr(bytes_path, "MAX_BYTE_FEATURES", 10)
    rows = groups(n=300, d=11)
    model = fit_from(rows, rows[:5], algorithm="bytes")
    assert {p.path for p in model.trace_} == {"plain"}
    assert any("32 bits" in note for note in model.paths_)


def test_prices_grow_with_candidates(fast_bytes):
    assert byte_cost(1000, 100, 64, 700) < byte_cost(1000, 100, 64, 9000)
    assert byte_cost(1000, 500, 384, 700) < plain_cost(1000, 500, 384) / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_by_bytes_are_those_of_plain_passes(fast_bytes, monkeypatch, dtype):
    rows = groups(n=12_345, d=64, k=40, dtype=dtype) * 1e-3 + 5
    centers = rows[:500].astype(np.float64)
    model = KMeans(500, init=centers, n_init=1, max_iter=1).fit(rows[:1000])
    rounds, real = [], kernels.round_rows
    monkeypatch.setattr(kernels, "round_rows", lambda *a: (rounds.append(1), real(*a))[1])
    by_bytes = model.predict(rows)
    assert rounds
    rounds.clear()
    monkeypatch.setattr(kernels, "has_byte_products", lambda: False)
    np.testing.assert_array_equal(by_bytes, model.predict(rows))
    assert not rounds
