"""Passes over rows as bytes, in NumPy: what bytes leave open is decided by D64.

The bounds are those of byte_book.hpp, in double. Rows and centers are rounded as there, so that a
filter which loses a label loses it here, too.
"""

from __future__ import annotations

import numpy as np

from partita._common.array_types import Array, Floats, Ints
from partita._kernels.assignment import Codebook, assign, d64, exact_scale
from partita._kernels.crew import Crew
from partita._kernels.exact_sums import Sums, move_rows
from partita._kernels.twofold import quiet

PANEL_ROWS = 32
SEGMENT_ROWS = 256  # that calls must not divide
MAX_CODE = 127
MAX_BYTE_FEATURES = 1 << 16  # sums of their products stay within 32 bits
_BLUR = 2.0**-50  # of what is rounded in double


def has_byte_products() -> bool:
    """Return True if the machine multiplies bytes faster than floats."""
    return False


class ByteRows:
    """n rows as bytes, relative to pivots (count, d), which are relative to `origin` (d)."""

    def __init__(self, n: int, origin: Floats, pivots: Floats) -> None:
        d = len(origin)
        if not (0 < n < 1 << 31 and 0 < d <= MAX_BYTE_FEATURES):
            raise ValueError("bytes: too many rows or features")
        self.n, self.origin, self.pivots = n, origin, pivots
        self.codes: Floats = np.zeros((n, d))  # in the order of `order`
        self.by_row = False  # laid out for passes with bounds; here, both layouts are the same
        self.order: Ints = np.full(n, -1, np.int64)
        count = -(-n // PANEL_ROWS)
        self.pivot: Ints = np.zeros(count, np.int64)  # of each panel
        self.step: Floats = np.ones(count)
        self.error: Floats = np.zeros(count)  # longest y − step·q of the rows of each panel
        self.reach: Floats = np.zeros(count)  # longest step·q


class ByteBook:
    """Centers (k, d) relative to `origin` (d) as bytes, for some rows.

    With groups, as for `Codebook`, codes are relative to the pivot of the rows, for distances.
    """

    def __init__(
        self,
        bytes: ByteRows,
        centers: Floats,
        origin: Floats,
        members: Ints | None = None,
        sizes: Ints | None = None,
        crew: Crew | None = None,
    ) -> None:
        self.centers, self.origin, self.is_grouped = centers, origin, members is not None
        if self.is_grouped and len(bytes.pivots) != 1:
            raise ValueError("byte book: centers in groups need rows about one pivot")
        moved = centers + (origin - bytes.origin)
        middle = bytes.pivots[0] if self.is_grouped else np.median(moved, axis=0)
        away = moved - middle
        step = np.abs(away).max(axis=1) / MAX_CODE
        step[step == 0] = 1.0
        self.codes = np.rint(away / step[:, None])
        self.step = step
        drift = _length(origin - bytes.origin)
        self.size = np.asarray(_length(centers) + drift)
        self.lost = np.asarray(_length(away - self.codes * step[:, None]) + _BLUR * self.size)
        self.apart = _length(moved[None] - bytes.pivots[:, None])  # (pivots, k)
        self.drift = float(drift)


def widen_halves(bits: Array, out: Floats) -> None:
    """Set `out` to the floats that the bits of halves (n, d) stand for."""
    if out.shape != bits.shape:
        raise ValueError("widen_halves: shapes do not fit")
    out[:] = bits.view(np.float16)


def as_floats(narrow: Array) -> Floats:
    """Return the values of bytes, or of the bits of halves."""
    return (narrow.view(np.float16) if narrow.dtype == np.uint16 else narrow).astype(np.float32)


def _length(vectors: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("...d,...d->...", vectors, vectors)))


