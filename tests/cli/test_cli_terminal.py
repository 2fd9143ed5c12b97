"""The answer of `fit` on a terminal: its order, its styles and its width, as the report has it."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pytest
from helpers.cli import write_csv
from helpers.slow_cases import slow
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from partita.cli.command_group import app
from partita.cli.paragraphs import print_item

pytestmark = pytest.mark.heavy
SIZES = (20, 60, 40)  # rows of the groups
WIDTHS = (60, 80, 120)
COLORS = {2: "green", 3: "yellow", 6: "cyan", 10: "green", 11: "yellow"}  # by their ANSI numbers
NARROW_SPACE = "\u202f"  # in numbers of the report


def write_rows(path, names, rows, ids=None):
    """Write a table, with a column of ids if there are some."""
    head, cells = list(names), [[f"{x:.4f}" for x in row] for row in rows]
    if ids is not None:
        head, cells = ["customer", *head], [[i, *row] for i, row in zip(ids, cells, strict=True)]
    return write_csv(path, "\n".join(",".join(line) for line in [head, *cells]) + "\n")


def groups_of(sizes, features, gap=9.0):
    """Rows of normal groups along a line."""
    rng = np.random.default_rng(5)
    centers = gap * rng.normal(size=(len(sizes), features))
    return np.concatenate(
        [center + rng.normal(size=(n, features)) for center, n in zip(centers, sizes, strict=True)]
    )


@pytest.fixture
def clear(tmp_path):
    """A table of clear groups of different sizes."""
    ids = [f"CUSTOMER{i:03}" for i in range(sum(SIZES))]
    return write_rows(tmp_path / "clear.csv", "abcd", groups_of(SIZES, 4), ids)


@pytest.fixture
def cloud(tmp_path):
    """A table without groups."""
    rows = np.random.default_rng(0).normal(size=(300, 4))
    return write_rows(tmp_path / "cloud.csv", "abcd", rows)


@pytest.fixture
def terminal(capsys, monkeypatch):
    """Run a command on a terminal with colours; return the styled lines of stdout."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def run(*words, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit) as ended:
            app([str(word) for word in words], prog_name="partita")
        assert not ended.value.code
        out = capsys.readouterr().out
        return [Text.from_ansi(line) for line in out.splitlines()]

    return run


@pytest.fixture
def answer(partita):
    """Run `fit`; return its text, without narrow spaces, and the summary of --json."""

    def run(*words):
        text = partita("fit", *words)
        return text, json.loads(partita("fit", *words, "--json").replace(NARROW_SPACE, " "))[
            "summary"
        ]

    return run


def words_of(text):
    """Return text without line breaks."""
    return " ".join(text.split())


def styles(line):
    """Return the names of the styles and colours in a line."""
    found = set()
    for span in line.spans:
        found |= {name for name in ("bold", "dim") if getattr(span.style, name)}
        found |= {COLORS[span.style.color.number]} if span.style.color else set()
    return found


def group_lines(text):
    """Return number, name, share and rows of the groups, in the order of the lines."""
    return re.findall(r"^ *(\d+)  (\S.*?)  +(\S+ %)  +([\d ]*\d) (\w+)$", text, re.M)


# --- order ----------------------------------------------------------------------------------------


