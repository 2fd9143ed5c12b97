"""choose_k on real data sets whose number of clusters is known."""

from __future__ import annotations

import numpy as np
import pytest

from partita import KMeans, choose_k

pytestmark = pytest.mark.data

QUICK = {
    "gagolews_sipu/s1": 15,
    "gagolews_sipu/r15": 15,
    "gagolews_sipu/unbalance": 8,
    "sipu_dim/dim032": 16,
    "gagolews_fcps/hepta": 7,
    "gagolews_fcps/tetra": 4,
    "gagolews_fcps/twodiamonds": 2,
}
ALL = {
    **QUICK,
    **{f"gagolews_sipu/s{i}": 15 for i in (2, 3, 4)},
    "gagolews_sipu/a1": 20,
    "gagolews_sipu/a2": 35,
    "gagolews_sipu/a3": 50,
    "gagolews_sipu/d31": 31,
    **{f"sipu_dim/dim{d}": 16 for d in ("064", "128", "256", "512")},
    "cran_cluster/xclara": 3,
}


def rows_of(folder, name):
    with np.load(folder / f"{name}.npz") as file:
        return file["X"].astype(np.float64)


@pytest.mark.parametrize(("name", "count"), QUICK.items())
def test_the_documented_number_of_clusters_is_recommended(data_folder, name, count):
    sweep = choose_k(rows_of(data_folder, name), random_state=0)
    assert sweep.structure is True
    assert sweep.best_k == count


@pytest.mark.slow
def test_it_is_on_four_of_five_sets_whatever_the_seed(data_folder):
    for seed in range(3):
        found = {
            name: choose_k(rows_of(data_folder, name), random_state=seed).best_k for name in ALL
        }
        iris = choose_k(rows_of(data_folder, "gagolews_other/iris"), random_state=seed).best_k
        right = [name for name, count in ALL.items() if found[name] == count]
        assert len(right) + (iris in (2, 3)) >= 0.8 * (len(ALL) + 1), found


def test_the_sweep_ends_lower_than_fits_from_random_starts(data_folder):
    rows = rows_of(data_folder, "gagolews_sipu/a3")
    ks = range(20, 61, 10)
    sweep = choose_k(rows, range(20, 61), random_state=0, criteria="inertia")
    for k in ks:
        fresh = np.mean([KMeans(k, random_state=seed).fit(rows).inertia_ for seed in range(5)])
        assert sweep.model(k).inertia_ < fresh
