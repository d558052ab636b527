"""``python -m benchmarks.tampering``: an attack on what ``verify`` says of altered models.

Small problems of the families of :mod:`benchmarks.certificates` are fitted by every estimator, of
this library and of scikit-learn, in memory and in passes over row blocks.  Then each coefficient
and each intercept is altered by itself, by 1e-3 to 1e12 of its size, and ``verify`` is asked.  What
it says is held to objectives that are written down here from the documentation and evaluated in
fractions, or in intervals by :mod:`benchmarks.certificate_judge`:

- ``primal``: the objective at the altered numbers is above the certificate's ``primal``;
- ``dual``: it is below the certificate's ``dual`` at a point that is known;
- ``optimal``: a closed form is called optimal, although an objective that is known is less by more
  than two millionths, and the fit is not exact in every row;
- ``crash``: an exception that is no refusal.

Every verdict, of the model as fitted and of each altered one, counts as a problem.  Problem number
``k`` of a seed is the same however many there are.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import math
import multiprocessing
import os
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, ctx, fmpq, fmpq_mat

from benchmarks.certificates import FAMILIES, Data, _all_there, _describes, _own_cache, _stored

__all__ = ["MODELS", "Attack", "attack", "main", "trial"]

# By how much more than a millionth a closed form may be above the optimum.
_SHARE = fmpq(2, 10**6)
# How exactly a row has to be fitted for the objective not to count, and all rows together.
_EXACT = fmpq(2, 10**8)
# For finding a bound anew: what is reached by then has to be true as well.
_SECONDS = 0.05
# Bits of balls.
_BITS = 2048


def _fraction(value: Any) -> fmpq:
    return fmpq(*float(value).as_integer_ratio())


def _power(rng: np.random.Generator, low: float, high: float) -> float:
    return float(10.0 ** rng.uniform(low, high))


# --- objectives, from the documentation ---------------------------------------------------------


@dataclass
class Rows:
    """Exact rows of a regression: columns, targets and weights."""

    x: list[list[fmpq]]
    y: list[fmpq]
    s: list[fmpq]

    def residuals(self, w: list[fmpq], b: fmpq) -> list[fmpq]:
        out = []
        for row, t in zip(self.x, self.y, strict=True):
            score = b
            for a, v in zip(row, w, strict=True):
                score += a * v
            out.append(t - score)
        return out


def _squares(values: list[fmpq]) -> fmpq:
    return sum((v * v for v in values), fmpq(0))


def _absolute(value: fmpq) -> fmpq:
    return -value if value < 0 else value


def _beyond(value: fmpq, width: fmpq) -> fmpq:
    return max(_absolute(value) - width, fmpq(0))


def _huber(value: fmpq, width: fmpq) -> fmpq:
    size = _absolute(value)
    return size * size / 2 if size <= width else width * size - width * width / 2


Objective = Callable[[Any, Rows, list[fmpq], fmpq], fmpq]


def _ridge(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """Sum of s r^2 plus alpha |w|^2, where ``lam`` stands for alpha over the sum of the weights."""
    strength = _strength(model, rows)
    losses = (s * r * r for s, r in zip(rows.s, rows.residuals(w, b), strict=True))
    return sum(losses, fmpq(0)) + strength * _squares(w)


def _strength(model: Any, rows: Rows) -> fmpq:
    for name in ("alpha_", "alpha"):
        if hasattr(model, name):
            return _fraction(getattr(model, name))
    if hasattr(model, "lam"):
        return _fraction(model.lam) * sum(rows.s, fmpq(0))
    return fmpq(0)


def _lasso(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """sum s r^2 / 2 sum s + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)."""
    alpha = _fraction(getattr(model, "alpha_", getattr(model, "alpha", 1.0)))
    ratio = _fraction(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    losses = sum((s * r * r for s, r in zip(rows.s, rows.residuals(w, b), strict=True)), fmpq(0))
    penalty = ratio * sum(map(_absolute, w), fmpq(0)) + (1 - ratio) * _squares(w) / 2
    mean = losses / (2 * sum(rows.s, fmpq(0)))
    # This library's objectives have the factor on the loss.
    return mean / alpha + penalty if _is_own(model) else mean + alpha * penalty


def _is_own(model: Any) -> bool:
    return type(model).__module__.startswith("separatrix")


def _svr(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """Half of |w|^2 plus C times the losses."""
    width, square = _fraction(model.epsilon), model.loss.startswith("squared")
    losses = fmpq(0)
    for s, r in zip(rows.s, rows.residuals(w, b), strict=True):
        beyond = _beyond(r, width)
        losses += s * (beyond * beyond if square else beyond)
    return _squares(w) / 2 + _fraction(model.C) * losses


def _stochastic(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """The mean of the losses plus alpha times the penalty."""
    width, losses = _fraction(model.epsilon), fmpq(0)
    for s, r in zip(rows.s, rows.residuals(w, b), strict=True):
        beyond = _beyond(r, width)
        losses += s * {
            "squared_error": lambda r: r * r / 2,
            "huber": lambda r: _huber(r, width),
            "epsilon_insensitive": lambda _, beyond=beyond: beyond,
            "squared_epsilon_insensitive": lambda _, beyond=beyond: beyond * beyond,
        }[model.loss](r)
    mean = losses / (sum(rows.s, fmpq(0)) if _is_own(model) else fmpq(len(rows.s)))
    alpha, penalty = _fraction(model.alpha), _squares(w) / 2
    return mean / alpha + penalty if _is_own(model) else mean + alpha * penalty


# --- estimators -----------------------------------------------------------------------------------


@dataclass
class Kind:
    """One estimator: its parameters, and what its numbers are held to."""

    parameters: Callable[[np.random.Generator], dict[str, Any]]
    # Regressions, and classifiers that regress on signs, in fractions; others by the judge.
    objective: Objective | None = None
    classes: bool = False
    closed: bool = False
    packages: tuple[str, ...] = ("separatrix", "sklearn")
    passes: bool = False


def _of_ridge(rng: np.random.Generator) -> dict[str, Any]:
    return {"alpha": _power(rng, -9, 5), "fit_intercept": bool(rng.random() < 0.8)}


def _of_plain(rng: np.random.Generator) -> dict[str, Any]:
    return {"fit_intercept": bool(rng.random() < 0.8)}


def _of_lam(rng: np.random.Generator) -> dict[str, Any]:
    return {"lam": _power(rng, -9, 3)}


def _of_lasso(rng: np.random.Generator) -> dict[str, Any]:
    return {"alpha": _power(rng, -4, 1), "fit_intercept": bool(rng.random() < 0.8)}


def _of_net(rng: np.random.Generator) -> dict[str, Any]:
    return {**_of_lasso(rng), "l1_ratio": float(rng.choice([0.1, 0.5, 0.9]))}


def _of_svr(rng: np.random.Generator) -> dict[str, Any]:
    losses = ["epsilon_insensitive", "squared_epsilon_insensitive"]
    return {"C": _power(rng, -3, 2), "epsilon": float(rng.choice([0.0, 0.1, 1.0])),
            "loss": str(rng.choice(losses)), "max_iter": 50}  # fmt: skip


def _of_sgd_regressor(rng: np.random.Generator) -> dict[str, Any]:
    losses = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
    return {"loss": str(rng.choice(losses)), "alpha": _power(rng, -3, 1), "max_iter": 5,
            "random_state": 0, "eta0": 1e-3}  # fmt: skip


def _of_strength(rng: np.random.Generator) -> dict[str, Any]:
    return {"C": _power(rng, -3, 3)}


def _of_logistic(rng: np.random.Generator) -> dict[str, Any]:
    penalty = str(rng.choice(["l2", "l2", "l1"]))
    return {"C": _power(rng, -3, 3), "penalty": penalty, "fit_intercept": bool(rng.random() < 0.8)}


def _of_svc(rng: np.random.Generator) -> dict[str, Any]:
    kernel = str(rng.choice(["linear", "poly"]))
    return {"C": _power(rng, -3, 2), "kernel": kernel, "degree": 2, "gamma": 0.5, "coef0": 1.0}


def _of_sgd(rng: np.random.Generator) -> dict[str, Any]:
    losses = ["hinge", "log_loss", "squared_hinge"]
    return {"loss": str(rng.choice(losses)), "alpha": _power(rng, -3, 1), "max_iter": 5,
            "random_state": 0, "eta0": 1e-2}  # fmt: skip


_OWN = ("separatrix",)
MODELS: dict[str, Kind] = {
    "Ridge": Kind(_of_ridge, _ridge, closed=True, passes=True),
    "positive Ridge": Kind(lambda rng: {**_of_ridge(rng), "positive": True}, _ridge, closed=True),
    "RidgeCV": Kind(lambda rng: {"alphas": [1e-3, 1.0, 1e3]}, _ridge, closed=True),
    "LinearRegression": Kind(_of_plain, _ridge, closed=True, passes=True),
    "penalised LinearRegression": Kind(_of_lam, _ridge, closed=True, packages=_OWN, passes=True),
    "RidgeClassifier": Kind(_of_ridge, _ridge, classes=True, closed=True, passes=True),
    "LeastSquaresClassifier": Kind(_of_lam, _ridge, classes=True, closed=True, packages=_OWN),
    "Lasso": Kind(_of_lasso, _lasso),
    "positive Lasso": Kind(lambda rng: {**_of_lasso(rng), "positive": True}, _lasso),
    "ElasticNet": Kind(_of_net, _lasso),
    "LassoCV": Kind(lambda rng: {"cv": 2, "alphas": [0.01, 0.1, 1.0]}, _lasso),
    "LinearSVR": Kind(_of_svr, _svr, packages=_OWN),
    "SGDRegressor": Kind(_of_sgd_regressor, _stochastic),
    "LogisticRegression": Kind(_of_logistic, classes=True, packages=_OWN, passes=True),
    "LinearSVC": Kind(_of_strength, classes=True, packages=_OWN, passes=True),
    "SVC": Kind(_of_svc, classes=True, packages=_OWN),
    "SGDClassifier": Kind(_of_sgd, classes=True, packages=_OWN),
}


@dataclass
class Attack:
    """What became of one fit and of the models that were made of it."""

    number: int
    model: str
    families: tuple[str, ...]
    problems: int = 0
    optimal: int = 0
    refusal: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Fit:
    """A fitted model with its data."""

    name: str
    kind: Kind
    model: Any
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    block_rows: int | None

    def verified(self, model: Any) -> Any:
        from separatrix import verify

        if self.block_rows is not None:
            return verify(model, self.scanned(), time_limit=_SECONDS)
        return verify(model, self.X, self.y, sample_weight=self.weights, time_limit=_SECONDS)

    def scanned(self) -> Any:
        from separatrix.scale import scan

        return scan(
            self.X, self.y, weight=self.weights, block_rows=self.block_rows,
            quantity=not self.kind.classes,
        )  # fmt: skip

    def rows(self) -> Rows:
        x = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        y = np.asarray(self.y, dtype=np.float64)
        if self.kind.classes:
            y = np.where(self.y == self.model.classes_[1], 1.0, -1.0)
        s = np.ones(len(y)) if self.weights is None else self.weights
        table = [[_fraction(v) for v in row] for row in x.astype(np.float64)]
        return Rows(table, [_fraction(v) for v in y], [_fraction(v) for v in s])


def _fit(seed: int, number: int, name: str, families: list[str], way: str | None) -> _Fit:
    rng = np.random.default_rng([seed, number, 1])
    kind = MODELS[name]
    n, d = int(rng.integers(4, 11)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    y: np.ndarray = X @ rng.normal(size=d) + rng.normal(size=n) * rng.choice([0.0, 0.1, 1.0])
    if kind.classes:
        y = _all_there((y > np.median(y)).astype(int), np.arange(2))
    else:
        y = y * _power(rng, -3, 3)
        if rng.random() < 0.1:
            y = y * _power(rng, -200, 100)
    data = Data(X, y)
    for family in sorted(families, key=list(FAMILIES).index):
        FAMILIES[family](rng, data)
    if data.weights is not None and not data.weights.any():
        data.weights = None
    blocks = way == "passes" or (way is None and kind.passes and rng.random() < 0.25)
    package = "separatrix" if blocks else str(rng.choice(kind.packages))
    with np.errstate(all="ignore"):
        X = _stored(data)
    class_name = name.split()[-1]
    if package == "separatrix":
        import separatrix as module
    else:
        import sklearn.linear_model as module
    model = getattr(module, class_name)(**kind.parameters(rng))
    out = _Fit(name, kind, model, X, data.y, data.weights, 1 + number % 5 if blocks else None)
    if blocks:
        model.fit(out.scanned())
    elif data.weights is None:
        model.fit(X, data.y)
    else:
        model.fit(X, data.y, sample_weight=data.weights)
    return out


def _altered(fit: _Fit, rng: np.random.Generator) -> Iterator[tuple[str, Any]]:
    """Models with one number altered each, and what was altered."""
    names = ["dual_coef_"] if hasattr(fit.model, "dual_coef_") else ["coef_"]
    if getattr(fit.model, "fit_intercept", True):
        names.append("intercept_")
    for name in names:
        given = getattr(fit.model, name)
        given = given.toarray() if sp.issparse(given) else given
        whole = np.array(given, dtype=np.float64)
        for place in np.ndindex(whole.shape):
            size = abs(whole[place]) or float(np.abs(whole).max()) or 1.0
            by = _power(rng, -3, 12) * float(rng.choice([-1.0, 1.0]))
            new = whole.copy()
            new[place] += by * size
            if not math.isfinite(new[place]) or new[place] == whole[place]:
                continue
            model = copy.copy(fit.model)
            setattr(model, name, new if new.ndim else np.float64(new))
            yield f"{name}{list(place)} by {by:.1e} of its size", model


# --- verdicts -------------------------------------------------------------------------------------


def _numbers(model: Any) -> tuple[list[fmpq], fmpq]:
    w = [_fraction(v) for v in np.ravel(model.coef_)]
    return w, _fraction(np.ravel(model.intercept_)[0])


def _least(model: Any, rows: Rows) -> fmpq | None:
    """The objective of least squares at the floats next to its optimum; None where there are none.

    Without a penalty it is that of the columns that do not depend on others, see
    :func:`_independent`.
    """
    level = bool(getattr(model, "fit_intercept", True))
    table = [[*row, fmpq(1)] if level else row for row in rows.x]
    p, d = len(table[0]), len(rows.x[0])
    alpha = _strength(model, rows)
    left, right = _sums(table, rows)
    for j in range(d):
        left[j][j] += alpha
    used = list(range(p)) if alpha > 0 else _independent(left, level)
    if not used:
        return None
    system = fmpq_mat([[left[i][j] for j in used] for i in used])
    try:
        found = system.solve(fmpq_mat(len(used), 1, [right[i] for i in used])).entries()
    except ZeroDivisionError:
        return None
    point = [fmpq(0)] * p
    for j, value in zip(used, found, strict=True):
        near = float(arb(value).mid())
        if not math.isfinite(near):
            return None
        point[j] = _fraction(near)
    return _ridge(model, rows, point[:d], point[d] if level else fmpq(0))


def _sums(table: list[list[fmpq]], rows: Rows) -> tuple[list[list[fmpq]], list[fmpq]]:
    """``A'SA`` and ``A'Sy``."""
    p = len(table[0])
    left, right = [[fmpq(0)] * p for _ in range(p)], [fmpq(0)] * p
    for row, s, t in zip(table, rows.s, rows.y, strict=True):
        for i in range(p):
            weighted = s * row[i]
            right[i] += weighted * t
            for j in range(p):
                left[i][j] += weighted * row[j]
    return left, right


def _independent(gram: list[list[fmpq]], level: bool) -> list[int]:
    """Columns that differ from combinations of others by more than docs/methods.md calls rounding.

    Twice that, so that nothing hangs on how lengths are rounded.  The column of ones is the last.
    """
    ctx.prec = _BITS
    p = len(gram)
    used = [p - 1] if level and gram[p - 1][p - 1] > 0 else []
    others = [j for j in range(p - level) if gram[j][j] > 0]

    def about(j: int) -> tuple[fmpq, list[arb]]:
        """What the used columns leave of the square of a column, and their shares in it."""
        if not used:
            return gram[j][j], []
        inner = fmpq_mat([[gram[a][b] for b in used] for a in used])
        right = [gram[a][j] for a in used]
        share = inner.solve(fmpq_mat(len(used), 1, right)).entries()
        rest = gram[j][j] - sum((a * b for a, b in zip(share, right, strict=True)), fmpq(0))
        return rest, [abs(arb(a)) for a in share]

    raw = {j: arb(gram[j][j]).sqrt() for j in others} | ({p - 1: arb(0)} if level else {})
    spread = {j: arb(about(j)[0]).sqrt() for j in others} | ({p - 1: arb(0)} if level else {})
    while others:
        found = {j: about(j) for j in others}
        best = max(others, key=lambda j: found[j][0] / gram[j][j])
        rest, shares = found[best]
        sizes = [
            size[best] + sum((a * size[j] for a, j in zip(shares, used, strict=True)), arb(0))
            for size in (raw, spread)
        ]
        eps = 2.0 * float(np.finfo(float).eps)
        if arb(rest).sqrt() > 4.0 * eps * sizes[0] and arb(rest).sqrt() > 64.0 * eps * sizes[1]:
            used.append(best)
        others.remove(best)
    return sorted(used)


def _is_exact(rows: Rows, w: list[fmpq], b: fmpq) -> bool:
    """Whether every row that counts is fitted, relative to its terms."""
    for row, t, s, r in zip(rows.x, rows.y, rows.s, rows.residuals(w, b), strict=True):
        terms = sum((_absolute(a * v) for a, v in zip(row, w, strict=True)), _absolute(b))
        if s > 0 and _absolute(r) > _EXACT * (terms + _absolute(t)):
            return False
    return True


def _in_fractions(fit: _Fit) -> Callable[[str, Any, Any], Iterator[tuple[str, str]]]:
    rows, objective = fit.rows(), fit.kind.objective
    assert objective is not None
    known: list[fmpq] = [objective(fit.model, rows, *_numbers(fit.model))]
    zero = [fmpq(0)] * len(rows.x[0]), fmpq(0)
    known.append(objective(fit.model, rows, *zero))
    # With a sign constraint the solution of the equations need not be allowed.
    if fit.kind.closed and not getattr(fit.model, "positive", False):
        least = _least(fit.model, rows)
        known += [] if least is None else [least]
    positive = bool(getattr(fit.model, "positive", False))

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        w, b = _numbers(model)
        value, best = objective(model, rows, w, b), min(known)
        allowed = not positive or all(v >= 0 for v in w)
        if hasattr(found, "primal"):
            if math.isfinite(found.primal) and (not allowed or value > _fraction(found.primal)):
                yield "primal", f"{what}: primal={found.primal!r}, and it is {float(value)!r}"
            if found.dual > 0 and min(best, value if allowed else best) < _fraction(found.dual):
                yield "dual", f"{what}: dual={found.dual!r}, and {float(best)!r} is known"
        elif found.ok:
            far = not allowed or value - best > _SHARE * value
            if far and not (allowed and _is_exact(rows, w, b)):
                yield "optimal", f"{what}: {float(value)!r}, and {float(best)!r} is known; {found}"

    return judged


def _in_balls(fit: _Fit) -> Callable[[str, Any, Any], Iterator[tuple[str, str]]]:
    from benchmarks.certificate_judge import Undecided, parts_of

    def values(model: Any) -> list[tuple[arb, Any]]:
        ctx.prec = _BITS
        parts = parts_of(model, fit.X, fit.y, fit.weights)
        return [(part.problem.value(part.point), part) for part in parts]

    honest = values(fit.model)

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        model.certificate_ = found
        try:
            here = values(model)
        except Undecided:
            return
        for (value, part), (before, _) in zip(here, honest, strict=True):
            one = part.certificate
            if math.isfinite(one.primal) and value > arb(one.primal):
                yield "primal", f"{what}: primal={one.primal!r}, and it is {value.str(20)}"
            if one.dual > 0.0 and (before < arb(one.dual) or value < arb(one.dual)):
                yield "dual", f"{what}: dual={one.dual!r}, and {before.str(20)} is known"

    return judged


def trial(
    seed: int, number: int, model: str | None = None, family: str | None = None,
    way: str | None = None,
) -> Attack:  # fmt: skip
    """Fit problem ``number``, alter every number of it, and judge what is said of each."""
    rng = np.random.default_rng([seed, number])
    name = model or str(rng.choice(list(MODELS)))
    count = int(rng.choice([1, 1, 2]))
    # One row a class is no regression, and weights of the rows have a family of their own.
    usual = [f for f in FAMILIES if f not in ("few rows", "strength", "lam", "separable", "wide")]
    families = [family] if family else [str(f) for f in rng.choice(usual, count, replace=False)]
    out = Attack(number, name, tuple(families))
    start = time.process_time()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        what = "as fitted"
        try:
            fit = _fit(seed, number, name, families, way)
            judged = (_in_fractions if fit.kind.objective else _in_balls)(fit)
            models = itertools.chain([(what, copy.copy(fit.model))], _altered(fit, rng))
            for what, altered in models:
                found = fit.verified(altered)
                out.problems += 1
                out.optimal += found.status == "optimal"
                out.findings += judged(what, altered, found)
                if found.status == "optimal" and getattr(found, "relative_gap", 0.0) > found.tol:
                    out.findings.append(("optimal", f"{what}: {found!r}"))
        except Exception as error:
            if _describes(error) or type(error).__module__.startswith("sklearn"):
                out.refusal = str(error)
            else:
                where = traceback.extract_tb(error.__traceback__)[-1]
                text = f"{what}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
                out.findings.append(("crash", text))
    out.seconds = time.process_time() - start
    return out


# --- many -----------------------------------------------------------------------------------------


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
    tasks = ((seed, k, k + chunk, model, family, way) for k in range(0, 10**9, chunk))
    if jobs == 1:
        for task in tasks:
            for one in _several(task):
                yield one
                done += max(one.problems, 1)
                if done >= problems:
                    return
    context = multiprocessing.get_context("spawn")
    numbers = context.SimpleQueue()
    for number in range(jobs):
        numbers.put(number)
    with ProcessPoolExecutor(jobs, context, _own_cache, (numbers,)) as pool:
        while done < problems:
            ahead = [next(tasks) for _ in range(4 * jobs)]
            for found in pool.map(_several, ahead):
                for one in found:
                    yield one
                    done += max(one.problems, 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.tampering",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--problems", type=int, default=10_000, metavar="N", help="verdicts to ask for (10,000)")
    add("--seed", type=int, default=0, help="of all problems (0)")
    add("--jobs", type=int, default=1, metavar="J", help="processes (1)")
    add("--model", choices=list(MODELS), metavar="NAME", help="one of " + ", ".join(MODELS))
    add("--family", choices=list(FAMILIES), metavar="NAME", help="of the data")
    add("--way", choices=["memory", "passes"], help="how the models are fitted and verified")
    add("--only", type=int, metavar="K", help="fit number K alone")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    of = {"model": args.model, "family": args.family, "way": args.way}
    if args.only is not None:
        trials: Iterator[Attack] = iter([trial(args.seed, args.only, **of)])
    else:
        trials = attack(args.seed, args.problems, jobs=args.jobs, **of)
    total, optimal, refused, false, seconds = 0, 0, 0, 0, 0.0
    by_model: Counter[str] = Counter()
    try:
        for one in trials:
            total, optimal = total + one.problems, optimal + one.optimal
            refused += bool(one.refusal)
            seconds += one.seconds
            false += len(one.findings)
            by_model[one.model] += one.problems
            for kind, text in one.findings:
                print(f"{one.number} {one.model} ({', '.join(one.families)}) FALSE {kind}: {text}")
                sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted: the problems so far", file=sys.stderr)
    for name, count in by_model.most_common():
        print(f"{count:8d} {name}")
    print(f"{refused} fits refused; {optimal} models called optimal; {seconds:.0f} CPU seconds")
    print(f"{total} problems, {false} false")
    return int(false > 0)


if __name__ == "__main__":
    sys.exit(main())
