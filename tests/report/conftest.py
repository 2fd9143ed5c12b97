"""The report on wine, made once."""

from __future__ import annotations

import pytest
from helpers.reports import wine_report


@pytest.fixture(scope="session")
def wine():
    return wine_report()
