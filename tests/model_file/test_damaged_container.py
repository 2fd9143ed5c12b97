"""What is not a zip of ours, is truncated or is a bomb, is refused unread."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from helpers.damaged_models import members, npy, refused, zipped

from partita import load
from partita.model_file import ModelFileError, read_header


@pytest.mark.parametrize("data", [b"", b"PK", b"a,b\n1,2\n" * 9, pickle.dumps([1] * 99), bytes(99)])
def test_what_is_no_zip_is_refused(data, tmp_path):
    refused(tmp_path, data, "is not a model file")


@pytest.mark.heavy
def test_a_file_that_is_cut_off_is_refused_wherever_that_is(files, tmp_path):
    data = files["kmeans frame"][1]
    for length in [*range(0, len(data), 97), len(data) - 1]:
        refused(tmp_path, data[:length], "not a model file|truncated|damaged")


def test_another_zip_is_refused(tmp_path):
    refused(tmp_path, zipped({"a.txt": b"hello"}), "'a.txt', which no model has")
    refused(tmp_path, zipped({"a.npy": npy([1.0])}), r"lacks the member header\.json")
    refused(tmp_path, zipped({"header.json": b"{}"}), "its format is None")


@pytest.mark.parametrize(
    "name", ["../evil.npy", "/etc/evil.npy", "a/b.npy", "..", "C:\\a.npy", "\n.npy"]
)
def test_names_that_lead_elsewhere_are_refused(name, files, tmp_path):
    parts = {**members(files["kmeans frame"][1]), name: npy([1.0])}
    refused(tmp_path, zipped(parts), "which no model has")
    assert os.listdir(tmp_path) == ["hostile.partita"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_there_twice_are_refused(files, tmp_path):
    parts = [*members(files["kmeans frame"][1]).items(), ("labels.npy", npy([1.0]))]
    refused(tmp_path, zipped(parts), r"two members called labels\.npy")


def test_compressed_members_are_refused_unread(files, tmp_path):
    parts = {**members(files["kmeans frame"][1]), "labels.npy": bytes(50_000_000)}
    refused(tmp_path, zipped(parts, zipfile.ZIP_DEFLATED), "compressed")


def test_more_members_than_any_model_has_are_refused(tmp_path):
    many = zipped({f"a{i}.npy": b"" for i in range(1000)})
    refused(tmp_path, many, "has 1000 members")
    # what the end says is not what the directory has
    lies = bytearray(many)
    struct.pack_into("<HH", lies, len(lies) - 14, 3, 3)
    refused(tmp_path, bytes(lies), "more than any model|damaged|truncated|no model has|lacks")


def test_sizes_beyond_the_file_are_refused_in_no_time_and_memory(files, tmp_path):
    """Sizes in the directory, shapes in the arrays, lengths in the header: all of them lie."""
    data = bytearray(files["kmeans frame"][1])
    place = data.rindex(b"PK\x01\x02")
    struct.pack_into("<LL", data, place + 20, 2**32 - 2, 2**32 - 2)
    refused(tmp_path, bytes(data), "larger than the file|damaged")
    for shape in (
        "(1000000000000,)",
        "(3, 1000000000000)",
        "(99999999999999999999999999,)",
        "(-3,)",
    ):
        text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
        text = text.ljust(117) + "\n"
        fake = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()
        parts = {**members(files["kmeans frame"][1]), "cluster_centers.npy": fake + bytes(80)}
        refused(tmp_path, zipped(parts), "does not match|not a plain array")


def test_a_header_that_is_too_long_is_refused_unread(tmp_path):
    path = tmp_path / "hostile.partita"
    with zipfile.ZipFile(path, "w") as file, file.open("header.json", "w") as member:
        for _ in range(65):
            member.write(b" " * (1 << 20))
    for read in (load, read_header):
        with pytest.raises(ModelFileError, match=r"a header of \d+ bytes; at most"):
            read(path)


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"3", b"\xff\xfe", b'{"format": NaN}', b"[" * 100_000, b'{"a": ' * 100_000,
     b'{"format": ' + b"9" * 10_000 + b"}", b'{"format": "partita model"'],
    ids=range(9),
)  # fmt: skip
def test_a_header_that_is_not_json_is_refused(text, tmp_path):
    refused(tmp_path, zipped({"header.json": text}), "header that is not|damaged")


def test_what_is_no_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, "/dev/zero"):
        with pytest.raises(ModelFileError, match=r"not a regular file|is a folder"):
            load(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load(tmp_path / "nowhere")


def test_objects_are_never_unpickled(files, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    array = np.empty(3, object)
    array[:] = [Bomb(), 1, 2]
    for values in (array, np.array(["a", "b"]), np.zeros(3, [("a", "<f8")]), np.zeros(3, complex)):
        parts = members(files["kmeans frame"][1])
        parts["cluster_centers.npy"] = npy(values, allow_pickle=True)
        refused(tmp_path, zipped(parts), "not a plain array")
    assert not (tmp_path / "executed").exists()


LIMITED = """
import resource, sys
import partita
from partita import load
from partita.model_file import ModelFileError
from partita.estimators.kmeans import KMeans
import partita.tables
room = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + 300 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (room, room))
for path in sys.argv[1:]:
    try:
        load(path)
    except ModelFileError as error:
        print(type(error).__name__)
"""


@pytest.mark.heavy
def test_bombs_are_refused_in_little_memory_and_time(files, tmp_path):
    """A directory and a header of a gigabyte that are not there, and one that is."""
    big = tmp_path / "header.partita"
    with zipfile.ZipFile(big, "w") as file:
        file.writestr("header.json", b"{}")
    data = bytearray(big.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    hole = 1 << 30
    struct.pack_into("<LL", data, place + 20, hole, hole)
    struct.pack_into("<LL", data, 18, hole, hole)
    struct.pack_into("<L", data, len(data) - 6, place + hole)
    with open(big, "wb") as out:  # a sparse file, so that it has a gigabyte of zeros
        out.write(data[:place])
        out.seek(place + hole)
        out.write(data[place:])
    wide = tmp_path / "directory.partita"
    with open(wide, "wb") as out:
        out.write(b"PK\x03\x04" + bytes(96))
        out.seek(hole)
        out.write(b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 9, 9, hole - 100, 100, 0))
    wider = tmp_path / "directory64.partita"
    with open(wider, "wb") as out:
        out.write(b"PK\x03\x04" + bytes(96))
        out.seek(hole)
        out.write(
            b"PK\x06\x06" + struct.pack("<QHHLLQQQQ", 44, 45, 45, 0, 0, 9, 9, hole - 100, 100)
        )
        out.write(b"PK\x06\x07" + struct.pack("<LQL", 0, hole, 1))
        out.write(b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 9, 9, 100, 100, 0))
    begin = time.process_time()
    command = [sys.executable, "-c", LIMITED, big, wide, wider]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ModelFileError"] * 3, done.stderr
    assert time.process_time() - begin < 30
