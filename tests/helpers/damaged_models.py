"""Model files with other bytes, members or headers."""

from __future__ import annotations

import io
import json
import re
import zipfile

import numpy as np
import pytest

from partita import load
from partita.model_file import ModelFileError

KINDS = ("kmeans frame", "minibatch stream", "spherical drop csr", "medoids csr",
         "medoids k_range", "kernel", "kernel nystrom", "kernel cut",
         "kernel linear nystrom", "trimmed", "bisecting", "prototypes",
         "kmeans partial", "balanced")  # fmt: skip


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


def put(*path, value):
    def change(header):
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change
