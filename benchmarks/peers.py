"""The solvers, side by side: each minimises the row's objective, and no other.

A `Solver` says which rows it fits, which form of the data it takes, and its settings from loose to
tight; `prepare` returns a function of one setting, and only the call of that function is timed.
LIBLINEAR, snapml and scikit-learn's ``LinearSVC`` penalise the intercept, so they stay out of the
rows with one, except where LIBLINEAR has the option not to (``-R``, primal solvers).
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.workloads.base import Row

# The module that each group needs; a group without it is left out, and the report names it.
MODULES = {
    "separatrix": "separatrix",
    "scikit-learn": "sklearn",
    "LIBLINEAR": "liblinear",
    "snapml": "snapml",
    "oneDAL": "sklearnex",
    "skglm": "skglm",
    "celer": "celer",
    "glum": "glum",
    "skein": "skein_glm",
    "adelie": "adelie",
}
# The interpreter of a second environment, for libraries whose requirements clash with the others'.
ELSEWHERE = Path(__file__).resolve().parents[1] / ".venv-peers" / "bin" / "python"
GROUPS = tuple(MODULES)
PEERS = GROUPS[1:]

# No solver is to stop for another reason than its own tolerance.
MANY = 10_000_000


@dataclass(frozen=True)
class Fitted:
    """The result of a run: a point, and for this library its claims about it."""

    coef: np.ndarray
    intercept: float | np.ndarray = 0.0
    n_iter: int | None = None
    claims: dict | None = None


Fit = Callable[[float], Fitted]


@dataclass(frozen=True)
class Solver:
    """A solver's name, its group in the table, the rows it fits and its settings."""

    name: str
    group: str
    settings: tuple[float, ...]
    prepare: Callable[[Row, object, np.ndarray], Fit]
    losses: tuple[str, ...]
    intercept: tuple[bool, ...] = (False, True)
    l1_ratios: tuple[float, float] = (0.0, 0.0)  # the least and the largest
    one_vs_rest: tuple[bool, ...] = (False,)
    # Where the dense rows are float32, a peer may have them in float64 too, converted beforehand.
    forms: tuple[str, ...] = ("csr", "dense", "float64")
    max_features: float = np.inf
    quick: bool = True  # whether --quick keeps it
    quick_form: str = "csr"  # where the data come in both forms, --quick takes this one

    def fits(self, row: Row, n_features: int) -> bool:
        return (
            row.loss in self.losses
            and row.intercept in self.intercept
            and self.l1_ratios[0] <= row.l1_ratio <= self.l1_ratios[1]
            and row.one_vs_rest in self.one_vs_rest
            and n_features <= self.max_features
        )


def decades(loose: int, tight: int) -> tuple[float, ...]:
    """``decades(0, -3)`` is 1, 0.1, 0.01, 0.001."""
    return tuple(float(f"1e{e}") for e in range(loose, tight - 1, -1))


# --- scikit-learn ---------------------------------------------------------------------------------


def _estimator(build, row: Row, X, y) -> Fit:
    """The fit of a scikit-learn style estimator that ``build(row, setting)`` makes."""

    def fit(setting: float) -> Fitted:
        model = build(row, setting).fit(X, y)
        if row.loss == "multinomial" or row.one_vs_rest:
            return Fitted(model.coef_, model.intercept_, int(np.max(model.n_iter_)))
        intercept = float(np.ravel(model.intercept_)[0]) if row.intercept else 0.0
        return Fitted(np.ravel(model.coef_), intercept, int(np.max(model.n_iter_)))

    return fit


def _logistic(row: Row, tol: float, *, solver: str, dual: bool = False):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(
        C=row.C,
        tol=tol,
        solver=solver,
        dual=dual,
        l1_ratio=row.l1_ratio,
        fit_intercept=row.intercept,
        max_iter=MANY,
        random_state=0,
    )


def _linear_svc(row: Row, tol: float, *, dual: bool):
    from sklearn.svm import LinearSVC

    return LinearSVC(
        C=row.C,
        tol=tol,
        loss=row.loss,
        dual=dual,
        fit_intercept=row.intercept,
        max_iter=MANY,
        random_state=0,
    )


