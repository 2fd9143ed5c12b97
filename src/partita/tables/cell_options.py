"""`CellOptions`: the cells of a file, as far as the user described them."""

from __future__ import annotations

from dataclasses import dataclass

SEPARATORS = (",", ".", " ", "'")  # of thousands; narrow spaces count as spaces, ’ as '


@dataclass(frozen=True, slots=True)
class CellOptions:
    """Numbers and missing values as the user says they are written; None: detect it."""

    decimal: str | None = None
    thousands: str | None = None
    missing: tuple[str, ...] = ()  # markers in addition to the usual ones, in lower case

    def allow(self, decimal: str, thousands: str) -> bool:
        """Return whether a column may have these separators; thousands may be "" for none."""
        is_thousands = thousands in ("", self.thousands) and decimal != self.thousands
        return self.decimal in (None, decimal) and (self.thousands is None or is_thousands)


CELLS_AS_DETECTED = CellOptions()
