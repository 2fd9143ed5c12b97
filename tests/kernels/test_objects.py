"""No code of one instruction set can replace that of another when the core is linked."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from helpers.paths import ROOT

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(shutil.which("nm") is None, reason="nm (binutils) is not installed"),
]
INSTRUCTION_SETS = ("avx2", "avx512", "portable")


def symbols(path, *flags):
    listed = subprocess.run(
        ["nm", "-C", *flags, path], capture_output=True, text=True, check=True
    ).stdout
    return [(line[17:18], line[19:]) for line in listed.splitlines()]


def object_files():
    """Objects of the newest build that is not sanitized; the sanitizers add weak symbols."""
    builds = {}
    for path in (ROOT / "build").glob("*/**/simd/*.cpp.o"):
        build = path.relative_to(ROOT / "build").parts[0]
        if build != "sanitize":
            builds.setdefault(build, []).append(path)
    newest = max(builds.values(), key=lambda paths: paths[0].stat().st_mtime, default=[])
    return sorted(newest)


@pytest.mark.heavy
def test_weak_symbols_belong_to_one_instruction_set():
    """A weak symbol exists once after linking, so its code must be for one instruction set."""
    paths = object_files()
    if not paths:
        pytest.skip("build/ has no object files: install from this checkout (pip install .) first")
    for path in paths:
        own = f"partita::{path.name.split('.')[0]}::"
        weak = [name for kind, name in symbols(path) if kind in "VWu"]
        assert not [name for name in weak if own not in name], path


def test_the_installed_core_exports_no_kernel_of_an_instruction_set():
    core = pytest.importorskip("partita._kernels.core")
    exported = symbols(core.__file__, "-D", "--defined-only")
    assert ("T", "PyInit_core") in exported
    assert not [name for _, name in exported if any(f"{s}::" in name for s in INSTRUCTION_SETS)]
