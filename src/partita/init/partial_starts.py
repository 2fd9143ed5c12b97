"""Starts among rows with gaps: the usual ones, with the median of the column in place of each gap.

Rows are compared, drawn and averaged as if they were complete, and a center that is a row with gaps
keeps the medians. Only the start is imputed so: the first pass compares values that rows have.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.init import STARTS, Start
from partita.source.partial_rows import PartialSource


def _on_filled_rows(start: Start) -> Start:
    def run(source: PartialSource, k: int, rng: np.random.Generator, memory: float) -> Floats:
        return start(source.filled, k, rng, memory)

    return run  # type: ignore[return-value]


PARTIAL_STARTS: dict[str, Start] = {name: _on_filled_rows(start) for name, start in STARTS.items()}
