"""Shared fixtures: the real data sets, the kernels of every instruction set, `--quick`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# several processes share the cores: threads of scikit-learn that wait must not keep one busy
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

from partita._kernels import compiled, kernels, reference

PROFILE = {
    "deadline": None,  # machines are shared and noisy
    # the `core` fixture only picks an instruction set: nothing to reset between examples
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("partita", max_examples=40, **PROFILE)
settings.register_profile("quick", max_examples=4, **PROFILE)
settings.load_profile("partita")

# a shell that runs the tests in the background has them ignore Ctrl-C, which some of them send
signal.signal(signal.SIGINT, signal.default_int_handler)

ALL_SETS = kernels.instruction_sets() if compiled() else []
BYTE_SETS = ("avx512vnni", "avx2vnni", "dotprod")  # differ from another in the kernels for bytes
SETS = [name for name in ALL_SETS if name not in BYTE_SETS]


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="few examples, one case of every test")


def pytest_configure(config):
    if config.getoption("--quick"):
        settings.load_profile("quick")


def pytest_collection_modifyitems(config, items):
    """Keep one case of every test function under `--quick`, and none of the heavy ones."""
    if not config.getoption("--quick"):
        return
    first_cases = {(item.path, item.originalname): item for item in reversed(items)}
    kept = {item for item in first_cases.values() if not is_heavy(item)}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def is_heavy(item) -> bool:
    return any(item.get_closest_marker(name) for name in ("heavy", "data", "browser"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets, or a skip that says why."""
    folder = os.environ.get("PARTITA_DATA")
    if not folder:
        pytest.skip("PARTITA_DATA is not set: the real data sets are not at hand")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"PARTITA_DATA={folder} is not a folder")
    return path


@pytest.fixture(params=SETS or ["numpy"])
def core(request):
    """The kernels, once for each instruction set this machine can run."""
    yield from _use(request.param)


@pytest.fixture(params=ALL_SETS or ["numpy"])
def byte_core(request):
    """The same, instruction sets that only have other kernels for bytes included."""
    yield from _use(request.param)


def _use(name):
    if name == "numpy":
        yield reference
        return
    before = kernels.instruction_set()
    kernels.use_instruction_set(name)
    yield kernels
    kernels.use_instruction_set(before)
