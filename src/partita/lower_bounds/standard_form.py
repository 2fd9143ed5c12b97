"""The standard form of a problem: min ‖(I − Π)B‖² over projections Π that partitions define.

With s_i = √w_i and B_i = s_i(x_i − c), J of a partition is tr W − ⟨Π, W⟩, where W = BBᵀ and
Π_ij = s_i s_j / w(C) for rows i, j of the same cluster C, 0 otherwise. Π is a projection of rank k
with Πs = s. All bounds are proven for the numbers s and B (or W) as they are stored; the
`Conversion` accounts for the rounding that made them:

* centers and scales do not change partitions; scales are powers of two;
* J is monotone in the weights: if s_i² ≤ (1 + ε)w_i, then OPT ≥ OPT(s²)/(1 + ε);
* √OPT is the distance of B to a union of subspaces {ΠB = B}, so if B is E away from its exact
  value, √OPT ≥ √OPT(B) − ‖E‖;
* an error E of W changes ⟨I − Π, W⟩ by at most √n ‖E‖.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._common.exact_sum import exact_total
from partita._common.power_of_two import power_of_two
from partita._common.row_squares import row_squares
from partita.lower_bounds.problem import BoundProblem
from partita.lower_bounds.rounding import UNIT, gamma, norm

MAX_ROWS_TO_MERGE = 200_000  # above it, sorting rows to find equal ones takes seconds
MIN_ROOT = 2.0**-300  # of the largest √weight, below which a row is left out: J only falls
MAX_MAGNITUDE = 2.0**1000  # of rows as they are: differences of larger ones may overflow
LARGEST = float(np.finfo(np.float64).max)
SMALLEST = 2.0**-1074


@dataclass(frozen=True, slots=True)
class Conversion:
    """The way from a bound of the standard form to one of the problem that was given."""

    exponent: int = 0  # J of the standard form is 2^exponent times that of the problem
    distance_error: float = 0.0  # ‖E‖ of B
    absolute_error: float = 0.0  # of J, by errors of W
    weight_error: float = 0.0  # ε of s²

    def lower_bound(self, value: float) -> float:
        """Return a lower bound of the problem's optimum, ≥ 0 and finite."""
        value -= self.absolute_error
        if not value > 0:
            return 0.0
        root = math.sqrt(value) * (1 - 2 * UNIT) - self.distance_error
        if not root > 0:
            return 0.0
        value = root * root * (1 - 8 * UNIT) / (1 + self.weight_error)
        try:
            return max(0.0, math.nextafter(math.ldexp(value, -self.exponent), -math.inf))
        except OverflowError:
            return LARGEST


@dataclass(frozen=True)
class StandardProblem:
    """Rows B (n, d) or products W (n, n), with √weights s (n,) > 0."""

    k: int
    root: Floats  # (n,) s
    labels: Ints  # (n,) a guide
    rows: Floats | None = None  # (n, d) B
    gram: Floats | None = None  # (n, n) W, of which the lower triangle counts

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.root)

    def take(self, index: Ints) -> StandardProblem:
        """Return the problem of some rows: the optima of disjoint ones add up to at most OPT."""
        rows = None if self.rows is None else self.rows[index]
        gram = None if self.gram is None else self.gram[np.ix_(index, index)]
        return StandardProblem(self.k, self.root[index], self.labels[index], rows, gram)

    def total(self) -> float:
        """Return a lower bound of tr W."""
        if self.rows is not None:
            return exact_total(row_squares(self.rows)) * (1 - gamma(self.rows.shape[1] + 4))
        assert self.gram is not None
        return math.nextafter(exact_total(np.diag(self.gram).copy()), -math.inf)

    def products(self) -> tuple[Floats, float]:
        """Return W, and a bound of the Frobenius norm of its error."""
        if self.gram is not None:
            return self.gram, 0.0
        assert self.rows is not None
        # ‖ |B||B|ᵀ ‖ ≤ ‖B‖²
        return self.rows @ self.rows.T, gamma(self.rows.shape[1] + 2) * norm(self.rows) ** 2

    def costs(self) -> Floats:
        """Return the costs (n,) of the rows in the partition `labels`, not rigorous."""
        squares = np.bincount(self.labels, self.root**2, minlength=self.k)
        share = np.divide(1.0, squares, out=np.zeros_like(squares), where=squares > 0)
        if self.rows is not None:
            sums = np.zeros((len(squares), self.rows.shape[1]))
            np.add.at(sums, self.labels, self.rows * self.root[:, None])
            means = sums * share[:, None]
            return row_squares(self.rows - self.root[:, None] * means[self.labels])
        assert self.gram is not None
        member = np.zeros((self.n, len(squares)))
        member[np.arange(self.n), self.labels] = self.root
        to_mean = np.einsum("ic,ic->i", (self.gram @ member) * share, member)
        within = share * np.einsum("ic,ic->c", member, self.gram @ member)
        own = self.root**2 * share[self.labels]
        costs = np.diag(self.gram) - 2 * to_mean + own * within[self.labels]
        return np.asarray(np.maximum(costs, 0.0))


