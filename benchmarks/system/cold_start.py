"""The waiting times of a first use of the library: its import, and its first fit.

The first fit ever on a machine compiles; it is timed with an empty folder for compiled code. The
first fit of a later process reads that code; its time above that of a warm fit is shown. Imports
are timed separately.
"""

# Nothing but the standard library is imported here: the process that times an import starts here.
from __future__ import annotations

import statistics
import tempfile
import time
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import fresh, threads

IMPORT = 0.3
FIRST = {"dense": 6.0, "csr": 2.5}
LATER = 0.5
IMPORTS = 7
FITS = {
    "log loss, dense": ("LogisticRegression", {}, "dense", 2),
    "log loss, sparse": ("LogisticRegression", {"fit_intercept": False}, "csr", 2),
    "hinge, dense": ("LinearSVC", {"loss": "hinge"}, "dense", 2),
    "hinge, sparse": ("LinearSVC", {"loss": "hinge", "fit_intercept": False}, "csr", 2),
    "squared hinge, sparse": (
        "LinearSVC",
        {"loss": "squared_hinge", "fit_intercept": False},
        "csr",
        2,
    ),
    "multinomial, dense": ("LogisticRegression", {}, "dense", 10),
}


def import_seconds() -> float:
    """Seconds of ``import separatrix``, in a process that has imported nothing heavy."""
    start = time.perf_counter()
    import separatrix  # noqa: F401

    return time.perf_counter() - start


def fits(name: str) -> dict[str, float]:
    """Seconds of the first fit of this process, and the median of three more."""
    import warnings

    import numpy as np
    import scipy.sparse as sp

    from benchmarks.workloads.base import noisy_labels

    warnings.simplefilter("ignore")
    kind, options, form, classes = FITS[name]
    rng = np.random.default_rng(0)
    if form == "csr":
        X = sp.random(20_000, 5_000, density=0.01, random_state=0, format="csr")
        y = noisy_labels(np.asarray(X @ rng.standard_normal(5_000)), rng, 4.0)
    else:
        X = rng.standard_normal((20_000, 50))
        scores = X @ rng.standard_normal((50, classes)) if classes > 2 else None
        y = noisy_labels(X @ rng.standard_normal(50), rng, 4.0) if scores is None else None
        if scores is not None:
            y = np.argmax(scores + rng.gumbel(scale=3.0, size=scores.shape), axis=1)
    start = time.perf_counter()
    import separatrix

    estimator = getattr(separatrix, kind)
    imported = time.perf_counter() - start
    taken = []
    for _ in range(4):
        start = time.perf_counter()
        estimator(**options).fit(X, y)
        taken.append(time.perf_counter() - start)
    return {"import": imported, "first": taken[0], "warm": statistics.median(taken[1:])}


def measure(setup: Setup) -> dict:
    environment = threads(setup.threads)
    fresh("benchmarks.system.cold_start:import_seconds", 60.0, environment)  # byte code, disk
    imports = [
        fresh("benchmarks.system.cold_start:import_seconds", 60.0, environment)
        for _ in range(IMPORTS)
    ]
    setup.say(f"    import: {statistics.median(imports):.3f}")
    found: list[dict[str, Any]] = []
    for name in FITS:
        one: dict[str, Any] = {"name": name}
        with tempfile.TemporaryDirectory(prefix="bench-cache-") as cache:
            variables = {**environment, "NUMBA_CACHE_DIR": cache}
            try:
                ever, *later = (
                    fresh("benchmarks.system.cold_start:fits", 120.0, variables, name=name)
                    for _ in range(1 + setup.repeats)
                )
            except RuntimeError as error:
                found.append({**one, "error": str(error)})
                continue
        warm = statistics.median(run["warm"] for run in later)
        one |= {"ever": ever["first"], "warm": warm, "imports": [run["import"] for run in later]}
        one["later"] = statistics.median(run["first"] for run in later)
        found.append(one)
        setup.say(f"    {name}: {one['ever']:.2f}, later {one['later']:.3f}, warm {warm:.3f}")
    return {"imports": imports, "fits": found}


def _estimator_import(figure: dict) -> float | None:
    """Median seconds until an estimator can be imported, NumPy being imported already."""
    taken = [seconds for one in figure["fits"] for seconds in one.get("imports", ())]
    return statistics.median(taken) if taken else None


def lines(figure: dict) -> list[list[str]]:
    out = [["cold start", "seconds", "above a warm fit", "allowed", ""]]
    median = statistics.median(figure["imports"])
    out.append(["import separatrix", f"{median:.3f}", "", f"{IMPORT:g}", verdict(median < IMPORT)])
    estimator = _estimator_import(figure)
    if estimator is not None:
        out.append(["the same, and an estimator's name", f"{estimator:.3f}", "", "", ""])
    for one in figure["fits"]:
        if "error" in one:
            out.append([one["name"], one["error"], *[""] * 3])
            continue
        above = one["later"] - one["warm"]
        first = f"first fit ever, {one['name']}"
        allowed = FIRST[FITS[one["name"]][2]]
        met = verdict(one["ever"] < allowed)
        out.append([first, f"{one['ever']:.2f}", "", f"{allowed:g}", met])
        later = f"a later process's first fit, {one['name']}"
        met = verdict(above < LATER)
        out.append([later, f"{one['later']:.3f}", f"{above:.3f}", f"{LATER:g}", met])
    return out


LEFT = (0,)


def notes(figure: dict) -> list[str]:
    return [
        f"Medians of fresh processes, {len(figure['imports'])} for the import, which no fit "
        "includes; names are imported when they are asked for, which is in the second line (NumPy "
        "and SciPy being there). First fit ever: with an empty folder for compiled code."
    ]
