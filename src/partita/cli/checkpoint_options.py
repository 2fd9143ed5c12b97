"""`--checkpoint` and `--resume`: the state of a fit in a file, and how to go on from it."""

from __future__ import annotations

import os
import shlex
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from partita._common.errors import TableError
from partita.cli.option_values import KRequest
from partita.cli.options import clustering

METHODS = ("kmeans", "spherical")  # whose fits have checkpoints
CLOCK_SECONDS = 2.0  # by which the clocks of a file system may differ


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """The files that the state of a fit is written to and read from."""

    checkpoint: Annotated[
        Path | None,
        clustering(
            "--checkpoint",
            "FILE",
            "Write the state of the fit to a file, every 30 seconds and after Ctrl-C.",
        ),
    ] = None
    resume: Annotated[
        Path | None,
        clustering("--resume", "FILE", "Go on from a checkpoint: to the bits of the whole fit."),
    ] = None
    _begin: float = field(default_factory=time.time)

    def check(self, k: KRequest, method: str, others: list[Any]) -> None:
        """Raise before the work if a fit cannot have checkpoints, or a file cannot be used.

        `others` are the other files of the command.
        """
        given = {"--checkpoint": self.checkpoint, "--resume": self.resume}
        for option in [option for option, path in given.items() if path is not None]:
            if k.fixed is None:
                raise typer.BadParameter(f"{option} needs a number of clusters, like --k 8.")
            if method not in METHODS:
                raise typer.BadParameter(
                    f"{option} needs --method {' or '.join(METHODS)}, got --method {method}."
                )
        if self.resume is not None:
            _check_resumed(self.resume)
        if self.checkpoint is not None:
            _check_written(self.checkpoint, others)

    @property
    def files(self) -> dict[str, Path]:
        """The arguments of `fit`."""
        given = {"checkpoint": self.checkpoint, "resume": self.resume}
        return {name: path for name, path in given.items() if path is not None}

    def advice(self, command: str, has_outputs: bool) -> str:
        """Return how to go on with an interrupted fit; empty without `--checkpoint`.

        Outputs that were saved are to be replaced then.
        """
        path = self.checkpoint
        if path is None:
            return ""
        if not path.exists() or path.stat().st_mtime < self._begin - CLOCK_SECONDS:
            return ". No checkpoint was due; the same command begins again"
        words = shlex.split(command)
        words += [] if self.resume is not None else ["--resume", str(path)]
        words += ["--force"] if has_outputs and not {"--force", "-f"} & set(words) else []
        return f". To go on: {shlex.join(words)}"


def _check_resumed(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(
            f"There is no checkpoint {path}. Leave --resume out to begin a new fit."
        )
    if not _is_checkpoint(path):
        raise TableError(
            f"--resume must be a checkpoint, got {path}, a file of another kind. Leave it out to "
            "begin a new fit."
        )


def _check_written(path: Path, others: list[Any]) -> None:
    """Refuse a file that is none of ours, or that cannot be written."""
    from partita._common.atomic_write import check_new

    taken = {os.path.realpath(other) for other in others if other is not None}
    if os.path.realpath(path) in taken:
        raise typer.BadParameter(
            f"--checkpoint {path} is another file of this command. Choose another name."
        )
    is_there = check_new(path, force=True) is not None
    if is_there and path.stat().st_size and not _is_checkpoint(path):
        raise TableError(
            f"--checkpoint must be a new file or a checkpoint, got {path}, a file of another kind. "
            "Choose another name."
        )


def _is_checkpoint(path: Path) -> bool:
    from partita.estimators.checkpoint import CHECKPOINT, FORMAT, CheckpointFileError
    from partita.safe_file.container import Container

    try:
        with Container(str(path), CHECKPOINT) as file:
            return bool(file.header().get("format") == FORMAT)
    except CheckpointFileError:
        return False
