"""K-medoids on real data: proven optima, R's published results, and what fits in memory."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest
from helpers import medoid_reference as reference
from sklearn.metrics import pairwise_distances

from partita import KMedoids


def load(folder, name):
    file, _, part = name.partition(":")
    path = folder / f"{file}.npz"
    if not path.exists():
        path = next(folder.rglob(f"{file}.npz"))
    with np.load(path, allow_pickle=False) as content:
        return content[part or "X"]


@pytest.mark.data
def test_proven_optima_are_reached_mostly_and_never_undercut(data_folder):
    with open(data_folder / "optima_kmedoids.csv") as file:
        optima = list(csv.DictReader(file))
    gaps = []
    for row in optima:
        X, k, best = load(data_folder, row["data"]), int(row["k"]), row["sum_of_dissimilarities"]
        metric = row["metric"] if row["metric"] in ("euclidean", "manhattan") else "precomputed"
        model = KMedoids(k, metric=metric, n_init=20, random_state=0).fit(X)
        gaps.append(model.inertia_ / float(best) - 1)
    gaps = np.array(gaps)
    assert gaps.min() > -1e-12, "a proven optimum was undercut: the objective is wrong"
    assert gaps.max() < 0.01
    assert (gaps < 1e-9).mean() >= 0.6


@pytest.mark.data
def test_pam_is_that_of_r(data_folder):
    X = load(data_folder, "ruspini")
    model = KMedoids(4, method="pam").fit(X)
    np.testing.assert_array_equal(model.medoid_indices_ + 1, [10, 32, 52, 70])
    assert model.trace_[0].cost / 75 == pytest.approx(17.22898, abs=5e-6)  # after BUILD
    assert model.inertia_ / 75 == pytest.approx(11.48637, abs=5e-6)


@pytest.mark.data
@pytest.mark.parametrize("name", ["eurodist", "UScitiesD", "flower_gower_default", "animals_gower"])
def test_pam_is_the_definition_on_real_dissimilarities(data_folder, name):
    table = load(data_folder, f"dissimilarity/{name}")
    for k in (2, 3, 5):
        model = KMedoids(k, metric="precomputed", method="pam").fit(table)
        cost, medoids = reference.pam(table, k)
        assert model.inertia_ == cost
        np.testing.assert_array_equal(model.medoid_indices_, medoids)


@pytest.mark.heavy
def test_samples_come_near_the_whole():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(4000, 3)) + 6 * rng.integers(0, 3, (4000, 3))
    whole = KMedoids(20, n_init=3, random_state=0).fit(rows).inertia_
    clara = KMedoids(20, method="clara", random_state=0).fit(rows)
    batch = KMedoids(20, method="onebatch", random_state=0).fit(rows)
    assert whole <= batch.inertia_ < 1.05 * whole
    assert batch.inertia_ < clara.inertia_ < 1.25 * whole
    table = pairwise_distances(rows[:500])
    of_matrix = KMedoids(5, method="onebatch", metric="precomputed", random_state=0).fit(table)
    assert of_matrix.inertia_ == pytest.approx(table[:, of_matrix.medoid_indices_].min(1).sum())


MANY_ROWS = """
import resource, numpy as np
from partita import KMedoids
rng = np.random.default_rng(0)
rows = (rng.normal(size=(100_000, 32)) + 4 * rng.integers(0, 2, (100_000, 32))).astype("f")
model = KMedoids(10, random_state=0, memory_limit=1e9, max_iter=1, n_threads=2).fit(rows)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
def test_a_hundred_thousand_rows_need_no_matrix():
    done = subprocess.run([sys.executable, "-c", MANY_ROWS], capture_output=True, check=True)
    assert float(done.stdout) < 2.0  # GiB
