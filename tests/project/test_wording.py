"""No program logic depends on the wording of a stop reason: only on its kinds."""

from __future__ import annotations

import inspect
import json
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from partita import KernelKMeans, KMeans, KMedoids, MiniBatchKMeans, choose_k
from partita.halting import Deadline, MaxIter, RelDecrease, Shift, StopReason, When

ROWS, _ = make_blobs(600, centers=5, n_features=3, random_state=0)
HALTS = [
    None,
    MaxIter(2),
    Shift(1.0) & RelDecrease(0.5),
    Deadline(0.0),
    Deadline(0.0) & MaxIter(1),
    When(lambda trace: "no point changed its cluster" if len(trace) == 3 else None),
]


def facts_of(model):
    """Run a model with a callback that counts its runs; return what must not change."""
    iterations = []
    model.set_params(callback=lambda progress: iterations.append(progress.iteration))
    model.fit(ROWS)
    facts = [iterations, model.labels_.tolist(), model.n_iter_, model.inertia_.hex()]
    return [*facts, getattr(model, "silhouettes_", None), model.stopped_by_.kinds]


def stopped_facts(model):
    """Run a model that a callback stops at the second iteration."""
    iterations = []

    def callback(progress):
        iterations.append(progress.iteration)
        return progress.iteration == 2

    model.set_params(callback=callback).fit(ROWS)
    return [iterations, model.labels_.tolist(), model.n_iter_, model.stopped_by_.kinds]


def library_facts():
    common = {"random_state": 0, "n_threads": 1}
    facts = []
    for halt in HALTS:
        facts += [
            facts_of(KMeans(8, n_init=3, init="random", halt=halt, **common)),
            facts_of(MiniBatchKMeans(5, batch_size=32, max_iter=5, halt=halt, **common)),
            facts_of(KernelKMeans(4, n_init=2, halt=halt, **common)),
            facts_of(KMedoids(4, method="alternate", n_init=3, halt=halt, **common)),
            facts_of(KMedoids(2, k_range=(2, 7), halt=halt, **common)),
        ]
    facts += [
        stopped_facts(KMeans(8, n_init=4, init="random", **common)),
        stopped_facts(MiniBatchKMeans(5, batch_size=32, **common)),
        stopped_facts(KMedoids(2, k_range=(2, 7), **common)),
        stopped_facts(KMedoids(5, method="alternate", n_init=4, **common)),
    ]
    return [*facts, choose_k(ROWS, range(2, 6), random_state=0).best_k]


def command_line_facts(folder, capsys):
    from partita.cli.command_group import app

    file = folder / "rows.csv"
    np.savetxt(file, ROWS, delimiter=",", header="x,y,z", comments="")
    facts = []
    for options in (
        [],
        ["--max-iter", "1"],
        ["--halt", "Deadline(0)"],
        ["--halt", "Shift(1000)"],
        ["--method", "mini-batch", "--max-iter", "1"],
        ["--method", "medoids"],
    ):
        with pytest.raises(SystemExit) as ended:
            app(["fit", str(file), "-k", "5", "--seed", "0", "--json", "--strict", *options])
        out = capsys.readouterr().out
        facts.append((ended.value.code, json.loads(out)["converged"] if out else None))
    assert len(set(facts)) > 1
    return facts


def mute(monkeypatch):
    """Replace the text of every stop reason by "x": of new ones, and of constants."""
    make = StopReason.__new__
    monkeypatch.setattr(StopReason, "__new__", lambda cls, text, *kinds: make(cls, "x", *kinds))
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] != "partita" or module is None:
            continue
        classes = [kind for _, kind in inspect.getmembers(module, inspect.isclass)]
        for owner in (module, *(kind for kind in classes if kind.__module__ == name)):
            for key, value in list(vars(owner).items()):
                if isinstance(value, StopReason):
                    monkeypatch.setattr(owner, key, StopReason("x", *value.kinds))


@pytest.mark.heavy
def test_no_fit_depends_on_the_wording_of_a_stop_reason(monkeypatch):
    expected = library_facts()
    mute(monkeypatch)
    assert KMeans(2, random_state=0).fit(ROWS).stopped_by_ == "x"
    assert library_facts() == expected


@pytest.mark.heavy
def test_the_command_line_does_not_depend_on_the_wording_of_a_stop_reason(
    monkeypatch, tmp_path, capsys
):
    pytest.importorskip("typer")
    expected = command_line_facts(tmp_path, capsys)
    mute(monkeypatch)
    assert command_line_facts(tmp_path, capsys) == expected
