"""`KMeans(missing="partial")`: its laws, against a reference of a few lines and enumeration."""

from __future__ import annotations

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.cases import same_bits
from helpers.partial_reference import best_cost, iterate, means, squares
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

import partita
from partita import KMeans, MiniBatchKMeans, halting
from partita.estimators.fitted_models import capabilities_of, complete_rows
from partita.several_starts import fit_several_starts

pytestmark = pytest.mark.filterwarnings("ignore:Number of distinct clusters")


def from_start(start, **keywords):
    keywords = {"tol": 0.0, "n_init": 1, **keywords}
    return KMeans(len(start), init=start, missing="partial", **keywords)


def with_gaps(rng, rows, share):
    """The rows with NaN in place of a share of their values, but of no whole row or column."""
    gap = rng.random(rows.shape) < share
    gap[np.arange(len(rows)), rng.integers(0, rows.shape[1], len(rows))] = False
    gap[0] = False
    return np.where(gap, np.nan, rows)


def groups(seed, n=600, d=8, k=4, share=0.2, apart=3.0):
    """Rows of k round groups with values missing at random, and their groups."""
    rng = np.random.default_rng(seed)
    truth = apart * rng.normal(size=(k, d))
    label = rng.integers(0, k, n)
    return with_gaps(rng, truth[label] + rng.normal(size=(n, d)), share), label


@st.composite
def problems(draw):
    """Rows with gaps and repeats, weights, and a start."""
    n, d = draw(st.integers(6, 50)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) + 6 * rng.integers(0, 3, (n, 1))
    rows = with_gaps(rng, rows, draw(st.sampled_from([0.1, 0.4, 0.8])))
    rows[1 : n // 4] = rows[rng.integers(0, n, n // 4)][1:]
    weight = draw(st.sampled_from([np.ones(n), rng.integers(0, 4, n) * 1.0, rng.random(n)]))
    weight[0] = weight[-3:] = 1.0
    start = 9 * rng.random((draw(st.integers(1, 3)), d))
    return rows, weight, start


# --- the reference ---


@given(problems(), st.sampled_from([np.float64, np.float32]))
def test_iterations_are_those_of_the_reference(problem, dtype):
    rows, weight, start = problem
    rows = rows.astype(dtype)
    model = from_start(start, max_iter=5).fit(rows, sample_weight=weight)
    costs, centers = iterate(rows.astype(float), weight, start, len(model.trace_))
    if centers is None:  # a cluster lost all its rows: how it is repaired has tests of its own
        costs = costs[:1]
    else:
        tolerance = 1e-9 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=tolerance, atol=tolerance)
    found = [step.cost for step in model.trace_]
    np.testing.assert_allclose(found[: len(costs)], costs, rtol=1e-10, atol=1e-10)


@given(problems())
def test_results_are_those_of_the_returned_centers(problem):
    rows, weight, start = problem
    model = from_start(start).fit(rows, sample_weight=weight)
    square = squares(rows, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, square.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_allclose(model.transform(rows), np.sqrt(square), rtol=1e-12)
    assert model.inertia_ == pytest.approx((weight * square.min(axis=1)).sum(), rel=1e-10)
    assert model.score(rows, sample_weight=weight) == -model.inertia_
    soft = model.soft_membership(rows)
    np.testing.assert_allclose(soft.sum(axis=1), 1)
    np.testing.assert_array_equal(soft.argmax(axis=1), model.labels_)


@given(problems())
def test_summaries_are_those_of_the_values(problem):
    rows, weight, start = problem
    model = from_start(start, empty="keep").fit(rows, sample_weight=weight)
    k, known = len(start), ~np.isnan(rows)
    mean = means(rows, weight, model.labels_, model.cluster_centers_.copy())
    full = model.stats_.weight > 0
    np.testing.assert_allclose(model.stats_.mean[full], mean[full], rtol=1e-9, atol=1e-9)
    own = np.where(known, (rows - mean[model.labels_]) ** 2, 0).sum(axis=1)
    sse = np.bincount(model.labels_, weight * own, k)
    np.testing.assert_allclose(model.stats_.sse, sse, rtol=1e-9, atol=1e-9)
    for t in range(rows.shape[1]):
        mass = np.bincount(model.labels_, weight * known[:, t], k)
        np.testing.assert_allclose(model.observed_weight_[:, t], mass, rtol=1e-12)


@given(problems(), st.sampled_from(["relocate", "drop", "keep"]))
def test_the_objective_never_rises(problem, empty):
    rows, weight, start = problem
    far = np.vstack([start, start.max(axis=0) * 50])
    model = from_start(far, empty=empty).fit(rows, sample_weight=weight)
    costs = [cost for step in model.trace_ for cost in (step.cost, step.cost_after)]
    assert all(b <= a * (1 + 1e-12) + 1e-12 for a, b in itertools.pairwise(costs))
    assert model.inertia_ <= costs[-1] * (1 + 1e-9) + 1e-9


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(2, 3))
def test_many_starts_find_the_best_of_all_partitions(seed, k):
    rng = np.random.default_rng(seed)
    rows = with_gaps(rng, rng.normal(size=(5, 2)) * rng.choice([1, 5], (5, 1)), 0.3)
    model = KMeans(k, init="box", n_init=100, random_state=0, missing="partial")
    assert model.fit(rows).inertia_ == pytest.approx(best_cost(rows, k), rel=1e-9, abs=1e-12)


