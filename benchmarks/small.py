"""``python -m benchmarks small``: fits of a few milliseconds, beside scikit-learn's.

Every estimator of both libraries at its own defaults, on the small data sets that tutorials use:
what costs time there is not the arithmetic but all that is checked, wrapped and stated around it.
The two libraries take turns, after a warm-up; each number is the median of their fits.

Defaults end at other distances from the optimum.  For logistic regressions, whose objectives are
the same in both libraries, scikit-learn is timed once more at the first power of ten of its ``tol``
at which the worst of all its fits is as near to the optimum as this library's tolerance asks for.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import report
from benchmarks.workloads import match

# The number of untimed fits, the fewest timed ones, and the seconds of a cell beyond them.
WARM, FEWEST, SECONDS = 2, 3, 0.6

CLASSIFIERS = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "LinearSVC",
    "SVC",
    "SGDClassifier",
    "Perceptron",
    "RidgeClassifier",
    "LinearDiscriminantAnalysis",
)
REGRESSORS = (
    "LinearRegression",
    "Ridge",
    "RidgeCV",
    "Lasso",
    "ElasticNet",
    "LinearSVR",
    "HuberRegressor",
    "SGDRegressor",
)
# The least value of scikit-learn's tolerance, and the tolerance of the reference optimum.
_LEAST, _REFERENCE = 1e-12, 1e-10

_MODULES = ("sklearn.linear_model", "sklearn.svm", "sklearn.discriminant_analysis")


def _tiny() -> tuple[np.ndarray, np.ndarray]:
    """100 rows of 2 columns, in two classes that overlap a little."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=100) > 0.0).astype(int)


def _of_scikit_learn(name: str) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    return lambda: getattr(importlib.import_module("sklearn.datasets"), name)(return_X_y=True)


DATA = {
    "tiny": _tiny,
    "cancer": _of_scikit_learn("load_breast_cancer"),
    "iris": _of_scikit_learn("load_iris"),
    "wine": _of_scikit_learn("load_wine"),
    "digits": _of_scikit_learn("load_digits"),
    "diabetes": _of_scikit_learn("load_diabetes"),
}


@dataclass(frozen=True)
class Cell:
    """One estimator on one data set: medians in milliseconds, and whether ours was certified.

    ``equal`` is scikit-learn's time where it is as near to the optimum; infinite where no
    tolerance brings it there, and None where the objectives differ.
    """

    estimator: str
    data: str
    ours: float
    theirs: float
    certified: bool
    equal: float | None = None

    @property
    def ratio(self) -> float:
        """The time of ours divided by the time of scikit-learn's."""
        return self.ours / self.theirs


def cells() -> Iterator[tuple[str, str]]:
    """The names of the 48 estimators and data sets."""
    for name in CLASSIFIERS:
        yield from ((name, data) for data in DATA if data != "diabetes")
    yield from ((name, "diabetes") for name in REGRESSORS)


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows with standardised columns, and their targets."""
    from sklearn.preprocessing import StandardScaler

    X, y = DATA[name]()
    return np.ascontiguousarray(StandardScaler().fit_transform(X)), y


def peer(name: str) -> Any:
    """The class of scikit-learn of that name."""
    modules = map(importlib.import_module, _MODULES)
    return next(getattr(module, name) for module in modules if hasattr(module, name))


def measure(name: str, data: str, clock: Callable[[], float], seconds: float = SECONDS) -> Cell:
    """Fit both libraries' estimator in turn, and take the medians."""
    import separatrix

    X, y = load(data)
    makes = (getattr(separatrix, name), peer(name))
    times: tuple[list[float], list[float]] = ([], [])
    certified = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in makes:
            for _ in range(WARM):
                make().fit(X, y)
        until = time.perf_counter() + seconds
        while len(times[0]) < FEWEST or time.perf_counter() < until:
            for make, own in zip(makes, times, strict=True):
                model = make()
                start = clock()
                model.fit(X, y)
                own.append(1e3 * (clock() - start))
                if make is makes[0]:
                    certified = certified and bool(model.certificate_.ok)
    ours, theirs = map(statistics.median, times)
    return Cell(name, data, ours, theirs, certified, _at_equal(name, X, y, clock))


# --- at equal suboptimality ---------------------------------------------------------------------


