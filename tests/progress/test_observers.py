"""Observers hear where work begins and ends; any callable is a callback without that."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from unittest.mock import Mock

import numpy as np
import pytest
from helpers.progress import MEMBERS, ROWS, make

from partita import BisectingKMeans, KernelKMeans, KMeans, KMedoids, MiniBatchKMeans
from partita.estimators.base import Clusterer
from partita.estimators.registry import member_class
from partita.halting import Deadline, MaxIter, SamePartition, StopReason
from partita.observers import (
    RunStart,
    WatchedTask,
    announce,
    is_interrupt,
    is_requested,
    requested_stop,
    watching,
)
from partita.trace import Progress


class Diary:
    """An observer that writes down what it hears."""

    def __init__(self, answer=None):
        self.heard, self.answer = [], answer

    def __call__(self, progress):
        self.heard.append(progress)
        return self.answer

    @contextmanager
    def __partita_watch__(self, task):
        self.heard.append(task)
        try:
            yield
        finally:
            self.heard.append("end")

    def __partita_run__(self, start):
        self.heard.append(start)

    def __deepcopy__(self, memo):
        return self

    def of(self, kind):
        return [one for one in self.heard if isinstance(one, kind)]


@pytest.mark.parametrize("name", MEMBERS)
def test_every_member_tells_of_beginning_runs_iterations_and_end(name):
    diary = Diary()
    model = make(name, callback=diary).fit(ROWS)
    assert diary.heard[0] == WatchedTask("fit", name)
    assert diary.heard[-1] == "end"
    assert diary.heard.count("end") == 1
    starts, records = diary.of(RunStart), diary.of(Progress)
    assert [start.run for start in starts] == list(range(1, starts[0].runs + 1))
    assert isinstance(diary.heard[1], RunStart)
    assert [record.iteration for record in records].count(1) == len(starts)
    assert set(model.trace_) <= set(records)


@pytest.mark.parametrize("name", MEMBERS)
def test_the_methods_that_fit_are_watched_once_and_look_as_they_did(name):
    for method in ("fit", "fit_predict", "fit_transform"):
        diary = Diary()
        getattr(make(name, callback=diary), method)(ROWS)
        assert len(diary.of(WatchedTask)) == 1
    cls = member_class(name)
    assert cls.fit.__name__ == "fit"
    assert "sample_weight" in inspect.signature(cls.fit).parameters
    assert cls.fit.__doc__


@pytest.mark.parametrize("member", [KMeans, KernelKMeans, KMedoids])
def test_every_run_is_announced_with_its_number(member):
    diary = Diary()
    member(5, init="random", n_init=3, random_state=0, callback=diary).fit(ROWS)
    assert [(start.run, start.runs) for start in diary.of(RunStart)] == [(1, 3), (2, 3), (3, 3)]


def test_a_run_is_announced_with_the_criterion_that_ends_it():
    for member in (KMeans, KernelKMeans, KMedoids):
        diary, halt = Diary(), Deadline(1e6)
        member(5, random_state=0, max_iter=7, halt=halt, callback=diary).fit(ROWS)
        parts = diary.of(RunStart)[0].halt.parts
        assert halt in parts
        assert MaxIter(7) in parts
        assert (SamePartition() in parts) == (member is not KMedoids)
    diary = Diary()
    BisectingKMeans(5, random_state=0, callback=diary).fit(ROWS)
    assert MaxIter(4) in diary.of(RunStart)[0].halt.parts
    diary = Diary()
    MiniBatchKMeans(5, random_state=0, halt=MaxIter(3), callback=diary).fit(ROWS)
    assert diary.of(RunStart)[0].halt == MaxIter(3)


def test_a_search_is_open_ended_and_has_its_budget():
    diary = Diary()
    model = KMeans(5, time_budget=1e6, random_state=0, callback=diary).fit(ROWS)
    assert diary.heard[0] == WatchedTask("fit", "KMeans")  # a deadline of the runs
    assert Deadline(1e6) in diary.of(RunStart)[0].halt.parts
    model.set_params(quality="balanced").fit(ROWS)
    search = WatchedTask("fit", "KMeans", 1e6, is_open_ended=True)
    assert diary.of(WatchedTask)[1] == search
    KMedoids(k_range=(2, 4), random_state=0, callback=diary).fit(ROWS)
    assert diary.of(WatchedTask)[2].is_open_ended


def test_one_cluster_needs_no_split_so_no_run_is_announced():
    diary = Diary()
    BisectingKMeans(1, random_state=0, callback=diary).fit(ROWS)
    assert diary.of(RunStart) == []


def test_a_member_of_ones_own_is_watched_too():
    class OwnKMeans(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            return super().fit(X, sample_weight=sample_weight)

    assert issubclass(OwnKMeans, Clusterer)
    diary = Diary()
    OwnKMeans(3, random_state=0, callback=diary).fit(ROWS)
    assert {task.name for task in diary.of(WatchedTask)} == {"OwnKMeans"}


def test_an_error_ends_the_watch():
    diary = Diary()
    with pytest.raises(ValueError, match="NaN"):
        KMeans(3, callback=diary).fit(ROWS * np.nan)
    assert diary.heard == [WatchedTask("fit", "KMeans"), "end"]


@pytest.mark.parametrize("callback", [print, [].append, Mock(return_value=None), lambda p: 0])
def test_any_callable_is_a_callback(callback, capsys):
    assert not hasattr(callback, "__partita_watch__")
    model = KMeans(3, random_state=0, callback=callback).fit(ROWS)
    assert not model.stopped_by_.is_limit


def test_of_equal_observers_one_watches():
    diary = Diary()
    with watching(WatchedTask("fit", "a"), diary, None, print, diary):
        pass
    assert diary.heard == [WatchedTask("fit", "a"), "end"]
    announce([diary, print], RunStart(1, 1))
    assert diary.heard[-1] == RunStart(1, 1)


def test_an_answer_may_be_a_reason():
    reason = StopReason("enough is known", "enough")
    model = KMeans(5, n_init=3, random_state=0, callback=lambda progress: reason).fit(ROWS)
    assert model.stopped_by_ == reason
    assert model.stopped_by_.kinds == ("enough", "callback")
    assert model.stopped_by_.is_limit


def test_what_counts_as_a_request():
    assert requested_stop(np.True_).kind == requested_stop(1).kind == "callback"
    for answer in (None, False, 0, "stop", 1.0, np.ones(2), []):
        assert requested_stop(answer) is None
    interrupt = StopReason("Ctrl-C", "interrupt")
    assert requested_stop(interrupt) is interrupt
    assert is_requested(interrupt)
    assert is_interrupt(interrupt)
    for other in (StopReason("late", "deadline"), "Ctrl-C", None):
        assert not is_requested(other)
        assert not is_interrupt(other)
