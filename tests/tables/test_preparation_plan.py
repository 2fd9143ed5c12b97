"""The plan: every decision about a table is one line, with its rule and how to undo it."""

from __future__ import annotations

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import Table, TableError, fit_auto, plan_of, select, undo_hint  # noqa: E402
from partita.tables.table_roles import copies_of  # noqa: E402

RNG = np.random.default_rng(8)
N = 200


def rng():
    return np.random.default_rng(9)


AGE, INCOME = RNG.normal(45, 9, N), RNG.normal(3e4, 5e3, N)


def planned(include=(), missing="auto", id=None, **columns):
    table = Table(pa.table({"age": AGE, "income": INCOME, **columns}), "t", "parquet")
    selection = select(table, by_role=True, include=include, missing=missing, id=id)
    scaling, why = fit_auto(selection.X, selection.names, selection.weight)
    return plan_of(table, selection, scaling, why), selection


def line_of(plan, column):
    found = next(decision for decision in plan.decisions if column in decision.columns)
    assert found.rule
    return found.line


@pytest.mark.parametrize(
    ("name", "values", "line"),
    [
        ("row", range(N), "left out: row (a row number: the numbers from 0 to 199, each once)"),
        ("user_id", RNG.integers(0, 900, N), "left out: user_id (an id: by its name, "),
        ("zip", RNG.integers(10000, 99999, N), "left out: zip (a code: by its name, "),
        ("ref", RNG.choice(900_000, N, replace=False) + 100_000,
         "left out: ref (a code: 100 % distinct integers of 6 digits, spread evenly)"),
        ("unit", [3.5] * N, "left out: unit (constant: always 3.5)"),
        ("again", AGE, "left out: again (a copy: the values of age)"),
        ("euros", INCOME * 0.92 + 3, "left out: euros (a copy: income in another unit)"),
        ("cluster", RNG.integers(0, 3, N), "left out: cluster (labels of an earlier fit: by its"),
        ("member", RNG.integers(0, 2, N), "left out: member (two values only: 0 and 1)"),
        ("rare", [1.5, 2.5] + [None] * (N - 2), "left out: rare (mostly gaps: 99 % of the values"),
        ("city", ["Wien", "Graz"] * (N // 2), "left out: city (text, as 'Wien' in row 1)"),
        ("since", ["2024-05-01"] * N, "left out: since (dates)"),
        ("until", ["31.12.2024"] * N, "left out: until (dates)"),
        ("Signup Year", RNG.integers(1999, 2024, N), "left out: Signup Year (dates: years from "),
        ("born", 20240101 + RNG.integers(0, 28, N), "left out: born (dates: days like 202401"),
        ("seen_at", RNG.integers(1e9, 2e9, N), "left out: seen_at (dates: a time in seconds"),
    ],
)  # fmt: skip
def test_columns_that_are_no_measurements_are_left_out(name, values, line):
    plan, selection = planned(**{name: list(values)})
    assert selection.names == ("age", "income")
    assert line_of(plan, name).startswith(line)
    if name != "city":
        plan, selection = planned(include=[name], **{name: list(values)})
        assert selection.names == ("age", "income", name)
        assert not [d for d in plan.decisions if d.kind == "left out"]
    else:
        with pytest.raises(TableError, match="cannot be a feature: text"):
            planned(include=[name], **{name: list(values)})


def test_whole_incomes_are_no_codes():
    _, selection = planned(salary=np.rint(rng().normal(50_000, 9_000, N)))
    assert "salary" in selection.names
    for n in (60, 100):  # of few rows, a bell may look evenly spread
        bells = {f"v{i}": np.rint(rng().normal(5e4, 9e3, (9, n))[i]) for i in range(9)}
        table = Table(pa.table(bells), "t", "parquet")
        assert select(table, by_role=True).left_out == {}
    evenly = np.random.default_rng(3).choice(90_000, N, replace=False) + 10_000
    assert "unit" not in planned(unit=evenly)[1].names
    assert "unit_price" in planned(unit_price=evenly)[1].names


def test_flags_are_features_if_they_are_the_majority():
    draw = rng()
    flags = {f"f{i}": draw.integers(0, 2, N) for i in range(6)}
    assert len(planned(**flags)[1].names) == 8


def test_one_hot_columns_count_as_one_category():
    color, size = rng().integers(0, 5, N), rng().integers(0, 4, N)
    one_hot = {f"color_{i}": (color == i).astype(int) for i in range(5)}
    one_hot |= {f"size_{i}": (size == i).astype(int) for i in range(1, 4)}
    assert planned(**one_hot)[1].names == ("age", "income")
    one_hot["size_1"] |= one_hot["size_2"]  # two sizes at once: three columns, and a color
    assert len(planned(**one_hot)[1].names) == 10


def test_columns_with_many_gaps_are_left_out_unless_most_have_them():
    visits, spend = rng().normal(size=(2, N))
    visits[: int(0.3 * N)] = spend[: int(0.4 * N)] = np.nan
    plan, selection = planned(visits=visits, spend=spend)
    assert selection.names == ("age", "income", "visits")
    assert line_of(plan, "spend") == "left out: spend (many gaps: 40 % of the values are missing)"
    more = {f"spend{i}": np.roll(spend, 17 * i + 17) for i in range(3)}
    assert len(planned(spend=spend, **more)[1].names) == 6
    assert planned(spend=spend, include=["spend"])[1].names[-1] == "spend"


def test_a_copy_among_pixels_stays():
    column = rng().integers(0, 17, N).astype(float)
    table = Table(pa.table({f"p{i}": column if i < 2 else rng().integers(0, 17, N).astype(float)
                            for i in range(9)}), "t", "csv")  # fmt: skip
    assert len(select(table, by_role=True).names) == 9


def test_copies_are_found_where_both_columns_are_known():
    x, gaps = rng().normal(size=N), rng().random(N) < 0.05
    for of_x, of_y in ((False, gaps), (gaps, False), (gaps, np.roll(gaps, 7))):
        columns = {"a": np.where(of_x, np.nan, x), "b": np.where(of_y, np.nan, 2.54 * x)}
        assert copies_of(columns) == {"b": ("a copy", "a in another unit")}
        columns["b"] = np.where(of_y, np.nan, x)
        assert copies_of(columns) == {"b": ("a copy", "the values of a")}


def test_columns_known_in_different_rows_are_no_copies():
    x, half = rng().normal(size=N), np.arange(N) < N // 2
    for shared in (0, 2, 20):
        other = np.roll(half, N // 2 + shared)
        columns = {"a": np.where(half, x, np.nan), "b": np.where(other, 2 * x, np.nan)}
        assert copies_of(columns) == {}


def test_a_gap_does_not_change_which_answers_are_features():
    answers = dict(zip("abcde", rng().integers(1, 6, (5, N)).astype(float), strict=True))
    answers["extreme"] = np.where(answers["a"] < 3, 1.0, 5.0)
    for gap in (3.0, np.nan, np.inf):
        answers["b"][3] = gap
        table = Table(pa.table(answers), "t", "parquet")
        assert select(table, by_role=True, missing="auto").names == tuple(answers)


def test_a_column_of_infinities_beside_others_is_left_out():
    infinite = np.full(N, np.inf)
    _, selection = planned(infinite=infinite)
    assert selection.names == ("age", "income")
    with pytest.raises(TableError, match="column 'infinite' has no value"):
        planned(infinite=infinite, include=["infinite"])


def test_names_of_rows_are_never_clustered_by_default():
    columns = {"a": list(range(20)), "b_id": [7] * 19 + [8], "city": ["Wien", "Graz"] * 10}
    with pytest.raises(TableError, match=r"no measurement to cluster: 'city' .* 'a' ") as caught:
        select(Table(pa.table(columns), "t", "csv"), by_role=True)
    assert str(caught.value).endswith("columns of categories (method='auto').")
    columns |= {"unit": [3] * 20}
    assert select(Table(pa.table(columns), "t", "csv"), by_role=True).names == ("unit",)
    columns |= {"year": [2000 + i % 9 for i in range(20)]}
    assert select(Table(pa.table(columns), "t", "csv"), by_role=True).names == ("year",)
    assert len(select(Table(pa.table(columns), "t", "csv")).names) == 4


def test_the_only_column_is_used_and_doubted():
    found = select(Table(pa.table({"a": list(range(20))}), "t", "csv"), by_role=True)
    assert (found.names, set(found.doubtful)) == (("a",), {"a"})


def test_dates_on_request_are_days():
    plan, selection = planned(include=["since"], since=["2024-05-01", "2024-05-03"] * (N // 2))
    assert selection.days == ("since",)
    assert set(np.diff(selection.X[:, 2])) == {2.0, -2.0}
    assert plan.features == ("age", "income", "since")


def test_gaps_get_medians_and_rows_with_few_values_are_left_out():
    visits = [None, float("inf"), *rng().poisson(4, N - 2).astype(float)]
    age, income = AGE.copy(), INCOME.copy()
    age[0] = income[1] = np.nan
    plan, selection = planned(visits=visits, age=age, income=income)
    assert selection.kept.tolist() == list(range(2, N))  # one of three values is too few
    assert [d.line for d in plan.decisions if d.kind == "rows"] == [
        "left out: 2 of 200 rows (1 %) with too few values; their label is -1"
    ]
    age[0] = 40.0
    plan, selection = planned(visits=visits, age=age, income=income)
    assert selection.kept.tolist() == [0, *range(2, N)]
    assert selection.X[0, 2] == np.median(visits[2:])
    assert line_of(plan, "visits").endswith(
        "1 missing value with the median of the column: visits 1"
    )


def halves():
    """Columns of which a, b and c have values in the second half of the rows, d in the first."""
    values, first = rng().normal(size=(4, N)), np.arange(N) < N // 2
    columns = {
        name: np.where(first ^ (name != "d"), x, np.nan)
        for name, x in zip("abcd", values, strict=True)
    }
    return Table(pa.table(columns), "t", "parquet")


def test_a_feature_without_a_value_in_the_rows_kept_is_left_out():
    table = halves()
    selection = select(table, by_role=True, missing="auto")
    assert selection.names == ("a", "b", "c")
    assert selection.kept.tolist() == list(range(N // 2, N))
    scaling, why = fit_auto(selection.X, selection.names)
    plan = plan_of(table, selection, scaling, why)
    assert line_of(plan, "d") == "left out: d (only gaps: no value in any row with enough values)"
    assert plan.decisions[0].undo == "--missing mean"
    assert select(table, by_role=True, missing="mean").names == ("a", "b", "c", "d")


def test_rows_that_have_enough_without_such_a_feature_are_kept():
    values = {"a": [1.0, 2, None, None], "b": [1.0, 3, None, 5], "d": [None, None, 1.0, None]}
    selection = select(Table(pa.table(values), "t", "parquet"), missing="auto")
    assert (selection.names, selection.kept.tolist()) == (("a", "b"), [0, 1, 3])


@pytest.mark.parametrize("choice", [{"include": ["d"]}, {"columns": list("abcd")}])
def test_a_named_feature_without_a_value_in_the_rows_kept_is_an_error(choice):
    with pytest.raises(TableError, match="column 'd' has no value in any row that has 50 %"):
        select(halves(), by_role=True, missing="auto", **choice)
    infinite = Table(pa.table({"x": [1.0, 2], "d": [np.inf, -np.inf]}), "t", "parquet")
    with pytest.raises(TableError, match="column 'd' has no value"):
        select(infinite, missing="auto", columns=["x", "d"])


def test_logarithms_and_limits_are_told_with_their_rows():
    spend, age = rng().lognormal(4, 1, N), AGE.copy()
    age[17] = 900
    plan, _ = planned(spend=spend, age=age)
    assert line_of(plan, "spend").startswith("logarithm of spend (very skewed: from ")
    assert line_of(plan, "age") == "limited: 1 outlier of age (row 18)"
    names = [f"n{i}" for i in range(N)]
    assert line_of(planned(age=age, who=names, id="who")[0], "age").endswith("(n17)")


def test_columns_that_are_nearly_numeric_are_decisions_too():
    plan, _ = planned(level=[*map(str, range(N - 1)), "<LOD"])
    found = plan.decisions[0]
    assert found.line.startswith(
        "left out: level (199 of 200 values are numbers, but not '<LOD' in"
    )
    assert (found.kind, found.undo) == ("nearly numeric", "")
    assert found.rule


def test_many_columns_of_a_kind_share_a_line():
    plan, _ = planned(**{f"c{i}": [i] * N for i in range(12)})
    (line,) = [d.line for d in plan.decisions if d.kind == "left out"]
    assert line == "left out: 12 columns (constant): c0, c1, c2, c3, c4 and 7 more"


def test_many_logarithms_share_a_line():
    spends = {f"s{i}": rng().lognormal(4, 1, N) * (1 + rng().random(N)) ** i for i in range(12)}
    plan, selection = planned(**spends)
    (found,) = [d for d in plan.decisions if d.kind == "log"]
    logged = [name for name in selection.names if name.startswith("s")]
    assert found.line.startswith(f"logarithm of {len(logged)} features (very skewed): s0, s1, ")
    assert list(found.columns) == logged


def test_equal_rows_are_not_called_scaled():
    table = Table(pa.table({"a": [1.0] * N, "b": [2.0] * N}), "t", "parquet")
    selection = select(table, by_role=True, missing="auto")
    assert plan_of(table, selection, fit_auto(selection.X, selection.names).scaling).lines == []


def test_rules_are_those_of_the_policy():
    age = [None, *AGE[1:]]
    rules = {missing: planned(missing=missing, age=age)[0] for missing in ("auto", "mean", "drop")}
    first = {missing: plan.decisions[0].rule for missing, plan in rules.items()}
    assert first["auto"].startswith("the median")
    assert first["mean"] == first["drop"] == "as requested"


def test_the_plan_says_how_to_undo_it():
    plan, _ = planned(zip=rng().integers(10000, 99999, N))
    assert undo_hint(plan).startswith("--include zip uses that column, ")
    assert {d["undo"] for d in plan.to_dict()["decisions"]} == {"--include zip", "--scale none"}


def test_names_from_right_to_left_do_not_turn_a_line_around():
    age = AGE.copy()
    age[17] = 900
    plan, _ = planned(גיל=age)
    assert line_of(plan, "גיל") == "limited: 1 outlier of \u2068גיל\u2069 (row 18)"


def test_what_undoes_a_decision_can_be_typed():
    columns = {"Order Date": ["2024-05-01"] * N, "tweet": [2**53 + 1] * N, "x" * 99: [3] * N}
    plan, _ = planned(**columns)
    undo = {d.columns[0]: d.undo for d in plan.decisions if d.kind == "left out"}
    assert undo == {
        "Order Date": "--include 'Order Date'",
        "tweet": "",
        "x" * 99: f"--include {'x' * 99}",
    }
    assert undo_hint(plan).startswith("--include 'Order Date' uses that column, ")
    assert undo_hint(planned(**{"x" * 99: [3] * N})[0]).startswith("--explain")
    many = {f"c {i}": [i] * N for i in range(9)}
    (found,) = [d for d in planned(**many)[0].decisions if d.kind == "left out"]
    assert found.undo == "--include 'c 0,c 1,c 2,c 3,c 4,c 5,c 6,c 7,c 8'"


def test_raw_columns_are_all_used_and_doubted():
    table = Table(pa.table({"age": AGE, "zip": rng().integers(10000, 99999, N)}), "t", "csv")
    found = select(table)
    assert found.names == ("age", "zip")
    assert found.doubtful["zip"].kind == "a code"