def _at_equal(name: str, X: Any, y: Any, clock: Callable[[], float]) -> float | None:
    """The median time of scikit-learn's fit that is as near to the optimum as ours has to be."""
    import separatrix

    if not name.startswith("LogisticRegression"):
        return None
    asked = getattr(separatrix, name)().tol
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        best = _objectives(getattr(separatrix, name)(tol=_REFERENCE).fit(X, y), X, y)
        tol = peer(name)().tol
        while tol >= _LEAST:
            times = []
            for _ in range(FEWEST):
                model = peer(name)(tol=tol, max_iter=100_000)
                start = clock()
                model.fit(X, y)
                times.append(1e3 * (clock() - start))
                if _worst(_objectives(model, X, y), best) > asked:
                    break
            else:
                return statistics.median(times)
            tol /= 10.0
    return float("inf")


def _worst(found: Sequence[float], best: Sequence[float]) -> float:
    """The largest relative suboptimality."""
    return max(a / b - 1.0 for a, b in zip(found, best, strict=True))


def _objectives(model: Any, X: np.ndarray, y: np.ndarray) -> list[float]:
    """The objectives of a logistic regression, or of the fits to all folds at all strengths."""
    from sklearn.model_selection import StratifiedKFold

    codes = np.searchsorted(model.classes_, y)
    if not hasattr(model, "Cs_"):
        return [_objective(X, codes, np.column_stack([model.coef_, model.intercept_]), model.C)]
    model.use_legacy_attributes = False
    weights, found = _of_folds(model), []
    for fold, (train, _) in enumerate(StratifiedKFold(5).split(X, y)):
        for k, C in enumerate(model.Cs_):
            at = weights[fold, k].reshape(-1, X.shape[1] + 1)
            found.append(_objective(X[train], codes[train], at, C))
    return found


def _of_folds(model: Any) -> np.ndarray:
    """The weights of all folds at all strengths, those of all classes in one row."""
    paths: Any = model.coefs_paths_
    if isinstance(paths, dict):
        paths = np.stack(list(paths.values()), axis=2)
    return np.reshape(paths, (5, len(model.Cs_), -1))


def _objective(X: np.ndarray, codes: np.ndarray, weights: np.ndarray, C: float) -> float:
    scores = X @ weights[:, :-1].T + weights[:, -1]
    if len(weights) == 1:
        scores = np.column_stack([np.zeros(len(X)), scores[:, 0]])
    losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(X)), codes]
    return float(C * losses.sum() + 0.5 * np.square(weights[:, :-1]).sum())


# --- the table ----------------------------------------------------------------------------------


def text(found: Sequence[Cell]) -> str:
    """The table, the slowest beside scikit-learn first."""
    lines = [["milliseconds", "data", "separatrix", "scikit-learn", "ratio", "certified", "equal"]]
    for cell in sorted(found, key=lambda cell: -cell.ratio):
        times = [f"{cell.ours:.3g}", f"{cell.theirs:.3g}", f"{cell.ratio:.2f}"]
        equal = "" if cell.equal is None else f"{cell.ours / cell.equal:.2f}"
        lines.append([cell.estimator, cell.data, *times, "yes" if cell.certified else "NO", equal])
    slower = sum(cell.ratio > 1.0 for cell in found)
    mean = report.geometric_mean(cell.ratio for cell in found)
    parts = [
        report.layout(lines, left=(0, 1)),
        f"{slower} of {len(found)} take longer than scikit-learn's; geometric mean of the ratios "
        f"{mean:.2f}",
        "equal: the ratio where scikit-learn's tol is lowered, tenfold at a time, until the worst\n"
        "of its fits is as near to the optimum as ours has to be",
    ]
    return "\n\n".join(parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks small", description=__doc__)
    add = parser.add_argument
    add("--rows", nargs="+", default=[], metavar="NAME", help="estimators or data, globs too")
    add("--seconds", type=float, default=SECONDS, help=f"of one cell ({SECONDS:g})")
    report.add_timing(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    from threadpoolctl import threadpool_limits

    import separatrix

    args = _parser().parse_args(argv)
    clock = time.perf_counter if args.clock == "wall" else time.process_time
    chosen = [
        (name, data) for name, data in cells() if match(name, args.rows) or match(data, args.rows)
    ]
    # A limit holds for the libraries that are loaded: scikit-learn brings a BLAS of SciPy's own.
    for name, _ in chosen:
        peer(name)
    with threadpool_limits(args.threads), separatrix.threads(args.threads):
        found = []
        for name, data in chosen:
            found.append(measure(name, data, clock, args.seconds))
            print(found[-1], file=sys.stderr, flush=True)
    report.publish(args, "small", text(found), "Medians of {} time, columns standardised")
    return 0
