"""`TrimmedKMeans`: its laws, against a reference of a few lines and against enumeration."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.cases import same_bits
from helpers.trimmed_reference import best_cost, concentrate
from hypothesis import given, settings
from hypothesis import strategies as st

from partita import KMeans, TrimmedKMeans, diagnose, halting
from partita.engine import trimmed_restarts
from partita.engine.lloyd import LloydOptions
from partita.init import trimmed_starts
from partita.source.dense import DenseSource

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def from_start(start, **keywords):
    keywords = {"tol": 0.0, "n_init": 1, **keywords}
    return TrimmedKMeans(len(start), init=start, **keywords)


@st.composite
def problems(draw):
    """Rows with repeats and outliers, weights, a start, and a share to leave out."""
    n, d = draw(st.integers(8, 60)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) + 6 * rng.integers(0, 3, (n, 1))
    rows[: n // 4] = rows[rng.integers(0, n, n // 4)]
    rows[: n // 8] *= 100
    weight = draw(st.sampled_from([np.ones(n), rng.integers(0, 4, n) * 1.0, rng.random(n)]))
    weight[-4:] = 1.0
    start = rng.permutation(rows[-4:])[: draw(st.integers(1, 3))] + 0.1 * rng.normal(size=d)
    return rows, weight, start, draw(st.sampled_from([0.0, 0.03, 0.1, 0.25, 0.4]))


# --- the reference ---


@given(problems())
def test_iterations_are_concentration_steps(problem):
    rows, weight, start, trim = problem
    model = from_start(start, trim=trim, max_iter=5).fit(rows, sample_weight=weight)
    costs, centers, _, _ = concentrate(rows, weight, start, trim, len(model.trace_))
    if centers is None:  # a cluster lost all its rows: how it is repaired has tests of its own
        costs = costs[:1]
    else:
        np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-9)
    found = [step.cost for step in model.trace_]
    np.testing.assert_allclose(found[: len(costs)], costs, rtol=1e-10, atol=1e-10)


@given(problems())
def test_results_are_those_of_the_returned_centers(problem):
    rows, weight, start, trim = problem
    model = from_start(start, trim=trim).fit(rows, sample_weight=weight)
    costs, _, labels, share = concentrate(rows, weight, model.cluster_centers_, trim, 1)
    np.testing.assert_array_equal(model.labels_, np.where(share > 0, labels, -1))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    assert model.inertia_ == pytest.approx(costs[0], rel=1e-10)
    assert model.score(rows, sample_weight=weight) == -model.inertia_
    mass = np.bincount(labels, weight * share, len(start))
    np.testing.assert_allclose(model.stats_.weight, mass, rtol=1e-9)
    assert model.trimmed_weight_ == pytest.approx(weight.sum() - mass.sum(), abs=1e-9)


@given(problems(), st.sampled_from(["relocate", "drop", "keep"]))
def test_the_objective_never_rises(problem, empty):
    rows, weight, start, trim = problem
    far = np.vstack([start, rows.max(axis=0) * 3])  # a center whose rows may all be left out
    model = from_start(far, trim=trim, empty=empty).fit(rows, sample_weight=weight)
    costs = [cost for step in model.trace_ for cost in (step.cost, step.cost_after)]
    assert all(b <= a * (1 + 1e-12) + 1e-12 for a, b in itertools.pairwise(costs))
    assert model.inertia_ <= costs[-1] * (1 + 1e-9) + 1e-9


TRIMS = [1 / 6, 1 / 3, 0.25, 0.4]


def six_rows(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(6, 2)) * rng.choice([1, 10], (6, 1))


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.sampled_from(TRIMS))
def test_no_fit_is_below_the_best_of_all_subsets_and_partitions(seed, trim):
    model = TrimmedKMeans(2, trim=trim, n_init=3, random_state=0).fit(six_rows(seed))
    assert model.inertia_ >= best_cost(six_rows(seed), 2, trim) * (1 - 1e-9) - 1e-12


def test_many_starts_find_the_best_of_all_subsets_and_partitions():
    cases = itertools.product(range(5), TRIMS)
    found = [
        TrimmedKMeans(2, trim=trim, init="random", n_init=60, random_state=0).fit(rows).inertia_
        == pytest.approx(best_cost(rows, 2, trim), rel=1e-9, abs=1e-12)
        for rows, trim in ((six_rows(seed), trim) for seed, trim in cases)
    ]
    assert np.mean(found) >= 0.95  # a rare optimum may need more starts


def test_starts_that_agree_take_one_place_among_those_that_go_on(monkeypatch):
    starts = [np.full((1, 1), cost) for cost in (3.0, 1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 4.0)]
    monkeypatch.setattr(trimmed_restarts, "_run", lambda _, start, *rest: (start[0, 0], start))
    options, source = LloydOptions(1, halting.MaxIter(1), None), object()
    best = trimmed_restarts.promising_starts(source, source, starts, options, 0.1)
    assert [start[0, 0] for start in best] == [1, 2, 3]


# --- K-means, repeats, order, threads, instruction sets ---


@given(problems(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_without_trimming_it_is_kmeans_to_the_last_bit(problem, dtype, sparse):
    rows, weight, start, _ = problem
    X = sp.csr_array(rows.astype(dtype)) if sparse else rows.astype(dtype)
    for tol in (0.0, 1e-2):
        model = from_start(start, trim=0.0, tol=tol).fit(X, sample_weight=weight)
        twin = KMeans(len(start), init=start, n_init=1, tol=tol).fit(X, sample_weight=weight)
        assert same_bits(model, twin)
        assert model.stats_.sse.tobytes() == twin.stats_.sse.tobytes()
        assert model.threshold_ == np.inf
        assert model.trimmed_weight_ == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 6)).astype(dtype)
    models = [
        TrimmedKMeans(5, random_state=3, n_init=4, max_iter=8, n_threads=threads).fit(rows)
        for threads in (1, 2, 4)
    ]
    assert all(same_bits(models[0], other) for other in models[1:])
    assert len({model.threshold_ for model in models}) == 1


@pytest.mark.compiled
def test_every_instruction_set_gives_the_same_bits(core):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(700, 5)) * 10.0 ** rng.integers(-2, 3, 5)
    here = TrimmedKMeans(4, trim=0.1, random_state=0, n_init=3).fit(rows)
    core.use_instruction_set(core.instruction_sets()[0])
    best = TrimmedKMeans(4, trim=0.1, random_state=0, n_init=3).fit(rows)
    assert same_bits(here, best)


# --- outliers ---


def contaminated(seed, n=600, share=0.1):
    """Rows of three groups, a share of them replaced by gross outliers; the true centers."""
    rng = np.random.default_rng(seed)
    truth = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    rows = truth[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))
    is_outlier = np.arange(n) < share * n
    rows[is_outlier] = rng.uniform(-1e3, 1e3, (is_outlier.sum(), 2))
    return rows, is_outlier, truth


def error(model, truth):
    gap = np.linalg.norm(truth[:, None] - model.cluster_centers_, axis=2)
    return gap.min(axis=1).max()


@pytest.mark.parametrize("seed", range(4))
def test_centers_are_recovered_among_outliers_that_mislead_kmeans(seed):
    rows, is_outlier, truth = contaminated(seed)
    model = TrimmedKMeans(3, trim=0.1, random_state=seed).fit(rows)
    assert error(model, truth) < 0.3
    assert ((model.labels_ < 0) == is_outlier).mean() > 0.99
    assert error(KMeans(3, n_init=10, random_state=seed).fit(rows), truth) > 5


def test_large_data_start_from_a_sample():
    rows, is_outlier, truth = contaminated(0, n=20_000)
    model = TrimmedKMeans(3, trim=0.1, random_state=0).fit(rows)
    assert error(model, truth) < 0.1
    assert (model.labels_[is_outlier] < 0).mean() > 0.99


def test_a_far_row_belongs_to_no_cluster_but_has_distances():
    rows, _, _ = contaminated(0)
    model = TrimmedKMeans(3, trim=0.1, random_state=0).fit(rows)
    far = [[1e4, 1e4]]
    assert model.predict(far) == [-1]
    assert model.transform(far).shape == (1, 3)
    assert not model.soft_membership(far).any()


# --- parameters and methods ---


@pytest.mark.parametrize("trim", [-0.1, 1, 1.5, "5%", None, True, np.nan])
def test_the_share_is_a_number_below_one(trim):
    message = r"`trim` must be a number from 0 to less than 1, got .*share of the total weight"
    with pytest.raises(ValueError, match=message):
        TrimmedKMeans(2, trim=trim).fit(np.eye(4))


def test_every_cluster_needs_a_row_that_is_not_left_out():
    with pytest.raises(ValueError, match=r"got 3 with 2 such rows of 4\. Lower n_clusters or trim"):
        TrimmedKMeans(3, trim=0.5).fit(np.eye(4))


def test_a_user_may_stop_it():
    rows, _, _ = contaminated(1)
    model = TrimmedKMeans(3, init=rows[-3:], n_init=1, halt=halting.MaxIter(2)).fit(rows)
    assert model.n_iter_ == 2
    seen = []
    from_start(rows[-3:], callback=seen.append).fit(rows)
    assert [step.cost for step in seen] == sorted((step.cost for step in seen), reverse=True)
    assert len(seen) > 2


def test_two_fits_are_not_merged():
    rows, _, _ = contaminated(1)
    model = TrimmedKMeans(3, random_state=0).fit(rows)
    with pytest.raises(TypeError, match="Fit one model to the rows of both"):
        model.merge(model)


def test_a_fit_that_leaves_rows_out_is_not_merged_into_one_of_all_rows():
    rows, _, _ = contaminated(1)
    whole = KMeans(3, random_state=0).fit(rows)
    trimmed = TrimmedKMeans(3, random_state=0).fit(rows)
    with pytest.raises(ValueError, match=r"must be a model of all its rows.*leave rows out"):
        whole.merge(trimmed)
    untrimmed = TrimmedKMeans(3, trim=0, random_state=0).fit(rows)
    assert whole.merge(untrimmed).stats_.weight.sum() == 2 * len(rows)


@pytest.mark.parametrize("trim", [0.3, 0.5, 2 / 3])
def test_as_many_clusters_fit_to_weights_as_to_repeated_rows(trim):
    rows = np.array([[0.0], [5.0], [9.0]])
    heavy = from_start(rows, trim=trim).fit(rows, sample_weight=[10] * 3)
    many = from_start(rows, trim=trim).fit(np.repeat(rows, 10, axis=0))
    np.testing.assert_array_equal(np.repeat(heavy.labels_, 10), many.labels_)
    assert heavy.boundary_share_ == many.boundary_share_


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_light_rows_count_as_rows(weight):
    with pytest.raises(ValueError, match=r"got 3 with 2 such rows of 3\."):
        from_start(np.eye(3), trim=0.5).fit(np.eye(3), sample_weight=[weight] * 3)


def test_a_share_of_whole_rows_leaves_the_others():
    rows = np.arange(100.0)[:, None]
    with pytest.raises(ValueError, match="got 72 with 71 such rows"):
        TrimmedKMeans(72, trim=0.29, n_init=1).fit(rows)


def test_frames_are_diagnosed_without_warnings():
    frame = pd.DataFrame(contaminated(0)[0], columns=["a", "b"])
    model = TrimmedKMeans(3, trim=0.1, random_state=0).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        diagnose(model, frame)


@pytest.mark.parametrize("power", [-560, 520])
def test_the_cut_is_the_same_at_magnitudes_whose_squares_leave_the_doubles(power):
    rows, _, truth = contaminated(2)
    here = from_start(truth, trim=0.1).fit(rows)
    there = from_start(np.ldexp(truth, power), trim=0.1).fit(np.ldexp(rows, power))
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.threshold_ == np.ldexp(here.threshold_, power)
    np.testing.assert_array_equal(there.predict(np.ldexp(rows, power)), here.labels_)


def test_a_row_next_to_the_largest_double_is_left_out():
    rows, _, truth = contaminated(2, share=0)
    rows = np.vstack([rows, [[1e300, 0.0]]])
    model = TrimmedKMeans(3, trim=1 / len(rows), random_state=0).fit(rows)
    assert np.flatnonzero(model.labels_ < 0).tolist() == [len(rows) - 1]
    assert error(model, truth) < 0.3


# --- work ---


def test_starts_are_drawn_by_one_cut_for_every_center(monkeypatch):
    cuts, made = [], trimmed_starts.cut_farthest
    monkeypatch.setattr(
        trimmed_starts, "cut_farthest", lambda *given: cuts.append(len(given[0])) or made(*given)
    )
    rows = np.random.default_rng(0).normal(size=(9000, 2))
    TrimmedKMeans(20, n_init=2, max_iter=1, random_state=0).fit(rows)
    assert len(cuts) == 2 * 19
    assert max(cuts) <= 4096


def test_rows_that_are_left_out_again_are_not_read_again(monkeypatch):
    read, move = [], DenseSource.move
    monkeypatch.setattr(
        DenseSource,
        "move",
        lambda self, rows, *rest: read.append(len(rows)) or move(self, rows, *rest),
    )
    rows = np.random.default_rng(0).normal(size=(4000, 2))
    model = from_start(rows[:4], trim=0.5, max_iter=40).fit(rows)
    assert model.n_iter_ > 20
    assert sum(read) < 5 * 2000
