"""The time left: exact where a run decays as assumed, near the truth in real ones, else silent."""

from __future__ import annotations

import math
from statistics import median

import numpy as np
import pytest
from helpers.progress import halving, record
from hypothesis import given
from hypothesis import strategies as st

from partita import KMeans, TrimmedKMeans
from partita.halting import (
    Deadline,
    Decrease,
    MaxIter,
    RelDecrease,
    SamePartition,
    Shift,
    Target,
    When,
)
from partita.progress.time_left import (
    MAX_FACTOR,
    TimeLeft,
    deadline,
    duration_text,
    iterations_left,
    seconds_left,
    steps_until,
)


@given(
    first=st.floats(1e-3, 1e6), factor=st.floats(0.05, 0.95), count=st.integers(2, 9),
    steps=st.integers(1, 40),
)  # fmt: skip
def test_a_sequence_that_decays_by_one_factor_is_extended_exactly(first, factor, count, steps):
    values = [first * factor**i for i in range(count)]
    assert steps_until(values, values[-1] * factor**steps) == pytest.approx(steps, rel=1e-6)


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [3.0], [1.0, 0.999, 0.998]])
def test_what_does_not_decay_has_no_known_end(values):
    assert steps_until(values, 0.01) is None


@pytest.mark.parametrize("limit", [0.0, math.nan])
def test_nothing_decays_to_zero(limit):
    assert steps_until([8.0, 4.0, 2.0], limit) == math.inf


def test_the_slowest_decay_that_counts_is_that_of_the_largest_factor():
    fast, slow = ([f**i for i in range(8)] for f in (MAX_FACTOR - 0.001, MAX_FACTOR + 0.001))
    assert steps_until(fast, 1e-3) > 0
    assert steps_until(slow, 1e-3) is None


def test_each_criterion_is_met_where_it_would_be():
    trace = halving(6)  # shift 16, 16 points moved, J fell by 16
    assert iterations_left(Shift(1.0), trace) == pytest.approx(4)
    assert iterations_left(Decrease(2.0), trace) == pytest.approx(3)
    assert iterations_left(RelDecrease(0.5), trace) == pytest.approx(5)  # of J = 1
    assert iterations_left(SamePartition(), trace) == pytest.approx(5)  # to half a point
    assert iterations_left(MaxIter(10), trace) == 4
    assert iterations_left(Shift(0.0), trace) == math.inf
    assert iterations_left(Deadline(9), trace) == math.inf
    for unknown in (Target(0.5), When(lambda trace: False)):
        assert iterations_left(unknown, trace) is None


def test_alternatives_end_at_the_first_and_conditions_at_the_last():
    trace = halving(6)
    assert iterations_left(MaxIter(8) | Shift(1.0), trace) == 2
    assert iterations_left(MaxIter(8) & Shift(1.0), trace) == pytest.approx(4)
    assert iterations_left(Target(0.0) | Shift(1.0), trace) == pytest.approx(4)
    assert iterations_left(Target(0.0) & MaxIter(8), trace) is None
    assert deadline(Deadline(9) | (Deadline(4) & Shift(1.0))) == 9
    assert deadline(MaxIter(4)) == math.inf


def test_a_limit_of_iterations_is_no_estimate_if_the_run_may_converge_before():
    trace, flat = halving(6), [record(i) for i in range(1, 7)]
    assert iterations_left(Target(0.0) | MaxIter(300), trace) is None
    assert iterations_left(SamePartition() | Shift(1e-3) | MaxIter(300), flat) is None
    assert iterations_left(SamePartition() | Shift(1e-3) | MaxIter(300), trace[:3]) is None
    assert iterations_left(Shift(0.0) | Deadline(9) | MaxIter(300), trace) == 294
    assert iterations_left(MaxIter(300) | MaxIter(200), trace) == 194


def test_nothing_is_claimed_before_a_few_iterations_except_from_a_limit():
    for count in (0, 1, 2, 3):
        assert seconds_left(Shift(1.0), halving(count)) == math.inf
    assert seconds_left(Shift(1.0), halving(4)) == pytest.approx(6.0)
    assert seconds_left(MaxIter(10), halving(2)) == 8.0


def test_seconds_are_those_of_the_last_iterations():
    trace = [record(i, seconds=10.0 + 3.0 * i) for i in (5, 6, 7)]
    assert seconds_left(MaxIter(9), trace) == 6.0


def test_the_trimmed_criterion_is_known_too():
    model = TrimmedKMeans(3, random_state=0, tol=1e-3)
    halts, X = [], np.random.default_rng(0).normal(size=(200, 2))

    class Hearing:
        def __call__(self, progress): ...

        def __partita_run__(self, start):
            halts.append(start.halt)

    model.set_params(callback=Hearing()).fit(X)
    assert iterations_left(halts[0], halving(6, start=2**20)) > 0


def test_estimates_are_near_the_truth_in_fits():
    """Half-way through fits of unclear groups, most estimates are off by less than a factor 2."""
    errors = []
    for seed in range(12):
        X = np.random.default_rng(seed).normal(size=(3000, 2 + seed % 3))
        trace = KMeans(8, random_state=seed, tol=1e-4).fit(X).trace_
        criterion = Shift(trace[-1].shift * 1.0001) | SamePartition()
        half = len(trace) // 2
        left = iterations_left(criterion, trace[:half])
        if left is not None:
            errors.append(abs(math.log(left / (len(trace) - half))))
    assert len(errors) >= 9
    assert median(errors) < math.log(2)


def test_texts_of_durations_and_of_the_time_left():
    assert duration_text(0.0) == "1 s"
    assert [duration_text(s) for s in (59.4, 60, 3600, 36000)] == [
        "59 s",
        "1.0 min",
        "1.0 h",
        "10 h",
    ]
    assert str(TimeLeft(12.0)) == "about 12 s left"
    assert str(TimeLeft(125.0, is_limit=True)) == "at most 2.1 min left"


@given(seconds=st.floats(0, 1e6))
def test_a_duration_reads_within_a_twentieth_or_a_second(seconds):
    number, unit = duration_text(seconds).split()
    scale = {"s": 1, "min": 60, "h": 3600}[unit]
    assert abs(float(number) * scale - seconds) <= max(1.0, 0.06 * seconds)
