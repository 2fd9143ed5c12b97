"""`diagnose`: laws, every member of the family, models of other libraries, and the record."""

from __future__ import annotations

import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from helpers.diagnosis_cases import fit, groups
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from sklearn.cluster import DBSCAN, AffinityPropagation, Birch, BisectingKMeans, MeanShift
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, RobustScaler, StandardScaler

import partita
from partita import (
    Diagnosis,
    Finding,
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
    choose_k,
    diagnose,
)
from partita.diagnosis.diagnose import CHECKS
from partita.metrics.criteria import adjusted_rand


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_diagnosis():
    X = np.random.default_rng(0).normal(size=(30_000, 2))  # more than any sample
    model = fit(X, 5)
    first, again = (diagnose(model, X, random_state=3) for _ in range(2))
    assert first == again
    assert "in a sample of" in str(first)
    assert first != diagnose(model, X, random_state=4)
    more = KMeans(5, n_init=10, random_state=0, n_threads=2).fit(X)
    assert diagnose(more, X, random_state=3) == first


@pytest.mark.parametrize("kind", ["clean", "one", "moons"])
def test_weights_are_repeats(kind):
    X = {"clean": groups(), "one": np.random.default_rng(1).normal(size=(400, 2))}.get(
        kind, make_moons(400, noise=0.06, random_state=0)[0]
    )
    times = np.random.default_rng(0).integers(0, 4, len(X))
    model = KMeans(3, n_init=5, random_state=0).fit(X, sample_weight=times)
    by_weight = diagnose(model, X, sample_weight=times)
    repeated = diagnose(model, np.repeat(X, times, axis=0))
    assert by_weight.names == tuple(name for name in repeated.names if name != "duplicates")
    for name in by_weight.names:
        assert by_weight[name].clusters == repeated[name].clusters
    for name in {"split-groups", "unstable", "near-faces", "not-convex"} & set(by_weight.names):
        assert by_weight[name].evidence == repeated[name].evidence


def test_more_rows_make_it_more_certain():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = fit(X, 3)
    assert "unstable" in diagnose(model, X)
    assert "unstable" not in diagnose(model, X, sample_weight=np.full(100, 100_000))


@pytest.mark.heavy
def test_only_ratios_of_other_weights_matter():
    X = np.random.default_rng(1).normal(size=(400, 2))
    weight = np.random.default_rng(0).uniform(0.5, 2, 400)
    model = KMeans(3, random_state=0).fit(X, sample_weight=weight)
    first = diagnose(model, X, sample_weight=weight)
    assert first.names == diagnose(model, X, sample_weight=weight * 2.0**-10).names
    assert first


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["clean", "moons"])
def test_offset_and_unit_do_not_matter(kind):
    X = groups() if kind == "clean" else make_moons(400, noise=0.06, random_state=0)[0]
    fitted = fit(X, 4 if kind == "clean" else 2)
    plain = diagnose(fitted, X).names
    for offset, unit in itertools.product([0.0, 1e6], [1.0, 2.0**600, 2.0**-600]):
        model = SimpleNamespace(cluster_centers_=(fitted.cluster_centers_ + offset) * unit)
        assert diagnose(model, (X + offset) * unit).names == plain, (offset, unit)


@pytest.mark.heavy
def test_sparse_rows_are_diagnosed_as_dense_ones():
    X = np.maximum(np.random.default_rng(0).normal(size=(500, 6)), 0)
    dense, sparse = (diagnose(fit(X, 3), each) for each in (X, sp.csr_array(X)))
    assert dense.names == sparse.names
    assert dense


@pytest.mark.heavy
def test_float32_is_diagnosed_as_float64():
    X = make_moons(400, noise=0.06, random_state=0)[0].astype(np.float32)
    wide = X.astype(np.float64)
    assert diagnose(fit(X, 2), X).names == diagnose(fit(wide, 2), wide).names


def test_rows_without_weight_do_not_count():
    X = np.concatenate([groups(), [[1e4, 1e4]]])
    weight = np.r_[np.ones(400), 0.0]
    model = KMeans(4, n_init=10, random_state=0).fit(X, sample_weight=weight)
    assert diagnose(model, X, sample_weight=weight).names == ()


@pytest.mark.heavy
@given(
    X=npst.arrays(
        np.float64,
        st.tuples(st.integers(1, 25), st.integers(1, 4)),
        elements=st.one_of(st.integers(-2, 2).map(float), st.floats(-1e300, 1e300)),
    ),
    k=st.integers(1, 5),
)
def test_no_table_is_an_error(X, k):
    centers = X[np.arange(k) % len(X)]
    found = diagnose(SimpleNamespace(cluster_centers_=centers), X)
    assert set(found.names) <= set(found.looked)
    assert max(len(line) for line in str(found).splitlines()) <= 80


