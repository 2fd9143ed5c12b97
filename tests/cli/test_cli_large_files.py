"""Files that do not fit memory: the results of a table in memory, from blocks."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from helpers.cli import saved_parts

from partita.tables import read_table, table_blocks, table_sample

TINY_LIMIT = "10kB"  # no file fits
N_ROWS = 3000


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of 500 rows, so that a small file has several."""
    from partita.tables import text_blocks

    monkeypatch.setattr(table_blocks, "BLOCK_ROWS", 500)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 1 << 14)


@pytest.fixture(scope="module")
def customers():
    """A table with ids, text, a flag, gaps and outliers."""
    rng = np.random.default_rng(3)
    group = rng.integers(0, 3, N_ROWS)
    frame = pd.DataFrame(
        {
            "customer_id": rng.permutation(N_ROWS) + 1,
            "age": np.array([20.0, 45, 70])[group] + rng.normal(0, 3, N_ROWS),
            "income": np.array([1e3, 2e4, 9e4])[group] * np.exp(rng.normal(0, 0.2, N_ROWS)),
            "visits": rng.poisson(3 + 4 * group).astype(float),
            "city": rng.choice(["Wien", "Graz", "Linz"], N_ROWS),
            "member": rng.integers(0, 2, N_ROWS),
            "count": rng.integers(1, 4, N_ROWS).astype(float),
        }
    )
    frame.loc[rng.random(N_ROWS) < 0.02, "visits"] = np.nan
    frame.loc[5, ["age", "income", "visits"]] = np.nan  # a row that is left out
    frame.loc[1234, "age"] = 900.0
    return frame


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "csv.gz": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: frame.to_feather(path),
    "npy": lambda frame, path: np.save(path, frame[["age", "income"]].dropna().to_numpy()),
}


@pytest.fixture
def both(partita, tmp_path):
    """Run a fit in memory and one by blocks; return labels and models of each."""

    def run(data, *words, suffix="csv"):
        results = []
        for name, limit in (("memory", ()), ("blocks", ("--memory-limit", TINY_LIMIT))):
            labels, model = tmp_path / f"{name}.{suffix}", tmp_path / f"{name}.partita"
            written = ("--labels", labels, "--model", model, "--quiet", "--force")
            data = data if isinstance(data, list) else [data]
            partita("fit", *data, *words, *limit, *written)
            results.append((labels.read_bytes(), saved_parts(model)))
        return results

    return run


@pytest.mark.parametrize("format", WRITERS)
def test_blocks_give_the_labels_and_the_model_of_memory(both, tmp_path, customers, format):
    data = tmp_path / f"data.{format}"
    WRITERS[format](customers, data)
    (labels, model), (labels_of_blocks, model_of_blocks) = both(data, "-k", 3, suffix=format)
    if format == "parquet":  # the groups of rows differ
        labels, labels_of_blocks = (
            pq.read_table(io.BytesIO(f)) for f in (labels, labels_of_blocks)
        )
    assert labels_of_blocks == labels
    assert model_of_blocks == model


@pytest.mark.parametrize(
    "options",
    [
        ("-k", 3, "--raw", "--columns", "age,income", "--missing", "drop"),
        ("-k", 3, "--weight", "count", "--scale", "standard", "--missing", "mean"),
        ("-k", 3, "--scale", "robust", "--include", "member", "--id", "customer_id"),
        ("-k", 3, "--method", "spherical", "--missing", "drop"),
        ("-k", "2:4", "--exclude", "visits", "--only-labels", "--with-names"),
        ("-k", 3, "--source-column", "file"),
    ],
    ids=lambda words: " ".join(map(str, words[2:])),
)
def test_all_options_of_preparation_work_by_blocks(both, tmp_path, customers, options):
    data = tmp_path / "data.parquet"
    customers.to_parquet(data, index=False)
    memory, blocks = both(data, *options)
    assert blocks == memory


def test_several_files_with_columns_in_another_order(both, tmp_path, customers):
    folder = tmp_path / "parts"
    folder.mkdir()
    customers[:1000].to_csv(folder / "1.csv", index=False)
    customers[1000:][customers.columns[::-1]].to_csv(folder / "2.csv", index=False)
    for data in (folder, folder / "*.csv", [folder / "1.csv", folder / "2.csv"]):
        memory, blocks = both(data, "-k", 3)
        assert blocks == memory


def test_text_in_the_style_of_an_office(both, tmp_path, customers):
    frame = customers[["city", "age"]].assign(
        city="Großstadt", income=[f"€ {x:,.2f}" for x in customers["income"].fillna(5)]
    )
    frame["income"] = frame["income"].str.translate(str.maketrans(",.", ".,"))
    data = tmp_path / "data.csv"
    text = frame.to_csv(index=False, sep=";", decimal=",", lineterminator="\r\n")
    data.write_bytes(b"Report 2024\r\n" + text.encode("cp1252"))
    memory, blocks = both(data, "-k", 3)
    assert blocks == memory
    assert b"cluster\r\n" in memory[0]


@pytest.fixture
def sampled(monkeypatch):
    """Samples of 1000 rows."""
    monkeypatch.setattr(table_sample, "MIN_SAMPLE_ROWS", 1000)
    monkeypatch.setattr(table_sample, "MAX_SAMPLE_ROWS", 1000)


