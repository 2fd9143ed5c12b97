"""Starts, randomness, callbacks, halting and traces of `KMeans`."""

from __future__ import annotations

import copy
import itertools
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn.cluster
from helpers.iris_fits import (
    CONTAINERS,
    FRAMES,
    IRIS,
    STARTS,
    assert_same_fit,
    fit_iris,
    near_rows,
)
from sklearn.base import clone
from sklearn.datasets import load_digits

from partita import KMeans, Progress, Trace
from partita.halting import Deadline, MaxIter, RelDecrease, SamePartition, Target

# --- randomness ----------------------------------------------------------------------------------


def random_fit(random_state, init="random"):
    """One random start of many clusters: another stream gives another result."""
    return KMeans(20, init=init, n_init=1, random_state=random_state).fit(IRIS)


@pytest.mark.parametrize("init", STARTS)
@pytest.mark.parametrize("state", [int, np.int64, np.random.RandomState, np.random.default_rng])
def test_the_same_state_gives_the_same_bits(init, state):
    assert_same_fit(random_fit(state(3), init), random_fit(state(3), init))


@pytest.mark.parametrize("state", [np.random.RandomState(3), np.random.default_rng(3)])
def test_a_stream_goes_on_from_one_fit_to_the_next(state):
    assert random_fit(state).inertia_ != random_fit(state).inertia_


def test_an_int_gives_the_same_bits_in_a_second_fit_of_the_same_model():
    model = random_fit(3)
    assert_same_fit(copy.deepcopy(model).fit(IRIS), model)


@pytest.mark.parametrize("state", [None, np.random])
def test_without_a_state_the_global_one_of_numpy_decides(state):
    before = np.random.get_state()  # noqa: NPY002
    try:
        np.random.seed(5)  # noqa: NPY002
        first, second = random_fit(state), random_fit(state)
        np.random.seed(5)  # noqa: NPY002
        assert_same_fit(random_fit(state), first)
        assert first.inertia_ != second.inertia_
    finally:
        np.random.set_state(before)  # noqa: NPY002


def test_random_and_forgy_are_two_names_of_one_start():
    assert_same_fit(random_fit(0, "random"), random_fit(0, "forgy"))


# --- starts --------------------------------------------------------------------------------------


class Recorded:
    """A start that gives centers in turn and remembers what it was called with."""

    def __init__(self, *starts):
        self.starts = itertools.cycle(starts)
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return next(self.starts)


def test_a_callable_gets_the_rows_the_number_of_clusters_and_a_random_state():
    init = Recorded(IRIS[:3])
    KMeans(3, init=init, n_init=1).fit(IRIS)
    (((rows, k), kwargs),) = init.calls
    np.testing.assert_array_equal(rows, IRIS)
    assert k == 3
    assert kwargs.keys() == {"random_state"}
    assert isinstance(kwargs["random_state"], np.random.RandomState)


def test_a_callable_is_given_other_randomness_at_every_start_and_the_same_by_seed():
    def draws(seed):
        init = Recorded(IRIS[:3])
        KMeans(3, init=init, random_state=seed).fit(IRIS)
        return [kwargs["random_state"].randint(2**31) for _, kwargs in init.calls]

    assert len(set(draws(0))) == 10
    assert draws(0) == draws(0) != draws(1)


def test_a_start_of_scikit_learn_can_be_the_callable():
    def seeding(rows, k, random_state):
        return sklearn.cluster.kmeans_plusplus(rows, k, random_state=random_state)[0]

    assert KMeans(3, init=seeding, random_state=0).fit(IRIS).inertia_ < 79


@pytest.mark.parametrize("cls", [KMeans, sklearn.cluster.KMeans], ids=["ours", "scikit-learn"])
def test_a_fitted_model_as_start_lends_its_centers(cls):
    first = cls(3, init=near_rows(IRIS, 3), n_init=1).fit(IRIS)
    again = KMeans(3, init=first).fit(IRIS)
    assert again.n_iter_ <= 2
    np.testing.assert_array_equal(again.labels_, first.labels_)


def test_a_model_may_go_on_from_itself():
    model = fit_iris(8, max_iter=2)
    model.set_params(init=model, max_iter=300).fit(IRIS)
    assert model.inertia_ == pytest.approx(fit_iris(8).inertia_, rel=1e-12)
    assert_same_fit(pickle.loads(pickle.dumps(model)), model)
    assert "KMeans" in repr(model)
    assert model.get_params()["init"] is model


