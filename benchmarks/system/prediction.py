"""The cost of a prediction: one row, in microseconds, and many, in gigabytes a second.

One row goes through ``decision_function`` and through ``x @ w + b`` in NumPy; many go through
``decision_function``, through ``X @ w``, and through a plain copy of ``X``, which reads and writes.
The bandwidth is that of reading ``X`` once.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from benchmarks.system import Setup, verdict
from benchmarks.system.child import fresh, threads

ABOVE = 12.0  # microseconds
SHARE = 0.8  # of the bandwidth of the better of X @ w and a copy
COLUMNS = (20, 100, 1000)
_CALLS = 2000


def _micro(call: Callable[[], object], rounds: int = 9) -> float:
    """The median over rounds of the mean microseconds of a call."""
    for _ in range(200):
        call()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(_CALLS):
            call()
        taken.append((time.perf_counter() - start) / _CALLS)
    return 1e6 * statistics.median(taken)


def single(columns: int, dtype: str) -> dict[str, float]:
    """Microseconds of one row through ``decision_function``, and through NumPy."""
    import numpy as np

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, columns)).astype(dtype)
    y = np.where(X @ rng.standard_normal(columns) + rng.standard_normal(400) > 0, 1, -1)
    model = separatrix.LogisticRegression().fit(X, y)
    row, w, b = X[:1].copy(), model.coef_[0].astype(dtype), float(model.intercept_[0])
    return {
        "own": _micro(lambda: model.decision_function(row)),
        "numpy": _micro(lambda: row @ w + b),
    }


def _gigabytes(call: Callable[[], object], size: int, repeats: int) -> float:
    call()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return size / statistics.median(taken) / 1e9


def batch(rows: int, columns: int, dtype: str, repeats: int) -> dict[str, float]:
    """Gigabytes of ``X`` a second: through ``decision_function``, ``X @ w`` and a copy."""
    import numpy as np

    import separatrix

    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, columns), dtype=dtype)
    few = X[:2000]
    y = np.where(few @ rng.standard_normal(columns) > 0, 1, -1)
    model = separatrix.LogisticRegression().fit(few, y)
    w, other = model.coef_[0].astype(dtype), np.empty_like(X)
    return {
        "own": _gigabytes(lambda: model.decision_function(X), X.nbytes, repeats),
        "numpy": _gigabytes(lambda: X @ w, X.nbytes, repeats),
        "copy": _gigabytes(lambda: np.copyto(other, X), X.nbytes, repeats),
    }


def measure(setup: Setup) -> dict:
    environment = threads(setup.threads)
    found: dict[str, list] = {"single": [], "batch": []}
    for columns in COLUMNS:
        for dtype in ("float64", "float32"):
            one = {"columns": columns, "dtype": dtype}
            measured = fresh("benchmarks.system.prediction:single", 120.0, environment, **one)
            found["single"].append({**one, **measured})
            setup.say(f"    one row of {columns}, {dtype}: {measured}")
    rows = 200_000 if setup.quick else 2_000_000
    for columns in (20, 100):
        for dtype in ("float64", "float32"):
            one = {"rows": rows if columns == 20 else rows // 2, "columns": columns, "dtype": dtype}
            measured = fresh(
                "benchmarks.system.prediction:batch", 120.0, environment, **one, repeats=9
            )
            found["batch"].append({**one, **measured})
            setup.say(f"    {one['rows']:,} rows of {columns}, {dtype}: {measured}")
    return found


def lines(figure: dict) -> list[list[str]]:
    out = [["prediction", "decision_function", "NumPy", "a copy", "wanted", "", ""]]
    for one in figure["single"]:
        above = one["own"] - one["numpy"]
        name = f"one row of {one['columns']:,} {one['dtype']}, microseconds"
        cells = [f"{one['own']:.1f}", f"{one['numpy']:.1f}", ""]
        wanted = f"{ABOVE:g} above NumPy"
        out.append([name, *cells, wanted, f"{above:.1f} above", verdict(above < ABOVE)])
    for one in figure["batch"]:
        name = f"{one['rows']:,} rows of {one['columns']:,} {one['dtype']}, GB/s"
        share = one["own"] / max(one["numpy"], one["copy"])
        cells = [f"{one[k]:.1f}" for k in ("own", "numpy", "copy")]
        wanted = f"{SHARE:.0%} of the better"
        out.append([name, *cells, wanted, f"{share:.0%}", verdict(share >= SHARE)])
    return out


LEFT = (0, 4)


def notes(figure: dict) -> list[str]:
    return ["NumPy: x @ w + b for one row, X @ w for many. GB/s: the bytes of X over the time."]
