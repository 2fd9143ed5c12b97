"""Rules that tell measurements from ids, codes, counters, dates and old labels.

Each rule looks at the values of one column, some at its name too. A column that a rule applies to
is left out of the features unless the user includes it.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

import numpy as np

from partita._common.array_types import Array
from partita._common.text import format_number
from partita.tables import cell_types
from partita.tables.calendar_days import YEARS, are_calendar_days
from partita.tables.table import Table

INTEGER_SAMPLE_ROWS = 1000  # enough to tell most measurements from integers
COUNTER_MIN_ROWS = 10  # in fewer rows, consecutive numbers may be chance
DISTINCT_MIN_SHARE = 0.99  # of the values of a column that names its rows
CODE_MIN_ROWS = 150  # for a rule without the name: of fewer, a bell may look evenly spread
CODE_MIN_DIGITS = 5
NAMED_CODE_MIN_DIGITS = 4  # of phone numbers, postal codes and the like
EVENLY_SPREAD_MAX_DISTANCE = 1.63  # / √n, of distribution functions: 1 % of even spreads exceed it
MISSING_MAX_SHARE = 0.5  # of the values of a feature
OPEN_MAX_SHARE = 0.9  # where gaps stay open, so that a feature counts where it is known

MIN_SECONDS_SINCE_1970 = 3e8  # July 1979

CONSTANT = "constant"
ROW_NUMBER, ID, CODE, LABELS = "a row number", "an id", "a code", "labels of an earlier fit"
NAMES_ROWS = (ROW_NUMBER, ID, CODE, LABELS)  # the kinds that no user wants to measure

# by the last word of a name
_ID_WORDS = {"id", "ids", "uuid", "guid", "identifier"}
_NUMBER_WORDS = {
    "key", "pk", "index", "idx", "nr", "no", "number", "num", "nummer", "numero", "row", "rownum",
    "line",
}  # fmt: skip
_JOINED_ID = re.compile(
    "(u|row|record|object|item|order|product|article|user|customer|cust|client|member|person"
    "|patient|student|player|employee|account|session|device|sensor|store|shop|invoice|ticket"
    "|transaction|passenger|subject|sample|case)ids?"
)
_JOINED_NUMBER = re.compile(r"[a-z]{3,}(nr|nummer)")  # as in German: Kundennr
_CODE_WORDS = {
    "zip", "zipcode", "postal", "postcode", "postalcode", "plz", "phone", "telephone", "telefon",
    "tel", "mobile", "cellphone", "fax", "ssn", "iban", "ean", "isbn", "sku", "upc", "gtin",
    "barcode", "fips", "code", "codes",
}  # fmt: skip
_MEASURE_WORDS = {
    "price", "income", "salary", "wage", "pay", "amount", "revenue", "sales", "spend", "spending",
    "cost", "costs", "profit", "budget", "balance", "loan", "debt", "rent", "value", "volume",
    "population", "area", "distance", "mileage", "weight", "steps", "count", "total",
    "preis", "umsatz", "gehalt", "einkommen", "betrag", "kosten", "prix", "montant", "precio",
}  # fmt: skip
_YEAR_WORDS = {"year", "years", "yr", "jahr", "annee", "anno", "ano"}
_TIME_WORDS = {"at", "time", "timestamp", "date", "datetime", "epoch", "created", "updated"}
_LABELS_NAME = re.compile(r"clusters?(_?(\d+|id|labels?))?|labels?(_\d+)?", re.IGNORECASE)
_BESIDE_LABELS_NAME = re.compile(r"(distance|stranger)(_\d+)?")  # as predict writes them
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Role(NamedTuple):
    """The kind of a column that is no measurement, and how that shows."""

    kind: str
    evidence: str = ""

    @property
    def why(self) -> str:
        """The reason for leaving the column out."""
        return f"{self.kind}: {self.evidence}" if self.evidence else self.kind


def role_of(
    table: Table, name: str, values: Array, missing_max_share: float = MISSING_MAX_SHARE
) -> Role | None:
    """Return what a numeric column is if it is not a measurement, else None."""
    known = values[np.isfinite(values)]
    missing = 1 - len(known) / len(values)
    if missing > missing_max_share:
        return Role("mostly gaps", f"{percent(missing)} of the values are missing")
    if (known == known[0]).all():
        return Role(CONSTANT, f"always {format_number(float(known[0]))}")
    if _is_beside_labels(table, name):
        return Role(LABELS, "beside a column of labels")
    if not _are_integers(known[:INTEGER_SAMPLE_ROWS]) or not _are_integers(known):
        return None
    if _LABELS_NAME.fullmatch(name.strip()):
        return Role(LABELS, "by its name")
    if table.text is not None and cell_types.has_leading_zeros(table.text[name]):
        return Role(CODE, "integers with leading zeros")
    if _is_index(table, name, known):
        return Role(ROW_NUMBER, "distinct integers in a first column without a name")
    return _date(name, known) or _counter_or_code(name, known, table.sample_of)


def _date(name: str, known: Array) -> Role | None:
    """Return the role of a column of years, of days like 20240531, or of seconds since 1970."""
    last, low, high = _words(name)[-1], float(known.min()), float(known.max())
    if last in _YEAR_WORDS and YEARS[0] <= low <= high <= YEARS[1]:
        return Role("dates", f"years from {low:.0f} to {high:.0f}")
    if are_calendar_days(known):
        return Role("dates", f"days like {low:.0f}")
    if last in _TIME_WORDS and low >= MIN_SECONDS_SINCE_1970:
        return Role("dates", "a time in seconds or parts of them")
    return None


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters without accents: at least one."""
    letters = unicodedata.normalize("NFKD", name)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return [word.lower() for word in _WORD.findall(plain)] or [name.strip().lower()]


