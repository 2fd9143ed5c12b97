"""A cost model of distributed fits: its constants, its errors, and what it says of a large cluster.

The constants are measured on this machine: one core for the work, Dask on 127.0.0.1 (threads, one
and two processes) and Spark, if it is installed, for tasks and traffic. The model is compared with
real fits. A simulation then has 100 workers and 10^11 rows; the report says what it assumes.

Every stage takes about a minute and is kept in a file, so that stages can be run one by one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.environment import load, processor
from scaling import picture, tables
from scaling.constants import Compute, Decline, measure
from scaling.probes import ENGINES, Engine, measure_engine, measure_spark
from scaling.validation import SHAPES, Comparison, validate

STORE = Path("build/scaling.json")
Kept = dict[str, Any]  # results of stages, by name


def main() -> None:
    """Run the stages that are asked for; report when all results are there."""
    stages = _stages()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stages", help=f"some of: {', '.join([*stages, 'report'])}")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.stages.split(",") if options.stages else [*stages, "report"]
    kept: Kept = json.loads(options.store.read_text()) if options.store.exists() else {}
    for name in names:
        if name != "report":
            kept[name] = {"load": load(), "result": stages[name](kept)}
            options.store.parent.mkdir(exist_ok=True)
            options.store.write_text(json.dumps(kept, indent=1))
    if "report" in names:
        _report(kept, options.out, options.picture)


def _stages() -> dict[str, Callable[[Kept], Any]]:
    stages: dict[str, Callable[[Kept], Any]] = {"compute": lambda kept: _as_lists(measure())}
    for name in ENGINES:
        stages[name] = lambda kept, name=name: asdict(measure_engine(name))
    for name, (i, shape) in itertools.product(ENGINES, enumerate(SHAPES)):
        stages[f"fits {i} of {name}"] = lambda kept, name=name, shape=shape: [
            asdict(one) for one in validate(_compute(kept), _engine(kept, name), shape)
        ]
    stages["spark"] = lambda kept: (found := measure_spark()) and asdict(found)
    return stages


def _as_lists(found: tuple[Compute, list[Decline]]) -> list[Any]:
    return [asdict(found[0]), [asdict(step) for step in found[1]]]


def _compute(kept: Kept) -> Compute:
    return Compute(**kept["compute"]["result"][0])


def _engine(kept: Kept, name: str) -> Engine:
    return Engine(**kept[name]["result"])


def _report(kept: Kept, out: Path | None, drawing: Path | None) -> None:
    compute = _compute(kept)
    decline = [Decline(**step) for step in kept["compute"]["result"][1]]
    engines = [_engine(kept, name) for name in ENGINES]
    fits = [f"fits {i} of {name}" for name in ENGINES for i in range(len(SHAPES))]
    lines = [one for name in fits for one in kept[name]["result"]]
    compared = [Comparison(**{**one, "shape": tuple(one["shape"])}) for one in lines]
    spark = kept.get("spark", {}).get("result")
    cluster = tables.assumed_cluster(engines)
    panels = tables.panels(compute, cluster, decline)
    made = [
        tables.constants(compute),
        tables.engines([*engines, *([Engine(**spark)] if spark else [])]),
        tables.validation(compared),
        tables.passes(panels),
        tables.fits(compute, cluster, decline),
        tables.breaks(compute, cluster, decline),
    ]
    print("\n\n".join(table.text() for table in made))
    if drawing:
        picture.draw(panels, drawing)
    if out:
        loads = sorted(stage["load"] for stage in kept.values())
        head = tables.heading(cluster, processor(), (loads[0], loads[-1]))
        text = "\n\n".join([head, *(table.markdown() for table in made)])
        out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
