"""Any argument of any public call is accepted, or refused by an error that names it.

The error is a ValueError or TypeError "`x` must be …, got …", it is short, and it comes quickly.
scikit-learn's well-known texts about X, and errors of a user's own callable, stay as they are.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import itertools
import os
import re
import signal
import time
import warnings

import numpy as np
import pytest
from helpers.odd_values import ODD_VALUES
from scipy.spatial.distance import cdist

import partita
from partita import (
    Cells,
    KernelKMeans,
    KMeans,
    KMedoids,
    KPrototypes,
    MiniBatchKMeans,
    SphericalKMeans,
    choose_k,
    diagnose,
    halting,
    merge_tree,
    model_file,
    plots,
    report,
    tables,
    theory,
)

MAX_SECONDS = 20  # of a call; they take milliseconds, but the machine may be busy
MAX_MESSAGE_LENGTH = 700  # characters
SHORT_SHARE = 0.04  # of all calls, in the normal suite

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 1.0, (8, 3)) for c in (0.0, 6.0, 12.0)])
LABELS = np.repeat([0, 1, 2], 8)
DISTANCES = cdist(X, X)
GRAM = np.exp(-DISTANCES)
OTHER_INPUT = {"medoids of a matrix": DISTANCES, "kernel of a matrix": GRAM}

# texts of scikit-learn, of files, and of a user's own callable
KNOWN = re.compile(
    r"^(Expected 2D array|Expected a 2-dimensional|Found array with|X has \d+ features|Complex data"
    r"|Input X contains|Negative values in data|Sparse data was passed|n_samples=\d+ should be"
    r"|Number of labels is|There is no file|.* already exists|.*is not available"
    r"|The feature names should match|X does not have valid feature names)"
    r"|The path of the data is empty|.* is a partita model|kernel=.* gave NaN or infinity"
    r"|takes no arguments|<lambda>\(\) "
)


def models():
    keywords = {"n_clusters": 3, "random_state": 0}
    return {
        "kmeans": KMeans(**keywords).fit(X),
        "mini-batch": MiniBatchKMeans(**keywords).fit(X),
        "spherical": SphericalKMeans(**keywords).fit(X),
        "kernel": KernelKMeans(**keywords).fit(X),
        "medoids": KMedoids(**keywords).fit(X),
        "prototypes": KPrototypes(**keywords).fit(X),
        "medoids of a matrix": KMedoids(metric="precomputed", **keywords).fit(DISTANCES),
        "kernel of a matrix": KernelKMeans(kernel="precomputed", **keywords).fit(GRAM),
    }


def parameters_of(function):
    skipped = ("self", "y", "args", "kwargs")
    return [name for name in inspect.signature(function).parameters if name not in skipped]


def of_function(label, function, **given):
    for name in parameters_of(function):

        def call(value, name=name):
            return function(**{**given, name: value})

        yield f"{label}({name})", name, call


def of_estimator(label, kind, **given):
    for name in parameters_of(kind):

        def call(value, name=name):
            model = kind(**{"n_clusters": 3, "random_state": 0, **given, name: value}).fit(X)
            if value is not ODD_VALUES["10**5000"]:  # a seed that Python does not print
                repr(model)
            return model.predict(X)

        yield f"{label}({name})", name, call


METHODS = (
    "fit", "fit_predict", "partial_fit", "predict", "transform", "score", "soft_membership",
    "inverse_transform", "match", "merge", "distances",
)  # fmt: skip


def of_methods(label, model):
    data = OTHER_INPUT.get(label, X)
    for method in (name for name in METHODS if hasattr(model, name)):
        for name in parameters_of(getattr(type(model), method)):

            def call(value, method=method, name=name):
                given = {} if name in ("codes", "other") else {"X": data}
                return getattr(copy.deepcopy(model), method)(**{**given, name: value})

            yield f"{label}.{method}({name})", name, call


def of_criteria():
    for kind in ("MaxIter", "Shift", "Decrease", "RelDecrease", "Target", "Deadline", "When"):
        criterion = getattr(halting, kind)
        (name,) = parameters_of(criterion)

        def call(value, criterion=criterion):
            return KMeans(2, halt=criterion(value)).fit(X)

        yield f"halting.{kind}({name})", f"{kind}.{name}", call
    for kind in (halting.AnyOf, halting.AllOf):
        yield f"halting.{kind.__name__}(parts)", f"{kind.__name__}.parts", kind


def of_theory():
    rows = {"X": X}
    given = {
        "inertia": {**rows, "z": X[0]},
        "sse": rows,
        "mse": rows,
        "sse_by_pairs": rows,
        "sse_of_partition": {**rows, "labels": LABELS},
        "merge_price": {"U": X, "V": X},
        "gradient": {**rows, "labels": LABELS, "centers": X[:3]},
        "stirling": {"n": 4, "k": 2},
        "partition_count": {"n": 4},
    }
    for name, keywords in given.items():
        yield from of_function(f"theory.{name}", getattr(theory, name), **keywords)
    first = lambda n, k: list(itertools.islice(theory.partitions(n, k), 3))  # noqa: E731
    yield from of_function("theory.partitions", first, n=4, k=2)


def of_views(model):
    fit = {"model": model, "X": X}
    yield from of_function("diagnose", diagnose, **fit)
    new = {**fit, "fitted_to": X}
    yield from of_function("compare_with_fit", partita.compare_with_fit, **new)
    yield from of_function("factorize", partita.factorize, **fit)
    yield from of_function("merge_tree", merge_tree, **fit)
    yield from of_function("cells", partita.cells)
    yield from of_function("pca_plane", partita.pca_plane, X=X)
    yield from of_function("to_sklearn", partita.to_sklearn)
    yield from of_function("register", partita.register)
    measured = {"X": X, "labels": LABELS}
    yield from of_function("silhouette_samples", partita.silhouette_samples, **measured)
    yield from of_function("silhouette_score", partita.silhouette_score, **measured)
    yield from of_function("sampled", partita.sampled_silhouette, sample_size=9, **measured)
    space = Cells(X[:3])
    yield from of_function("Cells", Cells, centers=X[:3])
    yield from of_function("Cells.contains", space.contains, X=X)
    yield from of_function("Cells.margins", space.margins, **measured)
    yield from of_function("Cells.half_spaces", space.half_spaces)
    yield from of_function("Cells.slice", space.slice, origin=X[0], axes=np.eye(3)[:2])
    yield from of_function("Cells.polygons", Cells(X[:3, :2]).polygons)
    tree = merge_tree(model)
    for method in ("centers_at", "cost_at", "labels_at", "stats_at"):
        yield from of_function(f"tree.{method}", getattr(tree, method))


def of_displays(model, sweep):
    fit = {"model": model, "X": X}
    for name in ("ClusterDisplay", "IterationsDisplay", "ProfileDisplay", "SilhouetteDisplay"):
        yield from of_function(name, getattr(plots, name).from_estimator, **fit)
    yield from of_function("MergeTreeDisplay", plots.MergeTreeDisplay.from_estimator, **fit)
    yield from of_function("ObjectiveDisplay", plots.ObjectiveDisplay.from_estimator, model=model)
    yield from of_function("CriteriaDisplay", plots.CriteriaDisplay.from_sweep, sweep=sweep)
    of_labels = plots.SilhouetteDisplay.from_labels
    yield from of_function("SilhouetteDisplay.from_labels", of_labels, X=X, labels=LABELS)
    display = plots.ObjectiveDisplay.from_estimator(model)
    yield from of_function("display.plot", display.plot)
    yield from of_function("display.save", display.save, path="a.png", dpi=20)
    moving = plots.IterationsDisplay.from_estimator(model, X, most=2)
    yield from of_function("animate", moving.animate)
    yield from of_function("save_animation", moving.save_animation, path="a.gif", dpi=20)


def of_files(model):
    written = {"model": model, "path": "b.partita", "force": True}
    yield from of_function("save", partita.save, **written)
    yield from of_function("load", partita.load)
    yield from of_function("read_header", model_file.read_header)
    yield from of_function("fingerprint", model_file.fingerprint, X=X)
    fitted = report.Fitted(model, X)
    yield from of_function("write_report", report.write_report, path="a.html", fitted=fitted)
    yield from of_function("render", report.render)
    for name in parameters_of(report.Fitted):

        def call(value, name=name):
            return report.render(report.Fitted(**{"model": model, "X": X, name: value}))

        yield f"Fitted({name})", name, call
    read = lambda path: tables.read_table(path)  # noqa: E731
    yield from of_function("read_table", read)


def all_calls():
    few = {"ks": range(2, 4), "n_references": 2, "n_splits": 1, "random_state": 0}
    fitted, sweep = models(), choose_k(X, **few)
    for kind in (KMeans, MiniBatchKMeans, SphericalKMeans, KernelKMeans, KMedoids, KPrototypes):
        yield from of_estimator(kind.__name__, kind)
    yield from of_estimator("polynomial", KernelKMeans, kernel="polynomial")
    yield from of_estimator("nystrom", KernelKMeans, approximation="nystrom")
    yield from of_estimator("minkowski", KMedoids, metric="minkowski")
    yield from of_estimator("clara", KMedoids, method="clara")
    for label, model in fitted.items():
        yield from of_methods(label, model)
    yield from of_function("k_means", partita.k_means, X=X, n_clusters=3)
    yield from of_function("kmeans_plusplus", partita.kmeans_plusplus, X=X, n_clusters=3)
    yield from of_function("coreset", partita.coreset, X=X, m=5)
    small = partita.coreset(X, 9, random_state=0)
    yield from of_function("Coreset.merge", small.merge)
    yield from of_function("Coreset.reduce", small.reduce, m=5)
    yield from of_function("Coreset.cost", small.cost)
    yield from of_function("choose_k", choose_k, X=X, **few)
    yield from of_function("sweep.model", sweep.model)
    for label, table in {"sweep": sweep, "trace": fitted["kmeans"].trace_}.items():
        yield from of_function(f"{label}.to_frame", table.to_frame)
    yield from of_criteria()
    yield from of_theory()
    yield from of_views(fitted["kmeans"])
    yield from of_displays(fitted["kmeans"], sweep)
    yield from of_files(fitted["kmeans"])


class TooSlow(BaseException):
    """A call that does not end."""


def fault_of(call, name, value):
    """What is wrong with the answer to an odd value; None if nothing is."""
    begin = time.perf_counter()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            call(copy.copy(value))
    except (ValueError, TypeError, FileNotFoundError, FileExistsError) as error:
        text = str(error)
        if len(text) > MAX_MESSAGE_LENGTH:
            return f"a message of {len(text)} characters: {text[:100]}"
        own = f"`{name}" in text and re.search("must|needs", text)
        # another argument may no longer fit: labels of other rows, for example
        other = name in ("X", "model", "U", "V") and re.match("`.*` must be", text)
        if not (own or other or KNOWN.search(text)):
            return f"{type(error).__name__}: {text[:150]}"
    except TooSlow:
        return "no end"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:150]}"
    spent = time.perf_counter() - begin
    return f"{spent:.1f} s" if spent > MAX_SECONDS else None


@pytest.fixture
def quiet(tmp_path, monkeypatch):
    """Run in an empty folder, without warnings, and end calls that take too long."""

    def stop(*_):
        raise TooSlow

    monkeypatch.chdir(tmp_path)
    before = signal.signal(signal.SIGALRM, stop)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(share):
    faults, rng, count = {}, np.random.default_rng(15), 0
    for label, name, call in all_calls():
        for kind, value in ODD_VALUES.items():
            if rng.random() < share:
                signal.alarm(2 * MAX_SECONDS)
                if fault := fault_of(call, name, value):
                    faults[f"{label}, {kind}"] = fault
                count += 1
    assert not faults, "\n".join(f"{place}: {fault}" for place, fault in faults.items())
    assert count > 500


def test_some_odd_arguments_are_accepted_or_named(quiet):
    check(SHORT_SHARE)


@pytest.mark.slow
def test_all_odd_arguments_are_accepted_or_named(quiet):
    check(1.0)


NAMED = {
    "a number of threads beyond any machine is capped": (
        lambda: KMeans(2, n_threads=10**30).fit(X), None),
    "references": (lambda: choose_k(X, n_references=10**30), "`n_references` must be an"),
    "numbers of clusters": (lambda: choose_k(X, 10**30), "`ks` must be at most 24"),
    "criteria": (lambda: choose_k(X, criteria=3), "`criteria` must be names from inertia"),
    "a misspelt criterion": (
        lambda: choose_k(X, criteria=["silhouete"]), "Did you mean 'silhouette'?"),
    "a misspelt start": (lambda: KMeans(init="kmeans++").fit(X), "Did you mean 'k-means++'?"),
    "a misspelt metric": (lambda: KMedoids(metric="euclidian").fit(X), "Did you mean 'euclidean'?"),
    "an unknown parameter of a metric": (
        lambda: KMedoids(2, metric="minkowski", metric_params={"q": 3}).fit(X),
        "`metric_params` must suit metric='minkowski'"),
    "a metric that returns text": (
        lambda: KMedoids(2, metric=lambda a, b: "far").fit(X),
        "`metric` must be a callable that returns a number, got one that returned 'far'"),
    "an integer beyond the doubles": (
        lambda: KMeans(1).fit([[10**400]]), "`X` must be numbers up to 1.8e308"),
    "a dictionary of rows": (lambda: KMeans(1).fit({"a": [1]}), "`X` must be a table of numbers"),
    "ragged weights": (
        lambda: KMeans(1).fit(X, sample_weight=[[1], [2, 3]]), "`sample_weight` must be numeric"),
    "scaling": (
        lambda: partita.save(KMeans(2).fit(X), "a.partita", scaling=3),
        "`scaling` must be a Scaling or None, got 3."),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_the_error_says_what_to_give_instead(name, quiet):
    call, said = NAMED[name]
    if said is None:
        call()
        return
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert said in str(caught.value)


@pytest.mark.parametrize("descriptor", [True, False, 0, 1, 2])
def test_an_integer_is_no_path_and_no_stream_is_closed(descriptor, quiet):
    model = KMeans(2, random_state=0).fit(X)
    display = plots.ObjectiveDisplay.from_estimator(model)
    for call in (
        lambda: partita.load(descriptor),
        lambda: partita.save(model, descriptor, force=True),
        lambda: report.write_report(descriptor, report.Fitted(model, X), force=True),
        lambda: display.save(descriptor),
        lambda: tables.read_table(descriptor),
        lambda: tables.write_atomically(descriptor, lambda file: None, force=True),
    ):
        with pytest.raises(ValueError, match="`path` must be a text or a Path, got"):
            call()
    os.fstat(int(descriptor))
