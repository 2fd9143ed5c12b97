"""The promises of the library, each a law under its own name."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.cases import adversaries, fit_from, labels_per_iteration, problems, same_bits
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris

import partita
from partita import KMeans
from partita._common.threads import Workers
from partita._kernels import reference
from partita.estimators.validation import make_source

pytestmark = [
    pytest.mark.filterwarnings("ignore:Number of distinct clusters"),
    pytest.mark.sanitize,
]
FLOATS = [np.float32, np.float64]
NAMES = list(adversaries(np.float64))


# --- 1. the same input and seed give the same bits ------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
def test_promise_1_same_bits_for_any_number_of_threads(dtype, weighted):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30_000, 6)).astype(dtype)  # enough for several blocks
    weight = rng.random(30_000) if weighted else None
    fits = [
        KMeans(25, random_state=3, max_iter=12, n_threads=threads).fit(rows, sample_weight=weight)
        for threads in (1, 2, 4)
    ]
    assert all(same_bits(fits[0], other) for other in fits[1:])


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_promise_1_same_bits_for_every_instruction_set(core, dtype, name):
    rows, _ = adversaries(dtype)[name]
    here = KMeans(9, random_state=1, max_iter=20, n_threads=1).fit(rows)
    core.use_instruction_set(core.instruction_sets()[0])
    best = KMeans(9, random_state=1, max_iter=20, n_threads=1).fit(rows)
    assert same_bits(here, best)


def run_in_fresh_python(code: str, **environment: str) -> str:
    """What a piece of Python prints in a fresh interpreter."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout


@pytest.mark.heavy
@pytest.mark.compiled
def test_promise_1_same_bits_without_the_compiled_core():
    code = """
import hashlib, numpy as np
from sklearn.datasets import load_digits
from partita import KMeans
rows = load_digits().data[:400]
model = KMeans(7, random_state=5).fit(rows, sample_weight=1 + np.arange(400) % 3)
bits = model.cluster_centers_.tobytes() + model.labels_.tobytes()
print(hashlib.sha256(bits).hexdigest(), model.inertia_.hex(), model.n_iter_)
"""
    assert run_in_fresh_python(code) == run_in_fresh_python(code, PARTITA_KERNEL="numpy")


# --- 2. labels and inertia belong to the returned centers -----------------------------------------


