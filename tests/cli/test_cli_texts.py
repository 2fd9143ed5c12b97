"""Texts of the command line: results, notes, JSON, help and advice."""

from __future__ import annotations

import ast
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.cli import PARTITA, environment, pa
from helpers.paths import ROOT

from partita import KMeans, diagnosis, save
from partita._common.errors import Setting
from partita._common.text import one_line
from partita.cli.command_group import app
from partita.cli.finding_advice import ADVICE, ADVICE_IF_SCALED, advice_for
from partita.cli.show_results import print_json
from partita.model_file import read_model
from partita.tables import write_table

DOCS = ROOT / "docs" / "cli.md"
DOCUMENTED_IN_FULL = ("data", "summary", "scaling")  # objects whose parts docs/cli.md lists


@pytest.mark.heavy
def test_results_go_to_stdout_and_remarks_to_stderr(capsys, file):
    for words, out_is_empty in ((["--quiet"], True), ([], False)):
        with pytest.raises(SystemExit):
            app(["fit", str(file), "-k", "3", *words])
        out, err = capsys.readouterr()
        assert (out == "") == out_is_empty
        assert ("left out: who" in err) != out_is_empty
        assert "\x1b" not in out + err  # no terminal: no colours, no bars


@pytest.mark.heavy
def test_a_hostile_file_cannot_speak_to_the_terminal(capsys, tmp_path):
    assert one_line("a\x1b[31mb\n\u202ec\x07" + "d" * 99, 12) == "a [31mb…dddd"
    (tmp_path / "a.csv").write_text("[red]x\x1b[31m,b\x1b[7m\n1,\x1b]0;t\x07\n2,[bold]\n9,c\n")
    for words in (("fit", "-k", "2"), ("choose-k", "-k", "2:3")):
        with pytest.raises(SystemExit):
            app([words[0], str(tmp_path / "a.csv"), *words[1:]])
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err
        assert "left out: b" in err
        assert ("[red]x" in out) == (words[0] == "fit")


def keys(value, path=""):
    if isinstance(value, dict):
        for key, part in value.items():
            yield f"{path}{key}"
            if path.count(".") < 1:
                yield from keys(part, f"{path}{key}.")


@pytest.mark.heavy
@pytest.mark.parametrize("command", ["fit", "predict", "choose-k", "certify", "inspect"])
def test_the_object_of_json_is_the_documented_one(partita, tmp_path, file, command):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--missing", "mean", "--scale", "standard", "--model", model)
    words = {
        "fit": ("fit", file, "-k", "2:4", "--labels", tmp_path / "o.csv"),
        "predict": ("predict", file, "--model", model),
        "choose-k": ("choose-k", file, "-k", "2:4"),
        "certify": ("certify", file, "--model", model, "--time-limit", "0.2"),
        "inspect": ("inspect", model),
    }[command]
    result = json.loads(partita(*words, "--json"))
    section = re.search(rf"### `{command}`\n(.*?)(?=\n#|\Z)", DOCS.read_text(), re.S)[1]
    first = re.findall(r"^\|([^|]*)\|", section, re.M)
    documented = {key for cell in first for key in re.findall(r"`([\w.]+)`", cell)}
    # elsewhere: "as in fit"
    spelled = (
        DOCUMENTED_IN_FULL
        if command == "fit"
        else {"certify": ("certificate",)}.get(command, ("scaling",))
    )
    shown = {key for key in keys(result) if "." not in key or key.split(".")[0] in spelled}
    assert {key for key in keys(result) if key in documented} == documented
    assert shown - documented == set()
    assert result["command"] == command


def test_json_holds_no_nan(partita, tmp_path, capsys):
    print_json(command="x", a=[math.nan, np.float32(np.inf)], b=np.array([1.5, np.nan]))
    printed = json.loads(capsys.readouterr().out)
    assert (printed["a"], printed["b"]) == ([None, None], [1.5, None])
    (tmp_path / "a.csv").write_text("x\n1\n1\n1\n")
    text = partita("fit", tmp_path / "a.csv", "-k", 1, "--json")
    assert "NaN" not in text
    assert "Infinity" not in text
    json.loads(text)


