"""The growth of the time of a fit with its rows and its nonzeros, from 1e4 to 1e7.

Three families of synthetic data: dense rows of ten columns; sparse rows of ten nonzeros each; and
10,000 sparse rows with more and more nonzeros. The exponent is the slope of a line through the
logarithms of size and time. As small fits spend their time on what every fit does, whatever its
size, the steepest step between two neighbouring sizes is shown beside it.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
import warnings
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import fresh, threads

TOL = 1e-6
EXPONENT = 1.0
# A handful of timings cannot distinguish a slope within this of the target from the target.
_NOISE = 0.05
SIZES = tuple(10**e for e in (4, 5, 6, 7))
_QUICK = SIZES[:-1]
LOSSES = ("log", "hinge")
FAMILIES = {
    "dense": "rows, dense, 10 columns",
    "sparse": "nonzeros, 10 in each row, 1,000 columns",
    "fuller": "nonzeros, 10,000 rows, 10,000 columns",
}
# Bytes of a row or a nonzero, all intermediate arrays included.
_BYTES = {"dense": 300, "sparse": 60, "fuller": 60}


def data(family: str, size: int) -> tuple[Any, Any]:
    """Rows and labels with noise; a part of the rows is on the wrong side at any size."""
    import numpy as np
    import scipy.sparse as sp

    from benchmarks.workloads.base import noisy_labels

    rng = np.random.default_rng(size)
    if family == "dense":
        X = rng.standard_normal((size, 10))
        return X, noisy_labels(X @ rng.standard_normal(10), rng, 2.0)
    n, d = (size // 10, 1000) if family == "sparse" else (10_000, 10_000)
    filled = size // n
    # A column at most once in a row: those of a row are a random start and equal steps from it.
    start, step = rng.integers(0, d, (n, 1)), d // filled
    jitter = rng.integers(0, step, (n, filled)) if step > 1 else 0
    columns = np.sort((start + np.arange(filled) * step + jitter) % d, axis=1)
    keep = np.ones(columns.shape, dtype=bool)
    keep[:, 1:] = columns[:, 1:] != columns[:, :-1]
    values = rng.standard_normal((n, filled)) / math.sqrt(filled)
    indptr = np.concatenate([[0], np.cumsum(keep.sum(axis=1))])
    X = sp.csr_matrix((values[keep], columns[keep].astype(np.int32), indptr), shape=(n, d))
    return X, noisy_labels(np.asarray(X @ rng.standard_normal(d)), rng, 2.0)


def times(family: str, loss: str, sizes: list[int], repeats: int, limit: float) -> list[dict]:
    """Median seconds of a fit at each size, as long as one takes less than ``limit``."""
    import os

    from separatrix import LinearSVC, LogisticRegression

    warnings.simplefilter("ignore")
    kind, options = (LogisticRegression, {}) if loss == "log" else (LinearSVC, {"loss": loss})
    model = kind(C=1.0, tol=TOL, fit_intercept=False, time_limit=limit, **options)
    found: list[dict] = []
    for size in sizes:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        if size * _BYTES[family] > memory / 2:
            return [*found, {"size": size, "skipped": "memory"}]
        X, y = data(family, size)
        taken: list[float] = []
        # The first warms up: compiled code is read, threads are started.
        while len(taken) < 2 or (len(taken) <= repeats and sum(taken) < 0.5 * limit):
            start = time.perf_counter()
            model.fit(X, y)
            taken.append(time.perf_counter() - start)
        reached = bool(model.certificate_.relative_gap <= TOL)
        seconds = statistics.median(taken[1:])
        found.append(
            {"size": size, "rows": int(X.shape[0]), "seconds": seconds, "reached": reached}
        )
        if not reached:
            return found
    return found


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of the line of least squares through the logarithms."""
    x, t = [math.log(s) for s in sizes], [math.log(s) for s in seconds]
    x_mean, t_mean = statistics.fmean(x), statistics.fmean(t)
    rise = math.fsum((a - x_mean) * (b - t_mean) for a, b in zip(x, t, strict=True))
    return rise / math.fsum((a - x_mean) ** 2 for a in x)


def measure(setup: Setup) -> dict:
    found = []
    for family in FAMILIES:
        for loss in LOSSES:
            sizes = list(_QUICK if setup.quick else SIZES)
            try:
                measured = fresh(
                    "benchmarks.system.scaling:times",
                    20.0 * setup.limit + 60.0,
                    threads(setup.threads),
                    family=family,
                    loss=loss,
                    sizes=sizes,
                    repeats=setup.repeats,
                    limit=setup.limit,
                )
            except RuntimeError as error:
                found.append({"family": family, "loss": loss, "error": str(error), "sizes": []})
                continue
            row: dict[str, Any] = {"family": family, "loss": loss, "sizes": measured}
            done = [m for m in measured if m.get("reached")]
            if len(done) > 1:
                row["exponent"] = exponent([m["size"] for m in done], [m["seconds"] for m in done])
                row["steepest"] = max(
                    exponent([a["size"], b["size"]], [a["seconds"], b["seconds"]])
                    for a, b in itertools.pairwise(done)
                )
            found.append(row)
            setup.say(f"    {family} {loss}: {row.get('exponent', float('nan')):.2f}")
    return {"tol": TOL, "wanted": SIZES if not setup.quick else _QUICK, "rows": found}


def lines(figure: dict) -> list[list[str]]:
    sizes = list(figure["wanted"])
    title = f"growth of a fit to {figure['tol']:g}, C=1"
    out = [[title, "loss", *(f"{s:.0e}" for s in sizes), "exponent", "steepest step", ""]]
    for row in figure["rows"]:
        by_size = {m["size"]: m for m in row["sizes"]}
        cells = []
        for size in sizes:
            m = by_size.get(size, {})
            cells.append(f"{m['seconds']:.3g}" if m.get("reached") else m.get("skipped", "missed"))
        whole = all(by_size.get(size, {}).get("reached") for size in sizes)
        slope = row.get("exponent")
        shown = [f"{slope:.2f}", f"{row['steepest']:.2f}"] if slope is not None else ["", ""]
        met = whole and slope is not None and slope <= EXPONENT + _NOISE
        out.append([FAMILIES[row["family"]], row["loss"], *cells, *shown, verdict(met)])
    return out


LEFT = (0, 1)


def notes(figure: dict) -> list[str]:
    return [
        "Asked for: time that grows no worse than linearly, an exponent of at most 1 "
        f"(and {_NOISE:g} that handfuls of timings do not tell from it)."
    ]
