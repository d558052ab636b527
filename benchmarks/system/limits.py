"""The distance of the longest fits from the machine's limits: bytes read, and arithmetic.

An iteration of every solver here reads all rows at least once, for a product with each row and one
with its transpose: the bytes of the data, and four operations for each number that is stored and
each class. Divided by the seconds of a fit, these are the least rates of reading and computing.
They stand beside the rates of the machine when it does nothing else, for a sum over a long vector
and a product of two square matrices, with the same threads, and beside these two products alone: a
loop over the stored numbers of sparse rows, which reads and writes the weights where they happen to
lie, or BLAS.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks.system import Setup
from benchmarks.system.child import fresh, on_row, threads
from benchmarks.system.threads import TOL, times

LONGEST = 5
_LENGTH, _SIDE, _TIMES = 60_000_000, 2048, 5


def _best(work: Callable[[], Any]) -> float:
    """The fewest seconds of a few times, after one that warms up."""
    work()
    taken = []
    for _ in range(_TIMES):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def peaks() -> dict[str, float]:
    """Bytes and float64 operations a second, the best of a few times."""
    import numba
    import numpy as np

    @numba.njit(parallel=True, fastmath=True)
    def total(values):
        found = 0.0
        for i in numba.prange(len(values)):
            found += values[i]
        return found

    values, square = np.ones(_LENGTH), np.ones((_SIDE, _SIDE))
    return {
        "bytes": values.nbytes / _best(lambda: total(values)),
        "flops": 2.0 * _SIDE**3 / _best(lambda: square @ square),
    }


def products(X: Any, classes: int, threads: int) -> float:
    """Seconds of a product with each row and one with its transpose, and nothing else.

    The loop over sparse rows is that of one thread, its seconds divided by the threads: they could
    not do better.
    """
    import numba
    import numpy as np
    import scipy.sparse as sp

    weights = np.zeros((X.shape[1], classes), dtype=X.dtype)
    if not sp.issparse(X):
        return _best(lambda: X.T @ (X @ weights))

    @numba.njit(fastmath=True)
    def through(data, columns, starts, w):
        for i in range(len(starts) - 1):
            score = 0.0
            for k in range(starts[i], starts[i + 1]):
                score += data[k] * w[columns[k]]
            for k in range(starts[i], starts[i + 1]):
                w[columns[k]] += score * data[k]

    return _best(lambda: through(X.data, X.indices, X.indptr, weights[:, 0])) / threads


def fits(
    folder: str, row: dict[str, Any], form: str, repeats: int, limit: float, threads: int
) -> dict[str, Any]:
    """The seconds and iterations of a fit, the size of its data, and the bare products' time."""
    from pathlib import Path

    import numpy as np
    import scipy.sparse as sp

    from benchmarks.worker import read

    fitted = times(folder, row, form, TOL, repeats, limit)
    X, y = read(Path(folder), form)
    stored = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    classes = len(np.unique(y)) if row["loss"] == "multinomial" else 1
    return {
        "seconds": statistics.median(fitted["seconds"]),
        "iterations": fitted["iterations"],
        "bytes": sum(part.nbytes for part in stored),
        "stored": len(stored[0]) if sp.issparse(X) else X.size,
        "classes": classes,
        "products": products(X, classes, threads),
    }


def measure(setup: Setup) -> dict:
    from benchmarks.workloads import load_workloads

    environment = threads(setup.threads)
    machine = fresh("benchmarks.system.limits:peaks", setup.limit * 10.0, environment)
    found = []
    for workload in load_workloads():
        rows = [r for r in workload.rows if not r.extra and (r.quick or not setup.quick)]
        for row in rows:
            stored = setup.stock.get(workload)
            one: dict[str, Any] = {"row": row.name, "stand_in": stored.stand_in}
            try:
                one |= on_row(
                    "benchmarks.system.limits:fits",
                    setup,
                    stored,
                    row,
                    environment,
                    repeats=setup.repeats,
                    limit=0.5 * setup.limit,
                    threads=setup.threads,
                )
            except RuntimeError as error:
                one |= {"error": str(error), "seconds": 0.0}
            found.append(one)
    longest = sorted(found, key=lambda one: -one["seconds"])[:LONGEST]
    for one in longest:
        setup.say(f"    {one['row']}: {one['seconds']:.3g} s, {one.get('iterations')} iterations")
    failed = [one for one in found if "error" in one and one not in longest]
    return {"tol": TOL, "threads": setup.threads, "machine": machine, "rows": longest + failed}


def lines(figure: dict) -> list[list[str]]:
    head = [
        f"the longest fits to {figure['tol']:g}",
        "s",
        "iterations",
        "ms each",
        "products alone",
    ]
    out = [[*head, "MiB", "GB/s", "of the machine's", "Gflop/s", "of the machine's"]]
    for one in figure["rows"]:
        name = one["row"] + (" *" if one["stand_in"] else "")
        if "error" in one:
            out.append([name, one["error"], *[""] * 8])
            continue
        each = one["seconds"] / one["iterations"]
        moved, done = one["bytes"] / each, 4.0 * one["stored"] * one["classes"] / each
        out.append(
            [
                name,
                f"{one['seconds']:.3g}",
                f"{one['iterations']}",
                f"{1e3 * each:.3g}",
                f"{1e3 * one['products']:.3g}",
                f"{one['bytes'] / 2**20:.0f}",
                f"{moved / 1e9:.1f}",
                f"{moved / figure['machine']['bytes']:.0%}",
                f"{done / 1e9:.1f}",
                f"{done / figure['machine']['flops']:.0%}",
            ]
        )
    return out


LEFT = (0,)


def notes(figure: dict) -> list[str]:
    machine = figure["machine"]
    return [
        f"The machine, {figure['threads']} threads: {machine['bytes'] / 1e9:.1f} GB/s summing a "
        f"vector from memory, {machine['flops'] / 1e9:.0f} Gflop/s multiplying float64 matrices.",
        "Counted: one reading of the rows an iteration, with a product of each and one with their "
        "transpose; a Newton step of the multinomial loss takes many. Products alone: these two, "
        "in ms; of sparse rows those of one thread over the number of threads.",
    ]
