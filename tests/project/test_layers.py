"""Imports point downward only, and files stay small."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from helpers.paths import PACKAGE

import partita

# lowest first; a module may import from its own layer and from those before it
LAYERS = [
    ("_common", "_kernels"),
    (
        "weights",
        "stats",
        "trace",
        "centers",
        "run_record",
        "geometry",
        "halting",
        "empty_clusters",
        "theory",
    ),  # algebra
    ("source",),
    ("init", "engine"),
    ("estimators", "_versions"),  # faces
    ("factorization", "voronoi"),  # views of a fit
    ("merging", "metrics"),
    ("choosing", "diagnosis"),
    ("chart_layout", "plots"),
    ("tables",),  # files
    ("model_file",),
    ("report",),
    ("cli",),  # parses, calls, shows
    ("__main__",),
]
ROOT = "__init__"  # public names only: it may name anything


def layer_of(module: str) -> int:
    head = module.split(".")[1]
    found = [level for level, names in enumerate(LAYERS) if head in names]
    assert found, f"{module} belongs to no layer; add it to LAYERS in {Path(__file__).name}"
    return found[0]


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("partita"):
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                yield deeper if node.module == "partita" else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("partita."))


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_downward(path):
    name = "partita." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    if name == f"partita.{ROOT}":
        return
    for target in imported(path):
        assert layer_of(target) <= layer_of(name), f"{name} imports {target}, which is above it"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_stay_within_their_budget(path):
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            code = [n for n in node.body if not isinstance(n, ast.Expr)]
            lines = code[-1].end_lineno - code[0].lineno + 1 if code else 0
            assert lines <= 45, f"{path.name}: {node.name} has {lines} lines"
    assert len(path.read_text().splitlines()) <= 450


def test_the_version_is_the_same_everywhere():
    text = (PACKAGE.parent.parent / "pyproject.toml").read_text()
    assert f'version = "{partita.__version__}"' in text
