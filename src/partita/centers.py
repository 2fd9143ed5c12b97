"""`Centers`: centers relative to an origin."""

from __future__ import annotations

from dataclasses import dataclass

from partita._common.array_types import Floats


@dataclass(frozen=True, slots=True)
class Centers:
    """Centers (k, d) relative to an origin (d): a point's distance is ‖(x − origin) − values‖."""

    values: Floats
    origin: Floats

    def about(self, origin: Floats) -> Floats:
        """The values relative to another origin."""
        if origin is self.origin:
            return self.values
        return self.values + (self.origin - origin)

    @property
    def plain(self) -> Floats:
        """The centers in the coordinates of the data."""
        return self.values + self.origin