def _by_default(row: Row, _: float):
    """The estimator as a user gets it: with its own solver, tolerance and limit on iterations."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    if row.loss in ("log", "multinomial"):
        return LogisticRegression(C=row.C, fit_intercept=row.intercept)
    penalty = "l1" if row.l1_ratio else "l2"
    options = {"loss": row.loss, "penalty": penalty, "fit_intercept": row.intercept}
    return LinearSVC(C=row.C, random_state=0, **options)


def _sgd(row: Row, X, y, *, average: bool) -> Fit:
    from sklearn.linear_model import SGDClassifier

    def build(row: Row, passes: float):
        # Its objective is the mean loss plus alpha/2 |w|^2. Its tolerance stops it far from the
        # optimum, so the number of passes is what is swept.
        return SGDClassifier(
            loss="log_loss" if row.loss == "log" else row.loss,
            alpha=1.0 / (row.C * len(y)),
            fit_intercept=row.intercept,
            max_iter=int(passes),
            tol=None,
            average=average,
            random_state=0,
        )

    return _estimator(build, row, X, y)


# --- LIBLINEAR ------------------------------------------------------------------------------------


def _sparse(X) -> sp.csr_matrix:
    if sp.issparse(X) or not np.all(X):
        return sp.csr_matrix(X, dtype=np.float64)
    n, d = X.shape  # every value is kept: no search for zeros
    indices = np.tile(np.arange(d, dtype=np.int32), n)
    values = X.ravel().astype(np.float64)
    return sp.csr_matrix((values, indices, np.arange(0, n * d + 1, d)), shape=X.shape)


def _by_columns(X):
    """The data by columns in float64, as some libraries need them; not timed, like LIBLINEAR's."""
    return X.tocsc() if sp.issparse(X) else np.asfortranarray(X, dtype=np.float64)


# LIBLINEAR's copy of the data in use, beside the data it was made of.
_converted: list[tuple] = []


def _problem(X, y):
    """The data in LIBLINEAR's own form, converted once for all rows of a worker."""
    from liblinear.liblinearutil import problem

    for source, found in _converted:
        if source is X:
            return found
    _converted[:] = [(X, problem(y, _sparse(X)))]
    return _converted[0][1]


def _liblinear(row: Row, X, y, *, solver_type: int) -> Fit:
    from liblinear.liblinearutil import parameter, train

    converted = _problem(X, y)
    bias = "-B 1 -R" if row.intercept else "-B -1"

    def fit(eps: float) -> Fitted:
        options = parameter(f"-s {solver_type} -c {row.C!r} -e {eps!r} {bias} -q")
        model = train(converted, options)
        labels, columns = model.label[: model.nr_class], X.shape[1] + row.intercept
        if row.one_vs_rest:  # a column for each class, in the order in which it met them
            w = np.ctypeslib.as_array(model.w, (columns, len(labels)))
            w = np.ascontiguousarray(w[:, np.argsort(labels)].T)
            return Fitted(w[:, : X.shape[1]], w[:, -1] if row.intercept else 0.0)
        sign = 1.0 if labels[0] == 1 else -1.0
        w = sign * np.ctypeslib.as_array(model.w, (columns,)).copy()
        return Fitted(w[: X.shape[1]], float(w[-1]) if row.intercept else 0.0)

    return fit


# --- snapml ---------------------------------------------------------------------------------------


def threads() -> int:
    """The number of threads, for libraries that ignore the environment variables of the others."""
    return int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)


def _snapml(row: Row, X, y, *, dual: bool) -> Fit:
    with warnings.catch_warnings():
        # It queries the processor's features through NumPy in a way that warns; were that an error,
        # it would go without AVX2.
        warnings.simplefilter("ignore")
        import snapml

    def fit(tol: float) -> Fitted:
        # Its objective is 1/2 lambda |w|^2 + sum loss: lambda is 1/C.
        common = {
            "regularizer": 1.0 / row.C,
            "tol": tol,
            "max_iter": 1_000_000,
            "fit_intercept": False,
            "n_jobs": threads(),
            "random_state": 0,
        }
        if row.loss == "log":
            model = snapml.LogisticRegression(dual=dual, **common)
        else:
            model = snapml.SupportVectorMachine(loss=row.loss, **common)
        model.fit(X, y)
        return Fitted(np.ravel(model.coef_))

    return fit


# --- scikit-learn-intelex -------------------------------------------------------------------------


def _onedal(row: Row, tol: float):
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(
        C=row.C, tol=tol, fit_intercept=row.intercept, max_iter=MANY, n_jobs=threads()
    )


# --- skglm ----------------------------------------------------------------------------------------


