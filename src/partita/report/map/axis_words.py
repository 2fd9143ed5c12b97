"""Principal axes in words: the features that grow or shrink along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita._common.array_types import Floats
from partita._common.number_text import percent_text
from partita.chart_layout.projection import ProjectionPlane
from partita.report.page_text import safe_line

_MAX_FEATURES = 3  # named along one axis
_MIN_LOADING = 0.5  # of the largest one
_NAME_LENGTH = 26  # characters
_ORDINALS = ("first", "second")


@dataclass(frozen=True, slots=True)
class AxisWords:
    """One axis as a caption says it: as many of the parts as there is room for."""

    name: str  # in a list of axes
    parts: tuple[str, ...] = ()  # "more flavanoids": the largest loading first
    share: str = ""  # "36 % of the variance"

    def caption(self, max_length: float, arrow: str = "→") -> str:
        """Return the caption with as many parts as fit into a number of characters.

        >>> words = AxisWords("first principal axis", ("more a", "less b"), "36 % of the variance")
        >>> words.caption(99), words.caption(12)
        ('→ more a, less b (36 % of the variance)', '→ more a')
        """
        share = f" ({self.share})" if self.share else ""
        for count in range(len(self.parts), 0, -1):
            text = f"{arrow} {', '.join(self.parts[:count])}"
            for candidate in (text + share, text):
                if len(candidate) <= max_length:
                    return candidate
        full = self.name + share
        return full if len(full) <= max_length else safe_line(self.name, max(8, int(max_length)))


def principal_words(plane: ProjectionPlane, names: Sequence[str]) -> tuple[AxisWords, AxisWords]:
    """Describe both axes of a principal plane by their loadings, in the units of the rows."""
    first, second = (
        AxisWords(
            plane.names[axis] if plane.names[axis].endswith("groups") else _principal(axis),
            _loading_words(plane.axes[axis], names),
            _share_words(plane, axis),
        )
        for axis in (0, 1)
    )
    return first, second


def _principal(axis: int) -> str:
    return f"{_ORDINALS[axis]} principal axis"


def feature_words(name: str, unit: str = "") -> AxisWords:
    """Describe the axis of one feature."""
    return AxisWords(safe_line(name, 60) + unit)


def _loading_words(loadings: Floats, names: Sequence[str]) -> tuple[str, ...]:
    size = np.abs(loadings)
    if not size.max() > 0:
        return ()
    order = np.argsort(-size, kind="stable")[:_MAX_FEATURES]
    return tuple(
        f"{'more' if loadings[t] > 0 else 'less'} {safe_line(names[t], _NAME_LENGTH)}"
        for t in order
        if size[t] >= _MIN_LOADING * size.max()
    )


def _share_words(plane: ProjectionPlane, axis: int) -> str:
    share = (plane.variance_share or (np.nan, np.nan))[axis]
    return f"{percent_text(share)} of the variance" if np.isfinite(share) else ""
