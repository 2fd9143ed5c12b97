"""Tables with categories, gaps and mistakes, from file to report: the method that fits, and why."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from helpers.messy_table import messy_table
from helpers.slow_cases import slow
from sklearn.metrics import adjusted_rand_score

from partita import load
from partita.cli.command_group import app

MIN_ARI = 0.8
GOWER = ("medoids", "--metric", "gower")
METHODS = {
    "prototypes": ("--method", "prototypes"),
    "gower": ("--method", *GOWER),
    "auto": ("--method", "auto"),
    "trimmed": ("--method", "trimmed"),
    "bisecting": ("--method", "bisecting"),
    "balanced": ("--method", "balanced", "--size-min", "60"),
    "partial": ("--missing", "partial"),
}
UNUSED = "3 columns of categories are not used: plan, channel, region; --method prototypes uses"


def run(capsys, *words):
    """Return stdout and stderr of a command that succeeds."""
    with pytest.raises(SystemExit) as ended:
        app(list(map(str, words)), prog_name="partita")
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    return out, err


def error_of(capsys, *words):
    """Return the message of a command that fails: 2 for its options, 3 for the data."""
    with pytest.raises(SystemExit) as ended:
        app(list(map(str, words)), prog_name="partita")
    assert ended.value.code in (2, 3)
    return " ".join(capsys.readouterr().err.split())


def as_json(capsys, *words):
    return json.loads(run(capsys, *words, "--json")[0])


def labels_in(text):
    return np.array([int(row["cluster"]) for row in csv.DictReader(io.StringIO(text))])


@pytest.fixture(scope="module")
def small():
    return messy_table(400, outliers=3)


@pytest.fixture
def path(small, tmp_path):
    file = tmp_path / "customers.csv"
    file.write_text(small.text)
    return file


@pytest.fixture(scope="module")
def models(small, tmp_path_factory):
    """A model file and the labels of every method."""
    folder = tmp_path_factory.mktemp("models")
    path = folder / "customers.csv"
    path.write_text(small.text)
    found = {}
    for name, words in METHODS.items():
        model, labels = folder / f"{name}.partita", folder / f"{name}.csv"
        fit = ("fit", path, "-k", 4, *words, "--model", model, "--labels", labels, "-q")
        with pytest.raises(SystemExit) as ended:
            app(list(map(str, fit)), prog_name="partita")
        assert not ended.value.code
        found[name] = model, labels_in(labels.read_text())
    return found


# --- what is found --------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [400, *slow(3000)])
@pytest.mark.parametrize("name", ["prototypes", "gower", "auto"])
def test_groups_that_categories_tell_apart_are_found_in_one_command(capsys, tmp_path, name, n):
    table = messy_table(n, outliers=max(3, 11 * n // 3000))
    path, labels, page = (tmp_path / file for file in ("t.csv", "o.csv", "r.html"))
    path.write_text(table.text)
    run(capsys, "fit", path, "-k", 4, *METHODS[name], "--labels", labels, "--report", page)
    assert adjusted_rand_score(table.groups, labels_in(labels.read_text())) >= MIN_ARI
    text = page.read_text()
    assert 'class="shares"' in text
    assert "where the groups differ most" in text


@pytest.mark.parametrize("n", [400, *slow(3000)])
def test_outliers_are_left_out_and_groups_of_numbers_found(capsys, tmp_path, n):
    table = messy_table(n, outliers=max(3, 11 * n // 3000))
    path, labels, page = (tmp_path / file for file in ("t.csv", "o.csv", "r.html"))
    path.write_text(table.text)
    words = ("--method", "trimmed", "--trim", "3%", "--labels", labels, "--report", page)
    out = run(capsys, "fit", path, "-k", 2, *words)[0]
    found = labels_in(labels.read_text())
    assert (found[table.outliers] == -1).all()
    inside = found >= 0
    assert adjusted_rand_score(table.profiles[inside], found[inside]) >= MIN_ARI
    assert re.search(
        r"left out: \d+ rows \(3.%\), the farthest from every center; their label", out
    )
    text = page.read_text()
    assert re.search(r"left out: \d+ rows \(3.%\)", text)
    assert "Left out: " in text
    assert "dots in grey" in text
    summary = as_json(capsys, "fit", path, "-k", 2, *words[:4])["summary"]
    assert summary["left_out"].startswith(f"left out: {summary['nowhere']} rows")
    assert dict(summary["facts"])["Trimming"].startswith("3 % of the weight, beyond a distance of")
    assert summary["of_fit"]


def test_the_default_fit_proposes_the_method_and_changes_nothing_else(capsys, path):
    out, err = run(capsys, "fit", path, "-k", 4)
    assert f"Note: {UNUSED} them" in err
    data = as_json(capsys, "fit", path, "-k", 4)
    assert data["data"]["unused_categories"] == ["plan", "channel", "region"]
    assert data["data"]["categories"] == {}
    assert data["data"]["method"] == "kmeans"
    silent = run(capsys, "fit", path, "-k", 4, "--categories", "none")
    assert UNUSED not in silent[1]
    assert silent[0] == out
    numbers = ("--columns", "age,income,visits,basket,distance_km")
    assert UNUSED not in run(capsys, "fit", path, "-k", 4, *numbers)[1]


@pytest.mark.parametrize(
    ("exclude", "method", "why"),
    [
        ("", "prototypes", "3 columns of categories: plan, channel, region"),
        ("plan,channel", "prototypes", "1 column of categories: region"),
        ("plan,channel,region", "kmeans, --missing partial", "no categories, but 119 missing"),
        (
            "plan,channel,region,age,income,visits,basket",
            "kmeans",
            "neither categories nor missing values",
        ),
    ],
)
def test_auto_takes_the_method_that_fits_the_table_and_says_why(capsys, path, exclude, method, why):
    words = ("-k", 3, "--method", "auto", *(("--exclude", exclude) if exclude else ()))
    if method == "kmeans":
        full = "\n".join(line for line in path.read_text().split("\n") if not re.search(",,", line))
        rows = [line for line in full.split("\n") if line and line.split(",")[7]]
        path.write_text("\n".join(rows) + "\n")
    line = f"method: {method} ({why}"
    err = run(capsys, "fit", path, *words)[1]
    assert line in err
    answer = as_json(capsys, "fit", path, *words)
    assert answer["data"]["method"] == method.partition(",")[0]
    assert any(line in decision["line"] for decision in answer["data"]["plan"]["decisions"])


def test_gaps_are_left_open_where_the_method_compares_what_is_known(capsys, path, models):
    err = run(capsys, "fit", path, "-k", 3, "--missing", "partial")[1]
    assert "left open: " in err
    assert "filled in" not in err
    err = run(capsys, "fit", path, "-k", 4, "--method", *GOWER)[1]
    assert "left open: " in err
    assert "compared: each number by its range, each category as equal or not" in err
    assert "filled in" in run(capsys, "fit", path, "-k", 4, "--method", "prototypes")[1]


def test_k_of_rows_with_gaps_is_chosen_with_medians_in_their_place(capsys, path):
    answer = as_json(capsys, "fit", path, "-k", "2:4", "--missing", "partial")
    assert any("chosen with medians in place of missing values" in w for w in answer["warnings"])
    assert answer["summary"]["n_clusters"] == answer["sweep"]["best_k"]


# --- files that predict ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_predict_and_load_give_the_labels_of_the_fit(capsys, path, models, name):
    pd = pytest.importorskip("pandas")
    model, labels = models[name]
    again = np.array(as_json(capsys, "predict", path, "--model", model)["labels"])
    frame = pd.read_csv(path)
    loaded = load(model).predict(frame)
    np.testing.assert_array_equal(loaded, again)
    if name != "balanced":  # whose new rows have no limits
        np.testing.assert_array_equal(again, labels)
    if name in ("prototypes", "gower"):
        columns = frame[[*load(model)[0].names]]
        np.testing.assert_array_equal(load(model).predict(columns.to_numpy(object)), labels)


@pytest.mark.parametrize("name", ["prototypes", "gower"])
def test_new_rows_may_have_unseen_categories_and_gaps(capsys, path, models, name, tmp_path):
    head, *rows = path.read_text().split("\n")[:40]
    new = tmp_path / "new.csv"
    new.write_text("\n".join([head, *(row.replace(",web,", ",fax,") for row in rows)]) + "\n")
    known = np.array(as_json(capsys, "predict", path, "--model", models[name][0])["labels"])
    found = np.array(as_json(capsys, "predict", new, "--model", models[name][0])["labels"])
    unchanged = np.array([",web," not in row for row in rows])
    np.testing.assert_array_equal(found[unchanged], known[: len(rows)][unchanged])
    assert (found >= 0).all()
    blocks = run(
        capsys, "predict", new, "--model", models[name][0], "--memory-limit", "1KiB",
        "--only-labels", "-o", tmp_path / "blocks.csv",
    )  # fmt: skip
    assert "by blocks" in blocks[0]
    np.testing.assert_array_equal(labels_in((tmp_path / "blocks.csv").read_text()), found)
    lacking = tmp_path / "lacking.csv"
    lacking.write_text(path.read_text().replace("region", "area", 1))
    error = error_of(capsys, "predict", lacking, "--model", models[name][0])
    assert "lacks 'region' of the 8 columns" in error


def test_all_members_have_a_face_in_every_command(capsys, path, models, tmp_path):
    for name, (model, _) in models.items():
        shown, facts = run(capsys, "inspect", model)[0], as_json(capsys, "inspect", model)
        assert facts["n_clusters"] == 4
        is_mixed = name in ("prototypes", "gower", "auto")
        assert ("premium" in shown) == is_mixed
        assert ("plan" in facts["centers"][0]) if is_mixed else len(facts["centers"][0]) == 5
        page = tmp_path / f"{name}.html"
        run(capsys, "report", path, "--model", model, "--out", page)
        assert "plan" in page.read_text()
        run(capsys, "name", model, "--names", "0=Alpha")
        assert "Alpha" in run(capsys, "inspect", model)[0]


def test_what_only_one_member_can_tell_is_told(capsys, path, models):
    told = {
        "bisecting": ("Splits", "the outer brackets are the first split"),
        "balanced": ("Sizes", "rows in a group (at least 60 were asked for)"),
        "gower": ("Compared", "by their range: age, income, visits, basket, distance_km; as equal"),
    }
    for name, (title, text) in told.items():
        out = run(capsys, "fit", path, "-k", 4, *METHODS[name])[0]
        assert re.search(rf"{title}: .*{re.escape(text)}", out.replace("\n  ", " ")), out
        facts = dict(as_json(capsys, "fit", path, "-k", 4, *METHODS[name])["summary"]["facts"])
        assert text in facts[title]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("prototypes", "no lower bounds are known of a sum with categories"),
        ("trimmed", "no lower bounds are known of a sum that leaves rows out"),
        ("balanced", "no lower bounds are known that take limits on sizes into account"),
        ("partial", "no lower bounds are known of a sum over the values that are not missing"),
    ],
)
def test_members_without_bounds_say_so(capsys, path, models, name, why):
    assert why in error_of(capsys, "certify", path, "--model", models[name][0])


def test_medoids_of_tables_with_categories_are_certified(capsys, path, models):
    out = run(capsys, "certify", path, "--model", models["gower"][0])[0]
    assert "the sum of dissimilarities to the medoids" in out.replace("\n", " ")


@pytest.mark.parametrize("name", ["prototypes", "gower"])
def test_the_number_of_groups_is_chosen_with_categories(capsys, path, name):
    answer = as_json(capsys, "choose-k", path, "-k", "2:5", *METHODS[name])
    assert set(answer["sweep"]["table"]["k"]) == {2, 3, 4, 5}
    assert answer["data"]["categories"] == {"plan": 3, "channel": 4, "region": 4}


# --- columns and options --------------------------------------------------------------------------


def test_categories_are_chosen_by_name(capsys, path):
    words = ("fit", path, "-k", 3, "--method", "prototypes", "--categories")
    data = as_json(capsys, *words, "plan,zip")["data"]
    assert list(data["categories"]) == ["zip", "plan"]
    assert as_json(capsys, *words, "none")["data"]["categories"] == {}
    named = ("fit", path, "-k", 3, "--method", "prototypes", "--columns", "age,region")
    data = as_json(capsys, *named)["data"]
    assert data["features"] == ["age", "region"]
    assert list(data["categories"]) == ["region"]


def test_a_table_without_numbers_has_groups_of_categories(capsys, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("plan,shop\n" + "basic,yes\n" * 30 + "plus,no\n" * 20)
    for words in (METHODS["prototypes"], METHODS["gower"], METHODS["auto"]):
        page = tmp_path / "r.html"
        out = run(capsys, "fit", path, "-k", 2, *words, "--report", page, "-f")[0]
        assert "plan: 100" in out
        assert 'class="shares"' in page.read_text()


def test_check_shows_categories(capsys, path):
    out, err = run(capsys, "check", path)
    assert UNUSED in err
    assert "– (text)" in out
    out, err = run(capsys, "check", path, "--categories", "auto")
    assert UNUSED not in err
    assert re.search(r"plan +category", out)
    assert "used as categories: plan (3), channel (4), region (4)" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            ("--method", "trimmed", "--categories", "plan"),
            "--categories needs --method prototypes, or --method medoids --metric gower, got "
            "--method trimmed.",
        ),
        (
            ("--method", "prototypes", "--missing", "partial"),
            "--missing partial needs --method kmeans, or --method medoids --metric gower, got "
            "--method prototypes. Use --missing auto to fill in medians.",
        ),
        (("--trim", "0.1"), "--trim needs --method trimmed, got --method kmeans."),
        (("--method", "auto", "--trim", "0.1"), "--trim needs --method trimmed, got --method prot"),
        (("--method", "trimmed", "--trim", "1.5"), "a share from 0 to below 1, like 0.05 or 5%"),
        (("--size-min", "3"), "--size-min needs --method balanced, got --method kmeans."),
        (("--gamma", "x", "--method", "prototypes"), "must be a number of at least 0, or auto"),
        (
            ("--method", "prototypes", "--categories", "since"),
            "column 'since' cannot be a category: it has dates. Leave it out.",
        ),
        (("--method", "prototypes", "--categories", "plam"), "has no column 'plam'. Did you mean"),
        (
            ("--method", "balanced", "--size-min", "300"),
            "with 400 rows and --k 4, got 300. Lower --size-min or --k.",
        ),
        (
            ("--method", "prototypes", "--memory-limit", "1KiB"),
            "does not fit memory, and --method prototypes needs all rows at once.",
        ),
        (
            ("--missing", "partial", "--memory-limit", "1KiB"),
            "does not fit memory, and --method kmeans, --missing partial needs all rows at once.",
        ),
    ],
)
def test_options_that_do_not_fit_are_errors_that_say_what_does(capsys, path, words, says):
    assert says in error_of(capsys, "fit", path, "-k", 4, *words)


@pytest.mark.parametrize(
    "words",
    [
        ("--method", "balanced", "--size-min", "60"),
        ("--method", "kernel", "--kernel", "nearest_neighbors"),
    ],
)
def test_methods_whose_number_of_groups_cannot_be_chosen_ask_for_k(capsys, path, words):
    for command in ("fit", "choose-k"):
        text = error_of(capsys, command, path, *words)
        assert " ".join(words[:2]) in text
        assert "needs a number of groups, since none can be chosen for it: " in text
        assert "Give --k 3 to partita fit" in text
        assert "choose_k" not in text


def test_a_model_without_bounds_points_to_the_option_for_labels(capsys, path, models):
    model = models["prototypes"][0]
    text = error_of(capsys, "certify", path, "--model", model)
    assert "cannot be certified: " in text
    assert "--labels-column COLUMN bounds the sum of squares of the labels" in text


@pytest.mark.parametrize("name", ["prototypes", "gower"])
def test_categories_that_the_fit_did_not_have_are_counted(capsys, tmp_path, path, models, name):
    model, new, page = models[name][0], tmp_path / "new.csv", tmp_path / "new.html"
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    for i, row in enumerate(rows):
        row["plan"] = "enterprise" if i < 7 else row["plan"]
        row["region"] = "" if i < 9 else "Mars" if i == 10 else row["region"]
    with new.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    used = as_json(capsys, "predict", new, "--model", model)
    assert used["unseen_categories"] == {"plan": 7, "region": 1}
    note = "categories that the fit did not have: plan in 7, region in 1 of"
    labels = tmp_path / "labels.csv"
    assert note in run(capsys, "predict", new, "--model", model, "--labels", labels)[1]
    assert note in run(capsys, "report", new, "--model", model, "--out", page)[1]
    assert "plan in 7" in page.read_text()
    assert as_json(capsys, "predict", path, "--model", model)["unseen_categories"] == {}
