"""Dask arrays, frames and delayed blocks: the same bits as in memory."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from partita import KMeans
from partita.source import dask_partitions

dask = pytest.importorskip("dask", reason="Dask is not installed")
da = pytest.importorskip("dask.array", reason="Dask is not installed")

N = 3000
CHUNKS = (1, 255, 257, 300, 1000, N - 1813)


def groups(dtype=np.float64):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(N, 6)) + 4 * rng.integers(0, 5, (N, 1))).astype(dtype)


def weights():
    return np.random.default_rng(1).random(N)


def records(model):
    return [(p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in model.trace_]


def assert_same_bits(held, lazy):
    assert not isinstance(lazy.labels_, np.ndarray)
    np.testing.assert_array_equal(held.cluster_centers_, lazy.cluster_centers_)
    np.testing.assert_array_equal(held.labels_, lazy.labels_.compute())
    assert held.inertia_ == lazy.inertia_
    assert records(held) == records(lazy)
    assert not dask_partitions._STATES  # nothing is left beside the partitions


def fit(X, weight=None, **settings):
    return KMeans(**{"n_clusters": 6, "random_state": 1, **settings}).fit(X, sample_weight=weight)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_dask_array_gives_the_bits_of_an_array(dtype, init, weighted):
    X, weight = groups(dtype), weights() if weighted else None
    rows = da.from_array(X, chunks=(CHUNKS, 3))
    held = fit(X, weight, init=init, n_init=2)
    assert_same_bits(held, fit(rows, weight, init=init, n_init=2))
    if weighted:
        assert_same_bits(held, fit(rows, da.from_array(weight, chunks=700), init=init, n_init=2))


def test_chunks_of_unknown_size_and_delayed_blocks_are_counted_first():
    X = groups()
    held, rows = fit(X), da.from_array(X, chunks=(700, 6))
    unknown = rows[rows[:, 0] > -np.inf]
    assert np.isnan(unknown.shape[0])
    assert_same_bits(held, fit(unknown))
    assert np.isnan(unknown.shape[0])  # the array of the user is as before
    assert_same_bits(held, fit([dask.delayed(block) for block in np.split(X, [100, 900, 901])]))


def test_a_dask_frame_has_feature_names():
    frames = pytest.importorskip("dask.dataframe", reason="Dask has no frames here")
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(groups(), columns=list("abcdef"))
    model = fit(frames.from_pandas(X, npartitions=3))
    assert_same_bits(fit(X), model)
    assert model.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="features of the fit"):
        model.predict(frames.from_pandas(X[list("bacdef")], npartitions=3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_labels_and_distances_of_a_dask_array_are_lazy(dtype):
    X = groups(dtype)
    model, rows = fit(X), da.from_array(X, chunks=(CHUNKS, 3))
    labels, distances = model.predict(rows), model.transform(rows)
    assert labels.chunks == (CHUNKS,)
    assert distances.shape == (N, 6)
    assert distances.dtype == model.transform(X).dtype
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    np.testing.assert_array_equal(distances.compute(), model.transform(X))
    with pytest.raises(ValueError, match="6 features, as in the fit"):
        model.predict(rows[:, :5])


def test_errors_say_what_must_hold():
    rows = da.from_array(groups(), chunks=700)
    with pytest.raises(ValueError, match="`sample_weight` must be of shape"):
        fit(rows, np.ones(5))
    with pytest.raises(ValueError, match="`X` must be numeric"):
        fit(rows.astype(str))
    with pytest.raises(ValueError, match="dask array or frame"):
        fit(rows[:, 0])
    assert not dask_partitions._STATES


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def states_of_workers(client):
    return list(client.run(lambda: len(dask_partitions._STATES)).values())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_processes_give_the_same_bits_and_keep_no_state(client):
    X, weight = groups(np.float32), weights()
    rows = da.from_array(X, chunks=(CHUNKS, 3))
    for init in ("k-means++", "k-means||"):
        assert_same_bits(fit(X, weight, init=init), fit(rows, weight, init=init))
    assert states_of_workers(client) == [0, 0]


def dying_in_next_pass(died):
    """Return what to run on a worker that is to die with its part of a pass made, not returned."""

    def change_pass():  # it travels by value: a worker has no module of these tests
        from partita.engine.partitioned_pass import MakePass

        make_pass = MakePass.__call__

        def make_pass_and_die(self, part):
            make_pass(self, part)
            died.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

        MakePass.__call__ = make_pass_and_die

    return change_pass


def wait_for_new_worker(client, dead, seconds=60):
    end = time.monotonic() + seconds
    while dead in (found := client.scheduler_info()["workers"]) or len(found) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("moment", ["in a pass", "between passes"])
@pytest.mark.parametrize("init", ["random", "k-means++"])
def test_a_killed_worker_does_not_change_the_fit(client, moment, init, tmp_path):
    X, died, victims, dead = groups(), tmp_path / "died", [], []
    processes = client.run(os.getpid)

    def kill(progress):
        dead.append(died.exists())
        if progress.iteration == 3 and not victims:
            held = {address: len(keys) for address, keys in client.has_what().items()}
            victims.append(max(held, key=held.get))
            assert held[victims[0]] > 0  # it has rows to lose
            if moment == "in a pass":
                client.run(dying_in_next_pass(died), workers=victims)
            else:
                os.kill(processes[victims[0]], signal.SIGKILL)
                died.write_text(str(processes[victims[0]]))

    held = fit(X, init=init)
    assert len(held.trace_) > 4
    assert_same_bits(held, fit(da.from_array(X, chunks=(CHUNKS, 6)), init=init, callback=kill))
    assert dead[:4] == [False, False, False, True]  # after three passes, and others followed
    assert int(died.read_text()) == processes[victims[0]]
    wait_for_new_worker(client, victims[0])
    assert states_of_workers(client) == [0, 0]