@given(
    first=npst.arrays(np.int64, 30, elements=st.integers(0, 3)),
    second=npst.arrays(np.int64, 30, elements=st.integers(0, 3)),
)
def test_adjusted_rand_is_symmetric_at_most_one_and_ignores_numbering(first, second):
    weight = np.ones(30)
    value = adjusted_rand(first, second, weight)
    assert value <= 1 + 1e-12
    assert value == pytest.approx(adjusted_rand(second, first, weight))
    assert value == pytest.approx(adjusted_rand(3 - first, second, weight))
    assert adjusted_rand(first, first, weight) == pytest.approx(1.0)
    twice = np.concatenate([first, first]), np.concatenate([second, second])
    assert value == pytest.approx(adjusted_rand(*twice, np.ones(60)))


@pytest.mark.parametrize(
    "model",
    [
        KMeans(4, n_init=5, random_state=0),
        MiniBatchKMeans(4, n_init=5, random_state=0),
        KMedoids(4, random_state=0),
        KMedoids(4, metric="manhattan", random_state=0),
        KernelKMeans(4, random_state=0),
        Peer(4, n_init=5, random_state=0),
        DBSCAN(eps=1.5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_member_is_clean_on_clean_groups(model):
    X = groups()
    found = diagnose(model.fit(X), X)
    assert found.names == ()
    assert type(model).__name__ in str(found)
    assert len(found.looked) + len(found.skipped) == len(CHECKS)  # none is passed over


@pytest.mark.heavy
def test_labels_alone_leave_no_cluster_empty():
    X = groups()
    model = Birch(n_clusters=4).fit(X)  # whose subclusters are many more
    assert diagnose(model, X).names == ()
    assert "4 clusters" in str(diagnose(model, X))
    kernel = KernelKMeans(3, random_state=0, empty="keep").fit(X)
    kernel.labels_ = np.where(kernel.labels_ == 2, 1, kernel.labels_)
    assert diagnose(kernel, X)["empty-clusters"].clusters == (2,)  # ours say how many there are


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model", [AffinityPropagation(preference=-500, random_state=0), MeanShift(bandwidth=5.0)]
)
def test_exemplars_and_modes_are_not_reported_as_unconverged_means(model):
    rng = np.random.default_rng(0)
    X = groups() + rng.exponential(2, (400, 2))  # whose modes are not their means
    model.fit(X)
    assert len(model.cluster_centers_) < 10
    found = diagnose(model, X)
    assert "not-converged" not in found
    assert "not-converged" in found.looked  # by the number of its iterations
    why = "its centers are not the means of its clusters"
    assert {("unstable", why), ("local-minimum", why)} <= set(found.skipped)


@pytest.mark.heavy
def test_centers_that_are_means_are_recognised():
    X, weight = groups(), np.random.default_rng(0).integers(1, 9, 400)
    fitted = KMeans(4, n_init=5, random_state=0).fit(X, sample_weight=weight)
    other = SimpleNamespace(cluster_centers_=fitted.cluster_centers_, labels_=fitted.labels_)
    assert "local-minimum" in diagnose(other, X, sample_weight=weight).looked
    other.cluster_centers_ = other.cluster_centers_ + 0.5
    assert "local-minimum" not in diagnose(other, X, sample_weight=weight).looked
    for model in (Peer(4, random_state=0), BisectingKMeans(4, random_state=0)):
        assert "local-minimum" in diagnose(model.fit(X), X).looked


@pytest.mark.heavy
def test_a_bisecting_tree_has_converged():
    X = load_iris().data
    model = BisectingKMeans(3, random_state=0).fit(X)
    assert (model.labels_ != Peer(3, init=model.cluster_centers_, max_iter=1).fit(X).labels_).any()
    found = diagnose(model, X)
    assert "not-converged" in found.looked
    assert "not-converged" not in found
    assert dict(found.skipped)["near-faces"].startswith("it assigns rows down a tree")
    assert "not-converged" in dict(diagnose(model, X[:140]).skipped)  # other rows do not tell


def test_a_search_that_found_no_cluster():
    X = groups(40)
    with pytest.warns(ConvergenceWarning):
        model = AffinityPropagation(max_iter=2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="at least one cluster, got none"):
        diagnose(model, X)


def test_skipped_checks_have_a_reason(monkeypatch):
    X = groups()
    one = diagnose(fit(X, 1), X)
    why = "there is one cluster only"
    few = ("coincident-centers", "elongated-clusters", "few-distinct-rows")
    assert {(name, why) for name in few} <= set(one.skipped)
    line = dict(diagnose(fit(X[:, :1], 2), X[:, :1]).skipped)
    assert line["scale"] == line["elongated-clusters"] == "there is one feature only"
    assert line["correlated-features"] == "fewer than three features vary"
    wide = np.random.default_rng(0).normal(size=(100, 6))
    assert "correlated-features" in diagnose(fit(wide), wide).looked
    monkeypatch.setattr("partita.diagnosis.cluster_shapes.MAX_CLUSTERS_PAIRED", 3)
    monkeypatch.setattr("partita.diagnosis.features.CORRELATED_MAX_FEATURES", 5)
    many = dict(diagnose(fit(wide), wide).skipped)
    assert many["coincident-centers"] == "there are more than 3 clusters"
    assert many["correlated-features"] == "there are more than 5 features"
    assert "distinct rows" in dict(diagnose(fit(wide[:12]), wide[:12]).skipped)["not-convex"]
    labels = dict(diagnose(DBSCAN(eps=1.5).fit(X), X).skipped)
    assert labels["not-converged"] == "the model has no `trace_` and no `n_iter_`"
    centers = fit(X)
    del centers.trace_, centers.n_iter_
    assert "X is not the data" in dict(diagnose(centers, X[:50]).skipped)["not-converged"]
    assert "exact sums" in labels["unequal-magnitudes"]


@pytest.mark.heavy
def test_minkowski_of_order_two_is_euclidean():
    X = groups()
    for params, flat in ((None, True), ({"p": 2}, True), ({"p": 3}, False)):
        model = KMedoids(4, metric="minkowski", metric_params=params, random_state=0).fit(X)
        assert ("near-faces" in diagnose(model, X).looked) == flat


def test_directions():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 3)) * 0.1 + axis for axis in np.eye(3)])
    X *= rng.uniform(1, 100, 300)[:, None]
    found = diagnose(SphericalKMeans(3, random_state=0).fit(X), X)
    assert found.names == ()
    assert ("scale", "only the direction of a row counts") in found.skipped
    zero = np.concatenate([X, np.zeros((2, 3))])
    model = SphericalKMeans(3, random_state=0, zero_rows="separate").fit(zero)
    assert diagnose(model, zero).names == ()
    noise = rng.normal(size=(600, 3))
    assert "unstable" in diagnose(SphericalKMeans(5, random_state=0).fit(noise), noise)


