"""`CategoryColumn`: a category for each row, as codes of a list of texts."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.array_types import Ints

MANY_CATEGORIES = 20  # allowed in a column of any length, if most of them occur twice
MAX_CATEGORIES = 1000
MIN_ROWS_PER_CATEGORY = 10  # on average, in a column with many


@dataclass(frozen=True, slots=True, eq=False)
class CategoryColumn:
    """A category for each row.

    Attributes
    ----------
    values : tuple of str
        The categories.
    codes : ndarray of shape (n,)
        The index of each row's category in `values`; −1 where it is missing.
    """

    values: tuple[str, ...]
    codes: Ints

    @property
    def are_categories(self) -> bool:
        """True if there are at least two values, and few enough to be of any help."""
        n_known, count = int((self.codes >= 0).sum()), len(self.values)
        limit = max(MANY_CATEGORIES, min(MAX_CATEGORIES, n_known // MIN_ROWS_PER_CATEGORY))
        return 2 <= count <= limit and 2 * count <= n_known