# --- K-means, repeats, order, threads, instruction sets ---


@given(problems(), st.sampled_from([np.float32, np.float64]))
def test_without_gaps_it_is_plain_kmeans_to_the_last_bit(problem, dtype):
    rows, weight, start = problem
    X = np.nan_to_num(rows, nan=3.0).astype(dtype)
    for init in (start, "k-means++"):
        arguments = {"init": init, "n_init": 1, "random_state": 5}
        model = KMeans(len(start), missing="partial", **arguments).fit(X, sample_weight=weight)
        twin = KMeans(len(start), **arguments).fit(X, sample_weight=weight)
        assert same_bits(model, twin)
        assert model.paths_ == twin.paths_
        mass = np.repeat(twin.stats_.weight[:, None], X.shape[1], axis=1)
        np.testing.assert_array_equal(model.observed_weight_, mass)


def test_gaps_of_rows_that_do_not_count_change_no_bit_and_no_label():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(30, 3)) * 3 + 6 * rng.integers(0, 3, (30, 1))
        weight = rng.integers(1, 4, 30) * 1.0
        weight[[4, 9]], start = 0.0, rows[:3].copy()
        whole = np.delete(np.arange(30), [4, 9])
        rows[4, 1] = rows[9, :2] = np.nan
        model = from_start(start).fit(rows, sample_weight=weight)
        other = from_start(start).fit(rows[np.repeat(whole, weight[whole].astype(int))])
        assert other.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
        assert other.inertia_ == model.inertia_
        assert [step.cost for step in other.trace_] == [step.cost for step in model.trace_]
        assert model.labels_.tolist() == model.predict(rows).tolist()
        assert np.array_equal(model.observed_weight_, np.tile(model.stats_.weight, (3, 1)).T)


@given(problems(), st.integers(0, 2**32 - 1))
def test_repeats_equal_weights_and_any_order_gives_the_same_bits(problem, seed):
    rows, _, start = problem
    rng = np.random.default_rng(seed)
    times = np.r_[1, rng.integers(0, 4, len(rows) - 1)]
    model = from_start(start).fit(rows, sample_weight=times)
    order = rng.permutation(np.repeat(np.arange(len(rows)), times))
    other = from_start(start).fit(rows[order])
    assert other.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
    assert other.inertia_ == model.inertia_
    assert [step.cost for step in other.trace_] == [step.cost for step in model.trace_]
    np.testing.assert_array_equal(other.labels_, model.labels_[order])
    assert other.observed_weight_.tobytes() == model.observed_weight_.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(dtype):
    rows = groups(0, n=20_000)[0].astype(dtype)
    models = [
        KMeans(5, random_state=3, missing="partial", max_iter=6, n_threads=threads).fit(rows)
        for threads in (1, 2, 4)
    ]
    assert all(same_bits(models[0], other) for other in models[1:])


