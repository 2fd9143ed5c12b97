"""Pipelines of scikit-learn's transformers and our models, for tests of model files."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)

from helpers.saved_models import ROWS
from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, SphericalKMeans

GAPS = np.where(np.arange(3) == np.arange(len(ROWS))[:, None] % 7, np.nan, ROWS)
FRAME = pd.DataFrame(ROWS, columns=["a", "b", "c"])
EMPTY_COLUMN = np.where(np.arange(3) == 1, np.nan, ROWS)


def kmeans():
    return KMeans(3, random_state=0)


def frames_inside():
    return make_pipeline(StandardScaler(), PCA(2), kmeans()).set_output(transform="pandas")


# name -> (the pipeline, the rows it is fitted to)
CASES = {
    "standard": (lambda: make_pipeline(StandardScaler(), kmeans()), ROWS),
    "standard frame": (lambda: make_pipeline(StandardScaler(), kmeans()), FRAME),
    "standard float32": (
        lambda: make_pipeline(StandardScaler(), kmeans()),
        ROWS.astype(np.float32),
    ),
    "standard neither": (
        lambda: make_pipeline(StandardScaler(with_mean=False, with_std=False), kmeans()),
        ROWS,
    ),
    "standard gaps": (lambda: make_pipeline(StandardScaler(), SimpleImputer(), kmeans()), GAPS),
    "robust": (
        lambda: make_pipeline(RobustScaler(quantile_range=(10, 90)), KMedoids(3, random_state=0)),
        ROWS,
    ),
    "robust scale only": (
        lambda: make_pipeline(RobustScaler(with_centering=False), kmeans()),
        ROWS,
    ),
    "minmax": (
        lambda: make_pipeline(MinMaxScaler((-1, 2), clip=True), MiniBatchKMeans(3, random_state=0)),
        ROWS,
    ),
    "maxabs": (lambda: make_pipeline(MaxAbsScaler(), KernelKMeans(3, random_state=0)), ROWS),
    "normalizer": (
        lambda: make_pipeline(Normalizer(norm="l1"), SphericalKMeans(3, random_state=0)),
        ROWS,
    ),
    "mean": (lambda: make_pipeline(SimpleImputer(), StandardScaler(), kmeans()), GAPS),
    "median": (
        lambda: Pipeline([("fill", SimpleImputer(strategy="median")), ("model", kmeans())]),
        GAPS,
    ),
    "most frequent": (
        lambda: make_pipeline(SimpleImputer(strategy="most_frequent"), kmeans()),
        np.round(GAPS),
    ),
    "constant": (
        lambda: make_pipeline(SimpleImputer(strategy="constant", fill_value=1.5), kmeans()),
        GAPS,
    ),
    "missing is -1": (
        lambda: make_pipeline(SimpleImputer(missing_values=-1), kmeans()),
        np.nan_to_num(GAPS, nan=-1),
    ),
    "a column without values": (
        lambda: make_pipeline(SimpleImputer(), StandardScaler(), kmeans()),
        EMPTY_COLUMN,
    ),
    "keep a column without values": (
        lambda: make_pipeline(SimpleImputer(keep_empty_features=True), kmeans()),
        EMPTY_COLUMN,
    ),
    "integers": (
        lambda: make_pipeline(SimpleImputer(strategy="constant", missing_values=0), kmeans()),
        np.round(ROWS).astype(np.int64),
    ),
    "pca": (lambda: make_pipeline(StandardScaler(), PCA(2, whiten=True), kmeans()), FRAME),
    "pca share": (lambda: make_pipeline(PCA(0.9, random_state=3), kmeans()), ROWS),
    "svd": (lambda: make_pipeline(TruncatedSVD(2, random_state=0), kmeans()), ROWS),
    "passthrough": (
        lambda: Pipeline([("a", "passthrough"), ("b", StandardScaler()), ("c", kmeans())]),
        ROWS,
    ),
    "only passthrough": (lambda: make_pipeline("passthrough", kmeans()), ROWS),
    "model alone": (lambda: make_pipeline(kmeans()), FRAME),
    "frames inside": (frames_inside, FRAME),
    "four steps": (
        lambda: make_pipeline(
            SimpleImputer(strategy="median"), MinMaxScaler(), StandardScaler(), PCA(2), kmeans()
        ),
        pd.DataFrame(GAPS, columns=["a", "b", "c"]),
    ),
}


@functools.cache
def fitted_pipeline(name):
    """The pipeline of a case, for tests that do not change it."""
    make, rows = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns without values
        return make().fit(rows)