def test_matrices_in_place_of_rows():
    X = groups(100)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    for model, matrix in (
        (KMedoids(4, metric="precomputed", random_state=0), D),
        (KernelKMeans(4, kernel="precomputed", random_state=0), np.exp(-D)),
    ):
        found = diagnose(model.fit(matrix), matrix)
        assert found.names == ()
        assert found.looked == ("not-converged", "empty-clusters")
        assert "it was fitted to a matrix" in " ".join(str(found).split())


def test_data_other_than_that_of_the_fit():
    model = fit(groups())
    assert diagnose(model, groups(300, seed=5)).names == ()
    kernel = KernelKMeans(4, random_state=0).fit(groups())
    assert diagnose(kernel, groups(300, seed=5)).names == ()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_features_have_the_names_of_columns(library):
    module = pytest.importorskip(library)
    columns = {"length": groups()[:, 0] * 1000, "b": groups()[:, 1]}
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    found = diagnose(fit(table), table)
    assert found["scale"].features == ("length",)
    assert "length" in str(found)


@pytest.mark.parametrize(
    ("model", "X", "weight", "words"),
    [
        (KMeans(2), [[1.0], [2.0]], None, "not fitted yet"),
        (StandardScaler().fit([[1.0]]), [[1.0], [2.0]], None, "must be a fitted model with"),
        (SimpleNamespace(), [[1.0], [2.0]], None, "must be a fitted model with"),
        (
            SimpleNamespace(cluster_centers_=[[1.0, 2.0]]),
            [[1.0], [2.0]],
            None,
            "must have 2 features, .* got 1",
        ),
        (SimpleNamespace(labels_=[0, 1, 1]), [[1.0], [2.0]], None, "data that it was fitted to"),
        (SimpleNamespace(labels_=[-1, -1]), [[1.0], [2.0]], None, "No row of X belongs"),
        (SimpleNamespace(cluster_centers_=[[1.0]]), [[np.nan], [2.0]], None, "NaN"),
        (
            SimpleNamespace(cluster_centers_=[[1.0]]),
            [[0.0], [2.0]],
            [1.0],
            "one number for",
        ),
        (SimpleNamespace(cluster_centers_=[[1.0]]), np.empty((0, 1)), None, "0 sample"),
    ],
)
def test_errors_say_what_to_do(model, X, weight, words):
    with pytest.raises(ValueError, match=words):
        diagnose(model, X, weight)


def test_an_unfitted_model_raises_not_fitted_error():
    with pytest.raises(NotFittedError):
        diagnose(KMeans(3), [[1.0], [2.0]])


