"""Spark dataframes: the same bits as in memory, lazy results, little that travels."""

from __future__ import annotations

import os
import pickle
import shutil
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from helpers.spark_session import require_spark, spark_session

from partita import KMeans, load, save
from partita.source import spark_partitions, spark_turns
from partita.source.spark_frames import open_spark
from partita.source.spark_partitions import SparkPartitions

require_spark()
# each session starts a Java machine; pyspark warns of what it will not support some day
pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:::pyspark"),
]

N = 3000
NAMES = list("abcdef")
SIZES = [1, 300, 0, 1000, N - 1301]


@pytest.fixture(scope="module")
def spark():
    with spark_session() as session:
        yield session


@pytest.fixture(scope="module")
def executor_folder(spark):
    return spark.sparkContext.parallelize([0], 1).map(local_folder).first()


@pytest.fixture(autouse=True)
def nothing_is_left(spark, executor_folder):
    """After a fit, nothing is cached, and the executor has no file of it."""
    yield
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
    assert not [name for name in os.listdir(executor_folder) if name.startswith("partita-")]


def local_folder(_):
    return os.environ["SPARK_LOCAL_DIRS"].split(",")[0]


def groups(dtype=np.float64, n=N, d=6):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, d)) + 4 * rng.integers(0, 5, (n, 1))).astype(dtype)


def weights():
    return np.random.default_rng(1).random(N)


def in_blocks(spark, values, schema, sizes=SIZES):
    """A dataframe whose partitions have these numbers of rows."""
    cuts = np.cumsum([0, *sizes]).tolist()
    blocks = [values[i:j] for i, j in pairwise(cuts)]
    rows = spark.sparkContext.parallelize(blocks, len(blocks)).flatMap(lambda block: block)
    return spark.createDataFrame(rows, schema)


def columns(spark, X, weight=None, sizes=SIZES):
    kind = "float" if X.dtype == np.float32 else "double"
    schema = [f"{name} {kind}" for name in NAMES] + (["w double"] if weight is not None else [])
    values = X.tolist() if weight is None else np.column_stack([X, weight]).tolist()
    return in_blocks(spark, values, ", ".join(schema), sizes)


