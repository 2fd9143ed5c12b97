"""Starting points: functions (source, k, rng, memory) -> centers (k, d) in the data's coordinates.

`memory` is the number of bytes that a start may take beyond the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from partita._common.array_types import Floats
from partita.init.plusplus import parallel, plusplus
from partita.init.random_starts import box, forgy, random_partition
from partita.init.warm_start import minibatch_start
from partita.source.protocol import Source

Start = Callable[[Source, int, np.random.Generator, float], Floats]

STARTS: dict[str, Start] = {
    "k-means++": lambda source, k, rng, memory: plusplus(source, k, rng, memory=memory)[0],
    "k-means||": lambda source, k, rng, memory: parallel(source, k, rng, memory),
    "mini-batch": minibatch_start,
    "random": lambda source, k, rng, memory: forgy(source, k, rng),  # scikit-learn's name
    "forgy": lambda source, k, rng, memory: forgy(source, k, rng),
    "box": lambda source, k, rng, memory: box(source, k, rng),
    "random-partition": lambda source, k, rng, memory: random_partition(source, k, rng),
}
