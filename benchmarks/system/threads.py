"""The same fits with one thread and with all: how many times faster, and never slower.

Each row of the table, to the tightest target, in processes of their own: the number of threads is
what the library was started with.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import on_row, threads

TOL = 1e-6
FASTER = 1.6
# The least ratio that counts as "never slower", as medians of a few runs vary.
_NOISE = 0.95


def times(folder: str, row: dict[str, Any], form: str, tol: float, repeats: int, limit: float):
    """Seconds of the fits, after one that warms up, and the iterations of the last."""
    import time
    import warnings
    from pathlib import Path

    from benchmarks.peers import SOLVERS
    from benchmarks.worker import read
    from benchmarks.workloads.base import Row

    warnings.simplefilter("ignore")
    X, y = read(Path(folder), form)
    fit = SOLVERS[0].prepare(Row(**row), X, y)
    taken: list[float] = []
    fitted = fit(tol)
    while len(taken) < repeats and (not taken or sum(taken) < limit):
        start = time.perf_counter()
        fitted = fit(tol)
        taken.append(time.perf_counter() - start)
    reached = bool(fitted.claims["relative_gap"] <= tol)
    return {"seconds": taken, "iterations": fitted.n_iter, "reached": reached}


def measure(setup: Setup) -> dict:
    from benchmarks.workloads import load_workloads

    found = []
    for workload in load_workloads():
        rows = [r for r in workload.rows if not r.extra and (r.quick or not setup.quick)]
        if not rows:
            continue
        stored = setup.stock.get(workload)
        for row in rows:
            one: dict[str, Any] = {"row": row.name, "stand_in": stored.stand_in, "seconds": {}}
            try:
                for n in (1, setup.threads):
                    measured = on_row(
                        "benchmarks.system.threads:times",
                        setup,
                        stored,
                        row,
                        threads(n),
                        tol=TOL,
                        repeats=setup.repeats,
                        limit=0.5 * setup.limit,
                    )
                    if measured["reached"]:
                        one["seconds"][str(n)] = statistics.median(measured["seconds"])
            except RuntimeError as error:
                one["error"] = str(error)
            found.append(one)
            setup.say(f"    {row.name}: {one['seconds']}")
    return {"tol": TOL, "threads": setup.threads, "rows": found}


def _ratio(row: dict, n: int) -> float | None:
    seconds = row["seconds"]
    return seconds["1"] / seconds[str(n)] if "1" in seconds and str(n) in seconds else None


def larger(rows: list[dict]) -> set[str]:
    """The names of the half of the rows that take longest with one thread."""
    done = sorted((r for r in rows if "1" in r["seconds"]), key=lambda r: r["seconds"]["1"])
    return {row["row"] for row in done[len(done) // 2 :]}


def lines(figure: dict) -> list[list[str]]:
    n = figure["threads"]
    title = f"a fit to {figure['tol']:g}"
    out = [[title, "1 thread", f"{n} threads", "times faster", "wanted", ""]]
    large = larger(figure["rows"])
    for row in figure["rows"]:
        mark = " *" if row["stand_in"] else ""
        wanted = FASTER if row["row"] in large else 1.0
        ratio = _ratio(row, n)
        cells = [
            f"{row['seconds'][k]:.3g}" if k in row["seconds"] else "missed" for k in ("1", str(n))
        ]
        met = ratio is not None and ratio >= (wanted if wanted > 1.0 else _NOISE)
        shown = f"{ratio:.2f}" if ratio is not None else ""
        out.append([row["row"] + mark, *cells, shown, f"{wanted:g}", verdict(met)])
    return out


LEFT = (0,)


def notes(figure: dict) -> list[str]:
    return [
        f"Asked for: {FASTER:g} on the half of the rows that take longest, and no row slower "
        f"(below {_NOISE:g}; what is between is the clock)."
    ]
