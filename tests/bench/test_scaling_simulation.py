"""Laws of the simulated cluster; the constants are round numbers, not those of a machine."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "bench"
if not (BENCH / "scaling").is_dir():
    pytest.skip("the benchmarks are not here", allow_module_level=True)


@pytest.fixture(scope="module", autouse=True)
def bench_on_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCH), *sys.path])
        yield


def compute():
    from scaling.constants import Compute

    pico = dict.fromkeys(Compute.__slots__, 1e-10)
    return Compute(**{**pico, "pair_value": 2e-11, "pruned_factor": 1.5})


def decline():
    from scaling.constants import Decline

    return [Decline(1.0, 1.0), Decline(0.5, 0.01), Decline(0.1, 1e-5)]


def problem(n=1e9, k=100_000, partitions=400):
    from scaling.fit_model import Problem

    return Problem(n, 32, k, partitions, decline())


def cluster(**settings):
    from scaling.simulation import Cluster

    return Cluster(**{"cores": 4, "spread": 0.0, **settings})


def seconds(at, of, step=0, seed=0):
    from scaling.simulation import simulate_pass

    return simulate_pass(compute(), at, of, decline()[step], seed)


def test_time_falls_with_workers_until_the_reduce_dominates():
    times = [seconds(cluster(workers=w), problem(partitions=4 * w)) for w in (1, 4, 16, 64, 256)]
    totals = [time.total for time in times]
    assert totals[0] > 3.5 * totals[1] > 10 * totals[2]
    assert np.all(np.diff([time.compute for time in times]) < 0)
    settings = {"fan_in": None, "only_changed": False, "task": 0.0}
    flat = [
        seconds(cluster(workers=w, **settings), problem(1e7, partitions=4 * w))
        for w in (4, 16, 64, 256)
    ]
    assert np.all(np.diff([time.reduce for time in flat]) > 0)
    assert flat[-1].total > flat[1].total  # more workers, more time
    assert flat[-1].reduce > 0.5 * flat[-1].total


def test_a_tree_beats_a_driver_that_adds_all_sums_of_many_centers():
    tree, flat = (seconds(cluster(fan_in=fan), problem()) for fan in (8, None))
    assert flat.reduce > 5 * tree.reduce
    assert flat.total > tree.total


def test_a_seed_determines_the_times():
    slow = cluster(spread=0.3, lost_per_hour=1.0)
    assert seconds(slow, problem(), seed=5) == seconds(slow, problem(), seed=5)
    assert seconds(slow, problem(), seed=5) != seconds(slow, problem(), seed=6)


def test_stragglers_cost_less_with_several_partitions_a_core():
    def waiting(partitions):
        times = [
            seconds(cluster(spread=0.3, task=0.0), problem(partitions=partitions), seed=i)
            for i in range(5)
        ]
        return sum(time.stragglers for time in times)

    assert waiting(400) > 1.3 * waiting(1600) > 0


def test_many_small_partitions_wait_for_the_scheduler():
    few, many = (seconds(cluster(), problem(1e8, 100, p)) for p in (400, 40_000))
    assert many.scheduler > 10 * few.scheduler
    assert many.scheduler > many.compute


def test_only_changed_sums_travel_late_and_all_of_them_first():
    changed, dense = cluster(), cluster(only_changed=False)
    of = problem(1e8)
    assert seconds(changed, of, 0).reduce == pytest.approx(seconds(dense, of, 0).reduce, rel=0.3)
    assert seconds(changed, of, 2).reduce < 0.7 * seconds(dense, of, 2).reduce
    assert of.returned_bytes(0) == 0
    assert of.returned_bytes(np.inf) == (16 * 34 + 4) * of.k


def test_a_lost_worker_delays_a_pass():
    calm, lossy = cluster(), cluster(lost_per_hour=1e6)
    assert seconds(calm, problem()).stragglers == pytest.approx(0, abs=1e-9)
    # all workers lost: nobody is left to take over, and the pass is as it was
    assert seconds(lossy, problem()).total == seconds(calm, problem()).total
    hours = seconds(calm, problem()).total / 3600
    some = replace(calm, lost_per_hour=0.05 / hours)
    assert seconds(some, problem()).total > 1.5 * seconds(calm, problem()).total


def test_parts_of_a_pass_add_up_and_are_not_negative():
    from scaling.simulation import PARTS

    time = seconds(cluster(spread=0.1), problem())
    assert time.total == pytest.approx(sum(getattr(time, part) for part in PARTS))
    assert all(getattr(time, part) >= -1e-9 for part in PARTS)


def test_the_model_counts_the_rounds_that_partitions_see():
    from helpers.list_partitions import ListPartitions
    from scaling.fit_model import SAMPLING_TASKS, SURVEY_TASKS

    from partita import KMeans

    rows = np.random.default_rng(0).random((4096, 3))
    for init, tasks in ((rows[:9], 0), ("k-means||", SAMPLING_TASKS)):
        X = ListPartitions(np.split(rows, 2))
        KMeans(9, init=init, max_iter=2, tol=0, random_state=0).fit(X)
        names = [name for name, _ in X.opened.sent]
        assert names.count("MakePass") == 2 * (2 + 1)
        assert abs(len(names) / 2 - (3 + SURVEY_TASKS + tasks)) <= 2


def test_the_fan_in_and_the_sampling_are_those_of_the_library():
    pytest.importorskip("dask", reason="Dask is not installed")
    from scaling import fit_model, simulation

    from partita.init.plusplus import N_ROUNDS, OVERSAMPLING
    from partita.source.dask_partitions import ADDED_AT_ONCE

    assert simulation.FAN_IN == ADDED_AT_ONCE
    assert (fit_model.N_ROUNDS, fit_model.OVERSAMPLED) == (N_ROUNDS, OVERSAMPLING)
