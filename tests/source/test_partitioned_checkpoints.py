"""A fit of rows in partitions that is resumed ends in the bits of one that never stopped."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from helpers.list_partitions import ListPartitions

from partita import Checkpoint, KMeans, SphericalKMeans
from partita.source.partition_fingerprint import partition_fingerprint

N = 1500
RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(N, 4)) + 3 * RNG.integers(0, 4, (N, 1))
WEIGHT = RNG.random(N)
FAR = np.vstack([ROWS[:5], np.full((2, 4), 1e3), np.full((1, 4), -1e3)])
CASES = {
    "restarts": (KMeans, {"n_clusters": 5, "init": "random", "n_init": 3, "random_state": 1}, None),
    "weights": (KMeans, {"n_clusters": 6, "random_state": 1}, WEIGHT),
    "directions": (
        SphericalKMeans,
        {"n_clusters": 4, "random_state": 1, "zero_rows": "drop"},
        None,
    ),
    "relocate": (KMeans, {"n_clusters": 8, "init": FAR}, WEIGHT),
    "drop": (KMeans, {"n_clusters": 8, "init": FAR, "empty": "drop"}, None),
    "keep": (KMeans, {"n_clusters": 8, "init": FAR, "empty": "keep"}, None),
}


def parts_of(X, sizes=(300, 1, 700), loss=0.0):
    return ListPartitions(np.split(X, np.cumsum(sizes)), loss=loss)


def bits(model):
    trace = [(p.cost, p.cost_after, p.shift, p.moved_points, p.empty) for p in model.trace_]
    arrays = [model.cluster_centers_, np.asarray(model.labels_), model.start_, np.array(trace)]
    reason = str(model.stopped_by_)
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays], model.inertia_, reason, model.n_iter_


def rows_of(case):
    X = ROWS.copy()
    if case == "directions":
        X[::7] = 0
    return X


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_every_checkpoint_resumes_to_the_bits_of_the_whole_fit(case, tmp_path):
    member, settings, weight = CASES[case]
    X, path, versions = rows_of(case), tmp_path / "checkpoint", []

    def keep(progress):
        if path.exists():
            versions.append(tmp_path / f"version-{len(versions)}")
            shutil.copy(path, versions[-1])

    whole = bits(member(**settings).fit(X, sample_weight=weight))
    checkpoint = Checkpoint(path, every_seconds=None, every_iterations=1)
    model = member(**settings, callback=keep)
    written = model.fit(parts_of(X, loss=0.2), sample_weight=weight, checkpoint=checkpoint)
    assert bits(written) == whole
    assert len(versions) > 1
    for version in versions:
        # other partitions than those of the fit that was interrupted
        parts = parts_of(X, (5, 600), loss=0.2)
        model = member(**settings).fit(parts, sample_weight=weight, resume=version)
        assert bits(model) == whole


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def test_an_interrupted_fit_saves_its_state_and_closes_its_partitions(tmp_path):
    def interrupt(progress):
        if progress.iteration == 3:
            raise Interrupted

    path, settings = tmp_path / "checkpoint", {"n_clusters": 6, "random_state": 0}
    parts = parts_of(ROWS)
    with pytest.raises(Interrupted):
        KMeans(**settings, callback=interrupt).fit(parts, checkpoint=path)
    assert parts.opened.closed
    resumed = KMeans(**settings).fit(parts_of(ROWS, (900,)), resume=path)
    assert bits(resumed) == bits(KMeans(**settings).fit(ROWS))


def test_other_data_or_weights_are_refused(tmp_path):
    path, settings = tmp_path / "checkpoint", {"n_clusters": 3, "random_state": 0, "max_iter": 2}
    checkpoint = Checkpoint(path, every_iterations=1)
    KMeans(**settings).fit(parts_of(ROWS), sample_weight=WEIGHT, checkpoint=checkpoint)
    other = ROWS.copy()
    other[[7, 8]] = other[[8, 7]]
    for X, weight in ((other, WEIGHT), (ROWS, None), (ROWS, 1 - WEIGHT)):
        with pytest.raises(ValueError, match=r"`resume` must be .*other data or weights"):
            KMeans(**settings).fit(parts_of(X), sample_weight=weight, resume=path)


def test_the_fingerprint_depends_on_rows_and_their_order_and_not_on_how_they_are_cut():
    def of(X, *sizes):
        return partition_fingerprint(parts_of(X, sizes))

    assert of(ROWS, 10) == of(ROWS, 256, 3, 700) == of(ROWS)
    moved = np.roll(ROWS, 256, axis=0)  # the same leaves at other places
    others = [moved, ROWS[:-1], ROWS.astype(np.float32), ROWS[:, ::-1]]
    assert len({of(ROWS), *map(of, others)}) == 5
