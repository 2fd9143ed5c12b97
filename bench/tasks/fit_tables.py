"""The tables of fits to convergence: seconds, J and iterations, memory."""

from __future__ import annotations

from collections.abc import Sequence

from harness.markdown_table import Table
from peers.kmeans_peers import OURS

from tasks.fit_race import Cell, Row

_START = (
    "From the same start (the first K distinct rows in a seeded random order) until no label "
    "changes;"
)


def fit_tables(rows: Sequence[Row], names: Sequence[str]) -> list[Table]:
    """The tables of several races."""
    if not rows:
        return []
    ordered = sorted(rows, key=lambda row: (row.d, row.task.name, row.task.k))
    return [_times(ordered, names), _costs(ordered, names), _memory(ordered, names)]


def _times(rows: Sequence[Row], names: Sequence[str]) -> Table:
    judged = [row for row in rows if row.ratio is not None]
    reached = sum(1 for row in judged if row.ratio and row.ratio >= row.target)
    return Table(
        "Fits to convergence, seconds",
        f"{_START} the best of up to 5 fits.\n'ratio' is the fastest peer's time over partita's; "
        "'to its J' is partita's until J was as low\nas that of this peer, if it made another "
        "number of iterations, and then the ratio is of this time.\n"
        "A fit is cut at three times what two iterations say of the quickest peer, but not before "
        "10 s, and at 120 s;\n'–' was not started, as two iterations said that it would be cut. "
        "'path' is the way partita took, where it tells.\n"
        f"{reached} of {len(judged)} targets are reached.",
        ["data", "n", "d", "K", *names, "to its J", "ratio", "target", "verdict", "path"],
        [_time_row(row, names) for row in rows],
    )


def _time_row(row: Row, names: Sequence[str]) -> list[str]:
    ours, rival = row.cells[OURS], row.fastest
    sooner = row.to_cost.get(rival[0]) if rival else None
    return [
        *_key(row),
        *(_seconds(row.cells[name]) for name in names),
        f"{sooner.seconds:.3g}" if sooner else "–",
        *_verdict(row),
        ours.last.path if ours.last else "–",
    ]


def _key(row: Row) -> list[str]:
    return [row.task.name, str(row.n), str(row.d), str(row.task.k)]


def _seconds(cell: Cell) -> str:
    return f"{cell.best.seconds:.3g}" if cell.done else cell.trouble.partition(":")[0] or "–"


def _verdict(row: Row) -> list[str]:
    if row.ratio is None or row.fastest is None:
        return ["–", f"{row.target:g}", "no result"]
    name, seconds = row.fastest
    least = ">" if seconds >= row.limit else ""
    reached = "reached" if row.ratio >= row.target else "below target"
    return [f"{least}{row.ratio:.2f}", f"{row.target:g}", f"{reached} (vs {name})"]


def _costs(rows: Sequence[Row], names: Sequence[str]) -> Table:
    peers = [name for name in names if name != OURS]
    return Table(
        "J reached, and iterations",
        "J in float64, recomputed from the centers that each returned: partita's, and the peers' "
        "relative to it; in parentheses the iterations\n(faiss and mlpack make as many as they are "
        "told to, or fewer; mlpack does not say). One label that differs leads to\n"
        "another optimum, better or worse by chance. 'first difference' walks with partita until "
        "scikit-learn (lloyd) gives another label\nat the same centers, and compares the distances "
        "in float64.",
        ["data", "n", "d", "K", OURS, *peers, "first difference"],
        [
            [*_key(row), _own_cost(row), *(_cost(row, name) for name in peers), _difference(row)]
            for row in rows
        ],
    )


def _own_cost(row: Row) -> str:
    last = row.cells[OURS].last
    return f"{row.costs[OURS]:.10g} ({last.iterations})" if last and OURS in row.costs else "–"


def _cost(row: Row, name: str) -> str:
    last = row.cells[name].last
    if last is None or name not in row.costs:
        return "–"
    gap = row.costs[name] / row.costs[OURS] - 1
    return f"{'same' if abs(gap) <= 1e-12 else f'{gap:+.1e}'} ({last.iterations})"


def _difference(row: Row) -> str:
    return row.difference or "–"


def _memory(rows: Sequence[Row], names: Sequence[str]) -> Table:
    return Table(
        "Peak memory of a fit beyond the data, megabytes",
        "The highest resident memory of the process during a fit, less that before it.",
        ["data", "n", "d", "K", "data MB", *names],
        [
            [*_key(row), _megabytes(row.bytes), *(_megabytes(row.cells[n].memory) for n in names)]
            for row in rows
        ],
    )


def _megabytes(value: int | None) -> str:
    return "–" if value is None else f"{value / 1e6:.1f}"
