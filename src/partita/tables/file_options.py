"""`FileOptions`: the layout of a file as far as the user specified it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partita._common import parameters as accept
from partita._common.errors import TableError
from partita.tables.cell_options import CELLS_AS_DETECTED, SEPARATORS, CellOptions

MAX_ROWS_SKIPPED = 2**31


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The layout of a file as far as the user specified it; None: detect it."""

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    skip_rows: int | None = None
    sheet: str | int | None = None
    cells: CellOptions = CELLS_AS_DETECTED

    def __post_init__(self) -> None:
        delimiter = "," if self.delimiter is None else self.delimiter
        if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
            raise TableError(
                f"`delimiter` must be a single ASCII character, got {delimiter!r}.",
                parameter="delimiter",
            )
        optional = accept.optional
        accept.check("skip_rows", self.skip_rows, optional(accept.integer(0, MAX_ROWS_SKIPPED)))
        sheet = accept.either(accept.integer(1), accept.TEXT)
        accept.check("sheet", self.sheet, optional(sheet))
        cells = self.cells
        accept.check("decimal", cells.decimal, optional(accept.choice(".", ",")))
        accept.check("thousands", cells.thousands, optional(accept.choice(*SEPARATORS)))
        if cells.decimal is not None and cells.decimal == cells.thousands:
            raise TableError(
                f"`thousands` must differ from `decimal`, got {cells.decimal!r} for both.",
                parameter="thousands",
            )


def missing_markers(na: Any) -> tuple[str, ...]:
    """Return the texts that mean "missing" besides the usual ones, as they are compared."""
    texts = (na,) if isinstance(na, str) else () if na is None else na
    is_list = isinstance(texts, list | tuple | set | frozenset)
    if not is_list or not all(isinstance(text, str) for text in texts):
        raise accept.must_be("na", "a text or a list of texts", na)
    return tuple(dict.fromkeys(text.strip().lower() for text in texts))
