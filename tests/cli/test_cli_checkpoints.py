"""`--checkpoint` and `--resume`: a fit that goes on to the bits of one never interrupted."""

from __future__ import annotations

import shlex
import signal

import numpy as np
import pytest
from helpers.cli import saved_parts

from partita.progress.bars import ProgressBar

STOP_AFTER = 3  # iterations
OPTIONS = ("-k", 12, "--halt", "SamePartition()", "--seed", 1)


@pytest.fixture
def noise(tmp_path):
    """Rows that need many iterations."""
    path = tmp_path / "noise.npy"
    np.save(path, np.random.default_rng(0).normal(size=(2000, 3)))
    return path


@pytest.fixture
def stopping(monkeypatch):
    """Let the next fit be interrupted by Ctrl-C, pressed once or twice."""
    usual = ProgressBar.__call__

    def stop(times):
        calls = 0

        def stopped(self, progress):
            nonlocal calls
            calls += 1
            for _ in range(times if calls == STOP_AFTER else 0):
                signal.raise_signal(signal.SIGINT)
            return usual(self, progress)

        monkeypatch.setattr(ProgressBar, "__call__", stopped)
        return lambda: monkeypatch.setattr(ProgressBar, "__call__", usual)

    return stop


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "10kB")], ids=["memory", "blocks"])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("starts", [(), ("--n-init", 2)], ids=["several", "n-init"])
def test_a_resumed_fit_ends_in_the_bits_of_the_whole(
    partita, tmp_path, noise, stopping, limit, times, starts
):
    state, whole, resumed = tmp_path / "fit.checkpoint", tmp_path / "a.npy", tmp_path / "b.npy"
    words = ("fit", noise, *OPTIONS, *limit, *starts, "--quiet")
    models = [tmp_path / name for name in ("a.partita", "b.partita")]
    partita(*words, "--labels", whole, "--model", models[0])
    go_on = stopping(times)
    written = ("--labels", resumed, "--model", models[1])
    error = partita(*words, "--checkpoint", state, *written, code=130)
    go_on()
    assert resumed.exists() == (times == 1)
    command = error.strip().partition(". To go on: ")[2]
    again = shlex.split(command)[1:]
    assert ("--force" in again) == (times == 1)
    partita(*again)
    assert resumed.read_bytes() == whole.read_bytes()
    assert saved_parts(models[1]) == saved_parts(models[0])


def test_an_interruption_without_a_state_says_so(partita, tmp_path, noise, monkeypatch):
    from partita.cli import workflow

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "cluster", interrupted)
    words = ("fit", noise, "-k", 3, "--quiet")
    error = partita(*words, "--checkpoint", tmp_path / "a.checkpoint", code=130)
    assert "No checkpoint was due; the same command begins again" in error
    assert partita(*words, code=130).strip() == "Interrupted: nothing was saved"


@pytest.fixture
def checkpoint(partita, tmp_path, noise, stopping):
    path = tmp_path / "fit.checkpoint"
    go_on = stopping(1)
    partita("fit", noise, *OPTIONS, "--quiet", "--checkpoint", path, code=130)
    go_on()
    return path


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (("-k", 11), "one with n_clusters=12, not 11"),
        (("--seed", 2), "one with random_state '1', not '2'"),
        (("--exclude", "c1"), "one of other data or weights"),
        (("--method", "spherical"), "one with member 'KMeans', not 'SphericalKMeans'"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(fails, noise, checkpoint, words, difference):
    code, error = fails("fit", noise, *OPTIONS, *words, "--resume", checkpoint, "--quiet")
    assert code == 3
    assert error.startswith(f"Error: {noise}: --resume must be a checkpoint of this fit")
    assert f"got {checkpoint}: {difference}" in error
    assert error.endswith("Leave it out to begin a new fit.")


def test_wrong_files_are_refused_before_the_data_is_read(fails, tmp_path, file):
    absent, data = tmp_path / "absent", tmp_path / "no.csv"
    cases = {
        ("--resume", absent): f"There is no checkpoint {absent}. Leave --resume out to begin",
        ("--resume", file): f"--resume must be a checkpoint, got {file}, a file of another kind.",
        ("--checkpoint", file): f"--checkpoint must be a new file or a checkpoint, got {file}",
        ("--checkpoint", tmp_path / "no" / "a"): "there is no folder",
    }
    for words, text in cases.items():
        code, error = fails("fit", data, "-k", 3, *words)
        assert code == 3
        assert text in error


def test_checkpoints_need_a_number_of_clusters_and_a_method_that_has_them(fails, tmp_path, file):
    state = ("--checkpoint", tmp_path / "a.checkpoint")
    cases = {
        (): "--checkpoint needs a number of clusters, like --k 8.",
        ("-k", 3, "-m", "medoids"): "--checkpoint needs --method kmeans or spherical, got --method",
    }
    for words, text in cases.items():
        code, error = fails("fit", file, *words, *state)
        assert code == 2
        assert text in error
    code, error = fails("fit", file, "-k", 3, "--model", state[1], *state)
    assert code == 2
    assert "is another file of this command" in error
