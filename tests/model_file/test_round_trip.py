"""A model that was saved and loaded is the model: every answer has the same bits."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from helpers.saved_models import CASES, FRAME, NEW, ROWS, fitted, frame, same
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import partita
from partita import KMeans, KMedoids, load, save


@pytest.fixture(params=list(CASES))
def case(request, tmp_path):
    """A model, the same from a file, and rows that it can label."""
    model, path = fitted(request.param), tmp_path / "a.partita"
    save(model, path)
    return model, load(path), CASES[request.param][1](NEW)


def test_every_attribute_is_the_same(case):
    model, again, _ = case
    assert type(again) is type(model)
    have = vars(model)
    assert set(vars(again)) == set(have) | {"saved_"}
    for name, value in have.items():
        assert same(value, vars(again)[name]), name


def test_every_answer_has_the_same_bits(case):
    model, again, new = case
    assert same(model.predict(new), again.predict(new))
    assert same(model.soft_membership(new), again.soft_membership(new))
    for method in ("transform", "score", "_costs"):
        if hasattr(model, method):
            assert same(getattr(model, method)(new), getattr(again, method)(new)), method
    centers = getattr(model, "cluster_centers_", None)
    if centers is not None and centers.dtype != object:
        codes = model.soft_membership(new)
        if (codes.sum(axis=1) > 0).all():
            assert same(model.inverse_transform(codes), again.inverse_transform(codes))
    if hasattr(model, "labels_"):
        assert same(model.membership_, again.membership_)


def test_a_loaded_model_can_be_cloned_copied_pickled_and_saved_again(case, tmp_path):
    model, again, new = case
    with pytest.raises(NotFittedError):
        clone(again).predict(new)
    assert not hasattr(clone(again), "saved_")
    for other in (copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        assert same(other.predict(new), model.predict(new))
    save(again, tmp_path / "b.partita")
    assert same(load(tmp_path / "b.partita").predict(new), model.predict(new))


@pytest.mark.parametrize("name", ["kmeans", "minibatch", "spherical", "medoids", "kernel"])
def test_a_loaded_model_can_be_fitted_again(name, tmp_path):
    model = CASES[name][0]()
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita").fit(ROWS[:50])
    assert same(again.labels_, model.fit(ROWS[:50]).labels_)


def test_a_stream_goes_on_as_if_nothing_had_happened(tmp_path):
    model = CASES["minibatch stream"][0]()
    model.reassignment_ratio = 0.9  # so that it draws
    model._rng.spawn(2)
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    for batch in (NEW, ROWS, NEW[::-1]):
        model.partial_fit(batch)
        again.partial_fit(batch)
    assert same(model.cluster_centers_, again.cluster_centers_)
    assert same(model._rng.spawn(1)[0].random(3), again._rng.spawn(1)[0].random(3))


def test_views_of_a_loaded_model_are_those_of_the_model(tmp_path):
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    assert same(partita.merge_tree(model).linkage, partita.merge_tree(again).linkage)
    assert same(partita.cells(model).margins(ROWS), partita.cells(again).margins(ROWS))
    ours, theirs = partita.factorize(model, ROWS), partita.factorize(again, ROWS)
    assert ours.objective == theirs.objective
    assert str(partita.diagnose(model, ROWS)) == str(partita.diagnose(again, ROWS))
    shown = partita.plots.ObjectiveDisplay.from_estimator(again)
    assert same(shown, partita.plots.ObjectiveDisplay.from_estimator(model))


def test_the_output_container_is_kept(tmp_path):
    model = KMeans(3, random_state=0).set_output(transform="pandas").fit(FRAME)
    save(model, tmp_path / "a.partita")
    assert load(tmp_path / "a.partita").transform(frame(NEW)).equals(model.transform(frame(NEW)))


@pytest.mark.parametrize("V", [[1.0, 2.0, 3.0], [1, 2, 3], np.array([1, 2, 3])], ids=repr)
def test_parameters_of_a_metric_may_be_lists(V, tmp_path):
    model = KMedoids(3, metric="seuclidean", metric_params={"V": V}, random_state=0).fit(ROWS)
    save(model, tmp_path / "a")
    assert same(load(tmp_path / "a").predict(ROWS), model.labels_)


def test_labels_are_left_out_if_that_is_asked_for(tmp_path):
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita", labels=False)
    again = load(tmp_path / "a.partita")
    assert not hasattr(again, "labels_")
    assert same(again.predict(ROWS), model.labels_)


def test_a_file_that_exists_is_kept_without_force(tmp_path):
    path = tmp_path / "a.partita"
    model = KMeans(3, random_state=0).fit(ROWS)
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.partita already exists"):
        save(model, path)
    assert path.read_text() == "mine"
    save(model, path, force=True)
    assert same(load(path).labels_, model.labels_)


def test_a_path_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nope\.partita\."):
        load(tmp_path / "nope.partita")
    for call in (load, lambda path: save(KMeans(3, random_state=0).fit(ROWS), path)):
        with pytest.raises(ValueError, match=r"`path` must be a text or a Path, got 3\."):
            call(3)
    (tmp_path / "a.csv").write_text("height,width\n180,75\n178,80\n")
    with pytest.raises(partita.ModelFileError, match=r"not a model file.*`partita fit --model`"):
        load(tmp_path / "a.csv")


def test_the_reason_for_stopping_keeps_its_kinds(tmp_path):
    model = KMeans(3, random_state=0, max_iter=1).fit(ROWS)
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita").stopped_by_
    assert again == model.stopped_by_
    assert again.kinds == model.stopped_by_.kinds == ("max_iter",)
    assert again.is_limit
