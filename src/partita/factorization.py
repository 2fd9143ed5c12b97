"""A fit as a matrix factorization: X ≈ ZΘ, with one 1 in every row of Z (Bauckhage 2015).

With weights D = diag(w): ZᵀDZ = diag(W), the best Θ for a given Z is (ZᵀDZ)⁻¹ZᵀDX = YᵀX, and
‖D^½(X − ZΘ)‖² is the objective. The columns of Y = DZ(ZᵀDZ)⁻¹ are probability vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Array, Floats
from partita._common.exact_sum import exact_total, exact_totals
from partita._common.power_of_two import largest_magnitude, scaled, square_scale
from partita.estimators.fitted_models import (
    LabelledRows,
    capabilities_of,
    check_fitted,
    label_rows,
    unwrap_pipeline,
)
from partita.estimators.labelling import one_hot
from partita.estimators.partial_model import cost_of_one
from partita.geometry import EUCLIDEAN


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Factorization:
    """X ≈ ZΘ: memberships Z and centers Θ.

    Attributes
    ----------
    theta : ndarray of shape (k, d)
        Θ, the centers (CSR if the model's are).
    labels : ndarray of shape (n,)
        The column of the 1 in each row of Z; −1 for rows of zeros, which have no direction.
    weight : ndarray of shape (n,)
        w, the diagonal of D.
    residuals : ndarray of shape (n,)
        ‖x − θ‖² of each row and its center.
    objective : float
        J: Σ w·residuals, or half of it for `SphericalKMeans`, as 1 − cos is half a square.
    explained_variance : float
        1 − J / J(1), where J(1) is the objective with one center, the best: 1 if all rows equal
        their centers, 0 if the centers explain as much as that one, negative if less. NaN if all
        rows are equal.
    """

    theta: Any
    labels: Array
    weight: Floats
    residuals: Floats
    objective: float
    explained_variance: float
    _rows: LabelledRows

    @property
    def Z(self) -> Any:
        """Memberships (n, k), CSR: one 1 in every row that has a center.

        One column per center. zero_rows="separate" makes a cluster without a center: a column of
        `membership_`, but not of this Z.
        """
        return one_hot(self.labels, self.theta.shape[0])

    @property
    def Y(self) -> Any:
        """DZ(ZᵀDZ)⁻¹ (n, k), CSR: each column has the weights of a cluster, which sum to 1."""
        mass, assigned = self.mass, self.labels >= 0
        Y = self.Z
        share = self.weight[assigned] / np.where(mass > 0, mass, 1.0)[self.labels[assigned]]
        return sp.csr_array((share, Y.indices, Y.indptr), shape=Y.shape)

    @property
    def mass(self) -> Floats:
        """W (k,): the diagonal of ZᵀDZ, the weights of the clusters."""
        assigned, k = self.labels >= 0, self.theta.shape[0]
        return exact_totals(self.weight[assigned], self.labels[assigned], k)

    @property
    def means(self) -> Floats:
        """YᵀX (k, d): the best Θ for this Z; 0 for a cluster without weight.

        If the fit has converged, it equals Θ up to rounding.
        """
        stats = self._rows.stats()
        return np.where(stats.weight[:, None] > 0, stats.mean, 0.0)

    @property
    def reconstruction(self) -> Any:
        """ZΘ (n, d): every row replaced by its center; CSR if Θ is. Rows without one are 0."""
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
    """Return a fitted model and rows as X ≈ ZΘ.

    X may be the rows of the fit or others, which are assigned as by `predict`. The model may be any
    that has centers in the space of X, including scikit-learn's. For `SphericalKMeans` the rows are
    scaled to unit length; for a pipeline they are transformed by all steps but the last. Residuals
    are squared distances under any metric of `KMedoids`. Of rows with gaps (missing="partial"),
    residuals and variances are those of the values that are there.

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
        instead = "model.membership_" if hasattr(model, "membership_") else "model.predict(X)"
        raise ValueError(
            f"factorize() needs centers in the space of X, and {type(model).__name__} has none. "
            f"Its memberships are {instead}."
        )
    rows = label_rows(model, X, sample_weight)
    dense = theta.toarray() if sp.issparse(theta) else theta
    unit = square_scale(largest_magnitude(rows.rows, dense))
    small = replace(rows, rows=scaled(rows.rows, unit))
    residuals = small.squares_to(scaled(dense, unit))
    left = exact_total(residuals, rows.weight)
    geometry = capabilities_of(model).geometry or EUCLIDEAN
    if rows.gappy is None:
        together = replace(small, labels=np.minimum(rows.labels, 0), k=1).stats()
        whole = float(geometry.cost_of(together)[0])
    else:
        whole = cost_of_one(scaled(rows.gappy, unit), rows.weight)
    left = geometry.price * left
    with np.errstate(over="ignore", under="ignore"):  # squares of very large numbers overflow
        residuals = residuals / unit / unit
        cost = float(np.float64(left) / unit / unit)
    return Factorization(
        theta=theta,
        labels=rows.labels,
        weight=rows.weight,
        residuals=residuals,
        objective=cost,
        explained_variance=1 - left / whole if whole > 0 else np.nan,
        _rows=rows,
    )