def test_a_clone_keeps_the_centers_of_the_model_it_starts_from():
    model = KMeans(3, init=fit_iris()).fit(IRIS)
    assert_same_fit(clone(model).fit(IRIS), model)


@pytest.mark.parametrize(
    "make", [np.ndarray.tolist, np.asfortranarray, np.float32, sp.csr_array, *FRAMES.values()]
)
def test_given_centers_may_come_in_any_container(make):
    init = np.float32(near_rows(IRIS, 3)).astype(np.float64)
    assert_same_fit(KMeans(3, init=make(init)).fit(IRIS), fit_iris(init=init))


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("init", STARTS)
def test_every_named_start_with_ten_runs_finds_the_three_irises(init, make):
    model = KMeans(3, init=init, n_init=10, random_state=0).fit(make(IRIS))
    assert model.inertia_ == pytest.approx(78.851441426, rel=1e-9)


@pytest.mark.parametrize(
    ("init", "n_init", "runs"),
    [
        *[(init, "auto", 1) for init in STARTS[:2]],
        *[(init, "auto", 10) for init in STARTS[2:]],
        *[(init, 3, 3) for init in STARTS],
        (lambda rows, k, random_state: rows[:k], "auto", 10),
        (lambda rows, k, random_state: rows[:k], 2, 2),
        (IRIS[:3], "auto", 1),
        (IRIS[:3], 1, 1),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_n_init_is_the_number_of_runs(init, n_init, runs):
    heard = []
    KMeans(3, init=init, n_init=n_init, random_state=0, callback=heard.append).fit(IRIS)
    assert sum(progress.iteration == 1 for progress in heard) == runs


def test_the_best_of_several_runs_is_kept():
    starts = [near_rows(IRIS, 8, seed) for seed in range(5)]
    alone = [KMeans(8, init=start).fit(IRIS) for start in starts]
    best = min(alone, key=lambda model: model.inertia_)
    together = KMeans(8, init=Recorded(*starts), n_init=5).fit(IRIS)
    assert_same_fit(together, best)
    assert together.trace_[-1].cost == best.trace_[-1].cost


@pytest.mark.parametrize("init", [IRIS[:3], IRIS[:3].tolist(), fit_iris()])
def test_several_runs_from_given_centers_are_one_and_a_warning(init):
    with pytest.warns(RuntimeWarning, match=r"performing only one init .* instead of n_init=5"):
        model = KMeans(3, init=init, n_init=5).fit(IRIS)
    assert_same_fit(model, KMeans(3, init=init).fit(IRIS))


# --- the course of a fit -------------------------------------------------------------------------


def test_a_callback_hears_every_record_of_the_trace_in_turn():
    heard = []
    model = fit_iris(8, callback=heard.append)
    assert all(isinstance(progress, Progress) for progress in heard)
    assert tuple(heard) == model.trace_.records


@pytest.mark.parametrize("answer", [True, np.True_])
def test_a_callback_that_returns_true_stops_the_fit_and_is_named_as_the_reason(answer):
    model = fit_iris(8, callback=lambda progress: answer if progress.iteration == 2 else None)
    assert model.n_iter_ == 2
    assert "requested a stop" in model.stopped_by_
    np.testing.assert_array_equal(model.predict(IRIS), model.labels_)


@pytest.mark.parametrize("answer", [None, False, 0, "going on", {}])
def test_any_other_answer_of_a_callback_lets_the_fit_go_on(answer):
    assert_same_fit(fit_iris(8, callback=lambda progress: answer), fit_iris(8))


def test_halt_takes_the_place_of_tol():
    assert fit_iris(8, tol=1e9).n_iter_ == 1
    assert_same_fit(fit_iris(8, tol=1e9, halt=Deadline(3600)), fit_iris(8, tol=0))


def test_halt_leaves_max_iter_and_the_fixed_point_in_force():
    limited = fit_iris(8, halt=Deadline(3600), max_iter=2)
    assert (limited.n_iter_, limited.stopped_by_) == (2, "the limit of 2 iterations was reached")
    converged = fit_iris(8, halt=MaxIter(100) & Target(0.0))
    assert converged.stopped_by_ == "no point changed its cluster"


@pytest.mark.parametrize(
    ("halt", "reason"),
    [
        (MaxIter(1), "the limit of 1 iteration was reached"),
        (Target(1e9), "target"),
        (Deadline(0), "have passed"),
        (RelDecrease(0.5), "cost fell"),
        (SamePartition(), "no point changed its cluster"),
        (MaxIter(2) & Target(1e9), "limit of 2 .* and .* target"),
    ],
    ids=repr,
)
def test_the_reason_for_stopping_is_said(halt, reason):
    model = fit_iris(8, halt=halt)
    assert re.search(reason, model.stopped_by_)


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_trace_tells_a_descent_to_a_fixed_point(make, weighted):
    rows = load_digits().data
    weight = np.random.default_rng(0).random(len(rows)) if weighted else None
    model = KMeans(10, random_state=0, tol=0).fit(make(rows), sample_weight=weight)
    trace = model.trace_
    assert isinstance(trace, Trace)
    assert [progress.iteration for progress in trace] == list(range(1, model.n_iter_ + 1))
    costs = [cost for progress in trace for cost in (progress.cost, progress.cost_after)]
    assert all(after <= before * (1 + 1e-15) for before, after in itertools.pairwise(costs))
    assert costs[-1] == pytest.approx(model.inertia_, rel=1e-12)
    assert trace[0].moved_points == len(rows)
    assert all(progress.moved_points > 0 for progress in trace[:-1])
    assert (trace[-1].moved_points, trace[-1].shift) == (0, 0)
    seconds = [progress.seconds for progress in trace]
    assert seconds == sorted(seconds)
    assert model.stopped_by_ == "no point changed its cluster"


def test_a_trace_is_a_sequence_of_frozen_records():
    trace = fit_iris(8).trace_
    assert len(trace) == len(list(trace)) == len(trace[:2]) + len(trace[2:])
    assert trace[-1] is trace.records[-1]
    with pytest.raises(AttributeError):
        trace[0].cost = 0.0


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        (None, pd.DataFrame),
        ("pandas", pd.DataFrame),
        ("polars", pl.DataFrame),
        ("pyarrow", pa.Table),
    ],
)
def test_a_trace_becomes_a_frame_of_any_library(library, kind):
    trace = fit_iris(8).trace_
    frame = trace.to_frame(library)
    assert isinstance(frame, kind)
    columns = trace.to_dict()
    assert {"iteration", "cost", "shift", "moved_points", "empty", "seconds"} <= columns.keys()
    assert all(len(values) == len(trace) for values in columns.values())
    for name, values in columns.items():
        assert list(np.asarray(frame[name])) == values


