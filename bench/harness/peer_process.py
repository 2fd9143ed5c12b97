"""The process of one library, and the pipe on which the benchmark calls it.

Each library has its own process because they would disturb each other in one: three OpenMP runtimes
that spin between calls, BLAS libraries with different limits, and settings read only at load. And a
process can be ended when a fit takes too long.
"""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from peers.balanced_peers import BALANCED_PEERS
from peers.family_peers import FAMILY_PEERS
from peers.gower_peers import GOWER_PEERS
from peers.inexact_peers import INEXACT_PEERS
from peers.kernel_peers import KERNEL_PEERS
from peers.kmeans_peers import KMEANS_PEERS, Peer, PeerInfo
from peers.medoid_peers import MEDOID_PEERS
from peers.prototype_peers import PROTOTYPE_PEERS
from peers.silhouette_peers import SILHOUETTE_PEERS
from peers.sweep_peers import SWEEP_PEERS

from harness import environment
from harness.peer_server import PeerServer

_PAUSE_SECONDS = 0.08  # seconds: threads of OpenBLAS spin for some 30 ms after their last task
_ALL: Mapping[str, Callable[[int], Peer]] = {
    **KMEANS_PEERS,
    **INEXACT_PEERS,
    **FAMILY_PEERS,
    **BALANCED_PEERS,
    **MEDOID_PEERS,
    **KERNEL_PEERS,
    **PROTOTYPE_PEERS,
    **GOWER_PEERS,
    **SILHOUETTE_PEERS,
    **SWEEP_PEERS,
}


class AbsentError(Exception):
    """The library is not installed, or cannot be loaded."""


class FailedError(Exception):
    """The library could not do what it was asked to."""


class TooLongError(FailedError):
    """It was ended because it took longer than allowed."""


class PeerProcess:
    """The benchmark's end of the pipe. A process that died or was killed is replaced."""

    info: PeerInfo

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        self._threads = threads
        helped = environment.help_for(name)
        given = ", ".join(f"{key}={value}" for key, value in helped.items())
        self.helped = f"{name} runs with {given}: see README.md." if given else ""
        self._open()

    def call(self, what: str, *arguments: Any, seconds: float | None = None) -> Any:
        """Call a method of `PeerServer` in that process, after other libraries have come to rest.

        After `seconds`, and after a failure of the process, there is a new one that holds no rows.
        """
        time.sleep(_PAUSE_SECONDS)
        try:
            self._line.send((what, arguments))
            if self._line.poll(seconds):
                return self._answer()
        except (EOFError, OSError):
            self._process.join(5)
            code = self._process.exitcode
            self._replace()
            raise FailedError(f"died ({code})") from None
        self._replace()
        raise TooLongError(f"longer than {seconds:g} s")

    def close(self) -> None:
        self._line.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()

    def _open(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, far = context.Pipe()
        arguments = (far, self.name, self._threads)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with environment.changed(environment.variables(self.name, self._threads)):
            self._process.start()
        far.close()
        try:
            self.info = self._answer()
        except EOFError:
            raise AbsentError("its process died while it was loaded") from None

    def _replace(self) -> None:
        self._process.kill()
        self._process.join()
        self._line.close()
        self._open()

    def _answer(self) -> Any:
        answer = self._line.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer


def open_processes(
    names: Iterable[str], threads: int
) -> tuple[dict[str, PeerProcess], dict[str, str]]:
    """Start a process for each installed library; also return why others are absent."""
    processes, absent = {}, {}
    for name in names:
        try:
            processes[name] = PeerProcess(name, threads)
        except AbsentError as error:
            absent[name] = str(error)
    return processes, absent


def _serve(line: Connection, name: str, threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who asks
    try:
        peer = _ALL[name](threads)
    except Exception as error:  # an ImportError, or whatever a broken library raises at import
        line.send(AbsentError(f"{type(error).__name__}: {error}"))
        return
    server = PeerServer(peer, threads)
    line.send(peer.info)
    while True:
        try:
            what, arguments = line.recv()
        except (EOFError, OSError):  # the pipe was closed
            return
        try:
            line.send(getattr(server, what)(*arguments))
        except Exception as error:
            line.send(FailedError(f"{type(error).__name__}: {error}"))
