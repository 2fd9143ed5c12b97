"""New rows beside those of the fit: strangers, shares, means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.saved_models import CASES, fitted
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import (
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    compare_with_fit,
    load,
    save,
)
from partita.estimators.fitted_models import without_feature_names
from partita.new_rows.own_distances import own_distances
from partita.tables import Scaling

CENTERS = np.array([[0.0, 0.0, 5.0], [9.0, 9.0, 5.0], [0.0, 9.0, 20.0]])
FAR = np.array([[60.0, -50.0, 5.0], [-40.0, 0.0, -70.0]])


def draw(rng, n=300, share=(1, 1, 1)):
    labels = rng.choice(3, n, p=np.array(share) / sum(share))
    return CENTERS[labels] + rng.normal(size=(n, 3))


@pytest.fixture(scope="module")
def rows():
    return draw(np.random.default_rng(0))


MODELS = {
    "kmeans": KMeans(3, random_state=0),
    "mini-batch": MiniBatchKMeans(3, random_state=0),
    "medoids": KMedoids(3, random_state=0),
    "medoids manhattan": KMedoids(3, metric="manhattan", random_state=0),
    "kernel": KernelKMeans(3, kernel="linear", random_state=0),
    "kernel rbf": KernelKMeans(3, gamma=0.05, random_state=0),
    "scikit-learn": SklearnKMeans(3, n_init=3, random_state=0),
}


def test_a_row_beside_many_equal_rows_is_no_stranger():
    spread = CENTERS[1] + np.random.default_rng(0).normal(size=(50, 3))
    rows = np.vstack([np.tile(CENTERS[0], (200, 1)), spread])
    model = KMeans(2, random_state=0).fit(rows)
    new = compare_with_fit(model, np.vstack([CENTERS[0] + 1e-9, FAR]), fitted_to=rows)
    assert set(new.strangers.tolist()) == {1, 2}
    old = replace(new, reference=replace(new.reference, reach=np.zeros(2)))  # of an older file
    assert old.strangers.tolist() == [1, 2]


@pytest.mark.parametrize("unit", [1e-300, 1e-170, 1e160, 1e300])
def test_rows_of_any_magnitude_are_compared_and_saved(rows, tmp_path, unit):
    model = KMeans(3, random_state=0).fit(rows * unit)
    save(model, tmp_path / "m.partita", fitted_to=rows * unit)
    reference = load(tmp_path / "m.partita").saved_.reference
    plain = compare_with_fit(KMeans(3, random_state=0).fit(rows), FAR, fitted_to=rows).reference
    assert reference.reach / unit == pytest.approx(plain.reach)


@pytest.mark.parametrize("name", MODELS)
def test_rows_like_those_of_the_fit_are_no_strangers_and_others_are(rows, name):
    model = MODELS[name].fit(rows)
    fresh = draw(np.random.default_rng(1), 500)
    new = compare_with_fit(model, np.vstack([fresh, FAR]), fitted_to=rows)
    assert np.mean(new.is_stranger[:-2]) <= 0.01
    assert new.is_stranger[-2:].all()
    assert set(new.strangers[:2].tolist()) == {500, 501}
    assert not new.share_drift
    assert not new.mean_drift
    assert np.array_equal(new.labels, model.predict(np.vstack([fresh, FAR])))


def test_directions_have_strangers_too():
    rng = np.random.default_rng(0)
    around = np.eye(3).repeat(100, axis=0)
    model = SphericalKMeans(3, random_state=0).fit(rows := around + 0.1 * rng.normal(size=(300, 3)))
    fresh = 7 * (around + 0.1 * rng.normal(size=(300, 3)))
    new = compare_with_fit(model, np.vstack([fresh, [[-1, -1, -1], [1, 1, 0]]]), fitted_to=rows)
    assert np.mean(new.is_stranger[:-2]) <= 0.01
    assert new.is_stranger[-2:].all()


# of those left out, the squares of "huge" rows overflow in transform, others take a matrix
MEASURING = [
    name for name in CASES if name not in ("kmeans huge", "kernel cut", "kernel precomputed")
]


@pytest.mark.parametrize("case", MEASURING)
def test_distances_are_those_that_transform_measures(case):
    model, make = fitted(case), CASES[case][1]
    X = make(np.abs(np.random.default_rng(5).normal(5.0, 6.0, (20, 3))))
    expected = np.asarray(model.transform(X), dtype=np.float64)
    labels = np.asarray(model.predict(X))
    known = (labels >= 0) & (labels < expected.shape[1])
    X = X.to_numpy() if hasattr(X, "columns") else X
    distance = own_distances(without_feature_names(model), X, labels)
    assert np.isnan(distance[~known]).all()
    own = expected[known, labels[known]]
    assert distance[known] == pytest.approx(own, rel=1e-6, abs=1e-9 * np.abs(own).max())


def test_rows_without_the_scaling_of_the_fit_are_strangers(rows):
    raw = rows * [1.0, 100.0, 0.01] + [40.0, 0.0, 3.0]
    scaled = StandardScaler().fit(raw)
    model = KMeans(3, random_state=0).fit(scaled.transform(raw))
    assert not compare_with_fit(
        model, scaled.transform(raw), fitted_to=scaled.transform(raw)
    ).strangers.size
    new = compare_with_fit(model, raw, fitted_to=scaled.transform(raw))
    assert new.is_stranger.all()
    assert "in the units of the fit" in str(new)
    assert "feature 1 is " in str(new)  # and where they differ
    assert ", in the fit 0)" in str(new)  # not 1.2e-16


def test_drift_of_shares_and_means_is_found(rows):
    model = KMeans(3, random_state=0).fit(rows)
    new = compare_with_fit(model, draw(np.random.default_rng(2), 300, (6, 1, 1)), fitted_to=rows)
    (first, *_), (feature, *_) = new.share_drift, new.mean_drift
    assert first.cluster == model.predict(CENTERS[:1])[0]
    assert first.share == pytest.approx(0.75, abs=0.08)
    assert first.fit_share == pytest.approx(1 / 3, abs=0.08)
    assert feature.deviations < -0.5
    assert new.strangers.size == 0
    assert "Shares differ from the fit: cluster" in str(new)
    assert "Means differ from the fit: feature" in str(new)


def test_without_drift_there_is_hardly_ever_a_remark():
    remarks = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        model = KMeans(3, random_state=0).fit(X := draw(rng))
        new = compare_with_fit(model, draw(rng), fitted_to=X)
        remarks += bool(new.share_drift or new.mean_drift)
    assert remarks <= 1


def test_rare_values_are_no_drift():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = np.column_stack([draw(rng, 2000), rng.random((2000, 10)) < 0.002])
        model = KMeans(3, random_state=0).fit(rows[:1000])
        assert not compare_with_fit(model, rows[1000:], fitted_to=rows[:1000]).mean_drift


def test_means_withstand_strangers(rows):
    model = KMeans(3, random_state=0).fit(rows)
    new = compare_with_fit(model, np.vstack([rows, np.full((3, 3), 1e6)]), fitted_to=rows)
    assert new.strangers.tolist() == [300, 301, 302]
    assert not new.mean_drift


@pytest.mark.parametrize("kind", ["array", "frame", "sparse", "float32", "integers"])
def test_rows_are_taken_as_by_predict(rows, kind):
    make = {
        "array": np.asarray,
        "frame": lambda X: pd.DataFrame(X, columns=list("abc")),
        "sparse": sp.csr_array,
        "float32": lambda X: X.astype(np.float32),
        "integers": lambda X: (100 * X).astype(int),
    }[kind]
    model = KMeans(3, random_state=0).fit(make(rows))
    new = compare_with_fit(model, make(np.vstack([rows, FAR])), fitted_to=make(rows))
    assert new.strangers.tolist()[:2] in ([300, 301], [301, 300])
    assert new.mean == pytest.approx(make(rows).mean(axis=0), rel=1e-5)


def test_a_saved_model_knows_the_rows_of_its_fit(rows, tmp_path):
    model = KMeans(3, random_state=0).fit(rows)
    save(model, tmp_path / "a.partita", fitted_to=rows)
    new, again = np.vstack([rows, FAR]), load(tmp_path / "a.partita")
    one, other = compare_with_fit(model, new, fitted_to=rows), compare_with_fit(again, new)
    for name in ("labels", "distance", "is_stranger", "share", "mean"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    for name in ("reach", "share", "mean", "deviation", "rows"):
        assert np.array_equal(getattr(one.reference, name), getattr(other.reference, name))
    save(again, tmp_path / "b.partita")
    assert np.array_equal(load(tmp_path / "b.partita").saved_.reference.reach, one.reference.reach)
    again.fit(new)
    with pytest.raises(ValueError, match="`fitted_to` must be the rows of the fit"):
        compare_with_fit(again, new)


def test_limits_of_the_scaling_do_not_hide_a_stranger(rows, tmp_path):
    limits = {"low": rows.min(axis=0) - 1, "high": rows.max(axis=0) + 1}
    none, zero = np.zeros(3, bool), np.zeros(3)
    scaling = Scaling("auto", rows.mean(axis=0), rows.std(axis=0), none, zero, **limits)
    model = KMeans(3, random_state=0).fit(scaling.apply(rows))
    save(model, tmp_path / "a.partita", scaling=scaling, fitted_to=scaling.apply(rows))
    new = compare_with_fit(load(tmp_path / "a.partita"), np.vstack([rows, FAR]))
    assert sorted(new.strangers.tolist()) == [300, 301]


def test_rows_with_too_few_values_count_nowhere(rows, tmp_path):
    scaling = Scaling.fit(rows, "standard")
    model = KMeans(3, random_state=0).fit(scaling.apply(rows))
    parts = {"scaling": scaling, "fill": rows.mean(axis=0), "plan": {"missing": "auto"}}
    save(model, tmp_path / "a.partita", fitted_to=scaling.apply(rows), **parts)
    gaps = np.full((200, 3), np.nan)
    new = compare_with_fit(load(tmp_path / "a.partita"), np.vstack([rows, gaps]))
    assert (new.labels[-200:] == -1).all()
    assert np.isnan(new.distance[-200:]).all()
    assert not new.is_stranger.any()
    assert not new.share_drift
    assert not new.mean_drift


def test_a_pipeline_is_compared_in_the_units_of_its_last_step(rows):
    pipeline = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(rows)
    new = compare_with_fit(pipeline, np.vstack([rows, FAR]), fitted_to=rows)
    assert sorted(new.strangers.tolist()) == [300, 301]


def test_texts_name_the_features(rows, tmp_path):
    frame = pd.DataFrame(rows, columns=["age", "income", "years"])
    step = np.array([0, 0, 9])
    later = frame + step
    model, path = KMeans(3, random_state=0).fit(frame), tmp_path / "m.partita"
    save(model, path, fitted_to=frame)
    scaled = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(frame)
    for fit, words in (
        (model, {"fitted_to": frame}),
        (scaled, {"fitted_to": frame}),
        (load(path), {}),
    ):
        assert "Means differ from the fit: years is 1." in str(
            compare_with_fit(fit, later, **words)
        )
    unnamed = KMeans(3, random_state=0).fit(rows)
    assert "feature 2 is 1." in str(compare_with_fit(unnamed, rows + step, fitted_to=rows))


def test_weights_without_the_rows_that_they_weigh_are_refused(rows, tmp_path):
    save(KMeans(3, random_state=0).fit(rows), tmp_path / "m.partita", fitted_to=rows)
    with pytest.raises(ValueError, match="`sample_weight` must come with `fitted_to`"):
        compare_with_fit(load(tmp_path / "m.partita"), rows, sample_weight=np.ones(len(rows)))


def test_weights_of_zero_do_not_count(rows):
    model = KMeans(3, random_state=0).fit(rows)
    both = np.vstack([rows, np.full((100, 3), 1e5)])
    weight = np.repeat([1.0, 0.0], [len(rows), 100])
    new = compare_with_fit(model, rows, fitted_to=both, sample_weight=weight)
    alone = compare_with_fit(model, rows, fitted_to=rows)
    assert np.array_equal(new.reference.reach, alone.reference.reach)
    assert new.reference.share == pytest.approx(alone.reference.share)


def test_models_of_a_matrix_say_that_they_measure_no_new_rows(rows):
    model = KernelKMeans(3, kernel="precomputed", random_state=0).fit(rows @ rows.T)
    with pytest.raises(ValueError, match="does not measure distances of new rows"):
        compare_with_fit(model, rows @ rows.T, fitted_to=rows @ rows.T)


def test_texts_name_the_groups(rows, tmp_path):
    model = KMeans(3, random_state=0).fit(rows)
    new = compare_with_fit(model, draw(np.random.default_rng(2), 300, (6, 1, 1)), fitted_to=rows)
    largest = new.share_drift[0].cluster
    names = tuple("loyal" if j == largest else None for j in range(3))
    assert f"fit: cluster {largest} has" in str(new)
    text = str(replace(new, group_names=names))
    assert f"fit: group {largest} (loyal) has" in text
    assert "cluster" not in text.split("Means")[0]
    save(model, tmp_path / "m.partita", fitted_to=rows, group_names=names)
    loaded = compare_with_fit(load(tmp_path / "m.partita"), rows)
    assert loaded.group_names == names


def test_hostile_names_of_groups_are_one_short_line(rows):
    model = KMeans(3, random_state=0).fit(rows)
    new = compare_with_fit(model, draw(np.random.default_rng(2), 300, (6, 1, 1)), fitted_to=rows)
    text = str(replace(new, group_names=["a\n\x1b[31m" + "x" * 1000] * 3))
    assert "\x1b" not in text
    assert len(text.splitlines()) == 2
    assert len(text) < 1000
