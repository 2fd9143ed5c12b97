"""One fit, wherever its rows are: the same bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from helpers.spark_session import spark_session
from pyarrow import csv, feather, parquet

from partita import KMeans, scan

N, D, K = 4111, 5, 6
RESULTS = ("cluster_centers_", "labels_", "inertia_", "n_iter_")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    return rng.normal(size=(N, D)) + 3 * rng.integers(0, 4, (N, 1))


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(6).random(N)


def fit(X, weight=None, threads=2, limit=None):
    model = KMeans(K, n_init=2, random_state=3, n_threads=threads, memory_limit=limit)
    return bits(model.fit(X, sample_weight=weight))


def bits(model):
    values = [as_array(getattr(model, name)) for name in RESULTS]
    costs = np.array([(step.cost, step.cost_after) for step in model.trace_])
    return [value.tobytes() for value in (*values, costs)]


def as_array(value):
    if hasattr(value, "collect"):  # a dataframe of Spark with the labels in a column
        value = np.array([row.prediction for row in value.collect()], np.int32)
    return np.asarray(value)


def in_memory(threads):
    return lambda rows, weight, folder: fit(rows, weight, threads)


def memory_map(rows, weight, folder):
    np.save(folder / "rows.npy", rows)
    return fit(np.load(folder / "rows.npy", mmap_mode="r"), weight)


def npy(rows, weight, folder):
    np.save(folder / "rows.npy", rows)
    return fit(folder / "rows.npy", weight, limit=0)


def arrow_file(name, write, limit):
    def fit_file(rows, weight, folder):
        columns = {f"x{t}": column for t, column in enumerate(rows.T)}
        columns |= {} if weight is None else {"w": weight}
        write(pa.table(columns), folder / name)
        named = None if weight is None else "w"
        return fit(scan(folder / name, weights=named), limit=limit)

    return fit_file


def several_files(rows, weight, folder):
    cuts = [0, 1, 1500, N]
    for i, part in enumerate(map(slice, cuts, cuts[1:])):
        columns = {f"x{t}": column for t, column in enumerate(rows[part].T)}
        parquet.write_table(pa.table(columns), folder / f"part-{i}.parquet")
    return fit(folder / "part-*.parquet", weight, limit=0)


def dask_array(rows, weight, folder):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    return fit(da.from_array(rows, chunks=(700, 2)), weight)


def dask_of_unknown_size(rows, weight, folder):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    lazy = da.from_array(rows, chunks=(900, D))
    return fit(lazy[da.ones(N, chunks=900, dtype=bool)], weight)


def dask_processes(rows, weight, folder):
    pytest.importorskip("dask", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster),
    ):
        return dask_array(rows, weight, folder)


def spark_frame(rows, weight, folder):
    with spark_session() as session:
        columns = [f"x{t}" for t in range(D)] + ([] if weight is None else ["w"])
        table = rows if weight is None else np.column_stack([rows, weight])
        frame = session.createDataFrame(table.tolist(), columns)
        return fit(frame, None if weight is None else "w")


SOURCES = {
    "one thread": in_memory(1),
    "four threads": in_memory(4),
    "memory map": memory_map,
    "npy file": npy,
    "parquet in memory": arrow_file("rows.parquet", parquet.write_table, None),
    "parquet file": arrow_file("rows.parquet", parquet.write_table, 0),
    "parquet files": several_files,
    "feather file": arrow_file("rows.feather", feather.write_feather, 0),
    "csv file": arrow_file("rows.csv", csv.write_csv, 0),
    "dask array": dask_array,
    "dask array of unknown size": dask_of_unknown_size,
}
SLOW_SOURCES = {"dask processes": dask_processes, "spark frame": spark_frame}
CASES = [
    *SOURCES,
    pytest.param("dask processes", marks=pytest.mark.slow),
    pytest.param("spark frame", marks=[pytest.mark.slow, pytest.mark.spark]),
]


@pytest.mark.filterwarnings("ignore:::pyspark", "ignore:::distributed")
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", CASES)
def test_sources_agree(name, weighted, rows, weight, tmp_path):
    weight = weight if weighted else None
    fit_source = {**SOURCES, **SLOW_SOURCES}[name]
    assert fit_source(rows, weight, tmp_path) == fit(rows, weight)
