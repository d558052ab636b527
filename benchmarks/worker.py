"""One process for each group of solvers and data set: it can be killed, and its memory measured.

The data travel as ``.npy`` files in a temporary folder, and every worker reads its own private
copy; a worker may go on to other data.
"""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.objectives import lower_bound, objective
from benchmarks.peers import Fitted, Solver
from benchmarks.system.processes import Process, memory
from benchmarks.workloads.base import Data, Row, Workload

# Seconds by which every loop of a fit is compiled, however long the fit itself takes.
_WARM = 60.0


@dataclass(frozen=True)
class Stored:
    """The place of a data set, with its shape, its forms and its size."""

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
        """A data set, read or made when it is first requested."""
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
    """``(X, y)`` in the requested form; ``"columns"`` are dense rows that lie by columns."""
    y = np.load(folder / "y.npy")
    if form in ("dense", "float64", "columns"):
        X = np.load(folder / "dense.npy")
        if form == "columns":
            return np.asfortranarray(X), y
        return (X if form == "dense" else X.astype(np.float64)), y
    data, indices, indptr = (np.load(folder / f"{p}.npy") for p in ("data", "indices", "indptr"))
    shape = tuple(int(k) for k in np.load(folder / "shape.npy"))
    return sp.csr_matrix((data, indices, indptr), shape=shape, copy=False), y


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
    if solver.group == "separatrix":
        solver.prepare(row, X, y, time_limit=_WARM)(setting)
        return
    few = np.sort(np.concatenate([np.flatnonzero(y == label)[:100] for label in np.unique(y)]))
    solver.prepare(row, X[few], y[few])(solver.settings[0])


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
            resident = memory("VmRSS")
            memory("VmHWM", reset_peak=True)
            connection.send("started")
            start, cpu = time.perf_counter(), time.process_time()
            fitted = fit(setting)
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
            connection.send("ended")
            peak = memory("VmHWM")
            record = {
                "seconds": cpu if clock == "cpu" else wall,
                "wall_seconds": wall,
                "cpu_seconds": cpu,
                "prepare_seconds": prepare_seconds,
                # Peak of the run above the level before it: copies, conversions, work space.
                "extra_mib": None if np.isnan(peak - resident) else peak - resident,
                **_value(row, valued, y, fitted),
            }
        except Exception as error:
            record = {"error": f"{type(error).__name__}: {error}"}
        connection.send(record)


class Worker(Process):
    """The harness's end of one worker.

    ``folder`` and ``form`` say which data the next run is on.
    """

    def __init__(
        self,
        folder: Path,
        form: str,
        *,
        warm: bool = True,
        clock: str = "wall",
        python: str = sys.executable,
    ) -> None:
        super().__init__("benchmarks.worker:serve", warm, clock, python=python)
        self.folder, self.form = folder, form

    def run(self, solver: Solver, row: Row, setting: float, limit: float) -> dict | None:
        """The record of one run; None where it took longer than ``limit`` and was killed."""
        record = self.answer((self.folder, self.form, solver, row, setting), limit)
        return record and {"setting": setting, **record}
