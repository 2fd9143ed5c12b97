"""The check for local minima reads the certificate of a fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partita import KMeans, diagnose
from partita.diagnosis import refits

RNG = np.random.default_rng(2)
MIDDLES = np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]])
ROWS = np.repeat(MIDDLES, 25, axis=0) + RNG.normal(size=(100, 2))
POOR = MIDDLES[[0, 0, 1, 2]] + [[0, 0.5], [0, -0.5], [0, 0], [4, 4]]


pytestmark = pytest.mark.heavy


def local_minimum(model):
    found = [one for one in diagnose(model, ROWS) if one.name == "local-minimum"]
    return found[0] if found else None


@pytest.fixture
def poor():
    return KMeans(4, init=POOR, n_init=1).fit(ROWS)


def test_a_local_minimum_says_how_much_lower_the_best_can_be(poor):
    assert "certificate" not in local_minimum(poor).evidence
    certificate = poor.certify(ROWS, time_limit=0.5)
    assert certificate.gap > 0.1
    assert f"By the certificate of this fit, {certificate.verdict}." in local_minimum(poor).evidence


def test_a_fit_that_is_proven_good_is_not_searched(monkeypatch):
    model = KMeans(4, random_state=0, n_init=10).fit(ROWS)
    assert model.certify(ROWS, time_limit=None).gap < refits.MIN_COST_DECREASE
    seen = []
    usual = refits.KMeans
    monkeypatch.setattr(refits, "KMeans", lambda *a, **k: seen.append(k) or usual(*a, **k))
    assert local_minimum(model) is None
    assert not any(k.get("quality") == "balanced" for k in seen)
    del model.certificate_
    assert local_minimum(model) is None
    assert any(k.get("quality") == "balanced" for k in seen)


def test_a_certificate_of_other_rows_or_from_samples_proves_nothing(poor):
    right = poor.certify(ROWS, time_limit=0.5)
    proven = replace(right, lower_bound=right.objective, kind="exact")
    for other in (
        replace(proven, n_rows=99),
        replace(proven, objective=2 * right.objective),
        replace(proven, kind="confidence", level=0.95),
    ):
        poor.certificate_ = other
        assert local_minimum(poor) is not None
    poor.certificate_ = proven
    assert local_minimum(poor) is None
