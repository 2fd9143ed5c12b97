"""Sums that are rounded once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats, Ints
from partita._kernels import kernels
from partita._kernels.data_survey import DIGITS, POINT

FSUM_MAX_VALUES = 1024  # above it, the kernel is faster
MAX_POWER = 1000  # of two, at which doubles keep all their digits


def exact_total(values: Floats, weight: Floats | None = None) -> float:
    """Σ of values (n,), or Σ weight·values, rounded once: the same bits in any order.

    Products are not rounded before they are added, so a weight of 3 equals three rows, and a weight
    may be split. A weight of 0 counts nothing, even of inf. inf beyond the largest double; nan for
    inf − inf.

    >>> exact_total(np.array([1e16, 1.0, -1e16])), exact_total(np.array([0.1]), np.array([3.0]))
    (1.0, 0.30000000000000004)
    """
    if weight is None and len(values) < FSUM_MAX_VALUES:
        try:
            return math.fsum(values.tolist())
        except (OverflowError, ValueError):  # a partial sum may overflow where the total does not
            pass
    return float(exact_totals(values, None, 1, weight)[0])


def exact_totals(
    values: Floats, labels: Ints | None, k: int, weight: Floats | None = None
) -> Floats:
    """`exact_total` of the values of each label 0…k−1, (k,); 0 for a label without values.

    Takes 1 KiB of memory per label.
    """
    values = np.ascontiguousarray(values, dtype=np.float64)
    if weight is not None:
        weight = np.ascontiguousarray(weight, dtype=np.float64)
    if labels is not None:
        labels = np.ascontiguousarray(labels, dtype=np.int32)
    digits, limits = _digits_and_limits(values, labels, k, weight)
    return _rounded(digits) if limits is None else np.where(limits == 0, _rounded(digits), limits)


def _digits_and_limits(
    values: Floats, labels: Ints | None, k: int, weight: Floats | None
) -> tuple[Ints, Floats | None]:
    """Return the exact sums of finite values, and the sums of the others if there are any."""
    digits = np.zeros((k, DIGITS), np.int64)
    finite = np.isfinite(values)
    if finite.all():
        kernels.exact_sum(values, digits, weight, labels)
        return digits, None
    kernels.exact_sum(np.where(finite, values, 0.0), digits, weight, labels)
    beyond = ~finite if weight is None else ~finite & (weight > 0)
    label = np.zeros(len(values), np.int32) if labels is None else labels
    limits = np.zeros(k)
    with np.errstate(invalid="ignore"):
        np.add.at(limits, label[beyond], values[beyond])
    return digits, limits


def total_of_digits(digits: Ints) -> float:
    """Return the sum of what the rows (m, 136) of digits stand for, rounded once."""
    return float(_rounded(digits.sum(axis=0, keepdims=True))[0])


@dataclass(frozen=True, slots=True)
class PartialSums:
    """Sums of a part of the values of k labels, not yet rounded; parts add up in any order.

    >>> (PartialSums.of(np.array([1e16])) + PartialSums.of(np.array([1.0, -1e16]))).totals()
    array([1.])
    """

    wholes: tuple[int, ...]  # (k,) units of 2^-POINT
    limits: Floats  # (k,) sums of the values that are not finite

    @classmethod
    def of(
        cls, values: Floats, labels: Ints | None = None, k: int = 1, weight: Floats | None = None
    ) -> PartialSums:
        """Add up doubles (n,), or weight·values, by label."""
        digits, limits = _digits_and_limits(values, labels, k, weight)
        return cls(tuple(_wholes(digits, 0)), np.zeros(k) if limits is None else limits)

    def __add__(self, other: PartialSums) -> PartialSums:
        wholes = tuple(a + b for a, b in zip(self.wholes, other.wholes, strict=True))
        with np.errstate(invalid="ignore"):
            return PartialSums(wholes, self.limits + other.limits)

    def joined(self, other: PartialSums) -> PartialSums:
        """Return these sums, followed by others."""
        limits = np.concatenate([self.limits, other.limits])
        return PartialSums(self.wholes + other.wholes, limits)

    def totals(self) -> Floats:
        """Return the sums (k,), each rounded once: those of `exact_totals` of all values."""
        rounded = np.array([_scaled(whole, -POINT) for whole in self.wholes])
        return np.where(self.limits == 0, rounded, self.limits)


class LongSums:
    """Sums (k, d) of the columns of rows by label, as long integers; rows may come in blocks."""

    def __init__(self, k: int, d: int) -> None:
        self._digits = np.zeros((d, k, DIGITS), np.int64)

    def add(self, rows: Floats, labels: Ints, weight: Floats) -> None:
        """Add weight·rows, which must be finite, without rounding."""
        for digits, column in zip(self._digits, rows.T, strict=True):
            kernels.exact_sum(np.ascontiguousarray(column), digits, weight, labels)

    def totals(self) -> Floats:
        """Return the sums (k, d), each rounded once."""
        return np.stack([_rounded(digits) for digits in self._digits], axis=1)

    def parts(self) -> PartialSums:
        """Return the sums as a part of those of all rows, column by column."""
        wholes = [whole for digits in self._digits for whole in _wholes(digits, 0)]
        return PartialSums(tuple(wholes), np.zeros(len(wholes)))


def _rounded(digits: Ints) -> Floats:
    """Return the doubles (k,) next to the exact sums."""
    places = np.nonzero(digits)[1]
    lowest = int(places.min()) if len(places) else 0
    wholes = _wholes(digits, lowest)
    return np.array([_scaled(whole, 32 * lowest - POINT) for whole in wholes])


def _wholes(digits: Ints, lowest: int) -> list[int]:
    """Return the exact sums (k,) in units of the digit `lowest`, below which all are 0."""
    rows, places = np.nonzero(digits)
    wholes = [0] * len(digits)
    for row, place, digit in zip(
        rows.tolist(), (places - lowest).tolist(), digits[rows, places].tolist(), strict=True
    ):
        wholes[row] += digit << (32 * place)
    return wholes


def _scaled(whole: int, power: int) -> float:
    """Return whole·2^power, rounded once."""
    bits = whole.bit_length()
    if power > -MAX_POWER and max(bits, bits + power) < MAX_POWER:  # nothing leaves the range
        return math.ldexp(float(whole), power)
    try:
        return (whole << max(power, 0)) / (1 << max(-power, 0))
    except OverflowError:
        return math.inf if whole > 0 else -math.inf
