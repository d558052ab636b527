"""Paths of L1-penalised fits on the review words, beside libraries that have L1.

The objective is ``|w|_1 + C sum loss``, at twenty values of C from a little above that below which
all weights are zero. The seconds are those of a whole path in one process, each library with the
warm starts that it has; its tolerance is swept, and the loosest with which every value comes
within `TARGET` of the best that anybody found counts.
"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import fresh, threads

TARGET = 1e-4
COUNT = 20
FASTER = 2.0
LOSSES = ("log", "squared_hinge")
REFERENCE = 1e-7
_REACH = (1.05, 130.0)
# Each contender with its tolerances from loose to tight, and the losses that it has with L1.
CONTENDERS: dict[str, tuple[tuple[float, ...], tuple[str, ...]]] = {
    "separatrix": ((1e-4,), LOSSES),
    "LIBLINEAR": ((1e-1, 1e-2, 1e-3, 1e-4), LOSSES),
    "celer": ((1e-2, 1e-3, 1e-4, 1e-5, 1e-6), ("log",)),
    "skglm": ((1e-3, 1e-4, 1e-5, 1e-6), ("log",)),
    "scikit-learn saga": ((1e-2, 1e-3, 1e-4), ("log",)),
}


def _separatrix(X: Any, y: Any, loss: str, Cs: Any, tol: float) -> Any:
    from separatrix import LinearSVC, LogisticRegression

    kind, options = (LogisticRegression, {}) if loss == "log" else (LinearSVC, {"loss": loss})
    model = kind(penalty="l1", tol=tol, fit_intercept=False, **options)
    return lambda: model.path(X, y, Cs).coefs[:, 0, :]


def _liblinear(X: Any, y: Any, loss: str, Cs: Any, tol: float) -> Any:
    import numpy as np
    from liblinear.liblinearutil import parameter, problem, train

    converted, kind = problem(y, X), 6 if loss == "log" else 5

    def run() -> Any:
        options = (f"-s {kind} -c {float(C)!r} -e {tol!r} -q" for C in Cs)
        models = [train(converted, parameter(words)) for words in options]
        found = []
        for model in models:
            w = np.ctypeslib.as_array(model.w, (X.shape[1],)).copy()
            found.append(w if model.label[0] == 1 else -w)
        return found

    return run


def _celer(X: Any, y: Any, loss: str, Cs: Any, tol: float) -> Any:
    from celer import celer_path

    columns = X.tocsc()
    return lambda: celer_path(columns, y, "logreg", alphas=1.0 / Cs, tol=tol)[1].T


def _skglm(X: Any, y: Any, loss: str, Cs: Any, tol: float) -> Any:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    columns = X.tocsc()

    def run() -> Any:
        solver = ProxNewton(fit_intercept=False, warm_start=True, tol=tol, max_iter=200)
        model, found = GeneralizedLinearEstimator(Logistic(), L1(1.0), solver), []
        for C in Cs:
            model.penalty = L1(1.0 / (C * len(y)))
            found.append(model.fit(columns, y).coef_.copy())
        return found

    return run


def _saga(X: Any, y: Any, loss: str, Cs: Any, tol: float) -> Any:
    from sklearn.linear_model import LogisticRegression

    def run() -> Any:
        model = LogisticRegression(
            solver="saga", l1_ratio=1.0, fit_intercept=False, warm_start=True, tol=tol
        )
        model.set_params(max_iter=100_000, random_state=0)
        return [model.set_params(C=C).fit(X, y).coef_[0].copy() for C in Cs]

    return run


def path(folder: str, contender: str, loss: str, tol: float, repeats: int) -> dict[str, Any]:
    """Median seconds of a path, and the value of the objective at each of its points."""
    import time
    import warnings
    from pathlib import Path

    import numpy as np

    from benchmarks.objectives import objective
    from benchmarks.worker import read

    warnings.simplefilter("ignore")
    prepare = {
        "separatrix": _separatrix,
        "LIBLINEAR": _liblinear,
        "celer": _celer,
        "skglm": _skglm,
        "scikit-learn saga": _saga,
    }[contender]
    X, y = read(Path(folder), "csr")
    largest = np.abs(X.T @ y).max()
    least = 2.0 / largest if loss == "log" else 0.5 / largest
    Cs = least * np.geomspace(*_REACH, COUNT)
    few = np.sort(np.random.default_rng(0).permutation(len(y))[:2000])
    prepare(X[few], y[few], loss, Cs[:3] * len(y) / len(few), 1e-1)()  # compiled, imported
    run, taken = prepare(X, y, loss, Cs, tol), []
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        taken.append(time.perf_counter() - start)
    values = []
    for C, w in zip(Cs, found, strict=True):
        w = np.ravel(np.asarray(w, dtype=np.float64))
        values.append(objective(loss, X, y, w, C=C, l1_ratio=1.0))
    return {"seconds": statistics.median(taken), "values": values}


def above(values: list[float], best: list[float]) -> float:
    """The largest relative suboptimality along a path."""
    return max((v - b) / abs(b) for v, b in zip(values, best, strict=True))


def measure(setup: Setup) -> dict:
    from benchmarks.workloads.reviews import WORKLOAD

    stored = setup.stock.get(WORKLOAD)

    def run(contender: str, loss: str, tol: float, repeats: int, limit: float) -> dict:
        return fresh(
            "benchmarks.system.l1_paths:path",
            limit * repeats + 30.0,
            threads(setup.threads),
            folder=str(stored.folder),
            contender=contender,
            loss=loss,
            tol=tol,
            repeats=repeats,
        )

    rows = []
    for loss in LOSSES:
        runs: dict[str, dict[float, dict]] = {}
        failed: dict[str, str] = {}
        reference = [("separatrix", REFERENCE)]
        sweeps = [(n, tol) for n, (tols, has) in CONTENDERS.items() if loss in has for tol in tols]
        best: list[float] = []
        for name, tol in reference + sweeps:
            done = runs.setdefault(name, {})
            if name in failed or (name != "separatrix" and _counts(done, best) is not None):
                continue
            try:
                done[tol] = run(name, loss, tol, 1, 2.0 * setup.limit)
            except RuntimeError as error:
                failed[name] = str(error)
                continue
            values = done[tol]["values"]
            best = list(map(min, best, values)) if best else values
        for name, done in runs.items():
            one: dict[str, Any] = {"loss": loss, "name": name, "stand_in": stored.stand_in}
            one["tol"] = tol = _counts(done, best)
            if tol is None:
                one["error"] = failed.get(name, "missed")
            else:
                one["seconds"] = done[tol]["seconds"]
                one["above"] = above(done[tol]["values"], best)
                if one["seconds"] < setup.limit:
                    again = run(name, loss, tol, setup.repeats, setup.limit)
                    one["seconds"] = again["seconds"]
            rows.append(one)
            setup.say(f"    {loss} {name}: {one.get('seconds') or one['error']}")
    return {"target": TARGET, "count": COUNT, "rows": rows}


def _counts(done: dict[float, dict], best: list[float]) -> float | None:
    """The loosest tolerance with which every value of a path is within the target of the best."""
    return max((t for t, r in done.items() if above(r["values"], best) <= TARGET), default=None)


def lines(figure: dict) -> list[list[str]]:
    title = f"L1, a path of {figure['count']} values of C to {figure['target']:g}"
    out = [[title, "contender", "tol", "seconds", "above", "seconds / separatrix", ""]]
    for loss in dict.fromkeys(one["loss"] for one in figure["rows"]):
        rows = [one for one in figure["rows"] if one["loss"] == loss]
        own = next((one.get("seconds") for one in rows if one["name"] == "separatrix"), None)
        peers = [one["seconds"] for one in rows if one["name"] != "separatrix" and "seconds" in one]
        met = own is not None and bool(peers) and min(peers) / own >= FASTER
        for one in rows:
            name = f"reviews {loss.replace('_', ' ')}" + (" *" if one["stand_in"] else "")
            mark = verdict(met) if one["name"] == "separatrix" else ""
            if "seconds" not in one:
                out.append([name, one["name"], "", one["error"], "", "", mark])
                continue
            own_row = one["name"] == "separatrix" or own is None
            ratio = "" if own_row else f"{one['seconds'] / own:.2f}"
            cells = [f"{one['tol']:g}", f"{one['seconds']:.3g}", f"{one['above']:.0e}", ratio]
            out.append([name, one["name"], *cells, mark])
    return out


LEFT = (0, 1)


def notes(figure: dict) -> list[str]:
    return [
        "objective: |w|_1 + C sum loss; C from 1.05 to 130 times the least that has weights other "
        f"than zero. Asked for: {FASTER:g} times the fastest peer."
    ]
