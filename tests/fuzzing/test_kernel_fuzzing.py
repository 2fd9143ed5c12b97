"""Random kernel problems keep every promise: bits, order of rows, weights, descent, the objective.

About 60 cases run by default, 2,000 with the slow ones.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers.fuzzing import different_cases, model_digest
from helpers.kernel_fuzz_cases import DEFINITE, problem, true_objective
from helpers.other_machines import MACHINES

CASES = "helpers.kernel_fuzz_cases"
SHORT = range(60)
PARTS = [range(first, first + 250) for first in range(60, 2060, 250)]


def costs(model):
    return [value for step in model.trace_ for value in (step.cost, step.cost_after)]


def same_fit(a, b, message):
    if isinstance(a, Exception) or isinstance(b, Exception):
        assert str(a) == str(b), message
        return
    np.testing.assert_array_equal(a.labels_, b.labels_, message)
    assert costs(a) == costs(b), message
    assert a.inertia_ == b.inertia_, message
    np.testing.assert_array_equal(a.stats_.sse, b.stats_.sse, message)
    assert a.objective_interval_ == b.objective_interval_, message


def check_places(given, model, seed):
    """Threads and the place of the matrix change nothing."""
    ours = model_digest(model)
    for threads in (2, 3):
        assert model_digest(given.fit(n_threads=threads)) == ours, (seed, threads)
    if not given.is_matrix:
        assert model_digest(given.fit(approximation="exact", memory_limit=0)) == ours, seed


def starts_at_random(given):
    """Labels leave a cluster without weight, which then starts at a random row."""
    init, weight = given.parameters["init"], given.weight
    if init.ndim != 1 or len(init) != given.X.shape[0]:
        return False
    used = init if weight is None else init[weight > 0]
    return len(np.unique(used)) < given.parameters["n_clusters"]


def check_order(given, model, seed):
    if starts_at_random(given):
        return
    order = np.random.default_rng(seed).permutation(given.X.shape[0])
    other = given.taken(order).fit()
    if not isinstance(other, Exception):
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        other.labels_ = other.labels_[back]
    same_fit(model, other, f"rows of {seed} in another order")


def check_repeats(given, model, seed):
    weight = given.weight
    if weight is None or (weight != np.rint(weight)).any() or "diagonal_shift" in given.parameters:
        return
    rows = np.repeat(np.arange(len(weight)), weight.astype(int))
    if len(rows) < given.parameters["n_clusters"] or starts_at_random(given):
        return
    repeated = given.taken(rows)
    other = type(given)(given.kernel, repeated.X, None, repeated.parameters).fit()
    if not isinstance(other, Exception) and not isinstance(model, Exception):
        np.testing.assert_array_equal(model.labels_[rows], other.labels_, f"repeats of {seed}")
        other.labels_ = model.labels_
        if (weight == 0).any():  # rows of no weight may still move when the others do not
            model.trace_ = model.trace_[: len(other.trace_)]
    same_fit(model, other, f"repeats of {seed}")


def check_objective(given, model, seed):
    true, noise = true_objective(given, model)
    low, high = model.objective_interval_
    assert low == high == pytest.approx(true, rel=1e-9, abs=noise), seed
    if given.kernel in DEFINITE:
        steps = [*costs(model), model.inertia_]
        assert all(b <= a for a, b in itertools.pairwise(steps)), (seed, steps)
        assert min(steps) >= 0


def check_new_rows(given, model, seed):
    if given.is_matrix or "diagonal_shift" in given.parameters:
        return
    np.testing.assert_array_equal(model.predict(given.X), model.labels_, str(seed))
    if given.kernel in DEFINITE:
        assert model.score(given.X, sample_weight=given.weight) == -model.inertia_, seed


def check_problem(seed):
    given = problem(seed)
    model = given.fit(n_threads=1)
    check_places(given, model, seed)
    check_order(given, model, seed)
    check_repeats(given, model, seed)
    if not isinstance(model, Exception):
        check_objective(given, model, seed)
        check_new_rows(given, model, seed)


@pytest.mark.parametrize("part", range(4))
def test_every_promise(part):
    for seed in SHORT[part::4]:
        check_problem(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", PARTS, ids=str)
def test_every_promise_in_many_cases(seeds):
    for seed in seeds:
        check_problem(seed)


@pytest.mark.parametrize("machine", list(MACHINES))
def test_the_same_bits_on_other_machines(machine):
    assert not different_cases(CASES, 0, 36, machine)


@pytest.mark.slow
@pytest.mark.parametrize("machine", list(MACHINES))
def test_the_same_bits_on_other_machines_in_many_cases(machine):
    assert not different_cases(CASES, 36, 2060, machine)
