"""What a file cannot hold: code is dropped and named, or the model is refused."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.saved_models import NEW, ROWS, same
from sklearn.exceptions import NotFittedError

from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, load, save
from partita.halting import Deadline, RelDecrease
from partita.model_file import ModelFileError
from partita.tables.scaling import Scaling


def farthest(a, b):
    return float(np.abs(a - b).max())


def test_code_that_labels_need_is_refused(tmp_path):
    medoids = KMedoids(2, metric=farthest).fit(ROWS)
    kernel = KernelKMeans(2, kernel=lambda a, b: float(a @ b), random_state=0).fit(ROWS[:20])
    for model, name in ((medoids, "metric"), (kernel, "kernel")):
        with pytest.raises(ModelFileError, match=rf"cannot be saved.*{name}=.*precomputed"):
            save(model, tmp_path / "a.partita")
    assert list(tmp_path.iterdir()) == []


def test_other_code_is_dropped_and_named(tmp_path):
    def start(X, k, random_state):
        return X[:k]

    halt = RelDecrease(1e-3) | Deadline(60)
    model = KMeans(
        3, init=start, n_init=1, halt=halt, callback=print, random_state=np.random.RandomState(0)
    ).fit(ROWS)
    model.mine_ = object()
    save(model, tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    dropped = again.saved_.dropped
    assert set(dropped) == {"init", "halt", "callback", "random_state", "mine_"}
    assert dropped["halt"] == "RelDecrease(0.001) | Deadline(60)"
    assert (again.init, again.halt, again.callback) == ("k-means++", None, None)
    assert same(again.predict(NEW), model.predict(NEW))


def test_a_model_that_lends_its_centers_becomes_these_centers(tmp_path):
    first = KMeans(3, random_state=0).fit(ROWS)
    save(KMeans(3, init=first).fit(ROWS), tmp_path / "a.partita")
    assert same(load(tmp_path / "a.partita").init, first.cluster_centers_)
    medoids = KMedoids(3, random_state=0).fit(ROWS)
    save(KMedoids(3, init=medoids).fit(ROWS), tmp_path / "b.partita")
    assert same(load(tmp_path / "b.partita").init, medoids.medoid_indices_)


def test_a_generator_that_is_not_known_is_dropped(tmp_path):
    rng = np.random.Generator(np.random.MT19937(0))
    save(MiniBatchKMeans(3, random_state=rng).fit(ROWS), tmp_path / "a.partita")
    again = load(tmp_path / "a.partita")
    assert set(again.saved_.dropped) == {"random_state", "generator"}
    again.partial_fit(NEW)


def test_what_is_no_fitted_member_is_refused(tmp_path):
    from sklearn.cluster import KMeans as Other
    from sklearn.pipeline import make_pipeline

    class Mine(KMeans):
        pass

    path = tmp_path / "a.partita"
    for model in (Other(2).fit(ROWS), Mine(2).fit(ROWS), make_pipeline(Other(2)), "text", KMeans):
        with pytest.raises(TypeError, match=r"must be a fitted BalancedKMeans, BisectingKMeans, "):
            save(model, path)
    for unfitted in (KMeans(), MiniBatchKMeans(), SphericalKMeans(), KMedoids(), KernelKMeans()):
        with pytest.raises(NotFittedError):
            save(unfitted, path)
    assert not path.exists()


@pytest.mark.parametrize(
    "told",
    [
        {"names": ["a"]},
        {"fill": [1.0]},
        {"fill": [np.nan] * 3},
        {"scaling": Scaling("standard", np.zeros(2), np.ones(2))},
        {"scaling": Scaling("standard", np.zeros(3), np.zeros(3))},
        {"scaling": Scaling("strange", np.zeros(3), np.ones(3))},
        {"note": 3},
    ],
    ids=str,
)
def test_what_would_not_load_is_not_saved(told, tmp_path):
    with pytest.raises(ValueError, match=r"`.*` must be|cannot be saved"):
        save(KMeans(3, random_state=0).fit(ROWS), tmp_path / "a.partita", **told)
    assert list(tmp_path.iterdir()) == []
