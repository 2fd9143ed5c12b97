"""The bytes of files, and their formats."""

from __future__ import annotations

import re
from pathlib import Path

from partita._common.data_files import FORMAT_OF_SUFFIX, data_suffix, missing_file_error
from partita._common.errors import TableError

READ_ONLY_FORMATS = ("xlsx",)
SUFFIXES_WRITTEN = tuple(s for s, f in FORMAT_OF_SUFFIX.items() if f not in READ_ONLY_FORMATS)
_OLD_EXCEL_ERROR = (
    "is an old Excel workbook (.xls), or one with a password. Save it as .xlsx without a password, "
    "or the sheet as CSV."
)
_FORMAT_OF_MAGIC = {
    b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz", b"PK\x05\x06": "npz",
}  # fmt: skip
_OLD_EXCEL_MAGIC = b"\xd0\xcf\x11\xe0"
ZIP_DIRECTORY_BYTES = 1 << 20
_WORKBOOK_MEMBER = b"xl/workbook.xml"
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")
_JSON_START = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*["}]')


def detect_format(raw: bytes, name: str, file: Path | None) -> str:
    """Return the format of a file's content; `file` is None for standard input."""
    suffix = "" if file is None else data_suffix(file)
    for magic, format in _FORMAT_OF_MAGIC.items():
        if raw.startswith(magic):
            is_workbook = format == "npz" and _is_workbook(raw, suffix)
            return "xlsx" if is_workbook else format
    if raw.startswith(_OLD_EXCEL_MAGIC):
        raise TableError(f"{name} {_OLD_EXCEL_ERROR}")
    if suffix in _JSON_SUFFIXES or (file is None and _JSON_START.match(raw)):
        return "json"
    by_name = FORMAT_OF_SUFFIX.get(suffix)
    if by_name not in (None, "csv", "tsv"):
        fault = "is empty" if not raw else f"is not a {by_name} file: its first bytes are wrong"
        raise TableError(f"{name} {fault}. Write it again, or rename it to its real format.")
    return by_name or "csv"


def _is_workbook(raw: bytes, suffix: str) -> bool:
    """Return whether a zip is a workbook: by its name, or its directory, which is at its end."""
    in_directory = _WORKBOOK_MEMBER in raw[-ZIP_DIRECTORY_BYTES:]
    return FORMAT_OF_SUFFIX.get(suffix) == "xlsx" or in_directory


def read_bytes(file: Path) -> bytes:
    """Return the content of a file; if it does not exist, the error suggests similar names."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise missing_file_error(file) from None
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror or error}.") from None
