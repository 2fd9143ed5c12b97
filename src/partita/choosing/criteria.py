"""The criteria of a partition, under the name that the documentation gives them."""

from partita.metrics.criteria import *  # noqa: F403
from partita.metrics.criteria import __all__ as __all__
