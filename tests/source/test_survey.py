"""The first look at the data: a shortcut gives what the long way gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita._common.threads import Workers
from partita.estimators.validation import make_source
from partita.source.survey import survey_dense

pytestmark = pytest.mark.sanitize


@given(seed=st.integers(0, 10_000), kind=st.integers(0, 4), rare=st.integers(1, 400))
def test_counting_clears_no_feature_that_needs_the_median(seed, kind, rare):
    """Counting only spares the look at a column: the origin is what the columns themselves say."""
    rng = np.random.default_rng(seed)
    column = (
        rng.normal(size=400),
        (rng.random(400) < 0.1).astype(float),
        np.zeros(400),
        np.where(rng.random(400) < 0.4, 1.0, 1.0 + rng.normal(size=400) * 1e-9),
        rng.integers(0, 3, 400).astype(float),
    )[kind]
    column = column.copy()
    column[:rare] += np.where(rng.random(rare) < 0.02, 10.0 ** rng.integers(0, 12, rare), 0.0)
    rows = np.column_stack([rng.permutation(column), rng.normal(size=400)])
    with Workers(1) as workers:
        source = make_source(rows, None, workers)
        spared = source.survey()
        looked = survey_dense(source, source._sum_up, count=False)
    np.testing.assert_array_equal(spared.grid.origin, looked.grid.origin)
    assert spared.ordered == looked.ordered
