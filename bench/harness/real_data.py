"""Real data: files of the folder that PARTITA_DATA names, and how much faster to be on each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.generated_data import Array

_FILES = {
    "Birch1": "bkmeans/Birch1",
    "Birch3": "bkmeans/Birch3",
    "birch2": "gagolews_sipu/birch2",
    "worms_2": "gagolews_sipu/worms_2",
    "pla85900": "tsplib/pla85900",
    "pla33810": "tsplib/pla33810",
    "d18512": "tsplib/d18512",
    "usa13509": "tsplib/usa13509",
    "skin": "large/skin_segmentation",
    "Shuttle": "mlbench/mlbench_Shuttle",
    "Norm25": "bkmeans/Norm25-new",
    "letter": "hgmeans/letter",
    "pendigit": "hgmeans/pendigit",
    "Intrusion": "bkmeans/Intrusion",
    "landsat": "misc/landsat",
    "GloVe": "text/glove6B_100d_top50k",
    "MNIST": "large/mnist70000_uint8",
    "adverts": "sossdp/adv_std",
}


def _folder() -> Path | None:
    """The folder of the data sets, or None if PARTITA_DATA is not set."""
    given = os.environ.get("PARTITA_DATA")
    return Path(given) if given else None


@dataclass(frozen=True, slots=True)
class Real:
    """A data set by name, and a number of clusters."""

    name: str
    k: int

    def __str__(self) -> str:
        return f"{self.name}, K={self.k}"

    def missing(self) -> str:
        """The reason why the rows cannot be read; empty if they can."""
        if _folder() is None:
            return "PARTITA_DATA is not set"
        return "" if self._file.exists() else f"{self._file.name} is not in PARTITA_DATA"

    def rows(self) -> Array:
        """(n, d) as stored, float64 or float32; the bytes of MNIST become float32."""
        with np.load(self._file) as stored:
            rows = stored["X"]
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float32)
        return np.ascontiguousarray(rows)

    def start(self, rows: Array) -> Array:
        """(k, d): the first k distinct rows in a random order."""
        chosen: dict[bytes, int] = {}
        for index in np.random.default_rng(self.k).permutation(len(rows)):
            chosen.setdefault(rows[index].tobytes(), int(index))
            if len(chosen) == self.k:
                break
        return rows[list(chosen.values())]

    @property
    def _file(self) -> Path:
        return (_folder() or Path()) / f"{_FILES[self.name]}.npz"


# least ratios by the least number of centers
_LARGE_TARGETS = {
    "MNIST": ((500, 8.0), (100, 4.0), (1, 3.0)),
    "GloVe": ((100, 5.0), (1, 3.5)),
}
_FEW_ROWS = 5000


def target(name: str, n: int, d: int, k: int) -> float:
    """The wanted ratio of the fastest peer's time to partita's."""
    if name in _LARGE_TARGETS:
        return next(wanted for least, wanted in _LARGE_TARGETS[name] if k >= least)
    if d <= 3 and k >= 100:
        return 10.0
    if 4 <= d <= 64 and k >= 50:
        return 5.0
    if n <= _FEW_ROWS:
        return 1.5
    return 2.0 if k <= 16 else 1.0
