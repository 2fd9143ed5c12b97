"""Random vectors in the bounding box of the data."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats
from partita.source.protocol import Source


def box(source: Source, k: int, rng: np.random.Generator) -> Floats:
    """Draw k vectors uniformly in the smallest box that holds every row of weight."""
    survey = source.survey()
    return np.asarray(survey.low + rng.random((k, source.d)) * (survey.high - survey.low))
