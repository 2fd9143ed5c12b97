"""Random tables as a person might have them in a file: measurements among ids, dates and gaps."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

MIN_RECOVERED_ARI = 0.9  # of the truth by 20 starts on the clean numbers: else groups are unclear
MISSING_SHARE = 0.02
OUTLIER_DEVIATIONS = 40.0
MEASURES = (
    "age", "income", "visits", "basket", "recency", "discount", "returns", "tenure", "rating",
    "calls",
)  # fmt: skip
CITIES = ("Wien", "Graz", "Linz", "Salzburg", "Innsbruck")
FIRST_NAMES = ("Ada", "Bo", "Cem", "Dua", "Eli", "Fay", "Gus", "Hoa", "Ida", "Jun")
SHAPES_WITHOUT_GROUPS = ("normal", "uniform", "exponential", "lognormal", "poisson")


@dataclass(frozen=True, slots=True)
class CustomerTable:
    """The text of a CSV file, and the group of every row (None: there are no groups)."""

    text: str
    truth: Any
    recipe: str


def table_with_groups(seed: int) -> CustomerTable | None:
    """Return a table of 2 to 7 groups; None if K-means does not find them on the clean numbers."""
    rng = np.random.default_rng([seed, 1])
    n, k, d = int(rng.integers(300, 5001)), int(rng.integers(2, 8)), int(rng.integers(3, 9))
    share = rng.dirichlet(np.full(k, 4.0))
    truth = rng.choice(k, size=n, p=share)
    centers = rng.normal(size=(k, d)) * 3.0
    spread = rng.uniform(0.5, 1.0, size=(k, d))
    clean = centers[truth] + rng.normal(size=(n, d)) * spread[truth]
    clean /= clean.std(axis=0)
    best = KMeans(k, n_init=20, random_state=0).fit(clean)
    if adjusted_rand_score(truth, best.labels_) < MIN_RECOVERED_ARI:
        return None
    numbers = _in_units(clean, rng)
    return CustomerTable(_write(numbers, rng), truth, f"seed {seed}: {n} x {d}, {k} groups")


def table_without_groups(seed: int) -> CustomerTable:
    """Return a table of independent columns, all of one shape."""
    rng = np.random.default_rng([seed, 2])
    n, d = int(rng.integers(300, 5001)), int(rng.integers(3, 9))
    shape = SHAPES_WITHOUT_GROUPS[seed % len(SHAPES_WITHOUT_GROUPS)]
    numbers = {
        "normal": lambda: _in_units(rng.normal(size=(n, d)), rng),
        "uniform": lambda: _in_units(rng.uniform(size=(n, d)), rng),
        "exponential": lambda: rng.exponential(size=(n, d)) * _units(d, rng),
        "lognormal": lambda: rng.lognormal(size=(n, d)) * _units(d, rng),
        "poisson": lambda: rng.poisson(rng.uniform(0.5, 8.0, size=d), size=(n, d)).astype(float),
    }[shape]()
    return CustomerTable(_write(numbers, rng), None, f"seed {seed}: {n} x {d}, {shape}")


def _units(d: int, rng: np.random.Generator) -> Any:
    return 10.0 ** rng.uniform(-1.0, 4.0, size=d)


def _in_units(clean: Any, rng: np.random.Generator) -> Any:
    """Give every column a scale of 0.1 to 10⁴ and an origin, as units do."""
    scale = _units(clean.shape[1], rng)
    return clean * scale + scale * rng.uniform(3.0, 10.0, size=clean.shape[1])


def _write(numbers: Any, rng: np.random.Generator) -> str:
    """Write a CSV file with, each by chance, other columns, gaps and two gross outliers."""
    n, d = numbers.shape
    if rng.random() < 0.3:
        rows = rng.choice(n, size=2, replace=False)
        column = int(rng.integers(d))
        numbers[rows, column] += OUTLIER_DEVIATIONS * numbers[:, column].std()
    cells = [[f"{value:.6g}" for value in column] for column in numbers.T]
    if rng.random() < 0.5:
        for column in cells:
            for row in np.flatnonzero(rng.random(n) < MISSING_SHARE):
                column[row] = ""
    names = list(rng.choice(MEASURES, size=d, replace=False))
    columns = dict(zip(names, cells, strict=True)) | _other_columns(n, rng)
    order = rng.permutation(list(columns)) if rng.random() < 0.5 else list(columns)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(order)
    writer.writerows(zip(*(columns[name] for name in order), strict=True))
    return out.getvalue()


def _other_columns(n: int, rng: np.random.Generator) -> dict[str, list[str]]:
    """Return columns that say nothing about the groups, each present by chance."""
    days = np.datetime64("2019-01-01") + rng.integers(0, 1500, size=n)
    zips = rng.choice(rng.integers(10000, 99999, size=400), size=n)
    others = {
        "customer_id": [str(100000 + i) for i in rng.permutation(n)],
        "row": [str(i + 1) for i in range(n)],
        "zip": [f"{zip_code}" for zip_code in zips],
        "name": [str(name) for name in rng.choice(FIRST_NAMES, size=n)],
        "since": [str(day) for day in days],
        "city": [str(city) for city in rng.choice(CITIES, size=n)],
        "newsletter": ["yes" if flag else "no" for flag in rng.random(n) < 0.4],
    }
    return {name: cells for name, cells in others.items() if rng.random() < 0.4}
