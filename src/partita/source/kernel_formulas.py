"""Formulas of kernels, by +, −, · and / alone: their bits do not depend on the machine."""

from __future__ import annotations

import math

import numpy as np

from partita._common.array_types import Floats
from partita._kernels import kernels

MAX_WHOLE_DEGREE = 64  # of polynomials that are multiplied out
STRIP_ROWS = 32  # of a tile, for formulas of many operations


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

    `squares` is γ‖x − y‖² and is overwritten; a and b are γ‖x‖² + c of rows and columns. With
    m = (a + b) / 2, h = (a − b) / 2 and q = m − squares / 2, the result is minus
    Σ C(p, r)·m^(p−r)·h^r over even r ≥ 2, and (squares / 2)·Σ m^i·q^(p−1−i).
    """
    for i in range(0, len(squares), STRIP_ROWS):  # so that all of it stays in cache
        strip = slice(i, i + STRIP_ROWS)
        _polynomial_strip(squares[strip], a[strip, None], b, degree)
    return squares


def _polynomial_strip(half: Floats, a: Floats, b: Floats, degree: int) -> None:
    half *= 0.5
    if degree > 1:
        mean, gap = a + b, a - b
        mean *= 0.5
        gap *= 0.5
        gap *= gap
        inner = mean - half
        half *= _mixed_powers(mean, inner, degree - 1)
        half += _even_terms(mean, gap, degree)
    np.negative(half, out=half)


def _mixed_powers(mean: Floats, inner: Floats, degree: int) -> Floats:
    """Σ mean^i·inner^(degree−i), by Horner's rule."""
    total, power = mean + inner, mean
    for _ in range(degree - 1):
        power = power * mean
        total *= inner
        total += power
    return total


def _even_terms(mean: Floats, square: Floats, degree: int) -> Floats:
    """Σ C(p, r)·mean^(p−r)·square^(r/2) over even r ≥ 2, by Horner's rule."""
    highest = degree - degree % 2
    if highest == 2:
        return np.asarray(square * mean * 3.0 if degree == 3 else square)
    power, mean_square = (mean if degree % 2 else np.ones_like(mean)), mean * mean
    total = math.comb(degree, highest) * power
    for r in range(highest - 2, 0, -2):
        power = power * mean_square
        total *= square
        total += math.comb(degree, r) * power
    total *= square
    return np.asarray(total)
