"""The command line computes what the Python interface computes, on every format."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from helpers.cli import pa
from sklearn.datasets import make_blobs

from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans, choose_k, save
from partita.cli.option_values import KERNELS, METRICS
from partita.several_starts import fit_several_starts
from partita.tables import Scaling, read_table, select, write_table

FORMATS = ("csv", "tsv", "parquet", "feather", "npy", "npz")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_labels_and_objective_are_those_of_the_api_on_every_format(
    partita, tmp_path, blobs, kind, dtype
):
    X = blobs.astype(dtype)
    data, out, model = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}", tmp_path / "m.partita"
    write_table(pa.table([X[:, t].copy() for t in range(3)], names=["x", "y", "z"]), data)
    result = json.loads(
        partita(
            "fit", data, "-k", 4, "--raw", "--seed", 3, "--labels", out, "--model", model, "--json"
        )
    )
    rows = select(read_table(data)).X
    expected = fit_several_starts(KMeans(4, random_state=3), rows)
    assert result["summary"]["objective"] == expected.inertia_
    column = -1 if kind == "npy" else "cluster"
    written = read_table(out).data.column(column if kind != "npy" else 3).to_pylist()
    np.testing.assert_array_equal(written, expected.labels_)
    # and predict, from the file, gives them again
    again = json.loads(partita("predict", data, "--model", model, "--json"))
    np.testing.assert_array_equal(again["labels"], expected.labels_)


def _fitted(estimator, X):
    """What `fit` computes: several starts, unless their number was given."""
    several = estimator.n_init == "auto"
    return fit_several_starts(estimator, X) if several else estimator.fit(X)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("words", "estimator"),
    [
        ([], KMeans(3, random_state=0)),
        (["--n-init", 4, "--max-iter", 2], KMeans(3, random_state=0, n_init=4, max_iter=2)),
        (["--method", "mini-batch"], MiniBatchKMeans(3, random_state=0)),
        (["--method", "spherical"], SphericalKMeans(3, random_state=0)),
        (["--method", "medoids", "--metric", "manhattan"],
         KMedoids(3, metric="manhattan", random_state=0)),
        (["--method", "kernel", "--gamma", 0.05], KernelKMeans(3, gamma=0.05, random_state=0)),
        (["--method", "kernel", "--kernel", "nearest_neighbors", "--n-neighbors", 9],
         KernelKMeans(3, kernel="nearest_neighbors", n_neighbors=9, random_state=0)),
    ],
)  # fmt: skip
def test_every_member_of_the_family(partita, tmp_path, file, blobs, words, estimator, clusters_in):
    out, model = tmp_path / "out.csv", tmp_path / "m.partita"
    result = json.loads(
        partita("fit", file, "-k", 3, *words, "--labels", out, "--model", model, "--json")
    )
    estimator = _fitted(estimator, blobs)
    assert result["summary"]["objective"] == estimator.inertia_
    np.testing.assert_array_equal(clusters_in(out), estimator.labels_)
    again = partita("predict", file, "--model", model, "--only-labels")
    np.testing.assert_array_equal(again.split()[1:], estimator.predict(blobs).astype(str))


@pytest.mark.heavy
@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_weights_and_scales_are_those_of_the_api(partita, tmp_path, blobs, scale, clusters_in):
    w = np.arange(len(blobs)) % 4
    data, out, model = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "m.partita"
    write_table(pa.table({"x": blobs[:, 0], "y": blobs[:, 1] * 1e3, "w": w}), data)
    result = json.loads(
        partita("fit", data, "-k", 3, "--weight", "w", "--scale", scale, "--labels", out,
                "--model", model, "--json")
    )  # fmt: skip
    rows = np.column_stack([blobs[:, 0], blobs[:, 1] * 1e3])
    scaling = Scaling.fit(rows, scale, w)
    expected = fit_several_starts(KMeans(3, random_state=0), scaling.apply(rows), w)
    assert result["summary"]["objective"] == expected.inertia_
    np.testing.assert_array_equal(clusters_in(out), expected.labels_)
    again = json.loads(partita("predict", data, "--model", model, "--json"))
    np.testing.assert_array_equal(again["labels"], expected.labels_)


@pytest.mark.heavy
def test_a_choice_of_k_is_that_of_the_api(partita, tmp_path, file, blobs, clusters_in):
    out = tmp_path / "out.csv"
    result = json.loads(partita("fit", file, "--k", "2:6", "--labels", out, "--json"))
    sweep = choose_k(blobs, range(2, 7), estimator=KMeans(random_state=0), random_state=0)
    assert result["sweep"]["best_k"] == sweep.best_k == result["summary"]["n_clusters"]
    np.testing.assert_array_equal(clusters_in(out), sweep.model().labels_)
    alone = json.loads(partita("choose-k", file, "-k", "2:6", "--json"))
    assert alone["sweep"] == result["sweep"]
    assert alone["sweep"]["table"]["k"] == [2, 3, 4, 5, 6]
    said = " ".join(partita("fit", file, "--k", "2:6").split())
    assert "The fit began with the centers that the choice of K found, and stopped after" in said
    text = partita("choose-k", file, "-k", "2:6")
    assert sweep.verdict in text
    assert "<" in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.heavy
def test_predict_finds_columns_by_name_in_any_order(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--scale", "standard", "--model", model)
    expected = json.loads(partita("predict", file, "--model", model, "--json"))["labels"]
    data = read_table(file).data
    write_table(data.select(["z", "who", "x", "y"]), tmp_path / "other.parquet")
    again = json.loads(partita("predict", tmp_path / "other.parquet", "--model", model, "--json"))
    assert again["labels"] == expected
    np.save(tmp_path / "bare.npy", np.column_stack([data[c].to_numpy() for c in "xyz"]))
    bare = json.loads(partita("predict", tmp_path / "bare.npy", "--model", model, "--json"))
    assert bare["labels"] == expected
    write_table(data.select(["who", "x"]), tmp_path / "less.csv")
    output = partita("predict", tmp_path / "less.csv", "--model", model, code=3)
    assert "lacks 'y', 'z'" in output
    assert "less.csv" in output


@pytest.mark.heavy
def test_rows_without_names_are_taken_in_the_order_of_the_file(partita, tmp_path, blobs):
    plain, named = tmp_path / "plain.csv", tmp_path / "named.csv"
    lines = "".join(f"{a!r},{b!r},{c!r}\n" for a, b, c in (blobs * [1, 5, 25]).tolist())
    plain.write_text(lines)
    named.write_text("x,y,z\n" + lines)
    for first, columns in ((plain, "c2,c0,c1"), (named, "z,x,y")):
        model = tmp_path / f"{first.stem}.partita"
        partita("fit", first, "-k", 3, "-c", columns, "--model", model)
        fitted = json.loads(partita("predict", first, "--model", model, "--json"))
        result = json.loads(partita("predict", plain, "--model", model, "--json"))
        assert result["labels"] == fitted["labels"]
        assert len(set(result["labels"])) == 3
    assert "taken to be 'x', 'y', 'z'" in " ".join(result["data"]["notes"])


@pytest.mark.heavy
def test_models_of_python_label_files(partita, tmp_path, file, blobs):
    frame = pd.DataFrame(blobs, columns=["x", "y", "z"])
    for rows in (frame, blobs):
        model = KMeans(3, random_state=0).fit(rows)
        save(model, tmp_path / "m.partita", force=True)
        frame.to_csv(tmp_path / "a.csv", index=False)
        result = json.loads(
            partita("predict", tmp_path / "a.csv", "--model", tmp_path / "m.partita", "--json")
        )
        assert result["labels"] == model.labels_.tolist()
        assert result["warnings"] == []


@pytest.mark.heavy
def test_inspect_says_what_fit_made(partita, tmp_path, file, blobs):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--scale", "standard", "--model", model, "--quiet")
    result = json.loads(partita("inspect", model, "--json"))
    scaling = Scaling.fit(blobs, "standard")
    expected = fit_several_starts(KMeans(3, random_state=0), scaling.apply(blobs))
    assert result["objective"] == expected.inertia_
    assert result["features"] == ["x", "y", "z"]
    assert result["weights"] == expected.stats_.weight.tolist()
    np.testing.assert_allclose(result["centers"], scaling.undo(expected.cluster_centers_))
    assert result["scaling"]["kind"] == "standard"
    assert result["made_by"].startswith("partita fit ")
    text = partita("inspect", model)
    assert "KMeans, 3 clusters" in text
    assert "standard" in text


@pytest.mark.heavy
def test_directions_have_no_units(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "-m", "spherical", "-s", "standard", "--model", model)
    centers = np.array(json.loads(partita("inspect", model, "--json"))["centers"])
    assert np.allclose((centers**2).sum(axis=1), 1)
    assert "direction" in partita("inspect", model)


@pytest.mark.filterwarnings("ignore:The kernel is not positive")
@pytest.mark.parametrize(
    ("option", "name"),
    [("kernel", name) for name in KERNELS] + [("metric", name) for name in METRICS],
)
def test_every_kernel_and_metric_is_that_of_the_api(partita, tmp_path, blobs, option, name):
    rows = np.abs(blobs[:40])
    rows = (rows > 3).astype(float) if name == "jaccard" else rows
    np.save(tmp_path / "a.npy", rows)
    method = "kernel" if option == "kernel" else "medoids"
    words = ("fit", tmp_path / "a.npy", "-k", 2, "--raw", "-m", method, f"--{option}", name)
    words += ("--quality", "fast") if name == "gower" else ()  # a search numbers clusters anew
    partita(*words, "-q", "--only-labels", "--labels", tmp_path / "out.csv")
    estimator = KernelKMeans if option == "kernel" else KMedoids
    expected = estimator(2, random_state=0, **{option: name}).fit(rows).labels_
    written = (tmp_path / "out.csv").read_text().split()[1:]
    assert written == expected.astype(str).tolist()


def test_sparse_medoids_are_inspected(partita, tmp_path):
    rows = sp.random(60, 8, 0.3, format="csr", random_state=0)
    model = KMedoids(3, random_state=0).fit(rows)
    save(model, tmp_path / "m.partita")
    result = json.loads(partita("inspect", tmp_path / "m.partita", "--json"))
    assert np.allclose(result["centers"], model.cluster_centers_.toarray())
    assert "center" in partita("inspect", tmp_path / "m.partita")


def test_a_search_is_made_said_and_kept(partita, tmp_path):
    X, _ = make_blobs(600, 3, centers=20, cluster_std=0.8, random_state=1)
    data, model = tmp_path / "a.csv", tmp_path / "m.partita"
    np.savetxt(data, X, delimiter=",", header="x,y,z", comments="")
    rows = select(read_table(data)).X
    single = KMeans(20, random_state=0).fit(rows)
    words = ("fit", data, "-k", 20, "--model", model, "--force")
    result = json.loads(partita(*words, "--json"))
    assert result["summary"]["starts"] is None
    assert result["summary"]["stopped_by"] == "the search found nothing better"
    assert result["summary"]["objective"] < 0.99 * single.inertia_
    assert "local-minimum" not in {one["name"] for one in result["summary"]["findings"]}
    assert "the search found nothing better" in " ".join(partita(*words).split())
    best = json.loads(partita(*words, "--quality", "best", "--time-budget", 60, "--json"))
    assert best["summary"]["objective"] <= result["summary"]["objective"]
    fast = json.loads(partita(*words, "--quality", "fast", "--json"))
    assert fast["summary"]["objective"] == single.inertia_
    exactly = json.loads(partita(*words, "--n-init", 1, "--json"))
    assert exactly["summary"]["starts"] == 1
    assert exactly["summary"]["objective"] == single.inertia_


@pytest.mark.parametrize("seed", [0, 5])
def test_a_seed_gives_the_sweep_of_the_api(partita, file, blobs, seed):
    words = (file, "-k", "2:6", "--scale", "none", "--seed", seed, "--json")
    expected = choose_k(blobs, range(2, 7), random_state=seed, feature_names=["x", "y", "z"])
    for command in ("choose-k", "fit"):
        sweep = json.loads(partita(command, *words))["sweep"]
        assert sweep["reasons"] == list(expected.reasons)
        assert sweep["best_k"] == expected.best_k
        for name, column in expected.to_dict().items():
            np.testing.assert_array_equal(np.array(sweep["table"][name], float), column)
