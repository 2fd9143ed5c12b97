"""Real data sets, as the twin can take them."""

from pathlib import Path

import numpy as np
import pytest

LIMIT = 1e7  # n·K·d


def load(folder: Path, name: str):
    """The rows, or a skip if there is no K >= 2 with n·K·d <= LIMIT."""
    with np.load(folder / f"{name}.npz") as file:
        if "X" not in file or file["X"].ndim != 2:
            pytest.skip(f"{name} holds no table of rows")
        rows = file["X"].astype(np.float64)
    if not np.isfinite(rows).all():
        pytest.skip(f"{name} has missing values")
    if 2 * rows.size > LIMIT:
        pytest.skip(f"{name} has n·d = {rows.size}: too large for the twin")
    return rows
