"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from partita._common.errors import ExistingFileError, Setting

Writer = Callable[[BinaryIO], object]


def write_atomically(path: str | Path, writer: Writer, *, force: bool = False) -> None:
    """Let `writer` fill a file under a temporary name, which then becomes `path` in one step.

    Whoever looks at `path` sees what was there before or all of the new file, also if the process
    is killed or the disk is full. A file that exists is kept and FileExistsError raised, unless
    `force`. Links are followed; what is no file (a pipe, /dev/null) is written to.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", lambda file: file.write(b"whole"))
    ...     Path(f"{folder}/a.txt").read_bytes()
    b'whole'
    """
    mode = check_new(path, force=force)
    if mode is not None and not stat.S_ISREG(mode):
        _pour(path, writer)
        return
    target = Path(os.path.realpath(path))
    try:
        _write(target, writer, mode, force)
    except FileExistsError:  # it appeared meanwhile
        raise _exists(path) from None
    except OSError as error:
        if error.errno is None:
            raise
        # the same kind of error, with the name that the user knows
        why = error.strerror or str(error)
        raise OSError(error.errno, f"{path} could not be written: {why}") from error


def check_new(path: str | Path, *, force: bool = False) -> int | None:
    """See that a file can get this name; the mode of what is there, None if nothing is.

    A file that exists is an error, unless `force`; so is a folder, or one that is missing.
    """
    mode = _mode_of(path)
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder; the name of a file is expected")
    if mode is not None and stat.S_ISREG(mode) and not force:
        raise _exists(path)
    target = Path(os.path.realpath(path))
    if mode is None and not target.parent.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {target.parent}")
    return mode


def _write(target: Path, writer: Writer, mode: int | None, force: bool) -> None:
    part = target.parent / f".partita-{secrets.token_hex(8)}.part"  # the same folder: same disk
    handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "w+b") as file:
            writer(file)
            file.flush()
            if mode is not None:
                os.chmod(part, stat.S_IMODE(mode))  # those who could read it still can
            os.fsync(file.fileno())
        if force:
            os.replace(part, target)
        else:
            _rename_to_new(part, target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _rename_to_new(part: Path, target: Path) -> None:
    """Give the file its name, unless another has taken it since we looked."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a disk without links: what remains is to look once more
        if target.exists():
            raise FileExistsError from None
        os.replace(part, target)
    else:
        part.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the new name last, where the system has a way to say so."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _pour(target: str | Path, writer: Writer) -> None:
    """Write to what cannot be replaced, and cannot be searched, once all of it is there."""
    with tempfile.TemporaryFile() as file:
        writer(file)
        file.seek(0)
        with open(target, "wb") as out:
            shutil.copyfileobj(file, out)


def _mode_of(path: str | Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _exists(path: str | Path) -> ExistingFileError:
    text = f"{path} already exists. Choose another name, or overwrite it with {{}}."
    return ExistingFileError(text, Setting("force", True))
