"""Options for a report that is passed on: its title, its author, no single rows, a noun."""

from __future__ import annotations

import pytest

from partita import report
from partita.cli.options import SendingOptions
from partita.report.provenance import told_plan, told_reasons

SENDING = ("--title", "Our customers", "--author", "Ana & Bo", "--no-rows")


@pytest.fixture
def record_of(monkeypatch, partita, tmp_path):
    """Run a fit with a report; return the record that the report is made from."""
    records = []

    def keep(path, fitted, **options):
        records.append(fitted)
        return report.summarise(fitted)

    monkeypatch.setattr(report, "write_report", keep)

    def run(*words):
        partita(*words, "--report", tmp_path / "a.html", "-q")
        return records[-1]

    return run


def test_the_report_is_told_how_it_is_sent(record_of, file):
    record = record_of("fit", file, "-k", 3, *SENDING)
    assert (record.title, record.author, record.no_rows) == ("Our customers", "Ana & Bo", True)
    plain = record_of("fit", file, "-k", 3)
    assert (plain.title, plain.author, plain.no_rows) == ("", "", False)


def test_the_report_is_told_the_names_of_the_groups(record_of, file):
    record = record_of("fit", file, "-k", 3, "--names", '0="Young, loyal",2=Old')
    assert record.group_names[0] == "Young, loyal"
    assert record.group_names[2] == "Old"


def test_the_report_is_told_what_a_row_is(record_of, file, tmp_path):
    other = tmp_path / "customers.csv"
    other.write_text(file.read_text().replace("who,", "customer_id,", 1))
    assert record_of("fit", other, "-k", 3).noun == "customers"
    assert record_of("fit", other, "-k", 3, "--id", "customer_id").noun == "customers"
    assert record_of("fit", file, "-k", 3).noun == ""


@pytest.mark.parametrize(
    "words", [("--title", "a"), ("--author", "a"), ("--no-rows",), ("--title", "")], ids=str
)
def test_options_of_a_report_need_one(fails, tmp_path, words):
    code, said = fails("fit", tmp_path / "none.csv", "-k", 3, *words)
    assert code == 2
    assert f"{words[0]} needs --report OUT.html." in said


def test_nothing_is_left_out_by_default():
    assert SendingOptions() == SendingOptions(title=None, author=None, no_rows=False)
    SendingOptions().check(None)


def test_a_report_without_rows_is_told_no_cell_and_no_place(record_of, file, tmp_path):
    secret, other = "Jane Doe", tmp_path / "secret.csv"
    lines = [f"{line},{i % 7}" for i, line in enumerate(file.read_text().splitlines())]
    lines[0] = "who,age,visits,spent,score"
    lines[9] = f"{secret},1e6,0,0,unknown"
    other.write_text("\n".join(lines))
    words = ("fit", other, "-k", 3)
    for more, shown in (((), True), (("--no-rows",), False)):
        for id in ((), ("--id", "who")):
            record = record_of(*words, *id, *more)
            told = "\n".join([*told_plan(record), *dict(told_reasons(record)).values()])
            assert any(text in told for text in ("'", "line 1", secret)) == shown
            assert "left out: score" in told
            assert "limited: 1 outlier of age" in told


def test_a_column_that_tells_rows_apart_names_them_in_the_report(record_of, file, tmp_path):
    other = tmp_path / "customers.csv"
    other.write_text(file.read_text().replace("who,", "customer_id,", 1))
    found = record_of("fit", other, "-k", 3)
    named = record_of("fit", file, "-k", 3, "--id", "who")
    assert found.ids.to_pylist() == named.ids.to_pylist()
    assert record_of("fit", file, "-k", 3).ids is None


def test_a_page_without_rows_names_no_group_by_a_rare_category(partita, tmp_path):
    lines = [f"p{i},{i % 2 * 9 + i / 100},{'Wien' if i % 2 else 'Graz'}" for i in range(60)]
    table = tmp_path / "f.csv"
    table.write_text("\n".join(["patient_id,alpha,city", *lines, "p60,100.123,Atlantis"]))
    page, model = tmp_path / "e.html", tmp_path / "e.partita"
    words = ("--report", page, "--model", model, "--no-rows", "-q")
    partita("fit", table, "-k", 3, "--scale", "none", *words)
    assert "Atlantis" not in page.read_text(encoding="utf-8")
    partita("fit", table, "-k", 3, "--scale", "none", "--model", model, "--force", "-q")
    partita("report", table, "--model", model, "--out", page, "--no-rows", "--force", "-q")
    assert "Atlantis" not in page.read_text(encoding="utf-8")


def test_more_unused_columns_than_features_are_described(partita, tmp_path):
    rows = [f"{i % 2 * 9 + i / 100},{i * 0.7},{i * 1.3},{i * 2.1}" for i in range(60)]
    table, page = tmp_path / "d.csv", tmp_path / "d.html"
    table.write_text("\n".join(["alpha,b,c,d", *rows]))
    partita("fit", table, "-k", 2, "--columns", "alpha", "--report", page, "-q")
    text = page.read_text(encoding="utf-8")
    assert "Columns that were not used to find the groups" in text
    assert all(f"<bdi>{name}</bdi>" in text for name in "bcd")
