"""``python -m benchmarks.tampering``: an attack on what ``verify`` says of altered models.

Small problems of the families of :mod:`benchmarks.hostile_data` are fitted by every estimator that
can be verified, of this library and of scikit-learn, in memory and in passes over row blocks.  Then
each coefficient and each intercept is altered by itself, by 1e-3 to 1e12 of its size, and
``verify`` is asked.  What it says is held to objectives that are written down in
:mod:`benchmarks.tampering_judge` and evaluated in fractions or in balls.  Besides what is false
there (``primal``, ``dual``, ``optimal``) a ``crash`` is false: an exception that is no refusal.

Every verdict, of the model as fitted and of each altered one, counts as a problem.  The last lines
say for each estimator how many there were, how many models were called optimal as they were fitted
and after they were altered, how often ``verify`` refused, and how much was false.  Problem number
``k`` of a seed and a ``--model`` is the same however many there are.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import itertools
import math
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.attacks import crash, is_refusal, one_thread_each, parser, results
from benchmarks.certificate_judge import Undecided
from benchmarks.hostile_data import FAMILIES, Data, all_there, power, stored
from benchmarks.tampering_judge import (
    Fitted,
    Judge,
    balls,
    closed,
    fractions,
    gaussians,
    huber,
    is_own,
    kernel_regression,
    lasso,
    poisson,
    polynomial,
    scikit_learn,
    shares,
    stochastic,
    svr,
)

__all__ = ["GROUPS", "MODELS", "Attack", "attack", "main", "trial"]

# The seconds for a new bound: the one that is reached by then has to be true as well.
_SECONDS = 0.05
# Seconds that a fit of LIBLINEAR or LIBSVM may take.
_PATIENCE = 2
# The default number of verdicts.
_PROBLEMS = 10_000


# --- estimators ---------------------------------------------------------------------------------

_Draw = Callable[[np.random.Generator], dict[str, Any]]


@dataclass
class Kind:
    """One estimator: its parameters, its data, and the judge of its numbers."""

    parameters: _Draw
    judge: Callable[[Fitted], Judge]
    # The number of classes; 0 for a regression.
    classes: int = 0
    # Whether the targets are counts.
    counts: bool = False
    packages: tuple[str, ...] = ("separatrix", "sklearn")
    # Whether some of its problems are fitted in passes.
    passes: bool = False
    weighted: bool = True
    targets: int = 1
    # The attributes that are altered, where these are not the coefficients and the intercept.
    numbers: tuple[str, ...] = ()
    # The attributes that may be out of the range of float64: nothing is predicted with them.
    unbounded: tuple[str, ...] = ()


def _of_ridge(rng: np.random.Generator) -> dict[str, Any]:
    return {"alpha": power(rng, -9, 5), "fit_intercept": bool(rng.random() < 0.8)}


def _of_plain(rng: np.random.Generator) -> dict[str, Any]:
    return {"fit_intercept": bool(rng.random() < 0.8)}


def _of_lam(rng: np.random.Generator) -> dict[str, Any]:
    return {"lam": power(rng, -9, 3)}


def _of_lasso(rng: np.random.Generator) -> dict[str, Any]:
    return {"alpha": power(rng, -4, 1), "fit_intercept": bool(rng.random() < 0.8)}


def _of_net(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_lasso(rng), "l1_ratio": float(rng.choice([0.1, 0.5, 0.9]))}


def _of_svr(rng: np.random.Generator) -> dict[str, Any]:
    losses = ["epsilon_insensitive", "squared_epsilon_insensitive"]
    return {
        "C": power(rng, -3, 2),
        "epsilon": float(rng.choice([0.0, 0.1, 1.0])),
        "loss": str(rng.choice(losses)),
        "max_iter": 50,
    }


_RESIDUAL = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]


def _of_sgd_regressor(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "loss": str(rng.choice(_RESIDUAL)),
        "alpha": power(rng, -3, 1),
        "max_iter": 5,
        "random_state": 0,
        "eta0": 1e-3,
    }


def _of_kinked_sgd(rng: np.random.Generator) -> dict[str, Any]:
    penalty = str(rng.choice(["l1", "elasticnet"]))
    return {**_of_sgd_regressor(rng), "penalty": penalty, "l1_ratio": 0.3}


def _of_strength(rng: np.random.Generator) -> dict[str, Any]:
    return {"C": power(rng, -3, 3)}


def _of_logistic(rng: np.random.Generator) -> dict[str, Any]:
    penalty = str(rng.choice(["l2", "l2", "l1"]))
    return {"C": power(rng, -3, 3), "penalty": penalty, "fit_intercept": bool(rng.random() < 0.8)}


def _of_any_logistic(rng: np.random.Generator) -> dict[str, Any]:
    out = {**_of_plain(rng), **_of_strength(rng)}
    penalty = str(rng.choice(["l2", "l1", "elasticnet", "none"]))
    if penalty == "none":
        return {"penalty": None, "fit_intercept": out["fit_intercept"]}
    mixed = {"l1_ratio": 0.3} if penalty == "elasticnet" else {}
    return {**out, "penalty": penalty, **mixed}


def _of_linear_svc(rng: np.random.Generator) -> dict[str, Any]:
    out = {**_of_plain(rng), **_of_strength(rng)}
    kinds = [
        {"loss": "hinge"},
        {"loss": "squared_hinge"},
        {"loss": "squared_hinge", "penalty": "l1"},
    ]
    return {**out, **kinds[int(rng.integers(3))], "max_iter": 50}


def _of_theirs(rng: np.random.Generator) -> dict[str, Any]:
    """Parameters of a linear machine of LIBLINEAR, which penalises the intercept."""
    out = {**_of_linear_svc(rng), "intercept_scaling": float(rng.choice([1.0, 0.3, 10.0]))}
    return {**out, "dual": out["loss"] == "hinge", "random_state": 0}


def _of_their_logistic(rng: np.random.Generator) -> dict[str, Any]:
    out = {**_of_plain(rng), **_of_strength(rng)}
    solver = str(rng.choice(["lbfgs", "newton-cholesky", "liblinear"]))
    if solver == "liblinear":
        out |= {"l1_ratio": float(rng.choice([0.0, 1.0])), "intercept_scaling": 0.3}
    return {**out, "solver": solver, "random_state": 0}


def _of_svc(rng: np.random.Generator) -> dict[str, Any]:
    kernel = str(rng.choice(["linear", "poly"]))
    return {"C": power(rng, -3, 2), "kernel": kernel, "degree": 2, "gamma": 0.5, "coef0": 1.0}


def _of_kernel(rng: np.random.Generator) -> dict[str, Any]:
    kernel = str(rng.choice(["linear", "poly", "rbf"]))
    return {"kernel": kernel, "degree": 2, "gamma": power(rng, -2, 1), "coef0": 1.0}


def _of_machine(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_kernel(rng), "C": power(rng, -3, 2)}


def _of_tube(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_machine(rng), "epsilon": float(rng.choice([0.0, 0.1, 1.0]))}


def _of_share(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_kernel(rng), "nu": float(rng.choice([0.1, 0.3, 0.5, rng.uniform(0.05, 0.9)]))}


def _of_tube_by_share(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_share(rng), "C": power(rng, -3, 2)}


def _of_sgd(rng: np.random.Generator) -> dict[str, Any]:
    losses = ["hinge", "log_loss", "squared_hinge"]
    return {
        "loss": str(rng.choice(losses)),
        "alpha": power(rng, -3, 1),
        "max_iter": 5,
        "random_state": 0,
        "eta0": 1e-2,
    }


def _of_perceptron(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "max_passes": int(rng.choice([1, 3, 20])),
        "margin": float(rng.choice([0.0, 0.0, power(rng, -2, 2)])),
        "fit_intercept": bool(rng.random() < 0.8),
        "random_state": 0,
    }


def _of_polynomial(rng: np.random.Generator) -> dict[str, Any]:
    lam = float(rng.choice([0.0, power(rng, -9, 3)]))
    return {"degree": int(rng.integers(1, 4)), "lam": lam}


def _of_gaussians(rng: np.random.Generator) -> dict[str, Any]:
    return {"covariance": str(rng.choice(["mle", "unbiased"]))}


def _of_their_lda(rng: np.random.Generator) -> dict[str, Any]:
    return {"solver": str(rng.choice(["svd", "lsqr", "eigen"]))}


def _nothing(rng: np.random.Generator) -> dict[str, Any]:
    return {}


def _with(draw: _Draw, **fixed: Any) -> _Draw:
    return lambda rng: {**draw(rng), **fixed}


_OWN, _THEIRS = ("separatrix",), ("sklearn",)
_GRID = [0.01, 0.1, 1.0]
_FEW = {"cv": 2, "alphas": _GRID}
_MACHINE = ("dual_coef_", "intercept_", "coef_")
_LINEAR_GAUSSIANS = ("coef_", "intercept_", "centred_coef_", "centred_intercept_")
_GAUSSIANS = ("means_", "priors_", "covariance_")

# The last word of a name is the class.
MODELS: dict[str, Kind] = {
    "Ridge": Kind(_of_ridge, closed, passes=True),
    "positive Ridge": Kind(_with(_of_ridge, positive=True), closed),
    "RidgeCV": Kind(_with(_nothing, alphas=[1e-3, 1.0, 1e3]), closed),
    "LinearRegression": Kind(_of_plain, closed, passes=True),
    "penalised LinearRegression": Kind(_of_lam, closed, packages=_OWN, passes=True),
    "RidgeClassifier": Kind(_of_ridge, closed, classes=2, passes=True),
    "LeastSquaresClassifier": Kind(_of_lam, closed, classes=2, packages=_OWN),
    "Lasso": Kind(_of_lasso, fractions(lasso)),
    "positive Lasso": Kind(_with(_of_lasso, positive=True), fractions(lasso)),
    "ElasticNet": Kind(_of_net, fractions(lasso)),
    "LassoCV": Kind(_with(_nothing, **_FEW), fractions(lasso)),
    "LinearSVR": Kind(_of_svr, fractions(svr), packages=_OWN),
    "SGDRegressor": Kind(_of_sgd_regressor, fractions(stochastic)),
    "LogisticRegression": Kind(_of_logistic, balls, classes=2, packages=_OWN, passes=True),
    "LinearSVC": Kind(_of_strength, balls, classes=2, packages=_OWN, passes=True),
    "SVC": Kind(_of_svc, balls, classes=2, packages=_OWN),
    "SGDClassifier": Kind(_of_sgd, balls, classes=2, packages=_OWN),
}

#: Names that stand for several estimators.  The seventeen original ones are ``first``; their known
#: problems are numbered under this name.
GROUPS: dict[str, tuple[str, ...]] = {"first": tuple(MODELS)}

MODELS |= {
    # Closed forms.
    "positive LinearRegression": Kind(_with(_of_plain, positive=True), closed),
    "two-target Ridge": Kind(_of_ridge, closed, targets=2),
    "two-target LinearRegression": Kind(_of_plain, closed, targets=2),
    "PolynomialRegression": Kind(
        _of_polynomial,
        polynomial,
        packages=_OWN,
        numbers=("basis_coef_", "basis_intercept_", "coef_", "intercept_"),
        unbounded=("coef_", "intercept_"),
    ),
    "multiclass RidgeClassifier": Kind(_of_ridge, closed, classes=3, passes=True),
    "multiclass LeastSquaresClassifier": Kind(
        _of_lam, closed, classes=3, packages=_OWN, passes=True
    ),
    "RidgeClassifierCV": Kind(_with(_nothing, alphas=_GRID), closed, classes=2, packages=_OWN),
    "multiclass RidgeClassifierCV": Kind(
        _with(_nothing, alphas=_GRID), closed, classes=3, packages=_OWN
    ),
    "LinearDiscriminantAnalysis": Kind(
        _of_gaussians,
        gaussians,
        classes=2,
        packages=_OWN,
        passes=True,
        numbers=("coef_", "intercept_", *_GAUSSIANS),
    ),
    "multiclass LinearDiscriminantAnalysis": Kind(
        _of_gaussians,
        gaussians,
        classes=3,
        packages=_OWN,
        passes=True,
        numbers=(*_LINEAR_GAUSSIANS, *_GAUSSIANS),
    ),
    "QuadraticDiscriminantAnalysis": Kind(
        _of_gaussians, gaussians, classes=2, packages=_OWN, passes=True, numbers=_GAUSSIANS
    ),
    "scikit-learn's LinearDiscriminantAnalysis": Kind(
        _of_their_lda,
        gaussians,
        classes=2,
        packages=_THEIRS,
        weighted=False,
        numbers=("coef_", "intercept_", *_GAUSSIANS),
    ),
    "scikit-learn's multiclass LinearDiscriminantAnalysis": Kind(
        _of_their_lda,
        gaussians,
        classes=3,
        packages=_THEIRS,
        weighted=False,
        numbers=("coef_", "intercept_", *_GAUSSIANS),
    ),
    "scikit-learn's QuadraticDiscriminantAnalysis": Kind(
        _nothing,
        gaussians,
        classes=2,
        packages=_THEIRS,
        weighted=False,
        numbers=("means_", "priors_", "scalings_", "rotations_"),
    ),
    # Regressions with a gap.
    "HuberRegressor": Kind(_with(_of_ridge, max_iter=100), huber),
    "PoissonRegressor": Kind(_with(_of_ridge, max_iter=50), poisson, counts=True),
    "sparse PoissonRegressor": Kind(
        _with(_of_net, max_iter=50), poisson, counts=True, packages=_OWN
    ),
    "ElasticNetCV": Kind(_with(_nothing, l1_ratio=[0.2, 0.9], **_FEW), fractions(lasso)),
    "kinked SGDRegressor": Kind(_of_kinked_sgd, fractions(stochastic)),
    # Classifiers with a gap.
    "any LogisticRegression": Kind(_of_any_logistic, balls, classes=2, packages=_OWN, passes=True),
    "multinomial LogisticRegression": Kind(
        _of_any_logistic, balls, classes=3, packages=_OWN, passes=True
    ),
    "one-vs-rest LogisticRegression": Kind(
        _with(_of_logistic, multiclass="ovr"), balls, classes=3, packages=_OWN, passes=True
    ),
    "LogisticRegressionCV": Kind(
        _with(_of_plain, cv=2, Cs=_GRID), balls, classes=2, packages=_OWN, passes=True
    ),
    "multinomial LogisticRegressionCV": Kind(
        _with(_of_plain, cv=2, Cs=_GRID), balls, classes=3, packages=_OWN, passes=True
    ),
    "any LinearSVC": Kind(_of_linear_svc, balls, classes=2, packages=_OWN, passes=True),
    "multiclass LinearSVC": Kind(_of_linear_svc, balls, classes=3, packages=_OWN, passes=True),
    "sequential SGDClassifier": Kind(_of_sgd, balls, classes=2, packages=_OWN, passes=True),
    "multiclass SGDClassifier": Kind(_of_sgd, balls, classes=3, packages=_OWN, passes=True),
    "residual SGDClassifier": Kind(
        _of_sgd_regressor, fractions(stochastic), classes=2, packages=_OWN
    ),
    "Perceptron": Kind(_of_perceptron, balls, classes=2, packages=_OWN, passes=True),
    "multiclass Perceptron": Kind(_of_perceptron, balls, classes=3, packages=_OWN, passes=True),
    "scikit-learn's LogisticRegression": Kind(
        _of_their_logistic, scikit_learn, classes=2, packages=_THEIRS
    ),
    "scikit-learn's multinomial LogisticRegression": Kind(
        _with(_of_strength, max_iter=50), scikit_learn, classes=3, packages=_THEIRS
    ),
    "scikit-learn's LinearSVC": Kind(_of_theirs, scikit_learn, classes=2, packages=_THEIRS),
    "scikit-learn's multiclass LinearSVC": Kind(
        _of_theirs, scikit_learn, classes=3, packages=_THEIRS
    ),
    "scikit-learn's SGDClassifier": Kind(_of_sgd, scikit_learn, classes=2, packages=_THEIRS),
    "scikit-learn's multiclass SGDClassifier": Kind(
        _of_sgd, scikit_learn, classes=3, packages=_THEIRS
    ),
    # Machines with kernels.
    "any SVC": Kind(_of_machine, balls, classes=2, packages=_OWN, numbers=_MACHINE),
    "multiclass SVC": Kind(_of_machine, balls, classes=3, packages=_OWN, numbers=_MACHINE),
    "scikit-learn's SVC": Kind(_of_machine, balls, classes=2, packages=_THEIRS, numbers=_MACHINE),
    "scikit-learn's multiclass SVC": Kind(
        _of_machine, balls, classes=3, packages=_THEIRS, numbers=_MACHINE
    ),
    "SVR": Kind(_of_tube, kernel_regression, packages=_OWN, numbers=_MACHINE),
    "NuSVR": Kind(_of_tube_by_share, kernel_regression, packages=_OWN, numbers=_MACHINE),
    "NuSVC": Kind(_of_share, shares, classes=2, packages=_OWN, numbers=_MACHINE),
    "multiclass NuSVC": Kind(_of_share, shares, classes=3, packages=_OWN, numbers=_MACHINE),
    "OneClassSVM": Kind(_of_share, shares, packages=_OWN, numbers=_MACHINE),
}


# --- one fit ------------------------------------------------------------------------------------


@dataclass
class Attack:
    """The outcome of one fit and of the models that were made of it."""

    number: int
    model: str
    families: tuple[str, ...]
    # The numbers of verdicts and of models called optimal: as fitted, and altered.
    problems: int = 0
    optimal: int = 0
    altered: int = 0
    # The number of altered models that were refused, and the reason if the fit was.
    refused: int = 0
    refusal: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Case(Fitted):
    """A fitted model with its data, and how it is verified."""

    kind: Kind = field(kw_only=True)
    block_rows: int | None = field(kw_only=True)

    def verified(self, model: Any) -> Any:
        from separatrix import verify

        if self.block_rows is not None:
            return verify(model, self.scanned(), time_limit=_SECONDS)
        return verify(model, self.X, self.y, sample_weight=self.weights, time_limit=_SECONDS)

    def scanned(self) -> Any:
        from separatrix.scale import scan

        return scan(
            self.X,
            self.y,
            weight=self.weights,
            block_rows=self.block_rows,
            quantity=not self.kind.classes,
        )

    def fit(self) -> None:
        given = {} if self.weights is None else {"sample_weight": self.weights}
        if self.block_rows is not None:
            self.model.fit(self.scanned())
        else:
            self.model.fit(self.X, self.y, **given)


def _class_named(name: str, package: str) -> Any:
    if package == "separatrix":
        return getattr(import_module(package), name)
    for module in ("linear_model", "svm", "discriminant_analysis"):
        found = getattr(import_module(f"sklearn.{module}"), name, None)
        if found is not None:
            return found
    raise LookupError(name)


def _case(seed: int, number: int, name: str, families: list[str], way: str | None) -> _Case:
    """A model, not yet fitted, and its data."""
    rng = np.random.default_rng([seed, number, 1])
    kind = MODELS[name]
    n, d = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    n = max(n, 3 * kind.classes) if kind.classes > 2 else n
    X = rng.normal(size=(n, d))
    y: np.ndarray = X @ rng.normal(size=d) + rng.normal(size=n) * rng.choice([0.0, 0.1, 1.0])
    if kind.classes == 2:
        y = all_there((y > np.median(y)).astype(int), np.arange(2))
    elif kind.classes:
        ends = np.quantile(y, np.arange(1, kind.classes) / kind.classes)
        y = all_there(np.searchsorted(ends, y), np.arange(kind.classes))
    else:
        y = y * power(rng, -3, 3)
        if rng.random() < 0.1:
            y = y * power(rng, -200, 100)
    data = Data(X, y)
    for family in sorted(families, key=list(FAMILIES).index):
        FAMILIES[family](rng, data)
    if kind.counts:
        data.y = np.floor(np.minimum(np.abs(data.y), 1e6))
    if kind.targets > 1:
        more = rng.normal(size=(len(data.y), kind.targets - 1)) * power(rng, -3, 3)
        data.y = np.column_stack([data.y, more])
    if not kind.weighted or (data.weights is not None and not data.weights.any()):
        data.weights = None
    blocks = way == "passes" or (way is None and kind.passes and rng.random() < 0.25)
    package = "separatrix" if blocks else str(rng.choice(kind.packages))
    with np.errstate(all="ignore"):
        X = stored(data)
    model = _class_named(name.split()[-1], package)(**kind.parameters(rng))
    rows = 1 + number % 5 if blocks else None
    return _Case(model, X, data.y, data.weights, kind.classes, kind=kind, block_rows=rows)


def _named(case: _Case) -> list[str]:
    """The attributes that are altered."""
    if case.kind.numbers:
        return [name for name in case.kind.numbers if hasattr(case.model, name)]
    names = ["dual_coef_"] if hasattr(case.model, "dual_coef_") else ["coef_"]
    return [*names, "intercept_"]


def _altered(case: _Case, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Models with one number altered each, and what was altered."""
    for name in _named(case):
        if name == "intercept_" and not getattr(case.model, "fit_intercept", True):
            continue
        if isinstance(getattr(type(case.model), name, None), property):
            # An attribute that follows from other numbers can't be set.
            continue
        given = getattr(case.model, name)
        try:
            whole = np.array(given.toarray() if sp.issparse(given) else given, dtype=np.float64)
        except ValueError:
            # The attribute has matrices of several sizes.
            continue
        for place in np.ndindex(whole.shape):
            size = abs(whole[place]) or float(np.abs(whole).max()) or 1.0
            by = power(rng, -3, 12) * float(rng.choice([-1.0, 1.0]))
            new = whole.copy()
            new[place] += by * size
            if not math.isfinite(new[place]) or new[place] == whole[place]:
                continue
            model = copy.copy(case.model)
            setattr(model, name, _like(given, new))
            if name == "dual_coef_" and is_own(model) and "coef_" in vars(model):
                # The weights of the columns are the sums of the same rows.
                model.coef_ = _weighted(model)
            yield f"{name}{list(place)} by {by:.1e} of its size", model


