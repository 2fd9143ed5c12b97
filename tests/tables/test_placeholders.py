"""Numbers that may stand for missing values."""

from __future__ import annotations

import pytest
from helpers.table_files import table_of

pytest.importorskip("pyarrow", reason="pyarrow is not installed: no files")

from partita.tables import select
from partita.tables.placeholders import placeholders_of

WARM = [20.5 + i % 9 for i in range(40)]


@pytest.mark.parametrize(
    ("more", "value"),
    [
        ([-999, -999], -999),
        ([9999.0] * 5, 9999),
        ([99, 99], 99),
        ([-999], None),  # one outlier
        ([-998, -998], None),
        ([-999, -999, 40000], None),  # no farther than the others are spread
        ([], None),
    ],
)
def test_numbers_of_nines_far_from_all_others_are_placeholders(more, value):
    found = placeholders_of(select(table_of(t=[*WARM, *more])))
    assert {name: p.value for name, p in found.items()} == ({} if value is None else {"t": value})


def test_two_values_are_no_placeholder():
    assert placeholders_of(select(table_of(t=[1, 1, 99, 99]))) == {}
