"""`partita report`: new rows, two models of one file, names, and reports to pass on."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("jinja2")

CENTERS = np.array([[160.0, 30_000.0, 2.0], [180.0, 50_000.0, 9.0], [170.0, 90_000.0, 4.0]])


def write_people(path, seed, n=300, share=(0.4, 0.4, 0.2), gap=None):
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, n, p=share)
    rows = CENTERS[kind] + rng.normal(size=(n, 3)) * [4, 4000, 1]
    lines = [f"p{i}," + ",".join(f"{value:.2f}" for value in row) for i, row in enumerate(rows)]
    if gap is not None:
        lines[gap] = f"p{gap},,,5"
    path.write_text("customer_id,height,income,visits\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def models(partita, tmp_path):
    """A file, and two models of it."""
    data = write_people(tmp_path / "a.csv", 0)
    for name, words in (("a", ("-k", "3", "--names", "0=Small")), ("b", ("-k", "4"))):
        partita("fit", data, *words, "--model", tmp_path / f"{name}.partita", "-q")
    return data, tmp_path / "a.partita", tmp_path / "b.partita"


def plain(text):
    return " ".join(re.sub(r"<[^>]+>", " ", text).replace("\u202f", " ").split())


def test_two_models_are_compared_on_the_page_and_in_the_terminal(models, partita, tmp_path):
    data, first, second = models
    out = tmp_path / "r.html"
    text = partita("report", data, "--model", first, "--against", second, "--out", out)
    moved = int(re.search(r"(\d+) of 300 rows are in another group in b.partita", text)[1])
    assert 0 < moved < 300
    page = plain(out.read_text())
    assert "Compared with b.partita" in page
    assert f"{moved} of 300 customers" in page


def test_a_model_against_itself_moves_no_row(models, partita, tmp_path):
    data, first, _ = models
    out = tmp_path / "r.html"
    text = partita("report", data, "--model", first, "--against", first, "--out", out)
    assert "All 300 rows are in the same groups in a.partita" in text
    assert "The same groups" in plain(out.read_text())


def test_rows_that_one_model_leaves_out_have_no_group(models, partita, tmp_path):
    _, first, second = models
    data = write_people(tmp_path / "gap.csv", 0, gap=7)
    words = ("--against", second, "--missing", "drop", "--out", tmp_path / "r.html")
    text = partita("report", data, "--model", first, *words)
    assert "of 299 rows are in another group" in text


def test_columns_that_one_model_lacks_are_an_error_that_names_it(models, fails, partita, tmp_path):
    data, _, second = models
    few = tmp_path / "few.csv"
    few.write_text("\n".join(",".join(row.split(",")[:3]) for row in data.read_text().split()))
    partita("fit", few, "-k", "2", "--model", tmp_path / "c.partita", "-q")
    out = tmp_path / "r.html"
    code, text = fails(
        "report", few, "--model", tmp_path / "c.partita", "--against", second, "--out", out
    )
    assert code != 0
    assert "lacks 'visits'" in text
    assert "b.partita" in text
    assert not out.exists()


def test_two_models_need_a_file_that_can_be_read_twice(models, fails, tmp_path):
    _, first, second = models
    out = tmp_path / "r.html"
    code, text = fails("report", "-", "--model", first, "--against", second, "--out", out)
    assert code == 2
    assert "--against needs a file that can be read twice" in text


def test_a_report_does_not_replace_one_of_the_models(models, fails):
    data, first, second = models
    html = second.with_suffix(".html")
    second.rename(html)
    code, text = fails("report", data, "--model", first, "--against", html, "--out", html, "-f")
    assert code == 2
    assert "is an input of this command" in text


def test_names_come_from_the_option_or_the_model(models, partita, tmp_path):
    data, first, _ = models
    out = tmp_path / "r.html"
    partita("report", data, "--model", first, "--out", out)
    assert 'data-name-of="0">Small<' in out.read_text()
    partita("report", data, "--model", first, "--out", out, "-f", "--names", "0=Tiny")
    assert 'data-name-of="0">Tiny<' in out.read_text()
    assert 'data-name-of="0">Small<' not in out.read_text()


def test_drift_is_told_by_the_names_of_groups(models, partita, tmp_path):
    _, first, _ = models
    new = write_people(tmp_path / "new.csv", 5, share=(0.1, 0.2, 0.7))
    text = partita("report", new, "--model", first, "--out", tmp_path / "r.html")
    assert "group 0 (Small) has" in " ".join(text.split())
    page = plain((tmp_path / "r.html").read_text())
    assert "300 new customers:" in page
    assert "Compared with the fit" in page


def test_a_report_to_pass_on_names_no_row(models, partita, tmp_path):
    _, first, second = models
    new = write_people(tmp_path / "new.csv", 5, share=(0.1, 0.2, 0.7))
    new.write_text(new.read_text() + "SECRET,160.77,9876543.21,2\n")
    words = ("--model", first, "--against", second, "--id", "customer_id", "--out")
    partita("report", new, *words, tmp_path / "r.html")
    partita(
        *("report", new, *words, tmp_path / "s.html", "--no-rows"),
        *("--title", "Autumn <b>", "--author", "Ann"),
    )
    full, sent = ((tmp_path / name).read_text() for name in ("r.html", "s.html"))
    assert "SECRET" in full
    assert "SECRET" not in sent
    assert "1 row of 301 is unlike the fit" in plain(sent)
    assert "Autumn &lt;b&gt;" in sent
    assert "Ann" in plain(sent)
