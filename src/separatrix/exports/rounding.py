r"""The distance of two evaluations of a tree in float64: a running error analysis.

The *error* of a node bounds how far a value that was computed by its formula may be from the
formula's exact value, in whatever order sums were taken, with or without fused multiply-adds, and
with functions that are off by at most :data:`ULPS` units in the last place. So two evaluations
differ by at most twice the error: beside the values here, exact ones lie within once the error, and
those of other evaluations within twice. A function is charged at the worst place of both. With
:math:`u = 2^{-53}` and :math:`\gamma_n = n u / (1 - n u)`, a sum of products has the error
:math:`\gamma_{n+1} \sum_i |a_i b_i|` and what its terms bring along (Higham, 2002, Accuracy and
stability of numerical algorithms, section 3.1). Errors themselves are computed in float64, and
taken a little larger for that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.special import expit

from separatrix._compiled.tuning import Tuned
from separatrix.data.design import dense
from separatrix.exports.artefacts import Unprintable
from separatrix.expressions import answers, features, scores
from separatrix.expressions.base import Expression, Features
from separatrix.kernels import functions as kernels

ULPS = 4.0
"""The largest error of an engine's ``exp``, ``log`` and ``tanh``, in units in the last place."""

# The rounding of the arithmetic of the errors themselves.
_SLACK = 1.0 + 1e-9


@dataclass(frozen=True)
class Precision:
    """The arithmetic of an artefact.

    Attributes
    ----------
    unit : float
        Half the distance from 1 to the next larger number.
    tiny : float
        The smallest number above 0.
    normal : float
        The smallest number of full precision: engines may take smaller ones for 0.
    largest : float
        The largest feature or score that is held to a bound: databases that raise an error where
        a number overflows need a margin for sums.
    """

    unit: float = 2.0**-53
    tiny: float = 2.0**-1074
    normal: float = 2.0**-1022
    largest: float = 1e300


DOUBLE = Precision()
SINGLE = Precision(2.0**-24, 2.0**-149, 2.0**-126, float(np.finfo(np.float32).max))

arithmetic = Tuned(DOUBLE)


class Enclosed(NamedTuple):
    """Values of some rows, and bounds on their distances from the exact ones.

    Attributes
    ----------
    values, errors : ndarray of equal shape
        Errors are infinite where a rounding can change which branch a row takes.
    """

    values: np.ndarray
    errors: np.ndarray

    @property
    def largest(self) -> np.ndarray:
        """Bounds on the absolute values, exact or computed."""
        return np.abs(self.values) + 2.0 * self.errors


def _u() -> float:
    return arithmetic.now.unit


def _tiny() -> float:
    return arithmetic.now.tiny


def _function() -> float:
    """The relative error of ``exp`` and the like."""
    return 2.0 * ULPS * _u()


def _gamma(n: float) -> float:
    return n * _u() / (1.0 - n * _u()) * _SLACK


def _converted(values: np.ndarray) -> Enclosed:
    """Numbers of float64 as an artefact has them, which may be rounded to float32."""
    if arithmetic.now is DOUBLE:
        return Enclosed(values, np.zeros(values.shape))
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(values.astype(np.float32).astype(np.float64) - values)
    return Enclosed(values, np.where(np.isfinite(values), off, 0.0))