@pytest.mark.heavy
def test_help_has_examples_for_every_command(partita):
    for command in ("fit", "check", "predict", "choose-k", "inspect", "name", "report", "demo"):
        text = partita(command, "--help")
        assert "Examples" in text
        assert f"partita {command}" in text
    assert partita("--version").startswith("partita 0.")


@pytest.mark.heavy
def test_help_answers_without_loading_anything_heavy():
    heavy = "numpy", "scipy", "sklearn", "pyarrow", "narwhals", "matplotlib", "jinja2"
    code = (
        "import sys; from partita.cli.command_group import app\n"
        "try:\n    app(['fit', '--help'], prog_name='partita')\n"
        "except SystemExit: pass\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("partita ch", ["check", "choose-k"]),
        ("partita fit --scale ", ["auto", "none", "standard", "robust"]),
    ],
)
def test_commands_and_values_of_options_are_completed(typed, completed):
    last = str(typed.count(" "))
    done = subprocess.run(
        PARTITA,
        env=environment(_PARTITA_COMPLETE="complete_bash", COMP_WORDS=typed, COMP_CWORD=last),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == completed


@pytest.mark.heavy
def test_predict_says_how_many_rows_each_cluster_has(partita, tmp_path, file):
    model = tmp_path / "m.partita"
    partita("fit", file, "-k", 3, "--model", model)
    output = partita("predict", file, "--model", model, "--labels", tmp_path / "out.csv")
    sizes = np.bincount(read_model(model).labels_)
    assert ", ".join(f"group {j}: {n}" for j, n in enumerate(sizes)) in output


def test_a_group_without_traits_is_described_as_in_the_report(partita, tmp_path):
    rows = np.repeat([[0.0], [5.0], [10.0]], 20, axis=0) + np.linspace(-1, 1, 60)[::-1, None]
    (tmp_path / "a.csv").write_text("x\n" + "".join(f"{x!r}\n" for x in rows[:, 0].tolist()))
    words, page = ("fit", tmp_path / "a.csv", "-k", 3), tmp_path / "a.html"
    groups = json.loads(partita(*words, "--json"))["summary"]["clusters"]
    middle = next(group for group in groups if not group["traits"])
    output = " ".join(partita(*words, "--report", page).split())
    like = f"most like group {middle['neighbour']['number']}, but {middle['neighbour']['level']} x"
    assert f"close to the average of all rows in every feature; {like}" in output
    card = page.read_text(encoding="utf-8").partition(f'id="card-{middle["number"]}"')[2]
    assert "Close to the average" in card.partition("</article>")[0]


@pytest.mark.heavy
def test_many_clusters_do_not_fill_the_screen(partita, tmp_path):
    rows = np.random.default_rng(0).random((300, 2))
    write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), tmp_path / "a.csv")
    output = partita("fit", tmp_path / "a.csv", "-k", 60)
    groups = re.findall(r"^ ?\d+  \S.* rows?$", output, re.M)
    left = int(re.search(r"and (\d+) more groups: see --report or --json", output)[1])
    assert len(groups) + left == 60
    assert len(output.splitlines()) < 60
    assert "(nothing was saved; --labels, --model and --report write files)" in " ".join(
        output.split()
    )


def test_messages_cannot_speak_to_a_terminal(partita, tmp_path):
    output = partita("fit", tmp_path / "no\x1b]0;pwned\x07.csv", "-k", 3, code=3)
    assert "\x1b" not in output
    assert "pwned" in output


def test_a_column_that_is_nearly_numbers_is_said_apart(tmp_path, capsys):
    rows = "".join(f"p{i},{i % 7},{'unknown' if i == 30 else i * 3 % 11}\n" for i in range(60))
    (tmp_path / "a.csv").write_text("who,age,income\n" + rows)
    with pytest.raises(SystemExit):
        app(["fit", str(tmp_path / "a.csv"), "-k", "2"])
    err = capsys.readouterr().err
    assert "Note: income is NOT used: " in err
    assert "59 of 60 values are numbers, but not 'unknown' in line 32; --na unknown uses it" in err
    assert "left out: who" in err


