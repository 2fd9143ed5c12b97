"""Tables: files of several formats in, features and weights out, labels back into files."""

from partita._common.atomic_write import check_new, write_atomically
from partita.tables.feature_selection import Selection, select
from partita.tables.scaling import Scaling
from partita.tables.table import Table, TableError
from partita.tables.table_reader import read_table
from partita.tables.table_writer import format_of, write_table, write_text

__all__ = [
    "Scaling",
    "Selection",
    "Table",
    "TableError",
    "check_new",
    "format_of",
    "read_table",
    "select",
    "write_atomically",
    "write_table",
    "write_text",
]
