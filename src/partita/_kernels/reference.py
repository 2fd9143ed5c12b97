# ruff: noqa: F403
"""All kernels in NumPy: the definition that the compiled core must equal, and its fallback.

Every function has the name, the arguments and the result of its compiled twin. Speed does not
matter here: labels are the argmin of D64, sums are integers on a fixed grid.
"""

from __future__ import annotations

from partita._kernels.assignment import *
from partita._kernels.byte_tiles import *
from partita._kernels.crew import *
from partita._kernels.data_survey import *
from partita._kernels.equal_rows import *
from partita._kernels.exact_sums import *
from partita._kernels.gower import *
from partita._kernels.gram_sums import *
from partita._kernels.local_search import *
from partita._kernels.medoid_swaps import *
from partita._kernels.mixed_costs import *
from partita._kernels.neighbour_passes import *
from partita._kernels.pairwise import *
from partita._kernels.panel_passes import *
from partita._kernels.partial_pass import *
from partita._kernels.pruned_passes import *
from partita._kernels.seeding import *
from partita._kernels.silhouette_sums import *
from partita._kernels.sparse_rows import *
from partita._kernels.split_layers import *
from partita._kernels.transport import *


def instruction_sets() -> list[str]:
    """Return the names that `use_instruction_set` accepts."""
    return ["numpy"]


def instruction_set() -> str:
    """Return the name of the instruction set in use."""
    return "numpy"


def centers_per_tile() -> int:
    """Return how many centers the compiled kernels compare with a row at once."""
    return 8


def use_instruction_set(name: str) -> None:
    """Accept "numpy" only."""
    if name != "numpy":
        raise ValueError(f"`name` must be 'numpy' without the compiled core, got {name!r}.")