@pytest.mark.heavy
@given(problem=problems(), iterations=st.integers(1, 30))
def test_promise_2_labels_are_the_argmin_to_the_returned_centers(problem, iterations):
    rows, start = problem
    model = fit_from(rows, start, max_iter=iterations)
    centers = model.cluster_centers_.astype(np.float64)
    distance = reference.d64(rows, centers)
    np.testing.assert_array_equal(model.labels_, distance.argmin(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(rows))
    assert model.cluster_centers_.dtype == rows.dtype


@pytest.mark.heavy
@given(problem=problems(), iterations=st.integers(1, 30))
def test_promise_2_inertia_is_the_recomputed_objective(problem, iterations):
    rows, start = problem
    model = fit_from(rows, start, max_iter=iterations)
    gap = rows.astype(np.float64) - model.cluster_centers_.astype(np.float64)[model.labels_]
    assert math.isclose(model.inertia_, math.fsum((gap * gap).sum(axis=1)), rel_tol=1e-12)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_promise_2_at_a_fixed_point_the_trace_ends_at_the_inertia(dtype, name):
    rows, start = adversaries(dtype)[name]
    model = fit_from(rows, np.unique(start, axis=0))
    assert model.stopped_by_ == "no point changed its cluster"
    # beyond it, what rounding the centers to the dtype of X costs
    size = float(np.abs(model.stats_.mean).max()) * float(np.finfo(dtype).eps)
    rounded = 4 * size * math.sqrt(rows.size) * math.sqrt(model.inertia_) + rows.size * size**2
    assert abs(model.trace_[-1].cost_after - model.inertia_) <= 1e-12 * model.inertia_ + rounded


# --- 3. the trace of J never rises ----------------------------------------------------------------


def assert_never_rises(trace):
    for before, now in itertools.pairwise(trace):
        assert now.cost <= before.cost * (1 + 4e-16)
        assert now.cost <= before.cost_after * (1 + 4e-16)
    assert all(step.cost_after <= step.cost * (1 + 4e-16) for step in trace)


@pytest.mark.heavy
@given(problem=problems(), data=st.data())
def test_promise_3_the_trace_never_rises(problem, data):
    rows, start = problem
    kind = data.draw(st.sampled_from(["none", "whole", "real"]))
    rng = np.random.default_rng(0)
    weight = {"none": None, "whole": rng.integers(1, 9, len(rows)), "real": rng.random(len(rows))}
    assert_never_rises(fit_from(rows, start, sample_weight=weight[kind]).trace_)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_promise_3_the_trace_never_rises_on_adversaries(dtype, name):
    rows, start = adversaries(dtype)[name]
    assert_never_rises(fit_from(rows, start).trace_)


# --- 4. every path gives the labels of the twin at every iteration --------------------------------


def twin_labels_per_iteration(rows, start, limit):
    """The same in plain NumPy: D64 labels, and means as exact fractions rounded once."""
    seen, centers, origin = [], start.astype(np.float64), np.zeros(rows.shape[1])
    with Workers(1) as workers:
        frame = make_source(rows, None, workers).survey().grid.origin
    y = rows.astype(np.float64) - frame
    while len(seen) < limit:
        labels = reference.d64(rows, centers, origin).argmin(axis=1)
        if len(np.unique(labels)) < len(start):
            break
        seen.append(labels)
        if len(seen) > 1 and np.array_equal(labels, seen[-2]):
            break
        members = [y[labels == j].T for j in range(len(start))]
        centers = np.array(
            [[float(sum(map(Fraction, x)) / len(x)) for x in columns] for columns in members]
        )
        origin = frame
    return seen


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", NAMES)
def test_promise_4_labels_of_exact_lloyd_at_every_iteration(dtype, name):
    rows = adversaries(dtype)[name][0][:150]
    distinct = np.unique(rows, axis=0)
    start = distinct[:: -(-len(distinct) // 15)].copy()
    with Workers(2) as workers:
        ours = labels_per_iteration(make_source(rows, None, workers), start, 25)
    twin = twin_labels_per_iteration(rows, start, 25)
    assert len(ours) == len(twin) > 0
    for a, b in zip(ours, twin, strict=True):
        np.testing.assert_array_equal(a, b)


# --- 5. weights, order and offset -----------------------------------------------------------------


@pytest.mark.heavy
@given(problem=problems(), data=st.data())
def test_promise_5_weights_equal_repeats(problem, data):
    rows, start = problem
    times = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows))))
    times[0] += 1
    times *= data.draw(st.sampled_from([1, 1, 2, 6]))
    weighted = fit_from(rows, start, sample_weight=times.astype(float))
    assume(times.sum() >= len(start))
    repeated = fit_from(np.repeat(rows, times, axis=0), start)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, times), repeated.labels_)
    assert weighted.cluster_centers_.tobytes() == repeated.cluster_centers_.tobytes()
    assert weighted.n_iter_ == repeated.n_iter_
    assert weighted.inertia_ == repeated.inertia_


