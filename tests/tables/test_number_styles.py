"""Numbers as offices write them: separators, currencies, percentages, accounting, gaps."""

from __future__ import annotations

import csv
import io

import pytest
from helpers.table_files import growth, read_columns, write_file
from hypothesis import given
from hypothesis import strategies as st

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import TableError, read_table, select, write_table  # noqa: E402
from partita.tables.cell_types import is_missing, is_number  # noqa: E402


def column(folder, cells, delimiter=",", **options):
    """Return what a column of these cells is read as, and the notes about it."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerows([["n", "x"], *([i, cell] for i, cell in enumerate(cells))])
    table = read_table(write_file(folder, out.getvalue()), delimiter=delimiter, **options)
    return table.data["x"].to_pylist(), [note for note in table.notes if note.startswith("x:")]


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$1,234.50", "$7"], [1234.5, 7]),
        (["-$1.50", "$-2", "($3.25)", "$(4)", "(5)"], [-1.5, -2, -3.25, -4, -5]),
        (["€ 30.785,12", "-3 €"], [30785.12, -3]),
        (["1 234,5 €", "1\u00a0234\u202f567,5 €", "7"], [1234.5, 1234567.5, 7]),
        (["30.785,12", "1,5"], [30785.12, 1.5]),
        (["CHF 1'234.50", "CHF 2’000"], [1234.5, 2000]),
        (["12 %", "3.5%", "0"], [12, 3.5, 0]),
        (["(1.5)", "2"], [-1.5, 2]),
        (["1.5-", "2"], [-1.5, 2]),
        (["−1.5", "–2", "+3"], [-1.5, -2, 3]),
        (["1,234,567", "12"], [1234567, 12]),
        (["12,34,567.00", "1,000"], [1234567, 1000]),
        (["1.234.567", "1.000"], [1234567, 1000]),
        (["Rs. 500", "Rs.1,000"], [500, 1000]),
        (["€ 1.234", "€ 2.500"], [1234, 2500]),  # amounts have two decimals
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_one_style_gives_one_column_of_numbers(tmp_path, cells, numbers, delimiter):
    found, notes = column(tmp_path, cells, delimiter)
    assert found == numbers
    if any(mark in "".join(cells) for mark in "$€%()"):
        assert len(notes) == 1


@pytest.mark.parametrize(
    "cells",
    [
        ["12 %", "0.5"],  # not one unit
        ["$5", "€ 6"],
        ["1.234,5", "1,234.5"],
        ["1,23,4", "1"],
        ["12,34.5", "1"],
        ["1 23", "4"],
        ["732 829 320", "732 829 321"],  # numbers of companies
        ["+43 664 123", "+43 664 124"],  # telephones
        ["030 123 456", "040 123 456"],
        ["((5))", "1"],
        ["-5-", "1"],
        ["--5", "1"],
        ["$", "1"],
        ["2024-05", "1"],
        ["12:30", "1"],
        ["5 kg", "1"],
    ],
)
def test_what_is_not_of_one_style_stays_text(tmp_path, cells):
    assert column(tmp_path, cells)[0] == cells


def test_codes_with_leading_zeros_are_doubtful_as_before(tmp_path):
    found = select(read_table(write_file(tmp_path, "zip,x\n01003,1\n10115,2\n")))
    assert found.doubtful["zip"].why == "a code: integers with leading zeros"


@pytest.mark.parametrize(
    ("delimiter", "options", "numbers", "words"),
    [
        (",", {}, [1234, 2500], "the comma is a thousands separator"),
        ("\t", {}, [1234, 2500], "the comma is a thousands separator"),
        (";", {}, [1.234, 2.5], "the comma is decimal"),
        (",", {"decimal": ","}, [1.234, 2.5], None),
        (";", {"decimal": "."}, [1234, 2500], None),
        (";", {"thousands": ","}, [1234, 2500], None),
    ],
)
def test_a_comma_with_three_digits_is_decided_by_a_rule_that_is_said(
    tmp_path, delimiter, options, numbers, words
):
    found, notes = column(tmp_path, ["1,234", "2,500"], delimiter, **options)
    assert found == numbers
    assert (words is None) or words in notes[0]


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_thousands_are_seen_beside_numbers_below_them(tmp_path, mark, delimiter):
    """No program writes 850 without decimals, and 1.200 with a last 0."""
    cells = [cell.replace(".", mark) for cell in ["850", "1.200", "12.345", "-7", "-", "999"]]
    found, notes = column(tmp_path, cells, delimiter)
    assert found == [850, 1200, 12345, -7, None, 999]
    assert "is a thousands separator" in notes[0]
    assert column(tmp_path, cells, delimiter, decimal=mark)[0][1] == 1.2
    cells = ["2.300"] * 3000 + ["850"] * 100
    assert column(tmp_path, cells, delimiter)[0] == [2300] * 3000 + [850] * 100


@pytest.mark.parametrize(
    "cells",
    [
        ["1.200", "3.400", "7.125"],  # three decimals everywhere
        ["1.2", "850", "1.200"],
        ["0.200", "850", "1.200"],
        ["1.125", "850", "2.375"],  # no last 0
        ["1.200", "850", "1250"],  # which would have a separator
    ],
)
def test_other_points_stay_decimal(tmp_path, cells):
    found, notes = column(tmp_path, cells)
    assert found == list(map(float, cells))
    assert notes == []


def test_the_decimal_separator_of_the_file_decides_for_a_column(tmp_path):
    path = write_file(tmp_path, "x\ty\n1,234\t0,5\n2,500\t7\n")
    assert read_columns(path) == {"x": [1.234, 2.5], "y": [0.5, 7]}
    path = write_file(tmp_path, "x\ty\n1.234\t5,25 €\n2.500\t7 €\n")
    assert read_columns(path) == {"x": [1234, 2500], "y": [5.25, 7]}


GAPS = "- – — . … -- #DIV/0! #N/A #REF! #VALUE! #NAME? #NUM! #NULL! #NV #WERT! n.a. NaN <NA>"


@pytest.mark.parametrize("gap", GAPS.split())
def test_gaps_of_offices_are_missing(tmp_path, gap):
    assert is_missing(gap)
    assert column(tmp_path, ["1.5", gap, "$2"])[0] == [1.5, None, 2]


@pytest.mark.parametrize("cells", [["1 234", "12 345", "7"], ["1'234", "7"]])
def test_only_points_and_commas_are_ambiguous(tmp_path, cells):
    (note,) = column(tmp_path, cells, ";")[1]
    assert note.endswith("is read as 1234")


def test_a_decimal_comma_is_told_if_there_is_one(tmp_path):
    for cell, is_decimal in (("£1,200", False), ("12,34,567", False), ("7", False), ("1,5", True)):
        table = read_table(write_file(tmp_path, f"x;y\n{cell};1\n{cell};2\n"))
        assert ("numbers have a decimal comma" in table.notes) == is_decimal


def test_a_dash_beside_a_currency_is_a_gap(tmp_path):
    assert column(tmp_path, ["$1,234.50 ", " $(5.00)", " $-   "])[0] == [1234.5, -5, None]


def test_other_gaps_are_set_by_the_user(tmp_path):
    cells = ["1.5", "-999", "unknown", "-999.0"]
    assert column(tmp_path, cells, na=["-999", "Unknown"])[0] == [1.5, None, None, None]
    assert column(tmp_path, ["$7", "$8"], na="7") == ([None, 8], ["x: '$7' is read as missing"])
    path = tmp_path / "a.parquet"
    write_table(pa.table({"x": [1.5, -999.0], "n": [-999, 3]}), path)
    assert read_columns(path, na="-999") == {"x": [1.5, None], "n": [None, 3]}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decimal": ";"}, "`decimal` must be '.', ',' or None"),
        ({"thousands": "x"}, "`thousands` must be"),
        ({"decimal": ",", "thousands": ","}, "`thousands` must differ from `decimal`"),
        ({"na": 5}, "`na` must be a text or a list of texts"),
        ({"skip_rows": -1}, "`skip_rows` must be"),
        ({"sheet": 0}, "`sheet` must be"),
    ],
)
def test_wrong_options_are_named(tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        read_table(write_file(tmp_path, "x\n1\n"), **options)


def test_copies_keep_the_cells_as_they_are_written(tmp_path):
    text = 'who,x,y\nann,"$1,234.50",12 %\nbob,($5),-\n'
    table = read_table(write_file(tmp_path, text))
    write_table(table.copy_as("csv"), tmp_path / "b.csv", **table.layout("csv"))
    assert (tmp_path / "b.csv").read_text() == text


FORMATS = [(t, d) for d in ".," for t in ("", ",", ".", " ", "\u00a0", "'", "’") if t != d]
amounts = st.integers(-(10**12), 10**12)


@given(
    st.lists(amounts, min_size=1, max_size=8),
    st.sampled_from(FORMATS),
    st.sampled_from(["{}", "{} €", "€ {}", "{} %", "({})", "{}-"]),
)
def test_written_amounts_are_read_back(tmp_path_factory, cents, separators, frame):
    """With two decimals, no cell leaves the separators open."""
    thousands, decimal = separators

    def write(value):
        whole = f"{abs(value) / 100:,.2f}".translate({ord(","): "t", ord("."): decimal})
        text = whole.replace("t", thousands)
        if frame in ("({})", "{}-"):
            return frame.format(text) if value < 0 else text
        return frame.format(f"-{text}" if value < 0 else text).replace("€ -", "-€ ")

    found, _ = column(tmp_path_factory.mktemp("t"), list(map(write, cents)), "|")
    assert found == [value / 100 for value in cents]


@pytest.mark.parametrize("cell", ["1{}x", "$ {}x", "(1{}", "1{}%%"])
@pytest.mark.parametrize("letter", ["1", " ", ",1", " 111"])
def test_styles_are_tried_in_linear_time(monkeypatch, cell, letter):
    monkeypatch.setattr("partita.tables.cell_types.MAX_NUMBER_CHARACTERS", 10**9)
    monkeypatch.setattr("partita.tables.number_styles.MAX_STYLED_CHARACTERS", 10**9)
    assert growth(lambda n: is_number(cell.format(letter * n)), 200) < 40


def test_wrong_numbers_are_an_error_of_the_file(tmp_path):
    with pytest.raises(TableError, match="written in several ways"):
        select(read_table(write_file(tmp_path, 'x\n"1.234,5"\n"1,234.5"\n')), columns=["x"])
