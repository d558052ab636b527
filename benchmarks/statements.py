"""Tasks that end in an answer rather than near an optimum, timed side by side.

Separability, against the full linear program and against a support vector machine with a very
large C; passes of the perceptron; and closed forms, least squares and Gaussian discriminants,
whose answers are judged after the clock has stopped.  Every contender runs in a process of its own
that can be ended, is warmed up (this library on the data themselves, others on as much as they
need), and is timed several times, contenders taking turns; the table shows medians, what each of
them answered, and the peak of its memory above the loaded data.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.runner import Options, _environment
from benchmarks.system.processes import START_LIMIT, Process, memory
from benchmarks.workloads import match

_PASSES = 20


@dataclass(frozen=True)
class Task:
    """One question on one data set.

    ``answer`` is the true answer, where it is known; contenders are named in ``CONTENDERS``.
    """

    name: str
    load: Callable[[], tuple[Any, np.ndarray]]
    contenders: tuple[str, ...]
    answer: str | None = None
    quick: bool = True
    # Rows of each class on which others are warmed up; all rows where it is None.
    warm_rows: int | None = 50
    compile_times: bool = False  # whether the first call, with an empty cache, is timed too
    closed_form: bool = False  # these are in the table; the others are measured with --all


# --- the data -------------------------------------------------------------------------------


class Cloud:
    """Gaussian points on two sides of a plane; optionally with some labels wrong."""

    def __init__(self, n: int, d: int, wrong: str) -> None:
        self.n, self.d, self.wrong = n, d, wrong

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = rng.standard_normal((self.n, self.d))
        y = np.where(X @ rng.standard_normal(self.d) + 0.3 > 0, 1.0, -1.0)
        if self.wrong == "one":
            y[self.n // 2] *= -1
        elif self.wrong == "a tenth":
            y[rng.random(self.n) < 0.1] *= -1
        return X, y


def reviews() -> tuple[sp.csr_matrix, np.ndarray]:
    from benchmarks.workloads.reviews import load

    data = load()
    assert data.csr is not None
    rng = np.random.default_rng(0)
    # A tenth of the labels is wrong, so that no solver is through before the passes are.
    return data.csr, np.where(rng.random(len(data.y)) < 0.1, -data.y, data.y)


class Lines:
    """A target that is linear in correlated columns, with noise."""

    def __init__(self, n: int, d: int) -> None:
        self.n, self.d = n, d

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        X = _correlated(rng, self.n, self.d)
        return X, X @ rng.standard_normal(self.d) + 3.0 + rng.standard_normal(self.n)


class SparseLines:
    """A quantity that is linear in sparse columns, with noise."""

    def __init__(self, n: int, d: int, entries: int) -> None:
        self.n, self.d, self.entries = n, d, entries

    def __call__(self) -> tuple[sp.csr_matrix, np.ndarray]:
        rng = np.random.default_rng(0)
        index = rng.integers(0, self.d, self.n * self.entries)
        start = np.arange(self.n + 1) * self.entries
        X = sp.csr_matrix((rng.random(len(index)), index, start), shape=(self.n, self.d))
        X.sum_duplicates()
        return X, X @ rng.standard_normal(self.d) + 3.0 + rng.standard_normal(self.n)


class Gaussians:
    """Classes with correlated columns, each with a mean of its own, that overlap."""

    def __init__(self, n: int, d: int, n_classes: int) -> None:
        self.n, self.d, self.n_classes = n, d, n_classes

    def __call__(self) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(0)
        codes = rng.integers(0, self.n_classes, self.n)
        X = _correlated(rng, self.n, self.d)
        X += (rng.standard_normal((self.n_classes, self.d)) * (2.0 / self.d**0.5))[codes]
        # The spread differs by class, so that quadratic boundaries are the better ones.
        X *= np.linspace(0.8, 1.2, self.n_classes)[codes, None]
        return X, codes


def _correlated(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.standard_normal((n, d))
    X += rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) * 0.5
    X += rng.standard_normal(d)
    return X


# --- the contenders -------------------------------------------------------------------------
# Each takes the data and returns its answer, or a function that gives it after the clock has
# stopped.

Answer = str | Callable[[], str]


def _separatrix(X: Any, y: np.ndarray) -> str:
    from separatrix import separability

    return "yes" if separability(X, y, margin=False).separable else "no"


def _separatrix_margin(X: Any, y: np.ndarray) -> str:
    from separatrix import separability

    return "yes" if separability(X, y).separable else "no"


def _linprog(X: Any, y: np.ndarray) -> str:
    """Whether some ``(w, b)`` has every ``y (w.x + b) >= 1``, by the linear program of all rows."""
    from scipy.optimize import linprog

    left = -y[:, None] * np.column_stack([X, np.ones(len(y))])
    result = linprog(np.zeros(left.shape[1]), A_ub=left, b_ub=-np.ones(len(y)), bounds=(None, None))
    return {0: "yes", 2: "no"}.get(result.status, "unknown")


def _linear_svc(X: Any, y: np.ndarray) -> str:
    """A machine with a large C, in the form that is fastest on these points: squared and primal.

    (With the hinge in the dual, ten thousand passes leave rows on the wrong side.)
    """
    from sklearn.svm import LinearSVC

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(C=1e6, dual=False, tol=1e-8, max_iter=10_000).fit(X, y)
    right = bool(np.all(y * model.decision_function(X) > 0))
    # A point on the wrong side proves nothing: the machine may not have converged.
    return "yes" if right else "unknown"


def _perceptron(X: Any, y: np.ndarray) -> str:
    from separatrix import Perceptron

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(max_passes=_PASSES).fit(X, y)
    return f"{model.n_iter_} passes"


def _perceptron_peer(X: Any, y: np.ndarray) -> str:
    from sklearn.linear_model import Perceptron

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Perceptron(max_iter=_PASSES, tol=None, shuffle=False).fit(X, y)
    return f"{model.n_iter_} passes"


def _orthogonality(X: Any, y: np.ndarray, coef: np.ndarray, intercept: float) -> str:
    """The largest cosine between the residual and a column, by NumPy's and SciPy's products."""
    residual = y - X @ coef - intercept
    squares = X.multiply(X).sum(axis=0) if sp.issparse(X) else np.einsum("ij,ij->j", X, X)
    cosines = np.abs(X.T @ residual) / (np.sqrt(squares) * np.linalg.norm(residual))
    level = abs(residual.sum()) / (len(y) ** 0.5 * np.linalg.norm(residual))
    return f"orthogonal to {max(cosines.max(), level):.0e}"


def _regression(load: Callable[[], Any]) -> Callable[[Any, np.ndarray], Answer]:
    def call(X: Any, y: np.ndarray) -> Answer:
        model = load().fit(X, y)
        return lambda: _orthogonality(X, y, np.ravel(model.coef_), float(model.intercept_))

    return call


def _least_squares() -> Any:
    from separatrix import LinearRegression

    return LinearRegression()


def _sklearn_least_squares() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _sklearn_lsqr() -> Any:
    """LSQR with a tolerance at which its residual is as small as that of the others."""
    from sklearn.linear_model import LinearRegression

    return LinearRegression(tol=1e-13)


def _intelex_least_squares() -> Any:
    from sklearnex.linear_model import LinearRegression

    return LinearRegression()


def _lstsq(X: Any, y: np.ndarray) -> Answer:
    # As a user would write it: the column of ones is part of the work.
    found = np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0]
    return lambda: _orthogonality(X, y, found[:-1], float(found[-1]))


def _discriminant(module: str, kind: str, **options: Any) -> Callable[[Any, np.ndarray], Answer]:
    def call(X: Any, y: np.ndarray) -> Answer:
        found = getattr(importlib.import_module(module), kind)
        model = found(**options).fit(X, y)

        def judge() -> str:
            few = X[:: max(1, len(X) // 20_000)]
            right = np.mean(model.predict(few) == y[:: max(1, len(X) // 20_000)])
            return f"{100 * right:.2f} % right"

        return judge

    return call


_LDA, _QDA = "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"
_PEER = "sklearn.discriminant_analysis"

CONTENDERS: dict[str, tuple[str, Callable[[Any, np.ndarray], Answer]]] = {
    "separatrix": ("separatrix", _separatrix),
    "separatrix, with the margin": ("separatrix", _separatrix_margin),
    "linprog, all rows": ("peer", _linprog),
    "LinearSVC, C=1e6": ("peer", _linear_svc),
    "separatrix Perceptron": ("separatrix", _perceptron),
    "scikit-learn Perceptron": ("peer", _perceptron_peer),
    "separatrix LinearRegression": ("separatrix", _regression(_least_squares)),
    "scikit-learn LinearRegression": ("peer", _regression(_sklearn_least_squares)),
    "scikit-learn-intelex LinearRegression": ("sklearnex", _regression(_intelex_least_squares)),
    "numpy.linalg.lstsq": ("peer", _lstsq),
    "scikit-learn LinearRegression, tol=1e-13": ("peer", _regression(_sklearn_lsqr)),
    "separatrix LDA": ("separatrix", _discriminant("separatrix", _LDA)),
    "scikit-learn LDA, svd": ("peer", _discriminant(_PEER, _LDA)),
    "scikit-learn LDA, lsqr": ("peer", _discriminant(_PEER, _LDA, solver="lsqr")),
    "scikit-learn LDA, eigen": ("peer", _discriminant(_PEER, _LDA, solver="eigen")),
    "separatrix QDA": ("separatrix", _discriminant("separatrix", _QDA)),
    "scikit-learn QDA, svd": ("peer", _discriminant(_PEER, _QDA)),
    "scikit-learn QDA, eigen": ("peer", _discriminant(_PEER, _QDA, solver="eigen")),
}

_NAMES = tuple(CONTENDERS)
_SEPARATORS, _PERCEPTRONS, _REGRESSIONS = _NAMES[:4], _NAMES[4:6], _NAMES[6:10]
_SPARSE_REGRESSIONS = (_NAMES[6], _NAMES[10])
_LDAS, _QDAS = _NAMES[11:15], _NAMES[15:]


def tasks() -> list[Task]:
    """The questions, in the table's order."""
    found = []
    for n in (10_000, 100_000, 1_000_000):
        for wrong, answer in (("none", "yes"), ("one", "no"), ("a tenth", "no")):
            name = f"separability {n:,} x 20, labels wrong: {wrong}"
            quick = n <= 100_000
            found.append(Task(name, Cloud(n, 20, wrong), _SEPARATORS, answer, quick))
    passes = f"{_PASSES} passes"
    dense = Cloud(500_000, 100, "a tenth")
    found.append(Task("perceptron 500,000 x 100 dense", dense, _PERCEPTRONS, passes))
    found.append(Task("perceptron review words, sparse", reviews, _PERCEPTRONS, passes))
    lines = Lines(500_000, 100)
    closed = {"warm_rows": None, "compile_times": True, "closed_form": True}
    found.append(Task("least squares 500,000 x 100", lines, _REGRESSIONS, **closed))
    sparse = SparseLines(50_000, 5_000, 30)
    name = "least squares 50,000 x 5,000, sparse"
    found.append(Task(name, sparse, _SPARSE_REGRESSIONS, **closed))
    for n, d in ((500_000, 100), (10_000, 784)):
        gaussians = Gaussians(n, d, 10)
        for kind, names in (("LDA", _LDAS), ("QDA", _QDAS)):
            name = f"{kind} {n:,} x {d}, 10 classes"
            found.append(Task(name, gaussians, names, **closed))
    return found


