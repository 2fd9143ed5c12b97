"""`choose_k` and `fit_several_starts` of pipelines: the steps are fitted once, then the model."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans as Peer
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler

from partita import KernelKMeans, KMeans, KMedoids, choose_k, load, save, to_sklearn
from partita.estimators.fitted_models import unwrap_pipeline
from partita.report.report_input import Fitted, check_input
from partita.several_starts import fit_several_starts

ROWS = make_blobs(80, 3, centers=4, random_state=3)[0] * (1.0, 1000.0, 0.1)
GAPS = np.where(np.arange(240).reshape(80, 3) % 17 == 0, np.nan, ROWS)
WEIGHT = 1.0 + np.arange(80) % 3
FEW = {"n_references": 2, "n_splits": 1, "random_state": 0}
COLUMNS = ColumnTransformer([("a", StandardScaler(), [2, 0]), ("b", RobustScaler(), [1])])
STEPS = {
    "scaler": (StandardScaler(),),
    "imputer": (SimpleImputer(), StandardScaler()),
    "columns": (COLUMNS,),
    "passing": ("passthrough", StandardScaler()),
    "nested": (make_pipeline(SimpleImputer(), RobustScaler()),),
    "none": (),
}


def line(*steps):
    return Pipeline([(f"step{i}", step) for i, step in enumerate(steps)])


def table_of(sweep):
    return {name: np.array(column).tobytes() for name, column in sweep.to_dict().items()}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_a_sweep_is_that_of_the_rows_that_the_steps_give(steps):
    rows = clone(line(*steps)).fit_transform(GAPS) if steps else ROWS
    X = GAPS if steps and np.isfinite(rows).all() else ROWS
    rows = clone(line(*steps)).fit_transform(X) if steps else X
    pipeline = line(*steps, KMeans())
    sweep = choose_k(X, "2:5", estimator=pipeline, sample_weight=WEIGHT, **FEW)
    alone = choose_k(rows, "2:5", estimator=KMeans(), sample_weight=WEIGHT, **FEW)
    assert table_of(sweep) == table_of(alone)
    assert sweep.verdict == alone.verdict
    model = sweep.model(4)
    assert [name for name, _ in model.steps] == [name for name, _ in pipeline.steps]
    np.testing.assert_array_equal(model.predict(X), alone.model(4).predict(rows))
    assert sweep.is_own(model)
    assert not hasattr(pipeline, "n_features_in_")  # which stays unfitted


def test_pipelines_in_pipelines_end_in_the_model():
    pipeline = make_pipeline(StandardScaler(), make_pipeline(RobustScaler(), KMeans()))
    sweep = choose_k(ROWS, 4, estimator=pipeline, criteria="inertia", random_state=0)
    rows = RobustScaler().fit_transform(StandardScaler().fit_transform(ROWS))
    model, seen, _ = unwrap_pipeline(sweep.model(3), ROWS)
    np.testing.assert_array_equal(seen, rows)
    assert isinstance(model, KMeans)
    assert model.n_clusters == 3


@pytest.mark.parametrize("last", [KMedoids(), KernelKMeans(), Peer(n_init=1)])
def test_every_clusterer_may_end_the_pipeline(last):
    pipeline = make_pipeline(StandardScaler(), last)
    sweep = choose_k(ROWS, 4, estimator=pipeline, criteria="silhouette", random_state=0)
    model = sweep.model(4)
    assert len(set(model.predict(ROWS).tolist())) == 4
    np.testing.assert_array_equal(model.predict(ROWS), model[-1].labels_)


def test_reasons_name_the_features_of_the_steps():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS, columns=["height", "income", "age"])
    pipeline = make_pipeline(SimpleImputer(), KMeans())
    sweep = choose_k(frame, 4, estimator=pipeline, criteria="inertia", random_state=0)
    assert any("income" in reason for reason in sweep.reasons)
    own = choose_k(
        frame,
        4,
        estimator=pipeline,
        criteria="inertia",
        random_state=0,
        feature_names=["u", "pay", "w"],
    )
    assert any("pay" in reason for reason in own.reasons)
    assert sweep.model(4).feature_names_in_.tolist() == ["height", "income", "age"]
    assert check_input(Fitted(sweep.model(4), frame, sweep=sweep)).started_in_sweep


def test_a_pipeline_without_a_clusterer_is_refused_before_its_steps_are_fitted():
    broken = FunctionTransformer(lambda X: 1 / 0)
    for last in (StandardScaler(), KMeans(init=np.zeros((3, 3)))):
        with pytest.raises(ValueError, match=r"`(estimator|init)` must be"):
            choose_k(ROWS, estimator=make_pipeline(broken, last))


def test_models_of_a_sweep_are_saved_pickled_and_exported(tmp_path):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), KMeans())
    model = choose_k(GAPS, 4, estimator=pipeline, criteria="inertia", random_state=0).model(4)
    save(model, tmp_path / "a", fitted_to=GAPS)
    others = load(tmp_path / "a"), pickle.loads(pickle.dumps(model)), to_sklearn(model)
    for other in others:
        np.testing.assert_array_equal(other.predict(GAPS), model.predict(GAPS))
    assert isinstance(others[2][-1], Peer)
    assert others[2][0] is model[0]


@pytest.mark.parametrize("last", [KMeans(4, random_state=0), KernelKMeans(4, random_state=0)])
def test_several_starts_of_a_pipeline_are_those_of_its_model(last):
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), last)
    rows = pipeline[:-1].fit_transform(GAPS)
    found, alone = fit_several_starts(pipeline, GAPS), fit_several_starts(last, rows)
    np.testing.assert_array_equal(found.predict(GAPS), alone.predict(rows))
    assert found[-1].inertia_ == alone.inertia_
    again = fit_several_starts(pipeline, GAPS, first=found)
    assert again[-1].inertia_ <= found[-1].inertia_
