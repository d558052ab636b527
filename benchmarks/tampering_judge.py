"""The judge of :mod:`benchmarks.tampering`: the objectives at the numbers of a fitted model.

The objective of every estimator, of this library and of scikit-learn, is written down here from the
documentation, and evaluated at the numbers of a model in fractions or in balls.  None of it shares
code with the library.  Each function that takes a :class:`Fitted` returns a judge of the
certificates that ``verify`` returns for models whose numbers are altered:

- ``primal``: the objective at the numbers is above the certificate's ``primal``;
- ``dual``: a point is known whose objective is below the certificate's ``dual``;
- ``optimal``: numbers are called optimal, although a known objective is less by more than the
  tolerance; of a closed form by more than two millionths, unless the fit is exact in every row.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat

from benchmarks.certificate_judge import (
    Linear,
    Problem,
    Reading,
    Softmax,
    Undecided,
    kernel_parts,
    kernel_values,
    parts_of,
    rational,
)

__all__ = [
    "Fitted",
    "Judge",
    "balls",
    "closed",
    "fractions",
    "gaussians",
    "huber",
    "is_own",
    "kernel_regression",
    "lasso",
    "poisson",
    "polynomial",
    "ridge",
    "scikit_learn",
    "shares",
    "stochastic",
    "svr",
]

# The share of its objective by which a closed form may be above the optimum.
_SHARE = fmpq(2, 10**6)
# The relative residual up to which a row counts as fitted; if all do, the objective is ignored.
_EXACT = fmpq(2, 10**8)
# The factor on the tolerance of an iterative fit's status, which allows for rounding.
_HAIR = fmpq(1001, 1000)
# The least scale of Huber's regression, in units of the largest target (4.5e-13) and absolutely,
# as its documentation says.
_LEAST_SCALE, _TINY_SCALE = fmpq(4096, 2**53), fmpq(1, 2**900)
# The precision of balls, in bits.
_BITS = 2048
_ZERO = fmpq(0)

#: A function of the alteration, the altered model and its certificate; yields what is false.
Judge = Callable[[str, Any, Any], Iterator[tuple[str, str]]]


@dataclass
class Fitted:
    """A fitted model and its data; ``classes`` is their number, 0 for a regression."""

    model: Any
    X: Any
    y: np.ndarray
    weights: np.ndarray | None
    classes: int = 0

    @property
    def table(self) -> np.ndarray:
        x = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        return x.astype(np.float64)

    def sample_weights(self) -> list[fmpq]:
        s = np.ones(len(self.table)) if self.weights is None else self.weights
        return [rational(v) for v in s]

    def targets(self) -> list[list[fmpq]]:
        """The regression targets: one list a target, or one a class of more than two."""
        if not self.classes:
            return [[rational(v) for v in column] for column in np.atleast_2d(self.y.T)]
        names = self.model.classes_
        rest = 0.0 if type(self.model).__name__ == "LeastSquaresClassifier" else -1.0
        if len(names) == 2:
            return [[rational(v) for v in np.where(self.y == names[1], 1.0, -1.0)]]
        return [[rational(v) for v in np.where(self.y == name, 1.0, rest)] for name in names]

    def rows(self) -> list[Rows]:
        """The exact rows of one regression for each target."""
        x = [[rational(v) for v in row] for row in self.table]
        s = self.sample_weights()
        return [Rows(x, t, s) for t in self.targets()]


def is_own(model: Any) -> bool:
    return type(model).__module__.startswith("separatrix")


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sp.issparse(values) else values, dtype=np.float64)


# --- regressions, in fractions ------------------------------------------------------------------


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

    @property
    def total(self) -> fmpq:
        return sum(self.s, _ZERO)


_Point = tuple[list[fmpq], fmpq]
Objective = Callable[[Any, Rows, list[fmpq], fmpq], fmpq]


def _numbers(model: Any, name: str = "") -> list[_Point]:
    """Weights and intercept of each target; ``name`` is the prefix of the attributes."""
    coef = np.atleast_2d(_dense(getattr(model, f"{name}coef_")))
    level = np.broadcast_to(np.ravel(getattr(model, f"{name}intercept_")), len(coef))
    return [
        ([rational(v) for v in w], rational(b))
        for w, b in zip(coef.tolist(), level.tolist(), strict=True)
    ]


def _squares(values: list[fmpq]) -> fmpq:
    return sum((v * v for v in values), _ZERO)


def _absolute(value: fmpq) -> fmpq:
    return -value if value < 0 else value


def _sizes(values: list[fmpq]) -> fmpq:
    return sum(map(_absolute, values), _ZERO)


def _beyond(value: fmpq, width: fmpq) -> fmpq:
    return max(_absolute(value) - width, _ZERO)


def _huber(value: fmpq, width: fmpq) -> fmpq:
    size = _absolute(value)
    return size * size / 2 if size <= width else width * size - width * width / 2


def ridge(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """Sum of s r^2 plus alpha |w|^2, where ``lam`` stands for alpha over the sum of the weights."""
    losses = (s * r * r for s, r in zip(rows.s, rows.residuals(w, b), strict=True))
    return sum(losses, _ZERO) + _strength(model, rows) * _squares(w)


def _strength(model: Any, rows: Rows) -> fmpq:
    for name in ("alpha_", "alpha"):
        if hasattr(model, name):
            return rational(getattr(model, name))
    if hasattr(model, "lam"):
        return rational(model.lam) * rows.total
    return _ZERO


def lasso(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """sum s r^2 / 2 sum s + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)."""
    alpha = rational(getattr(model, "alpha_", getattr(model, "alpha", 1.0)))
    share = rational(getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0)))
    losses = sum((s * r * r for s, r in zip(rows.s, rows.residuals(w, b), strict=True)), _ZERO)
    penalty = share * _sizes(w) + (1 - share) * _squares(w) / 2
    mean = losses / (2 * rows.total)
    # This library's objectives have the factor on the loss.
    return mean / alpha + penalty if is_own(model) else mean + alpha * penalty


def svr(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """Half of |w|^2 plus C times the losses."""
    width, square = rational(model.epsilon), model.loss.startswith("squared")
    losses = _ZERO
    for s, r in zip(rows.s, rows.residuals(w, b), strict=True):
        beyond = _beyond(r, width)
        losses += s * (beyond * beyond if square else beyond)
    return _squares(w) / 2 + rational(model.C) * losses


def stochastic(model: Any, rows: Rows, w: list[fmpq], b: fmpq) -> fmpq:
    """The mean of the losses plus alpha times the penalty."""
    width, losses = rational(model.epsilon), _ZERO
    for s, r in zip(rows.s, rows.residuals(w, b), strict=True):
        beyond = _beyond(r, width)
        losses += s * {
            "squared_error": lambda r: r * r / 2,
            "huber": lambda r: _huber(r, width),
            "epsilon_insensitive": lambda _, beyond=beyond: beyond,
            "squared_epsilon_insensitive": lambda _, beyond=beyond: beyond * beyond,
        }[model.loss](r)
    mean = losses / (rows.total if is_own(model) else fmpq(len(rows.s)))
    share = {"l2": _ZERO, "l1": fmpq(1)}.get(model.penalty)
    share = rational(model.l1_ratio) if share is None else share
    alpha = rational(model.alpha)
    penalty = share * _sizes(w) + (1 - share) * _squares(w) / 2
    return mean / alpha + penalty if is_own(model) else mean + alpha * penalty


def huber(fit: Fitted) -> Judge:
    """alpha |w|^2 + sum s (sigma + sigma H(r / sigma)) at the best scale sigma."""
    (rows,) = fit.rows()

    def value(model: Any, w: list[fmpq], b: fmpq) -> arb:
        alpha, width = rational(model.alpha), rational(model.epsilon)
        out = arb(alpha * _squares(w)) + _at_the_best_scale(rows, width, w, b)
        # This library's objective is divided by the factor of |w|^2 / 2.
        return out / arb(2 * alpha if alpha > 0 else fmpq(2)) if is_own(model) else out

    return _held(fit, lambda model: [value(model, *_numbers(model)[0])], [])


def poisson(fit: Fitted) -> Judge:
    """The mean of s (e^f - y f + y log y - y) plus alpha times the penalty."""
    (rows,) = fit.rows()

    def value(model: Any, w: list[fmpq], b: fmpq) -> arb:
        losses = arb(0)
        for s, t, r in zip(rows.s, rows.y, rows.residuals(w, b), strict=True):
            constant = arb(t) * arb(t).log() - arb(t) if t > 0 else arb(0)
            losses += arb(s) * (arb(t - r).exp() - arb(t * (t - r)) + constant)
        mean, alpha = losses / arb(rows.total), rational(model.alpha)
        share = rational(getattr(model, "l1_ratio", 0.0))
        penalty = share * _sizes(w) + (1 - share) * _squares(w) / 2
        # This library's objective has the factor on the loss.
        if is_own(model) and alpha > 0:
            return mean / arb(alpha) + arb(penalty)
        return mean + arb(alpha * penalty)

    return _held(fit, lambda model: [value(model, *_numbers(model)[0])], [])


def _at_the_best_scale(rows: Rows, width: fmpq, w: list[fmpq], b: fmpq) -> arb:
    """The least of sum s (sigma + sigma H(r / sigma)) over scales above the rounding of targets.

    H is the square up to ``width`` and linear beyond.  Between two scales at which a row changes
    sides the sum is ``a sigma + q / sigma + c``.
    """
    sizes = [_absolute(r) for r in rows.residuals(w, b)]
    pairs = [(s, r) for s, r in zip(rows.s, sizes, strict=True) if s > 0]
    largest = max(
        (_absolute(t) for s, t in zip(rows.s, rows.y, strict=True) if s > 0), default=_ZERO
    )
    least = max(_LEAST_SCALE * largest, _TINY_SCALE) if largest > 0 else _ZERO
    ends = sorted({least, *(r / width for _, r in pairs if r > least * width)})
    found = None
    for k, low in enumerate(ends):
        high = ends[k + 1] if k + 1 < len(ends) else None
        inside = [(s, r) for s, r in pairs if r <= low * width]
        outside = [(s, r) for s, r in pairs if r > low * width]
        linear = sum((s for s, _ in inside), _ZERO)
        linear += sum((s for s, _ in outside), _ZERO) * (1 - width * width)
        square = sum((s * r * r for s, r in inside), _ZERO)
        level = 2 * width * sum((s * r for s, r in outside), _ZERO)
        scales = [arb(low)] if low > 0 or square == 0 else []
        if linear > 0 and square > 0:
            best = square / linear
            if low * low <= best and (high is None or best <= high * high):
                scales = [arb(best).sqrt()]
        for scale in scales:
            here = arb(linear) * scale + arb(level)
            here += arb(square) / scale if square > 0 else arb(0)
            found = here if found is None else found.min(here)
    assert found is not None
    return found


# --- verdicts -----------------------------------------------------------------------------------


def _shown(value: Any) -> str:
    if value is None:
        return "not allowed"
    return value.str(20, radius=False) if isinstance(value, arb) else repr(float(value))


def _held(
    fit: Fitted,
    values: Callable[[Any], list[Any]],
    known: list[list[arb]],
    by_weights: Callable[[Any], list[arb]] | None = None,
) -> Judge:
    """Check certificates of a gap against objectives.

    Parameters
    ----------
    values : callable
        The objective of each part at a model's numbers; None where these are not allowed.
    known : list of lists
        Objectives of each part at other points.
    by_weights : callable, optional
        Objectives at the weights of the columns, where a machine with a kernel has both these and
        coefficients of the rows; the certificate of the one has to hold for the other.
    """
    ctx.prec = _BITS
    known = [*known, values(fit.model)]
    least = [[v for v in column if v is not None] for column in zip(*known, strict=True)]

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        ctx.prec = _BITS
        of_weights = by_weights is not None and what.startswith("coef_")
        try:
            here = by_weights(model) if of_weights and by_weights else values(model)
        except Undecided:
            return
        parts = [found] if len(here) == 1 else list(found.parts)
        if len(parts) != len(here):
            yield "crash", f"{what}: {len(parts)} certificates of {len(here)} problems"
            return
        if not of_weights:
            for value, others, one in zip(here, least, parts, strict=True):
                low = value is None or value > arb(one.primal)
                if math.isfinite(one.primal) and low:
                    yield "primal", f"{what}: primal={one.primal!r}, and it is {_shown(value)}"
                points = [*others, *([] if value is None else [value])]
                if one.dual > 0.0 and any(v < arb(one.dual) for v in points):
                    best = min(points, key=lambda v: v.mid())
                    yield "dual", f"{what}: dual={one.dual!r}, and {_shown(best)} is known"
        if found.status != "optimal":
            return
        if None in here:
            yield "optimal", f"{what}: not allowed; {found!r}"
            return
        total, best = arb(0), arb(0)
        for value, others in zip(here, least, strict=True):
            total += value
            best += min([*others, value], key=lambda v: v.mid())
        if total - best > arb(rational(found.tol) * _HAIR) * total:
            yield "optimal", f"{what}: {_shown(total)}, and {_shown(best)} is known; {found!r}"

    return judged


def _is_allowed(model: Any, w: list[fmpq]) -> bool:
    return not getattr(model, "positive", False) or all(v >= 0 for v in w)


def _values(objective: Objective, regressions: list[Rows]) -> Callable[[Any], list[Any]]:
    """The objective of each regression at a model's numbers; None where these are not allowed."""
    return lambda model: [
        arb(objective(model, rows, w, b)) if _is_allowed(model, w) else None
        for rows, (w, b) in zip(regressions, _numbers(model), strict=True)
    ]


