"""Processes that answer requests, can be killed in the middle of one, and are soon there again.

A fit inside compiled code can't be interrupted from Python, so a run that exceeds its time limit is
ended together with its process. The next process is forked from one that has done the imports.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.system.child import ROOT

# Seconds that a process may take to start, read, convert and warm up (compiling, the first time).
START_LIMIT = 300.0
# Seconds beyond its limit after which a run is ended, for a message between two processes.
GRACE = 0.1
# Modules that every compared library imports, so that they are not the memory of a solver.
IMPORTED = ("sklearn.linear_model", "sklearn.svm")


def memory(field: str, reset_peak: bool = False) -> float:
    """MiB resident (``VmRSS``), or the peak since the last reset (``VmHWM``); NaN where unknown."""
    try:
        if reset_peak:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024.0
    except (OSError, StopIteration):
        return float("nan")


def _fork_on_demand(
    control: socket.socket, serve: Callable[..., None], arguments: Sequence[Any]
) -> None:
    """Fork a process that serves for each connection that is sent, until ended.

    Modules imported before the fork are not the solver's memory, and cost nothing when a process
    that was killed is followed by another.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the harness ends its workers itself
    warnings.simplefilter("ignore")  # a solver that stops early warns; its point is valued anyway
    gc.freeze()  # a search through the imported modules would take longer than many a fit
    child, ended = 0, 0
    while True:
        order, descriptors, *_ = socket.recv_fds(control, 1, 1)
        if not order:
            return
        if child:  # the one before has ended: it closed its connection, or was killed
            ended, child = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0
        if descriptors:
            child = os.fork()
            if not child:
                control.close()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    serve(Connection(descriptors[0]), *arguments)
                os._exit(0)
            os.close(descriptors[0])
        control.sendall(struct.pack("i", child or ended))


class Process:
    """The harness's end of a process that answers requests, and of those that follow it.

    Parameters
    ----------
    serve : str
        ``"module:function"``: it is called with a connection, on which it gets requests until
        there is an `EOFError`, and answers each with ``"started"`` once it is ready, ``"ended"``
        where the time that counts ends, and a record (a dict, with an ``"error"`` where it failed).
    *arguments
        The arguments of the function after the connection; JSON can hold all of them.
    python : str, optional
        The interpreter.
    imported : sequence of str
        Modules that are imported before the first request.
    """

    def __init__(
        self,
        serve: str,
        *arguments: Any,
        python: str = sys.executable,
        imported: Sequence[str] = IMPORTED,
    ) -> None:
        self._control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            words = json.dumps([number, serve, arguments, imported])
            command = [python, "-m", "benchmarks.system.processes", words]
            self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[number])
        self._child: tuple[int, Connection] | None = None

    def _connection(self) -> Connection:
        """The connection to the process that fits; to a new one, if the last was ended."""
        if self._child is None:
            ours, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            self._child = self._number(), Connection(ours.detach())
        return self._child[1]

    def _number(self) -> int:
        self._control.settimeout(START_LIMIT)
        answer = self._control.recv(4)
        if len(answer) < 4:
            raise EOFError
        return struct.unpack("i", answer)[0]

    def _end(self) -> None:
        """Ends the process that fits."""
        if self._child is not None:
            pid, connection = self._child
            # It is reaped by the process that forked it and not before the next, so the number
            # is still its own.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            connection.close()
            self._child = None

    def answer(self, request: Any, limit: float) -> dict[str, Any] | None:
        """The record of a run; None where it took longer than ``limit`` seconds and was killed.

        The steps before and after the timed one have a generous limit of their own.
        """
        try:
            connection = self._connection()
            connection.send(request)
            for seconds in (START_LIMIT, limit + GRACE, START_LIMIT):
                if not connection.poll(seconds):
                    self._end()
                    return None
                answer = connection.recv()
                if isinstance(answer, dict):
                    return answer
            raise AssertionError("a process sends 'started', 'ended' and a record for each request")
        except (EOFError, BrokenPipeError, ConnectionResetError, TimeoutError):
            return {"error": f"the process ended (exit code {self._code()})"}

    def _code(self) -> int | None:
        """The exit code of the process that fits, which has ended, or else of what forks it."""
        self._end()
        try:
            self._control.sendall(b"w")
            return self._number()
        except (EOFError, OSError):
            self.close()
            return self._process.returncode

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        self._end()
        self._process.kill()
        self._process.wait()
        self._control.close()


if __name__ == "__main__":
    descriptor, named, given, early = json.loads(sys.argv[1])
    for name in early:
        importlib.import_module(name)
    module, function = named.split(":")
    with socket.socket(fileno=descriptor) as orders:
        _fork_on_demand(orders, getattr(importlib.import_module(module), function), given)
