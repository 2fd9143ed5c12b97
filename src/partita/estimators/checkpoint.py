"""`Checkpoint`: a file from which a fit can be resumed, written and read without running code."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from partita._common import parameters as accept
from partita._common.array_types import Floats
from partita._common.atomic_write import check_new
from partita._common.errors import ParameterError
from partita._common.parameters import PATH, Got, check, check_path, describe_value, must_be
from partita._common.random_state import generator
from partita._common.text import one_line
from partita._common.warnings import warn
from partita.engine.fit_state import FitState, Recorder
from partita.engine.lloyd import LloydOptions
from partita.estimators import checkpoint_state
from partita.estimators.data_fingerprint import fingerprint
from partita.safe_file.checked_fields import CheckedFields, FieldError
from partita.safe_file.container import Container, FileKind, write_container
from partita.safe_file.packed_values import Packer, UnsupportedValueError, describe, unpack

R = TypeVar("R")
FORMAT, VERSION = "partita-checkpoint", 1
# parameters that change no bit of the result; the random state is compared by its own rule
FREE_PARAMETERS = frozenset(
    {"algorithm", "callback", "copy_x", "memory_limit", "n_threads", "random_state", "verbose"}
)
MAX_FAULT_LENGTH = 300  # characters of what is wrong with a file, in a message


class CheckpointFileError(ValueError):
    """A file is not a checkpoint, or is damaged."""


CHECKPOINT = FileKind("checkpoint", "checkpoint", "`fit(X, checkpoint=…)`", CheckpointFileError)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file that a fit writes its state to, every so many seconds or iterations.

    >>> from partita import Checkpoint
    >>> Checkpoint("fit.checkpoint", every_iterations=10)
    Checkpoint(path='fit.checkpoint', every_seconds=30.0, every_iterations=10)
    """

    path: Any
    every_seconds: float | None = 30.0
    every_iterations: int | None = None

    def __post_init__(self) -> None:
        check("Checkpoint.path", self.path, PATH)
        check("Checkpoint.every_seconds", self.every_seconds, accept.optional(accept.number(0)))
        rule = accept.optional(accept.integer(1))
        check("Checkpoint.every_iterations", self.every_iterations, rule)

    @classmethod
    def of(cls, given: Any) -> Checkpoint:
        """Return the argument of `fit` as a record."""
        if isinstance(given, cls):
            return given
        wanted = accept.either(PATH, accept.instance(cls, "a partita.Checkpoint"))
        return cls(check("checkpoint", given, wanted))


