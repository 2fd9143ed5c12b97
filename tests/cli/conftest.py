"""Fixtures of the command line: commands in this process, and small data."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture
def partita(capsys, monkeypatch):
    """Run a command in this process; return stdout, or stderr if an error is expected."""
    from partita.cli.command_group import app

    monkeypatch.setenv("COLUMNS", "80")

    def run(*words, stdin=b"", code=0):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        out, err = capsys.readouterr()
        assert (ended.value.code or 0) == code, f"{out}\n{err}"
        return out if code == 0 else err

    return run


@pytest.fixture
def fails(capsys):
    """Run a command that must fail; return its exit code and stderr without the frame."""
    from partita.cli.command_group import app

    def run(*words):
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        out, err = capsys.readouterr()
        assert out == ""
        assert "Traceback" not in err
        return ended.value.code, " ".join(err.replace("│", " ").split())

    return run


@pytest.fixture(scope="session")
def blobs():
    X, _ = make_blobs(120, centers=3, n_features=3, random_state=7)
    return X


@pytest.fixture
def file(tmp_path, blobs):
    """A CSV file with a column of text and three features."""
    path = tmp_path / "blobs.csv"
    lines = [f"r{i:03},{x!r},{y!r},{z!r}\n" for i, (x, y, z) in enumerate(blobs.tolist())]
    path.write_text("who,x,y,z\n" + "".join(lines))
    return path


@pytest.fixture
def clusters_in():
    """Read the labels that were written to a file."""
    from partita.tables import read_table

    return lambda path: np.array(read_table(path).data["cluster"].to_pylist())
