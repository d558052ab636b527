"""One process for each group of solvers and data set: it can be killed, and its memory measured.

A fit inside compiled code can't be interrupted from Python, so a run that exceeds its time limit is
ended together with its process; the next one is forked with the imports done. The data travel as
``.npy`` files in a temporary folder, and every worker reads its own private copy; a worker may go
on to other data.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.objectives import lower_bound, objective
from benchmarks.peers import Fitted, Solver
from benchmarks.workloads.base import Data, Row, Workload

# Seconds that a worker may take to start, read, convert and warm up (compiling, the first time).
START_LIMIT = 300.0
# Seconds beyond its limit after which a run is ended: those of a message between two processes.
GRACE = 0.1


@dataclass(frozen=True)
class Stored:
    """Where a data set is, and what it is like."""

    folder: Path
    shape: tuple[int, int]
    forms: tuple[str, ...]
    mib: float
    stand_in: bool


class Stock:
    """The data sets of a run, each made once and kept in files until the run ends."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say = folder, say
        self._stored: dict[str, Stored] = {}

    def get(self, workload: Workload) -> Stored:
        """A data set, read or made if it is asked for the first time."""
        if workload.name not in self._stored:
            self._say(f"{workload.name}: loading")
            data, folder = workload.load(), self._folder / workload.name
            store(data, folder)
            parts = [*data.stored.values()]
            size = sum(X.nbytes if hasattr(X, "nbytes") else 2 * X.data.nbytes for X in parts)
            self._stored[workload.name] = Stored(
                folder, data.shape, data.forms, size / 2**20, data.stand_in
            )
        return self._stored[workload.name]


@contextmanager
def stocked(say: Callable[[str], None]) -> Iterator[Stock]:
    """A stock whose files go when it is no longer needed."""
    with tempfile.TemporaryDirectory(prefix="bench-data-") as folder:
        yield Stock(Path(folder), say)


def store(data: Data, folder: Path) -> None:
    """Writes the data where `read` finds them."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "y.npy", data.y)
    if data.dense is not None:
        np.save(folder / "dense.npy", data.dense)
    if data.csr is not None:
        for part in ("data", "indices", "indptr"):
            np.save(folder / f"{part}.npy", getattr(data.csr, part))
        np.save(folder / "shape.npy", np.array(data.csr.shape))


def read(folder: Path, form: str):
    """``(X, y)`` in the form asked for; ``"columns"`` are dense rows that lie by columns."""
    y = np.load(folder / "y.npy")
    if form in ("dense", "float64", "columns"):
        X = np.load(folder / "dense.npy")
        if form == "columns":
            return np.asfortranarray(X), y
        return (X if form == "dense" else X.astype(np.float64)), y
    data, indices, indptr = (np.load(folder / f"{p}.npy") for p in ("data", "indices", "indptr"))
    shape = tuple(int(k) for k in np.load(folder / "shape.npy"))
    return sp.csr_matrix((data, indices, indptr), shape=shape, copy=False), y


def _memory(field: str, reset_peak: bool = False) -> float:
    """MiB resident (``VmRSS``), or the peak since the last reset (``VmHWM``); NaN where unknown."""
    try:
        if reset_peak:
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024.0
    except (OSError, StopIteration):
        return float("nan")


def _value(row: Row, X, y, fitted: Fitted) -> dict:
    point = (row.loss, X, y, fitted.coef, fitted.intercept)
    strength = {"C": row.C, "l1_ratio": row.l1_ratio}
    return {
        "primal": objective(*point, **strength),
        "dual": lower_bound(*point, **strength, free_intercept=row.intercept),
        "n_iter": fitted.n_iter,
        "claims": fitted.claims,
    }


def _warm_up(solver: Solver, row: Row, X, y) -> None:
    """An untimed fit, so that imports, thread pools and compilation are not part of a timed one.

    This library compiles for the kind of data and chooses a solver by its shape: it warms up on the
    data themselves. For the others a hundred rows of each class do.
    """
    # This library's loosest setting may do without loops that the next ones need.
    setting = solver.settings[len(solver.settings) // 3]
    if solver.group != "separatrix":
        few = np.sort(np.concatenate([np.flatnonzero(y == label)[:100] for label in np.unique(y)]))
        X, y, setting = X[few], y[few], solver.settings[0]
    solver.prepare(row, X, y)(setting)


def serve(connection, warm: bool, clock: str) -> None:
    """Answers ``(folder, form, solver, row, setting)`` with "started", "ended" and a record."""
    place, X, y, valued = None, None, None, None
    fits: dict[tuple[str, Row], tuple] = {}
    while True:
        try:
            folder, form, solver, row, setting = connection.recv()
        except EOFError:
            return
        try:
            if place != (folder, form):
                fits.clear()
                X = y = valued = None  # before the others are read
                (X, y), place = read(folder, form), (folder, form)
                # Points are valued in float64: to convert rows each time would take longest.
                valued = X.astype(np.float64, copy=False)
            key = solver.name, row
            if key not in fits:
                for other in [key for key in fits if key[1] != row]:
                    del fits[other]  # with the copies of the data that it keeps
                if warm:
                    _warm_up(solver, row, X, y)
                start = time.perf_counter()
                fits[key] = solver.prepare(row, X, y), time.perf_counter() - start
            fit, prepare_seconds = fits[key]
            gc.collect()
            resident = _memory("VmRSS")
            _memory("VmHWM", reset_peak=True)
            connection.send("started")
            start, cpu = time.perf_counter(), time.process_time()
            fitted = fit(setting)
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            connection.send("ended")
            peak = _memory("VmHWM")
            record = {
                "setting": setting,
                "seconds": cpu if clock == "cpu" else wall,
                "wall_seconds": wall,
                "cpu_seconds": cpu,
                "prepare_seconds": prepare_seconds,
                # Peak of the run above what was there before it: copies, conversions, work space.
                "extra_mib": None if np.isnan(peak - resident) else peak - resident,
                **_value(row, valued, y, fitted),
            }
        except Exception as error:
            record = {"setting": setting, "error": f"{type(error).__name__}: {error}"}
        connection.send(record)


def fork_on_demand(control: socket.socket, warm: bool, clock: str, modules: Sequence[str]) -> None:
    """Forks a process that serves, whenever a connection to one is sent, until ended.

    What is imported before the fork is not the solver's memory, and costs nothing when a process
    that was killed is followed by another.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the harness ends its workers itself
    warnings.simplefilter("ignore")  # a solver that stops early says so; its point is valued anyway
    for module in modules:
        importlib.import_module(module)
    gc.freeze()  # to look through what was imported would take longer than many a fit
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
                    serve(Connection(descriptors[0]), warm, clock)
                os._exit(0)
            os.close(descriptors[0])
        control.sendall(struct.pack("i", child or ended))