def test_the_answer_comes_first_and_the_figures_last(answer, cloud, tmp_path):
    text, summary = answer(cloud, "-k", 3, "--labels", tmp_path / "o.csv", "--force")
    text = words_of(text)
    assert text.startswith(
        f"{summary['sentence']}. {summary['grade_meaning']} {summary['grade_reason']} "
    )
    largest = max(summary["clusters"], key=lambda group: group["share"])
    parts = [
        f"{largest['number']} {largest['name']}",
        "Be careful:",
        summary["findings"][0]["what"],
        f"J = {summary['objective']:.6g}",
        "labels: ",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_findings_say_what_it_is_what_it_means_and_what_to_do(answer, cloud):
    text, summary = answer(cloud, "-k", 3)
    text = words_of(text)
    assert summary["findings"]
    for finding in summary["findings"]:
        parts = [finding[part] for part in ("what", "meaning", "option", "evidence")]
        places = [text.index(words_of(part)) for part in parts]
        assert places == sorted(places)


def test_groups_come_in_the_order_of_size_with_names_and_facts(answer, clear):
    text, summary = answer(clear, "-k", 3)
    shown, groups = group_lines(text), summary["clusters"]
    assert [int(rows) for *_, rows, _ in shown] == sorted(SIZES, reverse=True)
    facts = re.split(r"^ *\d+  \S.* %  .*$", text, flags=re.M)[1:]
    for (number, name, share, rows, _), described in zip(shown, facts, strict=True):
        group = groups[int(number)]
        assert name == group["name"]
        assert share == f"{100 * group['share']:.0f} %"
        assert int(rows) == group["size"]
        assert group["traits"]
        for trait in group["traits"][:3]:
            fact = f"{trait['level']} {trait['feature']} ({trait['value_text']}; all rows "
            assert f"{fact}{trait['overall_text']})" in words_of(described)


def test_the_report_has_the_same_answer(answer, clear, tmp_path):
    page = tmp_path / "a.html"
    text, summary = answer(clear, "-k", 3, "--report", page, "--force")
    html = page.read_text(encoding="utf-8").replace(NARROW_SPACE, " ")
    assert re.search(r"<h1><bdi>(.*?)</bdi></h1>", html)[1] == text.split("\n")[1]
    assert summary["grade_reason"] in html
    assert re.findall(r'id="card-(\d+)"', html) == [number for number, *_ in group_lines(text)]


def test_a_long_name_is_not_shortened(answer, clear, monkeypatch):
    name = "Customers who come often and spend a little more every month"
    for width in (40, *WIDTHS):
        monkeypatch.setenv("COLUMNS", str(width))
        text, summary = answer(clear, "-k", 3, "--names", f"1={name}")
        assert summary["clusters"][1]["name"] == name
        column = max(len(line) for line in text.splitlines() if line.startswith("1  "))
        assert column <= width
        block = text.partition("\n1  ")[2].partition("; all rows")[0]
        shown = re.sub(r"\d+ %  +\d+ \w+", " ", block)
        assert words_of(shown).startswith(name)


def test_names_that_run_right_to_left_turn_no_shares_around(answer, clear):
    text, _ = answer(clear, "-k", 3, "--names", "0=שלום")
    assert re.search(r"^0  \u2068שלום\u2069 +\d+ %  +\d+ \w+$", text, re.M)


def test_small_groups_are_not_described_by_options_that_hide_rows(answer, tmp_path):
    file = write_rows(tmp_path / "a.csv", "xy", groups_of((40, 30, 2), 2, gap=90.0))
    words = (file, "-k", 3, "--report", tmp_path / "a.html", "--force")
    open_text, summary = answer(*words)
    assert sorted(group["size"] for group in summary["clusters"]) == [2, 30, 40]
    text, _ = answer(*words, "--no-rows")
    assert open_text.count("; all rows ") > text.count("; all rows ") > 0
    assert "close to the average" not in text
    assert "too few rows to be described" in text


# --- styles ---------------------------------------------------------------------------------------


def test_warnings_are_styled_and_advice_is_never_dim(terminal, cloud):
    lines = terminal("fit", cloud, "-k", 3)
    warnings = [line for line in lines if line.plain.startswith("  ! ")]
    assert warnings
    assert all(styles(line) == {"bold", "yellow"} for line in warnings)
    notes = [line for line in lines if line.plain.startswith("  - ")]
    assert all(styles(line) == {"bold"} for line in notes)
    first = [i for i, line in enumerate(lines) if line.plain.startswith("    → ")]
    assert len(first) == len(warnings) + len(notes)
    for i in first:
        advice = [lines[i]]
        while lines[i + len(advice)].plain.startswith("      "):
            advice.append(lines[i + len(advice)])
        assert all(styles(line) == {"cyan"} for line in advice)


def test_figures_are_dim_and_the_answer_is_not(terminal, clear):
    lines = terminal("fit", clear, "-k", 3)
    figures = next(line for line in lines if " J = " in line.plain)
    assert styles(figures) == {"dim"}
    assert styles(lines[1]) == {"bold"}
    names = [line for line in lines if group_lines(line.plain)]
    assert len(names) == 3
    assert all("bold" in styles(line) and "dim" not in styles(line) for line in names)


def test_the_grade_has_the_colour_of_its_clarity(terminal, clear, cloud):
    assert "green" in styles(terminal("fit", clear, "-k", 3)[2])
    assert "yellow" in styles(terminal("fit", cloud, "-k", 3)[2])


def test_no_structure_is_the_heading_and_nothing_is_green(terminal, cloud, monkeypatch):
    monkeypatch.chdir(cloud.parent)
    lines = terminal("fit", "cloud.csv")
    assert lines[1].plain == "No clusters in cloud.csv."
    assert not any("green" in styles(line) for line in lines)
    assert not group_lines("\n".join(line.plain for line in lines))
    assert not any("No problems" in line.plain for line in lines)


def test_paragraphs_are_parted_by_single_blank_lines(terminal, clear, cloud):
    for words in ((clear,), (cloud,), (clear, "-k", 1), (cloud, "-k", 3)):
        text = "\n".join(line.plain for line in terminal("fit", *words))
        assert "\n\n" in text
        assert "\n\n\n" not in text


def test_quiet_prints_nothing_of_it(terminal, clear, cloud):
    for file in (clear, cloud):
        assert terminal("fit", file, "-k", 3)
        assert terminal("fit", file, "-k", 3, "--quiet") == []


# --- widths and encodings -------------------------------------------------------------------------

NAMES = {
    "short": "abc",
    "words": ["visits per month", "average price of a basket", "years since the first order"],
    "long": ["od280_od315_of_diluted_wines", "x" * 50, "proanthocyanins of the skin"],
    "wide": ["毎月の支出 の 平均額", "年齢 の 分布", "収入 の 平均 値 と 中央値"],
    "right to left": ["גיל הלקוח", "שכר חודשי", "عمر"],
}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("width", [60, 80, *slow(120)])
def test_no_line_is_wider_than_the_terminal_unless_a_word_is(terminal, tmp_path, kind, width):
    file = write_rows(tmp_path / "a.csv", NAMES[kind], groups_of((50, 1000, 30), 3, gap=1.5))
    for k in (3, 10) if width == 80 else (3,):
        lines = [line.plain for line in terminal("fit", file, "-k", k, width=width)]
        wide = [line for line in lines if cell_len(line) > width and len(line.split()) > 1]
        assert wide == []
        assert any(cell_len(line) > width - 12 for line in lines)  # and the width is used


def test_numbers_stay_whole(terminal, tmp_path):
    """Neither a trait's numbers nor a command are broken, where they fit a line."""
    file = write_rows(
        tmp_path / "a.csv", NAMES["words"], 1e4 * groups_of((50, 100, 30), 3, gap=1.5)
    )
    for width in range(60, 90, 5):
        lines = [line.plain for line in terminal("fit", file, "-k", 3, width=width)]
        facts = [line for line in lines if "all rows" in line]
        assert facts
        for line in facts:
            assert line.count("(") == line.count(")")
        assert all(line.count("`") % 2 == 0 for line in lines)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_signs_are_not_lost_in_other_encodings(encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    out = Console(file=stream, width=80)
    print_item(out, f"→ −1{NARROW_SPACE}234.5 ± 2", 0)
    stream.flush()
    assert stream.buffer.getvalue().decode(encoding).strip() == "-> -1 234.5 +/- 2"
