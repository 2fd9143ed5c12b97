"""Streams: what goes to stdout and to stderr, readers that leave, signals, failing outputs."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import termios
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress

import pytest
from helpers.cli import PARTITA, environment
from rich.cells import cell_len

from partita.cli import console
from partita.cli.command_group import app
from partita.cli.outputs import stream_of
from partita.tables import read_table

ANSWER = "120 rows fall into 3 clearly separated groups."
STDOUT_NAMES = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "/dev//fd/1")


@pytest.fixture
def streams(capfdbinary, monkeypatch):
    """Run a command in this process; return its exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        out, err = capfdbinary.readouterr()
        return ended.value.code or 0, out.decode(), err.decode()

    return run


@pytest.fixture
def model(streams, file, tmp_path):
    path = tmp_path / "m.partita"
    assert streams("fit", file, "-k", 3, "--model", path, "-q")[0] == 0
    return path


# --- data on stdout -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STDOUT_NAMES)
def test_text_goes_to_stderr_if_stdout_carries_labels(streams, file, name):
    assert stream_of(name) == 1
    code, out, err = streams("fit", file, "-k", 3, "--labels", name)
    assert code == 0
    assert [line.count(",") for line in out.splitlines()] == [4] * 121
    for words in ("left out: who", ANSWER, "; all rows "):
        assert words in err
    assert "nothing was saved" not in err
    code, quiet_out, err = streams("fit", file, "-k", 3, "--labels", name, "--quiet")
    assert (code, quiet_out, err) == (0, out, "")


def test_predict_prints_its_summary_beside_the_labels(streams, file, model):
    code, out, err = streams("predict", file, "--model", model)
    assert code == 0
    assert len(out.splitlines()) == 121
    assert "120 rows labelled by" in err
    assert streams("predict", file, "--model", model, "--labels", "/dev/stdout")[1] == out
    assert streams("predict", file, "--model", model, "-q")[1:] == (out, "")


def test_labels_on_stderr_leave_stdout_to_the_results(streams, file):
    code, out, err = streams("fit", file, "-k", 3, "--labels", "/dev/stderr")
    assert code == 0
    assert ANSWER in out
    assert err.count("\n") >= 121


@pytest.mark.parametrize("name", STDOUT_NAMES)
def test_stdout_has_one_content(streams, file, model, name):
    for words in (("fit", "-k", 3), ("predict", "--model", model)):
        code, out, err = streams(*words, file, "--labels", name, "--json")
        assert (code, out) == (2, "")
        assert f"--labels {name} and --json both print to stdout" in err
    assert streams("fit", file, "-k", 3, "--model", name)[0] == 2


