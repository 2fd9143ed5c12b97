"""What goes wrong is said in a sentence, with an exit code; what was there stays there."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")
pytest.importorskip("typer", reason="typer is not installed: no command line")

from partita import KMeans  # noqa: E402
from partita.cli import app  # noqa: E402
from partita.tables import read_table, write_table  # noqa: E402

PARTITA = (sys.executable, "-m", "partita")


@pytest.fixture
def fails(capsys):
    """Run a command that must fail: its exit code, and what it says on stderr."""

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        return ended.value.code, " ".join(err.replace("│", " ").split())

    return run


def csv(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", (), "is empty"),
        ("a,b\n", (), "no rows"),
        ("a,b\n1,2\n", ("-k", "2"), "2 clusters were asked for, but there is 1 row"),
        ("a,b\n1,2\n", (), "one row to cluster; a choice of K needs at least two"),
        ("a,b\nx,y\nu,v\n", ("-k", "1"), "no numeric column to cluster: 'a' (text"),
        ("a,b\n1,2\n3,\n", ("-k", "1"), "line 3, column 'b': the value is missing"),
        ("a,b\n1,2\n3,nan\n", ("-k", "1"), "line 3, column 'b': the value is missing"),
        ("a,b\n1,2\n3,inf\n", ("-k", "1"), "line 3, column 'b': the value is infinite"),
        ("a,b\n1,2\n3,4\n", ("-k", "3"), "3 clusters were asked for, but there are 2 rows"),
        ("a,b\n1,2\n3,4\n", ("-k", "2:9"), "9 clusters were asked for, but there are 2 rows"),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "-c", "bb"), "no column 'bb'. Did you mean 'b'?"),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "-x", "c"), "no column 'c'"),
        ("a,b\n1,2\n3,4\n", ("-k", "1", "--id", "c"), "no column 'c'"),
        ("a,b\n1,2\n3,-4\n", ("-k", "1", "-w", "b"), "line 3, column 'b': the weight is negative"),
        ("a,b\n1,2\n3\n", ("-k", "1"), "line 3: 1 cell found"),
        ("a,b\n0,0\n1,1\n", ("-k", "1", "-m", "spherical"), "line 2 holds zeros only"),
    ],
)
def test_wrong_data_give_3_and_name_the_file_and_the_place(tmp_path, fails, text, options, words):
    path = csv(tmp_path / "data.csv", text)
    code, said = fails("fit", path, *options)
    assert code == 3
    assert words in said
    assert str(path) in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-k", "0"), "at least one"),
        (("-k", "many"), "a number, auto, or 2:20"),
        (("-k", "5:2"), "two numbers, the smaller first"),
        (("-k", "3:3"), "two numbers, the smaller first"),
        (("--model", "-"), "'-' is for --labels alone"),
        (("--report", "-"), "'-' is for --labels alone"),
        (("--report", "page.pdf"), "a name that ends in .html"),
        (("--labels", "out.xlsx"), "files that end in .xlsx are not written"),
        (("--only-labels",), "what --labels OUT holds"),
        (("--threads", "5000"), "4096"),
        (("-m", "medoids", "--metric", "manhatten"), "did you mean manhattan?"),
        (("-m", "kernel", "--kernel", "zzz"), "one of rbf, laplacian"),
        (("-k", "-3"), ""),
        (("-m", "other"), "--method"),
        (("--scale", "other"), "--scale"),
        (("--halt", "Never()"), "--halt"),
        (("--metric", "cosine"), "--metric is for --method medoids"),
        (("--kernel", "rbf"), "--kernel is for --method kernel"),
        (("--seed", "-1"), "--seed"),
        (("--threads", "0"), "--threads"),
        (("--delimiter", "ab"), "single character"),
        (("--nothing",), "--nothing"),
        (("--labels", "-", "--json"), "both print"),
    ],
)
def test_a_wrong_command_gives_2(tmp_path, fails, options, words):
    code, said = fails("fit", csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n"), *options)
    assert code == 2
    assert words in said


def test_files_that_cannot_be_read(tmp_path, fails):
    code, said = fails("fit", tmp_path / "no.csv")
    assert (code, "There is no file" in said, str(tmp_path / "no.csv") in said) == (3, True, True)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and then nothing")
    code, said = fails("fit", tmp_path / "a.parquet")
    assert (code, "a.parquet is not a parquet file" in said) == (3, True)
    np.save(tmp_path / "a.npy", np.zeros((100, 3)))
    whole = (tmp_path / "a.npy").read_bytes()
    (tmp_path / "a.npy").write_bytes(whole[: len(whole) // 2])
    code, said = fails("fit", tmp_path / "a.npy")
    assert (code, "a.npy" in said, "not a .npy file" in said) == (3, True, True)


@pytest.mark.parametrize("content", [b"", b"not a model", b"PK\x03\x04"])
def test_models_that_cannot_be_read(tmp_path, fails, content):
    data, model = csv(tmp_path / "data.csv", "a\n1\n"), tmp_path / "m.partita"
    model.write_bytes(content)
    for words in (
        ("inspect", model),
        ("predict", data, "--model", model),
        ("report", data, "--model", model, "--out", tmp_path / "r.html"),
    ):
        code, said = fails(*words)
        assert code == 3
        assert str(model) in said
    code, said = fails("inspect", tmp_path / "none.partita")
    assert code == 3
    assert "none.partita" in said


def test_outputs_that_cannot_be_written_are_said_before_the_work(tmp_path, fails):
    data = csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n")
    code, said = fails("fit", data, "-k", "1", "--labels", tmp_path / "no" / "out.csv")
    assert (code, "there is no folder" in said) == (3, True)
    code, said = fails("fit", data, "-k", "1", "--model", tmp_path)
    assert (code, "is a folder" in said) == (3, True)
    code, said = fails("fit", data, "-k", "1", "--labels", data / "out.csv")
    assert code == 3


def test_a_missing_package_is_named(tmp_path, fails, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    data = csv(tmp_path / "data.csv", "a,b\n1,2\n3,4\n")
    code, said = fails("fit", data, "-k", "1", "--report", tmp_path / "a.html")
    assert (code, "pip install 'partita[report]'" in said) == (2, True)


def test_a_bug_is_called_one_and_debug_shows_it(tmp_path, fails, monkeypatch):
    def broken(*_):
        raise RuntimeError("oh")

    monkeypatch.setattr("partita.cli.workflow.read", broken)
    data = csv(tmp_path / "data.csv", "a\n1\n")
    code, said = fails("fit", data)
    assert (code, "RuntimeError: oh" in said, "--debug" in said) == (1, True, True)
    with pytest.raises(RuntimeError):
        app(["fit", str(data), "--debug"])


# --- other processes ------------------------------------------------------------------------------


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


def test_a_full_disk_gives_3_and_leaves_no_half_file(tmp_path):
    resource = pytest.importorskip("resource", reason="this system has no limits for files")
    write_table(pa.table({"x": np.arange(5000.0)}), tmp_path / "a.csv")
    (tmp_path / "out.csv").write_text("old")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
    run = spawn("fit", tmp_path / "a.csv", "-k", 2, "--labels", tmp_path / "out.csv", "--force",
                preexec_fn=limit)  # fmt: skip
    _, said = run.communicate()
    assert run.returncode == 3, said
    assert "out.csv could not be written" in said
    assert (tmp_path / "out.csv").read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"a.csv", "out.csv"}


def test_no_permission_gives_3(fails):
    # pytest's own folders are closed to others
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)
        data = csv(place / "a.csv", "x\n1\n2\n")
        locked = place / "locked"
        locked.mkdir()
        locked.chmod(0o555)
        fails("fit", data, "-k", 9)  # whatever is imported lazily may be out of reach later
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)  # root may write anywhere, so somebody else must try
        try:
            code, said = fails("fit", data, "-k", 2, "--labels", locked / "out.csv")
        finally:
            if root:
                os.seteuid(0)
    assert code == 3
    assert f"{locked / 'out.csv'} cannot be written: no permission" in said


def test_ctrl_c_ends_a_fit_with_130_and_what_it_had_found(tmp_path, noise):
    out, model = tmp_path / "out.npy", tmp_path / "m.partita"
    master, slave = pytest.importorskip("pty", reason="this system has no terminals").openpty()
    run = subprocess.Popen(
        [*PARTITA, "fit", noise, "-k", "50", "--halt", "SamePartition()", "--max-iter", "100000",
         "--n-init", "5000", "--threads", "1", "--labels", out, "--model", model],
        stdout=subprocess.DEVNULL, stderr=slave, env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(slave)
    said = b""
    while b"iteration" not in said:  # the bar: the fit has begun
        said += os.read(master, 4096)
    run.send_signal(signal.SIGINT)
    while part := read_terminal(master):
        said += part
    os.close(master)
    assert run.wait(timeout=60) == 130, said
    said = " ".join(said.decode().split())
    assert "Traceback" not in said
    assert "Stopping after this iteration" in said
    assert "Interrupted: the fit ended early, with J = " in said
    assert "saved: model in" in said
    assert "labels in" in said
    assert set(read_table(out).data.column(10).to_pylist()) <= set(range(50))
    assert loads(model, 10)


def read_terminal(master):
    try:
        return os.read(master, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_ctrl_c_before_the_fit_saves_nothing(tmp_path):
    run = spawn("fit", "-", "-k", 2, "--labels", tmp_path / "o.csv", stdin=subprocess.PIPE)
    time.sleep(2.5)  # it waits for its input
    run.send_signal(signal.SIGINT)
    time.sleep(0.5)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130, said
    assert "nothing was saved" in said
    assert list(tmp_path.iterdir()) == []


def killed(tmp_path, seed, times, longest):
    """Kill a fit at random moments; every file is then the old one or a whole new one."""
    rng = random.Random(seed)
    X = np.random.default_rng(0).normal(size=(4000, 5))
    data = tmp_path / "a.csv"
    write_table(pa.table(dict(zip("abcde", X.T.copy(), strict=True))), data)
    before = data.read_bytes()
    labels, model, page = tmp_path / "o.csv", tmp_path / "m.partita", tmp_path / "r.html"
    expected = KMeans(5, random_state=0).fit(X).labels_
    for _ in range(times):
        mine = rng.random() < 0.5
        for path in (labels, model, page):
            path.unlink(missing_ok=True)
            if mine:
                path.write_text("mine")
        run = spawn("fit", data, "-k", 5, "--labels", labels, "--model", model, "--report", page,
                    "--force", "--threads", 1)  # fmt: skip
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
    name = f"partita-{os.getpid()}-{width}"
    python, folder = sys.executable, tmp_path / "demo"
    commands = {
        "demo": f"demo {folder}",
        "fit": f"fit {folder}/wine.csv -k 3 --scale standard --id wine",
        "choose-k": f"choose-k {folder}/wine.csv -k 2:6 --scale standard",
        "predict": f"predict {folder}/wine.csv --model {folder}/wine.partita --only-labels",
        "inspect": f"inspect {folder}/wine.partita",
        "report": f"report {folder}/wine.csv --model {folder}/wine.partita --out {folder}/2.html",
        "help": "fit --help",
    }

    def tmux(*words):
        done = subprocess.run(
            ["tmux", "-L", name, *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    tmux("-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", "70", "sh")
    try:
        for command, words in commands.items():
            tmux("send-keys", f"clear; {python} -m partita {words}; echo END=$?", "Enter")
            for _ in range(120):
                time.sleep(0.5)
                screen = tmux("capture-pane", "-p", "-S", "-200")
                if "END=0" in screen or "END=1" in screen.replace("END=$?", ""):
                    break
            assert "END=0" in screen, f"{command}:\n{screen}"
            assert "Traceback" not in screen
            # a bar that is done leaves nothing behind
            assert "━" not in screen, f"{command}:\n{screen}"
            tmux("clear-history")
    finally:
        tmux("kill-server")
