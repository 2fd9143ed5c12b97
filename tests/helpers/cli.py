"""Programs and packages that tests of the command line need; a test module without them skips."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")
pytest.importorskip("typer", reason="typer is not installed: no command line")

PARTITA = (sys.executable, "-m", "partita")


def write_csv(path: Path, text: str) -> Path:
    """Write a file, and return its path."""
    path.write_text(text)
    return path


def environment(**variables: str) -> dict[str, str]:
    """The environment of a subprocess, with some variables changed."""
    return {**os.environ, **variables}


def saved_parts(path):
    """Return the contents of a model file that the same fit always has."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts.pop("header.json"))
    for name in ("note", "created"):
        del header[name]
    fitted = header["fitted"]
    del fitted["trace"]["seconds"]
    fitted.get("search", {}).pop("seconds", None)
    fitted["paths"]["$tuple"] = [p for p in fitted["paths"]["$tuple"] if "passes over" not in p]
    return header, parts
