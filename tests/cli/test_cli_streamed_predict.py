"""`predict` on files that do not fit memory: the bytes of labels in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from partita.tables import read_table, table_blocks, table_sample, text_blocks

TINY_LIMIT = ("--memory-limit", "1kB")  # no file fits
N_ROWS = 2000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 300 rows."""
    monkeypatch.setattr(table_blocks, "BLOCK_ROWS", 300)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 1 << 13)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 3, N_ROWS)
    frame = pd.DataFrame(
        {
            "who": [f"n{i}" for i in range(N_ROWS)],
            "x": np.array([0.0, 9, 20])[group] + rng.normal(size=N_ROWS),
            "y": np.array([5.0, -300, 90])[group] + 20 * rng.normal(size=N_ROWS),
        }
    )
    frame.loc[::97, "x"] = np.nan
    frame.loc[700, ["x", "y"]] = np.nan
    return frame


@pytest.fixture
def model(partita, tmp_path, rows):
    rows.iloc[:1500].to_csv(tmp_path / "fit.csv", index=False)
    path = tmp_path / "rows.partita"
    words = ("--names", "0=A,1=B,2=C", "--model", path, "--quiet")
    partita("fit", tmp_path / "fit.csv", "-k", 3, *words)
    return path


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "csv.xz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("words", [(), ("--distance", "--with-names"), ("--only-labels",)])
def test_blocks_give_the_file_of_memory(partita, tmp_path, rows, model, format, words):
    data, results = tmp_path / f"new.{format}", []
    WRITERS[format](rows, data)
    for name, limit in (("memory", ()), ("blocks", TINY_LIMIT)):
        out = tmp_path / f"{name}.{format}"
        partita("predict", data, "--model", model, "--labels", out, *limit, *words)
        results.append(pq.read_table(out) if format == "parquet" else out.read_bytes())
    assert results[0] == results[1]


def test_all_formats_can_be_written(partita, tmp_path, rows, model):
    data = tmp_path / "new.csv"
    rows.to_csv(data, index=False)
    expected = None
    for format in ("csv", "parquet", "feather", "jsonl", "tsv"):
        out = tmp_path / f"out.{format}"
        partita("predict", data, "--model", model, "--labels", out, "--distance", *TINY_LIMIT)
        written = read_table(out).data.to_pandas()[["who", "cluster", "distance"]]
        expected = written if expected is None else expected
        pd.testing.assert_frame_equal(written, expected, check_dtype=False)
    words = ("--labels", tmp_path / "out.npy", "--only-labels", *TINY_LIMIT)
    partita("predict", data, "--model", model, *words)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected["cluster"])


def test_the_results_in_words_are_those_of_memory(partita, tmp_path, rows, model):
    data = tmp_path / "new.csv"
    changed = rows.assign(y=rows["y"] + 40)
    changed.loc[[3, 4, 1999], "x"] = 1e6
    changed.to_csv(data, index=False)
    words = ("predict", data, "--model", model, "--force", "--labels", tmp_path / "out.csv")
    memory, blocks = partita(*words), partita(*words, *TINY_LIMIT)
    assert blocks.replace(", by blocks", "") == memory
    assert "of 1999 rows are unlike anything in the fit" in memory
    assert "Means differ from the fit" in memory


def test_counts_are_those_of_all_rows(partita, capsys, monkeypatch, tmp_path, rows, model):
    monkeypatch.setattr(table_sample, "MIN_SAMPLE_ROWS", 100)
    monkeypatch.setattr(table_sample, "MAX_SAMPLE_ROWS", 100)
    data = tmp_path / "new.parquet"
    rows.to_parquet(data, index=False)
    from partita.cli.command_group import app

    words = ["predict", str(data), "--model", str(model), "-o", str(tmp_path / "out.csv")]
    with pytest.raises(SystemExit):
        app([*words, *TINY_LIMIT])
    out, err = capsys.readouterr()
    assert "filled in: 21 missing values with values of the fit: x 21" in err
    assert "left out: 1 of 2000 rows" in err
    assert "1999 rows labelled" in out


def test_labels_on_stdout_are_whole_or_absent(partita, tmp_path, rows, model):
    data = tmp_path / "new.csv"
    rows.to_csv(data, index=False)
    words = ("predict", data, "--model", model, "--quiet")
    assert partita(*words, *TINY_LIMIT) == partita(*words)
    with data.open("a") as file:
        file.write("n2000,1\n")
    assert "2 cells found" in partita(*words, *TINY_LIMIT, code=3)
    out = tmp_path / "out.csv"
    partita(*words, *TINY_LIMIT, "--labels", out, code=3)
    assert not out.exists()
    assert not list(tmp_path.glob(".partita-*"))


def test_an_object_with_all_labels_is_refused(fails, tmp_path, rows, model):
    rows.to_csv(tmp_path / "new.csv", index=False)
    code, error = fails("predict", tmp_path / "new.csv", "--model", model, "--json", *TINY_LIMIT)
    assert code == 3
    assert "--json prints a label for every row at once. Use --labels OUT" in error
