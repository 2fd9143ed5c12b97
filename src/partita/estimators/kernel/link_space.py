"""Clusters of a cut graph of neighbours, for the prediction of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats, Ints
from partita._common.content_keys import content_keys
from partita._common.threads import Workers
from partita.estimators import labelling
from partita.estimators.kernel.feature_space import Space
from partita.estimators.saved_state import FieldReader
from partita.source.neighbour_links import DistinctRows, LinkFeatures


class LinkSpace(Space):
    """Centers among the features of links; the rows of the fit are kept, and their features.

    A row of the fit has the features that it had, so it gets its label again.
    """

    def __init__(self, map: LinkFeatures, centers: Floats) -> None:
        self.map, self.centers = map, centers

    @property
    def kept_rows(self) -> Any:
        return self.map.distinct.rows

    def scores(self, X: Any, workers: Workers) -> Floats:
        return self.squares(X, None, workers)

    def squares(self, X: Any, diagonal: Floats | None, workers: Workers) -> Floats:
        features = self.map.of_rows(X, workers)
        return labelling.squares(features, self.centers, workers.n, None)

    def labels(self, X: Any, workers: Workers) -> Ints:
        features = self.map.of_rows(X, workers)
        return labelling.nearest(features, self.centers, workers.n, None)

    def inner_products(self, X: Any, workers: Workers) -> Floats:
        """Return the inner products (n, n) of rows in feature space."""
        features = self.map.of_rows(X, workers)
        return np.asarray((features @ features.T).toarray())

    def saved(self) -> dict[str, Any]:
        """Return what a model file keeps."""
        return {
            "linked_rows": self.map.distinct.rows,
            "mass": self.map.distinct.mass,
            "features": self.map.features,
            "root": self.map.root,
            "neighbours": self.map.count,
            "centers": self.centers,
        }

    @classmethod
    def restored(cls, saved: FieldReader, k: int, d: int) -> LinkSpace:
        """Return the space that a file keeps, checked."""
        rows = saved.rows("linked_rows", (None, d))
        m = rows.shape[0]
        if m == 0:
            raise ValueError("space.linked_rows is empty")
        keys = content_keys(rows)
        if (keys[1:] <= keys[:-1]).any():
            raise ValueError("space.linked_rows must differ, in the order of their content")
        features = sp.csr_array(saved.rows("features", (m, m)))
        mass, root = saved.floats("mass", (m,)), saved.floats("root", (m,))
        if not ((mass > 0).all() and (root > 0).all()):
            raise ValueError("space.mass and space.root must be positive")
        count = saved.integer("neighbours", 1, m)
        centers = saved.floats("centers", (k, m))
        return cls(LinkFeatures(DistinctRows(rows, keys, mass), features, root, count), centers)
