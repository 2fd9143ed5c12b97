"""Every criterion is a pure function of the trace, speaks in sentences, and combines."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from partita import KMeans, Progress
from partita.halting import (
    Deadline,
    Decrease,
    Halt,
    MaxIter,
    RelDecrease,
    SamePartition,
    Shift,
    Target,
    When,
)


def trace_of(*costs, shift=1.0, moved=3, seconds=0.5):
    return [
        Progress(i + 1, cost, cost, shift, moved, 0, seconds * (i + 1))
        for i, cost in enumerate(costs)
    ]


@pytest.mark.parametrize(
    ("halt", "fires", "goes_on"),
    [
        (MaxIter(2), trace_of(9, 8), trace_of(9)),
        (Shift(0.1), trace_of(9, shift=0.1), trace_of(9, shift=0.2)),
        (Shift(0.0), trace_of(9, shift=0.0), trace_of(9, shift=1e-300)),
        (Decrease(0.5), trace_of(9, 8.5), trace_of(9, 8.4)),
        (Decrease(0.0), trace_of(9, 9), trace_of(9, 8.9)),
        (RelDecrease(0.1), trace_of(10, 9.0), trace_of(10, 8.9)),
        (RelDecrease(0.0), trace_of(0, 0), trace_of(10)),
        (SamePartition(), trace_of(9, moved=0), trace_of(9, moved=1)),
        (Target(8), trace_of(9, 8), trace_of(9, 8.1)),
        (Deadline(1.0), trace_of(9, 8), trace_of(9)),
        (When(lambda trace: trace[-1].cost < 5), trace_of(4), trace_of(6)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_criterion_fires_with_a_sentence_and_only_when_it_should(halt, fires, goes_on):
    assert isinstance(halt.reason(fires), str)
    assert len(halt.reason(fires).split()) > 2
    assert halt.reason(goes_on) is None


def test_or_takes_the_first_reason_and_and_needs_all():
    either, both = MaxIter(5) | Target(8), MaxIter(2) & Target(8)
    assert "target" in either.reason(trace_of(9, 8))
    assert both.reason(trace_of(9)) is None
    assert both.reason(trace_of(9, 9)) is None
    assert " and " in both.reason(trace_of(9, 8))


def test_combinations_nest_and_show_themselves():
    halt = MaxIter(3) | (Shift(0.5) & (Target(1) | Deadline(9)))
    assert repr(halt) == "MaxIter(3) | (Shift(0.5) & (Target(1) | Deadline(9)))"
    assert halt.reason(trace_of(9, 1, shift=0.1)) is not None
    with pytest.raises(TypeError, match="combined with another"):
        MaxIter(3) | 5


def test_a_string_from_a_callable_is_the_reason():
    with pytest.raises(ValueError, match=r"`When.test` must be a callable, got 3\."):
        When(3)
    assert When(lambda trace: "the cat is hungry").reason(trace_of(1)) == "the cat is hungry"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MaxIter(0), "must be an integer >= 1"),
        (lambda: MaxIter(2.5), "must be an integer >= 1"),
        (lambda: Shift(-1), "must be a number >= 0"),
        (lambda: Decrease(math.nan), "must be a number >= 0"),
        (lambda: RelDecrease(-0.1), "must be a number >= 0"),
        (lambda: Deadline(-5), "must be a number >= 0"),
    ],
)
def test_impossible_criteria_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("halt", [Shift(0.0), Decrease(0.0), RelDecrease(0.0)], ids=repr)
def test_criteria_of_zero_tolerance_fire_at_a_fixed_point(halt):
    rows = load_iris().data
    model = KMeans(3, init=rows[:3], halt=When(lambda trace: halt.reason(trace))).fit(rows)
    assert model.stopped_by_ in (halt.reason(model.trace_), "no point changed its cluster")
    assert halt.reason(model.trace_) or model.trace_[-1].moved_points == 0


def test_a_fit_says_which_criterion_stopped_it():
    rows = load_iris().data
    start = rows[:3]
    expected = {
        "limit of 2 iterations": {"max_iter": 2},
        "no point changed": {"tol": 0},
        "not above the target": {"halt": Target(90.0)},
        "of itself": {"halt": RelDecrease(0.5)},
        "moved by": {"tol": 0.1},
        "budget": {"halt": Deadline(0.0)},
        "a callback requested": {"callback": lambda progress: progress.iteration == 2},
    }
    for text, keywords in expected.items():
        model = KMeans(3, init=start, **keywords).fit(rows)
        assert text in model.stopped_by_


def test_a_deadline_is_for_the_whole_fit():
    rows = np.random.default_rng(0).normal(size=(2000, 4))
    runs = []
    KMeans(8, n_init=50, halt=Deadline(0.0), callback=lambda p: runs.append(p.iteration)).fit(rows)
    assert runs == [1]


def test_criteria_refuse_python_logic():
    with pytest.raises(TypeError, match="combine with"):
        Shift(1) and MaxIter(2)


def test_tol_means_what_it_means_in_scikit_learn():
    from sklearn.cluster import KMeans as Peer

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 4)) * [1, 5, 0.1, 2]
    for tol in (1e-2, 1e-4, 1e-8):
        ours = KMeans(12, init=rows[:12], tol=tol).fit(rows)
        theirs = Peer(12, init=rows[:12], tol=tol, n_init=1).fit(rows)
        assert ours.n_iter_ == theirs.n_iter_


def test_a_reason_has_the_kinds_of_what_fired():
    kinds = {
        "max_iter": MaxIter(2),
        "shift": Shift(5.0),
        "decrease": Decrease(5.0),
        "rel_decrease": RelDecrease(0.9),
        "same_partition": SamePartition(),
        "target": Target(99),
        "deadline": Deadline(0.1),
        "when": When(lambda trace: "plain text"),
    }
    trace = trace_of(9, 8, moved=0)
    for kind, halt in kinds.items():
        assert halt.reason(trace).kind == kind
    either, both = MaxIter(2) | Shift(5.0), MaxIter(2) & kinds["when"]
    assert either.reason(trace).kinds == ("max_iter",)
    assert both.reason(trace).kinds == ("max_iter", "when")
    assert both.reason(trace).is_limit
    assert not Shift(5.0).reason(trace).is_limit


def test_a_criterion_of_the_user_may_return_plain_text():
    class Odd(Halt):
        def reason(self, trace):
            return "odd" if len(trace) % 2 else None

    assert (Odd() | MaxIter(9)).reason(trace_of(1)).kind == "when"
    assert (Odd() & Shift(5.0)).reason(
        trace_of(1)
    ) == "odd and the centers moved by 1, not more than 5"


def test_a_shift_of_zero_is_said_in_words():
    assert Shift(5.0).reason(trace_of(9, shift=0.0)) == "no center moved"
    assert Shift(0.0).reason(trace_of(9, shift=0.0)).kind == "shift"


def test_a_reason_survives_pickle_and_copy():
    reason = (MaxIter(1) & Shift(5.0)).reason(trace_of(1))
    for twin in (pickle.loads(pickle.dumps(reason)), copy.deepcopy(reason)):
        assert twin == reason
        assert twin.kinds == reason.kinds


def test_a_limit_may_be_an_integer_of_numpy():
    model = KMeans(8, halt=MaxIter(np.int64(1)), init="random", n_init=1, random_state=0)
    assert model.fit(np.random.default_rng(0).normal(size=(99, 2))).stopped_by_.kind == "max_iter"
