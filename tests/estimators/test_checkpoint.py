"""A fit that is resumed from any of its checkpoints ends in the bits of one that never stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
import zipfile
from dataclasses import fields

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from partita import Checkpoint, KMeans, SphericalKMeans
from partita._common.errors import ParameterError
from partita.halting import MaxIter, RelDecrease
from partita.trace import Progress

HOW = {"seconds", "path", "compared", "candidates"}  # how a pass was made, not what it found
ROWS = np.random.default_rng(0).normal(size=(300, 3))
EMPTYING = np.repeat([[0.0, 0.0], [1.0, 0.1], [9.0, 9.0], [8.0, 9.1], [20.0, 0.0]], 4, axis=0)
FAR_START = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0], [500.0, 500.0], [-900.0, 0.0]])
EMPTYING_LATER = EMPTYING + np.random.default_rng(1).normal(size=EMPTYING.shape)


def results(model):
    kept = [field.name for field in fields(Progress) if field.name not in HOW]
    trace = [[getattr(record, name) for name in kept] for record in model.trace_]
    stats = model.stats_
    arrays = [model.cluster_centers_, model.labels_, model.start_]
    arrays += [stats.weight, stats.mean, stats.sse, np.array(trace)]
    reason = str(model.stopped_by_), model.stopped_by_.kinds
    return [(a.dtype, a.shape, a.tobytes()) for a in arrays], model.inertia_, reason, model.n_iter_


def quiet_fit(model, X, **arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **arguments)


def versions_of(make, X, folder, **arguments):
    """Fit with a checkpoint after every iteration; return the model and every version of it."""
    path, kept = folder / "checkpoint", []

    def keep(progress=None):
        if path.exists():
            kept.append(folder / f"version-{len(kept)}")
            shutil.copy(path, kept[-1])

    checkpoint = Checkpoint(path, every_seconds=None, every_iterations=1)
    model = quiet_fit(make(callback=keep), X, checkpoint=checkpoint, **arguments)
    keep()
    return model, kept


def assert_all_resume(make, X, folder, **arguments):
    whole = results(quiet_fit(make(), X, **arguments))
    model, versions = versions_of(make, X, folder, **arguments)
    assert results(model) == whole
    assert versions
    for version in versions:
        assert results(quiet_fit(make(), X, resume=version, **arguments)) == whole


CASES = {
    "k-means++": (lambda **o: KMeans(6, random_state=1, tol=0, **o), ROWS, {}),
    "restarts": (
        lambda **o: KMeans(4, init="random", n_init=4, random_state=2, **o), ROWS, {}
    ),
    "float32": (lambda **o: KMeans(6, random_state=1, **o), ROWS.astype(np.float32), {}),
    "weights": (
        lambda **o: KMeans(5, random_state=1, n_init=2, **o),
        ROWS,
        {"sample_weight": np.arange(300) % 4 / 3},
    ),
    "sparse": (
        lambda **o: KMeans(5, random_state=1, n_init=2, **o),
        sp.csr_array(np.where(ROWS > 0.5, ROWS, 0.0)),
        {},
    ),
    "spherical": (lambda **o: SphericalKMeans(6, random_state=1, n_init=2, **o), ROWS, {}),
    "sparse spherical": (
        lambda **o: SphericalKMeans(5, random_state=1, zero_rows="drop", **o),
        sp.csr_array(np.where(ROWS > 0.5, ROWS, 0.0)),
        {},
    ),
    "far outlier": (
        lambda **o: KMeans(5, random_state=1, tol=0, **o),
        np.vstack([ROWS, [[1e18, 0.0, 0.0]]]),
        {},
    ),
    "box": (lambda **o: KMeans(30, init="box", n_init=3, random_state=5, **o), ROWS, {}),
    "halt": (
        lambda **o: KMeans(
            6, random_state=1, halt=MaxIter(9) | RelDecrease(1e-5), n_init=3, **o
        ),
        ROWS,
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_resuming_after_any_iteration_gives_the_same_bits(case, tmp_path):
    make, X, arguments = CASES[case]
    assert_all_resume(make, X, tmp_path, **arguments)


@pytest.mark.parametrize("empty", ["relocate", "keep", "drop"])
@pytest.mark.parametrize("weighted", [False, True])
def test_resuming_repeats_the_repair_of_empty_clusters(empty, weighted, tmp_path):
    weight = np.tile([1.0, 0.0, 2.0, 1.0], 5) if weighted else None
    assert_all_resume(
        lambda **o: KMeans(5, init=FAR_START, n_init=1, empty=empty, tol=0, **o),
        EMPTYING_LATER,
        tmp_path,
        sample_weight=weight,
    )


@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 12),
    empty=st.sampled_from(["relocate", "keep", "drop"]),
    init=st.sampled_from(["k-means++", "random", "box", "random-partition"]),
)
def test_resuming_gives_the_same_bits_for_any_seed(tmp_path_factory, seed, k, empty, init):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(40, 2)).astype(float)
    assert_all_resume(
        lambda **o: KMeans(
            k, init=init, n_init=2, random_state=seed, empty=empty, max_iter=20, **o
        ),
        X,
        tmp_path_factory.mktemp("fits"),
    )


def test_a_fit_without_a_seed_goes_on_with_its_own_random_numbers(tmp_path):
    def make(**options):
        return KMeans(4, init="random", n_init=5, **options)

    model, versions = versions_of(make, ROWS, tmp_path)
    for version in versions:
        assert results(make().fit(ROWS, resume=version)) == results(model)


def test_a_callback_that_stops_a_fit_leaves_a_state_to_resume_from(tmp_path):
    path, whole = tmp_path / "c", KMeans(6, random_state=1, tol=0).fit(ROWS)
    stopped = KMeans(6, random_state=1, tol=0, callback=lambda p: p.iteration == 3)
    stopped.fit(ROWS, checkpoint=path)
    assert stopped.n_iter_ == 3
    assert results(KMeans(6, random_state=1, tol=0).fit(ROWS, resume=path)) == results(whole)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_an_interrupted_fit_leaves_its_last_state(interruption, tmp_path):
    path, whole = tmp_path / "c", KMeans(6, random_state=1, tol=0).fit(ROWS)

    def interrupt(progress):
        if progress.iteration == 4:
            raise interruption

    with pytest.raises(interruption):
        KMeans(6, random_state=1, tol=0, callback=interrupt).fit(ROWS, checkpoint=path)
    seen = []
    model = KMeans(6, random_state=1, tol=0, callback=seen.append).fit(ROWS, resume=path)
    assert seen[0].iteration == 4
    assert results(model) == results(whole)


def test_resuming_may_go_on_writing_to_the_same_file(tmp_path):
    path = tmp_path / "c"
    checkpoint = Checkpoint(path, every_iterations=1)
    whole = KMeans(6, random_state=1, tol=0).fit(ROWS)
    for last in range(1, whole.n_iter_ + 1):
        model = KMeans(6, random_state=1, tol=0, callback=lambda p, last=last: p.iteration >= last)
        resume = path if path.exists() else None
        model.fit(ROWS, checkpoint=checkpoint, resume=resume)
    model = KMeans(6, random_state=1, tol=0).fit(ROWS, checkpoint=checkpoint, resume=path)
    assert results(model) == results(whole)


def test_other_threads_and_paths_may_resume(tmp_path):
    whole = KMeans(6, random_state=1, tol=0).fit(ROWS)
    make = CASES["k-means++"][0]
    _, versions = versions_of(make, ROWS, tmp_path)
    for algorithm in ("plain", "blocks", "hamerly"):
        model = make(algorithm=algorithm, n_threads=2, memory_limit=0)
        assert results(model.fit(ROWS, resume=versions[1])) == results(whole)


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture
def checkpoint_file(tmp_path):
    path = tmp_path / "c"
    KMeans(6, random_state=1, tol=0, callback=lambda p: p.iteration == 3).fit(
        ROWS, checkpoint=Checkpoint(path, every_iterations=1)
    )
    return path


def refused(path, X=ROWS, model=None, **arguments):
    model = KMeans(6, random_state=1, tol=0) if model is None else model
    with pytest.raises(ParameterError, match="`resume` must be") as caught:
        model.fit(X, resume=path, **arguments)
    assert caught.value.parameter == "resume"
    return str(caught.value)


def test_a_missing_checkpoint_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no checkpoint"):
        KMeans(2).fit(ROWS, resume=tmp_path / "none")


def test_a_part_of_a_checkpoint_is_refused(checkpoint_file, tmp_path):
    content, part = checkpoint_file.read_bytes(), tmp_path / "part"
    for length in range(0, len(content), 97):
        part.write_bytes(content[:length])
        refused(part)


def test_a_flipped_byte_is_refused_or_changes_nothing(checkpoint_file, tmp_path):
    content, other = checkpoint_file.read_bytes(), tmp_path / "other"
    whole = results(KMeans(6, random_state=1, tol=0).fit(ROWS))
    for place in range(0, len(content), 31):
        other.write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        try:
            model = KMeans(6, random_state=1, tol=0).fit(ROWS, resume=other)
        except ParameterError:
            continue
        assert results(model) == whole


def test_foreign_files_are_refused(tmp_path):
    from partita import save

    path = tmp_path / "model"
    save(KMeans(2, random_state=0).fit(ROWS), path)
    assert "another kind" in refused(path)
    path.write_text("a,b\n1,2\n")
    refused(path)
    with pytest.raises(ParameterError, match="`checkpoint` must be a new file or a checkpoint"):
        KMeans(2).fit(ROWS, checkpoint=path)
    assert path.read_text() == "a,b\n1,2\n"


def test_other_versions_are_refused(checkpoint_file, tmp_path):
    path = tmp_path / "newer"
    with zipfile.ZipFile(checkpoint_file) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "header.json":
                content = json.dumps({**json.loads(content), "version": 2}).encode()
            new.writestr(name, content)
    assert "version 2" in refused(path)


def test_other_data_are_refused(checkpoint_file):
    moved = ROWS.copy()
    moved[7, 1] += 1e-9
    for X in (moved, ROWS[::-1], ROWS[:-1], ROWS.astype(np.float32)):
        assert "other data" in refused(checkpoint_file, X)
    assert "other data" in refused(checkpoint_file, sample_weight=np.ones(300))


@pytest.mark.parametrize(
    "other",
    [
        {"n_clusters": 5}, {"random_state": 2}, {"random_state": None}, {"tol": 0.1},
        {"max_iter": 7}, {"n_init": 2}, {"init": "random"}, {"init": ROWS[:6]},
        {"empty": "drop"}, {"halt": RelDecrease(0.1)},
    ],
)  # fmt: skip
def test_other_parameters_are_refused(other, checkpoint_file):
    model = KMeans(**{"n_clusters": 6, "random_state": 1, "tol": 0, **other})
    assert next(iter(other)) in refused(checkpoint_file, model=model)
    assert "member" in refused(checkpoint_file, model=SphericalKMeans(6, random_state=1, tol=0))


def test_a_generator_that_a_file_cannot_hold_is_refused(tmp_path):
    rng = np.random.Generator(np.random.MT19937(0))
    with pytest.raises(ParameterError, match="`random_state` must be"):
        KMeans(2, random_state=rng).fit(ROWS, checkpoint=tmp_path / "c")


@pytest.mark.parametrize("wrong", [{"every_seconds": -1}, {"every_iterations": 0}, {"path": 3}])
def test_wrong_checkpoints_are_refused(wrong):
    with pytest.raises(ParameterError, match=f"`Checkpoint.{next(iter(wrong))}` must be"):
        Checkpoint(**{"path": "c", **wrong})
    with pytest.raises(ParameterError, match="`checkpoint` must be"):
        KMeans(2).fit(ROWS, checkpoint=1)


# --- a process that is killed ---------------------------------------------------------------------

VICTIM = """
import sys
import numpy as np
from partita import Checkpoint, KMeans
def say(progress):
    print("iteration", flush=True)
checkpoint, rows, limit = Checkpoint(sys.argv[1], every_iterations=1), sys.argv[2], sys.argv[3]
X = rows if limit == "0B" else np.load(rows)
model = KMeans(20, init="random", n_init=4, random_state=1, tol=0, callback=say, memory_limit=limit)
model.fit(X, checkpoint=checkpoint)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("limit", ["1GiB", "0B"], ids=["in memory", "in a file"])
def test_a_killed_process_leaves_a_checkpoint_that_gives_the_same_bits(limit, tmp_path):
    X, rows = np.random.default_rng(0).normal(size=(4000, 6)), tmp_path / "rows.npy"
    np.save(rows, X)
    model = KMeans(20, init="random", n_init=4, random_state=1, tol=0)
    whole, rng = results(model.fit(X)), np.random.default_rng(3)
    for attempt in range(20):
        path = tmp_path / f"{attempt}"
        command = [sys.executable, "-c", VICTIM, os.fspath(path), os.fspath(rows), limit]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
            for _ in range(int(rng.integers(2, 60))):
                victim.stdout.readline()
            victim.kill()
        assert results(model.fit(X, resume=path)) == whole