@pytest.mark.compiled
def test_every_instruction_set_gives_the_same_bits(core):
    rows = groups(1)[0] * 10.0 ** np.arange(-3, 5)
    here = KMeans(4, random_state=0, missing="partial").fit(rows)
    core.use_instruction_set(core.instruction_sets()[0])
    assert same_bits(here, KMeans(4, random_state=0, missing="partial").fit(rows))


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random", "random-partition", "box"])
def test_a_memory_limit_changes_no_bit(init):
    rows = groups(2)[0]
    models = [
        KMeans(4, init=init, random_state=1, missing="partial", memory_limit=limit).fit(X)
        for limit, X in ((None, rows), (0, rows), (0, np.asfortranarray(rows)))
    ]
    assert same_bits(models[0], models[1])
    assert same_bits(models[0], models[2])


@pytest.mark.parametrize("weighted", [False, True])
def test_values_and_weights_beyond_any_grid_keep_all_promises(weighted):
    rows, _ = groups(3, n=60)
    weight = np.where(np.arange(60) % 7 == 0, 1e-12, 1.0) if weighted else np.ones(60)
    if not weighted:
        rows[5, 2] = 1e15
    start = np.nan_to_num(rows[:3])
    model = from_start(start, max_iter=4).fit(rows, sample_weight=weight)
    costs, centers = iterate(rows, weight, start, len(model.trace_))
    np.testing.assert_allclose([step.cost for step in model.trace_], costs, rtol=1e-9)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-9)
    order = np.random.default_rng(0).permutation(60)
    other = from_start(start, max_iter=4).fit(rows[order], sample_weight=weight[order])
    assert other.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


def test_huge_offsets_and_values_cost_no_digits():
    rows, _ = groups(4, n=200)
    start = np.nan_to_num(rows[:3])
    model = from_start(start).fit(rows)
    for scale, offset in ((1.0, 2.0**20), (2.0**500, 0.0), (2.0**-400, 0.0)):
        moved = rows * scale + offset
        back = (moved - offset) / scale
        other = from_start(start * scale + offset).fit(moved)
        alike = from_start(start).fit(back)
        np.testing.assert_array_equal(other.labels_, alike.labels_)
        assert other.inertia_ / scale / scale == pytest.approx(alike.inertia_, rel=1e-9)
    assert model.n_iter_ > 1


# --- groups, and gaps that are not at random ---


@pytest.mark.parametrize("share", [0.08, 0.2, 0.3])
def test_groups_are_recovered_no_worse_than_after_imputing_means(share):
    ours, imputed = [], []
    for seed in range(6):
        rows, label = groups(seed, n=400, share=share, apart=1.6)
        filled = np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
        arguments = {"n_init": 5, "random_state": seed}
        model = KMeans(4, missing="partial", **arguments).fit(rows)
        ours.append(adjusted_rand_score(label, model.labels_))
        imputed.append(adjusted_rand_score(label, KMeans(4, **arguments).fit(filled).labels_))
    assert np.mean(ours) >= np.mean(imputed) - 0.005
    assert np.mean(ours) > 0.75


def test_a_feature_that_no_member_has_keeps_its_value():
    rows = np.array([[0.0, 1.0], [0.2, 1.2], [9.0, np.nan], [9.2, np.nan]])
    model = from_start([[0.0, 0.0], [9.0, 7.5]]).fit(rows)
    np.testing.assert_allclose(model.cluster_centers_, [[0.1, 1.1], [9.1, 7.5]])
    np.testing.assert_array_equal(model.observed_weight_, [[2, 2], [2, 0]])
    assert model.inertia_ == pytest.approx(0.06)


# --- input ---


def test_tables_and_masked_arrays_say_the_same_in_their_own_words():
    rows, _ = groups(5, n=80)
    want = KMeans(4, random_state=0, missing="partial").fit(rows)
    names = [f"c{t}" for t in range(rows.shape[1])]
    nullable = pd.DataFrame(rows, columns=names).astype("Float64")
    for X in (
        np.ma.masked_invalid(rows),
        rows.tolist(),
        [[None if np.isnan(x) else x for x in row] for row in rows],
        nullable,
    ):
        model = KMeans(4, random_state=0, missing="partial").fit(X)
        assert same_bits(model, want)
        np.testing.assert_array_equal(model.predict(X), want.labels_)


