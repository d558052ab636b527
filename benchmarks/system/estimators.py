"""Regressions and the kernel machines other than SVC, beside the peers that have them.

Each problem is made on the spot and valued in plain NumPy, from the weights or the dual
coefficients alone. A contender's tolerance is swept from loose to tight, and the loosest that comes
within the target of the best that anybody found counts; the seconds are those of a fit in a process
that has fitted before.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.system import Setup, verdict
from benchmarks.system.child import fresh, threads

TARGETS = (1e-3, 1e-6)
REFERENCE = 1e-9
_TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10)
_GAPS = (1e-2, 1e-3, 1e-6, REFERENCE)
_MODULES = {
    "separatrix": "separatrix",
    "scikit-learn": "sklearn",
    "oneDAL": "sklearnex",
    "celer": "celer",
    "skglm": "skglm",
    "scikit-learn newton-cholesky": "sklearn",
    "glum": "glum",
}


@dataclass(frozen=True)
class Task:
    """An estimator on data of a shape, and the peers that have it."""

    kind: str
    n: int
    d: int
    options: dict[str, Any]
    peers: tuple[str, ...]
    density: float = 1.0
    quick: bool = True
    # The table whose columns the rows have; random numbers where there is none.
    table: str = ""

    @property
    def name(self) -> str:
        shape = f"{self.n:,} x {self.d:,}" + (", sparse" if self.density < 1.0 else "")
        return " ".join(filter(None, (self.kind, self.table, shape)))


COUNTS = "PoissonRegressor"
_KERNEL = {"gamma": 0.1}
_OF_COUNTS = ("scikit-learn", "scikit-learn newton-cholesky", "glum")
TASKS = (
    Task("Ridge", 20_000, 300, {"alpha": 10.0}, ("scikit-learn", "oneDAL")),
    Task("Ridge", 30_000, 3_000, {"alpha": 10.0}, ("scikit-learn",), density=0.01),
    Task("Lasso", 1_000, 5_000, {"alpha": 0.1}, ("scikit-learn", "celer", "skglm")),
    Task("Lasso", 20_000, 5_000, {"alpha": 0.005}, ("scikit-learn", "celer", "skglm"), 0.01, False),
    Task(
        "ElasticNet",
        1_000,
        5_000,
        {"alpha": 0.1, "l1_ratio": 0.5},
        ("scikit-learn", "celer", "skglm"),
    ),
    Task("LinearSVR", 20_000, 100, {"epsilon": 0.1, "fit_intercept": False}, ("scikit-learn",)),
    Task("LinearRegression", 20_000, 100, {"positive": True}, ("scikit-learn",)),
    Task("SGDRegressor", 20_000, 100, {"penalty": "l1", "alpha": 0.01}, ("scikit-learn",)),
    Task("SVR", 5_000, 10, {**_KERNEL, "C": 1.0}, ("scikit-learn", "oneDAL")),
    Task("SVR", 12_000, 10, {**_KERNEL, "C": 1.0}, ("scikit-learn", "oneDAL"), quick=False),
    Task("NuSVR", 5_000, 10, {**_KERNEL, "nu": 0.5}, ("scikit-learn", "oneDAL")),
    Task("NuSVC", 5_000, 10, {**_KERNEL, "nu": 0.4}, ("scikit-learn", "oneDAL")),
    Task("OneClassSVM", 5_000, 10, {**_KERNEL, "nu": 0.3}, ("scikit-learn",)),
    Task(COUNTS, 100_000, 40, {"alpha": 1e-3}, _OF_COUNTS, table="claims"),
    Task(COUNTS, 32_561, 108, {"alpha": 1e-3}, _OF_COUNTS, table="adult"),
    Task(
        COUNTS,
        100_000,
        40,
        {"alpha": 1e-3, "l1_ratio": 0.5},
        ("glum",),
        table="claims, elastic net",
    ),
)


# --- the data and the objectives, independent of every solver -------------------------------------


def data(task: Task) -> tuple[Any, Any]:
    """Rows and targets, the same in every process."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(0)
    if task.kind == COUNTS:
        X = _claims(task.n, task.d) if task.table.startswith("claims") else _adult()
        rate = X @ (0.2 * rng.standard_normal(X.shape[1]))
        return X, rng.poisson(np.exp(rate - rate.max() + 2.0)).astype(float)
    if task.density < 1.0:
        X: Any = sp.random(task.n, task.d, task.density, "csr", np.float64, random_state=0)
        X.data -= 0.5
    else:
        X = rng.standard_normal((task.n, task.d))
    w = rng.standard_normal(task.d) * (rng.random(task.d) < 0.2)
    y = np.asarray(X @ w) / np.sqrt(max(1.0, 0.2 * task.density * task.d))
    if task.kind in ("SVR", "NuSVR", "NuSVC"):
        y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    y = y + 0.3 * rng.standard_normal(task.n)
    return X, (y > 0.0).astype(int) if task.kind == "NuSVC" else y


