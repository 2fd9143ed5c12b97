"""Names are unique and technical; docstrings begin with a verb or a noun phrase."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from helpers.paths import PACKAGE, tree_of

# The room makes the meaning plain: the command and the function of one name.
SAME_NAME = {"__init__", "choose_k", "criteria", "estimator", "parameters"}
# A constant that is only one of these says neither quantity nor unit.
BARE_WORDS = re.compile(
    "CLEAR|DEEP|ENOUGH|FAR|FEW|FEWEST|FINE|FIRST|FLAT|LARGE|LEAST|LITTLE|LONG|LOW|MANY|MORE|MOST|"
    "MUCH|NEAR|OFTEN|PAYS|ROUGH|SETTLE|SHORT|SMALL|STRONG|SURE|TINY|TOO_FAR|WEAK|WIDE"
)
CLAUSE = re.compile(r"(What|Where|How|Which|Whether|Who|Whose|When|That|Those)\b")


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def test_no_two_classes_have_the_same_name():
    homes = defaultdict(list)
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(str(path.relative_to(PACKAGE)))
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def test_no_two_modules_have_the_same_name():
    homes = defaultdict(list)
    for path in modules():
        homes[path.stem].append(str(path.relative_to(PACKAGE)))
    twice = {name: where for name, where in homes.items() if len(where) > 1}
    assert not {name: where for name, where in twice.items() if name not in SAME_NAME}


def test_constants_say_a_quantity():
    bare = []
    for path in modules():
        for node in tree_of(path).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            bare += [f"{path.name}: {n}" for n in names if BARE_WORDS.fullmatch(n.lstrip("_"))]
    assert not bare


def test_docstrings_begin_with_a_verb_or_a_noun():
    clauses = []
    for path in modules():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                text = ast.get_docstring(node) or ""
                if CLAUSE.match(text):
                    name = getattr(node, "name", "module")
                    clauses.append(f"{path.relative_to(PACKAGE)}: {name}: {text.splitlines()[0]}")
    assert not clauses, "\n".join(clauses)
