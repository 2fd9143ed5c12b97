"""Size and speed of a report: how long it takes to write, to open, to paint and to point at a row.

    python bench/report_page.py [--out bench/REPORT.md] [--rows 1000,100000,1000000]

Needs Chromium and the package playwright. Run by `make bench-report`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness.markdown_table import Table

from partita import MiniBatchKMeans
from partita._versions import versions
from partita.report import Fitted, write_report

FEATURES, GROUPS = 10, 6
HOVERS = 200  # places that the mouse is moved to
OPENINGS = 3  # the best counts
MAX_MEGABYTES, MAX_PAINT_SECONDS, MAX_HOVER_MILLISECONDS = 5.0, 1.0, 50.0  # targets
FLAGS = ("--no-sandbox", "--disable-gpu", "--headless", "--disable-background-networking")
HOVER = """(count) => {
  const canvas = document.getElementById("canvas");
  canvas.scrollIntoView({ block: "center", behavior: "instant" });
  const box = canvas.getBoundingClientRect(), times = [];
  for (let i = 0; i < count; i += 1) {
    const x = box.left + box.width * (0.1 + 0.8 * ((i * 0.618) % 1));
    const y = box.top + box.height * (0.1 + 0.8 * ((i * 0.414) % 1));
    const start = performance.now();
    canvas.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }));
    times.push(performance.now() - start);
  }
  return times;
}"""
FIRST_PAINT = """() => new Promise((resolve) => {
  const look = () => {
    const [entry] = performance.getEntriesByName("first-contentful-paint");
    if (entry) resolve(entry.startTime);
    else requestAnimationFrame(look);
  };
  look();
})"""
REPAINT = """() => {
  const start = performance.now();
  document.dispatchEvent(new Event("repaint"));
  return performance.now() - start;
}"""


@dataclass(frozen=True, slots=True)
class Measured:
    """One report."""

    rows: int
    write_seconds: float
    megabytes: float
    paint_seconds: float  # until the first content is painted
    map_milliseconds: float  # to paint the map
    hover_milliseconds: float  # the median over many places
    worst_hover_milliseconds: float


def main() -> int:
    """Measure reports of several sizes, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rows", default="1000,100000,1000000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = [measure(int(n), Path(folder)) for n in options.rows.split(",")]
    text = page_text(found)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    return 0


def measure(n: int, folder: Path) -> Measured:
    """Write a report on n generated rows with ids, and open it."""
    rng = np.random.default_rng(0)
    centers = rng.normal(0, 4, (GROUPS, FEATURES))
    X = (centers[rng.integers(0, GROUPS, n)] + rng.normal(size=(n, FEATURES))).astype(np.float32)
    model = MiniBatchKMeans(GROUPS, random_state=0).fit(X)
    ids = [f"customer-{i:07d}" for i in range(n)]
    path = folder / f"{n}.html"
    start = time.perf_counter()
    write_report(path, Fitted(model, X, ids=ids))
    seconds = time.perf_counter() - start
    return Measured(n, seconds, path.stat().st_size / 1e6, *opened(path))


def opened(path: Path) -> tuple[float, float, float, float]:
    """Open a page; return seconds to the first paint, and milliseconds of the map and of hovers."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        visits = [_visit(browser, path) for _ in range(OPENINGS)]
        browser.close()
    paints, maps, hovers = zip(*visits, strict=True)
    best = min(hovers, key=max)
    return min(paints), min(maps), statistics.median(best), max(best)


def _visit(browser: Any, path: Path) -> tuple[float, float, list[float]]:
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(path.as_uri())
    paint = page.evaluate(FIRST_PAINT)
    hovers = page.evaluate(HOVER, HOVERS)
    repaint = page.evaluate(REPAINT)
    page.close()
    return paint / 1000, repaint, hovers


def page_text(found: list[Measured]) -> str:
    """Return the table with its verdicts."""
    system = (
        f"{os.cpu_count()} cores; partita {versions()['partita']}, kernels {versions()['kernel']}"
    )
    about = (
        f"{FEATURES} features and an id a row, {GROUPS} groups; beyond 100 000 rows a sample is\n"
        "drawn. Chromium without a GPU, the best of three openings. 'written in' includes the\n"
        "diagnosis and silhouettes. Targets: below "
        f"{MAX_MEGABYTES:g} MB, first paint below {MAX_PAINT_SECONDS:g} s, pointing at a row below "
        f"{MAX_HOVER_MILLISECONDS:g} ms at its worst."
    )
    head = [
        "rows",
        "written in, s",
        "MB",
        "first paint, s",
        "map, ms",
        "pointing, ms",
        "worst",
        "verdict",
    ]
    table = Table("Pages by number of rows", about, head, [_cells(one) for one in found])
    return f"# Reports\n\n{system}. Made by `make bench-report`.\n\n{table.markdown()}\n"


def _cells(one: Measured) -> list[str]:
    return [
        f"{one.rows:,}".replace(",", " "),
        f"{one.write_seconds:.1f}",
        f"{one.megabytes:.2f}",
        f"{one.paint_seconds:.2f}",
        f"{one.map_milliseconds:.0f}",
        f"{one.hover_milliseconds:.1f}",
        f"{one.worst_hover_milliseconds:.1f}",
        "reached" if _reached(one) else "below target",
    ]


def _reached(one: Measured) -> bool:
    return (
        one.megabytes < MAX_MEGABYTES
        and one.paint_seconds < MAX_PAINT_SECONDS
        and one.worst_hover_milliseconds < MAX_HOVER_MILLISECONDS
    )


if __name__ == "__main__":
    raise SystemExit(main())
