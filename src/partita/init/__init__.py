"""Starting points: functions (source, k, rng) -> centers (k, d) in the data's coordinates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partita._common.array_types import Floats
from partita.init.box import box
from partita.init.forgy import forgy
from partita.init.parallel import parallel
from partita.init.plusplus import plusplus
from partita.init.random_partition import random_partition
from partita.init.warm_start import minibatch
from partita.source.blocks import Source

Start = Callable[[Source, int, np.random.Generator], Floats]

STARTS: dict[str, Start] = {
    "k-means++": lambda source, k, rng: plusplus(source, k, rng)[0],
    "k-means||": parallel,
    "mini-batch": minibatch,
    "random": forgy,  # scikit-learn's name
    "forgy": forgy,
    "box": box,
    "random-partition": random_partition,
}

__all__ = [
    "STARTS",
    "Start",
    "box",
    "forgy",
    "minibatch",
    "parallel",
    "plusplus",
    "random_partition",
]
