"""Imports point downward only, and files stay small."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from helpers.paths import PACKAGE, ROOT, tree_of

import partita

PICTURE = re.search(r"```layers\n(.*?)```", (ROOT / "ARCHITECTURE.md").read_text(), re.S)[1]
# lowest first; a module may import from its own layer and from those before it
LAYERS = [line.split("  ")[0].split() for line in reversed(PICTURE.splitlines())]
PUBLIC = ("__init__", "__main__")  # they may import anything


def layer_of(module: str) -> int:
    head = module.split(".")[1]
    found = [level for level, names in enumerate(LAYERS) if head in names]
    assert found, f"{module} belongs to no layer; add it to the picture in ARCHITECTURE.md"
    return found[0]


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def imported(path: Path):
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("partita"):
            for alias in node.names:
                deeper = f"{node.module}.{alias.name}"
                yield deeper if node.module == "partita" else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("partita."))


def test_imports_point_downward():
    for path in modules():
        name = "partita." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if path.parent == PACKAGE and path.stem in PUBLIC:
            continue
        for target in imported(path):
            assert layer_of(target) <= layer_of(name), f"{name} imports {target}, which is above it"


def test_files_stay_within_their_budget():
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.FunctionDef):
                code = [n for n in node.body if not isinstance(n, ast.Expr)]
                lines = code[-1].end_lineno - code[0].lineno + 1 if code else 0
                assert lines <= 45, f"{path.name}: {node.name} has {lines} lines"
        assert len(path.read_text().splitlines()) <= 450, path.name


def test_the_picture_is_the_tree():
    drawn = [name for layer in LAYERS for name in layer]
    found = {path.stem for path in PACKAGE.glob("*.py")} - set(PUBLIC)
    found |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert sorted(drawn) == sorted(found)


def test_the_architecture_fits_on_a_few_screens():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.partition("## Glossary")[0].splitlines()) <= 120


def test_the_version_is_the_same_everywhere():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{partita.__version__}"' in text
