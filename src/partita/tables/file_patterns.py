"""Which files are meant by a path, a folder or a pattern; and their bytes."""

from __future__ import annotations

import difflib
import glob
from pathlib import Path

from partita._common.text import listed
from partita.tables.compression import without_compression_suffix
from partita.tables.file_formats import FORMAT_OF_SUFFIX, GENERIC_TEXT_SUFFIXES, format_from_name
from partita.tables.table import TableError


def expand_path(path: str | Path) -> list[Path]:
    """The files of a folder or of a pattern, by name; a single file as it is."""
    if str(path) == "":
        raise TableError("the name of the file is empty; a path is expected")
    place = Path(path)
    if place.is_dir():
        files, what = _of_folder(place), "the folder"
    elif not place.exists() and glob.has_magic(str(path)):
        files = [Path(file) for file in sorted(glob.glob(str(path), recursive=True))]
        files, what = [file for file in files if file.is_file()], "the pattern"
    else:
        return [place]
    if not files:
        raise TableError(
            f"{what} {path} has no files to read; files that end in "
            f"{', '.join(FORMAT_OF_SUFFIX)} are expected"
        )
    return files


def _of_folder(folder: Path) -> list[Path]:
    files = [
        file
        for file in sorted(folder.iterdir())
        if format_from_name(file) is not None and file.name[0] not in "._" and file.is_file()
    ]
    # beside tables, these are most often read by people
    tables = [
        file
        for file in files
        if without_compression_suffix(file).suffix.lower() not in GENERIC_TEXT_SUFFIXES
    ]
    return tables or files


def read_bytes(file: Path) -> bytes:
    """What is in a file; if there is none, the error says which are like it."""
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise TableError(f"there is no file {file}{_hint(file)}") from None
    except OSError as error:
        raise TableError(f"{file} cannot be read: {error.strerror or error}") from None


def _hint(file: Path) -> str:
    there = {other.name.lower(): other.name for other in sorted(file.parent.glob("*"))}
    near = difflib.get_close_matches(file.name.lower(), list(there), n=3, cutoff=0.6)
    if near:
        return f"; did you mean {listed(there[name] for name in near)}?"
    tables = [name for name in there.values() if format_from_name(name) is not None]
    return f"; there are {listed(tables)}" if tables else ""