def _like(given: Any, new: np.ndarray) -> Any:
    if isinstance(given, list):
        return list(new)
    return new if new.ndim else np.float64(new)


def _weighted(model: Any) -> np.ndarray:
    """The weights of the columns by the coefficients of the rows."""
    coefficients = np.asarray(model._pair_coefficients())
    vectors = model.support_vectors_
    vectors = vectors.toarray() if sp.issparse(vectors) else np.asarray(vectors, dtype=np.float64)
    return np.ascontiguousarray(coefficients.T @ vectors)


def _is_finite(case: _Case) -> bool:
    for name in _named(case):
        if name in case.kind.unbounded:
            continue
        values = getattr(case.model, name)
        for one in values if isinstance(values, list) else [values]:
            one = one.data if sp.issparse(one) else np.asarray(one, dtype=np.float64)
            if not np.all(np.isfinite(one)):
                return False
    return True


def _not_optimal(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
    """The judge of numbers that are not finite: they must not be called optimal."""
    if found.status == "optimal":
        yield "optimal", f"{what}: the numbers are not finite; {found!r}"


def _names(model: str | None) -> list[str]:
    return list(GROUPS.get(model, [model])) if model else list(MODELS)


def trial(
    seed: int,
    number: int,
    model: str | None = None,
    family: str | None = None,
    way: str | None = None,
) -> Attack:
    """Fit problem ``number``, alter every number of it, and judge each verdict.

    ``model`` is one of :data:`MODELS`, or of :data:`GROUPS`, from which one is drawn.
    """
    rng = np.random.default_rng([seed, number])
    names = _names(model)
    name = str(model if model in MODELS else rng.choice(names))
    count = int(rng.choice([1, 1, 2]))
    # One row a class is no regression, and weights of the rows have a family of their own.
    usual = [f for f in FAMILIES if f not in ("few rows", "strength", "lam", "separable", "wide")]
    families = [family] if family else [str(f) for f in rng.choice(usual, count, replace=False)]
    out = Attack(number, name, tuple(families))
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _tried(out, rng, _case(seed, number, name, families, way))
    out.seconds = time.process_time() - start
    return out


def _ends(case: _Case) -> bool:
    """Whether a fit ends: those of LIBLINEAR and LIBSVM may not, on numbers as large as these."""
    model = case.model
    module = type(model).__module__
    if not module.startswith("sklearn.svm") and vars(model).get("solver") != "liblinear":
        return True
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_PATIENCE)
        with contextlib.suppress(Exception):
            case.fit()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _tried(out: Attack, rng: np.random.Generator, case: _Case) -> None:
    if not _ends(case):
        out.refusal = f"the fit has not ended after {_PATIENCE} s"
        return
    try:
        case.fit()
    except Exception as error:
        # Exceptions of other libraries do not count.
        if is_own(case.model) and not is_refusal(error):
            out.findings.append(("crash", f"fit: {crash(error)}"))
        out.refusal = str(error)
        return
    whole = "as fitted"
    models: Iterator[tuple[str, Any]] = iter([(whole, copy.copy(case.model))])
    judged: Judge = _not_optimal
    try:
        if _is_finite(case):
            judged = case.kind.judge(case)
            models = itertools.chain(models, _altered(case, rng))
        for what, altered in models:
            found = _verdict(out, case, what, altered)
            if found is None:
                continue
            out.problems += 1
            optimal = found.status == "optimal"
            out.optimal += optimal and what == whole
            out.altered += optimal and what != whole
            out.findings += judged(what, altered, found)
            if optimal and getattr(found, "relative_gap", 0.0) > found.tol:
                out.findings.append(("optimal", f"{what}: {found!r}"))
    except Undecided:
        out.refusal = "undecided"
    except Exception as error:
        # A mistake of the judge is never passed over.
        out.findings.append(("crash", f"the judge: {crash(error)}"))


