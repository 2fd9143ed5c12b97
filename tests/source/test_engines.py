"""Every engine and every member that takes partitions: bits, files, callbacks and lazy labels."""

from __future__ import annotations

import pickle
from contextlib import contextmanager

import numpy as np
import pytest
from helpers.spark_session import spark_session

from partita import (
    Checkpoint,
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    load,
    save,
)
from partita.source import dask_partitions

pytestmark = pytest.mark.filterwarnings("ignore:::pyspark", "ignore:::distributed")

N, D = 2000, 5
SIZES = (1, 300, 700, N - 1001)


class DaskEngine:
    """Rows in dask arrays, computed by threads or by a client that is open."""

    def rows(self, X, weight=None, sizes=SIZES):
        """Return the rows and weights of a fit, cut into blocks."""
        da = pytest.importorskip("dask.array", reason="Dask is not installed")
        lazy = da.from_array(X, chunks=(sizes, D))
        return lazy, None if weight is None else da.from_array(weight, chunks=600)

    def values(self, labels):
        """Compute labels that are lazy."""
        dask = pytest.importorskip("dask")
        assert dask.is_dask_collection(labels)
        return labels.compute()

    def nothing_is_left(self):
        """Return whether fits left nothing beside the rows."""
        return not dask_partitions._STATES


class SparkEngine:
    """Rows in dataframes with a column of arrays, and one of weights."""

    def __init__(self, session):
        self._session = session

    def rows(self, X, weight=None, sizes=SIZES):
        cuts = np.cumsum(sizes)[:-1]
        kind = "float" if X.dtype == np.float32 else "double"
        rows = [(row,) for row in X.tolist()]
        if weight is not None:
            rows = [(*row, w) for row, w in zip(rows, weight.tolist(), strict=True)]
        blocks = [rows[i:j] for i, j in zip([0, *cuts], [*cuts, len(X)], strict=True)]
        values = self._session.sparkContext.parallelize(blocks, len(blocks)).flatMap(list)
        schema = f"x array<{kind}>" + ("" if weight is None else ", w double")
        frame = self._session.createDataFrame(values, schema)
        return frame, None if weight is None else "w"

    def values(self, labels):
        assert labels.columns[-1] == "prediction"
        return np.array([row.prediction for row in labels.collect()])

    def nothing_is_left(self):
        return self._session.sparkContext._jsc.getPersistentRDDs().size() == 0


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster),
    ):
        yield


ENGINES = [
    "dask",
    pytest.param("dask cluster", marks=pytest.mark.slow),
    pytest.param("spark", marks=[pytest.mark.slow, pytest.mark.spark]),
]


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    if request.param == "dask":
        pytest.importorskip("dask", reason="Dask is not installed")
        yield DaskEngine()
    elif request.param == "dask cluster":
        with dask_cluster():
            yield DaskEngine()
    else:
        with spark_session() as session:
            yield SparkEngine(session)


def groups(dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) + 3 * rng.integers(0, 4, (N, 1))
    return X.astype(dtype)


def with_zeros(dtype=np.float64):
    X = groups(dtype)
    X[np.random.default_rng(2).random(N) < 0.1] = 0
    return X


def weights():
    return np.random.default_rng(1).random(N)


def records(trace):
    return [(p.iteration, p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in trace]


def bits(model, labels):
    stats, trace = model.stats_, np.array(records(model.trace_))
    arrays = [model.cluster_centers_, stats.weight, stats.mean, stats.sse, trace]
    arrays += [] if labels is None else [np.asarray(labels, np.int32)]
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays], model.inertia_, model.n_iter_


