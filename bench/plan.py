"""The tasks of a run: all of them, or a quick part."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from harness.generated_data import FULL, QUICK, TALL, TALL_QUICK, Shape
from harness.real_data import Real
from peers.gower_peers import GowerTask
from peers.kernel_peers import KernelTask
from peers.prototype_peers import MixedTask
from tasks.defaults import FULL as FULL_DEFAULTS
from tasks.defaults import QUICK as QUICK_DEFAULTS
from tasks.defaults import Named
from tasks.growth import FULL_SWEEPS, QUICK_SWEEPS, Sweep
from tasks.k_sweeps import FULL as FULL_KSWEEPS
from tasks.k_sweeps import QUICK as QUICK_KSWEEPS
from tasks.medoids import FULL as FULL_MEDOIDS
from tasks.medoids import QUICK as QUICK_MEDOIDS
from tasks.medoids import Distances
from tasks.silhouettes import FULL as FULL_SILHOUETTES
from tasks.silhouettes import QUICK as QUICK_SILHOUETTES
from tasks.silhouettes import Labelled


@dataclass(frozen=True, slots=True)
class Plan:
    """Tasks, and the seconds after which a stage begins nothing new."""

    fits: tuple[Real, ...]  # the important ones first
    cut: float  # seconds at which a single fit is ended
    row_seconds: float  # for the repeats of a row
    fits_until: float  # seconds since the run began
    shapes: tuple[Shape, ...]
    tall: Shape
    rounds: int
    round_seconds: float
    defaults: tuple[Named | Real, ...]
    seedings: tuple[Real | Shape, ...]
    inexact: tuple[Real, ...]
    spherical: tuple[Real, ...]
    sweeps: tuple[Sweep, ...]
    medoids: tuple[Distances, ...]
    kernels: tuple[KernelTask, ...]
    prototypes: tuple[MixedTask, ...]
    gower: tuple[GowerTask, ...]
    silhouettes: tuple[Labelled, ...]
    ksweeps: tuple[Real, ...]
    until: float  # seconds since the run began: the last stages too begin nothing new
    quick: bool = False

    def within(self, seconds: float) -> Plan:
        """Scale the plan to another duration; the last rows may be left out."""
        shorter = seconds / 5400.0
        return replace(self, fits_until=self.fits_until * shorter, until=self.until * shorter)

    def of_data(self, names: Collection[str]) -> Plan:
        """Leave only these data sets in the stages of fits and of defaults."""
        return replace(
            self,
            fits=tuple(task for task in self.fits if task.name in names),
            defaults=tuple(task for task in self.defaults if task.name in names),
        )


def _each(name: str, *numbers: int) -> tuple[Real, ...]:
    return tuple(Real(name, k) for k in numbers)


FULL_PLAN = Plan(
    fits=(
        # one row that says most of each data set
        *(Real("Birch1", 100), Real("GloVe", 500), Real("letter", 500), Real("MNIST", 500)),
        *(Real("skin", 500), Real("Intrusion", 100), Real("pla85900", 1000), Real("Shuttle", 100)),
        *(Real("birch2", 1000), Real("worms_2", 100), Real("pendigit", 500), Real("adverts", 200)),
        *(Real("Norm25", 100), Real("landsat", 100), Real("Birch3", 1000), Real("pla33810", 1000)),
        # few centers
        *_each("MNIST", 10, 100),
        *_each("GloVe", 10, 100),
        *(Real(name, 10) for name in ("Birch1", "skin", "letter", "Shuttle", "Intrusion")),
        *(Real(name, 10) for name in ("pendigit", "landsat", "Norm25", "adverts")),
        # many
        *_each("Birch1", 500, 1000, 2000),
        *_each("GloVe", 1000, 2000),
        *_each("letter", 50, 100, 1000),
        *_each("Shuttle", 50, 1000),
        *_each("skin", 100, 1000, 2000),
        *_each("pla85900", 100, 2000),
        *_each("Intrusion", 50, 500),
        *(Real("pendigit", 100), Real("pla33810", 100), Real("d18512", 500)),
        *(Real("usa13509", 500), Real("Birch3", 100), Real("birch2", 100), Real("worms_2", 1000)),
        *(Real("MNIST", 1000), Real("Intrusion", 1000)),
    ),
    cut=120.0,
    row_seconds=10.0,
    fits_until=3600.0,
    shapes=FULL,
    tall=TALL,
    rounds=4,
    round_seconds=240.0,
    defaults=FULL_DEFAULTS,
    seedings=(
        *(Real("Birch1", 1000), Real("pla85900", 500), Real("skin", 200), Real("letter", 500)),
        *(Real("Intrusion", 50), Real("GloVe", 500), Real("MNIST", 200)),
        *FULL[:2],
    ),
    inexact=(*_each("GloVe", 500, 1000), *_each("MNIST", 500, 1000)),
    spherical=_each("GloVe", 100, 200, 500),
    sweeps=FULL_SWEEPS,
    medoids=FULL_MEDOIDS,
    kernels=(KernelTask(5000, 10, 20, 10), KernelTask(20_000, 10, 20, 10)),
    prototypes=(
        MixedTask(10_000, 5, 5, 10),
        MixedTask(10_000, 2, 10, 20),
        MixedTask(20_000, 8, 4, 8),
        MixedTask(20_000, 3, 3, 12),
        MixedTask(10_000, 0, 12, 10),
    ),
    gower=(GowerTask(3000, 5, 5, 10), GowerTask(5000, 10, 10, 20), GowerTask(10_000, 4, 8, 10)),
    silhouettes=FULL_SILHOUETTES,
    ksweeps=FULL_KSWEEPS,
    until=4900.0,
)

QUICK_PLAN = Plan(
    fits=(
        *(Real("Birch1", 100), Real("pla33810", 500), Real("letter", 100), Real("Shuttle", 50)),
        *(Real("GloVe", 100), Real("pendigit", 10), Real("skin", 10)),
    ),
    cut=20.0,
    row_seconds=2.0,
    fits_until=110.0,
    shapes=QUICK,
    tall=TALL_QUICK,
    rounds=2,
    round_seconds=40.0,
    defaults=QUICK_DEFAULTS,
    seedings=(Real("pla33810", 300), Real("letter", 500), QUICK[1]),
    inexact=(Real("GloVe", 500),),
    spherical=(Real("GloVe", 200),),
    sweeps=QUICK_SWEEPS,
    medoids=QUICK_MEDOIDS,
    kernels=(KernelTask(3000, 10, 20, 10),),
    prototypes=(MixedTask(3000, 4, 4, 8),),
    gower=(GowerTask(2000, 4, 4, 8),),
    silhouettes=QUICK_SILHOUETTES,
    ksweeps=QUICK_KSWEEPS,
    until=260.0,
    quick=True,
)
