"""The Python in the documents runs, the reference is complete, links lead somewhere."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import sys

import pytest
from helpers.paths import DOCS, ROOT

README, GUIDE = ROOT / "README.md", DOCS / "guide.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def python_of(page):
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.S))


@pytest.fixture
def needs_extras():
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: no pictures")
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")


@pytest.mark.heavy
def test_the_readme_prints_what_it_claims(tmp_path, monkeypatch, capsys):
    code = python_of(README)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    claims = re.findall(r"print\(.*?  # (\d[\d.]*)(?:… (.*))?$", code, re.M)
    assert len(claims) == 2
    for number, rest in claims:
        assert any(line.startswith(number) and line.endswith(rest) for line in printed), number


@pytest.mark.heavy
@pytest.mark.usefixtures("needs_extras")
def test_the_guide_runs_and_writes_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(python_of(GUIDE), "guide.md", "exec"), {})
    assert len(capsys.readouterr().out) > 1000
    assert {path.name for path in tmp_path.iterdir()} == {
        "clusters.png", "criteria.png", "fit.checkpoint", "iris.html", "iris.partita",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.py")), ids=lambda p: p.name)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out) > 100


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_to_files(page):
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not broken


@pytest.fixture(scope="module")
def reference():
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: no tables")
    sys.path.insert(0, str(DOCS))
    yield importlib.import_module("reference")
    sys.path.remove(str(DOCS))


def test_the_reference_is_what_the_docstrings_say(reference):
    written = (DOCS / "reference.md").read_text(encoding="utf-8")
    assert written == reference.page(), "docs/reference.md is out of date: run `make reference`"


def test_everything_public_has_a_docstring(reference):
    bare = []
    for module in reference.MODULES:
        for name in reference.public_names(module):
            value = getattr(importlib.import_module(module), name)
            if inspect.isclass(value):
                members = {
                    f"{name}.{m}": getattr(value, m) for m in reference.public_methods(value)
                }
                bare += [member for member, what in members.items() if not inspect.getdoc(what)]
            if callable(value) and not inspect.getdoc(value):
                bare.append(name)
    assert not bare
