"""Programs and packages that tests of the command line need; a test module without them skips."""

from __future__ import annotations

import os
import sys
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
