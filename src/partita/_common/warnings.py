"""Warnings that point at the user's line, however deep in the package they arise."""

from __future__ import annotations

import sys
import warnings

_PASSED_OVER = ("partita", "sklearn")  # scikit-learn wraps methods and calls us from pipelines


class IndefiniteKernelWarning(UserWarning):
    """A kernel is not positive semidefinite: the objective may rise."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame that is neither ours nor scikit-learn's."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _PASSED_OVER:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