@pytest.mark.heavy
def test_the_report_says_what_the_terminal_says_of_the_data(partita, tmp_path):
    rows = "".join(f"{i},{i % 7},{'?' if i % 9 else 'x'},{i * 3 % 11}\n" for i in range(60))
    (tmp_path / "a.csv").write_text("number,age,text,w\n" + rows)
    model, page = tmp_path / "m.partita", tmp_path / "a.html"
    partita("fit", tmp_path / "a.csv", "-k", 2, "-w", "w", "--model", model, "--report", page)
    assert "left out: number (a row number: " in page.read_text()
    assert "Shares are of the weight" in partita("fit", tmp_path / "a.csv", "-k", 2, "-w", "w")
    assert "Shares are" not in partita("fit", tmp_path / "a.csv", "-k", 2)
    words = ("report", tmp_path / "a.csv", "--model", model, "--out", page, "--force")
    partita(*words)
    text = page.read_text()
    assert "the model was fitted with weights, but the report does not use them" in text
    assert "the model was made by <code>partita fit " in text
    assert "partita report " in text
    partita(*words, "--weight", "w")
    assert "does not use them" not in page.read_text()
    assert "it cannot be a feature too" in partita(
        "fit", tmp_path / "a.csv", "-k", 2, "-w", "w", "-c", "w,age", code=3
    )


def test_advice_names_options_that_exist(partita, blobs, monkeypatch):
    """Every finding whose advice is Python has advice in options, for all of its settings."""
    monkeypatch.setenv("COLUMNS", "200")
    options = set(re.findall(r"--[a-z-]+", partita("fit", "--help")))
    result = diagnosis.diagnose(KMeans(2, random_state=0).fit(blobs), blobs)
    names = {*result.looked, *(name for name, _ in result.skipped)}
    assert set(ADVICE) <= names
    assert names - set(ADVICE) <= {"unequal-magnitudes"}  # its own advice names no parameter
    for advice in ADVICE.values():
        assert set(re.findall(r"--[a-z-]+", advice)) <= options
        words = advice.replace("--kernel nearest_neighbors", "--kernel")
        assert not re.search(r"\w\(|[a-z]_[a-z]|\w=", words), advice


def test_advice_speaks_of_groups_and_names_no_rows(partita, tmp_path):
    for advice in (*ADVICE.values(), *ADVICE_IF_SCALED.values()):
        assert "cluster" not in advice.lower(), advice
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(200, 2)), [[40.0, 0.0], [0.0, 50.0]]])
    lines = [f"NAMED{i:03},{x!r},{y!r}\n" for i, (x, y) in enumerate(rows.tolist())]
    (tmp_path / "a.csv").write_text("who,x,y\n" + "".join(lines))
    words = ("fit", tmp_path / "a.csv", "-k", 2, "--raw", "--id", "who", "--json")
    findings = json.loads(partita(*words))["summary"]["findings"]
    assert any("NAMED201" in finding["evidence"] for finding in findings)
    for finding in findings:
        for part in ("what", "meaning", "advice", "option"):
            assert "NAMED" not in finding[part]