def _skglm_lbfgs(row: Row, X, y) -> Fit:
    from skglm.datafits import Logistic
    from skglm.penalties import L2
    from skglm.solvers import LBFGS

    columns = _by_columns(X)

    def fit(tol: float) -> Fitted:
        # Its objective is the mean loss plus alpha/2 |w|^2.
        solver = LBFGS(max_iter=MANY, tol=tol)
        w, *_ = solver.solve(columns, y, Logistic(), L2(1.0 / (row.C * len(y))))
        return Fitted(w)

    return fit


def _skglm_sparse(row: Row, X, y) -> Fit:
    from skglm import GeneralizedLinearEstimator
    from skglm.datafits import Logistic
    from skglm.penalties import L1, L1_plus_L2
    from skglm.solvers import ProxNewton

    columns = _by_columns(X)
    strength = 1.0 / (row.C * len(y))
    penalty = L1(strength) if row.l1_ratio == 1.0 else L1_plus_L2(strength, row.l1_ratio)

    def fit(tol: float) -> Fitted:
        solver = ProxNewton(fit_intercept=row.intercept, warm_start=False, tol=tol, max_iter=1000)
        model = GeneralizedLinearEstimator(Logistic(), penalty, solver).fit(columns, y)
        return Fitted(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0]))

    return fit


# --- celer ----------------------------------------------------------------------------------------


def _celer(row: Row, X, y) -> Fit:
    from celer import celer_path

    columns = _by_columns(X)

    def fit(tol: float) -> Fitted:
        # Its objective is the sum of the losses plus alpha |w|_1.
        found = celer_path(columns, y, "logreg", alphas=np.array([1.0 / row.C]), tol=tol)
        return Fitted(found[1][:, 0])

    return fit


# --- glum -----------------------------------------------------------------------------------------


def _glum(row: Row, X, y, *, solver: str) -> Fit:
    from glum import GeneralizedLinearRegressor

    events = (y > 0).astype(np.float64)
    columns = _by_columns(X)

    def fit(tol: float) -> Fitted:
        # Its objective is the mean loss plus alpha times the penalty.
        model = GeneralizedLinearRegressor(
            alpha=1.0 / (row.C * len(y)),
            l1_ratio=row.l1_ratio,
            fit_intercept=row.intercept,
            family="binomial",
            solver=solver,
            gradient_tol=tol,
            max_iter=MANY,
        ).fit(columns, events)
        return Fitted(np.ravel(model.coef_), float(model.intercept_), int(model.n_iter_))

    return fit


# --- skein ----------------------------------------------------------------------------------------


def _skein(row: Row, X, y) -> Fit:
    from skein_glm import LogisticElasticNetRegressor

    events = (y > 0).astype(np.float64)
    columns = X.tocsc() if sp.issparse(X) else X

    def fit(tol: float) -> Fitted:
        # Its objective is the mean loss plus lambda times the penalty.
        model = LogisticElasticNetRegressor(
            1.0 / (row.C * len(y)),
            alpha=row.l1_ratio,
            fit_intercept=row.intercept,
            tol=tol,
            outer_tol=tol,
            max_iter=100_000,
            max_outer=1_000,
        ).fit(columns, events)
        return Fitted(np.ravel(model.coef_), float(model.intercept_))

    return fit


# --- adelie ---------------------------------------------------------------------------------------


def _adelie(row: Row, X, y) -> Fit:
    import adelie

    events = (y > 0).astype(np.float64)
    columns = _by_columns(X)
    if sp.issparse(X):
        columns = adelie.matrix.sparse(columns, n_threads=threads())

    def fit(tol: float) -> Fitted:
        # Its objective is the mean loss plus lambda times the penalty.
        state = adelie.grpnet(
            columns,
            adelie.glm.binomial(events, dtype=np.float64),
            alpha=row.l1_ratio,
            lmda_path=np.array([1.0 / (row.C * len(y))]),
            intercept=row.intercept,
            tol=tol,
            irls_tol=tol,
            irls_max_iters=100_000,
            max_iters=MANY,
            n_threads=threads(),
            early_exit=False,
            progress_bar=False,
        )
        return Fitted(np.ravel(state.betas[0].toarray()), float(state.intercepts[0]))

    return fit


def _skglm_svc(row: Row, tol: float):
    from skglm import LinearSVC

    return LinearSVC(C=row.C, tol=tol, fit_intercept=False, max_iter=10_000)


# --- separatrix -----------------------------------------------------------------------------------