def _in_range(size: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The errors; infinite where numbers of a size, or bounds, overflow in the artefact."""
    lost = (size >= arithmetic.now.largest) | (np.isnan(errors) & ~np.isnan(size))
    return np.where(lost, np.inf, errors)


def _same_side(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Whether all evaluations lie on the same side of zero."""
    return np.asarray((np.abs(values) > 2.0 * errors) | (errors == 0.0))


def _monotone(
    function: Callable[[np.ndarray], np.ndarray], values: np.ndarray, errors: np.ndarray
) -> np.ndarray:
    """A bound on the error of a nondecreasing function at a computed instead of an exact value."""
    # Sums of so different sizes may lose an error altogether.
    low, high = (np.nextafter(values + k * errors, k * np.inf) for k in (-2.0, 2.0))
    least, most = (np.nextafter(values + k * errors, k * np.inf) for k in (-1.0, 1.0))
    return np.maximum(function(high) - function(least), function(most) - function(low))


# --- features of cells ----------------------------------------------------------------------------

Cells = Mapping[str, Sequence[Any]]


@singledispatch
def _number(node: Any, cells: Cells) -> Enclosed:
    raise Unprintable(f"A feature of the kind {type(node).__name__} has no bound on its rounding.")


@_number.register
def _(node: features.Cell, cells: Cells) -> Enclosed:
    return _converted(np.asarray(cells[node.column], dtype=np.float64))


@_number.register
def _(node: features.Constant, cells: Cells) -> Enclosed:
    return _converted(np.full(_n_rows(cells), node.value))


@_number.register
def _(node: features.Arithmetic, cells: Cells) -> Enclosed:
    left, right = _number(node.left, cells), _number(node.right, cells)
    if node.operator == "*":
        return _product(left, right)
    if node.operator == "/":
        return _quotient(left, right)
    values, errors = (_plus_each if node.operator == "+" else _less)(left, right)
    return Enclosed(values, _in_range(np.abs(values), errors))


def _quotient(x: Enclosed, y: Enclosed) -> Enclosed:
    values, least = x.values / y.values, np.abs(y.values) - 2.0 * y.errors
    # Quotients first: products of such small numbers would be lost.
    off = y.errors / least
    spread = (x.errors / least + np.abs(values) * off) * (1.0 + off)
    spread += _tiny() * ((x.values != 0.0) | (x.errors != 0.0))
    errors = _in_range(np.abs(values), _rounded(values, spread).errors)
    return Enclosed(values, np.where((y.errors > 0.0) & (least <= 0.0), np.inf, errors))


@_number.register
def _(node: features.Power, cells: Cells) -> Enclosed:
    return _power(_number(node.base, cells), node.exponent)


def _power(base: Enclosed, exponent: int) -> Enclosed:
    values, size = base.values**exponent, base.largest**exponent
    spread = exponent * base.errors * base.largest ** max(exponent - 1, 0)
    errors = (spread + _gamma(exponent + 2 * ULPS) * size) * _SLACK + exponent * _tiny()
    return Enclosed(values, _in_range(size, errors))


@_number.register
def _(node: features.Function, cells: Cells) -> Enclosed:
    v, e = _number(node.of, cells)
    if node.name == "absolute":
        return Enclosed(np.abs(v), e)
    if node.name == "floor":
        jumps = np.floor(v - 2.0 * e) != np.floor(v + 2.0 * e)
        return Enclosed(np.floor(v), np.where(jumps, np.inf, 0.0))
    shift = 1.0 if node.name == "log1p" else 0.0
    values = np.log1p(v) if shift else np.log(v)
    least = v - 2.0 * e + shift
    spread = np.where(e > 0.0, e / least, 0.0)
    # Engines without log1p make good what 1 + x rounds off by a product and a quotient.
    errors = (spread + _gamma(2.0 * ULPS + 8.0 * shift) * np.abs(values)) * _SLACK
    return Enclosed(values, np.where((e > 0.0) & (least <= 0.0), np.inf, errors))


@_number.register
def _(node: features.DatePart, cells: Cells) -> Enclosed:
    days = np.asarray(cells[node.cell.column], dtype=np.float64)
    there = (days >= -719_162) & (days < 2_932_897)
    whole = np.floor(np.where(there, days, 0.0)).astype(np.int64)
    if node.part == "weekday":
        found = (whole + 3) % 7 + 1.0
    elif node.part == "hour":
        hours = (np.where(there, days, 0.0) - whole) * 24.0 + 1e-9
        found, off = np.floor(hours), 2.0 * _u() * hours
        errors = np.where(np.floor(hours - off) != np.floor(hours + off), np.inf, 0.0)
        return Enclosed(np.where(there, found, np.nan), errors)
    else:
        dates = whole.astype("datetime64[D]")
        months = dates.astype("datetime64[M]").astype(np.int64)
        found = months % 12 + 1.0 if node.part == "month" else months // 12 + 1970.0
    return Enclosed(np.where(there, found, np.nan), np.zeros(len(days)))


@_number.register
def _(node: features.Where, cells: Cells) -> Enclosed:
    with np.errstate(all="ignore"):
        sides = _number(node.then, cells), _number(node.otherwise, cells)
    true, sure = _condition(node.condition, cells)
    values, errors = (np.where(true, *pair) for pair in zip(*sides, strict=True))
    return Enclosed(values, np.where(sure, errors, np.inf))


@singledispatch
def _condition(node: Any, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    """Whether a condition is true of each row, and whether rounding cannot change that."""
    raise Unprintable(
        f"A condition of the kind {type(node).__name__} has no bound on its rounding."
    )


@_condition.register
def _(node: features.IsMissing, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    column = cells[node.cell.column]
    if node.cell.kind == "text":
        return np.array([cell is None for cell in column], dtype=bool), _always(cells)
    values, errors = _converted(np.asarray(column, dtype=np.float64))
    missing = np.isnan(values) | np.isin(values, node.placeholders)
    # In float32 a number beside one that stands for nothing may be rounded to it.
    marks = _converted(np.array(node.placeholders))
    apart = np.abs(values[:, None] - marks.values) > errors[:, None] + marks.errors
    return missing, missing | apart.all(axis=1)


@_condition.register
def _(node: features.IsLevel, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    levels = frozenset(node.levels)
    return np.array([cell in levels for cell in cells[node.cell.column]]), _always(cells)


@_condition.register
def _(node: features.Compare, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
    (a, ea), (b, eb) = _number(node.left, cells), _number(node.right, cells)
    compare = {"<": np.less, "<=": np.less_equal, "==": np.equal}[node.operator]
    exact, none = (ea == 0.0) & (eb == 0.0), np.isnan(a + b) & ~np.isinf(ea) & ~np.isinf(eb)
    return compare(a, b), exact | none | (np.abs(a - b) > 2.0 * (ea + eb))


def _always(cells: Cells) -> np.ndarray:
    return np.ones(_n_rows(cells), dtype=bool)


def _n_rows(cells: Cells) -> int:
    return len(next(iter(cells.values())))


def matrix_of(program: features.Program, cells: Cells, words: Callable[..., Any]) -> Enclosed:
    """The features of rows, each with its error, of shape (n_rows, n_features).

    Parameters
    ----------
    program : Program
    cells : mapping of str to sequence
        The cells, as in ``Sample.rows``.
    words : callable
        Called with a :class:`~separatrix.expressions.features.Words` and the texts; returns the
        weights of its words, of shape (n_rows, n_words).
    """
    parts = []
    parsed = [cell for cell in program.cells if isinstance(cell, features.Parsed)]
    cells = {**cells, **{own.column: [*map(own.number, cells[own.column])] for own in parsed}}
    with np.errstate(all="ignore"):
        for feature in program.features:
            if isinstance(feature, features.Words):
                values = words(feature, cells[feature.cell.column])
                # A logarithm, two products, the length of the row and a quotient.
                terms = (values != 0.0).sum(axis=1, keepdims=True)
                parts.append(Enclosed(values, values * ((terms + 4.0 * ULPS) * _u()) * _SLACK))
            else:
                parts.append(Enclosed(*(part[:, None] for part in _number(feature, cells))))
    if not parts:
        return Enclosed(*(np.zeros((_n_rows(cells), 0)),) * 2)
    values, errors = (np.hstack(part) for part in zip(*parts, strict=True))
    return Enclosed(values, np.where(np.isnan(errors), np.inf, errors))


# --- scores and answers ---------------------------------------------------------------------------


def enclosed(node: Expression, matrix: Enclosed) -> Enclosed:
    """The values of a node, and bounds on how far computed ones are from the exact ones.

    Parameters
    ----------
    node : Expression
    matrix : Enclosed of shape (n_rows, n_features)
        The features, which are finite.

    Returns
    -------
    Enclosed of shape (n_rows, n_columns)

    Raises
    ------
    Unprintable
        If the rounding of a node has no bound here.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.exports.rounding import Enclosed, enclosed
    >>> from separatrix.expressions import Affine, Features
    >>> tree = Affine(Features(2), np.array([[3.0, -1.0]]), np.array([0.5]))
    >>> rows = np.array([[0.1, 0.2], [1e6, 3e6]])
    >>> found = enclosed(tree, Enclosed(rows, np.zeros(rows.shape)))
    >>> bool(found.errors[0, 0] < 1e-15), bool(1e-10 < found.errors[1, 0] < 1e-8)
    (True, True)
    """
    return enclosing(matrix)(node)


Of = Callable[[Expression], Enclosed]


def enclosing(matrix: Enclosed) -> Of:
    """A function that encloses the nodes of trees, each once, whatever trees it is part of."""
    known: dict[int, Enclosed] = {}

    def of(inner: Expression) -> Enclosed:
        if isinstance(inner, Features):
            return matrix
        if id(inner) not in known:
            with np.errstate(all="ignore"):
                values, errors = _enclose(inner, of)
            # A value that overflows on the way to a bound has none.
            known[id(inner)] = Enclosed(values, np.where(np.isnan(errors), np.inf, errors))
        return known[id(inner)]

    return of


@singledispatch
def _enclose(node: Any, of: Of) -> Enclosed:
    raise Unprintable(f"{type(node).__name__} has no bound on its rounding.")


@_enclose.register
def _(node: scores.Affine, of: Of) -> Enclosed:
    inner = of(node.of)
    weights = dense(node.weights).astype(np.float64)
    values = inner.values @ weights.T + node.intercepts
    size = inner.largest @ np.abs(weights).T + np.abs(node.intercepts)
    count = inner.values.shape[1] + 2
    brought = inner.errors @ np.abs(weights).T + inner.largest @ _converted(weights).errors.T
    brought += _converted(np.asarray(node.intercepts, dtype=np.float64)).errors
    # Zeros are added up without an error, so that a tie of zeros is one everywhere.
    terms = (inner.largest != 0.0).astype(np.float64) @ (weights != 0.0).astype(np.float64).T
    errors = (brought + _gamma(count) * size) * _SLACK + np.minimum(terms, 1.0) * count * _tiny()
    return Enclosed(values, _in_range(size, errors))


@_enclose.register
def _(node: scores.Difference, of: Of) -> Enclosed:
    v, e = of(node.of)
    return _less(Enclosed(v[:, 1:], e[:, 1:]), Enclosed(v[:, :1], e[:, :1]))


@_enclose.register
def _(node: scores.Quadratic, of: Of) -> Enclosed:
    inner, own = of(node.of), node.gaussians
    kept, found = own.kept, []
    rest = np.zeros(own.means.shape) if own.rest is None else np.abs(own.rest)
    means = _converted(own.means)
    for k, constant in enumerate(node.constants):
        factor = own.factor(k)
        lower, scale = np.tril(factor.lower), _converted(factor.scale)
        step = (inner.values - own.means[k])[:, kept] * factor.scale
        off = inner.errors + _u() * (np.abs(inner.values) + np.abs(own.means[k]))
        off += means.errors[k] + rest[k]
        spread = off[:, kept] * scale.largest + 2.0 * _u() * np.abs(step)
        spread = (spread + np.abs(step) * (scale.errors / factor.scale)) * _SLACK + _tiny()
        inverse = np.abs(scipy.linalg.solve_triangular(lower, np.eye(len(kept)), lower=True))
        y = scipy.linalg.solve_triangular(lower, step.T, lower=True, check_finite=False).T
        count = 3 * len(kept) + 8
        # The errors of a solved triangle, and of its inverse, which an artefact multiplies by.
        charge = _gamma(count) * np.abs(lower) + _converted(lower).errors
        growth = inverse @ charge @ inverse
        error = spread @ inverse.T + (np.abs(step) + spread) @ growth.T
        error = error * _SLACK + count * _tiny()
        squares = np.einsum("ij,ij->i", y, y)
        lost = (2.0 * np.abs(y) * error + 3.0 * error**2).sum(axis=1)
        lost += _gamma(count) * (squares + lost) + count * _tiny()
        values = constant - 0.5 * squares
        size = np.abs(constant) + 0.5 * (squares + lost)
        errors = (0.5 * lost + 4.0 * _u() * size) * _SLACK + count * _tiny()
        parts = [np.abs(step), np.abs(y) @ np.abs(lower).T, squares[:, None]]
        most = np.hstack(parts).max(axis=1)
        found.append(Enclosed(values, _in_range(most, errors)))
    return Enclosed(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))


@_enclose.register
def _(node: scores.KernelSum, of: Of) -> Enclosed:
    inner, vectors = of(node.of), dense(node.vectors).astype(np.float64)
    kernel, coefficients = node.kernel, np.asarray(node.coefficients, dtype=np.float64)
    blocks = []
    # A matrix of the kernel's values at a time that fits in memory.
    size = max(1, 4_000_000 // max(1, vectors.size + len(vectors)))
    for start in range(0, len(inner.values), size):
        rows = Enclosed(*(part[start : start + size] for part in inner))
        values, errors = _kernel(kernel, rows, vectors, sp.issparse(node.vectors))
        total = np.abs(values) @ np.abs(coefficients) + np.abs(node.intercepts)
        brought = errors @ np.abs(coefficients) + np.abs(values) @ _converted(coefficients).errors
        lost = brought + _gamma(len(vectors) + 3) * (total + brought)
        lost = lost * _SLACK + (len(vectors) + 3) * _tiny()
        blocks.append((values @ coefficients + node.intercepts, _in_range(total, lost)))
    return Enclosed(*(np.concatenate(part) for part in zip(*blocks, strict=True)))


def _kernel(kernel: Any, rows: Enclosed, vectors: np.ndarray, sparse: bool) -> Enclosed:
    """The values of a kernel at pairs of a row and a vector."""
    count = vectors.shape[1] + 4
    if isinstance(kernel, kernels.RBFKernel):
        # Distances by differences, or expanded about the vectors' mean, as they are predicted with;
        # about the origin where the vectors are sparse.
        centre = np.zeros(vectors.shape[1]) if sparse else vectors.mean(axis=0)
        near, far = rows.values - centre, vectors - centre
        sizes = [np.sqrt(np.einsum("ij,ij->i", part, part)) for part in (near, far)]
        parts = rows.errors, _converted(vectors).errors
        shifts = [np.sqrt(np.einsum("ij,ij->i", part, part)) for part in parts]
        shift = shifts[0][:, None] + shifts[1]
        rounded = _u() * np.abs(centre).sum()
        reach = sizes[0][:, None] + sizes[1] + 3.0 * shift + 6.0 * rounded
        squares = np.maximum(
            (near**2).sum(axis=1)[:, None] + (far**2).sum(axis=1) - 2.0 * near @ far.T, 0.0
        )
        lost = 2.0 * reach * (shift + 2.0 * rounded) + _gamma(2 * count) * reach**2
        gamma = float(_converted(np.array([kernel.gamma])).largest[0])
        exponent = gamma * lost + 4.0 * _u() * kernel.gamma * (squares + lost)
        exponent += (gamma - kernel.gamma) * squares + count * _tiny() * (1.0 + gamma)
        values = np.exp(-kernel.gamma * squares)
        # It is 1 at most, and databases take what is below exp(-600) for zero.
        high = np.exp(np.minimum(2.0 * exponent - kernel.gamma * squares, 0.0))
        errors = high * (_function() - np.expm1(-exponent)) * _SLACK + max(_tiny(), 1e-260)
        errors = np.where(np.isnan(errors), 1.0 + _function(), errors)
        return Enclosed(values, _in_range(reach**2, errors))
    products_alone = kernels.LinearKernel | kernels.PolynomialKernel | kernels.SigmoidKernel
    if not isinstance(kernel, products_alone):
        raise Unprintable(f"The kernel {kernel.formula} has no bound on its rounding.")
    products, size = rows.values @ vectors.T, rows.largest @ np.abs(vectors).T
    lost = rows.errors @ np.abs(vectors).T + rows.largest @ _converted(vectors).errors.T
    lost = _in_range(size, lost + _gamma(count) * size + count * _tiny())
    if isinstance(kernel, kernels.LinearKernel):
        return Enclosed(products, lost * _SLACK)
    base = kernel.gamma * products + kernel.coef0
    (gamma, coef0), off = _converted(np.array([kernel.gamma, kernel.coef0], dtype=np.float64))
    lost = (gamma + off[0]) * lost + 4.0 * _u() * (gamma * size + abs(coef0)) + 4.0 * _tiny()
    lost += off[0] * size + off[1]
    if isinstance(kernel, kernels.SigmoidKernel):
        values = np.tanh(base)
        return Enclosed(values, (lost + _function() * np.abs(values)) * _SLACK)
    return _power(Enclosed(base, lost * _SLACK), int(kernel.degree))


@_enclose.register
def _(node: scores.Fourier, of: Of) -> Enclosed:
    inner, own = of(node.of), node.lift
    frequencies = np.abs(own.frequencies_)
    step = inner.values - own.offset_
    spread = inner.errors + _converted(own.offset_).errors
    spread = spread + _u() * (np.abs(step) + spread)
    angles = step @ own.frequencies_.T
    count = own.frequencies_.shape[1] + 2
    lost = (spread + _gamma(count) * (np.abs(step) + spread)) @ frequencies.T
    lost += (np.abs(step) + spread) @ _converted(own.frequencies_).errors.T + count * _tiny()
    scale = 1.0 / np.sqrt(len(own.frequencies_))
    values = np.stack([np.cos(angles), np.sin(angles)], axis=2).reshape(len(angles), -1)
    errors = np.repeat(np.minimum(lost * _SLACK, 2.0) + 2.0 * _function(), 2, axis=1)
    return Enclosed(scale * values, scale * errors)


@_enclose.register
def _(node: scores.Shifted, of: Of) -> Enclosed:
    return _plus_each(of(node.of), of(node.by))


@_enclose.register
def _(node: scores.Monomials, of: Of) -> Enclosed:
    inner, basis = of(node.of), node.basis
    n, d = inner.values.shape
    one = Enclosed(np.ones(n), np.zeros(n))
    columns = []
    for j in range(d):
        x = Enclosed(inner.values[:, j], inner.errors[:, j])
        t = _product(_less(x, _constant(basis.centre[j])), _constant(basis.scale[j]))
        own, before = [one], Enclosed(np.zeros(n), np.zeros(n))
        for step in basis.recurrence[j, : int(basis.top[j])]:
            a, b, scale = map(_constant, step)
            here = own[-1]
            after = _less(_product(_less(t, a), here), _product(before, b))
            before = here
            own.append(_product(after, scale))
        columns.append(own)
    terms = []
    for powers in basis.powers.tolist():
        term = one
        for own, power in zip(columns, powers, strict=True):
            term = _product(term, own[power]) if power else term
        terms.append(term)
    return Enclosed(*(np.stack(part, axis=1) for part in zip(*terms, strict=True)))


def _constant(value: float) -> Enclosed:
    return _converted(np.array([value], dtype=np.float64))


def _rounded(values: np.ndarray, spread: np.ndarray) -> Enclosed:
    """Values that are rounded once, of which the operands bring a spread along."""
    return Enclosed(values, (spread + _u() * (np.abs(values) + spread)) * _SLACK)


def _plus_each(x: Enclosed, y: Enclosed) -> Enclosed:
    return _rounded(x.values + y.values, x.errors + y.errors)


def _less(x: Enclosed, y: Enclosed) -> Enclosed:
    return _plus_each(x, Enclosed(-y.values, y.errors))


def _product(x: Enclosed, y: Enclosed) -> Enclosed:
    values = x.values * y.values
    # The exact factors are within the errors of these, and the computed ones of the exact ones.
    spread = np.abs(x.values) * y.errors + np.abs(y.values) * x.errors + 3.0 * x.errors * y.errors
    spread = spread + _tiny() * ((x.largest != 0.0) & (y.largest != 0.0))
    return Enclosed(values, _in_range(np.abs(values), _rounded(values, spread).errors))


@_enclose.register
def _(node: scores.Votes, of: Of) -> Enclosed:
    v, e = of(node.of)
    from separatrix.data.labels import one_vs_one_scores

    values = one_vs_one_scores(v, node.n_classes)
    spread = e.sum(axis=1) + _gamma(v.shape[1] + 8) * np.abs(v).sum(axis=1)
    # The share of a vote has a slope of a third at most, and is less than a third.
    errors = np.minimum(spread / 3.0, 2.0 / 3.0) + 8.0 * _u() * node.n_classes
    errors = np.where(_same_side(v, e).all(axis=1), errors, np.inf)
    return Enclosed(values, np.repeat(errors[:, None], node.n_classes, axis=1))


@_enclose.register
def _(node: scores.Wins, of: Of) -> Enclosed:
    v, e = of(node.of)
    sure = _same_side(v, e).all(axis=1, keepdims=True)
    values = scores.wins(v, node.n_classes)
    return Enclosed(values, np.where(sure, 0.0, np.inf) + 0.0 * values)


@_enclose.register
def _(node: answers.Positive, of: Of) -> Enclosed:
    v, e = of(node.of)
    return Enclosed((v > 0.0).astype(np.float64), np.where(_same_side(v, e), 0.0, 1.0))


@_enclose.register
def _(node: scores.Stacked, of: Of) -> Enclosed:
    return Enclosed(*(np.hstack(part) for part in zip(*map(of, node.of), strict=True)))


@_enclose.register
def _(node: answers.Scaled, of: Of) -> Enclosed:
    v, e = of(node.of)
    values = np.clip(node.slope * v + node.offset, -1e300, 1e300)
    size = np.abs(node.slope) * (np.abs(v) + e) + abs(node.offset)
    off = _constant(node.slope).errors * (np.abs(v) + 2.0 * e) + _constant(node.offset).errors
    return Enclosed(
        values,
        (np.abs(node.slope) * e + off + 3.0 * _u() * size) * _SLACK + _tiny(),
    )


@_enclose.register
def _(node: answers.Exp, of: Of) -> Enclosed:
    v, e = of(node.of)
    high = np.exp(v + 2.0 * e)
    errors = high * (2.0 * _function() - np.expm1(-e)) * _SLACK + arithmetic.now.normal
    return Enclosed(np.exp(v), _in_range(high, errors))


@_enclose.register
def _(node: answers.LogSigmoid, of: Of) -> Enclosed:
    v, e = of(node.of)
    values = -np.logaddexp(0.0, -v)
    return Enclosed(values, (e + 4.0 * _function() * (1.0 + np.abs(values))) * _SLACK)


@_enclose.register
def _(node: answers.Interpolate, of: Of) -> Enclosed:
    v, e = of(node.of)
    points = _converted(np.asarray(node.points, dtype=np.float64))
    e = e + points.errors.max()

    def value(x: np.ndarray) -> np.ndarray:
        return np.interp(x, node.points, node.heights)

    steps = _step_at(node, v - 2.0 * e, v + 2.0 * e)
    # Heights are no less than zero, so that nothing cancels.
    rounded = 16.0 * _u() * value(v + 2.0 * e) + _converted(np.asarray(node.heights)).errors.max()
    return Enclosed(value(v), _monotone(value, v, e) + steps + rounded)


def _step_at(node: answers.Interpolate, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The jumps of the function between points that are equal or too close to distinguish."""
    x, p = node.points, node.heights
    first = np.clip(np.searchsorted(x, low, side="left") - 1, 0, len(x) - 1)
    last = np.clip(np.searchsorted(x, high, side="right"), 0, len(x) - 1)
    steep = np.diff(x) <= 8.0 * _u() * np.abs(x[1:])
    if not steep.any():
        return np.zeros(low.shape)
    jumps = np.concatenate([[0.0], np.cumsum(np.where(steep, np.diff(p), 0.0))])
    return np.asarray(jumps[last] - jumps[first])


@_enclose.register
def _(node: answers.Clipped, of: Of) -> Enclosed:
    v, e = of(node.of)
    return Enclosed(0.5 * (np.clip(v, -1.0, 1.0) + 1.0), 0.5 * e * _SLACK + 4.0 * _u())


@_enclose.register
def _(node: answers.Leads, of: Of) -> Enclosed:
    v, e = of(node.of)
    columns = range(v.shape[1])
    rivals = np.stack([np.delete(v, k, axis=1).max(axis=1) for k in columns], axis=1)
    return _less(Enclosed(v, e), Enclosed(rivals, e.max(axis=1, keepdims=True)))


@_enclose.register
def _(node: answers.Sigmoid, of: Of) -> Enclosed:
    v, e = of(node.of)
    both = np.hstack([-v, v])
    # The logarithm of either has a slope of one at most.
    relative = 4.0 * _function() - np.expm1(-e)
    return Enclosed(expit(both), expit(both + 2.0 * e) * relative * _SLACK + arithmetic.now.normal)


@_enclose.register
def _(node: answers.Softmax, of: Of) -> Enclosed:
    v, e = of(node.of)
    shift = v - v.max(axis=1, keepdims=True)
    shares = np.exp(shift)
    values = shares / shares.sum(axis=1, keepdims=True)
    # The rounding of a difference counts as far as its class has a share.
    lost = 2.0 * _u() * np.abs(np.maximum(shift, -1000.0))
    relative = e + lost + (e + lost).max(axis=1, keepdims=True)
    high = np.exp(np.minimum(shift - np.log(shares.sum(axis=1, keepdims=True)) + 2.0 * relative, 0))
    relative = (2.0 * v.shape[1] + 16.0) * _function() - np.expm1(-relative)
    return Enclosed(values, high * relative * _SLACK + arithmetic.now.normal)


@_enclose.register
def _(node: answers.Normalised, of: Of) -> Enclosed:
    v, e = of(node.of)
    if v.shape[1] == 1:
        return Enclosed(np.hstack([1.0 - v, v]), np.hstack([e + 2.0 * _u(), e]))
    total, spread = v.sum(axis=1, keepdims=True), e.sum(axis=1, keepdims=True)
    least = total - 2.0 * spread
    values = np.where(total > 0.0, v / np.where(total > 0.0, total, 1.0), 1.0 / v.shape[1])
    share = np.minimum((v + e) / np.where(least > 0.0, least, 1.0), 1.0)
    errors = (e + share * spread) / np.where(least > 0.0, least, 1.0)
    errors = np.minimum(errors + _gamma(v.shape[1] + 4) * share, 1.0)
    never = (total == 0.0) & (spread == 0.0)
    return Enclosed(values, np.where(least > 0.0, errors * _SLACK, np.where(never, _u(), 1.0)))


@_enclose.register
def _(node: answers.OnItsSide, of: Of) -> Enclosed:
    v, e = of(node.of)
    label, sure = certain_labels(node.label, of)
    values = v.copy()
    values[v[np.arange(len(v)), label] < 0.5] = 0.5
    # Held at one half on the side of the class, which brings two values nearer, if anything.
    return Enclosed(values, np.where(sure[:, None], e, np.maximum(e, np.abs(v - 0.5) + e)))


@_enclose.register
def _(node: answers.Consistent, of: Of) -> Enclosed:
    v, e = of(node.of)
    label, sure = certain_labels(node.label, of)
    errors = np.where(sure[:, None], e, e.max(axis=1, keepdims=True))
    # The share of the class is lifted to that of another where rounding has it below.
    lead = np.arange(v.shape[1]) == label[:, None]
    errors = np.where(lead, e.max(axis=1, keepdims=True), errors) + 4.0 * _u()
    return Enclosed(v, errors)


def certain_labels(node: Expression, of: Of) -> tuple[np.ndarray, np.ndarray]:
    """The places of classes, and whether every evaluation has to find them.

    Parameters
    ----------
    node : Threshold, FirstWins or Positive
    of : callable
        Encloses the scores that it is of.

    Returns
    -------
    labels : ndarray of int, shape (n_rows,), or (n_rows, K) for several labels a row
    certain : ndarray of bool, shape (n_rows,)
        Whether two evaluations of the scores cannot lie on either side of a tie.
    """
    v, e = of(node.of)  # type: ignore[attr-defined]
    e = np.where(np.isnan(e), np.inf, e)
    if isinstance(node, answers.Threshold):
        label = (v[:, 0] >= 0.0 if node.inclusive else v[:, 0] > 0.0).astype(np.intp)
        return label, _same_side(v[:, 0], e[:, 0]) & np.isfinite(v[:, 0])
    if isinstance(node, answers.Positive):
        return (v > 0.0).astype(np.int64), np.all(_same_side(v, e), axis=1)
    label = v.argmax(axis=1)
    rows = np.arange(len(v))
    with np.errstate(all="ignore"):
        lead = v[rows, label][:, None] - v
        reach = 2.0 * (e + e[rows, label][:, None])
    # Numbers without a rounding error, such as votes, settle ties by their order alone.
    apart = (lead > reach) | (reach == 0.0)
    apart[rows, label] = True
    return label, apart.all(axis=1)