def records(model):
    return [(p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in model.trace_]


def labels_of(frame):
    return np.array([row.prediction for row in frame.collect()])


def assert_same_bits(held, lazy):
    for name in ("start_", "cluster_centers_"):
        one, two = getattr(held, name), getattr(lazy, name)
        assert one.dtype == two.dtype
        assert one.tobytes() == two.tobytes()
    np.testing.assert_array_equal(held.labels_, labels_of(lazy.labels_))
    assert held.stats_.mean.tobytes() == lazy.stats_.mean.tobytes()
    assert held.inertia_ == lazy.inertia_
    assert records(held) == records(lazy)


def fit(X, weight=None, **settings):
    settings = {"n_clusters": 6, "random_state": 1, "max_iter": 5, **settings}
    return KMeans(**settings).fit(X, sample_weight=weight)


@pytest.mark.parametrize(
    ("dtype", "init", "weighted"),
    [
        (np.float32, "k-means++", False),
        (np.float64, "k-means++", True),
        (np.float32, "k-means||", True),
        (np.float64, "random", False),
    ],
)
def test_columns_of_numbers_give_the_bits_of_an_array(spark, dtype, init, weighted):
    X, weight = groups(dtype), weights() if weighted else None
    frame = columns(spark, X, weight)
    model = fit(frame, "w" if weighted else None, init=init)
    assert_same_bits(fit(X, weight, init=init), model)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.labels_.columns == [*frame.columns, "prediction"]


@pytest.mark.parametrize("empty", ["relocate", "drop"])
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_empty_clusters_become_the_same(spark, empty):
    X = groups()
    init = np.vstack([X[:4], np.full((2, 6), 1e3)])
    held = fit(X, init=init, empty=empty)
    assert held.trace_[0].empty > 0
    assert_same_bits(held, fit(columns(spark, X), init=init, empty=empty))


@pytest.mark.parametrize("kind", ["double", "float"])
def test_a_column_of_arrays_gives_the_bits_of_an_array(spark, kind):
    X = groups(np.float32 if kind == "float" else np.float64)
    frame = in_blocks(spark, [(row,) for row in X.tolist()], f"rows array<{kind}>")
    model = fit(frame, init=X[:6])
    assert_same_bits(fit(X, init=X[:6]), model)
    assert not hasattr(model, "feature_names_in_")


def test_a_column_of_vectors_gives_the_bits_of_an_array(spark):
    from pyspark.ml.linalg import Vectors, VectorUDT
    from pyspark.sql.types import StructField, StructType

    X = np.where(groups() > 4, groups(), 0.0)
    rows = [
        (Vectors.dense(row) if i % 2 else Vectors.sparse(6, np.flatnonzero(row), row[row != 0]),)
        for i, row in enumerate(X)
    ]
    frame = in_blocks(spark, rows, StructType([StructField("features", VectorUDT())]))
    model = fit(frame, init=X[:6])
    assert_same_bits(fit(X, init=X[:6]), model)
    named = frame.selectExpr("features", "'text' as other")
    assert model.predict(named).columns == ["features", "other", "prediction"]
    np.testing.assert_array_equal(labels_of(model.predict(named)), model.predict(X))


def test_numbers_of_any_type_become_doubles(spark):
    rng = np.random.default_rng(3)
    values = [
        (int(a), bool(b), Decimal(int(c)) / 4, int(d), float(e), float(f))
        for a, b, c, d, e, f in rng.integers(0, 100, (N, 6)) % [100, 2, 9, 100, 7, 5]
    ]
    schema = "a byte, b boolean, c decimal(9,3), d long, `e.f` float, `f``g` double"
    X = np.array(values, float)
    assert_same_bits(fit(X, init=X[:6]), fit(in_blocks(spark, values, schema), init=X[:6]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predict_and_transform_add_a_column_and_keep_the_others(spark, dtype):
    from pyspark.sql import functions as sql

    X = groups(dtype)
    model, frame = fit(X), columns(spark, X)
    named = fit(frame, init=model.start_)
    wide = frame.select(
        sql.lit("text").alias("id"), *reversed(frame.columns), sql.array(sql.lit(1))
    )
    labels, distances = named.predict(wide), named.transform(wide)
    assert labels.columns == [*wide.columns, "prediction"]
    assert distances.columns == [*wide.columns, "distances"]
    assert dict(distances.dtypes)["distances"] == f"array<{dict(frame.dtypes)['a']}>"
    np.testing.assert_array_equal(labels_of(labels), model.predict(X))
    found = np.array([row.distances for row in distances.collect()], dtype)
    assert found.tobytes() == model.transform(X).tobytes()
    assert [row.id for row in labels.limit(1).collect()] == ["text"]
    np.testing.assert_array_equal(labels_of(model.predict(frame)), model.predict(X))


def test_a_score_reads_the_features_of_the_fit_among_other_columns(spark):
    X, weight = groups(), weights()
    frame = columns(spark, X, weight)
    held, named = fit(X, weight), fit(frame, "w", init=X[:6])
    assert held.score(frame, sample_weight="w") == held.score(X, sample_weight=weight)
    wide = named.labels_.selectExpr("'text' as id", "*")
    assert named.score(wide, sample_weight="w") == -named.inertia_
    with pytest.raises(ValueError, match="`sample_weight` must be the name of a numeric column"):
        held.score(frame.drop("w"), sample_weight=weight)


def test_a_fitted_model_is_pickled_and_saved_without_its_dataframe(spark, tmp_path):
    X = groups()
    model = fit(columns(spark, X), init=X[:6])
    save(model, tmp_path / "model.partita")
    for copy in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.partita")):
        assert not hasattr(copy, "labels_")
        assert copy.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
    assert model.labels_.columns[-1] == "prediction"


def test_what_travels_in_an_iteration_grows_with_the_centers_and_not_with_the_rows(
    spark, monkeypatch
):
    from pyspark import cloudpickle

    run_job, tickets = SparkPartitions._job, []

    def bytes_of_a_pass(n, k, d):
        sent, returned = [], []

        def counted(self, rdd, work, blocks):
            reports = run_job(self, rdd, work, blocks)
            if type(getattr(work, "task", None)).__name__ == "MakePass":
                sent.append(len(cloudpickle.dumps(work)))
                returned.extend(len(pickle.dumps(report)) for report in reports)
                tickets.append(rdd.map(lambda row: len(pickle.dumps(tuple(row)))).sum())
            return reports

        monkeypatch.setattr(SparkPartitions, "_job", counted)
        rows = [(row,) for row in groups(n=n, d=d).tolist()]
        frame = in_blocks(spark, rows, "x array<double>", [n // 2, n - n // 2])
        KMeans(k, init=groups(n=n, d=d)[:k], max_iter=3, tol=0).fit(frame)
        return max(sent), max(returned)

    few, many = bytes_of_a_pass(2048, 4, 8), bytes_of_a_pass(16_384, 4, 8)
    assert np.allclose(few, many, atol=300)
    sent, returned = bytes_of_a_pass(2048, 16, 32)
    assert sent < 2 * 16 * 32 * 8 + 8 * 32 * 8 + 4000  # two sets of centers, and the survey
    assert returned < 2 * 16 * 34 * 8 + 2000  # two limbs of every sum
    assert max(tickets) < 100  # the input of tasks: the numbers of two blocks


def forget(_):
    """Lose the states of this process, and the rows that it has read."""
    folder = local_folder(None)
    for name in os.listdir(folder):
        if name.startswith("partita-"):
            shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    spark_turns._HELD.clear()
    return os.getpid()


def losing(spark, at=3):
    lost = []

    def callback(progress):
        if progress.iteration == at and not lost:
            lost.extend(spark.sparkContext.parallelize(range(8), 8).map(forget).collect())

    return callback, lost


def test_lost_rows_and_states_are_made_again(spark):
    X, weight = groups(np.float32), weights()
    callback, lost = losing(spark)
    held = fit(X, weight, init=X[:6])
    assert len(held.trace_) > 3
    frame = columns(spark, X, weight)
    assert_same_bits(held, fit(frame, "w", init=X[:6], callback=callback))
    assert lost


def test_states_in_no_certain_process_give_the_same_bits(spark, monkeypatch):
    X = groups()
    monkeypatch.setattr(spark_partitions, "MAX_MISSES", 0)  # as if turns never reached the holders
    assert_same_bits(fit(X, init=X[:6]), fit(columns(spark, X), init=X[:6]))


def test_rows_that_change_when_they_are_computed_again_are_an_error(spark, tmp_path):
    counter = tmp_path / "computed"

    def changing(rows):
        with counter.open("a") as file:
            file.write(".")
        times = counter.stat().st_size
        return ((float(times), *row[1:]) for row in rows)

    rows = columns(spark, groups(), sizes=[1000, N - 1000]).rdd.mapPartitions(changing)
    frame = spark.createDataFrame(rows, ", ".join(f"{name} double" for name in NAMES))
    callback, _ = losing(spark, 2)
    with pytest.raises(RuntimeError, match="X must have the same rows whenever Spark computes it"):
        fit(frame, init=groups()[:6], callback=callback)


def test_a_start_may_be_a_function_of_the_dataframe(spark):
    X = groups()

    def first_rows(frame, k, random_state):
        assert frame.shape == (N, 6)
        return np.array([tuple(row) for row in frame.limit(k).collect()])

    model = fit(columns(spark, X), init=first_rows, n_init=1)
    assert_same_bits(fit(X, init=X[:6]), model)


def test_errors_say_what_must_hold(spark):
    X = groups()
    frame = columns(spark, X)
    with pytest.raises(ValueError, match=r"one column of vectors, got .*id \(string"):
        fit(frame.selectExpr("*", "'text' as id"))
    with pytest.raises(ValueError, match="`X` must be a dataframe of numeric columns"):
        fit(frame.selectExpr("a", "array(b) as more"))
    with pytest.raises(ValueError, match="`sample_weight` must be the name of a numeric column"):
        fit(frame, "w")
    with pytest.raises(ValueError, match="`sample_weight` must be the name of a numeric column"):
        fit(frame, np.ones(N))
    with pytest.raises(ValueError, match='without a column "prediction"'):
        fit(frame.withColumnRenamed("a", "prediction"))
    with pytest.raises(ValueError, match="`X` must be rows of numbers, got no rows"):
        fit(frame.where("a > 1e9"))
    with pytest.raises(ValueError, match="NaN: 1 of 3000 rows, in column 'b'"):
        fit(frame.selectExpr("a", f"if(a = {float(X[5, 0])!r}, null, b) as b"))
    with pytest.raises(ValueError, match="arrays of one length, got lengths from 1 to 2"):
        fit(frame.selectExpr("if(a > 5, array(a), array(a, b)) as x"))
    with pytest.raises(ValueError, match=r"`X` must be complete, got .* rows that are null"):
        fit(frame.selectExpr("if(a > 5, null, array(a, b)) as x"))
    with pytest.raises(ValueError, match="`sample_weight` must be finite"):
        fit(frame.selectExpr("*", "double('NaN') as w"), "w")
    model = fit(X)
    with pytest.raises(ValueError, match="rows with 6 features, as in the fit, got 5"):
        model.predict(frame.drop("a"))
    named = fit(frame, init=X[:6])
    with pytest.raises(ValueError, match="features of the fit, got one without the numbers 'a'"):
        named.predict(frame.drop("a"))
    with pytest.raises(Exception, match="6 features, as in the fit, got 2 features"):
        model.predict(frame.selectExpr("array(a, b) as x")).collect()


def test_partitions_are_those_of_the_dataframe_from_multiples_of_a_leaf(spark):
    opened = open_spark(columns(spark, groups()), None)
    try:
        assert (opened.starts[:-1] % 256 == 0).all()
        assert opened.starts[-1] == N
        assert opened.run(len_of) == np.diff(opened.starts).tolist()
        assert opened.run(len_of, [2, 0]) == np.diff(opened.starts)[[2, 0]].tolist()
        assert opened.total(len_of, int.__add__) == N
    finally:
        opened.close()


def len_of(part):
    return len(part.rows)
