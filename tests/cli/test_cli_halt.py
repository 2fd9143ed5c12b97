"""`--halt` and `--strict`: criteria as text, and exit code 4."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.cli import pa  # noqa: F401

from partita.cli.halt_option import CRITERIA, HaltError, parse_halt


@pytest.mark.parametrize(
    "text",
    [
        "RelDecrease(1e-4) | Deadline(60)",
        "MaxIter(300) | SamePartition() | (RelDecrease(0.0001) & Deadline(60))",
        "(Shift(0.5) | Target(-3)) & Decrease(0)",
        "((MaxIter(1)))",
        "Deadline ( .5 )",
        " MaxIter(+3)\n | Target(-1e-3) ",
    ],
)
def test_what_is_parsed_says_the_same_again(text):
    result = parse_halt(text)
    assert repr(parse_halt(repr(result))) == repr(result)


def test_and_binds_closer_than_or():
    assert repr(parse_halt("MaxIter(1) | MaxIter(2) & MaxIter(3)")) == (
        "MaxIter(1) | (MaxIter(2) & MaxIter(3))"
    )


@pytest.mark.parametrize(
    "text",
    ["", "MaxIter", "MaxIter(", "MaxIter()", "MaxIter(1.5)", "SamePartition(3)", "Deadline(-1)",
     "|", "MaxIter(1) |", "MaxIter(1) MaxIter(2)", "When(1)", "__import__('os')", "MaxIter(1); x",
     "Halt()", "AnyOf(1)", "(" * 500, "MaxIter(1, 2)", "MaxIter(0)", "Deadline(nan)", "maxiter(1)",
     "MaxIter(1) # 2", "MaxIter(True)", "MaxIter(1j)", "MaxIter(n=1)", "MaxIter(*[1])",
     "MaxIter(1) | 3", "MaxIter(1) ^ MaxIter(2)", "MaxIter(2 * 3)",
     "halting.MaxIter(1)", "MaxIter('1')", "a\0b",
     "MaxIter(1) |" * 20_000 + "MaxIter(1)"],
)  # fmt: skip
def test_anything_else_is_refused_with_the_names_that_are_known(text):
    with pytest.raises(HaltError) as caught:
        parse_halt(text)
    assert all(name in str(caught.value) for name in CRITERIA)


def test_errors_name_the_place():
    with pytest.raises(HaltError, match=r"'Never\(\)' is not a criterion \(at character 14\)"):
        parse_halt("MaxIter(3) | Never()")
    with pytest.raises(HaltError, match=r"SamePartition takes no number, got 1 \(at character 1\)"):
        parse_halt("SamePartition(3)")


@pytest.mark.heavy
def test_halting_and_strict(partita, tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", rng.normal(size=(800, 2)))
    words = ("fit", tmp_path / "a.npy", "-k", 20, "--quality", "fast", "--strict")
    output = partita(*words, "--max-iter", 2, code=4)
    assert "limit of 2 iterations" in output
    partita("fit", tmp_path / "a.npy", "-k", 20, "--max-iter", 2)
    partita("fit", tmp_path / "a.npy", "-k", 20, "--strict", "--halt", "RelDecrease(0.1)")
    limits = "MaxIter(1) | Deadline(60)"
    assert partita(*words, "--halt", limits, code=4)
    assert partita("fit", tmp_path / "a.npy", "-k", 20, "--strict", "--halt", "Deadline(0)", code=4)
    output = partita("fit", tmp_path / "a.npy", "-k", 20, "--halt", "Never(1)", code=2)
    assert "--halt" in output


@pytest.mark.heavy
def test_a_limit_of_passes_is_no_convergence(partita, tmp_path):
    rows = np.random.default_rng(0).random((5000, 3))
    np.save(tmp_path / "a.npy", rows)
    words = ("fit", tmp_path / "a.npy", "-k", 8, "-m", "mini-batch", "--max-iter", 1, "--n-init", 1)
    assert json.loads(partita(*words, "--json"))["converged"] is False
    partita(*words, "--strict", code=4)
