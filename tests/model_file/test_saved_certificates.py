"""A model file keeps the certificate of its fit, and refuses what is none."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from helpers.paths import ROOT

from partita import KMeans, load, save
from partita.model_file import ModelFileError, read_header
from partita.model_file.contents import read_contents

ROWS = np.random.default_rng(7).normal(size=(40, 2))
STOP = {"callback": lambda progress: True}


@pytest.fixture
def model():
    fitted = KMeans(3, random_state=0).fit(ROWS)
    fitted.certify(ROWS, **STOP)
    return fitted


@pytest.fixture
def path(model, tmp_path):
    save(model, tmp_path / "a.partita")
    return tmp_path / "a.partita"


def change(path, **values):
    """Write other values of the certificate into the header of a file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    header = json.loads(members["header.json"])
    header["fitted"]["certificate"].update(values)
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in members.items():
            file.writestr(name, content)


def test_a_certificate_comes_back(model, path):
    assert load(path).certificate_ == model.certificate_
    assert read_contents(path).certificate == model.certificate_
    assert set(read_header(path)["fitted"]["certificate"]) >= {"kind", "history", "version"}


def test_a_file_without_a_certificate_loads(tmp_path):
    save(KMeans(3, random_state=0).fit(ROWS), tmp_path / "a.partita")
    assert not hasattr(load(tmp_path / "a.partita"), "certificate_")
    assert read_contents(tmp_path / "a.partita").certificate is None


@pytest.mark.parametrize(
    "damage",
    [
        {"lower_bound": 1e9},
        {"lower_bound": -1.0},
        {"objective": "much"},
        {"kind": "sure"},
        {"kind": "confidence"},
        {"level": 2},
        {"method": 3},
        {"seconds": {"$float": "inf"}},
        {"n_clusters": 0},
        {"n_rows": 1.5},
        {"history": []},
        {"history": {"seconds": [0.1], "method": [], "lower_bound": [0.0], "objective": [1.0]}},
        {"history": {"seconds": [0.1], "method": ["a"], "lower_bound": [2.0], "objective": [1.0]}},
    ],
    ids=str,
)
def test_what_is_no_certificate_is_refused(path, damage):
    change(path, **damage)
    with pytest.raises(ModelFileError, match="does not hold a valid model"):
        load(path)
    with pytest.raises(ModelFileError, match="does not hold a valid model"):
        read_contents(path)


def test_the_fields_of_a_certificate_are_documented(path):
    text = (ROOT / "docs" / "model_file.md").read_text(encoding="utf-8")
    saved = read_header(path)["fitted"]["certificate"]
    assert all(f"`{name}`" in text for name in (*saved, *saved["history"]))
