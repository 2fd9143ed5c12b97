"""Formulas of kernels, by +, −, · and / alone: their bits do not depend on the machine."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats
from partita._kernels import kernels

MAX_WHOLE_DEGREE = 64  # of polynomials that are multiplied out


def is_whole_degree(degree: float) -> bool:
    """Return whether a polynomial of this degree is computed by multiplications."""
    return float(degree).is_integer() and 1 <= degree <= MAX_WHOLE_DEGREE


def exponential(pairs: Floats, factor: float) -> Floats:
    """exp(factor·pairs), in place."""
    pairs *= factor
    kernels.exponentials(pairs)
    return pairs


def exponential_less_one(pairs: Floats, factor: float) -> Floats:
    """exp(factor·pairs) − 1, in place; accurate near 0."""
    pairs *= factor
    kernels.exponentials_less_one(pairs)
    return pairs


def hyperbolic_tangent(values: Floats) -> Floats:
    """tanh x = −u / (2 + u) for x > 0, with u = exp(−2x) − 1."""
    lost = exponential_less_one(np.abs(values), -2.0)
    return np.copysign(lost / (2.0 + lost), values)


def power(base: Floats, degree: float) -> Floats:
    """base^degree; by squaring if the degree is whole."""
    if not is_whole_degree(degree):
        return np.asarray(np.power(base, degree))
    out, square, rest = None, base, int(degree)
    while True:
        if rest & 1:
            out = square if out is None else out * square
        rest >>= 1
        if not rest:
            assert out is not None
            return out
        square = square * square


def polynomial_closeness(squares: Floats, a: Floats, b: Floats, degree: int) -> Floats:
    """Return −½‖φ(x) − φ(y)‖² for k = q^p, where nothing cancels, however far the origin is.

    `squares` is γ‖x − y‖²; a and b are γ‖x‖² + c of rows and columns. With m = (a + b) / 2 and
    h = (a − b) / 2, q = m − squares / 2, and the result is minus
    Σ C(p, r)·m^(p−r)·h^r over even r ≥ 2, and (squares / 2)·Σ m^i·q^(p−1−i).
    """
    half = 0.5 * squares
    mean, gap = 0.5 * (a[:, None] + b), 0.5 * (a[:, None] - b)
    inner = mean - half
    total, mean_power = np.ones_like(mean), np.ones_like(mean)
    for _ in range(degree - 1):
        mean_power *= mean
        total = total * inner + mean_power
    total *= half
    if degree > 1:
        total += _even_terms(mean, gap * gap, degree)
    return np.negative(total, out=total)


def _even_terms(mean: Floats, square: Floats, degree: int) -> Floats:
    """Σ C(p, r)·mean^(p−r)·square^(r/2) over even r ≥ 2, by Horner's rule."""
    highest = degree - degree % 2
    power, mean_square = (mean if degree % 2 else np.ones_like(mean)), mean * mean
    total = math.comb(degree, highest) * power
    for r in range(highest - 2, 0, -2):
        power = power * mean_square
        total = total * square + math.comb(degree, r) * power
    return np.asarray(total * square)
