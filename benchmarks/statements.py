"""Tasks that end in a statement rather than near an optimum, timed side by side.

Separability, against the full linear program and against a support vector machine with a very
large C; and passes of the perceptron.  Every contender runs in a process of its own that can be
ended, is warmed up on a small part of the data (this library on the data themselves), and is timed
several times, contenders taking turns; the table shows medians, and what each of them answered.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.runner import Options
from benchmarks.workloads import match

START_LIMIT = 300.0
_PASSES = 20


@dataclass(frozen=True)
class Task:
    """One question on one data set.

    ``answer`` is what is true, where it is known; contenders are named in ``CONTENDERS``.
    """

    name: str
    load: Callable[[], tuple[Any, np.ndarray]]
    contenders: tuple[str, ...]
    answer: str | None = None
    quick: bool = True


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


# --- the contenders -------------------------------------------------------------------------


def _separatrix(X: Any, y: np.ndarray) -> str:
    from separatrix import separability

    return "yes" if separability(X, y, margin=False).separable else "no"


def _separatrix_margin(X: Any, y: np.ndarray) -> str:
    from separatrix import separability

    return "yes" if separability(X, y).separable else "no"


def _linprog(X: Any, y: np.ndarray) -> str:
    """Is there ``(w, b)`` with every ``y (w.x + b) >= 1``?  The program with all rows in it."""
    from scipy.optimize import linprog

    left = -y[:, None] * np.column_stack([X, np.ones(len(y))])
    result = linprog(np.zeros(left.shape[1]), A_ub=left, b_ub=-np.ones(len(y)), bounds=(None, None))
    return {0: "yes", 2: "no"}.get(result.status, "unknown")


def _linear_svc(X: Any, y: np.ndarray) -> str:
    """A large C, in the form that separates these points soonest: squared, and in the primal.

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


CONTENDERS: dict[str, tuple[str, Callable[[Any, np.ndarray], str]]] = {
    "separatrix": ("separatrix", _separatrix),
    "separatrix, with the margin": ("separatrix", _separatrix_margin),
    "linprog, all rows": ("peer", _linprog),
    "LinearSVC, C=1e6": ("peer", _linear_svc),
    "separatrix Perceptron": ("separatrix", _perceptron),
    "scikit-learn Perceptron": ("peer", _perceptron_peer),
}

_SEPARATORS = tuple(CONTENDERS)[:4]
_PERCEPTRONS = tuple(CONTENDERS)[4:]


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
    return found


# --- one process a contender ----------------------------------------------------------------


def _serve(connection: Any, load: Callable[[], tuple[Any, np.ndarray]], name: str) -> None:
    X, y = load()
    group, call = CONTENDERS[name]
    if group == "separatrix":
        call(X, y)
    else:
        rows = np.concatenate([np.flatnonzero(y == s)[:50] for s in (-1.0, 1.0)])
        call(X[rows], y[rows])
    connection.send("ready")
    while connection.recv():
        wall, cpu = time.perf_counter(), time.process_time()
        answer = call(X, y)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        connection.send({"wall": wall, "cpu": cpu, "answer": answer})


class _Contender:
    def __init__(self, task: Task, name: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.name = name
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, task.load, name), daemon=True)
        self.process.start()
        theirs.close()
        self.times: list[float] = []
        self.answer = ""
        self.over: float | None = None

    def start(self) -> None:
        self._receive(START_LIMIT)

    def run(self, limit: float, clock: str) -> None:
        self.connection.send(True)
        record = self._receive(limit)
        if record is not None:
            self.times.append(record[clock])
            self.answer = record["answer"]

    def _receive(self, limit: float) -> Any:
        """What the process says; None where it is ended because it takes too long, or has died."""
        try:
            if self.connection.poll(limit):
                return self.connection.recv()
        except EOFError:
            self.answer = "failed"
        self.stop(limit)
        return None

    def stop(self, over: float | None = None) -> None:
        self.over = over
        self.process.kill()
        self.process.join()


def chosen(patterns: list[str], quick: bool) -> list[Task]:
    """The tasks that are asked for."""
    return [t for t in tasks() if match(t.name, patterns) and (t.quick or not quick)]


def measure(task: Task, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Median seconds and answers of every contender at one task."""
    say(f"  {task.name}")
    contenders = [_Contender(task, name) for name in task.contenders]
    try:
        for contender in contenders:
            contender.start()
        for _ in range(options.repeats):
            for contender in contenders:
                if contender.over is None:
                    contender.run(options.limit, options.clock)
    finally:
        for contender in contenders:
            contender.stop(contender.over)
    results = []
    for c in contenders:
        seconds = statistics.median(c.times) if c.times and c.over is None else None
        results.append(
            {
                "name": c.name,
                "seconds": seconds,
                "over": c.over,
                "answer": c.answer,
                "runs": c.times,
            }
        )
        shown = f"{seconds:9.3f}" if seconds is not None else f"> {c.over:7.0f}"
        say(f"    {c.name:30s}{shown}  {c.answer}")
    return {"task": task.name, "answer": task.answer, "contenders": results}


def lines(results: list[dict[str, Any]]) -> list[list[str]]:
    """The table: seconds and answers, and how many times faster the first one is."""
    out = [["task", "contender", "seconds", "answer", "seconds / separatrix"]]
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
            out.append([result["task"], c["name"], seconds, answer if c["answer"] else "", ratio])
    return out
