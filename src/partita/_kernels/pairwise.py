"""Measures between rows, and the exponential of doubles, in NumPy."""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats
from partita._kernels.crew import Crew
from partita._kernels.twofold import quiet

PANEL_ROWS = 64

LOWEST_EXPONENT, HIGHEST_EXPONENT = -746.0, 710.0  # beyond: 0 and infinity
LOG2_E = float.fromhex("0x1.71547652b82fep+0")
LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")  # 42 bits: its product with k is exact
LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")
LOWEST_LESS_ONE = -64.0  # eˣ − 1 is −1 long before
ROUNDER = float.fromhex("0x1.8p52")  # added to a small number, it rounds to an integer
EXP_TERMS = tuple(  # of q(r) = (eʳ − 1 − r) / r², the highest power first
    float.fromhex(term)
    for term in (
        "0x1.1f72fc74cb69cp-29", "0x1.af4ddd87988f4p-26", "0x1.27e4db67b358ep-22",
        "0x1.71de023754ddep-19", "0x1.a01a01a6d780cp-16", "0x1.a01a01abe62e4p-13",
        "0x1.6c16c16c162d6p-10", "0x1.11111111100dfp-7", "0x1.5555555555556p-5",
        "0x1.5555555555557p-3", "0x1.0000000000000p-1",
    )
)  # fmt: skip


@quiet
def pair_columns(
    panels: Array, centers: Floats, metric: str, out: Floats, crew: Crew | None = None
) -> None:
    """Set out (k, n) to the measures of rows in panels (n / 64, d, 64) to centers (k, d).

    They are sums over the features in order, in the dtype of `out`: "dot" of products, "chi2" of
    (a − b)² / (a + b) (0 where a + b is 0), "sqeuclidean", "euclidean", and "manhattan".
    """
    n = out.shape[1]
    total = np.zeros((len(centers), len(panels) * PANEL_ROWS), out.dtype)
    for t in range(panels.shape[1]):
        a = panels[:, t].ravel().astype(out.dtype)
        total += _term(a, centers[:, t, None].astype(out.dtype), metric)
    out[:] = (np.sqrt(total) if metric == "euclidean" else total)[:, :n]


def _term(a: Floats, b: Floats, metric: str) -> Floats:
    if metric == "dot":
        return a * b
    gap = a - b
    if metric == "manhattan":
        return np.abs(gap)
    if metric != "chi2":
        return gap * gap
    size = a + b
    return np.divide(gap * gap, size, out=np.zeros_like(gap), where=size != 0)


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def exponentials(values: Floats, crew: Crew | None = None) -> None:
    """Replace every double x by eˣ, within 0.8 ulp: the bits do not depend on the machine.

    x = k·ln 2 + r; eʳ = 1 + r + r²·q(r). The rounding errors of r and of 1 + r are added to the
    small terms. Other functions for exponentials differ from machine to machine.
    """
    x = np.clip(values, LOWEST_EXPONENT, HIGHEST_EXPONENT)
    rounded = x * LOG2_E + ROUNDER
    k = rounded - ROUNDER
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    r_error = (high - r) - low
    q = np.full_like(x, EXP_TERMS[0])
    for term in EXP_TERMS[1:]:
        q = q * r + term
    total = 1 + r
    total_error = r - (total - 1)
    value = total + ((total_error + r_error) + (r * r) * q)
    # 2ᵏ as two factors: the first product is exact, the second may be subnormal
    biased = rounded.view(np.int64) - np.float64(ROUNDER).view(np.int64) + 2 * 1023
    half = biased >> 1
    values[...] = value * (half << 52).view(np.float64) * ((biased - half) << 52).view(np.float64)


@quiet
def exponentials_less_one(values: Floats, crew: Crew | None = None) -> None:
    """Replace every double x ≤ 0 by eˣ − 1 = 2ᵏ·(eʳ − 1) + (2ᵏ − 1), accurate near 0 too."""
    x = np.maximum(values, LOWEST_LESS_ONE)
    rounded = x * LOG2_E + ROUNDER
    k = rounded - ROUNDER
    high, low = x - k * LN2_HIGH, k * LN2_LOW
    r = high - low
    q = np.full_like(x, EXP_TERMS[0])
    for term in EXP_TERMS[1:]:
        q = q * r + term
    value = r + (((high - r) - low) + (r * r) * q)
    biased = rounded.view(np.int64) - np.float64(ROUNDER).view(np.int64) + 1023
    factor = (biased << 52).view(np.float64)
    values[...] = value * factor + (factor - 1)
