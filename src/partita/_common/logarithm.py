"""The natural logarithm, with the same bits on every machine."""

from __future__ import annotations

from decimal import Context, Decimal


def logarithm(value: float) -> float:
    """Return ln x by decimal arithmetic: `math.log` and `np.log` differ between processors.

    Slow (about 50 µs), so for a few numbers only.

    >>> logarithm(1.0), logarithm(0.0)
    (0.0, -inf)
    """
    return float(Context(prec=24, traps=[]).ln(Decimal(value)))