def _claims(n: int, d: int) -> Any:
    """Five standardised numbers, and the levels of four categories as columns of 0 and 1."""
    import numpy as np

    rng = np.random.default_rng(1)
    sizes = np.array([12, 10, 7])
    codes = [rng.choice(k, size=n, p=_shares(k)) for k in (*sizes, d - 5 - int(sizes.sum()))]
    numbers = rng.standard_normal((n, 5))
    return np.hstack([numbers, *(np.eye(c.max() + 1)[c] for c in codes)])


def _shares(k: int) -> Any:
    import numpy as np

    share = 1.0 / np.arange(1, k + 1)
    return share / share.sum()


def _adult() -> Any:
    from benchmarks.workloads.adult import load

    return load().dense


def value(task: Task, X: Any, y: Any, model: Any) -> float:
    """The objective that the estimator is documented to minimise, at its fitted numbers."""
    import numpy as np

    o = task.options
    if task.kind in ("SVR", "NuSVR", "NuSVC", "OneClassSVM"):
        return _kernel_value(task, X, y, model)
    w, b = np.ravel(model.coef_), float(np.sum(model.intercept_))
    r = y - X @ w - b
    n, squares = len(y), float(w @ w)
    if task.kind == "Ridge":
        return float(r @ r) + o["alpha"] * squares
    if task.kind in ("Lasso", "ElasticNet", "SGDRegressor"):
        share = o.get("l1_ratio", 1.0)
        penalty = share * np.abs(w).sum() + 0.5 * (1.0 - share) * squares
        return float(r @ r) / (2.0 * n) + o["alpha"] * float(penalty)
    if task.kind == COUNTS:
        scores, share = y - r, o.get("l1_ratio", 0.0)
        # Half the mean deviance: the likelihood less that of rates that are the counts.
        full = y * np.log(np.maximum(y, 1.0)) - y
        penalty = share * np.abs(w).sum() + 0.5 * (1.0 - share) * squares
        return float(np.mean(np.exp(scores) - y * scores + full)) + o["alpha"] * float(penalty)
    if task.kind == "LinearSVR":
        return 0.5 * squares + float(np.maximum(0.0, np.abs(r) - o["epsilon"]).sum())
    return float(r @ r) if np.all(w >= 0.0) else np.inf


def _kernel_value(task: Task, X: Any, y: Any, model: Any) -> float:
    import numpy as np

    from benchmarks.kernel_machines import products

    o = task.options
    c = np.zeros(len(X))
    c[model.support_] = np.ravel(model.dual_coef_)
    f = products(X, X[model.support_], np.ravel(model.dual_coef_)[:, None], o["gamma"])[:, 0]
    square = float(c @ f)
    if task.kind == "OneClassSVM":
        # Up to a factor, which the sum of the coefficients fixes; a share of that is an error.
        return square / float(c.sum()) ** 2
    if task.kind == "NuSVC":
        return square / float(np.abs(c).sum()) ** 2
    off = np.abs(y - f - float(model.intercept_[0]))
    if task.kind == "SVR":
        return 0.5 * square + o["C"] * float(np.maximum(0.0, off - 0.1).sum())
    width = float(np.sort(off)[::-1][int(o["nu"] * len(off))])
    return 0.5 * square + o["nu"] * len(off) * width + float(np.maximum(0.0, off - width).sum())


# --- the contenders -------------------------------------------------------------------------------


def _maker(task: Task, contender: str) -> Callable[[float], Any]:
    """A function that makes an estimator at a tolerance."""
    options = dict(task.options)
    if contender == "celer":
        import celer

        return lambda tol: getattr(celer, task.kind)(**options, tol=tol, max_iter=1000)
    if contender == "skglm":
        import skglm

        return lambda tol: getattr(skglm, task.kind)(**options, tol=tol, max_iter=1000)
    if contender == "glum":
        import glum

        options = {"family": "poisson", "l1_ratio": 0.0} | options
        return lambda tol: glum.GeneralizedLinearRegressor(
            **options, gradient_tol=tol, max_iter=1000
        )
    if contender == "separatrix":
        import separatrix

        kind = getattr(separatrix, task.kind)
        closed = task.kind == "LinearRegression"
        return lambda tol: kind(**options, **({} if closed else {"tol": tol}))
    if contender == "oneDAL":
        import sklearnex.linear_model
        import sklearnex.svm

        room: Any = sklearnex.svm if hasattr(sklearnex.svm, task.kind) else sklearnex.linear_model
    else:
        import sklearn.linear_model
        import sklearn.svm

        room = sklearn.svm if hasattr(sklearn.svm, task.kind) else sklearn.linear_model
    kind = getattr(room, task.kind)
    if task.kind == "LinearRegression":
        return lambda tol: kind(**options)
    if task.kind in ("Lasso", "ElasticNet", "LinearSVR"):
        options["max_iter"] = 1_000_000
    if task.kind in ("SVR", "NuSVR", "NuSVC", "OneClassSVM"):
        options["cache_size"] = 1000
    if task.kind == COUNTS:
        options |= {"max_iter": 10_000, "solver": contender.partition(" ")[2] or "lbfgs"}
    if task.kind == "SGDRegressor":
        options |= {"max_iter": 10_000, "random_state": 0, "n_iter_no_change": 5}
    return lambda tol: kind(**options, tol=tol)


