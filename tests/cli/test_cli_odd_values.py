"""Any text as the value of any option: a result, or a short message without a traceback."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from partita.cli.command_group import app

TEXTS = (
    "", " ", "0", "-1", "1e30", "1e400", "1" * 400, "9" * 5000, "nan", "inf", "-inf", "2.5", "0x10",
    "1_000", "True", "None", "[]", "{}", "x" * 5000, "é", "٣", "a,b", "a b", "\x1b[31m", "\ud800",
    "1:", ":", "0:3", "2:" + "9" * 9, "../x", "/", "/dev/null/x", "a\0b",
)  # fmt: skip
FIT_OPTIONS = (
    "-k", "--method", "--halt", "--seed", "--threads", "--n-init", "--max-iter", "--columns",
    "--exclude", "--id", "--weight", "--scale", "--missing", "--delimiter", "--encoding",
    "--source-column", "--labels", "--model", "--report",
)  # fmt: skip
CALLS = (
    *[("fit", "FILE", "-k", "2", option, "TEXT") for option in FIT_OPTIONS if option != "-k"],
    ("fit", "FILE", "-k", "TEXT"),
    ("fit", "FILE", "-k", "2", "-m", "kernel", "--kernel", "TEXT"),
    ("fit", "FILE", "-k", "2", "-m", "kernel", "--gamma", "TEXT"),
    ("fit", "FILE", "-k", "2", "-m", "medoids", "--metric", "TEXT"),
    ("fit", "FILE", "-k", "2", "-m", "spherical", "--zero-rows", "TEXT"),
    ("fit", "FILE", "-k", "2", "--halt", "MaxIter(TEXT)"),
    ("fit", "TEXT"),
    ("choose-k", "FILE", "-k", "TEXT"),
    ("inspect", "TEXT"),
    ("predict", "TEXT", "FILE"),
    ("report", "TEXT", "FILE", "--output", "a.html"),
    ("TEXT", "FILE"),
)
EXIT_CODES = (0, 2, 3, 4)  # done, wrong usage, wrong data, a limit under --strict
MAX_LINE_LENGTH = 2000  # of a message
SHORT_SHARE = 0.08


def fault_of(words, capsys):
    """What is wrong with the answer to a command; None if nothing is."""
    try:
        app(words, prog_name="partita")
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException as error:
        code = f"{type(error).__name__}: {error}"[:200]
    text = capsys.readouterr().err
    if code not in EXIT_CODES or "Traceback" in text or "This is a bug" in text:
        return f"{code}, {text[-300:]}"
    longest = max(map(len, text.splitlines()), default=0)
    return f"a line of {longest} characters: {text[:100]}" if longest > MAX_LINE_LENGTH else None


def check(share, file, capsys):
    faults, rng, count = {}, np.random.default_rng(15), 0
    for words, text in itertools.product(CALLS, TEXTS):
        if rng.random() < share:
            command = [word.replace("TEXT", text).replace("FILE", str(file)) for word in words]
            if fault := fault_of(command, capsys):
                faults[f"{words}, {text[:20]!r}"] = fault
            count += 1
    assert not faults, "\n".join(f"{place}: {fault}" for place, fault in faults.items())
    assert count > 50


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "inside").mkdir()
    monkeypatch.chdir(tmp_path / "inside")
    monkeypatch.setenv("COLUMNS", "80")


def test_some_odd_values_of_options_end_in_a_result_or_a_message(folder, file, capsys):
    check(SHORT_SHARE, file, capsys)


@pytest.mark.slow
def test_all_odd_values_of_options_end_in_a_result_or_a_message(folder, file, capsys):
    check(1.0, file, capsys)
