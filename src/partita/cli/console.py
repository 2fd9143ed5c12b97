"""The console of rich, for streams whose reader may close them."""

from __future__ import annotations

from rich import console


class PipeConsole(console.Console):
    """A console that raises BrokenPipeError, where rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
