"""The scheduler: a path is one more row of a table, and is left as soon as it does not pay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partita._common.threads import Workers
from partita.centers import Centers
from partita.empty_clusters import POLICIES
from partita.engine.lloyd import LloydOptions
from partita.engine.paths import choice
from partita.engine.paths.path import PathCache, PathKind, PathPass, PathPlan
from partita.engine.paths.plain_path import PlainPath
from partita.engine.paths.scheduler import MAX_PATIENCE_PASSES, PassScheduler
from partita.engine.restarts import best_of
from partita.estimators.validation import make_source
from partita.halting import MaxIter
from partita.source.pass_price import plain_cost
from partita.source.protocol import batch_of

N, D, K = 60_000, 5, 30


class PricedPath(PlainPath):
    """The plain path by another name, at a price of its own."""

    name = "priced"

    def __init__(self, source, labels, share):
        super().__init__(source, labels, 0.0)
        self._cost = share * plain_cost(source.n, K, source.d)

    def assign(self, centers, sums):
        return PathPass(super().assign(centers, sums).moved, 0.5, self._cost)


def kind_at(share, trial=None, **keywords):
    """A kind whose passes cost a share of a plain one, and those of a trial another."""

    def start(start):
        if start.rows is None:
            return PricedPath(start.source, start.labels, share)
        few = batch_of(start.source, start.rows)
        return PricedPath(few, start.labels[start.rows], share if trial is None else trial)

    return PathKind("priced", lambda source, k: "a test", lambda source, k: 0.0, start, **keywords)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(K, D))[rng.integers(0, K, N)] * 3 + rng.normal(size=(N, D))


def run(rows, algorithm="auto", iterations=25):
    options = LloydOptions(K, MaxIter(iterations), POLICIES["relocate"], algorithm=algorithm)
    with Workers(2) as workers:
        return best_of(make_source(rows, None, workers), [lambda: rows[:K]], options)


def paths_of(rows, kind, monkeypatch):
    """Names of the paths of 40 passes that begin with a plan."""
    monkeypatch.setitem(choice.PATH_KINDS, "priced", kind)
    monkeypatch.setattr("partita.engine.paths.scheduler.MAX_MOVED_SHARE", 1.0)
    with Workers(1) as workers:
        source = make_source(rows[:6000], None, workers)
        passes = PassScheduler(source, PathPlan("priced", "a test"), PathCache())
        centers = Centers(rows[:K].copy(), np.zeros(D))
        return [passes.assign(centers, None)[0] for _ in range(40)], passes


def test_a_path_is_added_by_a_row_of_the_table(rows, monkeypatch):
    plain = run(rows, "plain")
    monkeypatch.setitem(choice.PATH_KINDS, "priced", kind_at(0.5))
    added = run(rows, "priced")
    assert [p.path for p in added.fit.trace] == ["plain"] + ["priced"] * 24
    assert {p.compared for p in added.fit.trace[1:]} == {0.5}
    np.testing.assert_array_equal(added.centers, plain.centers)
    np.testing.assert_array_equal(added.labels, plain.labels)


def test_a_path_begins_once_its_trial_pays(rows, monkeypatch):
    names, _ = paths_of(rows, kind_at(0.5), monkeypatch)
    first = names.index("priced")
    assert first > 1  # a plain pass for labels, and a pass for the trial
    assert set(names[first:]) == {"priced"}


def test_a_path_that_needs_nothing_makes_the_first_pass(rows, monkeypatch):
    kind = kind_at(0.5, needs_labels=False, needs_trial=False)
    names, _ = paths_of(rows, kind, monkeypatch)
    assert set(names) == {"priced"}


def test_a_trial_that_does_not_pay_is_repeated_ever_later(rows, monkeypatch):
    kind, tried = kind_at(1.5), []

    def start(start):
        tried.append(start.rows)
        return kind.start(start)

    names, _ = paths_of(rows, replace(kind, start=start), monkeypatch)
    assert set(names) == {"plain"}
    assert 1 < len(tried) < 40 / 2
    assert all(some is not None for some in tried)


def test_a_path_that_costs_more_than_promised_is_left_for_a_while(rows, monkeypatch):
    names, _ = paths_of(rows, kind_at(1.2, trial=0.1), monkeypatch)
    turns = [i for i, name in enumerate(names) if name == "priced"]
    assert len(turns) > 1
    gaps = np.diff(turns)
    assert gaps.min() > 1
    assert gaps.max() <= MAX_PATIENCE_PASSES + 3
    assert (np.diff(gaps) >= 0).all()


def test_a_path_may_name_another_to_turn_to(rows, monkeypatch):
    kind = kind_at(1.2, needs_labels=False, needs_trial=False,
                   instead=lambda k, why: PathPlan("plain", f"{why} of {k}"))  # fmt: skip
    names, passes = paths_of(rows, kind, monkeypatch)
    assert names == ["priced"] + ["plain"] * 39
    assert passes.notes == ["priced: a test", "plain: priced compared 50% of the pairs of 30"]


def test_no_path_begins_for_the_last_pass(rows, monkeypatch):
    monkeypatch.setitem(choice.PATH_KINDS, "priced", kind_at(0.1, needs_trial=False))
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        centers = Centers(rows[:K].copy(), np.zeros(D))
        names = []
        for ends in (False, True):
            passes = PassScheduler(source, PathPlan("priced", "a test"), PathCache())
            passes.assign(centers, None)
            if ends:
                passes.expect_end()
            names.append(passes.assign(centers, None)[0])
    assert names == ["priced", "plain"]


@pytest.mark.compiled
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_tight_groups_far_apart_are_compared_in_float64_at_once(offset):
    rng = np.random.default_rng(0)
    groups = rng.integers(-500, 500, (6, D)).astype(float) * 1e6 + offset
    rows = groups[rng.integers(0, 6, N)] + rng.normal(size=(N, D))
    with Workers(2) as workers:
        source, labels = make_source(rows, None, workers), np.full(N, -1, np.int32)
        centers = Centers(rows[:K].copy(), np.zeros(D))
        source.assign(centers, labels, None)
        assert source.scores_in_double
        passes = PassScheduler(source, PathPlan("panels", "a test"), PathCache())
        paths = [passes.assign(centers, None)[0] for _ in range(3)]
        assert "panels" not in paths
        assert (passes.labels == labels).all()
    nearest = [((row - rows[:K]) ** 2).sum(axis=1).argmin() for row in rows[:300]]
    assert (labels[:300] == nearest).all()


def test_groups_that_float32_separates_are_compared_in_float32(rows):
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        source.assign(Centers(rows[:K].copy(), np.zeros(D)), np.full(N, -1, np.int32), None)
        assert not source.scores_in_double
