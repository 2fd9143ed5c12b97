"""A fit as a factorisation: X ≈ ZΘ, with one 1 in every row of Z (Bauckhage 2015).

With weights D = diag(w): ZᵀDZ = diag(W), the best Θ for a given Z is (ZᵀDZ)⁻¹ZᵀDX = YᵀX, and
‖D^½(X − ZΘ)‖² is the objective. The columns of Y = DZ(ZᵀDZ)⁻¹ are probability vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita._common.weighting import weighted
from partita.estimators.fitted_models import (
    LabelledRows,
    check_fitted,
    geometry_of,
    label_rows,
    unwrap_pipeline,
)
from partita.estimators.labelling import one_hot


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factorization:
    """X ≈ ZΘ: which rows belong together, and what stands for them.

    Attributes
    ----------
    theta : ndarray of shape (k, d)
        Θ, the centers (CSR if they are).
    labels : ndarray of shape (n,)
        Where each row of Z has its 1; −1 if nowhere (rows of zeros, which have no direction).
    weight : ndarray of shape (n,)
        w, the diagonal of D.
    residuals : ndarray of shape (n,)
        ‖x − θ‖² of every row and its center.
    objective : float
        J: Σ w·residuals, or half of it for `SphericalKMeans`, whose 1 − cos is half a square.
    explained_variance : float
        1 − Σ w·residuals / sse(X): 1 if the centers say all, 0 if they say what the mean says, and
        below 0 if less. NaN if there is nothing to explain, as all rows are equal.
    """

    theta: Any
    labels: Array
    weight: Floats
    residuals: Floats
    objective: float
    explained_variance: float
    _reading: LabelledRows

    @property
    def Z(self) -> Any:
        """The memberships (n, k), CSR: one 1 in every row that has a center.

        A column for each center: zero_rows="separate" makes a cluster without one, which is a
        column of `membership_` but not of this Z.
        """
        return one_hot(self.labels, self.theta.shape[0])

    @property
    def Y(self) -> Any:
        """DZ(ZᵀDZ)⁻¹ (n, k), CSR: each column weighs the rows of a cluster, 1 in all."""
        mass, some = self.mass, self.labels >= 0
        Y = self.Z
        share = self.weight[some] / np.where(mass > 0, mass, 1.0)[self.labels[some]]
        return sp.csr_array((share, Y.indices, Y.indptr), shape=Y.shape)

    @property
    def mass(self) -> Floats:
        """W (k,): the diagonal of ZᵀDZ, the weight of every cluster."""
        some = self.labels >= 0
        found = np.bincount(self.labels[some], self.weight[some], minlength=self.theta.shape[0])
        return np.asarray(found, dtype=np.float64)

    @property
    def means(self) -> Floats:
        """YᵀX (k, d): the best Θ for this Z; 0 for a cluster without weight.

        Where a fit has converged it is Θ, but for rounding.
        """
        stats = self._reading.stats()
        return np.where(stats.weight[:, None] > 0, stats.mean, 0.0)

    @property
    def reconstruction(self) -> Any:
        """ZΘ (n, d): every row as its center; CSR if Θ is. Rows that belong nowhere are 0."""
        if (self.labels >= 0).all():
            return self.theta[self.labels]
        return self.Z @ self.theta

    def __repr__(self) -> str:
        n, (k, d) = len(self.labels), self.theta.shape
        return (
            f"Factorization of {n} rows of {d} features by {k} centers, objective "
            f"{self.objective:.6g}, explained variance {self.explained_variance:.4g}"
        )


def factorize(model: Any, X: Any, sample_weight: Any = None) -> Factorization:
    """See a fitted model and rows as X ≈ ZΘ.

    The rows are those of the fit or others: `predict` says where they belong. For any model that
    has centers in the space of X, scikit-learn's too. `SphericalKMeans` compares rows at unit
    length, so X stands for these; a pipeline hands rows to its last step, and X stands for what it
    hands over. Residuals are squares under any metric of `KMedoids`.

    >>> from partita import KMeans, factorize
    >>> X = [[0.0], [2.0], [9.0]]
    >>> found = factorize(KMeans(2, random_state=0).fit(X), X)
    >>> found.Z.toarray().tolist(), found.theta.tolist()
    ([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[1.0], [9.0]])
    >>> found.reconstruction.tolist(), found.residuals.tolist(), found.objective
    ([[1.0], [1.0], [9.0]], [1.0, 1.0, 0.0], 2.0)
    """
    model, X, _ = unwrap_pipeline(model, X)
    check_fitted(model)
    theta = getattr(model, "cluster_centers_", None)
    if theta is None:
        instead = "model.membership_" if hasattr(model, "membership_") else "in model.predict(X)"
        raise ValueError(
            f"{type(model).__name__} has no centers in the space of X, so there is no Θ; its Z is "
            f"{instead}"
        )
    found = label_rows(model, X, sample_weight)
    dense = theta.toarray() if sp.issparse(theta) else theta
    unit = square_scale(largest_magnitude(found.rows, dense))
    small = replace(found, rows=scaled(found.rows, unit))
    residuals = small.squares_to(scaled(dense, unit))
    left = exact_total(weighted(residuals, found.weight))
    whole = float(replace(small, labels=np.minimum(found.labels, 0), k=1).stats().sse[0])
    with np.errstate(over="ignore", under="ignore"):  # squares of very large numbers are infinite
        residuals = residuals / unit / unit
        cost = float(np.float64(geometry_of(model).price * left) / unit / unit)
    return Factorization(
        theta=theta,
        labels=found.labels,
        weight=found.weight,
        residuals=residuals,
        objective=cost,
        explained_variance=1 - left / whole if whole > 0 else np.nan,
        _reading=found,
    )
