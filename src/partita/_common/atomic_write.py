"""Write files atomically: a reader finds the old file or all of the new one, never a part."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from partita._common.errors import ExistingFileError, Setting
from partita._common.parameters import FLAG, check, check_path

Writer = Callable[[BinaryIO], object]


def write_atomically(path: str | Path, writer: Writer, *, force: bool = False) -> None:
    """Let `writer` fill a temporary file, and rename it to `path` in one step.

    If the process is killed or the disk is full, `path` keeps its old content. An existing file is
    kept and ExistingFileError (a FileExistsError) raised, unless `force`. Links are followed;
    devices and pipes are written to.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_atomically(f"{folder}/a.txt", lambda file: file.write(b"whole"))
    ...     Path(f"{folder}/a.txt").read_bytes()
    b'whole'
    """
    path = check_path("path", path)
    mode = check_new(path, force=force)
    if mode is not None and not stat.S_ISREG(mode):
        _write_to_device(path, writer)
        return
    try:
        _write_and_rename(Path(os.path.realpath(path)), writer, mode, force)
    except FileExistsError:  # it appeared in the meantime
        raise _exists(path) from None
    except OSError as error:
        if error.errno is None:
            raise
        why = error.strerror or str(error)  # the same error, with the path that the user gave
        raise OSError(error.errno, f"{path} could not be written: {why}") from error


def check_new(path: str | Path, *, force: bool = False) -> int | None:
    """Check that a file can be written here; return the mode of an existing one.

    An existing file is an error, unless `force`; so is a folder, or one that is missing.
    """
    path = check_path("path", path)
    check("force", force, FLAG)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if not Path(os.path.realpath(path)).parent.is_dir():
            folder = os.path.dirname(os.readlink(path) if os.path.islink(path) else path)
            text = f"{path} cannot be written: there is no folder {folder}. Create it first."
            raise FileNotFoundError(text) from None
        return None
    except OSError as error:
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror}.") from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file.")
    if stat.S_ISREG(mode) and not force:
        raise _exists(path)
    return mode


def _write_and_rename(target: Path, writer: Writer, mode: int | None, force: bool) -> None:
    temporary = target.parent / f".partita-{secrets.token_hex(8)}.part"  # the same file system
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o666)
    try:
        with os.fdopen(handle, "w+b") as file:
            writer(file)
            file.flush()
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))  # the permissions of the replaced file
            os.fsync(file.fileno())
        if force:
            os.replace(temporary, target)
        else:
            _rename_unless_exists(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _rename_unless_exists(temporary: Path, target: Path) -> None:
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: check once more
        if target.exists():
            raise FileExistsError from None
        os.replace(temporary, target)
    else:
        temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Flush the new name to the disk, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _write_to_device(target: str | Path, writer: Writer) -> None:
    """Copy the complete content to a target that cannot be replaced or sought."""
    with tempfile.TemporaryFile() as file:
        writer(file)
        file.seek(0)
        with open(target, "wb") as device:
            shutil.copyfileobj(file, device)


def _exists(path: str | Path) -> ExistingFileError:
    text = f"{path} already exists. Choose another name, or overwrite it with {{}}."
    return ExistingFileError(text, Setting("force", True))