def _is_id_word(word: str) -> bool:
    """Return whether a word is id, or like customerid; acid and paid are not."""
    return word in _ID_WORDS or _JOINED_ID.fullmatch(word) is not None


def _is_index(table: Table, name: str, known: Array) -> bool:
    """Return whether a first column without a name tells the rows apart, as pandas writes them."""
    first, *others = table.names
    is_unnamed = name == "Unnamed: 0" or (name == "c0" and table.named and "c1" not in others)
    is_long = len(known) >= COUNTER_MIN_ROWS
    return name == first and is_unnamed and is_long and len(np.unique(known)) == len(known)


def _is_beside_labels(table: Table, name: str) -> bool:
    """Return whether `predict --distance` may have written a column, after the labels."""
    if not _BESIDE_LABELS_NAME.fullmatch(name):
        return False
    names = list(table.names)
    before = reversed(names[: names.index(name)])
    nearest = next((other for other in before if not _BESIDE_LABELS_NAME.fullmatch(other)), "")
    return bool(_LABELS_NAME.fullmatch(nearest.strip()))


def _is_counter(known: Array, sample_of: int | None) -> bool:
    """Return whether distinct integers are consecutive, or a sample of as many as there are rows.

    Measurements in a range of that length would repeat values, even in a sample.
    """
    n, length = len(known), float(known.max()) - float(known.min())
    if n < COUNTER_MIN_ROWS or sample_of is None:
        return n >= COUNTER_MIN_ROWS and length == n - 1
    return n - 1 <= length < sample_of


def _counter_or_code(name: str, known: Array, sample_of: int | None) -> Role | None:
    """Return the role of a column of integers by its name and the spread of its values."""
    n, distinct = len(known), len(np.unique(known))
    low, high = float(known.min()), float(known.max())
    if distinct == n and _is_counter(known, sample_of):
        return Role(ROW_NUMBER, f"the numbers from {low:.0f} to {high:.0f}, each once")
    words = _words(name)
    last, unique = words[-1], distinct >= DISTINCT_MIN_SHARE * n
    evidence = f"{percent(distinct / n)} distinct integers"
    shortest, longest = (len(f"{abs(x):.0f}") for x in (np.abs(known).min(), np.abs(known).max()))
    digits = f"of {longest} digits" if shortest == longest else f"of up to {longest} digits"
    is_named = last in _CODE_WORDS or (last in _NUMBER_WORDS and bool(_CODE_WORDS & set(words)))
    if is_named and (longest >= NAMED_CODE_MIN_DIGITS or last in ("code", "codes")):
        return Role(CODE, f"by its name, {evidence} {digits}")
    is_number = last in _NUMBER_WORDS or _JOINED_NUMBER.fullmatch(last) is not None
    if _is_id_word(last) or (is_number and unique and n >= COUNTER_MIN_ROWS):
        return Role(ID, f"by its name, {evidence}")
    same_length = shortest == longest >= CODE_MIN_DIGITS
    may_be_code = n >= CODE_MIN_ROWS and unique and same_length
    if may_be_code and not _MEASURE_WORDS & set(words) and _spread_evenly(known):
        return Role(CODE, f"{evidence} {digits}, spread evenly")
    return None


def _spread_evenly(known: Array) -> bool:
    """Return whether integers may be drawn uniformly from their range (Kolmogorov's test)."""
    x = np.sort(known)
    place = (x - x[0]) / (x[-1] - x[0])
    distance = np.abs(place - np.linspace(0, 1, len(x))).max()
    return bool(distance <= EVENLY_SPREAD_MAX_DISTANCE / np.sqrt(len(x)))


def _are_integers(values: Array) -> bool:
    return bool((values == np.rint(values)).all())


def percent(share: float) -> str:
    """Return a share in percent: 100 % and 0 % only if exact, one digit below 1 %.

    >>> percent(0.99999), percent(0.0023), percent(0.0001)
    ('99 %', '0.2 %', '< 0.1 %')
    """
    if 0 < share < 0.01:
        return f"{100 * share:.1f} %" if share >= 0.001 else "< 0.1 %"
    return f"{min(round(100 * share), 100 - int(share < 1))} %"
