"""The data that all checks share: rows, labels, centers, summaries and samples."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita._common.text import isolated, listed
from partita.diagnosis.boundary_density import BoundaryDensity, measure_boundaries
from partita.diagnosis.row_sample import RowSample
from partita.estimators import validation
from partita.estimators.fitted_models import LabelledRows
from partita.source.raw_rows import as_doubles, row_slices
from partita.stats import ClusterStats

SEVERAL_CLUSTERS = "several clusters"  # a need of checks, in addition to those of the capabilities
BOUNDARY_SAMPLE_ROWS = 20_000  # enough for shares to one percent
MAX_DISTANCES = 20_000_000  # held at a time
EPSILON = 2.0**-52  # of a value: smaller differences are rounding
MAX_GAIN_OF_MEANS = 1e-3  # of J: centers are means if moving them there saves at most this share
SPARSE_VARIANCE_ROUNDING = 1e-12  # of the squared mean: smaller differences are rounding


def row_index(i: int) -> str:
    """Name a row by its index in X, from 0 as in `Finding.rows`."""
    return f"row {i}"


@dataclass(frozen=True)
class FitContext:
    """A fitted model, and the rows that have weight and a label."""

    model: Any
    k: int
    names: tuple[str | int, ...]  # (d,)
    own_centers: Floats | None  # (k, d), in the space of the rows
    lacks: dict[str, str]  # needs of checks that are not met, with the reason
    rows: Any  # (n, d), in the space where distances are measured: CSR or C-ordered
    weight: Floats  # (n,), in rows: see `as_repeats`
    labels: Ints  # (n,)
    index: Ints  # (n,), row numbers in X
    n_given: int  # rows of X, including those without weight or label
    entropy: int
    scaling: str = ""  # what scaled the rows: "standard", "robust", …; empty if nothing did
    row_name: Callable[[int], str] = row_index  # of a row number in X, for texts
    table: Any = None  # (n) the rows as the model takes them, if `rows` are not
    missing: Array | None = None  # (n, d) flags of values that are missing; None if all are there

    def list_rows(self, rows: Ints) -> str:
        """List the first few of these row numbers of X by their names."""
        return listed(rows.tolist(), lambda i: isolated(self.row_name(i)))

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        return int(self.rows.shape[1])

    @property
    def method(self) -> str:
        """The name of the model, for texts."""
        return type(self.model).__name__ if hasattr(self.model, "fit") else "the model"

    @property
    def threads(self) -> int:
        return validation.check_threads(getattr(self.model, "n_threads", None))

    def rng(self, name: str) -> np.random.Generator:
        """A random generator for one check, independent of what the others draw."""
        return np.random.default_rng([self.entropy, zlib.crc32(name.encode())])

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weight.sum())

    @cached_property
    def stats(self) -> ClusterStats:
        """Weight, mean and sse of every cluster of the labels."""
        return LabelledRows(self.rows, self.labels, self.weight, self.k).stats()

    @cached_property
    def centers(self) -> Floats:
        """The centers that rows are assigned to; the means, if there are only labels."""
        return self.stats.mean if self.own_centers is None else self.own_centers

    @cached_property
    def cost(self) -> float:
        """J: the sum of sse over the clusters."""
        return float(self.stats.sse.sum())

    @cached_property
    def radius(self) -> Floats:
        """The root mean squared distance (k,) of a cluster's rows to their mean."""
        stats = self.stats
        mse = np.divide(stats.sse, stats.weight, out=np.zeros(self.k), where=stats.weight > 0)
        return np.asarray(np.sqrt(mse))

    @cached_property
    def mean(self) -> Floats:
        """The mean (d,) of all rows."""
        weight, mean = self.stats.weight, self.stats.mean
        anchor = mean[int(weight.argmax())]  # an empty cluster has no mean, and no weight
        return np.asarray(anchor + weight @ (mean - anchor) / self.total)

    @cached_property
    def variance(self) -> Floats:
        """The variance (d,) of every feature."""
        sums, mean = np.zeros(self.d), self.mean
        for span in row_slices(self.n, self.d):
            block, weight = self.rows[span], self.weight[span]
            if sp.issparse(block):
                sums += block.multiply(block).T @ weight
            else:
                gap = as_doubles(block) - mean
                sums += weight @ (gap * gap)
        if sp.issparse(self.rows):
            offset = self.total * mean * mean
            sums -= offset
            sums[sums < SPARSE_VARIANCE_ROUNDING * offset] = 0.0
        return np.asarray(sums / self.total)

    @cached_property
    def varies(self) -> Array:
        """Features (d,) whose values differ by more than rounding."""
        low, high = np.full(self.d, np.inf), np.full(self.d, -np.inf)
        for span in row_slices(self.n, self.d):
            block = self.rows[span]
            ends = block.min(axis=0), block.max(axis=0)
            least, most = (x.toarray().ravel() if sp.issparse(x) else x for x in ends)
            low, high = np.minimum(low, least), np.maximum(high, most)
        return np.asarray(high - low > EPSILON * np.maximum(np.abs(low), np.abs(high)))

    @cached_property
    def boundaries(self) -> BoundaryDensity:
        """Density of rows between neighbouring centers."""
        sample = self.sample(max(1, min(BOUNDARY_SAMPLE_ROWS, MAX_DISTANCES // self.k)), "crowd")
        return measure_boundaries(sample, self.centers, self.stats.weight, self.threads)

    @cached_property
    def distinct(self) -> tuple[Ints, Floats]:
        """The first of each distinct row, and the weight of all its copies.

        Their order depends on their values alone: a weight of 2 and a repeated row are the same.
        """
        _, first, group = np.unique(self._hashes(), return_index=True, return_inverse=True)
        return first, as_doubles(np.bincount(group.ravel(), weights=self.weight))

    @cached_property
    def empty_clusters(self) -> Ints:
        """The clusters without rows."""
        return np.flatnonzero(np.bincount(self.labels, minlength=self.k) == 0)

    def sample(self, max_rows: int, name: str) -> RowSample:
        """Return up to `max_rows` of the distinct rows, drawn by the generator of that name."""
        first, weight = self.distinct
        note = ""
        if len(first) > max_rows:
            note = f" (in a sample of {max_rows} rows)"
            drawn = np.sort(self.rng(name).choice(len(first), max_rows, replace=False))
            first, weight = first[drawn], weight[drawn]
        table = None if self.table is None else self.table[first]
        return RowSample(self.rows[first], weight, self.labels[first], note, table)

    def _hashes(self) -> Array:
        odd = np.random.default_rng(1).integers(0, 2**63, self.d, dtype=np.uint64) * 2 + 1
        out = np.empty(self.n, np.uint64)
        for span in row_slices(self.n, self.d):
            block = self.rows[span]
            if sp.issparse(block):
                stored = _mixed(block.data) * odd[block.indices] * (block.data != 0)
                mixed = np.concatenate([[0], stored]).astype(np.uint64)
                sums = np.cumsum(mixed, dtype=np.uint64)
                out[span] = sums[block.indptr[1:]] - sums[block.indptr[:-1]]
            else:
                out[span] = (_mixed(block) * odd).sum(axis=1, dtype=np.uint64)
        return out


def _mixed(values: Array) -> Array:
    """Hashes of 64 bits that depend on all bits of a number; −0 is 0."""
    bits: Any = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> 33)) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> 29)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(bits ^ (bits >> 32))
