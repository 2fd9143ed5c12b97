"""What was compiled: no symbol of one instruction set can stand in for another's."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from helpers.paths import ROOT

pytestmark = pytest.mark.compiled
BUILD = ROOT / "build"


def objects():
    return sorted(BUILD.rglob("simd/*.cpp.o"))


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@pytest.mark.skipif(not objects(), reason="the object files of the build are not here")
@pytest.mark.parametrize("path", objects(), ids=lambda p: f"{p.parts[-5]}/{p.name}")
def test_weak_symbols_belong_to_one_instruction_set(path):
    if "sanitize" in path.parts:
        pytest.skip("the sanitizers add symbols of their own")
    own = f"partita::{path.name.split('.')[0]}::"
    listed = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
    weak = [line[19:] for line in listed.splitlines() if line[17:18] in "VWu"]
    strays = [name for name in weak if own not in name]
    assert not strays
