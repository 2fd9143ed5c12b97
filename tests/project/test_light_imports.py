"""Commands that fit nothing import neither scikit-learn nor SciPy: these take most of the time."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from helpers.paths import PACKAGE, tree_of

from partita import KMeans, MiniBatchKMeans, SphericalKMeans, save

HEAVY = {"sklearn", "scipy", "pandas", "matplotlib", "polars", "narwhals", "jinja2"}
# Everything below the estimators that reads rows, and what labels the rows of a file
LIGHT = (
    "partita.tables", "partita.model_file", "partita.model_file.contents",
    "partita.estimators.center_model", "partita.estimators.labelling",
    "partita.estimators.fitted_models", "partita.engine.lloyd", "partita.engine.nested_batches",
    "partita.init", "partita.theory", "partita.cli.command_group", "partita.cli.workflow",
    "partita.cli.outputs", "partita.cli.show_comparison", "partita.cli.show_results",
    "partita.cli.show_model",
)  # fmt: skip


def module_name(path):
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_at_once(tree, known):
    """The modules that importing a module imports, with the packages that they are in."""
    todo = list(tree.body)
    for node in todo:
        if isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            todo += [*node.body, *node.orelse]
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            deeper = (f"{node.module}.{alias.name}" for alias in node.names)
            names = [node.module, *(name for name in deeper if name in known)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: i + 1]) for i in range(len(parts)))


@pytest.fixture(scope="module")
def imports():
    paths = {module_name(path): path for path in PACKAGE.rglob("*.py")}
    return {name: set(imported_at_once(tree_of(path), paths)) for name, path in paths.items()}


@pytest.mark.parametrize("module", LIGHT)
def test_light_modules_import_no_heavy_package(imports, module):
    chain, todo = {module: module}, [module]
    for name in todo:
        for target in imports.get(name, ()):
            if target not in chain:
                chain[target] = f"{chain[name]} -> {target}"
                todo.append(target)
    assert not [chain[name] for name in chain if name in HEAVY]


def test_commands_that_fit_nothing_import_no_heavy_package(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("typer")
    rows = np.random.default_rng(0).normal(size=(40, 2))
    data = tmp_path / "rows.csv"
    np.savetxt(data, rows, delimiter=",", header="x,y", comments="")
    commands = [["--version"], ["--help"], ["fit", "--help"], ["check", str(data)]]
    for model in (KMeans, MiniBatchKMeans, SphericalKMeans):
        path = str(tmp_path / f"{model.__name__}.partita")
        save(model(3, random_state=0).fit(rows), path, names=["x", "y"], fitted_to=rows)
        labels = ["--labels", str(tmp_path / f"{model.__name__}.csv"), "--distance"]
        commands += [["inspect", path], ["predict", str(data), "--model", path, *labels]]
    program = """
import json, sys
from partita.cli import main

commands, heavy = json.loads(sys.argv[1])
for command in commands:
    sys.argv = ["partita", *command]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (command, end.code)
    imported = {name.partition(".")[0] for name in sys.modules}
    assert imported.isdisjoint(heavy), (command, imported & set(heavy))
    assert "partita.engine" not in sys.modules, (command, "the engine of fits")
"""
    argument = json.dumps([commands, sorted(HEAVY)])
    done = subprocess.run(
        [sys.executable, "-c", program, argument],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
