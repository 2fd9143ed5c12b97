"""Executors of Spark that are processes of their own, and one that is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from helpers.spark_session import require_spark, spark_session

from partita import KMeans, SphericalKMeans

require_spark()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:::pyspark"),
]

N = 3000


@pytest.fixture(scope="module")
def spark():
    with spark_session("local-cluster[2,1,1024]") as session:
        yield session


def executors(spark):
    """Return the Java processes of all executors."""

    def parent_of_daemon(_):  # this process has a daemon as parent, and that an executor
        stat = Path(f"/proc/{os.getppid()}/stat").read_text()
        return int(stat.rpartition(")")[2].split()[1])

    return set(spark.sparkContext.parallelize(range(8), 8).map(parent_of_daemon).collect())


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("member", [KMeans, SphericalKMeans])
def test_a_killed_executor_does_not_change_the_fit(spark, member):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) + 3 * rng.integers(0, 4, (N, 1))
    X[::7] = 0 if member is SphericalKMeans else X[::7]
    settings = {"n_clusters": 6, "init": X[1:7], "max_iter": 7, "tol": 0}
    settings |= {"zero_rows": "drop"} if member is SphericalKMeans else {}
    killed = []

    def kill(progress):
        if progress.iteration == 3 and not killed:
            killed.append(min(executors(spark)))
            os.kill(killed[0], signal.SIGKILL)

    held = member(**settings).fit(X)
    assert len(held.trace_) > 4
    rows = spark.sparkContext.parallelize(X.tolist(), 6)
    frame = spark.createDataFrame(rows, "a double, b double, c double, d double")
    model = member(**settings, callback=kill).fit(frame)
    assert killed
    assert killed[0] not in executors(spark)
    assert model.cluster_centers_.tobytes() == held.cluster_centers_.tobytes()
    assert model.inertia_ == held.inertia_
    assert [p.moved_points for p in model.trace_] == [p.moved_points for p in held.trace_]
    labels = [row.prediction for row in model.labels_.collect()]
    np.testing.assert_array_equal(labels, held.labels_)