def _separatrix(row: Row, X, y, *, solver: str = "auto", time_limit: float | None = None) -> Fit:
    import separatrix

    def fit(tol: float) -> Fitted:
        common = {"C": row.C, "tol": tol, "fit_intercept": row.intercept, "max_iter": MANY}
        common |= {"l1_ratio": row.l1_ratio, "solver": solver, "time_limit": time_limit}
        if row.loss in ("log", "multinomial"):
            classes = "ovr" if row.one_vs_rest else "multinomial"
            model = separatrix.LogisticRegression(multiclass=classes, **common)
        else:
            model = separatrix.LinearSVC(loss=row.loss, **common)
        model.fit(X, y)
        certificate = model.certificate_
        claims = {
            "status": certificate.status,
            "dual": float(certificate.dual),
            "relative_gap": float(certificate.relative_gap),
        }
        binary = row.loss != "multinomial" and not row.one_vs_rest
        return Fitted(
            np.ravel(model.coef_) if binary else model.coef_,
            float(model.intercept_[0]) if binary else model.intercept_,
            int(np.max(model.n_iter_)),
            claims,
        )

    return fit


def printed_elsewhere(code: str) -> str | None:
    """The output of code in the second environment; None where it is missing or the code fails."""
    if not ELSEWHERE.is_file():
        return None
    done = subprocess.run([ELSEWHERE, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


@cache
def interpreter(group: str) -> str | None:
    """The interpreter that can import the module of a group of solvers; None where there is none.

    It is this one, or else that of the second environment.
    """
    module = MODULES[group]
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    find = f"import importlib.util as u; raise SystemExit(u.find_spec({module!r}) is None)"
    return None if printed_elsewhere(find) is None else str(ELSEWHERE)


def installed(group: str) -> bool:
    """Whether the module of a group of solvers can be imported, here or elsewhere."""
    return interpreter(group) is not None


# --- the table ------------------------------------------------------------------------------------

_GRADIENT = decades(0, -10)  # largest entry of the mean loss's gradient
_LIBLINEAR = decades(0, -9)

_SNAPML = decades(0, -8)

_PASSES = (5.0, 20.0, 100.0, 500.0, 2000.0)


def _sklearn_logistic(name: str, settings, **options) -> Solver:
    losses = options.pop("losses", ("log", "multinomial"))
    named = ("intercept", "l1_ratios", "max_features", "quick", "quick_form")
    limits = {k: options.pop(k) for k in named if k in options}
    prepare = partial(_estimator, partial(_logistic, **options))
    return Solver(name, "scikit-learn", settings, prepare, losses, **limits)


def own(
    solver: str = "auto",
    settings: tuple[float, ...] = (0.9, 0.7, *decades(-1, -9)),
    time_limit: float | None = None,
) -> Solver:
    """This library, by default or with one of its solvers by name."""
    return Solver(
        "separatrix" if solver == "auto" else f"separatrix {solver}",
        "separatrix",
        settings,
        partial(_separatrix, solver=solver, time_limit=time_limit),
        ("log", "hinge", "squared_hinge", "multinomial"),
        l1_ratios=(0.0, 1.0),
        one_vs_rest=(False, True),
        forms=("csr", "dense"),
    )


def by_default(loss: str) -> Solver:
    """scikit-learn's estimator for a loss, with only the objective set."""
    margins = loss in ("hinge", "squared_hinge")
    return Solver(
        "default",
        "scikit-learn",
        (1e-4,),
        partial(_estimator, _by_default),
        (loss,),
        # LinearSVC penalises the intercept; LogisticRegression has no L1 with its default solver.
        intercept=(False,) if margins else (False, True),
        l1_ratios=(0.0, 1.0) if loss == "squared_hinge" else (0.0, 0.0),
        one_vs_rest=(False, True) if margins else (False,),
    )


# In each group the solvers that are usually fast come first: they set the others' time limit.
SOLVERS: tuple[Solver, ...] = (
    own(),
    Solver(
        "oneDAL lbfgs",
        "oneDAL",
        _GRADIENT,
        partial(_estimator, _onedal),
        ("log", "multinomial"),
        forms=("dense", "float64"),
        quick_form="dense",
    ),
    Solver(
        "snapml dual",
        "snapml",
        _SNAPML,
        partial(_snapml, dual=True),
        ("log", "hinge", "squared_hinge"),
        intercept=(False,),
        forms=("csr", "dense"),  # it computes in float32 whatever it is given
    ),
    Solver(
        "snapml primal",
        "snapml",
        _SNAPML,
        partial(_snapml, dual=False),
        ("log",),
        intercept=(False,),
        forms=("csr", "dense"),
    ),
    _sklearn_logistic("lbfgs", _GRADIENT, solver="lbfgs"),
    _sklearn_logistic("newton-cg", _GRADIENT, solver="newton-cg"),
    _sklearn_logistic(
        "newton-cholesky",
        _GRADIENT,
        solver="newton-cholesky",
        max_features=2000,
        quick_form="dense",
    ),
    _sklearn_logistic(
        "liblinear dual",
        _LIBLINEAR,
        solver="liblinear",
        dual=True,
        losses=("log",),
        intercept=(False,),
    ),
    _sklearn_logistic(
        "liblinear", _LIBLINEAR, solver="liblinear", losses=("log",), intercept=(False,)
    ),
    _sklearn_logistic("saga", decades(-1, -8), solver="saga", l1_ratios=(0.0, 1.0), quick=False),
    _sklearn_logistic("sag", decades(-1, -8), solver="sag", quick=False),
    Solver(
        "LinearSVC dual",
        "scikit-learn",
        _LIBLINEAR,
        partial(_estimator, partial(_linear_svc, dual=True)),
        ("hinge", "squared_hinge"),
        intercept=(False,),
        one_vs_rest=(False, True),
    ),
    Solver(
        "LinearSVC primal",
        "scikit-learn",
        _LIBLINEAR,
        partial(_estimator, partial(_linear_svc, dual=False)),
        ("squared_hinge",),
        intercept=(False,),
        one_vs_rest=(False, True),
    ),
    Solver(
        "SGD",
        "scikit-learn",
        _PASSES,
        partial(_sgd, average=False),
        ("log", "hinge", "squared_hinge"),
        quick=False,
    ),
    Solver(
        "SGD averaged",
        "scikit-learn",
        _PASSES,
        partial(_sgd, average=True),
        ("log", "hinge", "squared_hinge"),
        quick=False,
    ),
    *(
        Solver(
            f"-s {solver_type}",
            "LIBLINEAR",
            _LIBLINEAR,
            partial(_liblinear, solver_type=solver_type),
            (loss,),
            intercept=intercept,
            l1_ratios=(l1_ratio, l1_ratio),
            one_vs_rest=(False, True),
            forms=("csr",),
        )
        for solver_type, loss, intercept, l1_ratio in (
            (0, "log", (False, True), 0.0),
            (7, "log", (False,), 0.0),
            (2, "squared_hinge", (False, True), 0.0),
            (1, "squared_hinge", (False,), 0.0),
            (3, "hinge", (False,), 0.0),
            (5, "squared_hinge", (False, True), 1.0),
            (6, "log", (False, True), 1.0),
        )
    ),
    Solver(
        "skglm LBFGS",
        "skglm",
        decades(-2, -10),
        _skglm_lbfgs,
        ("log",),
        intercept=(False,),
        forms=("csr", "dense"),
        quick=False,
    ),
    Solver(
        "skglm LinearSVC",
        "skglm",
        decades(0, -8),
        partial(_estimator, _skglm_svc),
        ("hinge",),
        intercept=(False,),
        forms=("csr", "dense"),
        quick=False,
    ),
    Solver(
        "skglm ProxNewton",
        "skglm",
        decades(-2, -10),
        _skglm_sparse,
        ("log",),
        l1_ratios=(0.01, 1.0),
        forms=("csr", "dense"),
        quick=False,
    ),
    Solver(
        "celer",
        "celer",
        decades(-1, -8),
        _celer,
        ("log",),
        intercept=(False,),
        l1_ratios=(1.0, 1.0),
        forms=("csr", "dense"),
    ),
    *(
        Solver(
            f"glum {solver}",
            "glum",
            decades(-1, -10),
            partial(_glum, solver=solver),
            ("log",),
            l1_ratios=l1_ratios,
            forms=("csr", "dense"),
            max_features=most,
            quick=False,
        )
        # The first forms the Hessian of all columns.
        for solver, l1_ratios, most in (
            ("irls-ls", (0.0, 0.0), 5000),
            ("irls-cd", (0.01, 1.0), 5000),
            ("lbfgs", (0.0, 0.0), np.inf),
        )
    ),
    Solver(
        "skein",
        "skein",
        decades(-1, -10),
        _skein,
        ("log",),
        l1_ratios=(0.0, 1.0),
        forms=("csr", "dense"),
        quick=False,
    ),
    Solver(
        "adelie",
        "adelie",
        decades(-2, -12),
        _adelie,
        ("log",),
        l1_ratios=(0.0, 1.0),
        forms=("csr", "dense"),
        quick=False,
    ),
)
