"""Files of offices on the command line: their numbers, workbooks, JSON, and options about them."""

from __future__ import annotations

import json

import pytest
from helpers.workbooks import workbook

from partita.tables import read_table

GROUPS = [("Wien", 1200.5, 3), ("Wien", 1300.25, 4), ("Graz", 9.5, 55), ("Graz", 11.75, 60)] * 3


def written(amount):
    """Return an amount as an Austrian office writes it."""
    return f"{amount:,.2f} €".translate({ord(","): ".", ord("."): ","})


@pytest.fixture
def office_file(tmp_path):
    """A file with a title, amounts of money and percentages."""
    path = tmp_path / "office.csv"
    rows = [f"{city};{written(amount)};{share} %\n" for city, amount, share in GROUPS]
    path.write_text("Customers 2024\n\ncity;revenue;share\n" + "".join(rows))
    return path


def test_a_file_of_an_office_needs_no_option(partita, tmp_path, office_file):
    out = tmp_path / "out.csv"
    result = json.loads(partita("fit", office_file, "-k", 2, "--json", "--labels", out))
    assert result["data"]["features"] == ["revenue", "share"]
    assert "2 title lines skipped" in result["data"]["notes"]
    lines = out.read_text().splitlines()
    assert lines[0] == "city;revenue;share;cluster"
    assert lines[1].startswith("Wien;1.200,50 €;3 %;")
    model = tmp_path / "a.partita"
    partita("fit", office_file, "-k", 2, "--model", model)
    table = partita("predict", office_file, "--model", model)
    assert "Wien;1.200,50 €;3 %" in table


def test_categories_describe_the_clusters_in_every_form(partita, tmp_path, office_file):
    model, page = tmp_path / "a.partita", tmp_path / "a.html"
    text = partita("fit", office_file, "-k", 2, "--model", model, "--report", page)
    assert "city: 100 % Wien (all rows 50 %)" in text
    assert "<bdi>Wien</bdi>" in page.read_text("utf-8")
    result = json.loads(partita("fit", office_file, "-k", 2, "--json"))
    traits = [cluster["categories"] for cluster in result["summary"]["clusters"]]
    assert sorted(trait["value"] for found in traits for trait in found) == ["Graz", "Wien"]
    partita("report", office_file, "--model", model, "--out", page, "--force")
    assert "<bdi>Wien</bdi>" in page.read_text("utf-8")


def test_options_override_what_is_detected(partita, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x;y\n1,234;5\n2,345;-9\n3,456;6\n1,111;7\n")
    words = ["fit", path, "-k", 2, "--json", "--missing", "mean"]
    options = ["--thousands", "comma", "--na", "-9", "--na", "none given", "--skip-rows", 0]
    partita(*words, *options, "--labels", tmp_path / "out.parquet")
    columns = read_table(tmp_path / "out.parquet").data.to_pydict()
    assert columns["x"] == [1234, 2345, 3456, 1111]
    assert columns["y"] == [5, None, 6, 7]
    assert "must be one of" in partita(*words, "--decimal", "x", code=2)


def test_sheets_are_read_and_csv_is_written(partita, tmp_path):
    path = tmp_path / "a.xlsx"
    rows = [["city", "revenue", "share"], *map(list, GROUPS)]
    path.write_bytes(workbook({"About": [["nothing"], ["here"]], "Data": rows}))
    result = json.loads(partita("fit", path, "-k", 2, "--json", "--labels", tmp_path / "out"))
    assert result["data"]["format"] == "xlsx"
    assert result["data"]["notes"][0].startswith("sheet 'Data' of 2")
    assert (tmp_path / "out").read_text().startswith("city,revenue,share,cluster\nWien,1200.5,3,")
    assert "sheet" in partita("fit", path, "--sheet", "Nope", code=3)
    error = partita("fit", path, "-k", 2, "--labels", tmp_path / "out.xlsx", code=2)
    assert "Spreadsheets open .csv files" in " ".join(error.replace("│", " ").split())


def test_lines_of_json_stay_lines_of_json(partita, tmp_path):
    path, out = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    rows = [{"city": city, "x": amount, "tags": [share]} for city, amount, share in GROUPS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    partita("fit", path, "-k", 2, "--labels", out)
    copies = [json.loads(line) for line in out.read_text().splitlines()]
    assert [{**copy, "cluster": 0} for copy in copies] == [{**row, "cluster": 0} for row in rows]
    table = partita("fit", "-", "-k", 2, "--labels", "-", stdin=path.read_bytes())
    assert table.startswith("city,x,tags,cluster\nWien,1200.5,[3],")
