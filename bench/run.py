"""Compare partita with its peers on this machine: see README.md beside this file.

python bench/run.py [--quick] [--repeat N] [--threads 2] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import environment
from calls import Iris, Predict, call_table
from contestants import BUILDERS, OURS
from iteration import Contest, cost_table, time_table
from measure import rounds
from seeding import Seeding, seeding_table
from shapes import FULL, QUICK, TALL, TALL_QUICK
from stands import AbsentError, Stand
from tables import Table

_BEGIN = time.perf_counter()
_SECONDS = {False: 250.0, True: 40.0}  # by --quick: for all rounds; two are made in any case
_ROUNDS = {False: 5, True: 2}
_SEEDING_ROUNDS = {False: 2, True: 1}  # it takes long, and has no target


def main() -> int:
    options = _options()
    load = environment.load()
    stands, absent = _open_stands(options.threads)
    if OURS not in stands:
        print(f"partita is absent: {absent[OURS]}", file=sys.stderr)
        return 1
    made, peak, tables = _measure(stands, options.quick, options.repeat)
    took = time.perf_counter() - _BEGIN
    lines = [
        *_head(stands, absent, options.threads, peak),
        f"Load when it began {load:.1f}; {made} round{'s' * (made > 1)}; {took:.0f} s.",
    ]
    if options.quick:
        lines.append("QUICK: small shapes and few rounds; the verdicts are hints, not results.")
    print("\n".join(lines), *(table.text() for table in tables), sep="\n\n")
    if options.out:
        parts = ["# Benchmark", "  \n".join(lines), *(table.markdown() for table in tables)]
        options.out.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    for stand in stands.values():
        stand.close()
    return 0


def _measure(
    stands: Mapping[str, Stand], quick: bool, repeat: int | None
) -> tuple[int, float | None, list[Table]]:
    """Everything once in every round: how many there were, the peak, and the tables."""
    shapes, names = (QUICK if quick else FULL), list(stands)
    contests = [Contest(shape, stands) for shape in shapes]
    iris, predict = Iris(stands), Predict(TALL_QUICK if quick else TALL, stands)
    seedings = [Seeding(shape, stands) for shape in shapes[:2]]
    peaks = []
    made = 0
    for number in rounds(repeat or _ROUNDS[quick], math.inf if repeat else _SECONDS[quick]):
        _say(f"round {number + 1}")
        made += 1
        for contest in contests:
            peaks.append(stands[OURS].ask("peak"))
            contest.visit(number)
        iris.visit(number)
        predict.visit(number)
        if number < _SEEDING_ROUNDS[quick]:
            for seeding in seedings:
                seeding.visit(number)
    _say("tables")
    peak = None if None in peaks else max(peaks)
    return (
        made,
        peak,
        [
            time_table(contests, names, peak),
            call_table(iris, predict, names),
            seeding_table(seedings, names),
            cost_table(contests, names),
        ],
    )


def _open_stands(threads: int) -> tuple[dict[str, Stand], dict[str, str]]:
    stands, absent = {}, {}
    for name in BUILDERS:
        try:
            stands[name] = Stand(name, threads)
        except AbsentError as error:
            absent[name] = str(error)
    return stands, absent


def _head(
    stands: Mapping[str, Stand], absent: Mapping[str, str], threads: int, peak: float | None
) -> list[str]:
    kernels = stands[OURS].ask("instruction_set")
    top = "unknown" if peak is None else f"{peak / 1e9:.0f} GFLOP/s"
    return [
        f"{environment.processor()}; {threads} threads; float32 FMA peak {top}.",
        ", ".join(f"{stand.name} {stand.version}" for stand in stands.values())
        + f"; partita's kernels: {kernels}.",
        *(f"{name} is absent ({why})." for name, why in absent.items()),
        *(stand.helped for stand in stands.values() if stand.helped),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare partita with its peers.")
    parser.add_argument("--quick", action="store_true", help="small shapes, under a minute")
    parser.add_argument("--repeat", type=int, help="so many rounds (default 5, if they fit)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every library")
    parser.add_argument("--out", type=Path, help="also write the tables to this Markdown file")
    return parser.parse_args()


def _say(what: str) -> None:
    print(f"... {time.perf_counter() - _BEGIN:3.0f} s: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
