"""What a row is called, by the names of the columns that tell rows apart."""

from __future__ import annotations

import pytest
from helpers.cli import pa
from hypothesis import given
from hypothesis import strategies as st

from partita.cli.options import ColumnOptions
from partita.cli.prepared_data import prepare
from partita.cli.row_noun import _IRREGULAR, _NOUNS, noun_of_rows, row_noun
from partita.tables import Table

NOUNS = st.sampled_from(sorted(_NOUNS))
FORMS = (
    "{}", "{}_id", "{} no", "{}-number", "{}_code", "{}.key", "{}_name", "id_{}", "{}_ids", "{}id",
    "{}nr", "{}_no.", " {} ", "{}_uuid",
)  # fmt: skip
CAMEL = ("{}ID", "{}Id", "{}Name", "{}Number", "ID{}", "{}No")


@given(NOUNS, st.sampled_from(FORMS), st.sampled_from([str, str.upper, str.title]))
def test_affixes_do_not_matter(noun, form, case):
    assert row_noun(case(form.format(noun))) == row_noun(noun)


@given(NOUNS, st.sampled_from(CAMEL))
def test_words_of_camel_case_are_told_apart(noun, form):
    if not form.startswith("ID"):
        assert row_noun(form.format(noun.title())) == row_noun(noun)
    assert row_noun(form.format(noun.title())) in (row_noun(noun), "")


@given(NOUNS)
def test_every_noun_has_a_plural_that_stays(noun):
    many = row_noun(noun)
    assert many
    assert row_noun(many) == many
    assert (many == noun) == (noun in ("fish", "species"))
    if noun not in _IRREGULAR:
        assert many.endswith("s")


@given(st.text())
def test_any_name_gives_a_known_plural_or_nothing(name):
    assert row_noun(name) in {"", *map(row_noun, _NOUNS)}


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("customer_id", "customers"),
        ("CustomerID", "customers"),
        ("customer name", "customers"),
        ("PassengerId", "passengers"),
        ("Country", "countries"),
        ("branch no", "branches"),
        ("personid", "people"),
        ("Company Name", "companies"),
        ("policy_number", "policies"),
        ("wine", "wines"),
        ("species", "species"),
        ("batch", "batches"),
        ("house", "houses"),
        ("id", ""),
        ("name", ""),
        ("first name", ""),
        ("Unnamed: 0", ""),
        ("home_team", ""),
        ("parent_item_id", ""),
        ("paid", ""),
        ("Kundennr", ""),
        ("", ""),
        ("שלום", ""),
        ("customer_id_2", ""),
    ],
)
def test_names_that_people_use(name, noun):
    assert row_noun(name) == noun


def test_the_column_of_the_ids_decides_then_affixes_then_the_order():
    assert row_noun("store", ["customer_id"]) == "stores"
    assert row_noun("name", ["city", "customer_id", "order_id"]) == "customers"
    assert row_noun(None, ["first name", "city", "country"]) == "cities"
    assert row_noun(None) == ""


def prepared(columns, **options):
    return prepare(Table(pa.table(columns), "a.csv", "csv"), ColumnOptions(**options))


N = 30
MEASURES = {"x": [i * 7 % 11 + 0.5 for i in range(N)], "y": [i * 5 % 13 + 0.25 for i in range(N)]}
DISTINCT = [f"C{i}" for i in range(N)]


@pytest.mark.parametrize(
    ("columns", "options", "noun"),
    [
        ({"customer_id": DISTINCT}, {}, "customers"),
        ({"customer_id": list(range(N))}, {}, "customers"),
        ({"customer_id": [i % 7 for i in range(N)]}, {}, ""),  # a row is one of their orders
        ({"customer_id": [i % 7 for i in range(N)], "order_id": list(range(N))}, {}, "orders"),
        ({"city": ["Wien", "Graz"] * (N // 2)}, {}, ""),
        ({"country": DISTINCT}, {}, "countries"),
        ({"country": DISTINCT, "customer_id": DISTINCT}, {}, "customers"),
        ({"city": ["Wien", "Graz"] * (N // 2)}, {"id": "city"}, "cities"),  # as the user says
        ({"wine": DISTINCT}, {"exclude": ["wine"]}, ""),
        ({"items": [[i] for i in range(N)]}, {}, ""),
        ({"item": pa.array(DISTINCT).dictionary_encode()}, {}, "items"),
        ({"item_id": [None, *DISTINCT[1:]]}, {}, ""),
    ],
)
def test_a_column_names_the_rows_if_it_tells_them_apart(columns, options, noun):
    assert noun_of_rows(prepared({**columns, **MEASURES}, **options)) == noun


def test_a_few_rows_are_distinct_by_chance():
    few = {name: values[:5] for name, values in ({"city": DISTINCT} | MEASURES).items()}
    assert noun_of_rows(prepared(few)) == ""
    assert noun_of_rows(prepared(few, id="city")) == "cities"
