"""`BalancedKMeans`: its laws, against other solvers and against enumeration."""

from __future__ import annotations

import itertools
import signal
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.balanced_reference import best_cost, cost_by_linear_program
from helpers.cases import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import BalancedKMeans, KMeans, choose_k, describe, diagnose, load, merge_tree, save
from partita.engine.limited_assignment import LimitedAssignment, SizeLimits
from partita.estimators.fitted_models import own_labels
from partita.source.row_ranks import row_ranks

LIMITS = ["min", "max", "both", "equal", "none"]
GENERIC = ["blobs", "outlier"]  # no ties
KINDS = [*GENERIC, "lattice", "duplicates", "constant"]


def limits_of(n, k, kind):
    least, most = n // k, -(-n // k)
    return {
        "min": {"size_min": max(1, least - 1)},
        "max": {"size_max": most + 1},
        "both": {"size_min": max(1, least // 2), "size_max": most + 2},
        "equal": {"size_min": least, "size_max": most},
        "none": {},
    }[kind]


def from_start(start, **keywords):
    return BalancedKMeans(len(start), **{"init": start, "n_init": 1, "tol": 0.0, **keywords})


@st.composite
def problems(draw, max_n=40, kinds=KINDS):
    """Rows, perhaps with duplicates and ties, positive weights, a start, and limits."""
    k = draw(st.integers(1, 4))
    n, d = draw(st.integers(max(k, 4), max_n)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = {
        "blobs": rng.normal(size=(n, d)) + 6 * rng.integers(0, 3, (n, 1)) ** 2,
        "lattice": rng.integers(0, 3, (n, d)) * 1.0,
        "duplicates": rng.normal(size=(3, d))[rng.integers(0, 3, n)],
        "constant": np.ones((n, d)),
        "outlier": rng.normal(size=(n, d)) * np.where(np.arange(n) == 0, 1e8, 1.0)[:, None],
    }[draw(st.sampled_from(kinds))]
    weight = draw(st.sampled_from([None, rng.integers(1, 4, n) * 1.0, rng.random(n) + 0.1]))
    start = rng.permutation(rows)[:k] + 0.01 * rng.normal(size=(k, d))
    return rows, weight, start, limits_of(n, k, draw(st.sampled_from(LIMITS)))


def sizes_are_within(model, n):
    low = model.size_min or 1
    high = model.size_max or n
    sizes = np.bincount(model.labels_, minlength=model.n_clusters)
    return (sizes >= low).all() and (sizes <= high).all()


# --- the laws ---


@given(problems())
def test_limits_hold_and_labels_are_the_cheapest_within_them(problem):
    rows, weight, start, limits = problem
    model = from_start(start, **limits).fit(rows, sample_weight=weight)
    assert sizes_are_within(model, len(rows))
    w = np.ones(len(rows)) if weight is None else weight
    squares = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    costs = w[:, None] * squares
    low, high = model.size_min or 1, model.size_max or len(rows)
    scale = max(costs.max(), 1e-300)
    ends = np.full(len(start), low), np.full(len(start), high)
    assert model.inertia_ / scale <= cost_by_linear_program(costs / scale, *ends) + 1e-9
    own = costs[np.arange(len(rows)), model.labels_]
    assert model.inertia_ == pytest.approx(own.sum(), rel=1e-12)
    total = costs + model.prices_  # prices prove that nothing costs less
    best = total[np.arange(len(rows)), model.labels_][:, None]
    assert (total >= best - 1e-11 * np.abs(total).max()).all()
    assert -model.score(rows, sample_weight=weight) <= model.inertia_ * (1 + 1e-12)
    np.testing.assert_array_equal(
        model.cluster_sizes_, np.bincount(model.labels_, minlength=len(start))
    )


@given(problems(max_n=120))
def test_the_objective_never_rises(problem):
    rows, weight, start, limits = problem
    model = from_start(start, **limits).fit(rows, sample_weight=weight)
    costs = [cost for step in model.trace_ for cost in (step.cost, step.cost_after)]
    assert all(b <= a for a, b in itertools.pairwise(costs))
    rounding = 1e-24 * len(rows) * np.abs(rows).max() ** 2  # of sums on a grid
    assert model.inertia_ <= costs[-1] * (1 + 1e-12) + rounding
    assert model.stopped_by_.kind == "same_partition" or model.n_iter_ == 300


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_labels_cost_what_a_linear_programme_says(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(8, 40)), int(rng.integers(2, 6))
    rows = rng.integers(0, 5, (n, 2)).astype(float) if seed % 2 else rng.normal(size=(n, 2)) ** 3
    size_min, size_max = int(rng.integers(1, n // k + 1)), int(rng.integers(-(-n // k), n + 1))
    model = BalancedKMeans(k, size_min=size_min, size_max=size_max, random_state=seed).fit(rows)
    assert sizes_are_within(model, n)
    costs = ((rows[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    least = cost_by_linear_program(costs, np.full(k, size_min), np.full(k, size_max))
    assert costs[np.arange(n), model.labels_].sum() == pytest.approx(least, rel=1e-9, abs=1e-9)


@settings(max_examples=12)
@given(st.integers(0, 2**32 - 1), st.sampled_from([(2, 4), (3, 3), (1, 3), (2, 6)]))
def test_many_starts_find_the_best_of_all_partitions(seed, limits):
    rng, (low, high) = np.random.default_rng(seed), limits
    rows = rng.normal(size=(6, 2)) * rng.choice([1, 10], (6, 1))
    model = BalancedKMeans(2, size_min=low, size_max=high, init="random", n_init=80, random_state=0)
    found = model.fit(rows).inertia_
    start = rows[[0, 1]]
    for labels in itertools.product([0, 1], repeat=6):  # every partition is a start
        if 0 < sum(labels) < 6:
            halves = np.array(labels)
            start = np.array([rows[halves == j].mean(axis=0) for j in (0, 1)])
            other = from_start(start, size_min=low, size_max=high).fit(rows)
            found = min(found, other.inertia_)
    assert found == pytest.approx(best_cost(rows, 2, low, high), rel=1e-9)


@given(problems())
def test_the_order_of_rows_and_a_power_of_two_of_weight_change_nothing(problem):
    rows, weight, start, limits = problem
    order = np.random.default_rng(0).permutation(len(rows))
    here = from_start(start, **limits).fit(rows, sample_weight=weight)
    w = np.ones(len(rows)) if weight is None else weight
    there = from_start(start, **limits).fit(rows[order], sample_weight=4 * w[order])
    assert here.cluster_centers_.tobytes() == there.cluster_centers_.tobytes()
    assert 4 * here.inertia_ == there.inertia_
    np.testing.assert_array_equal(4 * here.prices_, there.prices_)

    def labelled(rows, w, labels):  # equal rows may change places
        return sorted(zip(rows.tolist(), w.tolist(), labels.tolist(), strict=True))

    expected = labelled(rows[order], w[order], there.labels_)
    assert labelled(rows, w, here.labels_) == expected


@given(problems(kinds=GENERIC))
def test_sparse_rows_have_the_same_clusters(problem):
    rows, weight, start, limits = problem
    dense = from_start(start, **limits).fit(rows, sample_weight=weight)
    sparse = from_start(start, **limits).fit(sp.csr_array(rows), sample_weight=weight)
    assert sizes_are_within(sparse, len(rows))
    assert sparse.inertia_ == pytest.approx(dense.inertia_, rel=1e-9)
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 6)).astype(dtype)
    models = [
        BalancedKMeans(5, size_min=4000, random_state=3, max_iter=5, n_threads=threads).fit(rows)
        for threads in (1, 2, 4)
    ]
    assert all(same_bits(models[0], other) for other in models[1:])
    assert len({model.prices_.tobytes() for model in models}) == 1


@pytest.mark.compiled
def test_every_instruction_set_gives_the_same_bits(core):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(400, 5)) * 10.0 ** rng.integers(-2, 3, 5)
    here = BalancedKMeans(4, size_max=110, random_state=0).fit(rows)
    core.use_instruction_set(core.instruction_sets()[0])
    assert same_bits(here, BalancedKMeans(4, size_max=110, random_state=0).fit(rows))


def test_without_limits_it_is_kmeans():
    rows = np.random.default_rng(2).normal(size=(500, 3)) + 7.0
    for weight in (None, np.arange(500) % 3 * 1.0):
        twin = KMeans(4, init=rows[:4], n_init=1).fit(rows, sample_weight=weight)
        model = BalancedKMeans(4, init=rows[:4], n_init=1).fit(rows, sample_weight=weight)
        assert same_bits(model, twin)
        assert not model.prices_.any()
        np.testing.assert_array_equal(model.predict(rows), model.labels_)


def test_no_cluster_is_empty_without_a_least_size():
    rows = np.array([[0.0], [0.0], [0.0], [1.0]])
    model = BalancedKMeans(3, random_state=0).fit(rows)
    assert model.inertia_ == 0
    assert sorted(model.cluster_sizes_) == [1, 1, 2]


def test_rows_of_weight_zero_do_not_count():
    rng = np.random.default_rng(3)
    rows, extra = rng.normal(size=(90, 2)), 5 * rng.normal(size=(40, 2))
    both, weight = np.vstack([extra, rows]), np.repeat([0.0, 1.0], [40, 90])
    model = from_start(rows[:3], size_min=30).fit(both, sample_weight=weight)
    alone = from_start(rows[:3], size_min=30).fit(rows)
    np.testing.assert_array_equal(model.cluster_sizes_, [30, 30, 30])
    np.testing.assert_array_equal(model.labels_[40:], alone.labels_)
    np.testing.assert_array_equal(model.labels_[:40], model.predict(extra))
    assert model.cluster_centers_.tobytes() == alone.cluster_centers_.tobytes()
    assert model.inertia_ == alone.inertia_


def test_a_weight_counts_in_the_objective_but_is_one_row_for_the_limits():
    rows, weight = np.array([[0.0], [1.0], [10.0], [11.0]]), np.array([5.0, 1.0, 1.0, 1.0])
    model = from_start(rows[[0, 3]], size_min=2).fit(rows, sample_weight=weight)
    np.testing.assert_array_equal(model.cluster_sizes_, [2, 2])
    np.testing.assert_array_equal(model.stats_.weight, [6.0, 2.0])
    np.testing.assert_allclose(model.cluster_centers_, [[1 / 6], [10.5]])


def test_prices_say_what_a_place_is_worth():
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    centers = np.array([[0.0], [10.0]])
    model = from_start(centers, size_max=3, max_iter=1).fit(rows)
    wider = from_start(model.cluster_centers_, size_max=4, max_iter=1)
    squares = (rows - model.cluster_centers_.T) ** 2
    gain = (squares[:, 1] - squares[:, 0])[model.labels_ == 1].max()
    assert wider.fit(rows).n_clusters == 2
    assert 0 < gain <= model.prices_[0]
    assert model.prices_[1] == 0


def test_huge_and_tiny_values_have_limits_too():
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(60, 2))
    for scale in (1e-170, 1e160, 1e200):
        model = BalancedKMeans(3, size_min=20, size_max=20, random_state=0).fit(rows * scale)
        np.testing.assert_array_equal(model.cluster_sizes_, [20, 20, 20])


def test_whatever_shows_the_rows_of_the_fit_shows_their_labels(tmp_path):
    rows = np.random.default_rng(10).normal(size=(200, 2)) ** 3
    model = BalancedKMeans(4, size_min=50, random_state=0).fit(rows)
    assert not np.array_equal(model.predict(rows), model.labels_)
    save(model, tmp_path / "model.partita")
    for known in (model, load(tmp_path / "model.partita")):
        for X in (rows, rows.tolist(), sp.csr_array(rows)):
            np.testing.assert_array_equal(own_labels(known, X), model.labels_)
        for other in (rows[::-1], rows[:50], rows + 1e-9):
            np.testing.assert_array_equal(own_labels(known, other), model.predict(other))
    np.testing.assert_array_equal(merge_tree(model, rows).stats_at(4).weight, [50.0] * 4)
    assert [group.size for group in describe(model, rows).groups] == [50] * 4
    assert "unstable" in dict(diagnose(model, rows).skipped)


def test_a_model_file_keeps_sizes_and_prices(tmp_path):
    rows = np.random.default_rng(5).normal(size=(50, 2))
    model = BalancedKMeans(3, size_max=17, random_state=0).fit(rows)
    save(model, tmp_path / "model.partita")
    again = load(tmp_path / "model.partita")
    np.testing.assert_array_equal(again.cluster_sizes_, model.cluster_sizes_)
    assert again.prices_.tobytes() == model.prices_.tobytes()
    np.testing.assert_array_equal(again.labels_, model.labels_)


# --- the assignment ---


def test_ranks_are_those_of_the_values():
    from partita._common.threads import Workers
    from partita.estimators.validation import make_source

    rng = np.random.default_rng(6)
    rows = rng.integers(0, 3, (200, 4)) * 0.5
    rows[0] *= -0.0
    order = rng.permutation(200)
    with Workers(1) as workers:
        ranks = row_ranks(make_source(rows, None, workers))
        shuffled = row_ranks(make_source(rows[order], None, workers))
        sparse = row_ranks(make_source(sp.csr_array(rows), None, workers))
    assert sorted(ranks) == list(range(200))
    np.testing.assert_array_equal(rows[np.argsort(ranks)], rows[order][np.argsort(shuffled)])
    np.testing.assert_array_equal(ranks, sparse)


@pytest.mark.compiled
def test_the_next_assignment_starts_from_the_last():
    from partita._common.threads import Workers
    from partita.centers import Centers
    from partita.estimators.validation import make_source

    rows = np.random.default_rng(7).normal(size=(2000, 2))
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        assignment = LimitedAssignment(source, 4, SizeLimits(500, 500), row_ranks(source))
        centers = Centers(rows[:4].copy(), np.zeros(2))
        first = assignment.assign(centers)
        paths = assignment.paths
        second = assignment.assign(centers)
    assert paths > 100
    assert assignment.paths == paths
    np.testing.assert_array_equal(first, second)


@pytest.mark.compiled
@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals")
def test_ctrl_c_ends_a_long_assignment():
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(60_000, 2)) ** 3
    model = BalancedKMeans(30, size_min=2000, size_max=2000, random_state=0, n_init=1000)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # the whole fit takes hours
        model.fit(rows)
    assert not hasattr(model, "labels_")


# --- parameters and methods ---


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (
            {"size_min": 4},
            r"`size_min` must be at most 3 with n_samples=10 and n_clusters=3, got 4\. Low",
        ),
        (
            {"size_max": 3},
            r"`size_max` must be at least 4 with n_samples=10 and n_clusters=3, got 3\. R",
        ),
        ({"size_min": 3, "size_max": 2}, r"`size_min` must be at most size_max, which is 2, got 3"),
        ({"size_min": 0}, r"`size_min` must be an integer >= 1 or None, got 0\. It is a number of"),
        ({"size_max": 0.5}, r"`size_max` must be an integer >= 1 or None, got 0\.5"),
        (
            {"memory_limit": 10},
            r"`memory_limit` must be at least \d+ bytes more than X with n_sam",
        ),
    ],
)
def test_limits_that_cannot_be_met_say_what_can(limits, message):
    with pytest.raises(ValueError, match=message):
        BalancedKMeans(3, **limits).fit(np.arange(10.0)[:, None])


def test_only_rows_of_positive_weight_count_for_the_limits():
    weight = np.array([1.0, 1, 1, 0, 0])
    with pytest.raises(
        ValueError, match="at most 1 with 3 rows of positive weight and n_clusters=2"
    ):
        BalancedKMeans(2, size_min=2).fit(np.arange(5.0)[:, None], sample_weight=weight)


def test_a_sweep_over_numbers_of_clusters_takes_no_limits():
    rows = np.repeat([[0.0], [5.0], [9.0]], 20, axis=0) + np.random.default_rng(9).random((60, 1))
    with pytest.raises(ValueError, match=r"choose_k\(\) is not available .* do not suit others"):
        choose_k(rows, range(2, 4), estimator=BalancedKMeans(size_min=5))
    sweep = choose_k(rows, range(2, 5), estimator=BalancedKMeans(), random_state=0, n_splits=1)
    assert isinstance(sweep.model(3), BalancedKMeans)


def test_two_fits_are_not_merged():
    model = BalancedKMeans(2, random_state=0).fit(np.arange(5.0)[:, None])
    with pytest.raises(TypeError, match="would not keep within the limits"):
        model.merge(model)