def test_advice_words_every_setting_of_its_finding():
    calls = [
        node
        for path in Path(diagnosis.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Finding"
    ]
    assert len(calls) > 15
    for call in calls:
        name = ast.literal_eval(call.args[0])
        settings = next((k.value.elts for k in call.keywords if k.arg == "settings"), [])
        assert ADVICE.get(name, "").count("{}") == len(settings), name
    few = diagnosis.Finding("empty-clusters", "", "", "", settings=(Setting("n_clusters", 3),))
    assert advice_for(few) == "Use fewer groups: --k 3 gives the same result."


def test_advice_fits_how_the_rows_were_scaled():
    for name in ADVICE:
        finding = diagnosis.Finding(
            name, "what", "evidence", "advice", settings=(Setting("n_init", 3),)
        )
        for kind in ("standard", "robust", "auto"):
            assert "--scale standard" not in advice_for(finding, kind)
        assert ("--scale standard" in advice_for(finding)) == (name in ADVICE_IF_SCALED)
    outliers = diagnosis.Finding("outliers", "what", "evidence", "advice")
    assert "--scale robust" in advice_for(outliers, "standard")
    assert "--scale" not in advice_for(outliers, "robust") + advice_for(outliers)
    assert "medoids" in advice_for(outliers)
    assert "medoids" not in advice_for(outliers, squared=False)


def test_a_fit_of_scaled_rows_does_not_advise_to_scale(tmp_path, partita):
    rng = np.random.default_rng(0)
    rows = np.c_[np.exp(4 * rng.normal(size=300)), rng.normal(size=300)]
    file = tmp_path / "rows.csv"
    np.savetxt(file, rows, delimiter=",", header="skewed,other", comments="")
    for scale, advised in (("none", True), ("robust", False)):
        out = " ".join(partita("fit", file, "-k", "2", "--scale", scale).split())
        assert "squared deviations are in skewed: it decides nearly alone" in out
        assert ("scale them" in out) == advised


def test_hints_name_only_options_of_the_command(tmp_path, capsys):
    (tmp_path / "a.csv").write_text(
        "x,y,zip\n" + "".join(f"{i % 7},{i % 3 * 90},{i + 10001}\n" for i in range(60))
    )
    model, out = str(tmp_path / "m"), str(tmp_path / "r.html")
    for words in (
        ["fit", "-k", "2", "--model", model],
        ["predict", "--model", model],
        ["report", "--model", model, "--out", out],
    ):
        with pytest.raises(SystemExit) as ended:
            app([words[0], str(tmp_path / "a.csv"), *words[1:]])
        assert not ended.value.code
        assert ("--explain" in capsys.readouterr().err) == (words[0] == "fit")


def test_names_that_run_right_to_left_turn_no_numbers_around(partita, tmp_path, blobs):
    names, isolates = ["גיל", "שכר", "عمر"], "\u2068\u2069"
    model, file = tmp_path / "m.partita", tmp_path / "a.csv"
    save(KMeans(2, random_state=0).fit(blobs), model, names=names, fitted_to=blobs)
    ids = ["זר", *map(str, range(1, 60))]
    far = [
        ",".join([name, *map(repr, row)])
        for name, row in zip(ids, (blobs + 100).tolist(), strict=False)
    ]
    file.write_text(",".join(["מי", *names]) + "\n" + "\n".join(far))
    predict = ("predict", file, "--model", model, "--labels", tmp_path / "out.csv", "--id", "מי")
    for words, wanted in (
        (("inspect", model), names),
        (("check", file), names),
        (predict, ["זר"]),
    ):
        shown = " ".join(partita(*words).split())
        for name in wanted:
            assert shown.count(f"{isolates[0]}{name}{isolates[1]}") == shown.count(name) > 0


@pytest.mark.parametrize("command", ["fit", "choose-k"])
def test_notes_come_before_the_fit(capsys, tmp_path, file, monkeypatch, command):
    lines = file.read_text().splitlines(keepends=True)
    names = [line.partition(",")[0] for line in lines]
    with_gaps = [f"{name},,1,2\n" for name in names[1:21]] + lines[21:]
    (tmp_path / "gaps.csv").write_text("".join([lines[0], *with_gaps]))

    def interrupt(*_, **__):
        raise ValueError("the fit has begun")

    monkeypatch.setattr("partita.choosing.choose_k.choose_k", interrupt)
    with pytest.raises(SystemExit):
        app([command, str(tmp_path / "gaps.csv"), "--missing", "drop"], prog_name="partita")
    out, err = capsys.readouterr()
    assert out == ""
    notes, _, error = err.partition("Error: ")
    assert "the fit has begun" in error
    assert "left out: who (text, as 'r000' in line 2)" in notes
    assert "left out: 20 of 120 rows (17 %) with a missing value; their label is -1" in notes
