"""Cases beyond the representative ones of a test."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*values: Any) -> list[Any]:
    """Return values of a parameter that only `make test-all` runs."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
