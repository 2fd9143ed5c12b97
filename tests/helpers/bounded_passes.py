"""Centers that move, and the law that every bound of a pass with bounds keeps."""

from __future__ import annotations

import numpy as np

from partita._kernels import reference
from partita.centers import Centers


def plain_labels(rows, centers, origin):
    labels = np.zeros(len(rows), np.int32)
    reference.assign(reference.Codebook(centers, origin), rows, labels)
    return labels


def check(bounds, motion, q, rows, at, labels):
    """Every bound is on its side of the distance it bounds, but for the rounding of this test."""
    parts = np.split(bounds.groups.members, np.cumsum(bounds.groups.sizes)[:-1])
    distance = np.sqrt(reference.d64(rows, at.values, at.origin))
    own = distance[np.arange(len(rows)), labels].copy()
    travel = np.ceil(motion.center_travel).astype(np.int64)
    upper = bounds.upper.astype(np.int64) + travel[labels]
    assert ((upper * q >= own * (1 - 1e-9)) | (upper > 65535)).all()  # beyond, a row is always open
    distance[np.arange(len(rows)), labels] = np.inf
    up = np.ceil(motion.group_travel)
    for g, members in enumerate(parts):
        others = distance[:, members].min(axis=1)
        left = np.maximum(bounds.lower[:, g].astype(float) - up[g], 0) * q
        assert (left <= others * (1 + 1e-9)).all()
    left = np.maximum(bounds.other.astype(float) - np.ceil(motion.total_travel), 0) * q
    assert (left <= distance.min(axis=1) * (1 + 1e-9)).all()


def wander(start, origin, steps, seed, size, growth=1 / 3):
    rng = np.random.default_rng(seed)
    values, path = start.astype(float) - origin, []
    for _ in range(steps):
        path.append(Centers(np.ascontiguousarray(values), origin))
        some = rng.random((len(values), 1)) < 0.5
        values = values + some * rng.normal(size=values.shape) * size
        size = size * growth
    return path