def test_hostile_names_are_escaped():
    pandas = pytest.importorskip("pandas")
    name = "<script>alert('x')</script>\x1b[31m\n"
    frame = pandas.DataFrame({name: groups()[:, 0] * 1000, "b&c": groups()[:, 1]})
    found = diagnose(fit(frame), frame)
    assert found["scale"].features == (name,)
    html = found._repr_html_()
    assert "<script" not in html
    assert "&lt;script" in html
    assert "\x1b" not in str(found)
    assert "\x1b" not in html
    assert re.sub(r"</?(div|p|dl|dt|dd|b|br|small)>", "", html).count("<") == 0


def test_a_diagnosis_is_a_small_collection():
    note = Finding("b", "what", "evidence", "advice", "note")
    found = Diagnosis("it", (Finding("a", "what", "evidence", "advice"), note), ("a", "b", "c"))
    assert found.names == ("a", "b")
    assert "a" in found
    assert "c" not in found
    assert note in found
    assert list(found) == [found["a"], note]
    assert repr(found) == "Diagnosis of it: 1 warning and 1 note"
    with pytest.raises(KeyError, match="found: a, b"):
        found["c"]
    assert found.to_frame("pandas").shape == (2, 10)
    assert "no problems found; checked: x." in str(Diagnosis("it", (), ("x",)))


def test_warnings_come_first():
    X = np.random.default_rng(0).normal(size=(800, 2))
    kinds = [finding.severity for finding in diagnose(fit(X, 4), X)]
    assert kinds == sorted(kinds, reverse=True)
    assert set(kinds) == {"warning", "note"}


def test_diagnose_is_exported():
    assert partita.diagnose is diagnose
    assert "diagnose" in dir(partita)


@pytest.mark.parametrize("method", [KMedoids, KernelKMeans, SphericalKMeans, MiniBatchKMeans])
def test_texts_speak_of_the_model_that_was_fitted(method):
    rng = np.random.default_rng(0)
    stripes = np.c_[rng.uniform(0, 60, 300), rng.normal(0, 0.5, 300)]
    unequal = np.concatenate([rng.normal(0, 1, (400, 2)), rng.normal([4, 0], 0.2, (40, 2))])
    for X in (stripes, unequal, make_moons(300, noise=0.06, random_state=0)[0] + 2):
        found = diagnose(method(2, random_state=0, max_iter=1).fit(X), X)
        texts = " ".join(finding.what + finding.evidence for finding in found)
        assert "K-means" not in texts
        assert "KMeans" not in texts.replace(method.__name__, "")


def test_the_advice_to_continue_can_be_followed():
    X = np.random.default_rng(0).normal(size=(300, 2))
    for model in (
        KMeans(8, init="random", n_init=1, max_iter=1, random_state=0),
        KMedoids(8, init="random", max_iter=1, method="alternate", random_state=0),
        KernelKMeans(8, init="random", n_init=1, max_iter=1, random_state=0),
        SphericalKMeans(8, init="random", n_init=1, max_iter=1, random_state=0),
    ):
        model.fit(X)
        advice = diagnose(model, X)["not-converged"].advice
        code = re.search(r"continue from here: (.*)\.fit\(X\)\.", advice)[1]
        again = eval(code, {"model": model, **vars(partita)}).fit(X)
        assert again.inertia_ < model.inertia_
        assert type(again) is type(model)


def test_no_advice_to_scale_rows_that_were_scaled():
    rng = np.random.default_rng(0)
    X = np.c_[np.exp(4 * rng.normal(size=400)), rng.normal(size=400)]
    assert "StandardScaler" in diagnose(fit(X, 2), X)["scale"].advice
    robust = make_pipeline(RobustScaler(), KMeans(2, n_init=2, random_state=0)).fit(X)
    found = diagnose(robust, X)["scale"]
    assert "caler" not in found.advice
    assert "logarithms" in found.advice
    other = make_pipeline(FunctionTransformer(), KMeans(2, n_init=2, random_state=0)).fit(X)
    assert "StandardScaler" in diagnose(other, X)["scale"].advice


@pytest.mark.parametrize("spread", [(1, 3), (1, 4.6), (1, 5.2), (1, 30), (1, 1, 50), (1, 30, 30)])
def test_choose_k_and_diagnose_agree_on_features_that_decide_alone(spread):
    X = np.random.default_rng(0).normal(size=(300, len(spread)))
    X = (X - X.mean(axis=0)) / X.std(axis=0) * spread
    sweep = choose_k(X, [2, 3], random_state=0, criteria="silhouette")
    remarks = [text for text in sweep.reasons if "nearly alone" in text]
    found = diagnose(fit(X, 2), X)
    assert bool(remarks) == ("scale" in found)
    assert bool(remarks) == (spread in ((1, 5.2), (1, 30), (1, 1, 50)))
    if remarks:
        assert found["scale"].evidence.startswith(remarks[0].split(" (")[0])