MEMBERS = {
    "directions": (SphericalKMeans, {"zero_rows": "drop", "init": "random", "max_iter": 4}),
    "zeros apart": (SphericalKMeans, {"zero_rows": "separate", "init": "k-means||", "max_iter": 3}),
    "batches": (MiniBatchKMeans, {"batch_size": 200, "n_init": 2}),
    "all batches": (MiniBatchKMeans, {"max_no_improvement": None, "n_init": 1}),
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", MEMBERS)
def test_members_have_the_bits_of_memory_and_lazy_labels(engine, name, dtype, weighted):
    member, settings = MEMBERS[name]
    X = with_zeros(dtype) if member is SphericalKMeans else groups(dtype)
    weight = weights() if weighted else None
    held = member(5, random_state=3, **settings).fit(X, sample_weight=weight)
    rows, of_rows = engine.rows(X, weight)
    model = member(5, random_state=3, **settings).fit(rows, sample_weight=of_rows)
    assert bits(model, engine.values(model.labels_)) == bits(held, held.labels_)
    assert engine.nothing_is_left()


def test_without_labels_none_are_computed(engine):
    X = groups()
    settings = {"n_clusters": 5, "random_state": 3, "compute_labels": False, "n_init": 1}
    held, model = MiniBatchKMeans(**settings).fit(X), MiniBatchKMeans(**settings)
    assert bits(model.fit(engine.rows(X)[0]), None) == bits(held, None)
    assert not hasattr(model, "labels_")


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_models_are_pickled_and_saved(engine, member, tmp_path):
    X = groups()
    settings = {"n_clusters": 4, "init": X[:4], "n_init": 1, "max_iter": 3}
    model = member(**settings).fit(engine.rows(X)[0])
    save(model, tmp_path / "model.partita")
    for copy in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.partita")):
        assert copy.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(engine.values(model.labels_), model.predict(X))


class Interrupted(Exception):
    """Stands for Ctrl-C."""


RESUMED = {
    "weights": (KMeans, {"n_clusters": 6}, True),
    "restarts": (KMeans, {"n_clusters": 4, "init": "random", "n_init": 2, "max_iter": 4}, False),
    "directions": (SphericalKMeans, {"n_clusters": 5, "zero_rows": "drop"}, False),
}


@pytest.mark.parametrize("case", RESUMED)
def test_an_interrupted_fit_resumes_to_the_bits_of_the_whole_one(engine, case, tmp_path):
    member, settings, weighted = RESUMED[case]
    settings = {"random_state": 1, "max_iter": 6, "init": "random", **settings}
    X = with_zeros() if member is SphericalKMeans else groups()
    weight, path = weights() if weighted else None, tmp_path / "checkpoint"
    whole = member(**settings).fit(X, sample_weight=weight)
    assert len(whole.trace_) > 3

    def interrupt(progress):
        if progress.iteration == 3:
            raise Interrupted

    rows, of_rows = engine.rows(X, weight)
    model = member(**settings, callback=interrupt)
    with pytest.raises(Interrupted):
        model.fit(rows, sample_weight=of_rows, checkpoint=Checkpoint(path, every_iterations=1))
    assert engine.nothing_is_left()
    other, of_other = engine.rows(X, weight, (900, N - 900))
    resumed = member(**settings).fit(other, sample_weight=of_other, resume=path)
    assert bits(resumed, engine.values(resumed.labels_)) == bits(whole, whole.labels_)


def test_a_checkpoint_of_other_rows_is_refused(engine, tmp_path):
    X, path = groups(), tmp_path / "checkpoint"
    settings = {"n_clusters": 3, "init": X[:3], "max_iter": 2}
    KMeans(**settings).fit(engine.rows(X)[0], checkpoint=Checkpoint(path, every_iterations=1))
    with pytest.raises(ValueError, match=r"`resume` must be .*other data or weights"):
        KMeans(**settings).fit(engine.rows(X[::-1])[0], resume=path)
    assert engine.nothing_is_left()


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_callbacks_see_the_same_progress_and_verbose_prints_it(engine, member, capsys):
    X, seen = groups(), {"held": [], "elsewhere": []}
    settings = {"n_clusters": 4, "random_state": 0, "n_init": 1, "max_iter": 4, "init": "random"}
    held = member(**settings, callback=seen["held"].append).fit(X)
    capsys.readouterr()
    model = member(**settings, callback=seen["elsewhere"].append, verbose=1)
    model.fit(engine.rows(X)[0])
    assert records(seen["elsewhere"]) == records(seen["held"]) == records(model.trace_)
    assert all(p.seconds > 0 and p.compared > 0 for p in seen["elsewhere"])
    assert len(capsys.readouterr().out.splitlines()) >= len(held.trace_)
    assert str(model.stopped_by_) == str(held.stopped_by_)


@pytest.mark.parametrize("member", [KMeans, SphericalKMeans, MiniBatchKMeans])
def test_scores_have_the_bits_of_memory(engine, member):
    X, weight = groups(np.float32), weights()
    model = member(4, random_state=0, max_iter=3).fit(X)
    rows, of_rows = engine.rows(X, weight)
    assert model.score(rows, sample_weight=of_rows) == model.score(X, sample_weight=weight)
    assert model.score(engine.rows(X)[0]) == model.score(X)
    assert engine.nothing_is_left()


@pytest.mark.parametrize("member", [KMedoids, KernelKMeans])
def test_members_of_pairs_of_rows_say_what_to_do(engine, member):
    with pytest.raises(ValueError, match=r"rows in memory, got .* needs pairs of rows: pass a"):
        member(3).fit(engine.rows(groups())[0])


def test_a_stream_takes_blocks_and_not_partitions(engine):
    with pytest.raises(ValueError, match=r"a batch of rows in memory.*one block of rows"):
        MiniBatchKMeans(3).partial_fit(engine.rows(groups())[0])
