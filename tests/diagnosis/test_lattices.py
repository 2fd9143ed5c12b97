"""Columns of few values, such as 0 and 1: their gaps are no gaps between groups."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.diagnosis_cases import fit, groups
from sklearn.datasets import load_digits, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from partita import KernelKMeans, diagnose
from partita.diagnosis.diagnosis_input import read_fit
from partita.diagnosis.finding import CheckSkipped
from partita.diagnosis.lattice import MAX_VALUES, lattice_steps, without_coarse_lattices
from partita.diagnosis.neighbour_graph import check_convexity
from partita.diagnosis.row_sample import RowSample

LATTICES = {
    "coin": lambda rng, n: rng.integers(0, 2, n),
    "rare": lambda rng, n: rng.random(n) < 0.1,
    "three coins": lambda rng, n: rng.integers(0, 2, (n, 3)),
    "two answers": lambda rng, n: rng.integers(1, 6, (n, 2)),
    "counts": lambda rng, n: rng.poisson(3, n),
}
SHAPES = {
    "moons": lambda seed: make_moons(500, noise=0.06, random_state=seed),
    "rings": lambda seed: make_circles(500, noise=0.05, factor=0.4, random_state=seed),
}
SEEDS = [range(1), pytest.param(range(1, 40), marks=pytest.mark.slow)]


def with_lattice(rows, lattice, seed):
    column = LATTICES[lattice](np.random.default_rng(seed), len(rows))
    return StandardScaler().fit_transform(np.column_stack([rows, column.astype(float)]))


def has_shape(X, k, seed):
    return check_convexity(read_fit(fit(X, k), X, None, seed)) is not None


@pytest.mark.heavy
@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("lattice", LATTICES)
def test_few_values_are_no_sign_of_shape(lattice, seeds):
    alarms = 0
    for seed in seeds:
        rows = make_blobs(800, centers=[[0, 0], [6, 0], [0, 6]], random_state=seed)[0]
        alarms += has_shape(with_lattice(rows, lattice, seed), 3, seed)
    assert alarms <= 0.05 * len(seeds)


@pytest.mark.heavy
@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("shape", ["rings", pytest.param("moons", marks=pytest.mark.slow)])
@pytest.mark.parametrize("lattice", LATTICES)
def test_few_values_do_not_hide_a_shape(shape, lattice, seeds):
    for seed in seeds:
        assert has_shape(with_lattice(SHAPES[shape](seed)[0], lattice, seed), 2, seed), seed


@pytest.mark.heavy
def test_the_advice_on_shape_leaves_out_few_values():
    rows, ring = SHAPES["rings"](0)
    X = with_lattice(rows, "coin", 0)
    advice = diagnose(fit(X, 2), X)["not-convex"].advice
    assert "KernelKMeans(2, kernel='nearest_neighbors').fit(X), where X is without" in advice
    model = KernelKMeans(2, kernel="nearest_neighbors", random_state=0).fit(X[:, :2])
    assert adjusted_rand_score(ring, model.labels_) == 1.0


def test_a_gap_between_two_values_is_none_next_to_a_face():
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=3000), rng.integers(1, 6, 3000) * 3.0]
    assert "unequal-clusters" not in diagnose(fit(X, 2), X)  # cut between two values of five
    smooth = np.c_[X[:, 0], X[:, 1] + rng.uniform(-0.5, 0.5, 3000)]  # where these gaps are real
    assert "unequal-clusters" in diagnose(fit(smooth, 2), smooth)


def test_the_step_of_a_lattice_is_the_median_gap_between_its_values():
    rng = np.random.default_rng(0)
    columns = (
        rng.integers(0, 2, 500) * 3.0,  # two values
        np.full(500, 7.0),
        np.arange(500) % (MAX_VALUES + 1),  # one value too many
        np.where(np.arange(500) == 3, 1e6, rng.integers(0, 4, 500)),  # an outlier is no step
        rng.normal(size=500),
    )
    rows, labels = np.column_stack(columns), np.zeros(500, int)
    steps = lattice_steps(RowSample(rows, np.ones(500), labels))
    assert steps.tolist() == [3.0, 0.0, 0.0, 1.0, 0.0]
    weight = rng.integers(1, 4, 500)
    repeated = RowSample(np.repeat(rows, weight, axis=0), np.ones(weight.sum()), labels)
    assert steps.tolist() == lattice_steps(RowSample(rows, weight, labels)).tolist()
    assert steps.tolist() == lattice_steps(repeated).tolist()


def test_lattices_finer_than_the_distances_of_neighbours_remain():
    digits = load_digits().data
    steps = np.ones(digits.shape[1])
    assert len(without_coarse_lattices(digits, steps, 12)) == digits.shape[1]
    X = np.c_[groups(), np.arange(400) % 2]
    assert without_coarse_lattices(X, np.array([0.0, 0.0, 1.0]), 12).tolist() == [0, 1]
    with pytest.raises(CheckSkipped, match="fewer than two features have values enough"):
        check_convexity(read_fit(fit(X[:, 1:], 2), X[:, 1:], None, 0))
