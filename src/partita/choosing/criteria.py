"""Criteria of a partition, under their documented name."""

from partita.metrics.criteria import *  # noqa: F403
from partita.metrics.criteria import __all__ as __all__
