"""The arguments of `choose_k`: seeds, the default range, and estimators in the wrong place."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, choose_k
from partita._common.cluster_numbers import numbers_to_try

ROWS = make_blobs(80, 3, centers=4, random_state=3)[0]
PIPELINE = make_pipeline(StandardScaler(), KMeans())
FEW = {"n_references": 2, "n_splits": 1}


def table_of(sweep):
    return {name: np.array(column).tobytes() for name, column in sweep.to_dict().items()}


@pytest.mark.parametrize("seed", [0, np.int64(7)])
def test_the_seed_is_also_that_of_an_estimator_without_one(seed):
    sweeps = [
        choose_k(ROWS, 6, random_state=seed, **FEW),
        choose_k(ROWS, 6, random_state=seed, estimator=KMeans(), **FEW),
        choose_k(ROWS, 6, random_state=seed, estimator=KMeans(random_state=int(seed)), **FEW),
    ]
    assert table_of(sweeps[0]) == table_of(sweeps[1]) == table_of(sweeps[2])
    assert sweeps[0].reasons == sweeps[1].reasons == sweeps[2].reasons
    models = [sweep.model(4) for sweep in sweeps]
    assert {model.random_state for model in models} == {int(seed)}
    for model in models[1:]:
        np.testing.assert_array_equal(model.cluster_centers_, models[0].cluster_centers_)


def test_auto_is_the_default_range():
    auto, default = (choose_k(ROWS, ks, random_state=0, **FEW) for ks in ("auto", None))
    assert auto.ks == default.ks == tuple(range(2, 11))
    assert table_of(auto) == table_of(default)


@pytest.mark.parametrize(
    "ks", ["2:5", " 2 : 5", 5, [5, 3, 2, 4, 4], np.arange(2, 6), {2, 3, 4, 5}, iter((2, 3, 4, 5))]
)
def test_numbers_are_the_same_in_every_form(ks):
    assert numbers_to_try("ks", ks, rows=len(ROWS)) == tuple(range(2, 6))


def test_a_text_of_numbers_is_the_range():
    assert choose_k(ROWS, "2:4", random_state=0, **FEW).ks == (2, 3, 4)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((PIPELINE, ROWS), "Pass the rows first: choose_k(pipeline[:-1].fit_transform(X), "),
        ((ROWS, PIPELINE), "Name the argument: choose_k(pipeline[:-1].fit_transform(X), "),
        ((KMedoids(3), ROWS), "Pass the rows first: choose_k(X, estimator=KMedoids())."),
        ((KMeans, ROWS), "Pass the rows first: choose_k(X, estimator=KMeans())."),
        ((ROWS, KMedoids(3)), "Name the argument: choose_k(X, estimator=KMedoids())."),
        ((ROWS, "2 8"), "`ks` must be numbers of clusters: a range, a list, a text such as '2:20'"),
    ],
)
def test_an_argument_in_the_wrong_place_is_named(arguments, text):
    with pytest.raises((TypeError, ValueError)) as error:
        choose_k(*arguments)
    assert text in str(error.value)


def test_the_advice_on_pipelines_works():
    with pytest.raises(
        ValueError, match="`estimator` must be a clusterer, got a Pipeline"
    ) as error:
        choose_k(ROWS, estimator=PIPELINE)
    advice = str(error.value).partition("rows first: ")[2].rstrip(".")
    advice = advice.replace("estimator=pipeline[-1]", "ks=4, estimator=pipeline[-1]")
    names = {"choose_k": choose_k, "pipeline": PIPELINE, "X": ROWS}
    assert eval(advice, names).ks == (2, 3, 4)


@pytest.mark.parametrize(
    "member", [KMeans, MiniBatchKMeans, SphericalKMeans, KernelKMeans, KMedoids]
)
@pytest.mark.parametrize("number", ["auto", None, range(2, 5)])
def test_a_number_that_is_to_be_chosen_leads_to_choose_k(member, number):
    with pytest.raises(ValueError, match=r"must be an integer >= 1, got .*choose_k\(X\)"):
        member(number).fit(ROWS)