def test_a_redirected_stream_is_written_to_and_not_replaced(streams, file, tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("kept\n")
    handle = os.open(target, os.O_WRONLY | os.O_APPEND)
    assert streams("fit", file, "-k", 3, "-q", "--labels", f"/dev/fd/{handle}") == (0, "", "")
    os.close(handle)
    assert target.read_text().startswith("kept\nwho,")
    assert target.read_text().count("\n") == 122


def test_a_stream_that_is_closed_is_said_before_the_work(streams, file):
    code, out, err = streams("fit", file, "-k", 3, "--labels", "/dev/fd/987")
    assert (code, out) == (3, "")
    assert err == "Error: /dev/fd/987 cannot be written: Bad file descriptor\n"


# --- words ----------------------------------------------------------------------------------------


def test_a_terminal_breaks_messages_between_words_only(monkeypatch, capsys):
    words = "Note: /a/very/long/path-with-hyphens/to/some.csv has columns that are not used here"
    console.print_message(words)
    assert capsys.readouterr().err == words + "\n"  # a file or a pipe: one line
    for width in (1, 25, 40, 200):
        monkeypatch.setattr(console, "_stderr_width", lambda width=width: width)
        console.print_message(words)
        lines = capsys.readouterr().err.splitlines()
        assert " ".join(lines).split() == words.split()
        assert all(len(line) <= max(width, 20) or " " not in line.strip() for line in lines)


def test_wide_characters_of_a_message_take_two_cells(monkeypatch, capsys):
    monkeypatch.setattr(console, "_stderr_width", lambda: 24)
    words = "Note: 顧客データ 北海道 東京都 is not used"
    console.print_message(words)
    lines = capsys.readouterr().err.splitlines()
    assert " ".join(lines).split() == words.split()
    assert max(map(cell_len, lines)) <= 24


def test_a_message_is_wrapped_to_the_width_of_the_terminal():
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
    subprocess.run(
        [*PARTITA, "fit", "a.csv", "-k", "two or three"], stdout=subprocess.DEVNULL, stderr=slave,
        check=False, env=environment(TERM="dumb"),
    )  # fmt: skip
    os.close(slave)
    output = b""
    while part := read_until_closed(master):
        output += part
    os.close(master)
    first, second, *rest = output.decode().replace("\r", "").splitlines()
    assert (first, second[:2]) == ("Error: Invalid value for '--k' / '-k': must be a", "  ")
    assert len(rest) == 2


def read_until_closed(master):
    try:
        return os.read(master, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.parametrize(
    "words",
    [(), ("nothing",), ("fit",), ("fit", "a.csv", "--nothing"), ("fit", "no.csv"), ("inspect", "m"),
     ("fit", "a.csv", "-k", "x"), ("predict", "a.csv"), ("report", "a.csv", "--model", "m"),
     ("choose-k", "a.csv", "-k", "3"), ("demo", "a.csv"), ("fit", "a.csv", "-o", "a.csv")],
)  # fmt: skip
def test_errors_of_all_commands_have_one_form(streams, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    code, out, err = streams(*words)
    assert code in (2, 3)
    if words:
        assert out == ""
        first, *rest = err.splitlines()
        assert first.startswith("Error: ")
        assert not first.startswith("Error: Invalid value: ")
        assert rest in ([], ["Try 'partita --help'."], [f"Try 'partita {words[0]} --help'."])
        assert str(tmp_path) not in err


# --- readers that leave ---------------------------------------------------------------------------


@contextmanager
def no_reader():
    """A stream whose reader has left."""
    reader, writer = os.pipe()
    os.close(reader)
    stream = open(writer, "w")  # noqa: SIM115, a failing flush must not be raised on leaving
    try:
        yield stream
        stream.flush()  # as Python does at its end
    finally:
        with suppress(OSError):
            stream.close()


@pytest.mark.parametrize(
    "line",
    ["--help", "--version", "fit --help", "inspect m", "inspect m --json", "demo d",
     "predict a.csv --model m", "fit a.csv -k 3",
     "fit a.csv -k 2 --json", "fit a.csv -k 2 --labels -", "choose-k a.csv -k 2:3",
     "report a.csv --model m --out r.html", "check a.csv"],
)  # fmt: skip
def test_every_command_ends_with_141_if_the_reader_leaves(
    model, file, capfdbinary, monkeypatch, line
):
    monkeypatch.chdir(model.parent)
    words = [{"a.csv": file.name, "m": model.name}.get(word, word) for word in line.split()]
    with no_reader() as stream, redirect_stdout(stream), pytest.raises(SystemExit) as ended:
        app(words, prog_name="partita")
    assert ended.value.code == 141
    err = capfdbinary.readouterr().err
    assert b"Error" not in err
    assert b"Traceback" not in err


def test_errors_without_a_reader_end_with_141():
    for words in (["fit", "no.csv"], ["fit", "--nothing"]):
        with (
            no_reader() as stream,
            redirect_stdout(stream),
            redirect_stderr(stream),
            pytest.raises(SystemExit) as ended,
        ):
            app(words, prog_name="partita")
        assert ended.value.code == 141


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_process_ends_with_141_and_without_a_word():
    line = f"{shlex.join(PARTITA)} fit --help | exec true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("141\n", "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_behind_stdout_gives_3_and_one_message():
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PARTITA, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (3, "Error: No space left on device\n")


# --- signals --------------------------------------------------------------------------------------

WRITE_SLOWLY = """
import sys
from partita import cli
from partita._common.atomic_write import write_atomically

def write(file):
    file.write(b"half")
    file.flush()
    print("half", flush=True)
    sys.stdin.read()

cli._run = lambda: write_atomically(sys.argv[1], write, force=True)
cli.main()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_leaves_no_temporary_file(tmp_path, name):
    number = getattr(signal, name, None) or pytest.skip("this system has no such signal")
    (tmp_path / "o.csv").write_text("old")
    run = subprocess.Popen(
        [sys.executable, "-c", WRITE_SLOWLY, tmp_path / "o.csv"], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert run.stdout.readline() == "half\n"
    assert len(list(tmp_path.iterdir())) == 2
    run.send_signal(number)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (128 + number, "")
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]
    assert (tmp_path / "o.csv").read_text() == "old"


class Recorded(io.BytesIO):
    """A stream that records how many bytes each read asks for."""

    def __init__(self, content):
        super().__init__(content)
        self.asked = []

    def read(self, size=-1):
        self.asked.append(size)
        return super().read(size)


def test_standard_input_is_read_in_parts(monkeypatch):
    """Python handles signals between two reads; one read of all lasts as long as the input."""
    content = b"x,y\n" + b"1,2\n" * 700_000
    stream = Recorded(content)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
    assert read_table("-").data.num_rows == 700_000
    assert len(stream.asked) > 2
    assert all(0 < size <= 1 << 20 for size in stream.asked)


# --- outputs that fail ----------------------------------------------------------------------------


@pytest.fixture
def broken_disk(monkeypatch):
    """Let the files whose name begins with "full" not be written."""
    from partita._common import atomic_write

    original = atomic_write._write_and_rename

    def write(target, *arguments):
        if target.name.startswith("full"):
            raise OSError(28, "No space left on device")
        original(target, *arguments)

    monkeypatch.setattr(atomic_write, "_write_and_rename", write)


@pytest.mark.usefixtures("broken_disk")
def test_results_are_printed_although_an_output_fails(streams, file, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words, full, whole in (
        (("fit", file, "-k", 3, "--model", "m2"), ("--report", "full.html"), {"model": "m2"}),
        (("fit", file, "-k", 3, "--report", "r.html"), ("--model", "full"), {"report": "r.html"}),
        (("predict", file, "--model", model), ("--labels", "full.csv"), {}),
        (("choose-k", file, "-k", "2:3"), ("--report", "full.html"), {}),
    ):
        code, out, err = streams(*words, *full, "--json")
        message = f"{full[1]} could not be written: No space left on device"
        assert (code, err) == (3, f"Error: {message}\n")
        result = json.loads(out)
        assert (result["outputs"], result["errors"]) == (whole, [message])
    code, out, err = streams("choose-k", file, "-k", "2:3", "--report", "full.html")
    assert code == 3
    assert "the recommended number" in out
    assert err.endswith(f"Error: {message}\n")


@pytest.mark.usefixtures("broken_disk")
def test_all_errors_of_outputs_are_said(streams, file):
    words = (
        "fit",
        file,
        "-k",
        3,
        "--labels",
        "full.csv",
        "--model",
        "full",
        "--report",
        "full.html",
    )
    code, out, err = streams(*words)
    assert code == 3
    assert ANSWER in out
    assert err.count("could not be written: No space left") == 3