def test_a_frame_of_an_unknown_library_is_refused_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"`library` must be 'pandas', 'polars', 'pyarrow' or None, got 'excel'"
    ):
        fit_iris().trace_.to_frame("excel")


def test_verbose_prints_one_line_per_iteration_and_the_reason(capsys):
    model = fit_iris(8, verbose=1)
    *lines, last = capsys.readouterr().out.splitlines()
    told = [line for line in lines if line.startswith("Iteration")]
    assert told == [
        f"Iteration {progress.iteration - 1}, inertia {progress.cost}." for progress in model.trace_
    ]
    assert model.stopped_by_ in last


def test_verbose_tells_why_every_run_stopped(capsys):
    KMeans(8, init="random", n_init=4, random_state=0, verbose=1).fit(IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert sum("no point changed its cluster" in line for line in lines) == 4


def test_verbose_tells_the_inertias_that_scikit_learn_tells(capsys):
    def inertias(model):
        model.fit(IRIS)
        lines = capsys.readouterr().out.splitlines()
        told = [line.rstrip(".").split(" inertia ") for line in lines]
        return {line[0]: float(line[1]) for line in told if len(line) == 2}

    params = {"n_clusters": 8, "init": near_rows(IRIS, 8), "n_init": 1, "verbose": 1, "tol": 0}
    theirs = inertias(sklearn.cluster.KMeans(**params))
    assert inertias(KMeans(**params)) == pytest.approx(theirs, rel=1e-9)


def test_a_silent_fit_prints_nothing(capsys):
    fit_iris()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
