"""A program on a real terminal: what it shows, and Ctrl-C from outside."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import pytest
from helpers.progress import ERASE, SHOW, plain

PROGRAM = """
import sys

import numpy as np

import partita

rows = np.random.default_rng(0).normal(size=(20_000, 10)).astype(np.float32)
bar = partita.progress_bar(keep=sys.argv[1] == "keep")
model = partita.KMeans(50, init="random", n_init=5000, max_iter=100_000, random_state=0,
                       n_threads=1, halt=partita.halting.SamePartition(), callback=bar)
model.fit(rows)
print("kind:", model.stopped_by_.kind)
"""


def read_terminal(master):
    try:
        return os.read(master, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.heavy
@pytest.mark.parametrize("keep", [pytest.param("keep", marks=pytest.mark.slow), "lose"])
def test_ctrl_c_on_a_terminal(keep):
    master, slave = pytest.importorskip("pty", reason="this system has no terminals").openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, keep], stdout=slave, stderr=slave,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )  # fmt: skip
    os.close(slave)
    output = b""
    while b"iteration" not in output:  # the bar: the fit has begun
        output += os.read(master, 4096)
    run.send_signal(signal.SIGINT)
    while part := read_terminal(master):
        output += part
    os.close(master)
    text = output.decode()
    assert re.search(r"KMeans ━+.* start \d+ of 5000, iteration \d+, J \d", plain(text))
    before, shown, after = text.rpartition(SHOW)
    assert shown
    assert ERASE in after  # the line is gone
    assert "━" in before
    assert "━" not in after
    if keep == "keep":
        assert run.wait(timeout=60) == 0, text
        assert "InterruptedFitWarning: An interrupt from the keyboard" in after
        assert "kind: interrupt" in after
    else:
        assert run.wait(timeout=60) == -signal.SIGINT, text
        assert "KeyboardInterrupt" in after
