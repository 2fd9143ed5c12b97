"""Data that is hard on floating point, and small helpers that several test files use."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from partita import KMeans
from partita._kernels import reference
from partita.centers import Centers
from partita.empty_clusters import POLICIES
from partita.engine.lloyd import LloydOptions, lloyd
from partita.engine.lloyd_step import LloydStep
from partita.halting import MaxIter, SamePartition


@st.composite
def problems(draw, dtype=None, max_n=60, max_d=12):
    """(rows, start): a matrix full of ties and duplicates, and some of its rows as centers."""
    n = draw(st.integers(2, max_n))
    d = draw(st.integers(1, max_d))
    k = draw(st.integers(1, min(n, 20)))
    kind = draw(st.sampled_from(["whole", "tenths", "normal", "clumps"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    if kind == "whole":
        rows = rng.integers(-3, 4, (n, d)).astype(float)
    elif kind == "tenths":
        rows = rng.integers(-20, 20, (n, d)) / 10
    elif kind == "normal":
        rows = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    else:
        rows = rng.integers(0, 3, (n, 1)) * 1e6 + rng.normal(size=(n, d))
    rows = rows.astype(dtype or draw(st.sampled_from([np.float32, np.float64])))
    start = rows[rng.choice(n, k, replace=False)].copy()
    return rows, start


def adversaries(dtype):
    """Named data sets (rows, start) on which careless kernels go wrong."""
    rng = np.random.default_rng(7)
    plain = rng.normal(size=(400, 5))
    outlier = plain.copy()
    outlier[17] = 1e8
    groups = plain + 1e6 * rng.integers(0, 3, (400, 1))
    grid = rng.integers(0, 4, (400, 5)).astype(float)
    line = rng.integers(0, 50, (400, 1)) * np.ones((1, 5))
    filled = plain + 10 * rng.integers(0, 3, (400, 1))
    filled[5] = 9.96921e36  # what some file formats write for "missing"
    constant = plain.copy()
    constant[:, 2:] = 3.25
    named = {
        "plain": plain,
        "offset by 1e6": plain + 1e6,
        "groups 1e6 apart": groups,
        "outlier at 1e8": outlier,
        "fill value at 1e37": filled,
        "ties on a grid": grid,
        "collinear": line,
        "constant features": constant,
        "tiny": plain * 1e-19,
        "huge": plain * 1e18,
        "wide": rng.normal(size=(150, 300)),
        "one feature": plain[:, :1],
    }
    return {
        name: (rows.astype(dtype), rows[rng.choice(len(rows), 17, replace=False)].astype(dtype))
        for name, rows in named.items()
    }


def fit_from(rows, start, **keywords):
    """A fit to the fixed point from given centers."""
    keywords = {"tol": 0.0, "n_init": 1, **keywords}
    weight = keywords.pop("sample_weight", None)
    return KMeans(len(start), init=start, **keywords).fit(rows, sample_weight=weight)


def same_bits(a, b):
    """Whether two fits are equal to the last bit."""
    return (
        np.array_equal(a.labels_, b.labels_)
        and a.cluster_centers_.tobytes() == b.cluster_centers_.tobytes()
        and a.inertia_ == b.inertia_
        and [p.cost for p in a.trace_] == [p.cost for p in b.trace_]
        and a.n_iter_ == b.n_iter_
    )


def labels_per_iteration(source, start, limit):
    """The labels after every pass from `start`, up to the first that leaves a cluster empty.

    How an empty cluster is relocated has tests of its own.
    """
    step = LloydStep(source, len(start))
    seen = []

    def watch(progress):
        if progress.empty:
            return True
        seen.append(step.labels.copy())
        return False

    centers = Centers(np.ascontiguousarray(start, dtype=np.float64), np.zeros(source.d))
    halt = SamePartition() | MaxIter(limit)
    lloyd(step, centers, LloydOptions(len(start), halt, POLICIES["relocate"], [watch]), 0.0)
    return seen


def sums_of(module, moments):
    """The sums of `moments` for the kernels of a module."""
    g = moments.grid
    return module.Sums(moments.hi, moments.lo, g.origin, g.up, g.scale, g.limb)


def labels_by_d64(rows, centers, origin):
    """The labels of a plain pass, by definition."""
    labels = np.zeros(len(rows), np.int32)
    reference.assign(reference.Codebook(centers, origin), rows, labels)
    return labels