class CheckpointedFit:
    """The identity of a fit: its member, parameters, random numbers and data."""

    def __init__(self, model: Any, data: str, resume: Any) -> None:
        self._facts = {
            "member": type(model).__name__,
            "parameters": _parameter_texts(model),
            "random_state": _seed_text(model.random_state),
            "data": data,  # their fingerprint
        }
        self._file = None if resume is None else self._read(resume)
        self.rng = generator(model.random_state) if self._file is None else self._file[0]
        self._rng_packer = Packer()
        self._packed_rng = self._pack_rng()  # before the starts draw from it

    def _pack_rng(self) -> Any:
        try:
            return self._rng_packer.pack(self.rng, "generator")
        except UnsupportedValueError as error:
            wanted = "an integer, None, or a Generator with PCG64 for a fit with checkpoints"
            raise must_be("random_state", wanted, Got(str(error))) from error

    # --- writing ---

    def recorder(self, checkpoint: Checkpoint, origin: Floats) -> Recorder:
        """Return what saves states of this fit; `origin` is that of the exact sums."""
        path = check_path("checkpoint", checkpoint.path)
        mode = check_new(path, force=True)
        if mode is not None and os.path.isfile(path):
            self._refuse_to_replace(path)

        def save(state: FitState) -> None:
            packer = Packer()
            packer.arrays |= self._rng_packer.arrays
            packed = packer.pack(checkpoint_state.as_values(state, origin), "state")
            header = {"format": FORMAT, "version": VERSION, **self._facts}
            header |= {"generator": self._packed_rng, "state": packed}
            try:
                write_container(path, header, packer.arrays, True)
            except (OSError, ValueError) as error:  # the fit is worth more than its checkpoint
                warn(f"The checkpoint was not written: {one_line(error)}", RuntimeWarning)

        return Recorder(save, checkpoint.every_seconds, checkpoint.every_iterations)

    def _refuse_to_replace(self, path: str) -> None:
        """Raise an error if the file is something else than a checkpoint."""
        if os.path.getsize(path) == 0:
            return
        with suppress(CheckpointFileError), Container(path, CHECKPOINT) as file:
            if file.header().get("format") == FORMAT:
                return
        advice = "Choose another name, or remove the file."
        raise must_be("checkpoint", "a new file or a checkpoint", Got(f"{path!r}"), advice)

    # --- reading ---

    def _read(self, resume: Any) -> tuple[np.random.Generator, CheckedFields]:
        path = check_path("resume", resume)
        try:
            with Container(path, CHECKPOINT) as file:
                return self._read_container(file)
        except FileNotFoundError:
            text = f"There is no checkpoint {path}. Leave `resume` out to begin a new fit."
            raise FileNotFoundError(text) from None
        except ParameterError:
            raise
        except (FieldError, CheckpointFileError, ValueError, RecursionError) as error:
            raise _refusal(path, one_line(error, MAX_FAULT_LENGTH)) from error

    def _read_container(self, file: Container) -> tuple[np.random.Generator, CheckedFields]:
        header = file.header()
        if header.get("format") != FORMAT:
            raise _refusal(file.path, "a file of another kind")
        if header.get("version") != VERSION:
            version = describe_value(header.get("version"))
            raise _refusal(file.path, f"one of version {version}, this is version {VERSION}")
        for name, ours in self._facts.items():
            theirs = header.get(name)
            if theirs != ours:
                raise _refusal(file.path, _difference(name, theirs, ours))
        values = {name: unpack(header.get(name), file.array) for name in ("generator", "state")}
        fields = CheckedFields(values)
        return fields.generator("generator"), fields.nested("state")

    def state(self, k: int, n: int, origin: Floats, runs: int) -> FitState | None:
        """Return the state to resume from, checked for a fit of this size; None without a file."""
        if self._file is None:
            return None
        try:
            return checkpoint_state.read(self._file[1], (k, n, runs), origin)
        except ValueError as error:
            raise _refusal("it", one_line(error, MAX_FAULT_LENGTH)) from error


def run_with_checkpoints(
    known: CheckpointedFit,
    checkpoint: Any,
    sizes: tuple[int, int],
    origin: Floats,
    options: LloydOptions,
    run: Callable[[LloydOptions], R],
) -> R:
    """Resume a fit, or save its states, or both. If it is interrupted, the last one is saved.

    `sizes` are the numbers of rows and of starts, `origin` is that of the exact sums.
    """
    n, runs = sizes
    resumed, recorder = known.state(options.k, n, origin, runs), None
    if checkpoint is not None:
        recorder = known.recorder(Checkpoint.of(checkpoint), origin)
    try:
        return run(replace(options, recorder=recorder, resumed=resumed))
    except BaseException:
        if recorder is not None:
            recorder.save()
        raise


def _refusal(path: str, got: str) -> ParameterError:
    wanted = "a checkpoint of this fit: the same member, parameters, data and weights"
    return must_be("resume", wanted, Got(f"{path}: {got}"), "Leave it out to begin a new fit.")


def _difference(name: str, theirs: Any, ours: Any) -> str:
    """Say how the fit of a checkpoint differs from this one."""
    if name == "data":
        return "one of other data or weights"
    if name != "parameters" or not isinstance(theirs, dict):
        return f"one with {name} {describe_value(theirs)}, not {describe_value(ours)}"
    names = sorted(key for key in {*theirs, *ours} if theirs.get(key) != ours.get(key))
    return "one with " + ", ".join(f"{key}={theirs.get(key)}, not {ours.get(key)}" for key in names)


def _parameter_texts(model: Any) -> dict[str, str]:
    """Texts of the parameters on which the result depends; arrays by their hash."""
    texts = {}
    for name, value in model.get_params(deep=False).items():
        if name not in FREE_PARAMETERS:
            centers = getattr(value, "cluster_centers_", value)
            is_plain = centers is None or isinstance(centers, str | int | float)
            is_rows = hasattr(centers, "__len__") and not is_plain
            texts[name] = fingerprint(centers) if is_rows else describe(_plain(value))
    return texts


def _plain(value: Any) -> Any:
    """Numbers of NumPy as those of Python: equal values have equal texts."""
    return value.item() if isinstance(value, np.generic) else value


def _seed_text(random_state: Any) -> str:
    """The text of an integer; streams cannot be compared, that of the checkpoint goes on."""
    return str(int(random_state)) if accept.is_integer(random_state) else "a stream"
