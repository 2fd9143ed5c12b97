"""How often the default command is right: `partita fit table.csv` on generated tables.

python bench/answers.py [--tables 200] [--seeds 1,2] [--ranges 2:12,2:20] [--processes 2] [--out F]

Tables with groups count as right if the adjusted Rand index of labels and truth is at least 0.8;
tables without, if the answer is "no clusters" (K = 1). Tables whose groups only categories tell
apart are given to `partita fit table.csv --method auto`; the default fit must propose the method
that finds them. K is stable if it does not change with the
seed or the upper end of the range.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from helpers.category_tables import table_with_categories
from helpers.customer_tables import CustomerTable, table_with_groups, table_without_groups
from sklearn.metrics import adjusted_rand_score

MIN_ARI = 0.8
SEEDS_PER_BATCH = 20
KINDS = {
    "groups": table_with_groups,
    "none": table_without_groups,
    "categories": table_with_categories,
}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one table: K by default, its agreement with the truth, K in other runs."""

    recipe: str
    shape: str  # "groups", or the distribution of a table without
    k: int
    ari: float | None
    other_ks: tuple[int, ...]
    seconds: float
    proposed: bool | None = None  # whether the default fit tells that categories are not used

    @property
    def is_right(self) -> bool:
        """True if the groups were found, or their absence."""
        return self.k == 1 if self.ari is None else self.ari >= MIN_ARI

    @property
    def is_stable(self) -> bool:
        """True if no other run gave another K."""
        return all(k == self.k for k in self.other_ks)


def main() -> None:
    options = _options()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        task = _Task(_runs(options))
        answers = [answer for kind in KINDS for answer in _ask(pool, task, kind, options)]
    text = _report(answers, options)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


def _ask(pool, task: _Task, kind: str, options: argparse.Namespace) -> list[Answer]:
    """Collect answers until there are enough, and print those that are wrong or unstable."""
    answers: list[Answer] = []
    seed = options.first
    while len(answers) < options.tables:  # tables whose groups are unclear are skipped
        seeds = range(seed, seed + min(SEEDS_PER_BATCH, options.tables - len(answers)))
        seed = seeds[-1] + 1
        for answer in pool.map(task, [(kind, one) for one in seeds], chunksize=1):
            if answer is None:
                continue
            answers.append(answer)
            if not (answer.is_right and answer.is_stable):
                ari = "" if answer.ari is None else f", ARI {answer.ari:.3f}"
                print(f"{answer.recipe}: K = {answer.k}{ari}; others {answer.other_ks}", flush=True)
    return answers


@dataclass(frozen=True, slots=True)
class _Task:
    runs: tuple[tuple[str, ...], ...]  # options of the runs besides the default one

    def __call__(self, task: tuple[str, int]) -> Answer | None:
        kind, seed = task
        table = KINDS[kind](seed)
        return None if table is None else _answer(table, kind, self.runs)


def _answer(table: CustomerTable, kind: str, runs: tuple[tuple[str, ...], ...]) -> Answer:
    words = ("--method", "auto") if kind == "categories" else ()
    with tempfile.TemporaryDirectory() as folder:
        path, labels = Path(folder, "table.csv"), Path(folder, "labels.csv")
        path.write_text(table.text, encoding="utf-8")
        start = time.process_time()
        k = fit(path, *words, "--labels", str(labels), "--only-labels")
        seconds = time.process_time() - start
        found = list(map(int, labels.read_text().split()[1:]))
        others = tuple(fit(path, *words, *more) for more in runs)
        proposed = bool(answer(path, "-k", "2")["data"]["unused_categories"]) if words else None
    ari = None if table.truth is None else adjusted_rand_score(table.truth, found)
    shape = kind if table.truth is not None else table.recipe.rpartition(" ")[2]
    return Answer(table.recipe, shape, k, ari, others, seconds, proposed)


def fit(*words: object) -> int:
    """Run `partita fit`, and return the number of clusters."""
    return int(answer(*words)["summary"]["n_clusters"])


def answer(*words: object) -> dict:
    """Run `partita fit`, and return its object."""
    from partita.cli.command_group import app

    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        app(["fit", *map(str, words), "--json"], prog_name="partita")
    return json.loads(out.getvalue())


def _runs(options: argparse.Namespace) -> tuple[tuple[str, ...], ...]:
    by_seed = [("--seed", seed) for seed in options.seeds.split(",") if seed]
    return (*by_seed, *(("--k", ks) for ks in options.ranges.split(",") if ks))


def _other_runs(options: argparse.Namespace) -> str:
    return f"seeds {options.seeds or '–'} and ranges {options.ranges or '–'}"


def _report(answers: list[Answer], options: argparse.Namespace) -> str:
    count = Counter(answer.shape for answer in answers)
    right = Counter(answer.shape for answer in answers if answer.is_right)
    stable = sum(answer.is_stable for answer in answers)
    without = [shape for shape in count if shape not in KINDS]
    proposed = sum(bool(answer.proposed) for answer in answers)
    seconds = sorted(answer.seconds for answer in answers)
    lines = [
        "# Answers of `partita fit table.csv`",
        "",
        f"Made by `python bench/answers.py --tables {options.tables} --first {options.first}`; "
        "`make bench-answers` takes 200 tables of each kind.",
        "",
        "| tables | right | of |",
        "|---|---|---|",
        f"| with groups: ARI ≥ {MIN_ARI} | {right['groups']} | {count['groups']} |",
        f"| with groups that only categories tell apart: --method auto, ARI ≥ {MIN_ARI} | "
        f"{right['categories']} | {count['categories']} |",
        f"| … the default fit proposes a method that uses them | {proposed} | "
        f"{count['categories']} |",
        f"| without: no clusters | {sum(right[s] for s in without)} | "
        f"{sum(count[s] for s in without)} |",
        *(f"| … {shape} columns | {right[shape]} | {count[shape]} |" for shape in without),
        *(
            [f"| the same K for {_other_runs(options)} | {stable} | {len(answers)} |"]
            if _runs(options)
            else []
        ),
        "",
        f"CPU of a fit: median {seconds[len(seconds) // 2]:.1f} s, at most {seconds[-1]:.1f} s.",
        "",
    ]
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200, help="of each kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed of the generator")
    parser.add_argument("--seeds", default="1", help="other seeds of the fit")
    parser.add_argument("--ranges", default="2:12", help="other ranges of K")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
