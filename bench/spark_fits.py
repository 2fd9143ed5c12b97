"""Fits of one Spark dataframe by partita and by pyspark.ml, in a session on this machine."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from harness.engine_race import Fit, options, race_of, report
from harness.generated_data import Array
from pyarrow import parquet

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "6g",  # pyspark.ml keeps a second copy of the rows
}


def peer_fit(k: int) -> Fit:
    from pyspark.ml.clustering import KMeans as Peer

    def fit(X: Any, max_iter: int, seed: int) -> tuple[Array, int]:
        model = Peer(k=k, maxIter=max_iter, seed=seed).fit(X)
        return np.array(model.clusterCenters()), model.summary.numIter

    return fit


@contextmanager
def session() -> Iterator[Any]:
    """Start Spark with as many threads as there are cores."""
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master(f"local[{len(os.sched_getaffinity(0))}]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def vectors(spark: Any, rows: Array, blocks: int) -> Iterator[Any]:
    """Yield the rows as a cached dataframe with a column of vectors, which pyspark.ml needs."""
    from pyspark.ml.functions import array_to_vector

    with tempfile.TemporaryDirectory() as folder:
        for i, block in enumerate(np.array_split(rows, blocks)):
            arrays = pa.FixedSizeListArray.from_arrays(pa.array(block.ravel()), rows.shape[1])
            table = pa.table({"x": arrays.cast(pa.list_(pa.float64()))})
            parquet.write_table(table, Path(folder) / f"{i:03}.parquet")
        frame = spark.read.parquet(folder).repartition(blocks)
        frame = frame.select(array_to_vector("x").alias("features")).cache()
        assert frame.count() == len(rows)
        yield frame


def main() -> None:
    """Race on a cached dataframe."""
    parser = options(__doc__, rows=1_000_000, features=32, clusters=50, blocks=8)
    given = parser.parse_args()
    race = race_of(given)
    rows = race.rows()
    with session() as spark, vectors(spark, rows, race.blocks) as X:
        place = spark.sparkContext.master
        lines = list(race.lines(place, X, rows, "pyspark.ml", peer_fit(race.k)))
    made_by = f"python bench/spark_fits.py --seeds {race.seeds}"
    report(race, "pyspark.ml", made_by, lines, given.out)


if __name__ == "__main__":
    main()
