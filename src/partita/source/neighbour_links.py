"""The graph that links rows to their neighbours, and the features in which K-means cuts it.

Two rows are linked if each is among the nearest of the other, and every row to itself and to its
nearest: links of one side only would bridge the gaps beside dense groups. With shares P_il = 1 over
the number of links of i, and Δ_l = Σ_i w_i·P_il, the affinities w_i·w_j·Σ_l P_il·P_jl/Δ_l are those
of a random walk over two links: their matrix is positive semidefinite, and the degree of a row is
its weight. So their normalised cut into k clusters is J + k − Σ w_i·‖φ_i‖² with J the objective of
K-means of φ_i = P_i·Δ^-½, sparse rows with the weights w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.content_keys import content_keys
from partita._common.exact_sum import exact_totals
from partita._common.sparse_format import is_sparse
from partita._common.threads import Workers
from partita.source.nearest_rows import NearestRows

NEAREST_KEPT = 2  # with the row itself: links of one side, so that no row is alone


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """Rows that all differ, in an order by their content, and the weight of each."""

    rows: Any  # (m, d)
    keys: Ints  # (m,) rising
    mass: Floats  # (m,)

    @classmethod
    def of(cls, X: Any, weight: Floats | None) -> DistinctRows:
        """Collect the rows of positive weight."""
        kept = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
        keys = content_keys(X)[kept]
        keys, first, number = np.unique(keys, return_index=True, return_inverse=True)
        mass = np.ones(len(kept)) if weight is None else weight[kept]
        return cls(X[kept[first]], keys, exact_totals(mass, number.ravel(), len(keys)))

    def places(self, X: Any) -> Ints:
        """Return the place (n,) of each row, in the form of these, among them; −1 for others."""
        keys = content_keys(X)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[place] == keys, place, -1)


def mutual_links(nearest: Ints, count: int) -> Any:
    """Return the links (m, m), symmetric and 0/1, from the nearest (m, ≥ count) of every row."""
    near = _links(nearest[:, :count])
    kept = _links(nearest[:, : min(count, NEAREST_KEPT)])
    return sp.csr_array(near.multiply(near.T).maximum(kept.maximum(kept.T)))


def _links(nearest: Ints) -> Any:
    m, count = nearest.shape
    start = np.arange(0, m * count + 1, count)
    return sp.csr_array((np.ones(m * count), np.sort(nearest, axis=1).ravel(), start), (m, m))


@dataclass(frozen=True, slots=True)
class LinkFeatures:
    """Features of rows by their links, of those of the fit and of others."""

    distinct: DistinctRows
    features: Any  # (m, m) CSR, of the distinct rows
    root: Floats  # (m,) Δ^-½
    count: int  # neighbours of a row, itself included

    @classmethod
    def of(cls, distinct: DistinctRows, links: Any, count: int) -> LinkFeatures:
        """Make the features of the rows that have these links."""
        size = np.diff(links.indptr)
        share = 1.0 / size
        entries = np.repeat(share, size)
        walks = np.repeat(distinct.mass * share, size)
        root = 1.0 / np.sqrt(np.bincount(links.indices, walks, len(size)))
        values = entries * root[links.indices]
        features = sp.csr_array((values, links.indices, links.indptr), links.shape)
        return cls(distinct, features, root, count)

    def of_rows(self, X: Any, workers: Workers) -> Any:
        """Return the features (n, m): a new row is linked to its nearest of the fit."""
        known = self.distinct
        X = _in_the_form_of(known.rows, X)
        place = known.places(X)
        is_known = place >= 0
        if is_known.all():
            return self.features[place]
        new = np.flatnonzero(~is_known)
        near = np.sort(NearestRows(known.rows, workers).nearest(X[new], self.count), axis=1)
        start = np.arange(0, near.size + 1, self.count)
        values = self.root[near.ravel()] / self.count
        linked = sp.csr_array((values, near.ravel(), start), (len(new), len(known.keys)))
        order = np.argsort(np.concatenate([np.flatnonzero(is_known), new]))
        both = sp.vstack([self.features[place[is_known]], linked], format="csr")
        return sp.csr_array(both[order])


def _in_the_form_of(rows: Any, X: Any) -> Any:
    if is_sparse(rows) == is_sparse(X):
        return X
    return sp.csr_array(X) if is_sparse(rows) else X.toarray()
