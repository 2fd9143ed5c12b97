"""Tables: files of several formats in, features and weights out, labels back into files."""

from partita.tables.atomic import check_new, write_atomically
from partita.tables.reading import read_table
from partita.tables.record import Table, TableError
from partita.tables.scaling import Scaling
from partita.tables.selecting import Selection, select
from partita.tables.writing import format_of, write_table, write_text

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
