"""Kernels: inner products and distances of rows in feature space."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from partita._common.array_types import Floats
from partita._common.exact_sum import exact_total
from partita._common.parameters import Got, must_be
from partita._common.threads import Workers
from partita.source import kernel_formulas as formulas
from partita.source.callable_kernel import call_own, call_pairs
from partita.source.kernel_rows import KernelRows, measure, squared_norms
from partita.source.unit_rows import unit_rows

DEFINITE_KERNELS = ("linear", "rbf", "laplacian", "cosine", "chi2")
EXPONENTIAL_KERNELS = {"rbf": "sqeuclidean", "laplacian": "manhattan", "chi2": "chi2"}
NONNEGATIVE_ROWS = ("chi2", "additive_chi2")
ENTRY_ROUNDINGS = 8  # of an inner product, in units of the last place


@dataclass(frozen=True, slots=True)
class KernelFunction:
    """A kernel by a name of scikit-learn, or a callable of two rows.

    Named kernels are sums over the features in order, in double precision, and formulas without
    functions of the machine: k(x, y) has the same bits wherever and with whatever it is computed.
    """

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)
    origin: Floats | None = None  # (d,) subtracted from rows first

    def about(self, origin: Floats) -> KernelFunction:
        """Return the kernel of rows moved by `origin`, if no distance changes by it."""
        return replace(self, origin=origin) if self._name == "linear" else self

    @property
    def definite(self) -> bool:
        """True if the kernel is known to be positive semidefinite."""
        if self._name == "polynomial":
            degree, coef0 = self._degree, self.params.get("coef0", 1)
            return degree.is_integer() and degree >= 1 and coef0 >= 0
        return self._name in DEFINITE_KERNELS

    @property
    def descends(self) -> bool:
        """True if no distance in feature space can be negative, so that no step raises J."""
        return self.definite or self._name == "additive_chi2"

    @property
    def _name(self) -> str:
        return self.metric if isinstance(self.metric, str) else ""

    @property
    def _degree(self) -> float:
        return float(self.params.get("degree", 3))

    @property
    def _multiplied_out(self) -> bool:
        return (
            self._name == "polynomial" and self.definite and formulas.is_whole_degree(self._degree)
        )

    def _gamma(self, d: int) -> float:
        default = 1.0 if self._name == "chi2" else 1.0 / d
        return float(self.params.get("gamma") or default)

    # --- rows -------------------------------------------------------------------------------------

    def place(self, X: Any, like: Any = None) -> Any:
        """Return rows as the kernel compares them; sparse or dense as the rows `like`, if given."""
        if like is not None and sp.issparse(like) != sp.issparse(X):
            X = X.toarray() if sp.issparse(X) else sp.csr_array(X)
        if self._name in NONNEGATIVE_ROWS:
            _check_nonnegative(X, self._name)
        if self._name == "cosine":
            with Workers(1) as workers:
                return unit_rows(X.astype(np.float64), workers)[0]
        if self.origin is None or not self.origin.any():
            return X
        return (X.toarray() if sp.issparse(X) else X) - self.origin

    def prepare(self, placed: Any, numbered: bool = False) -> KernelRows:
        """Return placed rows with what the kernel needs of each; `numbered`: they are the data."""
        rows = KernelRows.of(placed)
        if numbered and callable(self.metric):
            rows = replace(rows, numbers=np.arange(len(rows)))
        if self._multiplied_out or (sp.issparse(placed) and self._by_squares):
            return replace(rows, own=squared_norms(rows))
        if self._by_squares or self._name in ("laplacian", *NONNEGATIVE_ROWS):
            return rows
        return replace(rows, own=0.5 * self._own_products(rows))

    @property
    def _by_squares(self) -> bool:
        return self._name in ("linear", "cosine", "rbf")

    # --- pairs ------------------------------------------------------------------------------------

    def closeness(self, a: KernelRows, b: KernelRows) -> Floats:
        """Return −½‖φ(x) − φ(y)‖² (len(a), len(b)): inner products, up to a number per row.

        Nothing cancels in those of named kernels, except of the sigmoid.
        """
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return self._checked(self._closeness(a, b))

    def _closeness(self, a: KernelRows, b: KernelRows) -> Floats:
        gamma = self._gamma(b.values.shape[1])
        if self._name in EXPONENTIAL_KERNELS:
            pairs = measure(EXPONENTIAL_KERNELS[self._name], a, b)
            return formulas.exponential_less_one(pairs, -gamma)
        if self._name in ("linear", "cosine"):
            pairs = measure("sqeuclidean", a, b)
            return np.multiply(pairs, -0.5, out=pairs)
        if self._name == "additive_chi2":
            return np.negative(measure("chi2", a, b))
        if self._multiplied_out:
            coef0 = float(self.params.get("coef0", 1))
            pairs = measure("sqeuclidean", a, b)
            pairs *= gamma
            own = gamma * a.own + coef0, gamma * b.own + coef0
            return formulas.polynomial_closeness(pairs, *own, int(self._degree))
        pairs = self._inner(a, b)
        pairs -= a.own[:, None] + b.own
        return pairs

    def between(self, a: Any, b: Any = None) -> Floats:
        """Return the inner products (len(a), len(b)) of placed rows; of `a` with itself if None."""
        rows = KernelRows.of(a)
        columns = rows if b is None else KernelRows.of(b)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if sp.issparse(a) and self._name == "rbf":
                rows, columns = (replace(x, own=squared_norms(x)) for x in (rows, columns))
            return self._checked(self._inner(rows, columns))

    def _inner(self, a: KernelRows, b: KernelRows) -> Floats:
        if callable(self.metric):
            return call_pairs(self.metric, self.params, a, b)
        if self._name in EXPONENTIAL_KERNELS:
            pairs = measure(EXPONENTIAL_KERNELS[self._name], a, b)
            return formulas.exponential(pairs, -self._gamma(b.values.shape[1]))
        if self._name == "additive_chi2":
            return np.negative(measure("chi2", a, b))
        return self._of_products(measure("dot", a, b), b.values.shape[1])

    def _of_products(self, products: Floats, d: int) -> Floats:
        """Return k from the products of rows."""
        if self._name in ("linear", "cosine"):
            return products
        argument = self._gamma(d) * products + float(self.params.get("coef0", 1))
        if self._name == "sigmoid":
            return formulas.hyperbolic_tangent(argument)
        return formulas.power(argument, self._degree)

    def diagonal(self, a: Any) -> Floats:
        """Return the inner products (n,) of placed rows with themselves."""
        return self._checked(self._own_products(KernelRows.of(a)))

    def _own_products(self, rows: KernelRows) -> Floats:
        if callable(self.metric):
            return call_own(self.metric, self.params, rows)
        if self._name in EXPONENTIAL_KERNELS:
            return np.ones(len(rows))
        if self._name == "additive_chi2":
            return np.zeros(len(rows))
        with np.errstate(over="ignore", invalid="ignore"):
            return self._of_products(squared_norms(rows), rows.values.shape[1])

    def _checked(self, inner: Floats) -> Floats:
        if not np.isfinite(inner).all():
            raise self._not_finite()
        return inner

    def _not_finite(self) -> ValueError:
        return ValueError(
            f"kernel={self.metric!r} gave NaN or infinity for some rows. Scale the data, or "
            "use other parameters of the kernel."
        )

    # --- magnitudes, which do not depend on the order of rows -------------------------------------

    def reach(self, rows: KernelRows) -> float | None:
        """Return a bound of |closeness|; None if only all pairs can tell."""
        if self._name in EXPONENTIAL_KERNELS:
            return 1.0
        if self._name in ("cosine", "sigmoid"):
            return 2.5  # and rounding
        if self._name in ("linear", "additive_chi2"):
            bound = self._extent_bound(rows)
        elif self._multiplied_out:
            with np.errstate(over="ignore"):
                bound = 2.5 * float(self._own_products(rows).max())
        else:
            return None
        if not np.isfinite(bound):
            raise self._not_finite()
        return bound

    def _extent_bound(self, rows: KernelRows) -> float:
        values = rows.values
        low, high = values.min(axis=0), values.max(axis=0)
        if sp.issparse(values):
            low, high = low.toarray().ravel(), high.toarray().ravel()
        with np.errstate(over="ignore"):
            if self._name == "additive_chi2":
                return 2.0 * exact_total(high.astype(np.float64))
            extent = high.astype(np.float64) - low
            return exact_total(extent * extent)

    def noise(self, rows: KernelRows) -> float:
        """Return a bound of the rounding errors of what cancels in closeness."""
        own = float(np.abs(rows.own).max()) if rows.own.size else 0.0
        return ENTRY_ROUNDINGS * float(np.finfo(np.float64).eps) * own


def _check_nonnegative(X: Any, name: str) -> None:
    if sp.issparse(X):
        advice = "Use X.toarray()."
        raise must_be("X", f"dense with kernel={name!r}", Got("a sparse matrix"), advice)
    if X.size and X.min() < 0:
        got = Got(f"values down to {X.min():.3g}")
        raise must_be("X", f"without negative values with kernel={name!r}", got)
