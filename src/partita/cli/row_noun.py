"""`row_noun`: what a row is, in the plural, by the name of the column that identifies rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from partita.cli.prepared_data import PreparedData
from partita.tables.arrow_files import plain_values
from partita.tables.feature_selection import EXCLUDED, NOT_CHOSEN
from partita.tables.table import arrow

MIN_ROWS = 10  # in fewer rows, the values of any column may be distinct by chance
_NOUNS = {
    "account", "animal", "answer", "apartment", "app", "area", "article", "artist", "asset",
    "athlete", "author", "bank", "batch", "beer", "bird", "boat", "bond", "book", "borrower",
    "branch", "brand", "building", "business", "campaign", "candidate", "car", "card", "case",
    "cell", "cheese", "child", "city", "claim", "client", "coffee", "community", "company",
    "complaint", "component", "compound", "contract", "country", "county", "course", "creature",
    "customer", "dealer", "delivery", "department", "device", "district", "doctor", "document",
    "dog", "donor", "driver", "drug", "email", "employee", "event", "experiment", "family", "farm",
    "film", "fish", "flat", "flight", "flower", "food", "fund", "game", "gene", "guest", "home",
    "hospital", "hotel", "house", "household", "image", "individual", "invoice", "item", "job",
    "lake", "lead", "listing", "loan", "location", "machine", "magazine", "market", "match",
    "material", "member", "merchant", "message", "meter", "model", "molecule", "movie",
    "municipality", "neighborhood", "neighbourhood", "novel", "offer", "office", "order", "package",
    "page", "park", "part", "participant", "partner", "passenger", "patient", "payment", "person",
    "phone", "photo", "picture", "plan", "plant", "player", "plot", "point", "policy", "portfolio",
    "post", "product", "project", "property", "protein", "provider", "province", "publication",
    "purchase", "question", "recipe", "record", "region", "reply", "respondent", "response",
    "restaurant", "review", "ride", "river", "room", "route", "sale", "sample", "school", "section",
    "sensor", "server", "service", "session", "shareholder", "ship", "shipment", "shop", "site",
    "smartphone", "song", "species", "specimen", "star", "state", "station", "stock", "store",
    "story", "street", "student", "subject", "subscriber", "supplier", "survey", "taxon", "teacher",
    "team", "tenant", "test", "ticket", "tool", "town", "track", "trade", "transaction", "tree",
    "trip", "truck", "university", "user", "vehicle", "vendor", "venue", "video", "village",
    "visit", "visitor", "voter", "voyage", "ward", "website", "whisky", "wine", "word", "worker",
}  # fmt: skip
_IRREGULAR = {
    "child": "children",
    "fish": "fish",
    "person": "people",
    "species": "species",
    "taxon": "taxa",
}
_AFFIXES = {
    "code", "codes", "guid", "id", "identifier", "ids", "idx", "index", "key", "label", "name",
    "names", "no", "nr", "num", "number", "pk", "ref", "reference", "title", "uid", "uuid",
}  # fmt: skip
_JOINED_AFFIXES = ("identifier", "number", "code", "name", "uuid", "key", "ids", "id", "no", "nr")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")


def row_noun(id_column: str | None, columns: Iterable[str] = ()) -> str:
    """Return the plural of what a row is; empty if no name of a column tells.

    The column of the ids comes first, then `columns` whose values tell rows apart: those with an
    affix like "_id", then the others.

    >>> row_noun("CustomerID"), row_noun(None, ["city", "person no"]), row_noun("key")
    ('customers', 'people', '')
    """
    others = sorted(columns, key=_is_bare)
    names = others if id_column is None else [id_column, *others]
    return next((_plural(noun) for name in names if (noun := _noun_in(name))), "")


def noun_of_rows(prepared: PreparedData) -> str:
    """Return what a row of a table is: "customers"; empty if its columns do not tell."""
    return row_noun(prepared.id_column, _distinct_columns(prepared))


def ids_of_rows(prepared: PreparedData) -> Any:
    """Return the ids of the rows: of the column that was named, else of one that tells rows apart.

    None if there is no such column.
    """
    selection = prepared.selection
    if selection.ids is not None:
        return selection.ids
    name = next(iter(sorted(_distinct_columns(prepared), key=_is_bare)), None)
    if name is None:
        return None
    return plain_values(prepared.cells(name)).take(arrow().array(selection.kept))


def _distinct_columns(prepared: PreparedData) -> Iterator[str]:
    """Yield columns that are no features, have a noun in their name, and differ in every row."""
    for name, why in prepared.selection.left_out.items():
        if why in (NOT_CHOSEN, EXCLUDED) and _is_bare(name):
            continue  # perhaps a measure
        if _noun_in(name) and _tells_rows_apart(prepared.cells(name)):
            yield name


def _tells_rows_apart(column: Any) -> bool:
    types, cells = arrow().types, plain_values(column)
    is_text = types.is_string(cells.type) or types.is_large_string(cells.type)
    if len(cells) < MIN_ROWS or not (is_text or types.is_integer(cells.type)):
        return False
    return bool(arrow(".compute").count_distinct(cells).as_py() == len(cells))


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _is_bare(name: str) -> bool:
    """Return whether a name is a noun without an affix."""
    return bool(_singular("".join(_words(name))))


def _noun_in(name: str) -> str:
    """Return the noun that a name consists of, without affixes, in the singular; else nothing."""
    words = _words(name)
    while len(words) > 1 and words[-1] in _AFFIXES:
        words.pop()
    while len(words) > 1 and words[0] in _AFFIXES:
        words.pop(0)
    if len(words) != 1:
        return ""
    (word,) = words
    stems = [word.removesuffix(affix) for affix in _JOINED_AFFIXES if word.endswith(affix)]
    return next((noun for stem in (word, *stems) if (noun := _singular(stem))), "")


def _singular(word: str) -> str:
    return word if word in _NOUNS else _SINGULAR.get(word, "")


def _plural(noun: str) -> str:
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


_SINGULAR = {_plural(noun): noun for noun in _NOUNS}
