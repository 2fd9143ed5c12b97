"""A model that was saved and loaded is the model: the same bits, whatever it is asked."""

from __future__ import annotations

import copy
import io
import json
import pickle
import re
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers.paths import ROOT
from helpers.saved_models import CASES, FRAME, NEW, ROWS, WEIGHT, fitted, frame, same
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import partita
from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, load, save
from partita.halting import Deadline, RelDecrease, When
from partita.model_file import ModelFileError, fingerprint, read_header
from partita.tables.scaling import Scaling

DOCUMENT = ROOT / "docs" / "model_file.md"


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
    if getattr(model, "cluster_centers_", None) is not None:
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


def test_what_comes_with_a_model_comes_back(tmp_path):
    scaling = Scaling.fit(ROWS, "robust")
    told = {"note": "partita fit a.csv", "fingerprint": fingerprint(ROWS, WEIGHT)}
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    fill, names = np.array([1.0, 2.0, 3.0]), ["a", "b\x00", "\ud800"]
    save(model, tmp_path / "a.partita", scaling=scaling, fill=fill, names=names, **told)
    saved = load(tmp_path / "a.partita").saved_
    assert same(saved.scaling, scaling)
    assert same(saved.fill, fill)
    assert saved.names == tuple(names)
    assert (saved.note, saved.fingerprint) == (told["note"], told["fingerprint"])
    assert saved.versions["partita"] == partita.__version__
    assert saved.versions["numpy"] == np.__version__
    assert saved.parameters == model.get_params()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", saved.created)


MAKERS = {"pandas": lambda frame: frame, "polars": pl.DataFrame, "pyarrow": pa.table}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_model_with_a_scaling_takes_rows_in_the_units_of_the_data(tmp_path, kind):
    scaling, names = Scaling.fit(ROWS, "standard"), ["a", "b", "c"]
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    fill = ROWS.mean(axis=0)
    save(model, tmp_path / "a.partita", scaling=scaling, fill=fill, names=names)
    again = load(tmp_path / "a.partita")
    assert same(again.predict(ROWS), model.labels_)
    assert same(again[-1].cluster_centers_, model.cluster_centers_)
    assert same(
        again[0].inverse_transform(model.cluster_centers_), scaling.undo(model.cluster_centers_)
    )
    table = pd.DataFrame({"c": ROWS[:, 2], "more": "text", "a": ROWS[:, 0], "b": ROWS[:, 1]})
    assert same(again.predict(MAKERS[kind](table)), model.labels_)
    holes = ROWS.copy()
    holes[4, 1] = np.nan
    filled = np.where(np.isnan(holes), fill, holes)
    assert same(again.predict(holes), model.predict(scaling.apply(filled)))
    with pytest.raises(ValueError, match=r"X lacks 'b', 'c' of the 3 columns"):
        again.predict(pd.DataFrame({"a": [1.0]}))
    with pytest.raises(ValueError, match="X has 2 features, but the model was fitted to 3: 'a'"):
        again.predict(ROWS[:, :2])
    assert str(partita.diagnose(again, ROWS)).startswith(
        str(partita.diagnose(model, scaling.apply(ROWS)))[:20]
    )


def test_what_was_loaded_is_saved_whole(tmp_path):
    told = {"names": ["a", "b", "c"], "note": "made by hand", "fingerprint": "x:1"}
    scaling = Scaling.fit(ROWS, "robust")
    save(
        KMeans(3, random_state=0).fit(scaling.apply(ROWS)), tmp_path / "a", scaling=scaling, **told
    )
    again = load(tmp_path / "a")
    for number, model in enumerate((again, again[-1])):
        save(model, tmp_path / str(number))
        saved = load(tmp_path / str(number)).saved_
        assert (saved.names, saved.note, saved.fingerprint) == (
            ("a", "b", "c"),
            "made by hand",
            "x:1",
        )
        assert same(saved.scaling, scaling)
    again.fit(ROWS * 2)  # another fit: what was said of the first is not true of it
    save(again, tmp_path / "b")
    saved = load(tmp_path / "b").saved_
    assert (saved.note, saved.fingerprint) == (None, None)
    assert same(saved.scaling, scaling)


