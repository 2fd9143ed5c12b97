"""A file with wrong values, but correct checksums, is refused or holds a model that works.

Works: whatever the model is asked to do, the answer is a result or a ValueError, never an error
from inside.
"""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest
from helpers.damaged_models import members, zipped
from helpers.mutated_models import mutated, suitable_rows, use, use_without_class
from helpers.saved_models import CASES, FRAME, fitted
from helpers.saved_pipelines import fitted_pipeline

from partita import load, save
from partita.model_file import ModelFileError
from partita.tables import Scaling

pytest.importorskip("rich", reason="rich is not installed: no terminal output")
PIPELINES = (
    "standard frame", "standard gaps", "robust", "minmax", "normalizer", "constant", "pca", "svd",
    "frames inside", "four steps",
)  # fmt: skip
REPORT_EVERY = 5  # cases; a report takes longer than all the rest


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """The members of a file of every kind, and of one with a preparation."""
    path = tmp_path_factory.mktemp("models") / "a.partita"
    found = {}
    for kind in CASES:
        save(fitted(kind), path, force=True)
        found[kind] = members(path.read_bytes())
    prepared = {
        "scaling": Scaling("standard", np.ones(3), np.full(3, 2.0)),
        "fill": [1.0, 2.0, 3.0],
        "names": ["a", "b", "c"],
        "note": "a remark",
        "fingerprint": "abc",
        "fitted_to": FRAME,
    }
    save(fitted("kmeans frame"), path, force=True, **prepared)
    found["prepared"] = members(path.read_bytes())
    for kind in PIPELINES:
        save(fitted_pipeline(kind), path, force=True)
        found[f"pipeline {kind}"] = members(path.read_bytes())
    return found


def check(originals, cases, folder):
    faults, kinds, counts = [], list(originals), {"refused": 0, "loaded": 0}
    for case in cases:
        rng = np.random.default_rng([15, case])
        kind = kinds[rng.integers(len(kinds))]
        parts, how = mutated(originals[kind], rng)
        path = folder / "mutated.partita"
        path.write_bytes(zipped(parts))
        try:
            model = load(path)
        except ModelFileError:
            counts["refused"] += 1
            with contextlib.suppress(ValueError):
                use_without_class(path)
            continue
        except Exception as error:
            faults.append(f"{case}, {kind}, {how}: load: {type(error).__name__}: {error}")
            continue
        counts["loaded"] += 1
        try:
            rows = suitable_rows(model, "csr" in kind)
            use(model, rows, folder / "again.partita", case % REPORT_EVERY == 0)
            check_labels_without_class(model, path, rows)
        except AssertionError as fault:
            faults.append(f"{case}, {kind}, {how}: {fault}")
    assert not faults, "\n".join(faults)
    assert min(counts.values()) > len(cases) / 10, counts


def check_labels_without_class(model, path, rows):
    is_prepared = hasattr(model, "steps") and model.saved_.pipeline is None
    model = model[-1] if is_prepared else model  # rows as the model takes them
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.suppress(ValueError):
        warnings.simplefilter("ignore")
        labels = model.predict(rows)
        assert np.array_equal(use_without_class(path, rows), labels), "other labels"


def test_a_few_mutated_files_are_refused_or_work(originals, tmp_path, capsys):
    check(originals, range(60), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_mutated_files_are_refused_or_work(originals, part, tmp_path, capsys):
    check(originals, range(1000 * (part + 1), 1000 * (part + 2)), tmp_path)
