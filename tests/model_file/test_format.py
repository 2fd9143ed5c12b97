"""The file is what docs/model_file.md says, and other tools read it."""

from __future__ import annotations

import copy
import io
import json
import re
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from helpers.paths import ROOT
from helpers.saved_models import CASES, NEW, ROWS, fitted, same

from partita import KMeans, load, save
from partita.halting import When
from partita.model_file import read_header
from partita.tables.scaling import Scaling

DOCUMENT = ROOT / "docs" / "model_file.md"


def test_the_same_model_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    halt = When(lambda trace: False)  # its repr has an address
    model = KMeans(3, random_state=0, halt=halt).fit(ROWS)
    save(model, tmp_path / "a.partita")
    save(copy.deepcopy(model), tmp_path / "b.partita")
    assert (tmp_path / "a.partita").read_bytes() == (tmp_path / "b.partita").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.partita") as file:
        assert {entry.date_time[0] for entry in file.infolist()} == {1980}
    assert read_header(tmp_path / "a.partita")["created"] == "2023-11-14T22:13:20Z"


def test_the_file_is_read_by_zipfile_json_and_numpy_alone(tmp_path):
    """As docs/model_file.md says."""
    scaling = Scaling.fit(ROWS, "standard")
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    save(model, tmp_path / "a.partita", scaling=scaling)
    code = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S)[0]
    found = {}
    exec(compile(code, "model_file.md", "exec"), found)
    assert found["predict"](tmp_path / "a.partita", ROWS).tolist() == model.labels_.tolist()
    assert "partita" not in re.findall(r"^(?:import|from) (\w+)", code, re.M)


def test_numpy_reads_the_arrays(tmp_path):
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita")
    with np.load(tmp_path / "a.partita", allow_pickle=False) as arrays:
        assert same(arrays["cluster_centers"], model.cluster_centers_)
        assert same(arrays["stats.sse"], model.stats_.sse)


@pytest.mark.heavy
def test_every_field_and_array_is_documented(tmp_path):
    text = DOCUMENT.read_text()
    for number, case in enumerate(CASES):
        path = tmp_path / f"{number}.partita"
        save(fitted(case), path)
        header = read_header(path)
        with zipfile.ZipFile(path) as file:
            arrays = [name.removesuffix(".npy") for name in file.namelist()[1:]]
        for name in (*header, *header["fitted"], *arrays):
            assert f"`{name}`" in text or name.startswith("parameters."), name


def test_the_header_is_strict_json_and_comes_first(tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    save(CASES["kmeans huge"][0](), tmp_path / "a.partita")
    with zipfile.ZipFile(tmp_path / "a.partita") as file:
        assert file.namelist()[0] == "header.json"
        header = json.loads(file.read("header.json"), parse_constant=refuse)
    assert header == read_header(tmp_path / "a.partita")


def test_fields_of_later_versions_are_kept_and_ignored(tmp_path):
    path = tmp_path / "a.partita"
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    header = json.loads(members["header.json"])
    header["colour"] = {"hue": 0.1}
    header["extra"]["checkpoint"] = [1, 2]
    header["fitted"]["colour"] = {"$later": 1}
    header["parameters"]["colour"] = {"$later": 1}
    members["header.json"] = json.dumps(header).encode()
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    members["later.npy"] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    again = load(path)
    assert again.saved_.extra == {"colour": {"hue": 0.1}, "checkpoint": [1, 2]}
    assert same(again.predict(NEW), model.predict(NEW))


def test_files_of_earlier_versions_have_a_reason_for_stopping_without_kinds(tmp_path):
    path = tmp_path / "a.partita"
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    header = json.loads(members["header.json"])
    del header["fitted"]["stopped_by_kinds"]
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    again = load(path).stopped_by_
    assert again == model.stopped_by_
    assert again.kinds == ()
    assert not again.is_limit


def test_importing_partita_loads_no_model_files():
    code = "import sys, partita; print('partita.model_file' in sys.modules, 'json' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"
