"""Whatever bytes a file has: a ModelFileError that names it, or the model that they say."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import time
import warnings
import zipfile

import numpy as np
import pytest
from helpers.saved_models import CASES, NEW, ROWS, fitted, same
from hypothesis import example, given, settings
from hypothesis import strategies as st

from partita import KMedoids, load, save
from partita.model_file import ModelFileError, read_header

KINDS = ("kmeans frame", "minibatch stream", "spherical drop csr", "medoids csr",
         "medoids k_range", "kernel", "kernel nystrom", "kernel cut")  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """For every kind: the model, and the bytes of its file."""
    folder, found = tmp_path_factory.mktemp("files"), {}
    for kind in KINDS:
        model = fitted(kind)
        save(model, folder / "a.partita", force=True)
        found[kind] = model, (folder / "a.partita").read_bytes()
    return found


def members(data):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(parts, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as file:
        for name, content in parts.items() if isinstance(parts, dict) else parts:
            file.writestr(name, content)
    return buffer.getvalue()


def npy(values, **kwargs):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(values), **kwargs)
    return buffer.getvalue()


def changed(data, change):
    """The file with another header."""
    parts = members(data)
    header = json.loads(parts["header.json"])
    change(header)
    return zipped({**parts, "header.json": json.dumps(header).encode()})


def refused(tmp_path, data, match):
    path = tmp_path / "hostile.partita"
    path.write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    said = str(caught.value)
    assert said.count(str(path)) == 1
    said = said.replace(str(path), "it")
    assert re.search(match, said), said
    return said


# --- the container --------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [b"", b"PK", b"a,b\n1,2\n" * 9, pickle.dumps([1] * 99), bytes(99)])
def test_what_is_no_zip_is_refused(data, tmp_path):
    refused(tmp_path, data, "is not a model file")


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
        with pytest.raises(ModelFileError, match="not a regular file"):
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


# --- the header -----------------------------------------------------------------------------------


def test_a_newer_format_says_what_is_needed(files, tmp_path):
    def change(header):
        header.update(format_version=2, readable_by="1.5", partita="1.7")

    said = refused(tmp_path, changed(files["kmeans frame"][1], change), "format version 2")
    assert "needs partita 1.5 or newer" in said
    with pytest.raises(ModelFileError, match=r"hostile\.partita has format version 2"):
        read_header(tmp_path / "hostile.partita")


def put(*path, value):
    def change(header):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


WRONG_HEADERS = {
    "format": put("format", value="numpy"),
    "version": put("format_version", value="1"),
    "version 0": put("format_version", value=0),
    "version true": put("format_version", value=True),
    "class": put("class", value="os.system"),
    "class list": put("class", value=["KMeans"]),
    "no parameters": put("parameters", value=None),
    "parameters": put("parameters", value=[]),
    "fitted": put("fitted", value=3),
    "kind": put("fitted", "inertia", value={"$eval": "1"}),
    "two kinds": put("fitted", "inertia", value={"$float": "inf", "$tuple": []}),
    "strange float": put("fitted", "inertia", value={"$float": "1"}),
    "unhashable": put("fitted", "inertia", value={"$float": []}),
    "nan": put("fitted", "inertia", value={"$float": "nan"}),
    "text": put("fitted", "inertia", value="1"),
    "huge cost": put("fitted", "trace", value={
        "iteration": [1], "cost": [10**400], "cost_after": [1], "shift": [1], "moved_points": [1],
        "empty": [1], "seconds": [1], "path": ["plain"], "compared": [1]}),
    "huge": put("fitted", "inertia", value=10**400),
    "bool": put("fitted", "n_features_in", value=True),
    "negative": put("fitted", "n_features_in", value=-1),
    "features": put("fitted", "n_features_in", value=4),
    "names": put("fitted", "feature_names", value=["a"]),
    "no such array": put("fitted", "cluster_centers", value={"$array": "nothing"}),
    "array elsewhere": put("fitted", "cluster_centers", value={"$array": "../../etc/passwd"}),
    "other array": put("fitted", "cluster_centers", value={"$array": "labels"}),
    "labels": put("fitted", "labels", value={"$array": "stats.weight"}),
    "weights": put("fitted", "stats", "weight", value={"$array": "stats.mean"}),
    "no stats": put("fitted", "stats", value=None),
    "trace": put("fitted", "trace", "cost", value=[1.0]),
    "trace kind": put("fitted", "trace", "path", value=3),
    "trace of objects": put("fitted", "trace", value=[1, 2]),
    "paths": put("fitted", "paths", value=[1]),
    "output": put("fitted", "output", value={"transform": "os"}),
    "threads": put("parameters", "n_threads", value=10**6),
    "threads text": put("parameters", "n_threads", value="all"),
    "deep": put("parameters", "init", value=json.loads("[" * 90 + "]" * 90)),
    "scaling": put("scaling", value={"kind": "standard"}),
    "scaling list": put("scaling", value=[1]),
    "fill": put("fill", value=[1.0, 2.0, 3.0]),
    "created": put("created", value=None),
    "dropped": put("dropped", value={"a": 1}),
    "note": put("note", value={"a": 1}),
    "extra": put("extra", value=1),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG_HEADERS))
def test_headers_that_are_wrong_are_refused(name, files, tmp_path):
    refused(tmp_path, changed(files["kmeans frame"][1], WRONG_HEADERS[name]), "^it ")


CENTERS = np.arange(9.0).reshape(3, 3)
WRONG_ARRAYS = {
    "NaN": ("kmeans frame", "cluster_centers", np.where(CENTERS == 4, np.nan, CENTERS)),
    "infinity": ("kmeans frame", "cluster_centers", np.where(CENTERS == 4, np.inf, CENTERS)),
    "shape": ("kmeans frame", "cluster_centers", CENTERS[:, :2]),
    "axes": ("kmeans frame", "cluster_centers", CENTERS.ravel()),
    "three axes": ("kmeans frame", "cluster_centers", CENTERS[None]),
    "none": ("kmeans frame", "cluster_centers", CENTERS[:0]),
    "no features": ("kmeans frame", "cluster_centers", np.zeros((10**12, 0))),
    "ints": ("kmeans frame", "cluster_centers", CENTERS.astype(np.int64)),
    "weight": ("kmeans frame", "stats.weight", -np.ones(3)),
    "sse": ("kmeans frame", "stats.sse", -np.ones(3)),
    "mean": ("kmeans frame", "stats.mean", CENTERS * np.nan),
    "label": ("kmeans frame", "labels", np.full(90, 3, np.int32)),
    "negative label": ("kmeans frame", "labels", np.full(90, -1, np.int32)),
    "spherical label": ("spherical drop csr", "labels", np.full(92, -2, np.int32)),
    "start": ("kmeans frame", "start", CENTERS[:, :1]),
    "medoid": ("medoids k_range", "medoid_indices", np.array([-1, 2, 3, 4])),
    "medoids": ("medoids k_range", "medoid_indices", np.array([1, 2])),
    "indices": ("medoids csr", "cluster_centers.indices", np.full(9, 3, np.int32)),
    "negative indices": ("medoids csr", "cluster_centers.indices", np.full(9, -1, np.int32)),
    "indptr": ("medoids csr", "cluster_centers.indptr", np.array([0, 3, 100, 9], np.int32)),
    "indptr end": ("medoids csr", "cluster_centers.indptr", np.array([0, 3, 6, 100], np.int32)),
    "indptr start": ("medoids csr", "cluster_centers.indptr", np.array([-5, 3, 6, 9], np.int32)),
    "indptr short": ("medoids csr", "cluster_centers.indptr", np.array([], np.int32)),
    "indptr around": (
        "medoids csr", "cluster_centers.indptr", np.array([0, 2**31 - 1, -2, 9], np.int32)),
    "indptr floats": ("medoids csr", "cluster_centers.indptr", np.array([0.0, 3.0, 6.0, 9.0])),
    "data": ("medoids csr", "cluster_centers.data", np.full(9, np.nan)),
    "columns": ("kernel cut", "space.columns", np.full(90, 90)),
    "off": ("kernel cut", "space.off", np.zeros(3)),
    "degree": ("kernel cut", "degree", np.zeros(90)),
    "square": ("kernel cut", "space.square", np.full(3, np.nan)),
    "mean indices": ("kernel", "space.mean.indices", None),
    "rows": ("kernel", "space.rows", np.zeros((3, 3))),
    "origin": ("kernel", "kernel.origin", np.zeros(2)),
    "factor": ("kernel nystrom", "space.factor", np.zeros((12, 12))),
    "factor shape": ("kernel nystrom", "space.factor", np.ones((12, 11))),
    "pivots": ("kernel nystrom", "space.pivots", np.zeros((11, 3))),
    "kernel centers": ("kernel nystrom", "space.centers", np.zeros((3, 11))),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG_ARRAYS))
def test_arrays_that_are_wrong_are_refused(name, files, tmp_path):
    kind, member, values = WRONG_ARRAYS[name]
    parts = members(files[kind][1])
    before = np.load(io.BytesIO(parts[f"{member}.npy"]))
    values = np.full_like(before, 10**6) if values is None else values
    refused(
        tmp_path,
        zipped({**parts, f"{member}.npy": npy(values)}),
        "not hold a valid model|does not match",
    )


WRONG_KINDS = {
    "metric": ("medoids k_range", put("fitted", "metric", "name", value="os.system")),
    "precomputed": ("medoids k_range", put("fitted", "metric", "name", value="precomputed")),
    "V": ("medoids k_range", put("fitted", "metric", "params", value={})),
    "params": ("medoids k_range", put("fitted", "metric", "params", value=[])),
    "sparse": ("medoids csr", put("fitted", "metric", "name", value="chebyshev")),
    "parameter": ("medoids k_range", put("parameters", "metric", value="strange")),
    "silhouettes": ("medoids k_range", put("fitted", "silhouettes", value={"a": 1.0})),
    "keys": ("medoids k_range", put("fitted", "silhouettes", value={"$dict": [[[1], 2.0]]})),
    "pairs": ("medoids k_range", put("fitted", "silhouettes", value={"$dict": [1]})),
    "csr": ("medoids csr", put("fitted", "cluster_centers", value={"$csr": {}})),
    "csr shape": ("medoids csr", put(
        "fitted", "cluster_centers", "$csr", "shape", value=[3, 2**40])),
    "kernel": ("kernel", put("fitted", "kernel", "name", value="os.system")),
    "kernel params": ("kernel", put("fitted", "kernel", "params", value={"gamma": "x"})),
    "kernel more": ("kernel", put("fitted", "kernel", "params", value={"gamma": 1.0, "n_jobs": 9})),
    "no kernel": ("kernel", put("fitted", "kernel", value=None)),
    "no kernel pivots": ("kernel nystrom", put("fitted", "kernel", value=None)),
    "kernel parameter": ("kernel", put("parameters", "kernel", value="strange")),
    "interval": ("kernel", put("fitted", "objective_interval", value={"$tuple": [1.0]})),
    "interval text": ("kernel", put("fitted", "objective_interval", value={"$tuple": [1.0, "a"]})),
    "dense mean": ("kernel", put("fitted", "space", "mean", value={"$array": "space.mean.data"})),
    "zero_rows": ("spherical drop csr", put("parameters", "zero_rows", value="strange")),
    "zero_rows list": ("spherical drop csr", put("parameters", "zero_rows", value=["drop"])),
    "normalized": ("spherical drop csr", put("parameters", "normalized", value="no")),
    "generator": ("minibatch stream", put("fitted", "generator", value=3)),
    "engine": ("minibatch stream", put(
        "fitted", "generator", "$generator", "state", "bit_generator", value="MT19937")),
    "engine list": ("minibatch stream", put(
        "fitted", "generator", "$generator", "state", "bit_generator", value=["PCG64"])),
    "state": ("minibatch stream", put(
        "fitted", "generator", "$generator", "state", "state", value=3)),
    "state size": ("minibatch stream", put(
        "fitted", "generator", "$generator", "state", "has_uint32", value=10**30)),
    "pool": ("minibatch stream", put(
        "fitted", "generator", "$generator", "seeds", "pool_size", value=10**9)),
    "entropy": ("minibatch stream", put(
        "fitted", "generator", "$generator", "seeds", "entropy", value="x")),
    "no seeds": ("minibatch stream", put("fitted", "generator", "$generator", "seeds", value=None)),
}  # fmt: skip


@pytest.mark.parametrize("name", list(WRONG_KINDS))
def test_members_that_are_wrong_are_refused(name, files, tmp_path):
    kind, change = WRONG_KINDS[name]
    refused(tmp_path, changed(files[kind][1], change), "^it does not hold a valid model")


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


def test_an_array_is_used_once(files, tmp_path):
    """Else a small file could ask for the same array until no memory is left."""
    data = files["kmeans frame"][1]

    def repeat(header):
        header["fitted"]["paths"] = [{"$array": "cluster_centers"}] * 3000

    refused(tmp_path, changed(data, repeat), "more than once")


@pytest.mark.parametrize(
    "params",
    [{"a": {"b": 1}}, {"VI": {"$float": "nan"}}, {"VI": [[1.0, 2.0]], "p": 3}, {"VI": "x"}],
    ids=str,
)
def test_parameters_that_do_not_suit_a_metric_are_no_model(params, tmp_path):
    model = KMedoids(2, metric="mahalanobis", random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita")
    data = (tmp_path / "a.partita").read_bytes()

    def change(header):
        header["fitted"]["metric"]["params"] = params

    refused(tmp_path, changed(data, change), "does not hold a valid model")


def test_what_a_file_says_cannot_speak_to_a_terminal(files, tmp_path):
    data = files["kmeans frame"][1]
    evil = "\x1b]0;pwned\x07\u202e"

    def claim(header):
        header.update(format_version=2, readable_by=evil, partita=evil)

    for change in (claim, lambda header: header.update({"class": evil})):
        path = tmp_path / "hostile.partita"
        path.write_bytes(changed(data, change))
        with pytest.raises(ModelFileError) as caught:
            load(path)
        assert str(caught.value).isprintable()


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
    begin = time.perf_counter()
    command = [sys.executable, "-c", LIMITED, big, wide, wider]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["ModelFileError"] * 3, done.stderr
    assert time.perf_counter() - begin < 30


# --- fuzz -----------------------------------------------------------------------------------------


def loaded(path):
    """The model, or None after an error that names the file."""
    try:
        return load(path)
    except ModelFileError as error:
        said = str(error)
    assert str(path) in said
    return None


def check(path, model, new):
    """Either an error that names the file, or the model that was saved."""
    again = loaded(path)
    if again is None:
        return
    for name, value in vars(model).items():
        assert same(value, vars(again)[name]), name
    assert same(again.predict(new), model.predict(new))


@settings(max_examples=150)
@given(
    kind=st.sampled_from(KINDS),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=4),
)
@example(kind="kmeans frame", flips=[(0.0, 1)])
def test_flipped_bytes_give_an_error_or_the_same_model(kind, flips, files, tmp_path):
    model, data = files[kind]
    broken = bytearray(data)
    for place, by in flips:
        broken[min(len(data) - 1, int(place * len(data)))] ^= by
    path = tmp_path / "hostile.partita"
    path.write_bytes(broken)
    check(path, model, CASES[kind][1](NEW))


@settings(max_examples=100)
@given(
    kind=st.sampled_from(KINDS),
    where=st.floats(0, 1),
    what=st.binary(max_size=40),
    cut=st.integers(0, 200),
)
def test_bytes_put_in_or_cut_out_give_an_error_or_the_same_model(
    kind, where, what, cut, files, tmp_path
):
    model, data = files[kind]
    at = int(where * len(data))
    path = tmp_path / "hostile.partita"
    path.write_bytes(data[:at] + what + data[at + cut :])
    check(path, model, CASES[kind][1](NEW))


@settings(max_examples=150)
@given(kind=st.sampled_from(KINDS), place=st.integers(0, 119), by=st.integers(1, 255))
def test_flips_in_the_directory_give_an_error_or_the_same_model(kind, place, by, files, tmp_path):
    """Where a reader of zips is easily led astray."""
    model, data = files[kind]
    broken = bytearray(data)
    broken[len(data) - 1 - place] ^= by
    path = tmp_path / "hostile.partita"
    path.write_bytes(broken)
    check(path, model, CASES[kind][1](NEW))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.just({"$array": "labels"}) | st.just({"$array": "nothing"}) | st.just({"$float": "nan"})
    | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["$dict", "$tuple", "$csr", "$generator", "a"]), inner, max_size=2),
    max_leaves=6,
)  # fmt: skip


@settings(max_examples=200)
@given(
    kind=st.sampled_from(KINDS),
    where=st.lists(st.integers(0, 29), min_size=1, max_size=4),
    value=JSON,
)
def test_any_value_in_any_field_gives_an_error_or_a_model_that_works(
    kind, where, value, files, tmp_path
):
    """With checksums that agree: what a hostile writer would do."""
    parts = members(files[kind][1])
    header = json.loads(parts["header.json"])
    inner = header
    for number in where:  # deeper and deeper, as far as there are fields
        at, key = inner, sorted(inner)[number % len(inner)]
        inner = at[key]
        if not isinstance(inner, dict) or not inner:
            break
    at[key] = value
    path = tmp_path / "hostile.partita"
    path.write_bytes(zipped({**parts, "header.json": json.dumps(header).encode()}))
    again = loaded(path)
    if again is None:
        return
    new = CASES[kind][1](NEW)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that the rows do not have
        try:
            labels = again.predict(new)
        except (ValueError, TypeError):  # parameters that do not fit each other
            return
    assert len(labels) == new.shape[0]