class Worker:
    """The harness's end of one worker: a process that forks those which fit, one after another.

    ``folder`` and ``form`` say which data the next run is on, ``python`` which interpreter it is,
    ``modules`` what is imported before the first run.
    """

    def __init__(
        self,
        folder: Path,
        form: str,
        *,
        warm: bool = True,
        clock: str = "wall",
        python: str = sys.executable,
        modules: Sequence[str] = ("sklearn.linear_model", "sklearn.svm"),
    ) -> None:
        self.folder, self.form = folder, form
        self._control, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            words = [python, "-m", "benchmarks.worker", str(number), str(warm), clock, *modules]
            root = Path(__file__).resolve().parents[1]
            self._process = subprocess.Popen(words, cwd=root, pass_fds=[number])
        self._child: tuple[int, Connection] | None = None

    def _connection(self) -> Connection:
        """The connection to the process that fits; to another one, if that was ended."""
        if self._child is None:
            ours, theirs = socket.socketpair()
            with theirs:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            self._child = self._answer(), Connection(ours.detach())
        return self._child[1]

    def _answer(self) -> int:
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

    def run(self, solver: Solver, row: Row, setting: float, limit: float) -> dict | None:
        """The record of one run; None where it took longer than ``limit`` and was killed.

        What comes before the run (reading, converting, warming up) has a generous limit of its own.
        """
        try:
            connection = self._connection()
            connection.send((self.folder, self.form, solver, row, setting))
            for seconds in (START_LIMIT, limit + GRACE, START_LIMIT):
                if not connection.poll(seconds):
                    self._end()
                    return None
                answer = connection.recv()
                if isinstance(answer, dict):
                    return answer
            raise AssertionError("a worker sends 'started', 'ended' and a record for each run")
        except (EOFError, BrokenPipeError, ConnectionResetError, TimeoutError):
            return {"setting": setting, "error": f"the process ended (exit code {self._code()})"}

    def _code(self) -> int | None:
        """The exit code of the process that fits, which has ended; of what forks it otherwise."""
        self._end()
        try:
            self._control.sendall(b"w")
            return self._answer()
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
    descriptor, is_warm, timed, *imported = sys.argv[1:]
    with socket.socket(fileno=int(descriptor)) as orders:
        fork_on_demand(orders, is_warm == "True", timed, imported)
