"""What all looks at a fit have in common: its rows, labels, centers, summaries and samples."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats, Ints
from partita.diagnosis.boundary_density import Crowd, crowd_of
from partita.diagnosis.finding import Skip
from partita.diagnosis.model_facts import ModelFacts
from partita.diagnosis.row_sample import Sample
from partita.estimators.fitted_models import LabelledRows
from partita.source.plain_rows import doubles, spans
from partita.stats import ClusterStats

CROWD = 20_000  # rows are enough for shares to one percent
VALUES = 20_000_000  # distances that are held at a time


@dataclass(frozen=True)
class View:
    """A fit and the rows that count: those that have weight and a label."""

    facts: ModelFacts
    rows: Any  # (n, d), where distances are measured: CSR or C-ordered
    weight: Floats  # (n,), in rows: see `as_repeats`
    labels: Ints  # (n,)
    index: Ints  # (n,), their numbers in X
    given: int  # rows of X, before those without weight or label were left out
    entropy: int

    @property
    def k(self) -> int:
        """The number of clusters."""
        return self.facts.k

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        """The number of features."""
        return int(self.rows.shape[1])

    def rng(self, name: str) -> np.random.Generator:
        """Randomness for one look, whatever the others draw."""
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
        return self.stats.mean if self.facts.centers is None else self.facts.centers

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
    def middle(self) -> Floats:
        """The mean (d,) of all rows."""
        weight, mean = self.stats.weight, self.stats.mean
        anchor = mean[int(weight.argmax())]  # an empty cluster has no mean, and no weight
        return np.asarray(anchor + weight @ (mean - anchor) / self.total)

    @cached_property
    def variance(self) -> Floats:
        """The variance (d,) of every feature."""
        sums, middle = np.zeros(self.d), self.middle
        for part in spans(self.n, self.d):
            block, weight = self.rows[part], self.weight[part]
            if sp.issparse(block):
                sums += block.multiply(block).T @ weight
            else:
                gap = doubles(block) - middle
                sums += weight @ (gap * gap)
        if sp.issparse(self.rows):
            sums -= self.total * middle * middle
            sums[sums < 1e-12 * self.total * middle * middle] = 0.0  # what rounding left over
        return np.asarray(sums / self.total)

    @cached_property
    def crowd(self) -> Crowd:
        """How rows lie between neighbouring centers."""
        if self.k < 2:
            raise Skip("there is one cluster only")
        sample = self.sample(max(1, min(CROWD, VALUES // self.k)), "crowd")
        return crowd_of(sample, self.centers, self.facts.threads)

    # --- distinct rows ----------------------------------------------------------------------------

    @cached_property
    def distinct(self) -> tuple[Ints, Floats]:
        """The first of every kind of row, and the weight of all its copies.

        In an order that knows only the rows, so that a weight of 2 and a repeated row look alike.
        """
        _, first, kind = np.unique(self._hashes(), return_index=True, return_inverse=True)
        return first, doubles(np.bincount(kind.ravel(), weights=self.weight))

    def sample(self, most: int, name: str) -> Sample:
        """At most so many of the distinct rows."""
        first, mass = self.distinct
        whole = len(first) <= most
        if not whole:
            some = np.sort(self.rng(name).choice(len(first), most, replace=False))
            first, mass = first[some], mass[some]
        return Sample(self.rows[first], mass, self.labels[first], self.index[first], whole)

    def _hashes(self) -> Array:
        odd = np.random.default_rng(1).integers(0, 2**63, self.d, dtype=np.uint64) * 2 + 1
        out = np.empty(self.n, np.uint64)
        for part in spans(self.n, self.d):
            block = self.rows[part]
            if sp.issparse(block):
                some = block.data != 0
                mixed = np.concatenate([[0], _mixed(block.data) * odd[block.indices] * some])
                run = np.cumsum(mixed.astype(np.uint64), dtype=np.uint64)
                out[part] = run[block.indptr[1:]] - run[block.indptr[:-1]]
            else:
                out[part] = (_mixed(block) * odd).sum(axis=1, dtype=np.uint64)
        return out


def _mixed(values: Array) -> Array:
    """64 bits that depend on all bits of a number; −0 is 0."""
    bits: Any = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    bits = (bits ^ (bits >> 33)) * np.uint64(0xFF51AFD7ED558CCD)
    bits = (bits ^ (bits >> 29)) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(bits ^ (bits >> 32))