def test_polars_and_arrow_tables_have_gaps_too():
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    rows, _ = groups(5, n=80)
    want = KMeans(4, random_state=0, missing="partial").fit(rows)
    columns = {f"c{t}": [None if np.isnan(x) else x for x in rows[:, t]] for t in range(8)}
    for X in (polars.DataFrame(columns), pyarrow.table(columns)):
        assert same_bits(KMeans(4, random_state=0, missing="partial").fit(X), want)


def refused(message, X, **keywords):
    with pytest.raises(ValueError, match=message):
        KMeans(2, missing="partial", **keywords).fit(X)


def test_rows_and_columns_without_values_are_refused():
    rows, _ = groups(6, n=30)
    empty = np.vstack([rows, np.full((2, 8), np.nan)])
    refused(r"at least one value in every row, got 2 of 32 rows without any\. Drop them", empty)
    column = np.where(np.arange(8) == 3, np.nan, rows)
    refused(r"one value in every column, got none in column 3\. Drop columns", column)
    frame = pd.DataFrame(column, columns=list("abcdefgh"))
    refused(r"got none in column 'd'", frame)
    model = KMeans(2, missing="partial", random_state=0).fit(rows)
    for n in (1, 20):
        with pytest.raises(ValueError, match=rf"got {n} of {n + 1} rows without any"):
            model.predict(np.vstack([rows[:1], np.full((n, 8), np.nan)]))


def test_other_input_is_refused_with_advice():
    rows, _ = groups(7, n=40)
    infinite = rows.copy()
    infinite[9, 2] = np.inf
    refused("contains infinity: 1 of 40 rows, in column 2.*replace infinity by NaN", infinite)
    refused(
        "`X` must be dense with missing='partial', got a sparse matrix. Zeros", sp.eye(5).tocsr()
    )
    refused("`init` must be finite, got NaN", rows, init=rows[1:3] * np.nan)
    refused("`quality` must be 'fast' where values are missing.*raise n_init", rows, quality="best")
    with pytest.raises(ValueError, match="`missing` must be 'error' or 'partial', got 'drop'"):
        KMeans(2, missing="drop").fit(rows)
    with pytest.raises(ValueError, match=r"impute .* or leave gaps: KMeans\(missing='partial'"):
        KMeans(2).fit(rows)
    dask = pytest.importorskip("dask.array")
    refused("rows in memory with missing='partial', got a Array", dask.from_array(rows))
    refused("rows in memory with missing='partial', got a file", "rows.npy")


def test_only_kmeans_has_the_parameter():
    with pytest.raises(TypeError, match="missing"):
        MiniBatchKMeans(2, missing="partial")


# --- runs ---


def test_a_user_may_stop_it_and_see_its_costs():
    rows, _ = groups(8)
    seen = []
    model = KMeans(6, init="random", n_init=1, random_state=0, missing="partial", tol=0,
                   callback=seen.append, halt=halting.MaxIter(3)).fit(rows)  # fmt: skip
    assert model.n_iter_ == len(seen) == 3
    assert {step.path for step in seen} == {"partial"}
    assert "every pass measures all distances" in model.paths_[0]
    again = KMeans(6, init=model.start_, n_init=1, missing="partial", max_iter=3, tol=0).fit(rows)
    assert same_bits(model, again)


def test_a_fit_goes_on_from_its_checkpoint(tmp_path):
    rows, path = groups(9)[0], tmp_path / "state"
    make = {"n_clusters": 6, "init": "random", "n_init": 3, "random_state": 0, "tol": 0.0}
    whole = KMeans(missing="partial", **make).fit(rows)
    stop = KMeans(missing="partial", callback=lambda step: step.iteration == 4, **make)
    stop.fit(rows, checkpoint=path)
    assert same_bits(KMeans(missing="partial", **make).fit(rows, resume=path), whole)


def test_several_starts_keep_the_best():
    rows, _ = groups(10, apart=1.5)
    one = KMeans(6, random_state=0, missing="partial").fit(rows)
    best = fit_several_starts(KMeans(6, random_state=0, missing="partial"), rows)
    assert best.inertia_ <= one.inertia_
    assert best.missing == "partial"