# --- one process a contender ----------------------------------------------------------------


def serve(connection: Any) -> None:
    """Answers ``(task, contender, warm)``, the same each time, until it is ended."""
    X = y = call = None
    while True:
        try:
            task, name, warm = connection.recv()
        except EOFError:
            return
        try:
            if call is None:
                X, y = task.load()
                call = _warmed_up(task, name, X, y) if warm else _imported(name)
            gc.collect()
            resident = memory("VmRSS")
            memory("VmHWM", reset_peak=True)
            connection.send("started")
            wall, cpu = time.perf_counter(), time.process_time()
            answer = call(X, y)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            connection.send("ended")
            extra = memory("VmHWM") - resident
            record = {
                "wall": wall,
                "cpu": cpu,
                "answer": answer() if callable(answer) else answer,
                "extra_mib": None if np.isnan(extra) else extra,
            }
        except Exception as error:
            record = {"error": f"{type(error).__name__}: {error}"}
        connection.send(record)


def _imported(name: str) -> Callable[..., Any]:
    """A contender whose first call is timed, and not the import."""
    group, call = CONTENDERS[name]
    library = importlib.import_module(group)
    for public in library.__all__:
        getattr(library, public)
    return call


def _warmed_up(task: Task, name: str, X: Any, y: np.ndarray) -> Callable[..., Any]:
    group, call = CONTENDERS[name]
    if group == "separatrix" or task.warm_rows is None:
        call(X, y)
    else:
        few = [np.flatnonzero(y == label)[: task.warm_rows] for label in np.unique(y)]
        call(X[np.concatenate(few)], y[np.concatenate(few)])
    return call


