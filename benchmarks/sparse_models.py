"""Paths of L1 logistic regression and squared hinge: rows ``l1 log`` and ``l1 squared hinge``.

Twenty values of C, from just above the smallest that has a weight to 130 times that, on the review
words without an intercept; each solver goes along the path at a ladder of its settings, warm where
it can.  The objective is evaluated here; a path counts for a target once every one of its points is
within the target of the best known, and a solver that never gets there has no ratio.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.workloads import match

ROWS = ("l1 log", "l1 squared hinge")
TARGETS = (1e-3, 1e-4, 1e-6)
N_VALUES, REACH = 20, 130.0


def chosen(patterns: Sequence[str]) -> list[str]:
    """The rows that are asked for by name; none where nothing is."""
    return [row for row in ROWS if patterns and match(row, patterns)]


def _value(row: str, X, y: np.ndarray, w: np.ndarray, C: float) -> float:
    z = y * (X @ w)
    loss = np.logaddexp(0.0, -z) if row == "l1 log" else np.square(np.maximum(1.0 - z, 0.0))
    return float(np.abs(w).sum() + C * loss.sum())


def _separatrix(row: str, X, y: np.ndarray, Cs: np.ndarray, tol: float) -> list[np.ndarray]:
    from separatrix.design import as_design
    from separatrix.losses import LogLoss, SquaredHinge
    from separatrix.objective import MarginObjective
    from separatrix.penalties import L1
    from separatrix.solvers import select_solver
    from separatrix.solvers.driver import minimise

    loss = LogLoss() if row == "l1 log" else SquaredHinge()
    theta, out = None, []
    for C in Cs:
        problem = MarginObjective(as_design(X), y, loss, L1(), C=C, fit_intercept=False)
        theta = minimise(problem, select_solver(problem), tol=tol, theta=theta, seed=0).theta
        out.append(theta)
    return out


def _liblinear(row: str, X, y: np.ndarray, Cs: np.ndarray, tol: float) -> list[np.ndarray]:
    from liblinear.liblinearutil import parameter, train

    out = []
    for C in Cs:
        kind = 6 if row == "l1 log" else 5
        model = train(X, parameter(f"-s {kind} -c {float(C)!r} -e {tol!r} -q"))
        sign = 1.0 if model.label[0] == 1 else -1.0
        out.append(sign * np.ctypeslib.as_array(model.w, (model.get_nr_feature(),)))
    return out


def _skglm(row: str, X, y: np.ndarray, Cs: np.ndarray, tol: float) -> list[np.ndarray]:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1
    from skglm.solvers import ProxNewton

    solver = ProxNewton(fit_intercept=False, warm_start=True, tol=tol)
    model = GeneralizedLinearEstimator(Logistic(), L1(1.0), solver)
    out = []
    for C in Cs:
        model.penalty = L1(1.0 / (C * len(y)))
        out.append(np.ravel(model.fit(X, y).coef_).copy())
    return out


def _celer(row: str, X, y: np.ndarray, Cs: np.ndarray, tol: float) -> list[np.ndarray]:
    from celer import celer_path

    return list(celer_path(X, y, "logreg", alphas=1.0 / Cs, tol=tol)[1].T)


SOLVERS: dict[str, tuple[Callable, str, tuple[float, ...], tuple[str, ...]]] = {
    "separatrix": (_separatrix, "csr", (1e-3, 1e-4, 1e-6), ROWS),
    "LIBLINEAR": (_liblinear, "problem", (1e-1, 1e-2, 1e-3, 1e-4), ROWS),
    "skglm": (_skglm, "csc", (1e-4, 3e-5, 1e-5, 1e-6), ROWS[:1]),
    "celer": (_celer, "csc", (1e-3, 1e-4), ROWS[:1]),
}


def run(row: str, X, y: np.ndarray) -> None:
    """Time every solver on one row, and print seconds, suboptimality and ratios."""
    critical = (2.0 if row == "l1 log" else 0.5) / np.abs(X.T @ y).max()
    Cs = critical * np.geomspace(1.05, REACH, N_VALUES)
    forms = {"csr": X, "csc": X.tocsc()}
    runs = []
    for name, (fit, form, settings, rows) in SOLVERS.items():
        if row not in rows:
            continue
        try:
            if form == "problem" and form not in forms:
                from liblinear.liblinearutil import problem

                forms[form] = problem(y, X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(row, forms[form], y, Cs[:2], settings[0])
                for setting in settings:
                    start = time.perf_counter()
                    path = fit(row, forms[form], y, Cs, setting)
                    seconds = time.perf_counter() - start
                    values = [_value(row, X, y, w, C) for w, C in zip(path, Cs, strict=True)]
                    runs.append((name, setting, seconds, np.array(values)))
        except ImportError as error:
            print(f"{row}: {name} left out: {error}")
    best = np.min([values for *_, values in runs], axis=0)
    print(f"{row}, a path of {N_VALUES} values of C up to {Cs[-1]:.3g}")
    for name, setting, seconds, values in runs:
        print(f"  {name:12s} {setting:8.0e} {seconds:8.2f} s {np.max(values / best - 1):10.1e}")
    for target in TARGETS:
        reached: dict[str, float] = {}
        for name, _, seconds, values in runs:
            if np.max(values / best - 1.0) <= target:
                reached[name] = min(seconds, reached.get(name, np.inf))
        peers = {name: seconds for name, seconds in reached.items() if name != "separatrix"}
        if "separatrix" not in reached or not peers:
            print(f"  to {target:.0e}: no ratio, a side missed it")
            continue
        fastest = min(peers, key=peers.__getitem__)
        ratio = peers[fastest] / reached["separatrix"]
        print(f"  to {target:.0e}: {ratio:.1f} times as fast as {fastest}")


def main(rows: Sequence[str]) -> None:
    """Run the rows on the reviews."""
    from benchmarks.workloads import reviews

    data = reviews.load()
    print("synthetic stand-in for the reviews" if data.stand_in else "the film reviews")
    for row in rows:
        run(row, data.csr, data.y)