def fractions(objective: Objective) -> Callable[[Fitted], Judge]:
    """The judge of regressions with a certificate of a gap."""

    def judge(fit: Fitted) -> Judge:
        ctx.prec = _BITS
        regressions = fit.rows()
        nothing = [_ZERO] * len(regressions[0].x[0])
        zeros = [arb(objective(fit.model, rows, nothing, _ZERO)) for rows in regressions]
        return _held(fit, _values(objective, regressions), [zeros])

    return judge


# --- closed forms -------------------------------------------------------------------------------


def _least(model: Any, rows: Rows, strength: fmpq) -> _Point | None:
    """The floats next to the optimum of least squares; None where there are none.

    Without a penalty the optimum is that of the columns that do not depend on others, see
    :func:`_independent`.
    """
    level = bool(getattr(model, "fit_intercept", True))
    table = [[*row, fmpq(1)] if level else row for row in rows.x]
    p, d = len(table[0]), len(rows.x[0])
    left, right = _sums(table, rows)
    for j in range(d):
        left[j][j] += strength
    used = list(range(p)) if strength > 0 else _independent(left, level)
    if not used:
        return None
    system = fmpq_mat([[left[i][j] for j in used] for i in used])
    try:
        found = system.solve(fmpq_mat(len(used), 1, [right[i] for i in used])).entries()
    except ZeroDivisionError:
        return None
    point = [_ZERO] * p
    for j, value in zip(used, found, strict=True):
        near = float(arb(value).mid())
        if not math.isfinite(near):
            return None
        point[j] = rational(near)
    return point[:d], point[d] if level else _ZERO


