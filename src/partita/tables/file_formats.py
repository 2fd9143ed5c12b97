"""The files that a path stands for, their bytes, and their formats."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path

from partita._common.text import listed
from partita.tables.compression import without_compression_suffix
from partita.tables.table import TableError

FORMAT_OF_SUFFIX = {
    ".csv": "csv", ".txt": "csv", ".dat": "csv", ".data": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".npy": "npy", ".npz": "npz",
}  # fmt: skip
GENERIC_TEXT_SUFFIXES = (".txt", ".dat", ".data")  # not only of tables
EXCEL_ERROR = "is an Excel workbook. Save the sheet as CSV."
_FORMAT_OF_MAGIC = {
    b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather", b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz", b"PK\x05\x06": "npz",
}  # fmt: skip
_OLD_EXCEL_MAGIC = b"\xd0\xcf\x11\xe0"
_JSON_SUFFIXES = (".json", ".jsonl", ".ndjson", ".geojson")


def format_from_name(path: str | Path) -> str | None:
    """Return the format that the suffix stands for, None if it stands for none."""
    return FORMAT_OF_SUFFIX.get(_suffix(path))


def _suffix(path: str | Path) -> str:
    return without_compression_suffix(path).suffix.lower()


def detect_format(raw: bytes, name: str, file: Path | None) -> str:
    """Return the format of a file's content; `file` is None for standard input."""
    for magic, format in _FORMAT_OF_MAGIC.items():
        if raw.startswith(magic):
            return format
    if raw.startswith(_OLD_EXCEL_MAGIC):
        raise TableError(f"{name} {EXCEL_ERROR}")
    suffix = "" if file is None else _suffix(file)
    if suffix in _JSON_SUFFIXES and raw.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        raise TableError(f"{name} is JSON, which is not supported. Save it as CSV or Parquet.")
    by_name = FORMAT_OF_SUFFIX.get(suffix)
    if by_name not in (None, "csv", "tsv"):
        fault = "is empty" if not raw else f"is not a {by_name} file: its first bytes are wrong"
        raise TableError(f"{name} {fault}. Write it again, or rename it to its real format.")
    return by_name or "csv"


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
    # next to tables, generic text is most often a README
    return [file for file in files if _suffix(file) not in GENERIC_TEXT_SUFFIXES] or files


def read_bytes(file: Path) -> bytes:
    """Return the content of a file; if it does not exist, the error suggests similar names."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
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
