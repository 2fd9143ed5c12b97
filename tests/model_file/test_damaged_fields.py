"""Wrong values in any field, with correct checksums, are refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from helpers.damaged_models import changed, members, npy, put, refused, zipped
from helpers.saved_models import ROWS

from partita import KMedoids, load, save
from partita.model_file import ModelFileError, read_header


@pytest.mark.heavy
def test_a_newer_format_says_what_is_needed(files, tmp_path):
    def change(header):
        header.update(format_version=3, readable_by="1.5", partita="1.7")

    said = refused(tmp_path, changed(files["kmeans frame"][1], change), "format version 3")
    assert "needs partita 1.5 or newer" in said
    with pytest.raises(ModelFileError, match=r"hostile\.partita has format version 3"):
        read_header(tmp_path / "hostile.partita")


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
    "no threads": put("parameters", "n_threads", value=0),
    "iterations": put("parameters", "max_iter", value=-1),
    "path": put("parameters", "algorithm", value=["lloyd"]),
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
    "members": ("kernel", "space.members", None),
    "space weight": ("kernel", "space.weight", np.zeros(90)),
    "mass": ("kernel", "space.mass", np.zeros(3)),
    "rows": ("kernel", "space.rows", np.zeros((3, 3))),
    "origin": ("kernel linear nystrom", "kernel.origin", np.zeros(2)),
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
    "scale": ("kernel", put("fitted", "space", "scale", value=3.0)),
    "limb": ("kernel", put("fitted", "space", "limb", value=2.0**60)),
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
        header.update(format_version=3, readable_by=evil, partita=evil)

    for change in (claim, lambda header: header.update({"class": evil})):
        path = tmp_path / "hostile.partita"
        path.write_bytes(changed(data, change))
        with pytest.raises(ModelFileError) as caught:
            load(path)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", ["n_iter", "trace", "stopped_by", "paths"])
def test_the_record_of_a_run_is_whole_or_absent(name, files, tmp_path):
    def drop(header):
        del header["fitted"][name]

    refused(tmp_path, changed(files["kmeans frame"][1], drop), "must all be there, or none")
