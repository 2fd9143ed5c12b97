"""What a line says, by the records that it has received and the time on its clock."""

from __future__ import annotations

import pytest
from helpers.progress import SetClock, halving, record

from partita import ExactProgress
from partita.certificates.certificate import BoundProgress
from partita.choosing.sweep_run import SweepProgress
from partita.halting import Deadline, MaxIter, SamePartition, Shift, When
from partita.observers import RunStart, WatchedTask
from partita.progress.lines import MIN_SECONDS, STOPPING, line_of

UNKNOWN = When(lambda trace: False)


class Told:
    """A line with a clock that a test sets."""

    def __init__(self, kind="fit", seconds=None, **task):
        self.clock = SetClock()
        self.line = line_of(WatchedTask(kind, "KMeans", seconds, **task), self.clock)

    def run(self, run, runs, halt=UNKNOWN):
        self.line.note_run(RunStart(run, runs, halt))

    def hear(self, *records, each=1.0):
        for one in records:
            self.clock.now += each
            self.line.note(one)

    def wait(self, seconds):
        self.clock.now += seconds

    @property
    def words(self):
        return self.line.text().words

    @property
    def share(self):
        return self.line.text().share


def test_work_is_due_after_half_a_second():
    told = Told()
    assert not told.line.is_due
    told.wait(MIN_SECONDS)
    assert told.line.is_due


def test_without_a_known_end_the_line_pulses_and_says_how_long_it_has_taken():
    told = Told()
    told.run(1, 1)
    told.wait(3.0)
    assert told.words == "3 s so far"
    told.hear(*halving(6))
    assert told.share is None
    assert told.words == "9 s so far, iteration 6, J 1"


def test_the_time_left_of_a_run_comes_from_its_decay_and_goes_down_with_the_clock():
    told = Told()
    told.run(1, 1, Shift(1.0))
    told.hear(*halving(6))
    assert told.words == "about 4 s left, iteration 6, J 1"
    assert told.share == pytest.approx(0.6)
    told.wait(2.0)
    assert told.words.startswith("about 2 s left")
    assert told.share == pytest.approx(0.8)


def test_an_estimate_that_was_too_low_is_no_longer_claimed():
    told = Told()
    told.run(1, 1, Shift(1.0))
    told.hear(*halving(6))
    told.wait(30.0)
    assert told.words.startswith("36 s so far")
    assert told.share is None


def test_a_deadline_is_a_limit():
    told = Told()
    told.run(1, 5, UNKNOWN | Deadline(20))
    told.hear(*halving(6))
    assert told.words == "at most 14 s left, start 1 of 5, iteration 6, J 1"
    told.run(1, 5, Shift(1.0) | Deadline(7))
    told.hear(*halving(6))
    assert told.words.startswith("at most 1 s left")


def test_runs_to_come_take_as_long_as_those_so_far():
    told = Told()
    told.run(1, 4, Shift(1.0))
    told.hear(*halving(3))
    assert told.words == "3 s so far, start 1 of 4, iteration 3, J 1"  # no guess
    told.hear(*halving(6)[3:])
    assert told.words == "about 34 s left, start 1 of 4, iteration 6, J 1"  # 4, and 3 runs of 10
    told.wait(4.0)
    told.run(2, 4, Shift(1.0))
    told.hear(halving(1)[0])
    assert told.words == "about 29 s left, start 2 of 4, iteration 1, J 1"
    assert told.share == pytest.approx(11 / 40)


def test_the_only_run_and_an_unknown_number_of_runs():
    told = Told()
    told.run(1, 1, MaxIter(8))
    told.hear(*halving(6))
    assert told.words == "about 2 s left, iteration 6, J 1"
    told.run(3, None)
    told.hear(*halving(2))
    assert told.words == "8 s so far, start 3, iteration 2, J 1"


def test_another_run_that_nobody_announced_begins_again():
    told = Told()
    told.run(1, 1, SamePartition())
    told.hear(*halving(6), record(1), record(2))
    assert told.words == "8 s so far, iteration 2, J 1"


def test_a_long_iteration_that_is_heard_of_several_times_counts_once():
    told = Told()
    told.run(1, 1, MaxIter(8))
    told.hear(*halving(3), *[record(4, seconds=3.5), record(4, seconds=4.0)], each=0.5)
    assert told.words == "about 4 s left, iteration 4, J 1"


def test_a_search_has_a_limit_or_no_known_end():
    told = Told(is_open_ended=True)
    told.run(1, 1, Shift(1.0))
    told.hear(*halving(6), record(17, cost=0.123456789, path="search"))
    assert told.words == "7 s so far, local search 17, J 0.123457"
    told = Told(is_open_ended=True, seconds=60.0)
    told.hear(*halving(6))
    assert told.words == "at most 54 s left, iteration 6, J 1"
    told.wait(60.0)
    assert told.words.startswith("1.1 min so far")


def test_a_sweep_counts_the_fits_of_a_stage():
    told = Told("sweep")
    told.hear(record(4))
    assert told.words == "1 s so far, iteration 4"
    told.hear(SweepProgress("fits", 1, 9, 20, 0.0))
    assert (told.words, told.share) == ("2 s so far, fits 1 of 9, K = 20", pytest.approx(1 / 9))
    told.hear(SweepProgress("fits", 2, 9, 19, 0.0), SweepProgress("fits", 3, 9, 18, 0.0), each=2)
    assert told.words == "about 12 s left in this stage, fits 3 of 9, K = 18"
    told.hear(record(2))
    assert told.words.endswith("fits 3 of 9, K = 18, iteration 2")
    told.hear(SweepProgress("references", 1, 11, None, 0.0))
    assert told.words == "8 s so far, uniform data 1 of 11"
    told.hear(SweepProgress("references", 11, 11, None, 0.0))
    assert told.words == "9 s so far, uniform data 11 of 11"


def test_bounds_have_a_gap_and_a_limit():
    told = Told("bounds", 10.0)
    told.wait(1.0)
    assert told.words == "at most 9 s left, no bound yet"
    told.hear(BoundProgress(1.0, "spectral", 75.0, 100.0))
    assert told.words.replace("\u202f", " ") == "at most 8 s left, spectral: gap 25 %"
    assert told.share == pytest.approx(0.2)
    told = Told("bounds")
    told.hear(ExactProgress(100.0, 75.0, 12, 1.0))
    assert told.words.replace("\u202f", " ") == "1 s so far, 12 nodes: gap 25 %"


def test_a_line_of_unknown_kind_shows_the_time():
    told = Told("something")
    told.hear("anything")
    assert told.words == "1 s so far"


def test_after_ctrl_c_the_line_says_so_first():
    told = Told()
    told.line.is_stopping = lambda: True
    told.hear(*halving(2))
    assert told.words == f"{STOPPING}, 2 s so far, iteration 2, J 1"


def test_a_line_never_shows_a_percentage_of_a_fit():
    told = Told()
    told.run(1, 3, Shift(1.0))
    for one in halving(9):
        told.hear(one)
        assert "%" not in told.words
