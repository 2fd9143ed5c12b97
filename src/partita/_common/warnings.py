"""Warnings that point at the line of the user."""

from __future__ import annotations

import sys
import warnings

_SKIPPED_PACKAGES = ("partita", "sklearn")  # scikit-learn wraps methods and calls pipelines


class IndefiniteKernelWarning(UserWarning):
    """A kernel is not positive semidefinite: the objective may rise."""


class InterruptedFitWarning(UserWarning):
    """Ctrl-C ended a fit early; the model is the best so far."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first frame outside partita and scikit-learn."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] not in _SKIPPED_PACKAGES:
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
