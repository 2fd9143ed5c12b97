"""The Python of the README runs as it stands there, and prints what it says; so do the examples."""

from __future__ import annotations

import re
import runpy

import pytest
from helpers.paths import ROOT

README = ROOT / "README.md"


def test_the_examples_run_and_say_what_they_say(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: no pictures")
    pytest.importorskip("jinja2", reason="jinja2 is not installed: no report")
    text = README.read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    said = capsys.readouterr().out
    claims = re.findall(r"print\(.*?  # (\d.*?)(?: *…|$)", code, re.M)  # what comes before "…"
    assert len(claims) == 2
    for claim in claims:
        assert claim in said
    assert {path.name for path in tmp_path.iterdir()} == {
        "clusters.png", "criteria.png", "iris.html", "iris.partita",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted(README.parent.glob("examples/*.py")), ids=lambda p: p.name)
def test_an_example_runs(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert len(capsys.readouterr().out) > 100
