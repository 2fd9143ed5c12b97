"""Watch a fit: halting criteria, a callback, and the trace."""

from __future__ import annotations

from sklearn.datasets import load_digits

from partita import KMeans, Progress
from partita.halting import Deadline, RelDecrease


def print_progress(progress: Progress) -> None:
    print(f"{progress.iteration:3}: J = {progress.cost:.0f}, {progress.moved_points} points moved")


def main() -> None:
    rows = load_digits().data
    model = KMeans(
        n_clusters=10,
        random_state=0,
        callback=print_progress,
        halt=RelDecrease(1e-3) | Deadline(10),
    ).fit(rows)
    print("stopped because", model.stopped_by_)
    print("columns of the trace:", ", ".join(model.trace_.to_dict()))

    other = KMeans(n_clusters=10, init=model, random_state=1).fit(rows).match(model)
    print("points in another cluster after a refit:", int((other.labels_ != model.labels_).sum()))


if __name__ == "__main__":
    main()
