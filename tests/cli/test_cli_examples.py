"""Every command in the help texts and in docs/cli.md runs, in a folder with the files it names."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from glob import glob

import numpy as np
import pytest
from helpers.cli import pa
from helpers.paths import DOCS
from sklearn.datasets import load_wine

from partita.cli import (
    certify,
    check,
    choose_k,
    command_group,
    demo,
    fit,
    inspect,
    name,
    predict,
    report,
)
from partita.tables import write_table

HELP = {
    "help": command_group._main, "fit": fit.fit, "predict": predict.predict,
    "choose-k": choose_k.choose_k, "inspect": inspect.inspect, "report": report.report,
    "demo": demo.demo, "check": check.check, "name": name.name, "certify": certify.certify,
}  # fmt: skip


def examples_of(text):
    """The command lines of a text, without comments."""
    lines = re.findall(r"^ *((?:[\w/.+ -]+ \| )?partita [a-z].*)$", text, re.M)
    return [re.sub(r"  +#.*", "", line) for line in lines]


def documented():
    page = (DOCS / "cli.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```\n(.*?)```", page, re.S))
    return {
        "docs/cli.md": examples_of(blocks),
        **{title: examples_of(command.__doc__) for title, command in HELP.items()},
    }


@pytest.fixture
def folder(tmp_path, monkeypatch, partita):
    """The files that examples name: a table with a text column, parts of one, a model."""
    wine = load_wine()
    columns = {"name": [f"wine {i + 1}" for i in range(60)]}
    columns |= {feature: wine.data[::3, t] for t, feature in enumerate(wine.feature_names[:4])}
    table = pa.table(columns)
    for file in ("wine.csv", "new.csv", "rows.csv", "data.csv"):
        write_table(table, tmp_path / file)
    rng = np.random.default_rng(0)
    for part in (1, 2):
        rows = rng.normal(size=(60, 2)) + 9 * rng.integers(0, 3, size=(60, 1))
        customer = [f"{part}-{i}" for i in range(60)]
        age, zip_code = rng.integers(20, 80, 60), rng.integers(10_000, 99_999, 60)
        numbers = {"spent": rows[:, 0], "visits": rows[:, 1], "age": age, "zip": zip_code}
        write_table(pa.table({"customer": customer, **numbers}), tmp_path / f"part-{part}.parquet")
    for file in ("customers.csv", "big.parquet", "new.parquet"):
        write_table(pa.table({"customer": customer, **numbers}), tmp_path / file)
    monkeypatch.chdir(tmp_path)
    for model in ("wine", "data", "old", "new"):
        partita("fit", "wine.csv", "-k", 3, "--model", f"{model}.partita", "-q")
    return tmp_path


@pytest.mark.heavy
@pytest.mark.usefixtures("folder")
@pytest.mark.skipif(sys.platform == "win32", reason="the examples use cat and tail")
def test_every_example_runs(partita):
    for line in dict.fromkeys(line for lines in documented().values() for line in lines):
        first, _, second = line.rpartition(" | ")
        stdin = subprocess.run(first, shell=True, capture_output=True, check=True).stdout
        words = [path for word in shlex.split(second)[1:] for path in (glob(word) or [word])]
        # the folder already has the models that other examples read
        force = ["--force"] * (words[0] in ("fit", "predict", "choose-k", "report", "demo"))
        assert partita(*words, *force, stdin=stdin), line


def test_the_examples_are_found():
    found = documented()
    assert all(found.values())
    assert len(found["docs/cli.md"]) >= 6
    assert any("predict - --no-header" in line for line in found["predict"])
    assert sum(map(len, found.values())) >= 20


def test_rows_without_names_may_have_other_columns(partita, folder):
    whole = partita("predict", "new.csv", "--model", "wine.partita", "--only-labels")
    rows = b"".join((folder / "new.csv").read_bytes().splitlines(keepends=True)[1:])
    words = ("predict", "-", "--no-header", "--model", "wine.partita", "--only-labels")
    assert partita(*words, stdin=rows) == whole
    output = partita(*words, stdin=rows.replace(b"\n", b",1\n"), code=3)  # one column more
    assert "lacks 'alcohol'" in output


def test_rows_without_names_may_have_the_columns_that_the_fit_left_out(partita, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, (60, 2)) + 20 * rng.integers(0, 2, (60, 1))
    lines = [
        f"{i + 1},{rng.integers(10_000, 99_999)},{x!r},c{i % 3},{y!r}"
        for i, (x, y) in enumerate(values.tolist())
    ]
    file, model = tmp_path / "a.csv", tmp_path / "m.partita"
    file.write_text("\n".join(["id,zip,height,kind,income", *lines]))
    partita("fit", file, "-k", 2, "--model", model)
    words = ("--model", model, "--only-labels")
    rows = "\n".join(lines).encode()
    named = partita("predict", file, *words)
    assert partita("predict", "-", "--no-header", *words, stdin=rows) == named
    assert "first line is data, use --no-header" in " ".join(
        partita("predict", "-", *words, stdin=rows, code=3).split()
    )
