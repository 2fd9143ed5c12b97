"""On real data: the twin's labels at every iteration, scikit-learn's trajectory, known optima."""

from __future__ import annotations

import csv
import math
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.cases import labels_per_iteration, same_bits
from helpers.real_data import LIMIT, load
from sklearn.cluster import KMeans as Peer

from partita import KMeans
from partita._common.threads import Workers
from partita._kernels import reference
from partita.centers import Centers
from partita.engine.paths.choice import PATHS
from partita.estimators.validation import make_source
from partita.moments import Moments

pytestmark = pytest.mark.data
NOT_ROWS = ("dissimilarity", "text")
WITH_GAPS = ("animals", "votes_repub")  # missing values


def data_sets():
    folder = os.environ.get("PARTITA_DATA")
    if not folder or not Path(folder).is_dir():
        return ["(PARTITA_DATA is not set)"]
    found = [path.relative_to(folder).with_suffix("") for path in Path(folder).rglob("*.npz")]
    return sorted(
        str(name) for name in found if name.parts[0] not in NOT_ROWS and name.name not in WITH_GAPS
    )


def clusters_for(rows):
    """As many clusters as the limit allows, at most 10 and at most a third of the distinct rows."""
    distinct = len(np.unique(rows, axis=0))
    return max(2, min(10, int(LIMIT // rows.size), distinct // 3))


def start_for(rows, k):
    distinct = np.unique(rows, axis=0)
    return distinct[np.random.default_rng(k).choice(len(distinct), k, replace=False)].copy()


def twin_labels(rows, start, limit):
    """The loop of the library on the NumPy kernels: labels after every pass."""
    with Workers(1) as workers:
        grid = make_source(rows, None, workers).survey().grid
    moments = Moments.zero(len(start), grid)
    sums = reference.Sums(moments.hi, moments.lo, grid.origin, grid.up, grid.scale, grid.limb)
    labels, seen = np.full(len(rows), -1, np.int32), []
    centers = Centers(start.astype(np.float64), np.zeros(rows.shape[1]))
    while len(seen) < limit:
        book = reference.Codebook(centers.values, centers.origin)
        moved, _ = reference.assign(book, rows, labels, sums)
        weight, sse, gap = np.empty((3, len(start)))
        mean = np.empty(start.shape)
        reference.summarise(sums, grid.unit, mean, weight, mean, sse, gap)
        if (weight == 0).any():
            break
        seen.append(labels.copy())
        if moved == 0:
            break
        centers = Centers(mean, grid.origin)
    return seen


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", data_sets())
def test_labels_of_the_twin_at_every_iteration(data_folder, name, dtype):
    rows = load(data_folder, name).astype(dtype)
    k = clusters_for(rows)
    start, limit = start_for(rows, k), max(3, int(3e8 // (rows.size * k)))
    limit = min(limit, 12)
    with Workers(2) as workers:
        ours = labels_per_iteration(make_source(rows, None, workers), start, limit)
    twin = twin_labels(rows, start, limit)
    assert len(ours) == len(twin)
    for a, b in zip(ours, twin, strict=True):
        np.testing.assert_array_equal(a, b)


def peer_after(rows, start, updates):
    """scikit-learn's centers after some updates, and its labels for them."""
    peer = Peer(len(start), init=start, n_init=1, tol=0, max_iter=max(1, updates)).fit(rows)
    if updates:
        return peer.cluster_centers_, peer.labels_
    mean = rows.mean(axis=0)  # inside fit it works on centred data
    peer.cluster_centers_ = start - mean
    return start, peer.predict(rows - mean)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.parametrize("name", data_sets())
def test_where_scikit_learn_differs_we_are_nearer_or_tied(data_folder, name):
    rows = load(data_folder, name)
    k = clusters_for(rows)
    start = start_for(rows, k)
    with Workers(2) as workers:
        source = make_source(rows, None, workers)
        ours = labels_per_iteration(source, start, 6)
        origin = source.survey().grid.origin
    for i in range(len(ours)):
        centers, theirs = peer_after(rows, start, i)
        apart = np.flatnonzero(theirs != ours[i])
        if not apart.size:
            continue
        distance = reference.d64(rows[apart], centers - origin, origin)
        own = np.take_along_axis(distance, ours[i][apart][:, None], 1)[:, 0]
        peers = np.take_along_axis(distance, theirs[apart][:, None], 1)[:, 0]
        scale = 1e-9 * np.maximum(own, peers) + 1e-12 * float(np.ptp(rows, axis=0).max()) ** 2
        assert (own <= peers + scale).all()
        return  # from here on the centers differ


def optima():
    folder = os.environ.get("PARTITA_DATA")
    if not folder or not (Path(folder) / "optima_kmeans.csv").exists():
        return [("(PARTITA_DATA is not set)", 2, 0.0, "")]
    with open(Path(folder) / "optima_kmeans.csv") as file:
        return [(r["file"], int(r["k"]), float(r["sse"]), r["kind"]) for r in csv.DictReader(file)]


@pytest.mark.parametrize(("name", "k", "sse", "kind"), optima())
def test_a_proven_optimum_is_never_undercut(data_folder, name, k, sse, kind):
    rows = load(data_folder, name)
    model = KMeans(k, n_init=5, random_state=0, tol=0).fit(rows)
    if kind == "proven optimum":
        assert model.inertia_ >= sse * (1 - 1e-9)
    assert model.inertia_ <= sse * 2.5  # a start of k-means++ is never absurd


@pytest.mark.parametrize(
    ("name", "k"),
    [("r_datasets/faithful", 2), ("cran_cluster/ruspini", 4), ("hgmeans/bavaria1", 3)],
)
def test_restarts_reach_the_easy_optima(data_folder, name, k):
    faithful = {2: 8901.768720947206}
    known = {(file, clusters): sse for file, clusters, sse, _ in optima()}
    rows = load(data_folder, name)
    expected = faithful[k] if "faithful" in name else known[(name, k)]
    model = KMeans(k, n_init=50, random_state=0, tol=0).fit(rows)
    assert math.isclose(model.inertia_, expected, rel_tol=1e-9)


def test_mnist_in_uint8_gives_what_float32_gives(data_folder):
    with np.load(data_folder / "large" / "mnist70000_uint8.npz") as file:
        rows = file["X"][:5000]
    start = rows[:10].astype(np.float64)
    small = KMeans(10, init=start, max_iter=5).fit(rows)
    single = KMeans(10, init=start, max_iter=5).fit(rows.astype(np.float32))
    np.testing.assert_array_equal(small.labels_, single.labels_)
    np.testing.assert_allclose(small.cluster_centers_, single.cluster_centers_, rtol=1e-6)
    assert small.cluster_centers_.dtype == np.float64


# --- every path of the engine ---------------------------------------------------------------------

SEVERAL = [
    "bkmeans/Birch1", "hgmeans/pendigit", "mlbench/mlbench_Shuttle", "large/skin_segmentation",
]  # fmt: skip


def rows_of(folder, name, dtype):
    with np.load(folder / f"{name}.npz") as file:
        if "X" not in file or file["X"].ndim != 2:
            pytest.skip(f"{name} holds no table of rows")
        rows = file["X"].astype(dtype)
    if not np.isfinite(rows).all():
        pytest.skip(f"{name} has missing values")
    if len(rows) > 250_000:
        pytest.skip(f"{name} has {len(rows)} rows")
    return rows


def compare_paths(rows, k, threads, iterations):
    start = start_for(rows, k)
    keywords = {"init": start, "n_init": 1, "tol": 0.0, "n_threads": threads}
    for most in iterations:
        plain = KMeans(k, algorithm="plain", max_iter=most, **keywords).fit(rows)
        for path in PATHS:
            other = KMeans(k, algorithm=path, max_iter=most, **keywords).fit(rows)
            assert same_bits(plain, other), f"{path} after {most} iterations"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SEVERAL)
def test_every_path_on_real_data(data_folder, name):
    rows = rows_of(data_folder, name, np.float64)
    compare_paths(rows, 60, 2, [1, 2, 4, 12])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", data_sets())
def test_every_path_on_all_real_data(data_folder, name, dtype):
    rows = rows_of(data_folder, name, dtype)
    distinct = len(np.unique(rows[:20_000], axis=0))
    k = max(2, min(100, distinct // 3))
    large = rows.size * k > 1e8
    for threads in (1, 2, 3, 4):
        compare_paths(rows, k, threads, [1, 2, 4, 12] if large else [1, 2, 3, 4, 6, 9, 300])