def test_a_pipeline_that_was_loaded_is_a_pipeline(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    scaling = Scaling.fit(ROWS, "standard")
    scaled = pd.DataFrame(scaling.apply(ROWS), columns=["a", "b", "c"])
    model = KMeans(3, random_state=0).fit(scaled)
    labels = model.labels_
    save(model, tmp_path / "a", scaling=scaling)  # the names are those of the frame
    again = load(tmp_path / "a")
    assert again.n_features_in_ == 3
    assert again[:-1].get_feature_names_out().tolist() == ["a", "b", "c"]
    for other in (again, copy.deepcopy(again), pickle.loads(pickle.dumps(again))):
        assert same(other.predict(frame[["c", "a", "b"]]), labels)  # and no warning
    twice = pd.concat([frame, frame[["a"]].rename(columns={"a": "x"})] * 2, axis=1)
    twice.columns = ["a", "b", "c", "x", "x", "y", "z", "x"]
    assert same(again.predict(twice), labels)
    assert same(again.predict(pa.RecordBatch.from_pandas(frame[["b", "c", "a"]])), labels)
    again.set_params(prepare__scaling=None)
    save(again, tmp_path / "b")
    assert load(tmp_path / "b").saved_.scaling is None
    with pytest.raises(ModelFileError, match="a name twice"):
        save(model, tmp_path / "c", names=["a", "a", "b"])


@pytest.mark.parametrize("V", [[1.0, 2.0, 3.0], [1, 2, 3], np.array([1, 2, 3])], ids=repr)
def test_parameters_of_a_metric_may_be_lists(V, tmp_path):
    model = KMedoids(3, metric="seuclidean", metric_params={"V": V}, random_state=0).fit(ROWS)
    save(model, tmp_path / "a")
    assert same(load(tmp_path / "a").predict(ROWS), model.labels_)


def test_a_model_knows_the_names_of_its_columns(tmp_path):
    save(KMeans(3, random_state=0).fit(ROWS), tmp_path / "a", names=["a", "b", "c"])
    again = load(tmp_path / "a")
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    assert same(again.predict(table), again.labels_)
    with pytest.raises(ValueError, match="feature names should match"):
        again.predict(table[["c", "a", "b"]])


def test_labels_are_left_out_if_that_is_asked_for(tmp_path):
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita", labels=False)
    again = load(tmp_path / "a.partita")
    assert not hasattr(again, "labels_")
    assert same(again.predict(ROWS), model.labels_)


def test_the_same_model_gives_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    halt = When(lambda trace: False)  # its repr has an address
    model = KMeans(3, random_state=0, halt=halt).fit(ROWS)
    save(model, tmp_path / "a.partita")
    save(copy.deepcopy(model), tmp_path / "b.partita")
    assert (tmp_path / "a.partita").read_bytes() == (tmp_path / "b.partita").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.partita") as file:
        assert {entry.date_time[0] for entry in file.infolist()} == {1980}
    assert read_header(tmp_path / "a.partita")["created"] == "2023-11-14T22:13:20Z"


def test_a_file_that_exists_is_kept_without_force(tmp_path):
    path = tmp_path / "a.partita"
    model = KMeans(3, random_state=0).fit(ROWS)
    path.write_text("mine")
    with pytest.raises(FileExistsError, match=r"a\.partita already exists"):
        save(model, path)
    assert path.read_text() == "mine"
    save(model, path, force=True)
    assert same(load(path).labels_, model.labels_)


# --- what a file cannot hold ----------------------------------------------------------------------


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
    for model in (Other(2).fit(ROWS), Mine(2).fit(ROWS), make_pipeline(KMeans(2)), "text", KMeans):
        with pytest.raises(TypeError, match=r"must be a fitted KMeans"):
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
    with pytest.raises(ModelFileError, match="cannot be saved"):
        save(KMeans(3, random_state=0).fit(ROWS), tmp_path / "a.partita", **told)
    assert list(tmp_path.iterdir()) == []


# --- the format -----------------------------------------------------------------------------------


def test_the_file_is_read_by_zipfile_json_and_numpy_alone(tmp_path):
    """As docs/model_file.md says."""
    scaling = Scaling.fit(ROWS, "standard")
    model = KMeans(3, random_state=0).fit(scaling.apply(ROWS))
    save(model, tmp_path / "a.partita", scaling=scaling)
    code = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S)[0]
    found = {}
    exec(compile(code, "model_file.md", "exec"), found)
    assert found["predict"](tmp_path / "a.partita", ROWS).tolist() == model.labels_.tolist()
    assert "partita" not in re.findall(r"^(?:import|from) (\w+)", code, re.M)