class _Contender(Process):
    """The process of one contender at one task, and its answers."""

    def __init__(self, task: Task, name: str, warm: bool = True) -> None:
        super().__init__("benchmarks.statements:serve")
        self.name = name
        self.request = task, name, warm
        self.times: list[float] = []
        self.found = ""
        self.extra_mib: float | None = None
        self.over: float | None = None

    def run(self, limit: float, clock: str) -> None:
        record = self.answer(self.request, limit)
        if record is None or "error" in record:
            self.over = limit
            self.found = "" if record is None else record["error"]
            return
        self.times.append(record[clock])
        self.found = record["answer"]
        if record["extra_mib"] is not None:
            self.extra_mib = max(record["extra_mib"], self.extra_mib or 0.0)


def chosen(patterns: list[str], quick: bool) -> list[Task]:
    """The tasks that match the patterns; with ``quick``, only the quick ones."""
    return [t for t in tasks() if match(t.name, patterns) and (t.quick or not quick)]


def _installed(group: str) -> bool:
    return importlib.util.find_spec("sklearn" if group == "peer" else group) is not None


def _first_call(task: Task, clock: str) -> list[dict[str, Any]]:
    """Seconds of this library's first call with an empty cache, and of the next."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-cache-") as cache,
        _environment(NUMBA_CACHE_DIR=cache),
    ):
        contender = _Contender(task, task.contenders[0], warm=False)
        try:
            for _ in range(2):
                if contender.over is None:
                    contender.run(START_LIMIT, clock)
        finally:
            contender.close()
    if len(contender.times) < 2:
        return []
    first, later = contender.times
    return [
        {
            "row": task.name,
            "form": "dense",
            "first_seconds": first,
            "later_seconds": later,
            "compile_seconds": first - later,
        }
    ]


def measure(task: Task, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Median seconds and answers of every contender at one task."""
    say(f"  {task.name}")
    there = [name for name in task.contenders if _installed(CONTENDERS[name][0])]
    for name in task.contenders:
        if name not in there:
            say(f"    {name} is not installed: left out")
    contenders = [_Contender(task, name) for name in there]
    try:
        for _ in range(options.repeats):
            for contender in contenders:
                if contender.over is None:
                    contender.run(options.limit, options.clock)
    finally:
        for contender in contenders:
            contender.close()
    results = []
    for c in contenders:
        seconds = statistics.median(c.times) if c.times and c.over is None else None
        results.append(
            {
                "name": c.name,
                "group": CONTENDERS[c.name][0],
                "seconds": seconds,
                "over": c.over,
                "answer": c.found,
                "extra_mib": c.extra_mib,
                "runs": c.times,
            }
        )
        shown = f"{seconds:9.3f}" if seconds is not None else f"> {c.over:7.0f}"
        say(f"    {c.name:30s}{shown}  {c.found}")
    timed = task.compile_times and options.compile_times
    firsts = _first_call(task, options.clock) if timed else []
    return {
        "task": task.name,
        "closed_form": task.closed_form,
        "answer": task.answer,
        "contenders": results,
        "first_calls": firsts,
    }


def lines(results: list[dict[str, Any]]) -> list[list[str]]:
    """The table: seconds and answers, and how many times faster the first one is."""
    out = [["task", "contender", "seconds", "answer", "seconds / separatrix", "MiB"]]
    for result in results:
        own = result["contenders"][0]["seconds"]
        for c in result["contenders"]:
            known = result["answer"] is None or c["answer"] == result["answer"]
            ratio = ""
            if own and c is not result["contenders"][0]:
                least = c["seconds"] if c["seconds"] is not None else c["over"]
                more = "" if c["seconds"] is not None else "> "
                ratio = f"{more}{least / own:.2f}" if least else ""
            seconds = f"{c['seconds']:.3f}" if c["seconds"] is not None else f"> {c['over']:.0f}"
            answer = c["answer"] if known else f"{c['answer']} (not {result['answer']})"
            answer = answer if c["answer"] else ""
            memory = f"{c['extra_mib']:.0f}" if c["extra_mib"] is not None else ""
            out.append([result["task"], c["name"], seconds, answer, ratio, memory])
    return out
