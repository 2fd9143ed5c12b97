"""Why something is not in a report."""

from __future__ import annotations


class NotApplicable(Exception):
    """It does not apply to this kind of model, or to these rows; the message says why."""
