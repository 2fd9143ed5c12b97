"""`BlockTypes`: cells of text in blocks, converted as a sample of all rows shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from partita._common.errors import TableError
from partita._common.text import quoted
from partita.tables.cell_options import CellOptions
from partita.tables.cell_types import mask_missing_numbers, without_missing
from partita.tables.column_values import is_numeric_type
from partita.tables.number_styles import NumberStyle, read_decimal_commas, read_styled_numbers
from partita.tables.plain_numbers import to_numbers
from partita.tables.table import Table, arrow


@dataclass(frozen=True, slots=True, eq=False)
class BlockTypes:
    """The types of the columns of a sample, and the styles of their numbers."""

    types: Mapping[str, Any]  # of all columns
    styles: Mapping[str, NumberStyle]  # of numbers that are not written plainly
    decimal: str

    def convert(self, block: Table, names: Iterable[str]) -> Table:
        """Return a block with numbers in these columns; a column that has others stays text."""
        if block.text is None:
            return block
        data = block.data
        for name in names:
            place, kind = data.column_names.index(name), self.types[name]
            if is_numeric_type(kind):
                numbers = self._numbers(data[name], name, block.cells)
                data = data if numbers is None else data.set_column(place, name, numbers)
        return replace(block, data=data, decimal=self.decimal)

    def copy(self, block: Table, format: str) -> Any:
        """Return a copy of a block for a file in that format; its columns have the types."""
        pa = arrow()
        if block.text is None or format in ("csv", "tsv"):
            return block.copy_as(format)
        data = self.convert(block, block.names).data
        for place, (name, kind) in enumerate(self.types.items()):
            try:
                data = data.set_column(place, name, data[name].cast(kind))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise TableError(
                    f"{block.name}: column {quoted(name)} has numbers in most rows, but not in "
                    f"all. A {format} file has one type in a column. Choose .csv."
                ) from None
        return data

    def _numbers(self, cells: Any, name: str, options: CellOptions) -> Any:
        """Return cells as numbers or booleans; None if they are others."""
        pa, pc, kind = arrow(), arrow(".compute"), self.types[name]
        values = without_missing(cells, options.missing)
        if values.null_count == len(values):
            return pa.chunked_array([pa.nulls(len(values), kind)])
        if pa.types.is_boolean(kind):
            lower = pc.utf8_lower(values)
            words = pa.array(["true", "false", None], lower.type)
            return pc.equal(lower, "true") if pc.all(pc.is_in(lower, words)).as_py() else None
        numbers = self._read(values, self.styles.get(name), options)
        return None if numbers is None else mask_missing_numbers(numbers, options.missing)

    def _read(self, values: Any, style: NumberStyle | None, options: CellOptions) -> Any:
        decimal = self.decimal if style is None else style.decimal
        if style is None:
            read = read_decimal_commas if decimal == "," else to_numbers
            numbers = read(values)
            if numbers is not None:
                return numbers
        thousands = options.thousands if style is None else style.thousands or options.thousands
        fixed = replace(options, decimal=decimal, thousands=thousands)
        numbers, found = read_styled_numbers(values, decimal, fixed) or (None, None)
        if found is None:
            return None
        is_percent = style is not None and style.is_percent
        return numbers if found.is_percent == is_percent or _are_zero(numbers) else None


def _are_zero(numbers: Any) -> bool:
    pc = arrow(".compute")
    return not pc.any(pc.not_equal(numbers, 0)).as_py()