def test_a_sample_prepares_and_describes_all_rows(partita, tmp_path, customers, sampled):
    data, labels = tmp_path / "data.parquet", tmp_path / "labels.csv"
    customers.to_parquet(data, index=False)
    words = ("fit", data, "-k", 3, "--json")
    whole = json.loads(partita(*words))
    part = json.loads(partita(*words, "--memory-limit", TINY_LIMIT, "--labels", labels))
    features = ["age", "income", "visits", "count"]
    assert part["data"]["features"] == whole["data"]["features"] == features
    assert part["data"]["left_out"]["customer_id"].startswith("a row number")
    assert (part["data"]["rows"], part["data"]["rows_used"]) == (N_ROWS, N_ROWS - 1)
    assert part["data"]["rows_sampled"] in (999, 1000)
    assert part["data"]["filled"] == whole["data"]["filled"]
    line = part["data"]["plan"]["decisions"][0]["line"].replace("\u202f", " ")
    assert line == "read by blocks, prepared from a sample of 1 000 of 3 000 rows"
    assert part["summary"]["rows"] == N_ROWS - 1
    assert part["summary"]["rows_described"] == part["data"]["rows_sampled"]
    sizes = [group["size"] for group in part["summary"]["clusters"]]
    assert sum(sizes) == N_ROWS - 1
    written = read_table(labels).data["cluster"].to_numpy()
    assert sorted(np.bincount(written[written >= 0])) == sorted(sizes)
    assert written[5] == -1
    assert part["summary"]["objective"] == pytest.approx(whole["summary"]["objective"], rel=0.02)


def test_means_and_deviations_are_those_of_all_rows(partita, tmp_path, customers, sampled):
    frame = customers[["age", "income"]].dropna()
    frame.to_parquet(tmp_path / "data.parquet", index=False)
    model = tmp_path / "a.partita"
    words = ("--scale", "standard", "--memory-limit", TINY_LIMIT, "--model", model, "--quiet")
    partita("fit", tmp_path / "data.parquet", "-k", 3, *words)
    scaling = json.loads(partita("inspect", model, "--json"))["scaling"]
    np.testing.assert_allclose(scaling["center"], frame.mean(), rtol=1e-14)
    np.testing.assert_allclose(scaling["scale"], frame.std(ddof=0), rtol=1e-13)


def test_outliers_that_the_sample_lacks_do_not_set_the_scale(partita, tmp_path, sampled):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"height": rng.normal(size=5000), "volume": rng.normal(50, 9, 5000)})
    frame.loc[4321, "volume"] = 1e30
    frame.to_csv(tmp_path / "data.csv", index=False)
    result = json.loads(
        partita("fit", tmp_path / "data.csv", "-k", 2, "--json", "--memory-limit", TINY_LIMIT)
    )
    lines = [decision["line"] for decision in result["data"]["plan"]["decisions"]]
    assert "limited: 1 outlier of volume" in lines
    assert min(group["size"] for group in result["summary"]["clusters"]) > 1000


def test_a_late_text_makes_a_column_text(partita, tmp_path, customers, sampled):
    frame = customers.astype({"age": object})
    frame.loc[2900, "age"] = "unknown"
    data = tmp_path / "data.csv"
    frame.to_csv(data, index=False)
    words = ("fit", data, "-k", 3, "--memory-limit", TINY_LIMIT)
    result = json.loads(partita(*words, "--json"))["data"]
    assert result["features"] == ["income", "visits", "count"]
    assert "but not 'unknown' in line 2902" in result["left_out"]["age"]
    assert result["nearly"] == ["age"]
    error = partita(*words, "--columns", "age,income", code=3)
    assert "column 'age' cannot be a feature" in error


def test_other_commands_take_a_sample(partita, tmp_path, customers, sampled):
    data = tmp_path / "data.csv"
    customers.to_csv(data, index=False)
    for words in (("check", data), ("choose-k", data, "-k", "2:4")):
        result = json.loads(partita(*words, "--json", "--memory-limit", TINY_LIMIT))["data"]
        assert result["plan"]["decisions"][0]["line"].startswith("read by blocks: a sample of")
        assert result["rows"] == N_ROWS


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--memory-limit", "lots"), "must be a size like 2GiB or 500MB, got lots."),
        (("--memory-limit", "0"), "must be a size like 2GiB or 500MB, got 0."),
        (("--memory-limit", TINY_LIMIT, "-m", "medoids"), "--method medoids needs all rows at on"),
        (("--memory-limit", TINY_LIMIT, "--labels", "a.npz"), "cannot be written as npz. Choose"),
    ],
)
def test_errors_tell_what_to_do(fails, file, words, text):
    code, error = fails("fit", file, "-k", 3, *words)
    assert code in (2, 3)
    assert text in error


def test_files_without_blocks_are_refused_beyond_the_limit(fails, tmp_path, customers):
    customers.to_json(tmp_path / "data.jsonl", orient="records", lines=True)
    code, error = fails("fit", tmp_path / "data.jsonl", "-k", 3, "--memory-limit", TINY_LIMIT)
    assert code == 3
    assert "cannot be read by blocks. Convert it to Parquet or CSV" in error


def test_ragged_rows_and_dates_are_refused_with_their_place(fails, tmp_path):
    lines = [f"{i}.5,{i % 7}.25\n" for i in range(3000)]
    ragged = [*lines[:2500], "1,2,3\n", *lines[2500:]]
    (tmp_path / "ragged.csv").write_text("x,y\n" + "".join(ragged))
    code, error = fails("fit", tmp_path / "ragged.csv", "-k", 3, "--memory-limit", TINY_LIMIT)
    assert code == 3
    assert "3 cells found, but the first line has 2 columns" in error
    dates = [f"{1 + i % 12}/{1 + i % 28}/2024,{i}.5\n" for i in range(100)]
    (tmp_path / "dates.csv").write_text("day,y\n" + "".join(dates))
    words = ("-k", 2, "--include", "day", "--memory-limit", "1kB")
    code, error = fails("fit", tmp_path / "dates.csv", *words)
    assert code == 3
    assert "cannot be read by blocks. Write them like 2024-05-31" in error