def _sums(table: list[list[fmpq]], rows: Rows) -> tuple[list[list[fmpq]], list[fmpq]]:
    """``A'SA`` and ``A'Sy``."""
    p = len(table[0])
    left, right = [[_ZERO] * p for _ in range(p)], [_ZERO] * p
    for row, s, t in zip(table, rows.s, rows.y, strict=True):
        for i in range(p):
            weighted = s * row[i]
            right[i] += weighted * t
            for j in range(p):
                left[i][j] += weighted * row[j]
    return left, right


def _independent(gram: list[list[fmpq]], level: bool) -> list[int]:
    """Columns that differ from combinations of others by more than docs/methods.md calls rounding.

    The threshold is twice that, so that nothing hangs on how lengths are rounded.  The column of
    ones is the last.
    """
    ctx.prec = _BITS
    p = len(gram)
    used = [p - 1] if level and gram[p - 1][p - 1] > 0 else []
    others = [j for j in range(p - level) if gram[j][j] > 0]

    def about(j: int) -> tuple[fmpq, list[arb]]:
        """The squared residual of a column on the used ones, and the sizes of the coefficients."""
        if not used:
            return gram[j][j], []
        inner = fmpq_mat([[gram[a][b] for b in used] for a in used])
        right = [gram[a][j] for a in used]
        share = inner.solve(fmpq_mat(len(used), 1, right)).entries()
        rest = gram[j][j] - sum((a * b for a, b in zip(share, right, strict=True)), _ZERO)
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


