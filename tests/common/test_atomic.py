"""A file is complete or absent, and nothing that existed is lost."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

from partita._common.errors import Setting
from partita.tables import write_atomically


def fill(content):
    return lambda file: file.write(content)


def test_what_is_written_is_what_is_read_and_nothing_else_is_left(tmp_path):
    write_atomically(tmp_path / "a", fill(b"one"))
    assert (tmp_path / "a").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a"]


def test_a_file_that_exists_is_kept_without_force(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(FileExistsError, match=r"already exists.*force=True") as caught:
        write_atomically(path, fill(b"new"))
    assert caught.value.settings == (Setting("force", True),)
    assert path.read_bytes() == b"old"
    write_atomically(path, fill(b"new"), force=True)
    assert path.read_bytes() == b"new"


def test_a_file_that_appears_meanwhile_is_kept_without_force(tmp_path):
    path = tmp_path / "a"

    def late(file):
        file.write(b"new")
        path.write_bytes(b"somebody else's")

    with pytest.raises(FileExistsError, match="exists"):
        write_atomically(path, late)
    assert path.read_bytes() == b"somebody else's"
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def broken(file):
        file.write(b"ne")
        raise error("no")

    with pytest.raises(error):
        write_atomically(path, broken, force=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "link", fill(b"new"))
    write_atomically(tmp_path / "link", fill(b"new"), force=True)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_the_rights_of_a_replaced_file_stay(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_atomically(path, fill(b"new"), force=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_rights_that_the_user_asks_for(tmp_path):
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", fill(b""))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    write_atomically(pipe, fill(b"through"))
    assert reader.communicate(timeout=10)[0] == b"through"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_atomically(os.devnull, fill(b"away"))
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_errors_name_the_path_that_was_given(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_atomically(tmp_path, fill(b""), force=True)
    with pytest.raises(FileNotFoundError, match=r"missing/a cannot be written: there is no folder"):
        write_atomically(tmp_path / "missing" / "a", fill(b""))

    def full(file):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"a could not be written: No space left") as caught:
        write_atomically(tmp_path / "a", full)
    assert caught.value.errno == 28
    assert os.listdir(tmp_path) == []


SLOWLY = """
import sys, time
from partita.tables import write_atomically
def slowly(file):
    print("ready", flush=True)
    while True:
        file.write(b"new" * 1000); file.flush(); time.sleep(0.005)
write_atomically(sys.argv[1], slowly, force=True)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
def test_a_killed_process_leaves_the_old_file_whole(tmp_path, after):
    path = tmp_path / "a"
    path.write_bytes(b"old")
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, path], stdout=subprocess.PIPE)
    child.stdout.readline()
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert path.read_bytes() == b"old"
