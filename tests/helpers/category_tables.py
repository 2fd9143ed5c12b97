"""Random tables whose groups only categories tell apart: numbers tell fewer groups, or none."""

from __future__ import annotations

import csv
import io

import numpy as np

from helpers.customer_tables import CITIES, FIRST_NAMES, CustomerTable

MAX_USUAL_SHARE, MIN_USUAL_SHARE = 0.97, 0.87  # of the rows of a group with its usual category
COLUMNS = ("plan", "channel", "region", "segment", "device", "payment")
NUMBERS = ("age", "income", "visits", "basket")
MISSING_SHARE = 0.02
PROFILE_DISTANCE = 4.0  # between profiles of numbers, in deviations within one


def table_with_categories(seed: int) -> CustomerTable:
    """Return a table of 2 to 6 groups; each two of them share their numbers, or all do."""
    rng = np.random.default_rng([seed, 3])
    n, k = int(rng.integers(400, 3001)), int(rng.integers(2, 7))
    truth = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 6.0)))
    is_noise = seed % 2 == 0  # whether numbers tell nothing
    q, d = int(rng.integers(3, 7)), int(rng.integers(2, 5))
    centers = rng.normal(size=(k, d))
    centers *= PROFILE_DISTANCE / np.linalg.norm(centers, axis=1, keepdims=True)
    profile = np.zeros(n, int) if is_noise else truth // 2
    numbers = centers[profile] + rng.normal(size=(n, d))
    levels = rng.integers(max(2, min(k, 3)), 6, q)
    usual = _usual(rng, k, levels)
    share = rng.uniform(MIN_USUAL_SHARE, MAX_USUAL_SHARE, q)
    codes = np.column_stack([
        np.where(rng.random(n) < share[t], usual[truth, t], rng.integers(0, levels[t], n))
        for t in range(q)
    ])  # fmt: skip
    kind = "numbers tell nothing" if is_noise else "numbers tell pairs of groups"
    recipe = f"seed {seed}: {n} x {d} + {q} categories, {k} groups, {kind}"
    return CustomerTable(_write(numbers, codes, rng), truth, recipe)


def _usual(rng: np.random.Generator, k: int, levels: np.ndarray) -> np.ndarray:
    """Return usual categories (k, q) of groups, each two of which differ in half of the columns."""
    while True:
        usual = np.column_stack([rng.integers(0, count, k) for count in levels])
        apart = (usual[:, None] != usual).sum(axis=2) + len(levels) * np.eye(k)
        if apart.min() >= len(levels) / 2:
            return usual


def _write(numbers: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> str:
    """Return the text of a file with ids, names and gaps besides."""
    n, out = len(numbers), io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    d, q = numbers.shape[1], codes.shape[1]
    writer.writerow(["customer_id", "name", *NUMBERS[:d], *COLUMNS[:q]])
    names = [f"{rng.choice(FIRST_NAMES)} {i}" for i in range(n)]
    scaled = 50 + numbers * rng.uniform(1, 1000, d)
    gaps = rng.random((n, d + q)) < MISSING_SHARE
    for i in range(n):
        cells = [*(f"{x:.2f}" for x in scaled[i]), *(CITIES[c][:4] for c in codes[i])]
        shown = ["" if gap else cell for cell, gap in zip(cells, gaps[i], strict=True)]
        writer.writerow([5000 + i, names[i], *shown])
    return out.getvalue()