def closed(fit: Fitted) -> Judge:
    """The judge of least squares, with a penalty or without."""
    regressions = fit.rows()
    known = []
    for rows, (w, b) in zip(regressions, _numbers(fit.model), strict=True):
        points = [(w, b), ([_ZERO] * len(w), _ZERO)]
        # With a sign constraint the solution of the equations need not be allowed.
        solution = _least(fit.model, rows, _strength(fit.model, rows))
        if solution is not None and not getattr(fit.model, "positive", False):
            points.append(solution)
        known.append(min(ridge(fit.model, rows, *point) for point in points))
    if fit.classes and not is_own(fit.model):
        # scikit-learn's classifier is judged as a minimiser.
        return _held(fit, _values(ridge, regressions), [[arb(value) for value in known]])

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        if found.ok:
            for rows, point, best in zip(regressions, _numbers(model), known, strict=True):
                yield from _excess(what, model, found, rows, point, best)

    return judged


def _excess(
    what: str, model: Any, found: Any, rows: Rows, point: _Point, best: fmpq
) -> Iterator[tuple[str, str]]:
    """The false statement where least squares are called optimal at a point, if there is one."""
    value, allowed = ridge(model, rows, *point), _is_allowed(model, point[0])
    far = not allowed or value - best > _SHARE * value
    if far and not (allowed and _is_exact(rows, *point)):
        yield "optimal", f"{what}: {_shown(value)}, and {_shown(best)} is known; {found}"


def polynomial(fit: Fitted) -> Judge:
    """The judge of a polynomial: least squares in its basis, and the same fit in plain powers.

    The terms of the basis are those that float64 evaluates, as the prediction does.
    """
    model = fit.model
    columns = [_recurrence(model, j) for j in range(len(model.basis_centre_))]
    (plain,) = fit.rows()
    design = model._design_of(fit.X)
    table = [[rational(v) for v in row] for _, block in design.blocks() for row in block]
    rows = Rows(table, plain.y, plain.s)
    strength = rational(model.lam) * rows.total
    # Each term of the basis, in plain powers.
    expanded = [_expanded(columns, powers) for powers in model.powers_.tolist()]
    points = [_numbers(model, "basis_")[0], ([_ZERO] * len(expanded), _ZERO)]
    solution = _least(model, rows, strength)
    points += [] if solution is None else [solution]
    best = min(ridge(model, rows, *point) for point in points)

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        if not found.ok:
            return
        w, b = _numbers(model, "basis_")[0]
        yield from _excess(what, model, found, rows, (w, b), best)
        constant = (0,) * len(columns)
        sums, sizes = {constant: b}, {constant: _absolute(b)}
        for weight, term in zip(w, expanded, strict=True):
            for powers, value in term.items():
                sums[powers] = sums.get(powers, _ZERO) + weight * value
                sizes[powers] = sizes.get(powers, _ZERO) + _absolute(weight * value)
        given = {tuple(p): v for p, v in zip(model.powers_.tolist(), model.coef_, strict=True)}
        given[constant] = model.intercept_
        for powers, number in given.items():
            if not math.isfinite(number) or powers not in sums:
                continue
            off = _absolute(rational(number) - sums[powers])
            if off > _EXACT * sizes[powers]:
                yield "optimal", f"{what}: {number!r} at {powers} is {_shown(sums[powers])}"

    return judged


def _recurrence(model: Any, column: int) -> list[list[fmpq]]:
    """Plain coefficients of the polynomials of one column, from that of degree 0 on."""
    centre = rational(model.basis_centre_[column])
    scale = rational(model.basis_scale_[column])
    out = [[fmpq(1)]]
    for k in range(max((p[column] for p in model.powers_.tolist()), default=0)):
        a, b, s = (rational(v) for v in model.basis_recurrence_[column, k])
        # s ((t - a) p_k - b p_{k-1}) with t = (x - centre) scale
        here = [_ZERO] * (k + 2)
        for power, value in enumerate(out[k]):
            here[power + 1] += s * scale * value
            here[power] -= s * (centre * scale + a) * value
        for power, value in enumerate(out[k - 1] if k else []):
            here[power] -= s * b * value
        out.append(here)
    return out


def _expanded(columns: list[list[list[fmpq]]], powers: list[int]) -> dict[tuple[int, ...], fmpq]:
    """A product of polynomials of single columns, in plain powers."""
    pieces = [
        [(power, value) for power, value in enumerate(column[degree]) if value != 0]
        for column, degree in zip(columns, powers, strict=True)
    ]
    out: dict[tuple[int, ...], fmpq] = {}
    for chosen in itertools.product(*pieces):
        value = fmpq(1)
        for _, one in chosen:
            value *= one
        out[tuple(power for power, _ in chosen)] = value
    return out


# --- classifiers, in balls ----------------------------------------------------------------------


def _readable(fit: Fitted, model: Any) -> Any:
    """A copy of the model that :func:`parts_of` can read, without certificates."""
    name = type(model).__name__
    if name == "LogisticRegressionCV":
        import separatrix

        out = separatrix.LogisticRegression(
            C=float(model.chosen_C_), fit_intercept=model.fit_intercept, multiclass=model.multiclass
        )
        out.coef_, out.intercept_, out.classes_ = model.coef_, model.intercept_, model.classes_
    else:
        out = copy.copy(model)
    if name == "SVC" and not is_own(model):
        out.kernel_ = SimpleNamespace(gamma=model.gamma)
        if fit.weights is not None:
            # LIBSVM drops rows of weight zero, and numbers its support vectors without them.
            out.support_ = np.flatnonzero(fit.weights > 0.0)[model.support_]
    out.certificate_ = SimpleNamespace(parts=(None,) * fit.classes)
    return out


