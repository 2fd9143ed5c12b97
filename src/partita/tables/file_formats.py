"""The files that a path stands for, their bytes, and their formats."""

from __future__ import annotations

import difflib
import glob
import re
from pathlib import Path

from partita._common.text import listed
from partita.tables.compression import without_compression_suffix
from partita.tables.table import TableError

FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".txt": "csv", ".dat": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".npy": "npy", ".npz": "npz", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
READ_ONLY_FORMATS = ("xlsx",)
SUFFIXES_WRITTEN = tuple(s for s, f in FORMAT_OF_SUFFIX.items() if f not in READ_ONLY_FORMATS)
# not only of tables, or not made for programs; in a folder, others come first
SECONDARY_SUFFIXES = (".txt", ".dat", ".data", ".json", ".xlsx", ".xlsm")
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


def format_from_name(path: str | Path) -> str | None:
    """Return the format that the suffix stands for, None if it stands for none."""
    return FORMAT_OF_SUFFIX.get(_suffix(path))


def _suffix(path: str | Path) -> str:
    return without_compression_suffix(path).suffix.lower()


def detect_format(raw: bytes, name: str, file: Path | None) -> str:
    """Return the format of a file's content; `file` is None for standard input."""
    suffix = "" if file is None else _suffix(file)
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


def expand_path(path: str | Path) -> list[Path]:
    """Return the files of a folder or pattern, sorted by name, or the path of a single file."""
    if str(path) == "":
        raise TableError("The path of the data is empty. Give the path of a file.")
    place = Path(path)
    if place.is_dir():
        files, kind = _files_in_folder(place), "folder"
    elif not place.exists() and glob.has_magic(str(path)):
        matches = map(Path, sorted(glob.glob(str(path), recursive=True)))
        files, kind = [file for file in matches if file.is_file()], "pattern"
    else:
        return [place]
    if not files:
        raise TableError(
            f"{path}: this {kind} has no files to read. Supported suffixes: "
            f"{', '.join(FORMAT_OF_SUFFIX)}."
        )
    return files


def _files_in_folder(folder: Path) -> list[Path]:
    entries = [file for file in sorted(folder.iterdir()) if file.name[0] not in "._"]
    files = [file for file in entries if format_from_name(file) and file.is_file()]
    # next to tables, generic text is most often a README, and JSON a setting
    return [file for file in files if _suffix(file) not in SECONDARY_SUFFIXES] or files


def read_bytes(file: Path) -> bytes:
    """Return the content of a file; if it does not exist, the error suggests similar names."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        if file.is_symlink():
            raise TableError(f"{file} is a link to a file that does not exist.") from None
        raise TableError(f"There is no file {file}{_suggestion(file)}") from None
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror or error}.") from None


def _suggestion(file: Path) -> str:
    siblings = {other.name.lower(): other.name for other in sorted(file.parent.glob("*"))}
    similar = difflib.get_close_matches(file.name.lower(), list(siblings), n=3, cutoff=0.6)
    if similar:
        return f". Did you mean {listed(siblings[name] for name in similar)}?"
    tables = [name for name in siblings.values() if format_from_name(name)]
    return f". The folder has {listed(tables)}." if tables else "."
