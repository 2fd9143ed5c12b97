"""Partitions of Dask: blocks of rows held by workers, with the state of a fit beside them.

With a distributed client, blocks are futures that the scheduler computes again if a worker dies;
state is in the memory of the worker, and derived again where it is missing. Without a client,
blocks are arrays in this process, and tasks run on Dask's own scheduler (threads by default).
"""

from __future__ import annotations

import pickle
import threading
import uuid
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import count
from typing import Any

import numpy as np

from partita._common.array_types import Array, Floats
from partita._common.optional_imports import require
from partita.source.dask_rows import client_of, map_rows
from partita.source.partitions import Part, Task, aligned_sizes, readable_rows

ADDED_AT_ONCE = 8  # results that one worker adds up
MAX_SUBMITTED_BYTES = 1 << 20  # of a task that passes through the scheduler; others are replicated
MAX_TRIES = 3  # of tasks whose data was lost with a worker

# The state beside partitions, by fit and number: of this process, which may be that of a worker
_STATES: dict[tuple[str, int], dict[str, Any]] = {}
_LOCK = threading.Lock()


def call_task(
    key: tuple[str, int], start: int, task: Any, rows: Array, weight: Floats | None
) -> Any:
    """Run a task beside a partition, where its rows are; bytes are unpickled first."""
    if isinstance(task, bytes):
        task = pickle.loads(task)
    with _LOCK:
        state = _STATES.pop(key, {})  # a second call at the same time begins without state
    result = task(Part(rows, weight, start, state))
    with _LOCK:
        _STATES[key] = state
    return result


def release_states(fit: str) -> None:
    """Forget the state of a fit in this process."""
    with _LOCK:
        for key in [key for key in _STATES if key[0] == fit]:
            del _STATES[key]


def _add_up(add: Callable[[Any, Any], Any], *parts: Any) -> Any:
    return reduce(add, parts)


def _same(value: Any) -> Any:
    return value


def readable_weight(block: Any) -> Floats:
    """Return weights of a partition as doubles."""
    return np.ascontiguousarray(block, dtype=np.float64)


class DaskPartitions:
    """`Partitions` of a dask array with known chunks, one along the features."""

    def __init__(self, rows: Any, held: Any, weight: Any, names: Any) -> None:
        self.table, self.names = rows, names
        sizes = aligned_sizes(rows.chunks[0])
        self.starts = np.cumsum([0, *sizes])
        self.d, self.weighted = int(rows.shape[1]), weight is not None
        self.dtype = readable_rows(np.empty((0, 0), rows.dtype)).dtype
        self._fit = uuid.uuid4().hex
        self._client = client_of(rows)
        self._rows = self._hold(held.rechunk({0: tuple(sizes)}), readable_rows)
        self._weight: list[Any] = [None] * len(sizes)
        if weight is not None:
            self._weight = self._hold(weight.rechunk((tuple(sizes),)), readable_weight)
        self._tasks = count()

    def _hold(self, blocks: Any, make: Callable[[Any], Array]) -> list[Any]:
        """Compute blocks once: futures of a client, or arrays."""
        dask = require("dask", "rows in a dask array", "dask")
        delayed = [dask.delayed(make)(block) for block in blocks.to_delayed().ravel()]
        if self._client is None:
            return list(dask.compute(*delayed))
        return list(self._client.compute(delayed))

    def run(self, task: Task[Any], which: Sequence[int] | None = None) -> list[Any]:
        numbers = range(len(self._rows)) if which is None else which
        if self._client is None:
            return self._run_here(task, numbers)
        return list(self._try(lambda: self._client.gather(self._submit(task, numbers))))

    def total(self, task: Task[Any], add: Callable[[Any, Any], Any]) -> Any:
        if self._client is None:
            return reduce(add, self.run(task))
        return self._try(lambda: self._add_up_there(task, add))

    def _run_here(self, task: Task[Any], numbers: Sequence[int]) -> list[Any]:
        dask = require("dask", "rows in a dask array", "dask")
        call = dask.delayed(call_task, pure=False, traverse=False)
        # a task is one object for Dask, whatever it holds
        packed = pickle.dumps(task)
        calls = [
            call((self._fit, i), int(self.starts[i]), packed, self._rows[i], self._weight[i])
            for i in numbers
        ]
        return list(dask.compute(*calls))

    # --- with a client

    def _submit(self, task: Task[Any], numbers: Sequence[int]) -> list[Any]:
        client, packed = self._client, pickle.dumps(task)
        name = f"partita-{self._fit}-{next(self._tasks)}"
        if len(packed) <= MAX_SUBMITTED_BYTES:
            sent = client.submit(_same, packed, key=f"{name}-task", pure=False)
        else:
            sent = client.scatter(packed, broadcast=True, hash=False)
        return [
            client.submit(
                call_task,
                (self._fit, i), int(self.starts[i]), sent, self._rows[i], self._weight[i],
                key=f"{name}-{i}", pure=False,
            )
            for i in numbers
        ]  # fmt: skip

    def _add_up_there(self, task: Task[Any], add: Callable[[Any, Any], Any]) -> Any:
        parts = self._submit(task, range(len(self._rows)))
        while len(parts) > 1:
            groups = [parts[i : i + ADDED_AT_ONCE] for i in range(0, len(parts), ADDED_AT_ONCE)]
            parts = [self._client.submit(_add_up, add, *group, pure=False) for group in groups]
        return parts[0].result()

    def _try(self, work: Callable[[], Any]) -> Any:
        """Do some work again if data was lost that the scheduler could not make again."""
        from concurrent.futures import CancelledError

        for left in reversed(range(MAX_TRIES)):
            try:
                return work()
            except CancelledError:
                if left == 0:
                    raise
        raise AssertionError

    def map_rows(self, function: Callable[[Array], Array], columns: int | None, dtype: Any) -> Any:
        return map_rows(self.table, function, columns, dtype)

    def close(self) -> None:
        release_states(self._fit)
        if self._client is not None:
            self._client.run(release_states, self._fit, on_error="ignore")
        self._rows, self._weight = [], []