def balls(fit: Fitted) -> Judge:
    """The judge of a classifier that :mod:`benchmarks.certificate_judge` reads."""
    ctx.prec = _BITS
    # The problems of the data alone: the points are those of each model.
    honest = parts_of(_readable(fit, fit.model), fit.X, fit.y, fit.weights)

    def values(model: Any) -> list[arb]:
        parts = parts_of(_readable(fit, model), fit.X, fit.y, fit.weights)
        ctx.prec = _BITS
        return [known.problem.value(part.point) for known, part in zip(honest, parts, strict=True)]

    def by_weights(model: Any) -> list[arb]:
        out = []
        for known, (w, b) in zip(honest, _numbers(model), strict=True):
            assert known.search is not None
            out.append(known.search.value([*map(arb, w), arb(b)]))
        return out

    return _held(fit, values, [], by_weights if fit.model.__class__.__name__ == "SVC" else None)


def scikit_learn(fit: Fitted) -> Judge:
    """The judge of scikit-learn's linear classifiers, each in its own convention."""
    ctx.prec = _BITS
    model, s = fit.model, fit.sample_weights()
    used = [i for i, v in enumerate(s) if v > 0]
    table = fit.table[used].tolist()
    codes = np.searchsorted(model.classes_, fit.y)[used].tolist()
    one, none = fmpq(1), _ZERO
    name = type(model).__name__
    last = 0.0
    if name == "SGDClassifier":
        # 1/n sum s loss + alpha/2 |w|^2, n the number of rows
        losses = {"log_loss": "log"}
        loss = losses.get(model.loss, model.loss)
        l1, l2, factor = none, rational(model.alpha), fmpq(1, len(s))
    elif name == "LinearSVC":
        # 1/2 (|w|^2 + (b / intercept_scaling)^2) + C sum s loss, or absolute values
        loss = model.loss
        l1, l2 = (one, none) if model.penalty == "l1" else (none, one)
        factor, last = rational(model.C), float(model.intercept_scaling)
    else:
        loss, ratio = "log", rational(model.l1_ratio or 0.0)
        l1, l2, factor = ratio, one - ratio, rational(model.C)
        last = float(model.intercept_scaling) if model.solver == "liblinear" else 0.0
    upper = [factor * s[i] for i in used]
    level = bool(model.fit_intercept)
    penalised = level and last > 0.0
    if penalised:
        table = [[*row, last] for row in table]
    kind: dict[str, Any] = {"l1": l1, "l2": l2, "intercept": level and not penalised}
    count = len(model.classes_)
    problems: list[Problem]
    softmax = count > 2 and name == "LogisticRegression"
    if softmax:
        problems = [Softmax(table, codes, count, upper, **kind)]
    else:
        signs = [
            [1 if c == k else -1 for c in codes] for k in ([1] if count == 2 else range(count))
        ]
        problems = [Linear(table, own, upper, loss, **kind) for own in signs]

    def values(model: Any) -> list[arb]:
        points = []
        for w, b in _numbers(model):
            ends = [arb(b / rational(last) if penalised else b)] if level else []
            points.append([*map(arb, w), *ends])
        if softmax:
            points = [[v for point in points for v in point]]
        return [problem.value(p) for problem, p in zip(problems, points, strict=True)]

    return _held(fit, values, [])


# --- machines with kernels ----------------------------------------------------------------------


def _sum(values: list[arb]) -> arb:
    return sum(values, arb(0))


def _column(values: list[arb]) -> arb_mat:
    return arb_mat(len(values), 1, values)


def _coefficients(model: Any, n: int) -> list[arb]:
    out = [arb(0)] * n
    for row, value in zip(model.support_, _dense(model.dual_coef_)[0].tolist(), strict=True):
        out[int(row)] = arb(value)
    return out


def kernel_regression(fit: Fitted) -> Judge:
    """1/2 |w|^2 + C sum s max(0, |r| - epsilon), where nu sets the cost of epsilon."""
    ctx.prec = _BITS
    n = len(fit.y)
    gram = kernel_values(fit.model, SimpleNamespace(x=fit.table), list(range(n)))()
    rows = arb_mat([[arb(v) for v in row] for row in fit.table.tolist()])
    targets, s = [arb(float(v)) for v in fit.y], [arb(v) for v in fit.sample_weights()]

    def valued(model: Any, half: arb, scores: list[arb]) -> arb:
        sizes = [abs(t - f) for t, f in zip(targets, scores, strict=True)]
        if hasattr(model, "epsilon"):
            widths, price = [arb(float(model.epsilon))], arb(0)
        else:
            # The best width is one of these: the sum is linear in between.
            widths, price = [arb(0), *sizes], arb(rational(model.nu)) * _sum(s)
        totals = [
            price * width
            + _sum([u * (r - width).max(arb(0)) for u, r in zip(s, sizes, strict=True)])
            for width in widths
        ]
        best = totals[0]
        for total in totals[1:]:
            best = best.min(total)
        return half + arb(float(model.C)) * best

    def values(model: Any) -> list[arb]:
        c = _coefficients(model, n)
        images = (gram * _column(c)).entries()
        half = _sum([a * f for a, f in zip(c, images, strict=True)]) / 2
        b = arb(float(model.intercept_[0]))
        return [valued(model, half, [f + b for f in images])]

    def by_weights(model: Any) -> list[arb]:
        w = [arb(v) for v in np.ravel(_dense(model.coef_)).tolist()]
        b = arb(float(model.intercept_[0]))
        scores = [f + b for f in (rows * _column(w)).entries()]
        return [valued(model, _sum([v * v for v in w]) / 2, scores)]

    return _held(fit, values, [], by_weights)