def _verdict(out: Attack, case: _Case, what: str, model: Any) -> Any:
    """The certificate that ``verify`` returns; None where it refuses."""
    try:
        return case.verified(model)
    except Exception as error:
        out.refused += 1
        if not is_refusal(error) and not type(error).__module__.startswith("sklearn"):
            out.findings.append(("crash", f"{what}: {crash(error)}"))
        return None


# --- many ---------------------------------------------------------------------------------------


def _several(task: tuple[int, int, int, str | None, str | None, str | None]) -> list[Attack]:
    seed, first, last, *of = task
    return [trial(seed, number, *of) for number in range(first, last)]


def attack(
    seed: int,
    problems: int,
    *,
    jobs: int = 1,
    model: str | None = None,
    family: str | None = None,
    way: str | None = None,
    chunk: int = 50,
) -> Iterator[Attack]:
    """Trials in the order of their numbers, until there are enough problems."""
    done = 0
    # Other processes are kept busy; in this one each trial may be the last.
    chunk = chunk if jobs > 1 else 1
    tasks = ((seed, k, k + chunk, model, family, way) for k in itertools.count(0, chunk))
    for one in results(_several, tasks, jobs):
        yield one
        done += max(one.problems, 1)
        if done >= problems:
            return


# --- the report ---------------------------------------------------------------------------------


