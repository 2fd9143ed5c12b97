"""Errors with their subject, so that Python and the command line can each word the advice."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter, and a value that it could take: advice in an error message.

    >>> Setting("missing", "drop").as_python(), Setting("missing", "drop").as_option()
    ("missing='drop'", '--missing drop')
    """

    parameter: str
    value: Any = None

    def as_python(self) -> str:
        """Word the setting as a keyword argument."""
        return f"{self.parameter}={self.value!r}"

    def as_option(self) -> str:
        """Word the setting as an option for a shell; a flag has no value."""
        option = f"--{self.parameter.replace('_', '-')}"
        return option if self.value is True else f"{option} {shlex.quote(str(self.value))}"


class WordedError(Exception):
    """An error whose advice names parameters: `text` ends with a `{}` for each of `settings`.

    `parameter` is the argument at fault, where there is one. Braces before the last placeholders,
    such as those in a file name, are left as they are.

    >>> str(PartitaError("{}.csv exists. Use {}.", Setting("force", True)))
    '{}.csv exists. Use force=True.'
    """

    def __init__(self, text: str, *settings: Setting, parameter: str | None = None) -> None:
        self.text, self.settings, self.parameter = text, settings, parameter
        super().__init__(self.worded(Setting.as_python) if settings else text)

    def worded(self, word: Callable[[Setting], str]) -> str:
        """Word the message by `Setting.as_python` or `Setting.as_option`."""
        head, *rest = self.text.rsplit("{}", len(self.settings)) if self.settings else [self.text]
        pairs = zip(self.settings, rest, strict=True)
        return head + "".join(word(setting) + text for setting, text in pairs)


class PartitaError(WordedError, ValueError):
    """An input that cannot be used."""


class ExistingFileError(WordedError, FileExistsError):
    """An output file that exists already."""


class ParameterError(PartitaError):
    """A parameter has a value that it cannot take."""


class TableError(PartitaError):
    """A file cannot be used: the message names the file, the place, and what to do."""
