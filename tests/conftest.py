"""What the tests share: data sets, and the kernels of every instruction set."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from partita._kernels import compiled, kernels, reference

settings.register_profile(
    "partita",
    deadline=None,  # machines are shared and noisy
    max_examples=40,
    # the `core` fixture only picks an instruction set: nothing to reset between examples
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("partita")

# a shell that runs the tests in the background has them ignore Ctrl-C, which some of them send
signal.signal(signal.SIGINT, signal.default_int_handler)

SETS = kernels.instruction_sets() if compiled() else []


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
    if request.param == "numpy":
        return reference
    before = kernels.instruction_set()
    kernels.use_instruction_set(request.param)
    yield kernels
    kernels.use_instruction_set(before)
