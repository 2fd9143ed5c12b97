"""Twofold (double-double) arithmetic: a double and its rounding error."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Floats

Twofold = tuple[Floats, Floats]

# Overflow gives infinity without a warning, as in the compiled kernels.
quiet = np.errstate(over="ignore", invalid="ignore")


def two_sum(a: Floats, b: Floats) -> Twofold:
    """a + b = head + tail, exactly."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def fast_two_sum(a: Floats, b: Floats) -> Twofold:
    """a + b = head + tail, exactly, for |a| ≥ |b|."""
    s = a + b
    return s, b - (s - a)


def two_prod(a: Floats, b: Floats) -> Twofold:
    """a·b = head + tail, exactly (Dekker and Veltkamp; no fused operation needed)."""
    p = a * b
    ca, cb = 134217729.0 * a, 134217729.0 * b
    ah, bh = ca - (ca - a), cb - (cb - b)
    al, bl = a - ah, b - bh
    return p, al * bl - (((p - ah * bh) - al * bh) - ah * bl)


def add(a: Twofold, b: Twofold) -> Twofold:
    """The sum of two twofold numbers."""
    s, e = two_sum(a[0], b[0])
    return fast_two_sum(s, e + (a[1] + b[1]))


def multiply(a: Twofold, b: Twofold) -> Twofold:
    """The product of two twofold numbers."""
    p, e = two_prod(a[0], b[0])
    return fast_two_sum(p, e + (a[0] * b[1] + a[1] * b[0]))


def divide(a: Twofold, b: Twofold) -> Twofold:
    """The quotient of two twofold numbers."""
    q = a[0] / b[0]
    back = multiply(b, (q, np.zeros_like(q)))
    rest = add(a, (-back[0], -back[1]))
    return fast_two_sum(q, rest[0] / b[0])