def standard_form(problem: BoundProblem) -> tuple[StandardProblem, Conversion]:
    """Return the standard form of a problem, equal rows merged, and the way back."""
    # weights in [0, 1), by a power of four, so that roots and sums stay within the doubles
    exponent = -2 * (math.frexp(float(problem.weight.max()))[1] // 2 + 1)
    weight = np.ldexp(np.asarray(problem.weight, dtype=np.float64), exponent)
    labels = np.unique(problem.labels, return_inverse=True)[1].reshape(-1) % problem.k
    if problem.rows is not None:
        rows = np.asarray(problem.rows, dtype=np.float64)
        first, weight, repeats = _merged(rows, weight)
        standard, conversion = _of_rows(problem.k, rows[first], weight, labels[first])
    else:
        assert problem.gram is not None
        gram = np.asarray(problem.gram, dtype=np.float64)
        standard, conversion = _of_gram(problem.k, gram, weight, labels)
        repeats = 1
    return standard, replace(
        conversion, exponent=conversion.exponent + exponent, weight_error=gamma(repeats + 8)
    )


def _merged(rows: Floats, weight: Floats) -> tuple[Ints, Floats, int]:
    """Return the first of equal rows, their total weight, and the largest number of equal rows."""
    if len(rows) > MAX_ROWS_TO_MERGE:
        return np.arange(len(rows)), weight, 1
    _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    order = np.argsort(first)  # groups in the order of their first rows
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    counts = np.bincount(group)
    merged = np.asarray(np.bincount(place[group], weight), dtype=np.float64)
    return first[order], merged, int(counts.max())


def _kept(weight: Floats) -> Ints:
    """Return the rows whose weight is not negligible: without the others J only falls."""
    return np.flatnonzero(weight > MIN_ROOT * MIN_ROOT)


def _of_rows(
    k: int, rows: Floats, weight: Floats, labels: Ints
) -> tuple[StandardProblem, Conversion]:
    kept = _kept(weight)
    if len(kept) < len(weight):
        rows, weight, labels = rows[kept], weight[kept], labels[kept]
    # Values near the end of the range are brought down first; what underflows is below the
    # smallest double, and accounted for.
    before = 0.25 if np.abs(rows).max(initial=0.0) > MAX_MAGNITUDE else 1.0
    rows, share = rows * before, weight / weight.sum()
    center = share @ rows
    center = center + share @ (rows - center)  # of rows far from 0, the first has few digits
    centered = rows - center
    after = power_of_two(float(np.abs(centered).max(initial=0.0)))
    root = np.sqrt(weight)
    scaled = root[:, None] * (centered * after)
    # of each entry, a difference and a product are rounded
    lost = 4 * SMALLEST * max(after, 1.0) * math.sqrt((scaled.size + 1) * max(weight.max(), 1.0))
    exponent = 2 * (math.frexp(before * after)[1] - 1)
    conversion = Conversion(exponent, gamma(4) * norm(scaled) + lost)
    return StandardProblem(k, root, labels, rows=scaled), conversion


def _of_gram(
    k: int, gram: Floats, weight: Floats, labels: Ints
) -> tuple[StandardProblem, Conversion]:
    kept = _kept(weight)
    if len(kept) < len(weight):
        gram, weight, labels = gram[np.ix_(kept, kept)], weight[kept], labels[kept]
    before = power_of_two(float(np.abs(gram).max(initial=0.0)))
    gram, share, root = gram * before, weight / weight.sum(), np.sqrt(weight)
    # K_il − r_i − r_l has the same J for every r; this r moves the origin to the mean
    to_mean = gram @ share
    shift = to_mean - 0.5 * (share @ to_mean)
    outer = root[:, None] * root
    products = (gram - (shift[:, None] + shift)) * outer
    size = norm(gram * outer) + 2.0 * norm(shift[:, None] * outer)
    lost = 4 * SMALLEST * max(before, 1.0) * len(root) * max(float(weight.max()), 1.0)
    error = math.sqrt(len(root)) * (gamma(6) * size + lost)
    conversion = Conversion(math.frexp(before)[1] - 1, 0.0, error)
    return StandardProblem(k, root, labels, gram=products), conversion
