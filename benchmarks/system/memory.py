"""The memory that a fit takes beyond its input, from the peak of what is resident.

In a fresh process the data are loaded and touched, and one fit is made and thrown away, so that
machine code, compiled kernels and thread pools are there. Then the heap is handed back, the peak
is reset, and the same fit is made again: the peak above the level before is the memory of the fit,
its result included.
"""

from __future__ import annotations

from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import on_row, threads

TOL = 1e-6
ROW_VECTORS = 2
COLUMN_VECTORS = 4
# The MiB for blocks of rows in a product, matrices of squared or fewer columns, and indices.
BUFFER_MIB = 16.0


def peak(folder: str, row: dict[str, Any], form: str, tol: float) -> dict[str, Any]:
    """MiB of the peak above the level before the fit, and of the input."""
    import ctypes
    import gc
    import warnings
    from contextlib import suppress
    from pathlib import Path

    import numpy as np

    from benchmarks.peers import SOLVERS
    from benchmarks.system.processes import memory
    from benchmarks.worker import read
    from benchmarks.workloads.base import Row

    warnings.simplefilter("ignore")
    X, y = read(Path(folder), form)
    fit = SOLVERS[0].prepare(Row(**row), X, y)
    fit(tol)
    gc.collect()
    with suppress(AttributeError, OSError):  # where there is glibc
        ctypes.CDLL(None).malloc_trim(0)
    before = memory("VmRSS")
    memory("VmHWM", reset_peak=True)
    fit(tol)
    extra = memory("VmHWM") - before
    parts = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
    return {
        "extra_mib": extra if np.isfinite(extra) else None,
        "input_mib": (sum(part.nbytes for part in parts) + y.nbytes) / 2**20,
        "rows": int(X.shape[0]),
        "columns": int(X.shape[1]),
        "outputs": len(np.unique(y)) if row["loss"] == "multinomial" else 1,
    }


def measure(setup: Setup) -> dict:
    from benchmarks.workloads import load_workloads

    found = []
    for workload in load_workloads():
        rows = [r for r in workload.rows if not r.extra and (r.quick or not setup.quick)]
        if not rows:
            continue
        stored = setup.stock.get(workload)
        by_loss: dict[str, Any] = {}
        for row in rows:  # C changes how long a fit takes, not what it keeps
            by_loss.setdefault(row.loss, row)
        for row in by_loss.values():
            one = {"row": row.name, "stand_in": stored.stand_in}
            try:
                one |= on_row(
                    "benchmarks.system.memory:peak",
                    setup,
                    stored,
                    row,
                    threads(setup.threads),
                    tol=TOL,
                )
            except RuntimeError as error:
                one["error"] = str(error)
            found.append(one)
            setup.say(f"    {row.name}: {one.get('extra_mib', float('nan')):.1f} MiB")
    return {"tol": TOL, "buffer_mib": BUFFER_MIB, "rows": found}


def allowed(one: dict, buffer: float) -> float:
    """MiB: two vectors of the rows, four of the columns (each for every class), and the buffer."""
    numbers = ROW_VECTORS * one["rows"] + COLUMN_VECTORS * one["columns"]
    return 8.0 * numbers * one["outputs"] / 2**20 + buffer


def lines(figure: dict) -> list[list[str]]:
    out = [
        [
            "memory beyond the input",
            "n",
            "d",
            "input MiB",
            "peak MiB",
            "of the input",
            "4 of d apart, vectors of n",
            "allowed MiB",
            "",
        ]
    ]
    for one in figure["rows"]:
        name = one["row"] + (" *" if one["stand_in"] else "")
        if one.get("extra_mib") is None:
            out.append([name, *[""] * 6, one.get("error", "not known here"), ""])
            continue
        n, d, k, extra = one["rows"], one["columns"], one["outputs"], one["extra_mib"]
        columns = 8.0 * COLUMN_VECTORS * d * k / 2**20
        vectors = max(0.0, extra - columns) * 2**20 / (8.0 * n * k)
        most = allowed(one, figure["buffer_mib"])
        out.append(
            [
                name,
                f"{n:,}",
                f"{d:,}",
                f"{one['input_mib']:.0f}",
                f"{extra:.1f}",
                f"{extra / one['input_mib']:.1%}",
                f"{vectors:.1f}",
                f"{most:.1f}",
                verdict(extra <= most),
            ]
        )
    return out


LEFT = (0,)


def notes(figure: dict) -> list[str]:
    return [
        f"Asked for: at most {ROW_VECTORS} vectors of n and {COLUMN_VECTORS} of d, of float64 and "
        f"for each class, and a work buffer of {figure['buffer_mib']:g} MiB."
    ]