@dataclass
class _Share:
    """The state of a machine whose parameter is a share of the rows.

    ``above`` is half the square of the combination, an upper bound of the optimum if it is
    admissible; ``below`` is minus the primal objective of the textbook, a lower bound, and
    ``best`` the same with the best threshold of each class in place of the intercept.
    """

    above: arb
    below: arb
    best: arb
    terms: arb
    # The relative amount by which the multipliers miss their bounds and sums.
    off: float
    # The length of the combination, if all of its terms had the same direction.
    longest: arb


def shares(fit: Fitted) -> Judge:
    """NuSVC and OneClassSVM: the dual objective from above, the primal one from below."""
    ctx.prec = _BITS
    honest = _share_parts(fit, fit.model)

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        ctx.prec = _BITS
        by_weights = what.startswith("coef_")
        here = _stand(fit, model, by_weights)
        parts = [found] if len(here) == 1 else list(found.parts)
        gaps, sizes, terms = arb(0), arb(0), arb(0)
        for state, known, one in zip(here, reached, parts, strict=True):
            good = state.off < 1e-9
            low = good and not by_weights and state.above * (1 - arb(1e-9)) > arb(one.primal)
            if math.isfinite(one.primal) and low:
                yield "primal", f"{what}: primal={one.primal!r}, and it is {_shown(state.above)}"
            if one.dual > 0.0 and known is not None and known * (1 + arb(1e-8)) < arb(one.dual):
                yield "dual", f"{what}: dual={one.dual!r}, and {_shown(known)} is known"
            if found.status == "optimal" and not by_weights and state.off > 1e-7:
                yield "optimal", f"{what}: multipliers are off by {state.off:.1e}; {found!r}"
            above = known if by_weights and known is not None else state.above
            # Half of a square is never negative: where hulls meet, zero bounds it from below, and
            # weights that ought to vanish show no better bound.  The intercept's part of the primal
            # objective is counted separately.
            gaps += above - state.best.max(arb(0)) + (state.best - state.below)
            sizes += above
            terms += state.terms
        # The intercept of one class lies a ten millionth outside of the rows on the surface.
        if found.status == "optimal" and gaps > sizes * arb(1e-5) + terms * arb(1e-6):
            yield "optimal", f"{what}: a gap of {_shown(gaps)} at {_shown(sizes)}; {found!r}"

    def _stand(fit: Fitted, model: Any, by_weights: bool) -> list[_Share]:
        points = _share_parts(fit, model)
        weights = _numbers(model) if by_weights else [None] * len(points)
        return [
            _share(model, k, known, part[3], w)
            for k, (known, part, w) in enumerate(zip(honest, points, weights, strict=True))
        ]

    start = _stand(fit, fit.model, False)
    # Multipliers may be off by rounding: an admissible combination is longer by this at most.
    reached = [
        ((2 * state.above).sqrt() + state.longest * arb(2.0 * state.off)) ** 2 / 2
        if state.off < 1e-9
        else None
        for state in start
    ]
    return judged


# Values of the kernel, signs, weights, point (coefficients and intercept), and rows.
_SharePart = tuple[arb_mat, list[int], list[arb], list[arb], list[list[float]]]


def _share_parts(fit: Fitted, model: Any) -> list[_SharePart]:
    table = fit.table
    if type(model).__name__ == "OneClassSVM":
        n = len(table)
        values = kernel_values(model, SimpleNamespace(x=table), list(range(n)))
        s = [arb(v) for v in fit.sample_weights()]
        point = [*_coefficients(model, n), arb(float(model.intercept_[0]))]
        return [(values(), [1] * n, s, point, table.tolist())]
    readable = copy.copy(model)
    readable.certificate_ = SimpleNamespace(parts=(None,) * fit.classes)
    reading = Reading(readable, fit.X, fit.y, fit.weights, True)
    pairs = [(1, 0)] if fit.classes == 2 else list(itertools.combinations(range(fit.classes), 2))
    out = []
    for (first, second), part in zip(pairs, kernel_parts(readable, reading), strict=True):
        ctx.prec = _BITS
        problem: Any = part.problem
        mine = [i for i, code in enumerate(reading.codes) if code in (first, second)]
        rows = [reading.rows[i] for i in mine]
        weights = [arb(u) for u in problem.upper]
        out.append((problem.gram(), problem.signs, weights, part.point, rows))
    return out


