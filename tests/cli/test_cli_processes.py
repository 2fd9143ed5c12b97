"""The command line as a process: pipes, signals, a full disk, a terminal."""

from __future__ import annotations

import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.cli import PARTITA, environment, pa

from partita import KMeans, save
from partita.tables import read_table, write_table


def spawn(*words, **options):
    return subprocess.Popen(
        [*PARTITA, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Rows that keep K-means busy for some seconds."""
    path = tmp_path_factory.mktemp("noise") / "noise.npy"
    np.save(path, np.random.default_rng(0).normal(size=(20_000, 10)).astype(np.float32))
    return path


@pytest.mark.heavy
def test_a_full_disk_gives_3_and_leaves_no_half_file(tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no limits for files")
    write_table(pa.table({"x": np.arange(1000.0)}), tmp_path / "a.csv")  # more than the limit
    (tmp_path / "out.csv").write_text("old")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    run = spawn("fit", tmp_path / "a.csv", "-k", 2, "--labels", tmp_path / "out.csv", "--force",
                preexec_fn=limit)  # fmt: skip
    _, output = run.communicate()
    assert run.returncode == 3, output
    assert "out.csv could not be written" in output
    assert (tmp_path / "out.csv").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "out.csv"}


@pytest.mark.heavy
def test_ctrl_c_ends_a_fit_with_130_and_what_it_had_found(tmp_path, noise):
    out, model = tmp_path / "out.npy", tmp_path / "m.partita"
    master, slave = pytest.importorskip("pty", reason="this system has no terminals").openpty()
    run = subprocess.Popen(
        [*PARTITA, "fit", noise, "-k", "50", "--halt", "SamePartition()", "--max-iter", "100000",
         "--n-init", "5000", "--threads", "1", "--labels", out, "--model", model],
        stdout=subprocess.DEVNULL, stderr=slave, env=environment(TERM="xterm"),
    )  # fmt: skip
    os.close(slave)
    output = b""
    while b"iteration" not in output:  # the bar: the fit has begun
        output += os.read(master, 4096)
    run.send_signal(signal.SIGINT)
    while part := read_terminal(master):
        output += part
    os.close(master)
    assert run.wait(timeout=60) == 130, output
    output = " ".join(output.decode().split())
    assert "Traceback" not in output
    assert "Interrupted: the fit was stopped early, with J = " in output
    assert "saved: model in" in output
    assert "labels in" in output
    assert set(read_table(out).data.column(10).to_pylist()) <= set(range(50))
    assert loads(model, 10)


def read_terminal(master):
    try:
        return os.read(master, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.heavy
def test_ctrl_c_before_the_fit_saves_nothing(tmp_path):
    if not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc, so nothing tells when the command waits for input")
    run = spawn("fit", "-", "-k", 2, "--labels", tmp_path / "o.csv", stdin=subprocess.PIPE)
    try:
        # more than a pipe holds: once it is written, the command has begun to read
        run.stdin.write("x,y\n" + "1,2\n" * 100_000)
        run.stdin.flush()
        while not is_waiting_for_input(run):
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130
    finally:
        run.kill()
        _, output = run.communicate()
    assert "nothing was saved" in output
    assert list(tmp_path.iterdir()) == []


def is_waiting_for_input(run):
    """Return whether the process has read all of its input and sleeps."""
    import fcntl
    import struct
    import termios

    (unread,) = struct.unpack("i", fcntl.ioctl(run.stdin, termios.FIONREAD, b"\0" * 4))
    state = Path(f"/proc/{run.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return unread == 0 and state == "S"


def killed(tmp_path, seed, times, longest):
    """Kill a fit at random moments; every file is then the old one or a whole new one."""
    rng = random.Random(seed)
    X = np.random.default_rng(0).normal(size=(4000, 5))
    data = tmp_path / "a.csv"
    write_table(pa.table(dict(zip("abcde", X.T.copy(), strict=True))), data)
    before = data.read_bytes()
    labels, model, page = tmp_path / "o.csv", tmp_path / "m.partita", tmp_path / "r.html"
    expected = KMeans(5, quality="balanced", random_state=0).fit(X).labels_
    for _ in range(times):
        mine = rng.random() < 0.5
        for path in (labels, model, page):
            path.unlink(missing_ok=True)
            if mine:
                path.write_text("mine")
        run = spawn("fit", data, "-k", 5, "--raw", "--labels", labels, "--model", model,
                    "--report", page, "--force", "--threads", 1)  # fmt: skip
        time.sleep(rng.uniform(0.3, longest))
        run.kill()
        run.communicate()
        assert data.read_bytes() == before
        for path, whole in ((labels, labels_are(expected)), (model, loads), (page, ends)):
            old = path.read_bytes() == b"mine" if path.exists() else not mine
            assert old or whole(path), f"{path} is neither the old file nor a whole new one"


def labels_are(expected):
    return lambda path: read_table(path).data["cluster"].to_pylist() == expected.tolist()


def loads(path, features=5):
    from partita import model_file

    return model_file.read_model(path).predict(np.zeros((1, features))).shape == (1,)


def ends(path):
    return path.read_text().rstrip().endswith("</html>")


@pytest.mark.heavy
def test_kills_leave_no_half_file(tmp_path):
    killed(tmp_path, seed=1, times=2, longest=3)


@pytest.mark.slow
def test_twenty_random_kills_leave_no_half_file(tmp_path):
    killed(tmp_path, seed=2, times=20, longest=4)


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_every_command_looks_right_in_a_terminal(tmp_path, width):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed: no terminal to look at")
    name, folder = f"partita-{os.getpid()}-{width}", tmp_path / "demo"
    data, model = folder / "wine.csv", folder / "wine.partita"
    commands = (
        ("demo", folder),
        ("fit", data, "-k", 3, "--scale", "standard", "--id", "wine"),
        ("choose-k", data, "-k", "2:6", "--scale", "standard"),
        ("predict", data, "--model", model, "--only-labels"),
        ("inspect", model),
        ("report", data, "--model", model, "--out", folder / "2.html"),
        ("fit", "--help"),
    )

    def tmux(*words):
        done = subprocess.run(
            ["tmux", "-L", name, *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", "70", "sh")
    try:
        for words in commands:
            command = shlex.join(map(str, [*PARTITA, *words]))
            tmux("send-keys", f"clear; {command}; echo END=$?", "Enter")
            code = None
            for _ in range(300):
                time.sleep(0.2)
                screen = tmux("capture-pane", "-p", "-S", "-200")
                if code := re.search(r"^END=(\d+)$", screen, re.M):
                    break
            assert code is not None, screen
            assert code[1] == "0", screen
            assert "Traceback" not in screen
            assert "━" not in screen, f"a bar is left on the screen:\n{screen}"
            tmux("clear-history")
    finally:
        tmux("kill-server")


def shell(words, rest="", **options):
    """Run a command in bash, followed by `rest`: pipes and closed streams."""
    command = f"{shlex.join(map(str, [*PARTITA, *words]))} {rest}"
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, **options)


@pytest.mark.heavy
def test_a_reader_of_stdout_that_leaves_gives_141(file, tmp_path):
    table, model = tmp_path / "a.csv", tmp_path / "m.partita"
    write_table(pa.table({"x": np.arange(30_000.0)}), table)  # more than a pipe holds
    save(KMeans(2, random_state=0).fit([[0.0], [1.0]]), model, names=["x"])
    buffered = environment(PYTHONUNBUFFERED="")  # without a buffer, Python ignores partial writes
    for words, lines in (
        (("fit", table, "-k", 2, "--labels", "-"), 1),
        (("fit", file, "-k", 3), 0),
        (("inspect", model), 0),
        (("predict", table, "--model", model), 1),
    ):
        run = spawn(*words, env=buffered)
        for _ in range(lines):
            run.stdout.readline()
        run.stdout.close()
        messages = run.stderr.read()
        assert run.wait() == 141, (words, messages)
        assert "Error" not in messages, words
        run.stderr.close()


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_streams_that_are_closed_or_lack_characters(file):
    for words, redirect, code in (
        (("fit", "-", "-k", 2), "<&-", 3),
        (("fit", file, "-k", 3), ">&-", 0),
        (("predict", file, "--model", "no"), "2>&-", 3),
    ):
        done = shell(words, redirect)
        assert "Traceback" not in done.stderr
        assert done.returncode == code, done.stderr
    done = shell(("fit", file, "-k", 3), env=environment(PYTHONIOENCODING="ascii"))
    assert done.returncode == 0, done.stderr


@pytest.mark.heavy
@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no /dev/stdout")
def test_labels_can_go_into_a_pipe(file):
    words = ("fit", file, "-k", 3, "-q", "--labels", "/dev/stdout")
    done = shell(words, "| tail -n +2 | wc -l")
    assert done.stdout.strip() == "120", done.stderr