# --- what a fitted model offers ---


@pytest.fixture(scope="module")
def fitted():
    rows, _ = groups(11)
    return KMeans(4, random_state=0, missing="partial").fit(rows), rows


def test_completed_rows_have_the_labels_and_the_objective_of_the_fit(fitted):
    model, rows = fitted
    full = complete_rows(model, rows)
    np.testing.assert_array_equal(full[~np.isnan(rows)], rows[~np.isnan(rows)])
    np.testing.assert_array_equal(model.predict(full), model.labels_)
    assert model.score(full) == model.score(rows) == -model.inertia_
    assert complete_rows(model, full) is full


def test_factorize_counts_the_values_that_are_there(fitted):
    model, rows = fitted
    found = partita.factorize(model, rows)
    assert found.objective == pytest.approx(model.inertia_, rel=1e-12)
    total = np.nansum((rows - np.nanmean(rows, axis=0)) ** 2)
    assert found.explained_variance == pytest.approx(1 - model.inertia_ / total, rel=1e-9)


def test_what_needs_whole_rows_says_why(fitted):
    model, rows = fitted
    for call, reason in (
        (lambda: partita.merge_tree(model), "the features of a cluster differ in weight"),
        (
            lambda: partita.certify(rows, model),
            "no lower bounds are known of a sum over the values",
        ),
        (lambda: partita.plots.SilhouetteDisplay.from_estimator(model, rows), "some values are mi"),
        (lambda: partita.choose_k(rows, estimator=KMeans(missing="partial")), "impute the missing"),
    ):
        with pytest.raises(ValueError, match=reason):
            call()
    with pytest.raises(TypeError, match=r"merge\(\) is not available: .* do not merge\. Fit one"):
        model.merge(model)


def test_a_fit_to_whole_rows_offers_everything(fitted):
    model, rows = fitted
    full = complete_rows(model, rows)
    whole = KMeans(4, random_state=0, missing="partial").fit(full)
    assert not capabilities_of(whole).lacks
    assert partita.merge_tree(whole).cost_at(4) > 0
    assert whole.merge(whole).inertia_ == pytest.approx(2 * whole.stats_.sse.sum())
    np.testing.assert_array_equal(
        whole.predict(rows), squares(rows, whole.cluster_centers_).argmin(1)
    )


def test_copies_keep_what_was_missing(fitted):
    model, rows = fitted
    order = np.roll(np.arange(4), 1)
    other = copy.deepcopy(model)
    other.cluster_centers_ = model.cluster_centers_[order]
    moved = pickle.loads(pickle.dumps(model)).match(other)
    np.testing.assert_array_equal(moved.observed_weight_, model.observed_weight_[order])
    np.testing.assert_array_equal(moved.predict(rows), moved.labels_)
    refitted = copy.deepcopy(model).set_params(missing="error").fit(complete_rows(model, rows))
    assert not hasattr(refitted, "observed_weight_")


def test_reports_tell_what_is_missing(fitted, tmp_path):
    model, rows = fitted
    described = partita.describe(model, rows)
    assert described.grade == "unknown"  # borders need whole rows
    assert described.profile.typical.shape == (4, 8)
    assert described.missing == np.isnan(rows).mean()
    assert "of the values are missing; only the others count." in str(described)
    assert "only the others count" in described._repr_html_()
    pytest.importorskip("jinja2")
    from partita.report import Fitted, render, summarise

    summary = summarise(Fitted(model, rows))
    assert summary.of_fit
    assert (summary.filled, summary.left_missing) == (0, np.isnan(rows).sum())
    page = render(Fitted(model, rows))
    assert f"{np.isnan(rows).sum()} missing values were left out." in page
    assert "issing values are drawn at the center of their group" in page
    total = np.nansum((rows - np.nanmean(rows, axis=0)) ** 2)
    assert summary.explained_variance == pytest.approx(1 - model.inertia_ / total, rel=1e-9)
    assert summary.objective == model.inertia_
    found = {finding["name"]: finding for finding in summary.findings}["missing-values"]
    assert f"{100 * np.isnan(rows).mean():.3g} % of the values are missing" in found["evidence"]
