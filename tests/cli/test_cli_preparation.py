"""The default command on tables as people have them: prepared in the open, and right."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.customer_tables import table_with_groups, table_without_groups
from helpers.paths import ROOT
from helpers.slow_cases import slow
from sklearn.metrics import adjusted_rand_score

from partita import load
from partita.cli.command_group import app
from partita.model_file import read_header


def run(capsys, *words):
    """Return stdout and stderr of a command that succeeds."""
    with pytest.raises(SystemExit) as ended:
        app(list(map(str, words)), prog_name="partita")
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return out, err


@pytest.fixture
def customers(tmp_path):
    """Three groups of customers by age and spending, beside an id, a zip code and gaps."""
    rng = np.random.default_rng(4)
    group = rng.integers(0, 3, 300)
    age = np.array([25, 45, 70])[group] + rng.normal(0, 3, 300)
    spend = np.exp(np.array([3.0, 7.0, 5.0])[group] + rng.normal(0, 0.4, 300))
    lines = ["customer_id,zip,age,spend,city"]
    for i in range(300):
        cells = [1000 + i, rng.integers(10000, 99999), f"{age[i]:.1f}", f"{spend[i]:.2f}", "Wien"]
        lines.append(",".join(map(str, cells)))
    lines[5] = "1004,,,,"
    lines[9] = lines[9].replace(lines[9].split(",")[2], "", 1)
    path = tmp_path / "customers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, group


def test_the_shortest_command_finds_the_groups_and_tells_what_it_did(capsys, customers, tmp_path):
    path, group = customers
    labels, model, page = (tmp_path / name for name in ("o.csv", "m.partita", "r.html"))
    out, err = run(capsys, "fit", path, "--labels", labels, "--model", model, "--report", page)
    for line in (
        "left out: customer_id (a row number: the numbers from 1000 to 1299, each once)",
        "left out: zip (a code: by its name, ",
        "filled in: 1 missing value with the median of the column: age 1",
        "left out: 1 of 300 rows (0.3 %) with too few values; their label is -1",
        "logarithm of spend (very skewed: from ",
    ):
        assert line in err
        assert line in page.read_text()
    assert "left out" not in out
    found = np.array([int(line.rpartition(",")[2]) for line in labels.read_text().split()[1:]])
    assert found[4] == -1
    assert (found == -1).sum() == 1
    assert adjusted_rand_score(group, found) > 0.95
    plan = read_header(model)["plan"]
    assert plan["features"] == ["age", "spend"]
    assert "left out" in {decision["kind"] for decision in plan["decisions"]}


def test_predict_and_load_repeat_the_preparation(capsys, customers, tmp_path):
    path, _ = customers
    labels, model = tmp_path / "o.csv", tmp_path / "m.partita"
    run(capsys, "fit", path, "-k", 3, "--labels", labels, "--model", model)
    again = json.loads(run(capsys, "predict", path, "--model", model, "--json")[0])
    found = [int(line.rpartition(",")[2]) for line in labels.read_text().split()[1:]]
    assert again["labels"] == found
    rows = [line.split(",")[2:4] for line in path.read_text().split()[1:]]
    X = np.array([[float(cell) if cell else np.nan for cell in row] for row in rows])
    np.testing.assert_array_equal(load(model).predict(X), found)


@pytest.mark.parametrize("limit", [(), ("--memory-limit", "1kB")])
def test_predict_and_report_repeat_what_means_missing(capsys, customers, tmp_path, limit):
    path, _ = customers
    lines = path.read_text().splitlines()
    for i in (20, 50, 90):
        cells = lines[i].split(",")
        lines[i] = ",".join([*cells[:2], "999", *cells[3:]])
    lines[30] = lines[30].replace(lines[30].split(",")[2], "unknown", 1)
    path.write_text("\n".join(lines) + "\n")
    labels, model, new = tmp_path / "o.csv", tmp_path / "m.partita", tmp_path / "new.csv"
    markers = ("--na", "999", "--na", "Unknown")
    run(capsys, "fit", path, "-k", 3, *markers, "--labels", labels, "--model", model)
    assert read_header(model)["plan"]["na"] == ["999", "unknown"]
    _, err = run(capsys, "predict", path, "--model", model, "--labels", new, *limit)
    assert new.read_bytes() == labels.read_bytes()
    assert "read as missing: '999', 'unknown'" in err
    assert "age 5" in err  # with the gap that was there
    page = tmp_path / "r.html"
    run(capsys, "report", path, "--model", model, "--out", page)
    assert "New rows" not in page.read_text()  # the fingerprint is that of the fit
    path.write_text("\n".join(lines[:250]) + "\n")
    run(capsys, "report", path, "--model", model, "--out", page, "--force")
    assert "New rows" in page.read_text()


def test_names_from_right_to_left_are_isolated_in_messages(capsys, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("גיל,x,y\n" + "".join(f"7,{i * i % 11},{i % 5}\n" for i in range(20)))
    line = "left out: \u2068גיל\u2069 (constant: always 7)"
    assert line in run(capsys, "fit", path, "-k", 2)[1]
    assert line in run(capsys, "check", path)[0]


def test_predict_tells_what_it_repeats(capsys, customers, tmp_path):
    path, _ = customers
    model, new = tmp_path / "m.partita", tmp_path / "new.csv"
    run(capsys, "fit", path, "-k", 3, "--model", model)
    new.write_text("spend,extra,age\n100,x,\n2000,y,44\n,z,\n")
    data = json.loads(run(capsys, "predict", new, "--model", model, "--json")[0])["data"]
    lines = {decision["line"]: decision["undo"] for decision in data["plan"]["decisions"]}
    assert lines["filled in: 1 missing value with values of the fit: age 1"] == "--missing drop"
    assert {undo.partition(" ")[0] for undo in lines.values()} == {"--missing", ""}


def test_predict_leaves_rows_out_as_the_fit_did(capsys, customers, tmp_path):
    path, _ = customers
    model, labels = tmp_path / "m.partita", tmp_path / "o.csv"
    words = ("--missing", "drop", "--model", model, "--labels", labels)
    run(capsys, "fit", path, "-k", 3, *words)
    again = json.loads(run(capsys, "predict", path, "--model", model, "--json")[0])
    assert again["labels"] == [int(line.split(",")[-1]) for line in labels.read_text().split()[1:]]
    assert again["labels"].count(-1) == 2


def test_dates_that_are_included_are_days_in_python_too(capsys, tmp_path):
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2024-01-01", periods=60).to_series(index=range(60))
    frame = pd.DataFrame({"since": days, "visits": np.arange(60) % 7, "spend": np.arange(60) ** 2})
    path, model = tmp_path / "t.parquet", tmp_path / "m.partita"
    frame.to_parquet(path)
    run(capsys, "fit", path, "-k", 2, "--include", "since", "--model", model)
    labels = json.loads(run(capsys, "predict", path, "--model", model, "--json")[0])["labels"]
    assert load(model)[0].names == ("since", "visits", "spend")
    np.testing.assert_array_equal(load(model).predict(frame), labels)


def test_days_in_one_number_are_days_in_every_place(capsys, tmp_path):
    pd = pytest.importorskip("pandas")
    days = pd.date_range("2024-01-01", periods=60)
    numbers = days.strftime("%Y%m%d").astype(int)
    frame = pd.DataFrame({"since": numbers, "visits": np.arange(60) % 7})
    path, iso, model = (tmp_path / name for name in ("t.csv", "iso.csv", "m.partita"))
    frame.to_csv(path, index=False)
    frame.assign(since=days).to_csv(iso, index=False)
    words = ("fit", path, "-k", 2, "--include", "since", "--model", model, "--json")
    data = json.loads(run(capsys, *words)[0])["data"]
    assert data["plan"]["days"] == ["since"]
    labels = json.loads(run(capsys, "predict", path, "--model", model, "--json")[0])["labels"]
    again = json.loads(run(capsys, "predict", iso, "--model", model, "--json")[0])["labels"]
    assert again == labels
    assert load(model)[0].scaling.undo([[0.0, 0.0]])[0, 0] == 19723 + 29.5  # of 1970
    for X in (frame, frame.to_numpy(), frame.assign(since=days)):
        np.testing.assert_array_equal(load(model).predict(X), labels)
    raw = json.loads(run(capsys, "check", path, "--raw", "--json")[0])["data"]
    assert raw["plan"]["days"] == []


def test_options_undo_decisions(capsys, customers):
    path, _ = customers
    data = json.loads(run(capsys, "fit", path, "-k", 3, "--include", "zip", "--json")[0])["data"]
    assert data["features"] == ["zip", "age", "spend"]
    words = ("fit", path, "-k", 3, "--raw", "--missing", "mean", "--json")
    data = json.loads(run(capsys, *words)[0])["data"]
    assert data["features"] == ["customer_id", "zip", "age", "spend"]
    assert data["scale"] == "none"
    assert set(data["doubtful"]) == {"customer_id", "zip"}


def test_check_shows_the_plan_without_a_fit(capsys, customers):
    path, _ = customers
    out, _ = run(capsys, "check", path)
    words = " ".join(out.split())
    for text in ("300 rows, 5 columns, 2 features", "feature, logarithm", "left out: zip (a code"):
        assert text in words
    _, told = run(capsys, "fit", path, "-k", 3)
    plan = json.loads(run(capsys, "check", path, "--json")[0])["data"]["plan"]
    for decision in plan["decisions"]:
        assert decision["line"] in told
        assert decision["rule"]
    assert ". Rule: fewer than 50 %" in " ".join(run(capsys, "check", path, "--explain")[0].split())


def test_a_survey_without_numbers_is_led_to_categories(capsys, tmp_path):
    path, answers = tmp_path / "survey.csv", ["yes", "no", "NA", "perhaps"]
    rows = [f"{i + 1},{answers[i % 4]},{answers[i % 3]}" for i in range(60)]
    path.write_text("\n".join(["resp,q1,q2", *rows]) + "\n")
    out, _ = run(capsys, "check", path, "--categories", "auto")
    found = {line.split()[0]: line.split()[2:4] for line in out.splitlines() if "category" in line}
    assert found == {"q1": ["15", "3"], "q2": ["20", "2"]}  # gaps, and values that are none
    assert "all rows are equal" not in out
    with pytest.raises(SystemExit):
        app(["fit", str(path)], prog_name="partita")
    err = " ".join(capsys.readouterr().err.split())
    assert "`fit` can cluster its columns of categories (--method auto)" in err
    run(capsys, "fit", path, "-k", 2, "--method", "auto")


def test_directions_and_counts_are_not_scaled(capsys, customers):
    path, _ = customers
    for words in (("-m", "spherical"), ("-m", "kernel", "--kernel", "chi2")):
        _, err = run(capsys, "fit", path, "-k", 2, *words)
        assert "not scaled: " in err


@pytest.mark.parametrize("seed", [14, 36, *slow(6)])
def test_groups_of_generated_tables_are_found(capsys, tmp_path, seed):
    table = table_with_groups(seed)
    path, labels = tmp_path / "t.csv", tmp_path / "o.csv"
    path.write_text(table.text)
    run(capsys, "fit", path, "--labels", labels, "--only-labels", "--quiet")
    found = list(map(int, labels.read_text().split()[1:]))
    assert adjusted_rand_score(table.truth, found) >= 0.8


@pytest.mark.parametrize("seed", [23, 39, *slow(35, 87, 91)])
def test_tables_without_groups_have_one_cluster(capsys, tmp_path, seed):
    path, labels = tmp_path / "t.csv", tmp_path / "o.csv"
    path.write_text(table_without_groups(seed).text)
    out, _ = run(capsys, "fit", path, "--labels", labels, "--only-labels")
    assert out.split("\n")[1].startswith("No clusters in ")
    assert set(labels.read_text().split()[1:]) == {"0"}


def test_the_rules_are_written_down():
    from partita.tables.preparation_plan import RULES

    text = " ".join((ROOT / "docs" / "cli.md").read_text().split())
    for rule in RULES.values():
        assert " ".join(rule.split()) in text, rule