@quiet
def round_rows(
    bytes: ByteRows, rows: Floats, base: int = 0, scale: float = 1.0, crew: Crew | None = None
) -> None:
    """Round the rows from row `base` on, in their order; `scale` brings them into float's range."""
    places = slice(base, base + len(rows))
    bytes.order[places] = np.arange(places.start, places.stop)
    bytes.pivot[base // PANEL_ROWS : -(-places.stop // PANEL_ROWS)] = 0
    _round(bytes, rows, base, places)


@quiet
def round_in_order(
    bytes: ByteRows,
    rows: Floats,
    order: Ints,
    pivot: Ints,
    scale: float = 1.0,
    crew: Crew | None = None,
) -> None:
    """Round all rows in an order; each panel about the pivot (n,) of its middle row."""
    bytes.order[:] = order
    first = np.arange(0, len(order), PANEL_ROWS)
    last = np.minimum(first + PANEL_ROWS, len(order)) - 1
    bytes.pivot[:] = pivot[order[(first + last) // 2]]
    _round(bytes, rows, 0, slice(0, len(order)))


def _round(bytes: ByteRows, rows: Floats, base: int, places: slice) -> None:
    for first in range(places.start, places.stop, PANEL_ROWS):
        last, p = min(first + PANEL_ROWS, places.stop), first // PANEL_ROWS
        x = np.asarray(rows[bytes.order[first:last] - base], dtype=np.float64)
        y = (x - bytes.origin) - bytes.pivots[bytes.pivot[p]]
        largest = float(np.abs(y).max())
        step = largest / MAX_CODE if 0 < largest < np.inf else 1.0
        codes = np.rint(y / step)
        bytes.codes[first:last], bytes.step[p] = codes, step
        bytes.error[p] = _length(y - step * codes).max()
        bytes.reach[p] = _length(step * codes).max()


def turn_codes(bytes: ByteRows, by_row: bool, crew: Crew | None = None) -> None:
    """Lay out the codes row after row, for passes with bounds, or in the order of the tiles."""
    bytes.by_row = by_row


@quiet
def score_bounds(bytes: ByteRows, book: ByteBook, places: slice) -> tuple[Floats, Floats]:
    """Return the scores (places, k) of rows and centers, from below and from above."""
    low = np.empty((places.stop - places.start, len(book.centers)))
    high = np.empty_like(low)
    d64_error = 4.0 * (len(bytes.origin) + 8) * 2.0**-53
    for first in range(places.start, places.stop, PANEL_ROWS):
        last, p = min(first + PANEL_ROWS, places.stop), first // PANEL_ROWS
        pivot = bytes.pivot[p]
        half = 0.5 * book.apart[pivot] ** 2
        product = bytes.codes[first:last] @ book.codes.T  # exact: integers
        score = half - bytes.step[p] * book.step * product
        size = _length(bytes.pivots[pivot]) + bytes.reach[p] + book.drift
        error = (
            bytes.reach[p] * book.lost
            + (bytes.error[p] + _BLUR * size) * (book.apart[pivot] + 2 * _BLUR * book.size)
            + d64_error * (size**2 + book.size**2)
            + 2.0**-20 * (half + bytes.reach[p] * book.apart[pivot])
        )
        rows = slice(first - places.start, last - places.start)
        low[rows], high[rows] = score - error, score + error
    return low, high


@quiet
def candidates_of(bytes: ByteRows, book: ByteBook, places: slice) -> Ints:
    """True (places, k) for the centers that bytes do not rule out for a row."""
    low, high = score_bounds(bytes, book, places)
    return np.asarray(~(low > high.min(axis=1)[:, None]))  # NaN: not ruled out


def assign_bytes(
    bytes: ByteRows,
    book: ByteBook,
    rows: Array,
    base: int,
    labels: Ints,
    sums: Sums | None = None,
    times: Ints | None = None,
    weight: Floats | None = None,
    crew: Crew | None = None,
) -> list[int]:
    """Label the rows from row `base` on; move changed rows in the sums.

    Rows are floats, doubles, bytes, or the bits of halves as 16-bit integers. Return the counts:
    rows moved, rows with several candidates, candidates of these.
    """
    if rows.dtype in (np.uint8, np.uint16):
        rows = as_floats(rows)
    order = bytes.order[base : base + len(rows)] - base
    if book.is_grouped or bytes.by_row:
        raise ValueError(
            "assign_bytes: codes in the order of tiles, a book without groups expected"
        )
    if not ((order >= 0) & (order < len(rows))).all():
        raise ValueError("assign_bytes: the rows were not rounded, or are in another order")
    left = candidates_of(bytes, book, slice(base, base + len(rows)))
    scale, before = exact_scale(book.centers), labels.copy()
    distance = d64(rows[order], book.centers, book.origin, scale)
    labels[order] = np.where(left, distance, np.inf).argmin(axis=1)
    lost = ~np.isfinite(distance).all(axis=1)
    if lost.any():  # beyond the range of the filter
        plain = labels.copy()
        assign(Codebook(book.centers, book.origin), rows, plain)
        labels[order[lost]] = plain[order[lost]]
    if sums is not None:
        move_rows(sums, rows, before, labels, times, weight)
    count = left.sum(axis=1)
    several = count > 1
    return [int((before != labels).sum()), int(several.sum()), int(count[several].sum())]
