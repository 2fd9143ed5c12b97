"""A table as it comes: numbers of different scale, categories, dates, an id, gaps and mistakes."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np

from partita._common.array_types import Ints

MISSING_SHARE = 0.08  # of the cells of every number and category
N_OUTLIERS = 11
NUMBERS = ("age", "income", "visits", "basket", "distance_km")
CATEGORIES = {
    "plan": ("basic", "plus", "premium"),
    "channel": ("shop", "web", "phone", "partner"),
    "region": ("north", "south", "east", "west"),
}
# by profile, in deviations of each number; two groups share each profile
PROFILES = np.array([[-1.6, 1.2, 1.5, -1.3, 0.8], [1.4, -1.3, 0.6, 1.5, -1.2]])
SPREAD = 0.9
# by group, the category that most of its rows have
USUAL = np.array([[0, 0, 0], [2, 1, 2], [1, 2, 1], [2, 3, 3]])
USUAL_SHARE = 0.88
CENTER = np.array([45.0, 52_000.0, 14.0, 60.0, 9.0])
UNIT = np.array([11.0, 12_000.0, 4.0, 18.0, 2.5])


@dataclass(frozen=True, slots=True)
class MessyTable:
    """The text of a CSV file, and what is true of its rows."""

    text: str
    groups: Ints  # (n,) four groups, which numbers and categories tell apart together
    profiles: Ints  # (n,) two groups, which numbers alone tell apart
    outliers: Ints  # the rows with gross mistakes


def messy_table(n: int = 3000, seed: int = 0, outliers: int = N_OUTLIERS) -> MessyTable:
    """Return a table of customers in four groups."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(4, n, p=[0.35, 0.25, 0.22, 0.18])
    profiles = groups // 2
    numbers = CENTER + UNIT * (PROFILES[profiles] + SPREAD * rng.normal(size=(n, 5)))
    codes = np.column_stack([
        np.where(rng.random(n) < USUAL_SHARE, USUAL[groups, t], rng.integers(0, len(levels), n))
        for t, levels in enumerate(CATEGORIES.values())
    ])  # fmt: skip
    wrong = rng.choice(n, outliers, replace=False)
    numbers[wrong] = CENTER + UNIT * rng.choice([-1, 1], (outliers, 5)) * rng.uniform(
        60, 400, (outliers, 5)
    )
    gaps = rng.random((n, 5 + len(CATEGORIES))) < MISSING_SHARE
    gaps[np.arange(n), rng.integers(0, 5, n)] = False
    gaps[wrong] = False
    since = [date(2015, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 3000, n)]
    zips = rng.integers(10_000, 99_999, n)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["customer_id", "zip", "since", *NUMBERS, *CATEGORIES])
    for i in range(n):
        cells = [f"{x:.2f}" for x in numbers[i]]
        cells += [levels[codes[i, t]] for t, levels in enumerate(CATEGORIES.values())]
        shown = ["" if gap else cell for cell, gap in zip(cells, gaps[i], strict=True)]
        writer.writerow([100_000 + i, zips[i], since[i].isoformat(), *shown])
    return MessyTable(out.getvalue(), groups, profiles, wrong)