def _share(
    model: Any, number: int, part: _SharePart, point: list[arb], weights: _Point | None
) -> _Share:
    gram, signs, s, _, rows = part
    alone = type(model).__name__ == "OneClassSVM"
    rho = arb(1) if alone else arb(float(model.rho_[number]))
    nu, total = arb(rational(model.nu)), _sum(s)
    if weights is None:
        c, b = point[:-1], point[-1]
        images = (gram * _column(c)).entries()
        square = _sum([a * f for a, f in zip(c, images, strict=True)])
    else:
        w, b = [arb(v) for v in weights[0]], arb(weights[1])
        matrix = arb_mat([[arb(v) for v in row] for row in rows])
        c, images = point[:-1], (matrix * _column(w)).entries()
        square = _sum([v * v for v in w])
    above = rho * rho * square / 2
    if alone:
        margins, widths = images, [-b]
    else:
        # The best width is one of the margins: the sum is linear in between.
        margins = [rho * y * (f + b) for y, f in zip(signs, images, strict=True)]
        widths = margins
    below = None
    for width in widths:
        short = [(width - f).max(arb(0)) for f in margins]
        here = nu * total * width - _sum([u * v for u, v in zip(s, short, strict=True)])
        below = here if below is None else below.max(here)
    assert below is not None
    best = -above
    for sign in sorted(set(signs)):
        own = [(u, f) for u, f, y in zip(s, margins, signs, strict=True) if y == sign]
        mass = nu * total / (1 if alone else 2)
        heights = [
            mass * at - _sum([u * (at - f).max(arb(0)) for u, f in own])
            for at in (f for _, f in own)
        ]
        most = heights[0]
        for height in heights[1:]:
            most = most.max(height)
        best += most
    size = nu * total * max((abs(width) for width in widths), key=lambda v: v.mid())
    off = 0.0
    multipliers = [rho * a * y for a, y in zip(c, signs, strict=True)]
    for u, a in zip(s, multipliers, strict=True):
        beyond = (a - u).max(-a)
        off = max(off, float((beyond / u).mid()) if u > 0 else math.inf * (abs(a) > 0))
    for sign in sorted(set(signs)):
        mass = nu * total / (1 if alone else 2)
        own = _sum([a for a, y in zip(multipliers, signs, strict=True) if y == sign])
        off = max(off, float((abs(own - mass) / mass).mid()))
    corners = [abs(gram[i, i]).sqrt() for i in range(gram.nrows())]
    longest = _sum([abs(a) * v for a, v in zip(multipliers, corners, strict=True)])
    return _Share(above, below - above, best, above + size, off, longest)


# --- Gaussian classes ---------------------------------------------------------------------------

# The tolerances of a Gaussian's equations, which are to hold to 1e-8: for another order of
# summation, and for the rounding of a solution in the offsets, times the condition number.  The
# second is also the distance of two means by rounding, in standard deviations.
_OFF, _ROUNDED = 2e-7, 1e-12


@dataclass
class _Class:
    weight: fmpq
    mean: list[fmpq]
    scatter: list[list[fmpq]]


def _class_of(x: list[list[fmpq]], s: list[fmpq]) -> _Class:
    d, total = len(x[0]), sum(s, _ZERO)
    mean = [sum((u * row[j] for u, row in zip(s, x, strict=True)), _ZERO) / total for j in range(d)]
    scatter = [[_ZERO] * d for _ in range(d)]
    for u, row in zip(s, x, strict=True):
        away = [a - m for a, m in zip(row, mean, strict=True)]
        for i in range(d):
            for j in range(d):
                scatter[i][j] += u * away[i] * away[j]
    return _Class(total, mean, scatter)


def _root(value: fmpq) -> fmpq:
    """About the square root: a unit of measurement, in which equations are as exact as in any."""
    return rational(float(arb(value).sqrt().mid())) if value > 0 else _ZERO


def gaussians(fit: Fitted) -> Judge:
    """The judge of discriminant analyses: means, priors, covariances, and discriminants."""
    ctx.prec = _BITS
    x, s = [[rational(v) for v in row] for row in fit.table], fit.sample_weights()
    codes = np.searchsorted(fit.model.classes_, fit.y).tolist()
    pooled = hasattr(fit.model, "coef_")
    parts = []
    for k in range(len(fit.model.classes_)):
        mine = [i for i, code in enumerate(codes) if code == k and s[i] > 0]
        parts.append(_class_of([x[i] for i in mine], [s[i] for i in mine]))
    total = sum((p.weight for p in parts), _ZERO)
    count, d = len(parts), len(x[0])
    kinds = [getattr(fit.model, "covariance", None)] if is_own(fit.model) else ["mle", "unbiased"]
    divisors = [
        [total - count if kind == "unbiased" else total]
        if pooled
        else [p.weight - (kind == "unbiased") for p in parts]
        for kind in kinds
    ]
    scatters = [p.scatter for p in parts]
    if pooled:
        scatters = [
            [[sum((p.scatter[i][j] for p in parts), _ZERO) for j in range(d)] for i in range(d)]
        ]
    candidates = [
        [_divided(scatter, divisor) for scatter, divisor in zip(scatters, own, strict=True)]
        for own in divisors
        if all(divisor > 0 for divisor in own)
    ]
    within = [sum((p.scatter[j][j] for p in parts), _ZERO) / total for j in range(d)]
    spread = [_root(v) for v in within]
    farthest = [max(_absolute(p.mean[j]) for p in parts) for j in range(d)]

    def judged(what: str, model: Any, found: Any) -> Iterator[tuple[str, str]]:
        ctx.prec = _BITS
        if not found.ok:
            return
        for k, part in enumerate(parts):
            prior = rational(model.priors_[k])
            if _absolute(prior - part.weight / total) > rational(_OFF) * prior:
                yield "optimal", f"{what}: the prior of class {k}; {found}"
            for j in range(d):
                off = _absolute(rational(model.means_[k, j]) - part.mean[j])
                if off > rational(_OFF) * (spread[j] + farthest[j]):
                    yield "optimal", f"{what}: the mean of class {k}, column {j}; {found}"
        offs = [list(_gaussian_offs(model, parts, total, matrices)) for matrices in candidates]
        if offs and min(max((off for off, _ in own), default=0.0) for own in offs) > 1.0:
            nearest = min(offs, key=lambda own: max(off for off, _ in own))
            off, of = max(nearest)
            yield "optimal", f"{what}: {of} are off by {off:.1e} of what is allowed; {found}"

    return judged


