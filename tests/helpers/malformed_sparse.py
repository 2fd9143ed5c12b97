"""Sparse matrices whose arrays do not fit together, and every function that takes sparse rows.

As a script, calls all functions on all of them in this process and prints what did not raise
ValueError: a crash of compiled code must not end the tests.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import partita
from partita import plots
from partita.estimators import data_fingerprint
from partita.metrics import silhouette
from partita.model_file.preparation import Preparation
from partita.report import Fitted, render

N, D = 12, 6


def valid(n=N, d=D):
    """A valid CSR matrix, small numbers, at least two values in every row."""
    rng = np.random.default_rng(4)
    dense = rng.integers(1, 5, (n, d)) * (rng.random((n, d)) < 0.5)
    dense[:, :2] = rng.integers(1, 5, (n, 2))
    return sp.csr_array(dense.astype(np.float64))


def set_part(make, part, place, value):
    """Return a function of a CSR matrix: it in another format, with one number replaced."""

    def damage(X):
        X = make(X.copy())
        getattr(X, part)[place] = value
        return X

    return damage


def replace_part(make, part, change):
    """The same, with one array replaced."""

    def damage(X):
        X = make(X.copy())
        setattr(X, part, change(getattr(X, part)))
        return X

    return damage


csr, csc, coo, bsr, dia, lil = (
    sp.csr_array, sp.csc_array, sp.coo_array, sp.bsr_array, sp.dia_array, sp.lil_array,
)  # fmt: skip
MALFORMED = {
    "indptr far beyond the values": set_part(csr, "indptr", 3, 10**8),
    "indptr of a csr_matrix": set_part(sp.csr_matrix, "indptr", 3, 10**8),
    "indptr beyond the values at the end": set_part(csr, "indptr", -1, 10**7),
    "negative indptr": set_part(csr, "indptr", 2, -(10**8)),
    "indptr that falls": set_part(csr, "indptr", 4, 1),
    "indptr that starts at 1": set_part(csr, "indptr", 0, 1),
    "short indptr": replace_part(csr, "indptr", lambda a: a[:-3]),
    "long indptr": replace_part(csr, "indptr", lambda a: np.append(a, a[-1])),
    "real indptr": replace_part(csr, "indptr", lambda a: a.astype(float)),
    "large column": set_part(csr, "indices", 5, 10**8),
    "negative column": set_part(csr, "indices", 5, -(10**8)),
    "short indices": replace_part(csr, "indices", lambda a: a[:-4]),
    "real indices": replace_part(csr, "indices", lambda a: a + 0.5),
    "matrix of indices": replace_part(csr, "indices", lambda a: a[:, None]),
    "short data": replace_part(csr, "data", lambda a: a[:-4]),
    "matrix of data": replace_part(csr, "data", lambda a: a[:, None]),
    "csc indptr": set_part(csc, "indptr", 2, 10**8),
    "csc row": set_part(csc, "indices", 2, 10**8),
    "coo row": set_part(coo, "row", 2, 10**8),
    "coo column": set_part(coo, "col", 2, -(10**8)),
    "coo values": replace_part(coo, "data", lambda a: a[:-4]),
    "bsr indptr": set_part(bsr, "indptr", 1, 10**8),
    "bsr column": set_part(bsr, "indices", 1, 10**8),
    "dia offsets": replace_part(dia, "offsets", lambda a: np.append(a, 10**6)),
    "lil columns": set_part(lil, "rows", 3, [0, 10**8]),
    "lil lengths": set_part(lil, "data", 3, [1.0] * 1000),
}


def entry_points():
    """Name every function that takes sparse rows: a call with X."""
    good, labels = valid(), np.arange(N) % 3
    kmeans = partita.KMeans(3, random_state=0).fit(good)
    spherical = partita.SphericalKMeans(3, random_state=0).fit(good)
    batches = partita.MiniBatchKMeans(3, random_state=0).fit(good)
    medoids = partita.KMedoids(3, random_state=0).fit(good)
    kernel = partita.KernelKMeans(3, random_state=0).fit(good)
    pipeline = make_pipeline(MaxAbsScaler(), partita.KMeans(3, random_state=0)).fit(good)
    calls = {
        "k_means": lambda X: partita.k_means(X, 3),
        "kmeans_plusplus": lambda X: partita.kmeans_plusplus(X, 3),
        "choose_k": lambda X: partita.choose_k(X, range(1, 4)),
        "diagnose": lambda X: partita.diagnose(kmeans, X),
        "merge_tree": lambda X: partita.merge_tree(kmeans, X),
        "factorize": lambda X: partita.factorize(kmeans, X),
        "report": lambda X: render(Fitted(kmeans, X)),
        "report, original": lambda X: render(Fitted(kmeans, good, original=X)),
        "pca_plane": partita.pca_plane,
        "cells": lambda X: partita.cells(kmeans).margins(X),
        "preparation": lambda X: Preparation().transform(X),
        "pipeline": lambda X: partita.diagnose(pipeline, X),
        "silhouette_samples": lambda X: partita.silhouette_samples(X, labels),
        "silhouette cosine": lambda X: partita.silhouette_samples(X, labels, metric="cosine"),
        "silhouette_score": lambda X: partita.silhouette_score(X, labels),
        "sampled_silhouette": lambda X: partita.sampled_silhouette(X, labels, sample_size=5),
        "silhouettes_at": lambda X: silhouette.silhouettes_at(X, labels, np.arange(3)),
        "silhouette display": lambda X: plots.SilhouetteDisplay.from_estimator(kmeans, X),
        "cluster display": lambda X: plots.ClusterDisplay.from_estimator(kmeans, X),
        "profile display": lambda X: plots.ProfileDisplay.from_estimator(kmeans, X),
        "fingerprint": data_fingerprint.fingerprint,
        "init": lambda X: partita.KMeans(N, init=X).fit(good),
        "init of batches": lambda X: partita.MiniBatchKMeans(N, init=X).fit(good),
        "init of points": lambda X: partita.KernelKMeans(N, init=X).fit(good),
        "inverse_transform": lambda X: partita.KMeans(D).fit(good).inverse_transform(X),
        "KMeans threads": lambda X: partita.KMeans(3, n_threads=2).fit(X),
        "KMeans k-means||": lambda X: partita.KMeans(3, init="k-means||").fit(X),
        "partial_fit": lambda X: partita.MiniBatchKMeans(3).partial_fit(X),
        "partial_fit again": batches.partial_fit,
        "KMedoids manhattan": lambda X: partita.KMedoids(3, metric="manhattan").fit(X),
    }
    models = {"KMeans": kmeans, "SphericalKMeans": spherical, "MiniBatchKMeans": batches,
              "KMedoids": medoids, "KernelKMeans": kernel}  # fmt: skip
    for name, model in models.items():
        calls[f"{name}.fit"] = type(model)(3, random_state=0).fit
        for method in ("predict", "transform", "score", "soft_membership", "fit_predict"):
            if hasattr(model, method):
                bound = getattr(type(model)(3).fit(good) if "fit" in method else model, method)
                calls[f"{name}.{method}"] = bound
    return calls


def square_entry_points():
    """Functions of square matrices, dense or sparse."""
    good = valid(N, N)
    gram = sp.csr_array(good @ good.T)
    given = partita.KernelKMeans(3, kernel="precomputed", random_state=0).fit(gram)
    cut = partita.KernelKMeans(3, kernel="normalized-cut", random_state=0).fit(gram)
    return {
        "precomputed": lambda X: partita.KernelKMeans(3, kernel="precomputed").fit(X),
        "normalized-cut": lambda X: partita.KernelKMeans(3, kernel="normalized-cut").fit(X),
        "precomputed predict": given.predict,
        "cut predict": cut.predict,
        "KMedoids": lambda X: partita.KMedoids(3, metric="precomputed").fit(X),
        "silhouette": lambda X: silhouette.silhouette_samples(
            X, np.arange(N) % 3, metric="precomputed"
        ),
    }


def failures(only=None):
    """Yield the calls that do not raise ValueError with a text about the matrix."""
    warnings.simplefilter("ignore")
    good = valid(N, N)
    for rows, calls in ((valid(), entry_points()), (good, square_entry_points())):
        for call, function in calls.items():
            for name, damage in MALFORMED.items():
                case = f"{call}: {name}"
                if only is not None and case != only:
                    continue
                print("case", case, flush=True)
                try:
                    function(damage(rows))
                except (ValueError, TypeError) as error:
                    sparse_dissimilarities = "Sparse data was passed" in str(error)
                    if not ("must be a valid" in str(error) or sparse_dissimilarities):
                        yield f"{case}: {type(error).__name__}: {error}"
                except BaseException as error:
                    yield f"{case}: {type(error).__name__}: {error}"
                else:
                    yield f"{case}: no error"


if __name__ == "__main__":
    found = list(failures(*sys.argv[1:2]))
    print(*found, sep="\n")
    sys.exit(bool(found))
