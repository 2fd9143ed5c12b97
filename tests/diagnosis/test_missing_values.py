"""The check of missing values: how many, where, and in which groups far more often."""

from __future__ import annotations

import numpy as np
import pytest

from partita import KMeans, diagnose


def two_groups(n=200):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n, 3)) + 20 * (np.arange(n) % 2)[:, None]
    return rng, rows, np.arange(n) % 2 == 1


def finding_of(rows, weight=None, **keywords):
    model = KMeans(2, random_state=0, missing="partial", **keywords).fit(rows, sample_weight=weight)
    diagnosis = diagnose(model, rows, weight)
    found = [finding for finding in diagnosis if finding.name == "missing-values"]
    return (found[0] if found else None), model


def test_values_missing_at_random_are_a_note():
    rng, rows, _ = two_groups()
    rows[rng.random(200) < 0.3, 1] = np.nan
    finding, _ = finding_of(rows)
    share, touched = np.isnan(rows).mean(), np.isnan(rows[:, 1]).mean()
    assert finding.severity == "note"
    assert finding.features == (1,)
    assert finding.clusters == ()
    assert finding.evidence == (
        f"{100 * share:.3g} % of the values are missing, in 1 of 3 features and "
        f"{100 * touched:.3g} % of the rows: 1 {100 * touched:.3g} %."
    )


def test_a_feature_that_one_group_lacks_is_a_warning_that_names_both():
    _, rows, second = two_groups()
    rows[second & (np.arange(200) % 10 != 1), 2] = np.nan
    finding, model = finding_of(rows)
    group = int(model.predict(rows[1:2])[0])
    assert finding.severity == "warning"
    assert finding.clusters == (group,)
    assert finding.features == (2,)
    assert f"2 in cluster {group} (80 %, elsewhere 0 %)" in finding.evidence
    assert "1 if missing" in finding.advice


def test_weights_count_as_repeated_rows():
    rng, rows, _ = two_groups(60)
    rows[rng.random(60) < 0.3, 0] = np.nan
    times = rng.integers(1, 4, 60)
    start = np.array([[0.0] * 3, [20.0] * 3])
    one, _ = finding_of(rows, times, init=start, n_init=1)
    other, _ = finding_of(np.repeat(rows, times, axis=0), init=start, n_init=1)
    assert one.evidence == other.evidence


def test_a_feature_that_is_missing_in_most_rows_is_a_warning():
    rng, rows, _ = two_groups()
    rows[rng.random(200) < 0.7, 1] = np.nan
    assert finding_of(rows)[0].severity == "warning"


def test_small_groups_prove_nothing():
    _, rows, _ = two_groups(12)
    rows[[1, 3], 2] = np.nan  # 2 of 6, and 0 of 6
    assert finding_of(rows)[0].severity == "note"


def test_whole_rows_have_no_such_finding():
    _, rows, _ = two_groups()
    assert finding_of(rows)[0] is None
    diagnosis = diagnose(KMeans(2, random_state=0).fit(rows), rows)
    assert "missing-values" in diagnosis.looked


def test_filled_values_of_a_report_are_told_too():
    pytest.importorskip("jinja2")
    from partita.report import Fitted, summarise

    rng, original, _ = two_groups()
    original[rng.random(200) < 0.3, 1] = np.nan
    filled = np.where(np.isnan(original), np.nanmedian(original, axis=0), original)
    summary = summarise(Fitted(KMeans(2, random_state=0).fit(filled), filled, original))
    assert "missing-values" in {finding["name"] for finding in summary.findings}