@dataclass
class _Count:
    """Counts of one estimator, or of all."""

    fits: int = 0
    problems: int = 0
    optimal: int = 0
    altered: int = 0
    refused: int = 0
    false: int = 0
    seconds: float = 0.0

    def add(self, one: Attack) -> None:
        self.fits += not one.refusal
        self.problems += one.problems
        self.optimal += one.optimal
        self.altered += one.altered
        self.refused += one.refused
        self.false += len(one.findings)
        self.seconds += one.seconds

    def __str__(self) -> str:
        numbers = (self.problems, self.fits, self.optimal, self.altered, self.refused, self.false)
        row = zip([*numbers, round(self.seconds)], _WIDTHS.values(), strict=True)
        return "".join(f"{number:>{width}}" for number, width in row)


_WIDTHS = {
    "problems": 9,
    "fits": 8,
    "optimal": 9,
    "altered": 9,
    "refused": 9,
    "false": 7,
    "CPU s": 9,
}


def _parser() -> argparse.ArgumentParser:
    names = [*MODELS, *GROUPS]
    out = parser("benchmarks.tampering", __doc__, families=FAMILIES, models=names)
    out.set_defaults(problems=_PROBLEMS)
    way = "how the models are fitted and verified"
    out.add_argument("--way", choices=["memory", "passes"], help=way)
    return out


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    one_thread_each()
    of = {"model": args.model, "family": args.family, "way": args.way}
    if args.only is not None:
        trials: Iterator[Attack] = iter([trial(args.seed, args.only, **of)])
    else:
        trials = attack(args.seed, args.problems, jobs=args.jobs, **of)
    counts: dict[str, _Count] = {name: _Count() for name in _names(args.model)}
    whole = _Count()
    try:
        for one in trials:
            whole.add(one)
            counts[one.model].add(one)
            for kind, text in one.findings:
                where = f"{one.number} {one.model} ({', '.join(one.families)})"
                print(f"{where} FALSE {kind}: {text}", flush=True)
    except KeyboardInterrupt:
        print("interrupted: the problems so far", file=sys.stderr)
    if args.only is not None and one.refusal:
        print(f"the fit was refused: {one.refusal}")
    print("".join(f"{name:>{width}}" for name, width in _WIDTHS.items()))
    for name, count in counts.items():
        if count.problems or count.false:
            print(f"{count}  {name}")
    print(f"{whole}  all: the models called optimal as they were fitted, and altered")
    print(f"{whole.problems} problems, {whole.false} false")
    return int(whole.false > 0)


if __name__ == "__main__":
    sys.exit(main())