def test_numpy_reads_the_arrays(tmp_path):
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, tmp_path / "a.partita")
    with np.load(tmp_path / "a.partita", allow_pickle=False) as arrays:
        assert same(arrays["cluster_centers"], model.cluster_centers_)
        assert same(arrays["stats.sse"], model.stats_.sse)


def test_every_field_and_array_is_documented(tmp_path):
    text = DOCUMENT.read_text()
    for number, case in enumerate(CASES):
        path = tmp_path / f"{number}.partita"
        save(fitted(case), path)
        header = read_header(path)
        with zipfile.ZipFile(path) as file:
            arrays = [name.removesuffix(".npy") for name in file.namelist()[1:]]
        for name in (*header, *header["fitted"], *arrays):
            assert f"`{name}`" in text or name.startswith("parameters."), name


def test_the_header_is_strict_json_and_comes_first(tmp_path):
    def refuse(constant):
        raise AssertionError(constant)

    save(CASES["kmeans huge"][0](), tmp_path / "a.partita")
    with zipfile.ZipFile(tmp_path / "a.partita") as file:
        assert file.namelist()[0] == "header.json"
        header = json.loads(file.read("header.json"), parse_constant=refuse)
    assert header == read_header(tmp_path / "a.partita")


def test_fields_of_later_versions_are_kept_and_ignored(tmp_path):
    path = tmp_path / "a.partita"
    model = KMeans(3, random_state=0).fit(ROWS)
    save(model, path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    header = json.loads(members["header.json"])
    header["certificate"] = {"gap": 0.1}
    header["extra"]["checkpoint"] = [1, 2]
    header["fitted"]["quality"] = {"$later": 1}
    header["parameters"]["quality"] = {"$later": 1}
    members["header.json"] = json.dumps(header).encode()
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    members["later.npy"] = buffer.getvalue()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    again = load(path)
    assert again.saved_.extra == {"certificate": {"gap": 0.1}, "checkpoint": [1, 2]}
    assert same(again.predict(NEW), model.predict(NEW))


def test_importing_partita_loads_no_model_files():
    code = "import sys, partita; print('partita.model_file' in sys.modules, 'json' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split()[0] == "False"


# --- fingerprints ---------------------------------------------------------------------------------


def test_a_fingerprint_does_not_depend_on_the_container():
    import polars as pl
    import pyarrow as pa

    wanted = fingerprint(ROWS)
    for other in (
        ROWS.tolist(),
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=0)[::2],
        ROWS.astype(">f8"),
        FRAME,
        pd.DataFrame(ROWS).to_numpy().T.copy().T,
        pl.DataFrame(ROWS, schema=["a", "b", "c"]),
        pa.table(dict(zip("abc", ROWS.T, strict=True))),
    ):
        assert fingerprint(other) == wanted
    sparse = sp.csr_array(ROWS)
    wide = sp.csr_array(sparse)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert fingerprint(sparse) == fingerprint(wide) != wanted


def test_a_fingerprint_depends_on_all_that_a_fit_sees():
    changed = ROWS.copy()
    changed[-1, -1] = np.nextafter(changed[-1, -1], 0)
    every = [
        fingerprint(ROWS),
        fingerprint(changed),
        fingerprint(ROWS[::-1]),
        fingerprint(ROWS.astype(np.float32)),
        fingerprint(ROWS.reshape(-1, 1)),
        fingerprint(ROWS.ravel()),
        fingerprint(ROWS, np.ones(len(ROWS))),
        fingerprint(ROWS, WEIGHT),
        fingerprint(sp.csr_array(ROWS)),
        fingerprint(sp.csr_array(ROWS).T.tocsr()),
        fingerprint(ROWS.astype(np.uint8)),
    ]
    assert len(set(every)) == len(every)


def test_a_fingerprint_of_a_triangle_does_not_depend_on_its_layout():
    triangle = ROWS.ravel()
    assert fingerprint(triangle) == fingerprint(triangle.astype(">f8"))
    assert fingerprint(triangle) == fingerprint(np.repeat(triangle, 2)[::2])


def test_a_fingerprint_is_the_same_on_every_machine_and_day():
    assert fingerprint([[1.0, 2.0], [3.0, 4.0]]) == "blake2b-128:46250d82fa2ccc1cbe4b5221d7a1fd71"
