"""A session of Spark on this machine, or a skip that says why there is none."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
}


def require_spark():
    """Return pyspark; skip the test, or the module, without it or Java."""
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java is not installed", allow_module_level=True)
    return pyspark


@contextmanager
def spark_session(master="local[2]"):
    """Two tasks at a time: of this process, or of a cluster of processes on this machine."""
    pyspark = require_spark()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # functions of tests are imported by Python processes of Spark
        folders = [str(TESTS.parent), str(TESTS), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, folders)))
        # executors that are processes of their own look for Spark here
        patch.setenv("SPARK_HOME", str(Path(pyspark.__file__).parents[1]))
        builder = pyspark.SparkSession.builder.master(master)
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        try:
            yield session
        finally:
            session.stop()
