"""Compare partita with its peers on this machine: see README.md beside this file.

python bench/run.py [--quick] [--repeat N] [--threads 2] [--out FILE.md]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import environment
from calls import call_table
from contestants import BUILDERS, OURS
from iteration import contest, cost_table, time_table
from seeding import seeding_table
from shapes import FULL, QUICK, TALL
from stands import AbsentError, Stand
from tables import Table

_SECONDS = 30.0  # for a shape; two rounds are made in any case


def main() -> int:
    options = _options()
    begin, load = time.perf_counter(), environment.load()
    stands, absent = _open_stands(options.threads)
    if OURS not in stands:
        print(f"partita is absent: {absent[OURS]}", file=sys.stderr)
        return 1
    repeat = options.repeat or (2 if options.quick else 5)
    peak, tables = _measure(stands, options.quick, repeat)
    lines = _head(stands, absent, options.threads, peak)
    lines.append(
        f"Load when it began {load:.1f}, {repeat} rounds at most, "
        f"{time.perf_counter() - begin:.0f} s in all."
    )
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
    stands: Mapping[str, Stand], quick: bool, repeat: int
) -> tuple[float | None, list[Table]]:
    """All that is measured, the peak before and after."""
    shapes, names, ours = (QUICK if quick else FULL), list(stands), stands[OURS]
    _say("peak")
    peaks = [ours.ask("peak")]
    contests = []
    for shape in shapes:
        _say(f"iterations at {shape}")
        contests.append(contest(shape, stands, repeat, _SECONDS))
    _say("calls")
    calls = call_table(stands, TALL, repeat, _SECONDS / 3)
    _say("seeding")
    seeding = seeding_table(stands, shapes[:2], min(repeat, 3), _SECONDS / 3)
    peaks.append(ours.ask("peak"))
    peak = None if None in peaks else max(peaks)
    return peak, [time_table(contests, names, peak), calls, seeding, cost_table(contests, names)]


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
    parser.add_argument("--repeat", type=int, help="rounds at most (default 5; 2 if quick)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every library")
    parser.add_argument("--out", type=Path, help="also write the tables to this Markdown file")
    return parser.parse_args()


def _say(what: str) -> None:
    print(f"... {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
