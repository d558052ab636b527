"""The cost of a path of twenty values of C, in fits at its hardest value.

Warm starts along the path share what the fits have in common; the time of the whole path is
divided by that of one cold fit at the largest C, to the same tolerance.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import on_row, threads

TOL = 1e-4
COUNT = 20
MOST = 3.0
_RANGE = (1e-2, 1e2)
_ROWS = ("reviews log C=1", "reviews hinge C=1", "embeddings log C=1", "adult log C=1")


def times(folder: str, row: dict[str, Any], form: str, repeats: int) -> dict[str, Any]:
    """Median seconds of the path and of one fit, and the largest certified gap of the path."""
    import time
    import warnings
    from pathlib import Path

    import numpy as np

    from benchmarks.worker import read
    from separatrix import LinearSVC, LogisticRegression

    warnings.simplefilter("ignore")
    X, y = read(Path(folder), form)
    Cs = np.geomspace(*_RANGE, COUNT)
    kind, options = (
        (LogisticRegression, {}) if row["loss"] == "log" else (LinearSVC, {"loss": row["loss"]})
    )
    model = kind(C=Cs[-1], tol=TOL, fit_intercept=False, **options)
    taken: dict[str, list[float]] = {"path": [], "fit": []}
    for _ in range(repeats + 1):
        start = time.perf_counter()
        path = model.path(X, y, Cs)
        taken["path"].append(time.perf_counter() - start)
        start = time.perf_counter()
        model.fit(X, y)
        taken["fit"].append(time.perf_counter() - start)
    gap = max(certificate.relative_gap for certificate in path.certificates)
    return {
        "path": statistics.median(taken["path"][1:]),
        "fit": statistics.median(taken["fit"][1:]),
        "reached": bool(gap <= TOL) and len(path) == COUNT,
    }


def measure(setup: Setup) -> dict:
    from benchmarks.workloads import load_workloads

    found = []
    for workload in load_workloads():
        for row in (r for r in workload.rows if r.name in _ROWS):
            stored = setup.stock.get(workload)
            one: dict[str, Any] = {"row": row.name, "stand_in": stored.stand_in}
            try:
                one |= on_row(
                    "benchmarks.system.paths:times",
                    setup,
                    stored,
                    row,
                    threads(setup.threads),
                    repeats=setup.repeats,
                )
            except RuntimeError as error:
                one["error"] = str(error)
            found.append(one)
            setup.say(f"    {row.name}: {one.get('error') or one['path'] / one['fit']}")
    return {"tol": TOL, "count": COUNT, "rows": found}


def lines(figure: dict) -> list[list[str]]:
    title = f"a path of {figure['count']} values of C to {figure['tol']:g}"
    out = [[title, "path s", "a fit at the largest s", "fits", "allowed", ""]]
    for one in figure["rows"]:
        name = one["row"].split(" C=")[0] + (" *" if one["stand_in"] else "")
        if "error" in one or not one["reached"]:
            out.append([name, one.get("error", "missed"), "", "", f"{MOST:g}", verdict(False)])
            continue
        fits = one["path"] / one["fit"]
        cells = [f"{one['path']:.3g}", f"{one['fit']:.3g}", f"{fits:.2f}", f"{MOST:g}"]
        out.append([name, *cells, verdict(fits <= MOST)])
    return out


LEFT = (0,)


def notes(figure: dict) -> list[str]:
    return [
        f"C from {_RANGE[0]:g} to {_RANGE[1]:g}, evenly in the logarithm, every value certified; "
        "the fit starts from nothing."
    ]