def _divided(matrix: list[list[fmpq]], divisor: fmpq) -> list[list[fmpq]]:
    return [[v / divisor for v in row] for row in matrix]


def _gaussian_offs(
    model: Any, parts: list[_Class], total: fmpq, matrices: list[list[list[fmpq]]]
) -> Iterator[tuple[float, str]]:
    """The errors of a model's equations, in units of the tolerance, and what they are about."""
    if np.any(getattr(model, "floored_", False)):
        return
    d = len(parts[0].mean)
    theirs = _covariances(model)
    for k, matrix in enumerate(matrices if theirs is not None else []):
        scale = [_root(matrix[j][j]) for j in range(d)]
        rest = [[rational(theirs[k][i][j]) - matrix[i][j] for j in range(d)] for i in range(d)]
        norm = _row_sum(matrix, scale)
        yield float(_row_sum(rest, scale) / norm) / _OFF if norm > 0 else 0.0, "covariances"
    if hasattr(model, "coef_") and len(getattr(model, "independent_columns_", range(d))) == d:
        yield from _plane_offs(model, parts, total, matrices[0])


def _plane_offs(
    model: Any, parts: list[_Class], total: fmpq, matrix: list[list[fmpq]]
) -> Iterator[tuple[float, str]]:
    """The errors of linear discriminants: ``Sigma W = M``, and the differences of the offsets."""
    d = len(matrix)
    try:
        inverse = fmpq_mat(matrix).inv()
    except ZeroDivisionError:
        return
    scale = [_root(matrix[j][j]) for j in range(d)]
    shares = [p.weight / total for p in parts]
    centre = _mean(shares, [p.mean for p in parts])
    steps = [[a - b for a, b in zip(p.mean, centre, strict=True)] for p in parts]
    heights = []
    for share, step in zip(shares, steps, strict=True):
        solved = (inverse * fmpq_mat(d, 1, step)).entries()
        heights.append(arb(share).log() - arb(_inner(step, solved)) / 2)
    highest = max(float(abs(h).mid()) for h in heights)
    correlations = [
        [v / scale[i] / scale[j] for j, v in enumerate(row)] for i, row in enumerate(matrix)
    ]
    condition = float(np.linalg.cond([[float(v) for v in row] for row in correlations]))
    norm = _row_sum(matrix, scale)
    centred = hasattr(model, "centred_coef_") and len(parts) > 2
    for name in ["", "centred_"] if centred else [""]:
        points = _numbers(model, name)
        weights = [w for w, _ in points]
        if len(points) == 1:
            right = [[b - a for a, b in zip(steps[0], steps[1], strict=True)]]
            wanted, first = [heights[1] - heights[0]], _ZERO
        else:
            common, right = _mean(shares, weights), steps
            weights = [[a - b for a, b in zip(w, common, strict=True)] for w in weights]
            wanted = [h - heights[0] for h in heights]
            first = _inner(points[0][0], centre) + points[0][1]
        for w, step in zip(weights, right, strict=True):
            own = [v * u for v, u in zip(w, scale, strict=True)]
            unit = [v / u for v, u in zip(step, scale, strict=True)]
            rest = max(
                _absolute(_inner(row, own) - b) for row, b in zip(correlations, unit, strict=True)
            )
            whole = norm * max(map(_absolute, own)) + max(map(_absolute, unit))
            # A difference of means below their rounding counts as zero.
            yield float(rest / (rational(_OFF) * whole + rational(_ROUNDED))), f"{name}coef_"
        terms = max(
            sum((_absolute(v * c) for v, c in zip(w, centre, strict=True)), _absolute(b))
            for w, b in points
        )
        allowed = (1 + arb(highest) + arb(terms)) * (_OFF + _ROUNDED * condition)
        for (w, b), height in zip(points, wanted, strict=True):
            off = abs(arb(_inner(w, centre) + b - first) - height) / allowed
            yield float(off.mid()), f"{name}intercept_"


def _inner(a: list[fmpq], b: list[fmpq]) -> fmpq:
    return sum((p * q for p, q in zip(a, b, strict=True)), _ZERO)


def _mean(shares: list[fmpq], rows: list[list[fmpq]]) -> list[fmpq]:
    return [_inner(shares, list(column)) for column in zip(*rows, strict=True)]


def _row_sum(matrix: list[list[fmpq]], scale: list[fmpq]) -> fmpq:
    """The largest row sum of a matrix in standard deviations; a constant column has none."""
    units = [v if v > 0 else fmpq(1) for v in scale]
    return max(
        sum((_absolute(v) / units[i] / units[j] for j, v in enumerate(row)), _ZERO)
        for i, row in enumerate(matrix)
    )


def _covariances(model: Any) -> Any:
    """The covariances by which a model decides, where it keeps them.

    scikit-learn's quadratic model decides by axes and variances along them.  In this library these
    follow from the covariances, which decide: axes of columns of unlike scales have the digits of
    the largest column alone.
    """
    if not is_own(model) and hasattr(model, "rotations_"):
        pairs = zip(model.rotations_, model.scalings_, strict=True)
        return [((axes * squares) @ axes.T).tolist() for axes, squares in pairs]
    if not is_own(model) and model.solver == "svd":
        return None
    found = np.asarray(model.covariance_)
    return (found[None] if found.ndim == 2 else found).tolist()