@pytest.mark.heavy
@pytest.mark.parametrize("unit", [1, 2, 3])
def test_promise_5_weights_equal_repeats_next_to_a_far_row(unit):
    """Whether an outlier has carried the mean away is asked of rows as often as they count."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(3, 7))
        rows = rng.integers(0, 3, (n, 1)) * 1e6 + rng.normal(size=(n, 2))
        times = rng.integers(0, 4, n) * unit
        times[0] += unit
        weighted = fit_from(rows, rows[:1], sample_weight=times.astype(float))
        repeated = fit_from(np.repeat(rows, times, axis=0), rows[:1])
        assert weighted.cluster_centers_.tobytes() == repeated.cluster_centers_.tobytes()


@pytest.mark.heavy
@given(problem=problems(), seed=st.integers(0, 1000))
def test_promise_5_rows_may_be_permuted(problem, seed):
    rows, start = problem
    order = np.random.default_rng(seed).permutation(len(rows))
    one, other = fit_from(rows, start), fit_from(rows[order], start)
    np.testing.assert_array_equal(one.labels_[order], other.labels_)
    assert one.cluster_centers_.tobytes() == other.cluster_centers_.tobytes()
    assert one.inertia_ == other.inertia_
    assert one.n_iter_ == other.n_iter_


@pytest.mark.heavy
@given(problem=problems(dtype=np.float64), offset=st.integers(-(2**20), 2**20))
def test_promise_5_adding_a_constant_changes_only_the_centers(problem, offset):
    rows, start = problem
    rows, start = np.round(rows * 64) / 64, np.round(start * 64) / 64  # x + c is exact
    one, other = fit_from(rows, start), fit_from(rows + offset, start + offset)
    assert one.n_iter_ == other.n_iter_
    assert [p.moved_points for p in one.trace_] == [p.moved_points for p in other.trace_]
    assert [p.cost_after for p in one.trace_] == [p.cost_after for p in other.trace_]
    np.testing.assert_allclose(other.cluster_centers_ - offset, one.cluster_centers_, atol=1e-8)


@pytest.mark.parametrize("value", [1e8, 1e16, 1e20, 1e30, 1e150])
@pytest.mark.parametrize("n", [30, 500])
def test_one_value_however_far_spoils_nobody_elses_cluster(n, value):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 2)) + 10 * rng.integers(0, 3, (n, 1))
    rows[0] = value
    start = rows[:4].copy()
    model = fit_from(rows, start)
    without = fit_from(rows[1:], start[1:])
    if (model.labels_[1:] > 0).all():  # the far row is alone
        np.testing.assert_array_equal(model.labels_[1:] - 1, without.labels_)
        np.testing.assert_allclose(model.cluster_centers_[1:], without.cluster_centers_, rtol=1e-9)
    distance = reference.d64(rows, model.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, distance.argmin(axis=1))


@pytest.mark.parametrize("power", [-540, -300, 300, 511])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_scaling_by_a_power_of_two_changes_nothing_but_the_scale(container, power):
    rows = np.random.default_rng(0).normal(size=(200, 5))
    one = fit_from(container(rows), rows[:6])
    other = fit_from(container(rows * 2.0**power), rows[:6] * 2.0**power)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert one.n_iter_ == other.n_iter_
    np.testing.assert_array_equal(other.predict(rows[:5] * 2.0**power), other.labels_[:5])


def test_weights_too_unequal_for_a_grid_still_give_the_same_bits_for_any_threads():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20_000, 3))
    weight = 10.0 ** rng.uniform(-200, 200, 20_000)
    fits = [
        KMeans(5, init=rows[:5], max_iter=5, n_threads=threads).fit(rows, sample_weight=weight)
        for threads in (1, 2)
    ]
    assert same_bits(*fits)


# --- 6 is test_bad_input.py; 7. importing costs nothing -------------------------------------------


def test_promise_7_import_loads_no_heavy_module_and_sets_nothing():
    code = """
import os, sys, threading
before = dict(os.environ)
import partita
partita.__version__, dir(partita)
heavy = [name for name in ("sklearn", "scipy", "scipy.sparse", "numpy", "partita._kernels.core")
         if name in sys.modules]
print(heavy, before == dict(os.environ), threading.active_count())
"""
    assert run_in_fresh_python(code).strip() == "[] True 1"


def test_every_public_name_resolves():
    for name in partita.__all__:
        assert getattr(partita, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        partita.nothing  # noqa: B018


# --- and on data that everybody has ---------------------------------------------------------------


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_sparse_and_dense_rows_give_the_same_fit(load):
    rows = load().data
    start = rows[:: len(rows) // 6][:6].copy()
    dense, sparse = fit_from(rows, start), fit_from(sp.csr_array(rows), start)
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_allclose(dense.cluster_centers_, sparse.cluster_centers_, rtol=1e-12)
    assert math.isclose(dense.inertia_, sparse.inertia_, rel_tol=1e-12)
