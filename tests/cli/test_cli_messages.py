"""Messages: malformed files, long names, row numbers, equal rows."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from helpers.cli import pa
from rich.cells import cell_len
from rich.console import Console

from partita.cli.command_group import app
from partita.cli.text_tables import print_table
from partita.tables import write_table

# no words of pyarrow, NumPy, Python or the system
INNER = re.compile(
    r"straddl|block|Traceback|Arrow|object at|\berrno|codec|thrift|0x", re.IGNORECASE
)
MALFORMED = {
    "nothing": b"",
    "a byte order mark": b"\xef\xbb\xbf",
    "half a byte order mark": b"\xff\xfe",
    "empty lines": b"\n\r\n\n",
    "one cell": b"a",
    "one number": b"1",
    "names without a line end": b"a,b,c",
    "names": b"a,b,c\n",
    "quoted names": b'"a","b"',
    "a name with a line end": b'"a\n"',
    "a quote": b'"',
    "an open quote": b'a,b\n"1,2\n',
    "a delimiter": b",",
    "delimiters": b",,,\n,,,\n",
    "semicolons": b";;;",
    "ragged": b"a,b\n1,2\n3\n",
    "ragged at the end": b"a,b\n1,2,3",
    "infinity": b"a,b\n1e400,2\n1,3\n",
    "NUL": b"a,b\n1,\x002\n",
    "only NUL": b"\0\0\0",
    "half a character": "a,b\n1,2\n".encode("utf-16-le")[:-1],
    "UTF-32": "a,b\n1,2\n".encode("utf-32"),
    "a name longer than a block": b"x" * 4_200_000,
    "a name of many lines": b'"' + b"x\n" * 1000 + b'"',
    "bzip2": b"BZh9",
    "gzip": b"\x1f\x8b\x08",
    "parquet": b"PAR1" + b"\0" * 20 + b"PAR1",
    "feather": b"ARROW1\0\0",
    "npy": b"\x93NUMPY\x01\0",
    "npz": b"PK\x03\x04" + b"\0" * 60,
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_file_gives_one_sentence_of_ours(fails, tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_bytes(content)
    code, output = fails("fit", "a.csv", "-k", 2, "--raw")
    assert code == 3
    assert re.search(r"Error: a\.csv\b", output)
    assert len(output) < 400
    if not content.startswith((b"PAR1", b"ARROW1")):  # pyarrow's reason helps there
        assert not INNER.search(output), output


def test_a_line_without_a_line_end_is_a_table_without_rows(fails, tmp_path, partita):
    (tmp_path / "a.csv").write_text("a,b")
    assert "a.csv has columns, but no rows" in fails("fit", tmp_path / "a.csv")[1]
    (tmp_path / "a.csv").write_text("1,2")
    assert "a.csv: 1 row, 2 features" in partita("fit", tmp_path / "a.csv", "-k", 1)


LONG = "h" * 20_000


@pytest.mark.parametrize(
    ("head", "rows", "words"),
    [
        ("{},b", "1,2\n3,4\n9,9\n", ()),
        ("{},b", "x,2\ny,4\nz,9\n", ()),
        ("{},b", "1,2\n3,4\n,9\n", ()),
        ("{},b", "1,2\n3,4\ninf,9\n", ()),
        ("{},b", "1,2\n3,4\nx,9\n" + "5,5\n" * 30, ()),
        ("{0},{0}", "1,2\n3,4\n9,9\n", ()),
        ("{}_id,b", "1,2\n2,4\n3,9\n", ()),
        ("{},b", "1,2\n1,4\n1,9\n", ()),
        ("{},b", "10000,2\n3,4\n9,9\n", ()),
        ("{},b", "x,2\n3,4\n9,9\n", ("--columns", LONG)),
        ("{},b", "0,2\n0,4\n0,9\n", ("--weight", LONG)),
        ("{},b", "1,2\n3,4\n9,9\n", ("--columns", LONG, "--id", LONG)),
        ("{},b", "1,2\n3,4\n9,9\n", ("--columns", "no" + LONG)),
    ],
)
def test_a_long_name_is_shortened_everywhere(tmp_path, capsys, head, rows, words):
    path, model = tmp_path / "a.csv", tmp_path / "m.partita"
    path.write_text(f"{head.format(LONG, LONG)}\n{rows}")
    (tmp_path / "other.csv").write_text("a\n1\n2\n")
    lines = [["fit", path, "-k", 2, *words, "--model", model], ["choose-k", path, *words],
             ["inspect", model], ["predict", tmp_path / "other.csv", "--model", model]]  # fmt: skip
    for line in lines:
        with pytest.raises(SystemExit):
            app([str(word) for word in line], prog_name="partita")
        out, err = capsys.readouterr()
        longest = max(map(len, (out + err).splitlines() or [""]))
        assert longest < 600, (out + err)[:1000]


NAMES = ("od280_of_diluted_wines", "malic_acid", "alcalinity_of_the_ash", "x" * 44)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_tables_break_no_name(partita, tmp_path, monkeypatch, columns):
    rows = np.random.default_rng(1).normal(size=(90, 4)) + 30 * (np.arange(90)[:, None] % 9)
    monkeypatch.chdir(tmp_path)
    write_table(pa.table(dict(zip(NAMES, rows.T.copy(), strict=True))), "a.csv")
    fit = ("fit", "a.csv", "-k", 9, "--raw", "--model", "m")
    for words in (fit, ("inspect", "m"), ("check", "a.csv")):
        monkeypatch.setenv("COLUMNS", str(columns))
        output = partita(*words)
        assert [line for line in output.splitlines() if len(line) > columns] == []
        printed = output.replace("(", " ").split()
        assert {word for word in printed if set(word) == {"x"}} <= {NAMES[3]}
        named = [word for word in printed if word.startswith(("od280", "malic", "alcal"))]
        assert named
        assert all(name in NAMES or "…" in name for name in named), named


def test_the_first_column_is_in_every_table(capsys):
    columns = [["name", "ab", "日本"], *([f"c{i}", "1.5", "-22.75"] for i in range(9))]
    for width in range(12, 80):
        print_table(Console(width=width, file=sys.stdout), columns, left=1, rule=True)
        lines = capsys.readouterr().out.splitlines()
        assert all(cell_len(line) <= width for line in lines)
        heads = [line.split() for line in lines if line.startswith("name")]
        assert [name for head in heads for name in head[1:]] == [f"c{i}" for i in range(9)]
        assert sum(line.startswith("日本") for line in lines) == len(heads)


@pytest.fixture
def far_rows(tmp_path):
    """Two groups, and two rows far away: the 8th and the 10th."""
    rows = np.random.default_rng(0).normal(size=(300, 2))
    rows[150:] += 20
    rows[[7, 9]] = [900, 900], [910, 905]
    names = [f"n{i}" for i in range(300)]
    path = tmp_path / "a.csv"
    write_table(pa.table({"name": names, "x": rows[:, 0], "y": rows[:, 1]}), path)
    return path


def test_rows_are_named_as_in_the_file(partita, far_rows, tmp_path):
    for words, names in (((), "row 8, row 10"), (("--id", "name"), "n7, n9")):
        page = tmp_path / f"{len(words)}.html"
        output = partita("fit", far_rows, "-k", 3, "--report", page, *words)
        assert f"typical rows: {names}." in " ".join(output.split())
        assert f"typical rows: {names}." in page.read_text()


def test_rows_are_numbered_as_in_the_file_also_after_dropped_ones(partita, far_rows):
    lines = far_rows.read_text().splitlines(keepends=True)
    far_rows.write_text("".join([lines[0], "gap,,\n", *lines[1:]]))
    output = partita("fit", far_rows, "-k", 3, "--missing", "drop")
    assert "row 9, row 11." in output


@pytest.mark.parametrize("k", [1, 2, "2:3", "auto"])
def test_equal_rows_are_said_to_be_equal(partita, tmp_path, k):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 8)
    output = " ".join(partita("fit", tmp_path / "a.csv", "-k", k).split())
    assert "! All rows are equal." in output
    assert "--k 1 describes them" in output
    assert "than 1" not in output


def test_choose_k_says_that_rows_are_equal(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n" * 8)
    with pytest.raises(SystemExit):
        app(["choose-k", str(tmp_path / "a.csv")], prog_name="partita")
    assert "Note: all rows are equal: they are one group" in capsys.readouterr().err


def test_fewer_distinct_rows_than_clusters_name_a_number_that_works(partita, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "1,2\n5,6\n9,0\n" * 8)
    output = " ".join(partita("fit", tmp_path / "a.csv", "-k", 4).split())
    assert "! There are no more different rows than groups." in output
    assert "Use --k 2 at most" in output
    assert "no more different rows" not in partita("fit", tmp_path / "a.csv", "-k", 2)
