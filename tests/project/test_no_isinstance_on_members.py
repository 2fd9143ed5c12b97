"""Consumers ask a model for its capabilities, never for its class or its private parts."""

from __future__ import annotations

import ast
import re

import pytest
from helpers.paths import PACKAGE, tree_of

CLASSES = {
    "KMeans", "MiniBatchKMeans", "SphericalKMeans", "KernelKMeans", "KMedoids", "BisectingKMeans",
    "Clusterer", "CenterClusterer", "LloydClusterer", "EuclideanClusterer",
}  # fmt: skip
MODELS = {"model", "estimator", "fitted", "last", "first", "again", "bare", "clusterer"}
SPECIAL_INPUT = {"precomputed", "normalized-cut"}
CONSUMERS = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if "estimators" not in path.relative_to(PACKAGE).parts
]


def class_names(node: ast.AST) -> set[str]:
    """The classes of the family that an expression names, as identifiers or as texts."""
    named = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            named.add(part.id)
        elif isinstance(part, ast.Attribute):
            named.add(part.attr)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            named.add(part.value)
    return named & CLASSES


def class_checks(tree: ast.AST):
    """Calls of isinstance, and comparisons of a class or of its name, with members."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and called(node) in ("isinstance", "issubclass"):
            named = class_names(node.args[1])
        elif isinstance(node, ast.Compare) and any(map(asks_for_class, ast.walk(node))):
            named = class_names(node)
        else:
            continue
        if named:
            yield node


def called(node: ast.AST) -> str:
    return getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""


def asks_for_class(node: ast.AST) -> bool:
    return called(node) == "type" or getattr(node, "attr", "") == "__name__"


def is_model(node: ast.AST) -> bool:
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    return name in MODELS


def private_access(tree: ast.AST):
    for node in ast.walk(tree):
        private = isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr)
        if private and is_model(node.value):
            yield node


def comparisons_of_input(tree: ast.AST):
    """`model.metric == "precomputed"` and the like, also by getattr."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = list(ast.walk(node))
            texts = {part.value for part in parts if isinstance(part, ast.Constant)}
            names = {getattr(part, "attr", "") for part in parts}
            names |= texts if any(called(part) == "getattr" for part in parts) else set()
            if names & {"metric", "kernel"} and texts & SPECIAL_INPUT:
                yield node


@pytest.mark.parametrize("rule", [class_checks, private_access, comparisons_of_input])
def test_consumers_ask_for_capabilities(rule):
    broken = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in CONSUMERS
        for node in rule(tree_of(path))
    ]
    assert not broken, f"use capabilities_of(model) instead: {broken}"


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (class_checks, "isinstance(model, (KMedoids, KernelKMeans))"),
        (class_checks, "isinstance(x, estimators.KMeans)"),
        (class_checks, "type(model).__name__ == 'SphericalKMeans'"),
        (class_checks, "type(model) is KMeans"),
        (private_access, "model._costs(X)"),
        (private_access, "self.estimator._open(X)"),
        (comparisons_of_input, "model.metric == 'precomputed'"),
        (
            comparisons_of_input,
            "getattr(model, 'kernel', None) in ('precomputed', 'normalized-cut')",
        ),
    ],
)
def test_the_rules_find_what_they_look_for(rule, text):
    assert list(rule(ast.parse(text)))