def fit(number: int, contender: str, tol: float, repeats: int) -> dict[str, float]:
    """Median seconds of a fit, and the objective at its result."""
    import time
    import warnings

    warnings.simplefilter("ignore")
    task = TASKS[number]
    X, y = data(task)
    make = _maker(task, contender)
    few = slice(0, max(200, task.n // 50))
    make(tol).fit(X[few], y[few])
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        model = make(tol).fit(X, y)
        taken.append(time.perf_counter() - start)
    return {"seconds": statistics.median(taken), "value": value(task, X, y, model)}


# --- the figure -----------------------------------------------------------------------------------


def measure(setup: Setup) -> dict:
    return measured(setup, lambda task: task.kind != COUNTS)


def measured(setup: Setup, wanted: Callable[[Task], bool]) -> dict:
    """The measurements of the tasks that ``wanted`` selects."""
    rows = []
    for number, task in enumerate(TASKS):
        if not wanted(task) or (setup.quick and not task.quick):
            continue
        runs: dict[str, dict[float, dict]] = {}
        for name in ("separatrix", *task.peers):
            if importlib.util.find_spec(_MODULES[name]) is None:
                continue
            done = runs.setdefault(name, {})
            for tol in _GAPS if name == "separatrix" else _TOLERANCES:
                try:
                    done[tol] = _run(setup, number, name, tol, 1)
                except RuntimeError as error:
                    setup.say(f"    {task.name} {name}: {error}")
                    break
        best = min(one["value"] for done in runs.values() for one in done.values())
        for target in TARGETS:
            for name, done in runs.items():
                near = {t: r for t, r in done.items() if _above(r["value"], best) <= target}
                one: dict[str, Any] = {"task": task.name, "name": name, "target": target}
                if near:
                    tol = one["tol"] = min(near, key=lambda t: near[t]["seconds"])
                    again = _run(setup, number, name, tol, setup.repeats)
                    one |= {"seconds": again["seconds"], "above": _above(again["value"], best)}
                rows.append(one)
                setup.say(f"    {task.name} {name} {target:g}: {one.get('seconds', 'missed')}")
    return {"rows": rows}


def _run(setup: Setup, number: int, name: str, tol: float, repeats: int) -> dict[str, float]:
    found: dict[str, float] = fresh(
        "benchmarks.system.estimators:fit",
        2.0 * setup.limit * repeats + 60.0,
        threads(setup.threads),
        number=number,
        contender=name,
        tol=tol,
        repeats=repeats,
    )
    return found


def _above(found: float, best: float) -> float:
    return (found - best) / abs(best)


def lines(figure: dict) -> list[list[str]]:
    out = [["estimator", "within", "separatrix s", "fastest peer", "s", "ratio", ""]]
    rows = figure["rows"]
    for task in dict.fromkeys(one["task"] for one in rows):
        for target in TARGETS:
            own: dict[str, Any] = {}
            peers = []
            for one in rows:
                if one["task"] == task and one["target"] == target:
                    if one["name"] == "separatrix":
                        own = one
                    elif "seconds" in one:
                        peers.append(one)
            cells = [task, f"{target:g}", _seconds(own)]
            if not peers:
                out.append([*cells, "none", "", "", ""])
                continue
            peer = min(peers, key=lambda one: one["seconds"])
            cells += [peer["name"], _seconds(peer)]
            if "seconds" not in own:
                out.append([*cells, "", verdict(False)])
                continue
            ratio = peer["seconds"] / own["seconds"]
            out.append([*cells, f"{ratio:.2f}", verdict(ratio >= 1.0)])
    return out


def _seconds(one: dict[str, Any]) -> str:
    return f"{one['seconds']:.3g}" if "seconds" in one else "missed"


LEFT = (0, 3)


def notes(figure: dict) -> list[str]:
    return [
        "within: relative suboptimality. Asked for: no slower than the fastest peer. NuSVC and "
        "OneClassSVM are valued by their dual, which is a square."
    ]
