"""A judge of certificates that shares no code with the library.

It takes a fitted model and the data that it was fitted to, and reports which claims of
``certificate_`` are provably false:

- ``primal``: the exact objective at the returned coefficients is above ``certificate_.primal``;
- ``dual``: a point is known at which the exact objective is below ``certificate_.dual``;
- ``order``, ``gap``, ``status``, ``nan``: the numbers contradict one another.

The objectives are written down from the documentation.  Data, weights and parameters are taken as
the exact numbers that their floats stand for (whole numbers as converted to float64); products
such as ``C`` times a weight are rational, and losses are evaluated in interval arithmetic (Arb, by
python-flint) with as many digits as it takes until the comparison is decided.  So every verdict is
a proof, whatever led to the point that it is about.

Better points than the returned one come from Newton's method in some hundred digits.  A kink, of
the hinge or of L1, is rounded off over a width that shrinks to nothing; the hard margin is the
squared hinge whose weight grows; kernel machines move their coefficients.  None of it has to be
right: what comes out is a point like any other.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from flint import arb, arb_mat, ctx, fmpq

__all__ = [
    "Finding",
    "Kernel",
    "Linear",
    "Part",
    "Reading",
    "Softmax",
    "Undecided",
    "Verdict",
    "judge",
    "kernel_parts",
    "kernel_values",
    "parts_of",
    "rational",
]

# The precisions in bits with which a comparison is tried, one after the other.
_BITS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
# The precision in bits of the search for better points: for a smooth objective, for one with
# kinks, and for the second search of a smooth one if the first did not end.
_SMOOTH, _KINKED, _MORE = 512, 768, 2048
# The search ends when another step promises less than this, relative to the objective.
_ENOUGH = arb(2) ** -80
_ZERO, _ONE = arb(0), arb(1)
# Beyond these scores log(1 + exp(-z)) is below 2 ** -1048576.
_FAR = arb(2) ** 20
_ALMOST_NOTHING = arb(0).union(arb(2) ** -(2**20))


class Undecided(ArithmeticError):
    """An interval is too wide for the answer."""


def rational(x: float) -> fmpq:
    """The number that a float stands for."""
    return fmpq(*float(x).as_integer_ratio())


def exact(x: float) -> arb:
    return arb(float(x))


def is_above(value: Callable[[], arb], bound: float) -> tuple[bool, arb]:
    """Whether a value is provably above a float; and the value, to the digits that it took."""
    limit, found = exact(bound), arb(0)
    for bits in _BITS:
        ctx.prec = bits
        try:
            found = value()
        except Undecided:
            continue
        if found > limit:
            return True, found
        if found <= limit:
            return False, found
    return False, found


def is_below(value: Callable[[], arb], bound: float) -> tuple[bool, arb]:
    """Whether a value is provably below a float."""
    limit, found = exact(bound), arb(0)
    for bits in _BITS:
        ctx.prec = bits
        try:
            found = value()
        except Undecided:
            continue
        if found < limit:
            return True, found
        if found >= limit:
            return False, found
    return False, found


# --- losses -----------------------------------------------------------------------------------


def log_loss(z: arb) -> arb:
    if z > _FAR:
        return _ALMOST_NOTHING
    if z.mid() >= 0:
        return (-z).exp().log1p()
    if -z > _FAR:
        return -z + _ALMOST_NOTHING
    return -z + z.exp().log1p()


def positive_part(u: arb) -> arb:
    return u.max(_ZERO)


def loss_value(name: str, z: arb, level: arb) -> arb:
    """The loss at the margin ``z``; ``level`` is where the hinge bends."""
    if name == "log":
        return log_loss(z)
    if name == "squared_error":
        return (1 - z) * (1 - z) / 2
    u = positive_part(level - z)
    return u * u if name == "squared_hinge" else u


# --- problems ---------------------------------------------------------------------------------


# A value, and slopes and curvatures entry by entry.
_Local = tuple[arb, list[arb], list[arb]]


class Problem:
    """One objective: exact numbers, the value of a point, and steps towards better ones.

    A point is a list of exact ``arb``.
    """

    bits = _SMOOTH
    kinked = False
    # Whether nothing but the loss limits the weights.
    free = False
    n_rows = 0

    def value(self, point: list[arb]) -> arb:
        """The objective, as an interval that holds it, at the current precision."""
        raise NotImplementedError

    def smooth(self, point: list[arb], width: arb) -> arb:
        """The objective with its kinks rounded off over ``width``, roughly."""
        raise NotImplementedError

    def step(
        self, point: list[arb], width: arb, zone: arb | None = None, first: bool = False
    ) -> tuple[arb, list[arb], arb]:
        """The value, the Newton step, and the slope along it.

        ``zone`` is the distance from a kink within which a term is taken to be on it, by default
        ``width``; ``first`` is for a point that another method found, which lies on both sides.
        """
        raise NotImplementedError

    def solve(self, point: list[arb], loss: _Local, penalty: _Local) -> tuple[list[arb], arb]:
        """The step that slopes and curvatures give, and the slope along it."""
        raise NotImplementedError

    def moves(self, step: list[arb]) -> list[arb]:
        """The change of each margin along a step."""
        raise NotImplementedError

    def variants(self, point: list[arb], width: arb) -> list[list[arb]]:
        """The point and variants of it that may be better."""
        return [point]

    def usable(self, point: list[arb]) -> bool:
        """Whether the search can start at a point."""
        return True


def _mids(values: Any) -> list[arb]:
    return [v.mid() for v in values]


def _column(values: list[arb]) -> arb_mat:
    return arb_mat(len(values), 1, values)


def _dot(a: list[arb], b: list[arb]) -> arb:
    total = _ZERO
    for x, y in zip(a, b, strict=True):
        total += x * y
    return total


def _solved(matrix: arb_mat, right: list[arb]) -> list[arb]:
    return _mids(matrix.solve(_column(right), algorithm="approx").entries())


class _Weighted(Problem):
    """Rows with weights ``U_i``; with constraints instead of losses if ``upper`` is None."""

    def __init__(self, upper: list[fmpq] | None) -> None:
        self.upper = upper
        self._converted: dict[int, list[arb]] = {}

    def weights(self) -> list[arb]:
        bits = ctx.prec
        if bits not in self._converted:
            assert self.upper is not None
            self._converted[bits] = [arb(u) for u in self.upper]
        return self._converted[bits]


class _Margins(_Weighted):
    """The loss of margins that linear and kernel machines of two classes share."""

    def __init__(self, signs: list[int], upper: list[fmpq] | None, loss: str, level: float) -> None:
        super().__init__(upper)
        self.signs = signs
        self.n_rows = len(signs)
        self.loss = loss
        self.level = exact(level)
        self.hard = upper is None
        self.kinked = loss in ("hinge", "hard")
        # Weight of a broken constraint, for the search.
        self.stiffness = _ONE

    def loss_total(self, scores: list[arb]) -> arb:
        total = _ZERO
        for u, y, s in zip(self.weights(), self.signs, scores, strict=True):
            total += u * loss_value(self.loss, s * y, self.level)
        return total

    def least_margin(self, scores: list[arb]) -> arb:
        least = None
        for y, s in zip(self.signs, scores, strict=True):
            least = s * y if least is None else least.min(s * y)
        assert least is not None
        return least

    def constrained(self, half_square: arb, scores: list[arb]) -> arb:
        """The value of the hard margin at the best multiple; infinite where there is none."""
        least = self.least_margin(scores)
        if least <= 0:
            return arb("inf")
        if not least > 0:
            raise Undecided
        return half_square / (least * least)

    def terms(self, scores: list[arb], width: arb, zone: arb | None, first: bool) -> _Local:
        """Loss, slopes and curvatures in the scores."""
        total, slopes, curvatures = _ZERO, [], []
        weights = [self.stiffness] * len(scores) if self.hard else self.weights()
        bend = width if zone is None else zone
        low = -bend if first else _ZERO
        for u, y, s in zip(weights, self.signs, scores, strict=True):
            z = s * y
            if self.loss == "log":
                if abs(z) > _FAR:
                    value = positive_part(-z)
                    slope, curve = (_ZERO, _ZERO) if z > 0 else (-_ONE, _ZERO)
                else:
                    e = (-abs(z)).exp()
                    value = e.log1p() + positive_part(-z)
                    slope = -(e if z > 0 else _ONE) / (1 + e)
                    curve = e / ((1 + e) * (1 + e))
            elif self.loss == "squared_error":
                value, slope, curve = (1 - z) * (1 - z) / 2, z - 1, _ONE
            else:
                gap = self.level - z
                if self.loss == "squared_hinge":
                    on = gap > 0
                    value, slope, curve = (gap * gap, -2 * gap, 2 * _ONE) if on else (_ZERO,) * 3
                elif gap <= low:
                    value = slope = curve = _ZERO
                elif gap < bend or self.hard:
                    value, slope, curve = gap * gap / (2 * width), -gap / width, 1 / width
                else:
                    value, slope, curve = gap - width / 2, -_ONE, _ZERO
            total += u * value
            slopes.append((u * slope * y).mid())
            curvatures.append((u * curve).mid())
        return total, slopes, curvatures

    def smooth_total(self, scores: list[arb], width: arb) -> arb:
        if self.loss in ("hinge", "hard"):
            return self.terms(scores, width, None, False)[0]
        return self.loss_total(scores)


class _Penalty:
    """``l1 |w|_1 + l2 / 2 |w|^2`` of some entries of a point."""

    def __init__(self, l1: fmpq, l2: fmpq, lengths: list[arb]) -> None:
        self.l1, self.l2 = l1, l2
        # The unit of each weight: one over the largest entry of its column.
        self.lengths = lengths

    def value(self, weights: list[arb]) -> arb:
        total = _ZERO
        if self.l2 != 0:
            total += arb(self.l2) * _dot(weights, weights) / 2
        if self.l1 != 0:
            total += arb(self.l1) * sum((abs(w) for w in weights), _ZERO)
        return total

    def terms(self, weights: list[arb], width: arb, zone: arb | None, first: bool) -> _Local:
        total, slopes, curvatures = _ZERO, [], []
        l1, l2 = arb(self.l1), arb(self.l2)
        for w, length in zip(weights, self.lengths, strict=True):
            value, slope, curve = l2 * w * w / 2, l2 * w, l2
            if self.l1 != 0:
                own = width * length
                bend = own if zone is None else zone * length
                near = w == 0 if first else abs(w) < bend
                if near:
                    value += l1 * w * w / (2 * own)
                    slope += l1 * w / own
                    curve += l1 / own
                else:
                    value += l1 * (abs(w) - own / 2)
                    slope += l1 if w > 0 else -l1
            total += value
            slopes.append(slope.mid())
            curvatures.append(curve.mid())
        return total, slopes, curvatures


def _lengths(rows: list[list[float]], count: int) -> list[arb]:
    out = []
    for j in range(count):
        largest = max((abs(row[j]) for row in rows), default=0.0)
        out.append(1 / exact(largest) if largest > 0.0 else _ONE)
    return _mids(out)


class Linear(_Margins):
    """Weights of the columns of ``rows`` and, last, an intercept.

    Parameters
    ----------
    rows : list of lists of floats
    signs : list of -1 and +1
    upper : list of fmpq, or None for the hard margin
    loss : {"log", "hinge", "squared_hinge", "squared_error", "hard"}
    l1, l2 : fmpq
    intercept : bool
    level : float
        The margin at which the hinge bends.
    """

    def __init__(
        self,
        rows: list[list[float]],
        signs: list[int],
        upper: list[fmpq] | None,
        loss: str,
        *,
        l1: fmpq,
        l2: fmpq,
        intercept: bool,
        level: float = 1.0,
    ) -> None:
        super().__init__(signs, upper, loss, level)
        self.columns = len(rows[0])
        self.rows = [[exact(v) for v in row] + [_ONE] * intercept for row in rows]
        self.matrix = arb_mat(self.rows)
        self.turned = self.matrix.transpose()
        ctx.prec = 64
        self.penalty = _Penalty(l1, l2, _lengths(rows, self.columns))
        self.kinked = self.kinked or l1 != 0
        self.bits = _KINKED if self.kinked else _SMOOTH
        self.free = l2 == 0

    def scores(self, point: list[arb]) -> list[arb]:
        return (self.matrix * _column(point)).entries()

    def value(self, point: list[arb]) -> arb:
        penalty = self.penalty.value(point[: self.columns])
        scores = self.scores(point)
        return self.constrained(penalty, scores) if self.hard else penalty + self.loss_total(scores)

    def smooth(self, point: list[arb], width: arb) -> arb:
        penalty = self.penalty.terms(point[: self.columns], width, None, False)[0]
        return penalty + self.smooth_total(self.scores(point), width)

    def step(
        self, point: list[arb], width: arb, zone: arb | None = None, first: bool = False
    ) -> tuple[arb, list[arb], arb]:
        loss = self.terms(self.scores(point), width, zone, first)
        penalty = self.penalty.terms(point[: self.columns], width, zone, first)
        return loss[0] + penalty[0], *self.solve(point, loss, penalty)

    def solve(self, point: list[arb], loss: _Local, penalty: _Local) -> tuple[list[arb], arb]:
        _, slopes, curvatures = loss
        gradient = (self.turned * _column(slopes)).entries()
        bent = [[c * v for v in row] for c, row in zip(curvatures, self.rows, strict=True)]
        hessian = self.turned * arb_mat(bent)
        for j in range(len(gradient)):
            if j < self.columns:
                gradient[j] += penalty[1][j]
                hessian[j, j] += penalty[2][j]
            _strengthen(hessian, j)
        step = _solved(hessian, [-g for g in gradient])
        return step, _dot(gradient, step)

    def moves(self, step: list[arb]) -> list[arb]:
        return [s * y for s, y in zip(self.scores(step), self.signs, strict=True)]

    def split(self, point: list[arb]) -> list[arb]:
        return point[: self.columns]

    def variants(self, point: list[arb], width: arb) -> list[list[arb]]:
        if self.penalty.l1 == 0:
            return [point]
        lengths = self.penalty.lengths
        cut = [
            _ZERO if abs(w) < 2 * width * length else w
            for w, length in zip(point, lengths, strict=False)
        ]
        return [point, cut + point[self.columns :]]

    def usable(self, point: list[arb]) -> bool:
        if not self.hard:
            return True
        square = _dot(point[: self.columns], point[: self.columns])
        self.stiffness = square.mid()
        return square > 0


def _strengthen(hessian: arb_mat, j: int) -> None:
    """Increase a diagonal entry slightly, so that the matrix is not singular."""
    entry = hessian[j, j]
    hessian[j, j] = entry * (1 + arb(2) ** -(ctx.prec // 2)) if entry > 0 else _ONE


class Softmax(_Weighted):
    """The loss ``log sum_k exp(f_k) - f_y``; a point has each class's weights and its intercept."""

    def __init__(
        self,
        rows: list[list[float]],
        codes: list[int],
        n_classes: int,
        upper: list[fmpq],
        *,
        l1: fmpq,
        l2: fmpq,
        intercept: bool,
    ) -> None:
        super().__init__(upper)
        self.codes, self.n_classes = codes, n_classes
        self.n_rows = len(codes)
        self.columns = len(rows[0])
        self.size = self.columns + intercept
        self.rows = [[exact(v) for v in row] + [_ONE] * intercept for row in rows]
        self.matrix = arb_mat(self.rows)
        self.turned = self.matrix.transpose()
        ctx.prec = 64
        self.penalty = _Penalty(l1, l2, _lengths(rows, self.columns) * n_classes)
        self.kinked = l1 != 0
        self.bits = _KINKED if self.kinked else _SMOOTH
        self.free = l2 == 0

    def scores(self, point: list[arb]) -> list[list[arb]]:
        """The scores of each row, one for each class."""
        size = self.size
        thetas = arb_mat(
            [[point[k * size + j] for k in range(self.n_classes)] for j in range(size)]
        )
        return (self.matrix * thetas).tolist()

    def split(self, point: list[arb]) -> list[arb]:
        size = self.size
        return [w for k in range(self.n_classes) for w in point[k * size : k * size + self.columns]]

    def loss_total(self, scores: list[list[arb]]) -> arb:
        total = _ZERO
        for u, code, row in zip(self.weights(), self.codes, scores, strict=True):
            best = max(range(len(row)), key=lambda k: row[k].mid())
            rest = _ZERO
            for k, s in enumerate(row):
                if k != best:
                    away = row[best] - s
                    rest += _ALMOST_NOTHING if away > _FAR else (-away).exp()
            total += u * (rest.log1p() + (row[best] - row[code]))
        return total

    def value(self, point: list[arb]) -> arb:
        return self.penalty.value(self.split(point)) + self.loss_total(self.scores(point))

    def smooth(self, point: list[arb], width: arb) -> arb:
        penalty = self.penalty.terms(self.split(point), width, None, False)[0]
        return penalty + self.loss_total(self.scores(point))

    def step(
        self, point: list[arb], width: arb, zone: arb | None = None, first: bool = False
    ) -> tuple[arb, list[arb], arb]:
        value = self.loss_total(self.scores(point))
        penalty = self.penalty.terms(self.split(point), width, zone, first)
        return value + penalty[0], *self.solve(point, (value, [], []), penalty)

    def solve(self, point: list[arb], loss: _Local, penalty: _Local) -> tuple[list[arb], arb]:
        scores = self.scores(point)
        k, size, d = self.n_classes, self.size, self.columns
        chances = []
        for row in scores:
            top = max(row, key=lambda s: s.mid())
            powers = [_ZERO if top - s > _FAR else (s - top).exp() for s in row]
            total = sum(powers, _ZERO)
            chances.append([(p / total).mid() for p in powers])
        weights = self.weights()
        slopes = arb_mat(
            [
                [u * (p - (j == code)) for j, p in enumerate(row)]
                for u, row, code in zip(weights, chances, self.codes, strict=True)
            ]
        )
        by_class = (self.turned * slopes).transpose().entries()
        hessian = arb_mat(k * size, k * size)
        for a in range(k):
            for b in range(a, k):
                bent = [
                    [(u * row[a] * ((a == b) - row[b])) * v for v in x]
                    for u, row, x in zip(weights, chances, self.rows, strict=True)
                ]
                block = (self.turned * arb_mat(bent)).tolist()
                for i in range(size):
                    for j in range(size):
                        hessian[a * size + i, b * size + j] = block[i][j]
                        hessian[b * size + j, a * size + i] = block[i][j]
        for a in range(k):
            for j in range(size):
                if j < d:
                    by_class[a * size + j] += penalty[1][a * d + j]
                    hessian[a * size + j, a * size + j] += penalty[2][a * d + j]
                _strengthen(hessian, a * size + j)
        step = _solved(hessian, [-g for g in by_class])
        return step, _dot(by_class, step)

    def variants(self, point: list[arb], width: arb) -> list[list[arb]]:
        if self.penalty.l1 == 0:
            return [point]
        cut, size, lengths = list(point), self.size, self.penalty.lengths
        for k in range(self.n_classes):
            for j in range(self.columns):
                if abs(point[k * size + j]) < 2 * width * lengths[k * self.columns + j]:
                    cut[k * size + j] = _ZERO
        return [point, cut]


class Kernel(_Margins):
    """Coefficients of the lifted rows and an intercept; ``matrix`` gives the kernel's values.

    Where a machine has no intercept, that entry of a point is zero and stays so.
    """

    def __init__(
        self,
        matrix: Callable[[], arb_mat],
        signs: list[int],
        upper: list[fmpq] | None,
        loss: str,
        intercept: bool,
    ) -> None:
        super().__init__(signs, upper, loss, 1.0)
        self.matrix = matrix
        self.intercept = intercept
        self.bits = _KINKED
        self._values: dict[int, arb_mat] = {}

    def gram(self) -> arb_mat:
        if ctx.prec not in self._values:
            self._values[ctx.prec] = self.matrix()
        return self._values[ctx.prec]

    def _images(self, point: list[arb]) -> tuple[list[arb], arb]:
        """``K c``, and half of ``c' K c``."""
        images = (self.gram() * _column(point[:-1])).entries()
        return images, _dot(images, point[:-1]) / 2

    def value(self, point: list[arb]) -> arb:
        images, half = self._images(point)
        half = positive_part(half)
        scores = [v + point[-1] for v in images]
        return self.constrained(half, scores) if self.hard else half + self.loss_total(scores)

    def smooth(self, point: list[arb], width: arb) -> arb:
        images, half = self._images(point)
        return half + self.smooth_total([v + point[-1] for v in images], width)

    def step(
        self, point: list[arb], width: arb, zone: arb | None = None, first: bool = False
    ) -> tuple[arb, list[arb], arb]:
        images, half = self._images(point)
        loss = self.terms([v + point[-1] for v in images], width, zone, first)
        return loss[0] + half, *self.solve(point, loss, (half, [], []))

    def solve(self, point: list[arb], loss: _Local, penalty: _Local) -> tuple[list[arb], arb]:
        _, slopes, curvatures = loss
        n = len(self.signs)
        gram = self.gram().tolist()
        lines = [[c * v for v in row] + [c] for c, row in zip(curvatures, gram, strict=True)]
        last = [sum((line[j] for line in lines), _ZERO) for j in range(n + 1)]
        for i in range(n):
            lines[i][i] += 1
        last[n] = last[n] * (1 + arb(2) ** -(ctx.prec // 2)) if last[n] > 0 else _ONE
        pull = [c + g for c, g in zip(point[:-1], slopes, strict=True)]
        tilt = sum(slopes, _ZERO)
        if not self.intercept:
            last, tilt = [_ZERO] * n + [_ONE], _ZERO
        step = _solved(arb_mat([*lines, last]), [-p for p in pull] + [-tilt])
        along = (self.gram() * _column(step[:-1])).entries()
        return step, _dot(pull, along) + tilt * step[-1]

    def scores(self, point: list[arb]) -> list[arb]:
        return [v + point[-1] for v in self._images(point)[0]]

    def moves(self, step: list[arb]) -> list[arb]:
        return [s * y for s, y in zip(self.scores(step), self.signs, strict=True)]

    def usable(self, point: list[arb]) -> bool:
        if not self.hard:
            return True
        square = 2 * self._images(point)[1]
        self.stiffness = square.mid()
        return square > 0


class Mistakes(_Weighted):
    """The weight of the rows that the perceptron's rule would correct; no steps."""

    def __init__(
        self,
        rows: list[list[float]],
        signs: list[int],
        upper: list[fmpq],
        *,
        intercept: bool,
        margin: float,
    ) -> None:
        super().__init__(upper)
        self.matrix = arb_mat([[exact(v) for v in row] + [_ONE] * intercept for row in rows])
        self.signs, self.margin = signs, margin

    def value(self, point: list[arb]) -> arb:
        total, level = _ZERO, exact(self.margin)
        scores = (self.matrix * _column(point)).entries()
        for u, y, s in zip(self.weights(), self.signs, scores, strict=True):
            z = s * y
            wrong = z < level if self.margin > 0 else z <= 0
            right = z >= level if self.margin > 0 else z > 0
            if not (wrong or right):
                raise Undecided
            if wrong:
                total += u
        return total

    def usable(self, point: list[arb]) -> bool:
        return False


# --- better points ----------------------------------------------------------------------------


def _finite(values: list[arb]) -> bool:
    return all(v.is_finite() for v in values)


def _moved(point: list[arb], step: list[arb], t: arb) -> list[arb]:
    return [(p + t * s).mid() for p, s in zip(point, step, strict=True)]


class _Budget:
    """The number of steps that a search may take; fewer if a step is expensive."""

    def __init__(self, problem: Problem, parameters: int) -> None:
        work = problem.n_rows * parameters**2
        self.left = max(15, min(150, 300_000 // work))


def _newton(
    problem: Problem, point: list[arb], width: arb, limit: int, budget: _Budget
) -> tuple[list[arb], bool]:
    """Newton's method with a line search, of the objective with its kinks rounded off."""
    stretch = problem.free and not problem.kinked
    for _ in range(min(limit, budget.left)):
        budget.left -= 1
        value, step, slope = problem.step(point, width)
        value, slope = value.mid(), slope.mid()
        if not _finite([*step, value, slope]):
            return point, False
        if -slope <= _ENOUGH * abs(value):
            # The last step costs nothing, and doubles the digits.
            last = _moved(point, step, _ONE)
            return (last if problem.smooth(last, width).mid() <= value else point), True
        t, found = _ONE, None
        for _ in range(30):
            there = _moved(point, step, t)
            reached = problem.smooth(there, width).mid()
            if reached <= value + slope * t / 16384:
                found = there
                break
            t /= 4
        if found is None:
            return point, False
        while stretch and t < 1e30:
            # Where nothing limits the weights, the optimum may be far away.
            t *= 2
            there = _moved(point, step, t)
            further = problem.smooth(there, width).mid()
            if not further < reached:
                break
            found, reached = there, further
        point = found
    return point, False


def better(problem: Problem, point: list[arb], closeness: float) -> tuple[list[list[arb]], bool]:
    """Points that are likely to be better, and whether the search came to its end.

    ``closeness`` is the relative gap that the certificate claims for the given point.
    """
    ctx.prec = problem.bits
    if not problem.usable(point):
        return [], False
    budget = _Budget(problem, len(point))
    if not problem.kinked:
        found, done = _newton(problem, point, _ONE, 40, budget)
        if not done and budget.left > 0:
            ctx.prec = _MORE
            found, done = _newton(problem, found, _ONE, 25, budget)
        return [found], done
    start = problem.smooth(point, arb(2) ** -100).mid()
    hard = isinstance(problem, _Margins) and problem.hard
    total = problem.stiffness if hard else sum(problem.weights(), _ZERO)
    share = start / total if total > 0 else _ONE
    if hasattr(problem, "penalty") and problem.penalty.l1 != 0:
        share = share.min(start / (arb(problem.penalty.l1) * sum(problem.penalty.lengths, _ZERO)))
    final = ((arb(2) ** -100) * share.min(_ONE)).mid()
    if not final > 0:
        return [], False
    zone = arb(2) ** min(0, max(-60, round(0.5 * math.log2(max(closeness, 1e-30)))))
    found, given = point, True
    for _ in range(12 if hard else 2):
        budget.left -= 1
        value, step, _ = problem.step(found, final, zone, given)
        if _finite([*step, value]):
            guess = _moved(found, step, _ONE)
            guess, done = _newton(problem, guess, final, 4, budget)
            if done:
                return problem.variants(guess, final), True
        if not given:
            zone = zone / 256
        found, _ = _newton(problem, found, zone, 8, budget)
        given = False
    out = problem.variants(found, zone)
    if hard:
        return out, False
    path = _Path(problem, point)
    done = path.followed(final, budget)
    return [*out, *problem.variants(path.point, final)], done


class _Pair:
    """Two numbers that share a kink: their distances from it, and multipliers that add up.

    ``total`` is the sum of the multipliers ``first`` and ``second`` of the distances ``near`` and
    ``far``; on the path the product of each multiplier and its distance is ``mu`` times ``total``
    times a length.
    """

    def __init__(self, near: arb, far: arb, total: arb, length: arb) -> None:
        self.near, self.far, self.total, self.length = near, far, total, length
        self.first = (total * far / (near + far)).mid()
        self.second = (total * near / (near + far)).mid()

    @property
    def size(self) -> arb:
        """The larger product of a multiplier and its distance, in units of ``mu``."""
        product = (self.near * self.first).max(self.far * self.second)
        return product / (self.total * self.length)


class _Path:
    """The central path of hinges and absolute values (primal-dual, with a path of its own scale).

    A hinge ``max(0, u)`` has distances ``s - xi = -u``, an absolute value ``|w|`` has
    ``t - w`` and ``t + w``.  With the multipliers eliminated each is a slope and a curvature, so
    that a step is that of Newton's method.
    """

    def __init__(self, problem: Any, point: list[arb]) -> None:
        self.problem, self.point = problem, point
        self.hinges: list[_Pair] = []
        self.sizes: list[_Pair] = []
        if isinstance(problem, _Margins) and problem.loss == "hinge":
            for u, z in zip(problem.weights(), self._margins(), strict=True):
                away = (z - problem.level).mid()
                slack = (_ONE + positive_part(-away)).mid()
                self.hinges.append(_Pair((away + slack).mid(), slack, u.mid(), _ONE))
        else:
            l1 = arb(problem.penalty.l1).mid()
            for w, length in zip(problem.split(point), problem.penalty.lengths, strict=True):
                reach = (abs(w) + length).mid()
                self.sizes.append(_Pair((reach - w).mid(), (reach + w).mid(), l1, length))

    def _margins(self) -> list[arb]:
        problem = self.problem
        scores = problem.scores(self.point)
        return [s * y for s, y in zip(scores, problem.signs, strict=True)]

    def followed(self, final: arb, budget: _Budget) -> bool:
        """Go along it, until ``mu`` is at most ``final``."""
        mu, shrink, stuck = _ONE, arb(0.1), 0
        while budget.left > 0 and stuck < 10:
            budget.left -= 1
            length = self._step((mu * shrink).mid(), mu)
            if length is None:
                return False
            mu = max((p.size.mid() for p in [*self.hinges, *self.sizes]), default=_ZERO)
            if mu <= final and length > 0.9:
                return True
            stuck = stuck + 1 if length < 0.001 else 0
            shrink = (shrink * shrink).max(mu).mid() if length > 0.9 else arb(0.2)
        return False

    def _step(self, mu: arb, before: arb) -> arb | None:
        problem, point = self.problem, self.point
        # The share of a step to the bounds, so near to one that the last steps double the digits.
        share = 1 - before.min(arb(0.005))
        if self.hinges:
            slopes, curvatures, pulls = [], [], []
            for y, z, p in zip(problem.signs, self._margins(), self.hinges, strict=True):
                target = mu * p.total * p.length
                curve = 1 / (p.near / p.first + p.far / p.second)
                aim = problem.level - z + target * (1 / p.first - 1 / p.second)
                slopes.append((-y * (p.first + curve * aim)).mid())
                curvatures.append(curve.mid())
                pulls.append((aim, curve, target))
            if isinstance(problem, Linear):
                own = problem.penalty.terms(problem.split(point), _ONE, None, False)
            else:
                own = (_ZERO, [], [])
            step, _ = problem.solve(point, (_ZERO, slopes, curvatures), own)
            if not _finite(step):
                return None
            changes = []
            moves = problem.moves(step)
            for move, p, (aim, curve, target) in zip(moves, self.hinges, pulls, strict=True):
                first = curve * (aim - move)
                far = (target + p.far * first) / p.second - p.far
                near = (target - p.near * first) / p.first - p.near
                changes.append((near.mid(), far.mid(), first.mid()))
            pairs = self.hinges
        else:
            pulls, curves, terms = [], [], []
            penalty = problem.penalty
            l2 = arb(penalty.l2)
            weights = problem.split(point)
            for w, p in zip(weights, self.sizes, strict=True):
                target = mu * p.total * p.length
                a, b = p.first / p.near, p.second / p.far
                lift = target * (1 / p.near + 1 / p.far) - p.total
                slope = target * (1 / p.near - 1 / p.far) - (a - b) / (a + b) * lift
                pulls.append((slope + l2 * w).mid())
                curves.append((4 * a * b / (a + b) + l2).mid())
                terms.append((a, b, lift, target))
            loss = (_ZERO, [], [])
            if isinstance(problem, Linear):
                loss = problem.terms(problem.scores(point), _ONE, None, False)
            step, _ = problem.solve(point, loss, (_ZERO, pulls, curves))
            if not _finite(step):
                return None
            changes = []
            moved = problem.split(step)
            for move, p, (a, b, lift, target) in zip(moved, self.sizes, terms, strict=True):
                reach = (lift + (a - b) * move) / (a + b)
                near, far = reach - move, reach + move
                first = target / p.near - p.first - a * near
                changes.append((near.mid(), far.mid(), first.mid()))
            pairs = self.sizes
        length = _ONE
        for p, (near, far, first) in zip(pairs, changes, strict=True):
            for value, change in (
                (p.near, near),
                (p.far, far),
                (p.first, first),
                (p.second, -first),
            ):
                if change < 0:
                    length = length.min(-value / change * share)
        length = length.mid()
        self.point = _moved(point, step, length)
        for p, (near, far, first) in zip(pairs, changes, strict=True):
            p.near = (p.near + length * near).mid()
            p.far = (p.far + length * far).mid()
            p.first = (p.first + length * first).mid()
            p.second = (p.second - length * first).mid()
        return length


# --- what a model claims ----------------------------------------------------------------------


@dataclass
class Part:
    """One problem, the point that was returned for it, and its certificate.

    ``search`` and ``seed`` are another form of the same problem and its point, to find better ones.
    """

    name: str
    problem: Problem
    point: list[arb]
    certificate: Any
    search: Problem | None = None
    seed: list[arb] | None = None


@dataclass
class Finding:
    """A false claim: its kind, its size relative to the objective, and a sentence."""

    kind: str
    size: float
    text: str


@dataclass
class Verdict:
    findings: list[Finding] = field(default_factory=list)
    # The number of bounds that were compared with better points, and the number of those points
    # that are optima.
    judged: int = 0
    settled: int = 0
    # The least objective that was found for each part.
    lowest: list[arb] = field(default_factory=list)


def _dense(X: Any) -> np.ndarray:
    x = X.toarray() if sp.issparse(X) else np.asarray(X)
    return x.astype(np.float64)


def _factors(
    class_weight: Any, y: np.ndarray, classes: np.ndarray, floats: np.ndarray, rounded: bool
) -> dict[Any, fmpq]:
    """The weight of each class; "balanced" exactly, or to float64."""
    names = [c.item() for c in classes]
    if class_weight is None:
        return dict.fromkeys(names, fmpq(1))
    if isinstance(class_weight, dict):
        return {c: rational(class_weight.get(c, 1.0)) for c in names}
    if rounded:
        from sklearn.utils.class_weight import compute_class_weight

        used = floats > 0.0
        even = bool(np.all(floats[used] == 1.0))
        found = compute_class_weight(
            class_weight,
            classes=classes,
            y=y[used],
            sample_weight=None if even else floats[used],
        )
        return {c: rational(f) for c, f in zip(names, found, strict=True)}
    weights = [rational(v) for v in floats]
    total = sum(weights, fmpq(0))
    out = {}
    for c in names:
        own = sum((w for w, label in zip(weights, y, strict=True) if label == c), fmpq(0))
        out[c] = total / (len(names) * own)
    return out


class Reading:
    """The exact numbers of a fit: rows that count, labels, weights, and ``C``."""

    def __init__(self, model: Any, X: Any, y: Any, sample_weight: Any, rounded: bool) -> None:
        self.model = model
        self.x = _dense(X)
        labels = np.asarray(y)
        classes = np.asarray(model.classes_)
        n = len(labels)
        floats = np.ones(n)
        if sample_weight is not None:
            floats = np.array(np.broadcast_to(sample_weight, n), dtype=np.float64)
        weights = [rational(v) for v in floats]
        self.total = sum(weights, fmpq(0))
        factors = _factors(model.class_weight, labels, classes, floats, rounded)
        product = [
            w * factors[c] if w != 0 else fmpq(0)
            for w, c in zip(weights, labels.tolist(), strict=True)
        ]
        self.used = [i for i in range(n) if product[i] != 0]
        self.s = [product[i] for i in self.used]
        place = {c: k for k, c in enumerate(classes.tolist())}
        self.codes = [place[labels[i].item()] for i in self.used]
        self.rows = self.x[self.used].tolist()
        self.classes = classes

    def strength(self) -> fmpq | None:
        """``C``; None where it is infinite."""
        model = self.model
        lam = getattr(model, "lam", None)
        if lam is not None:
            return None if lam == 0 else 1 / (rational(lam) * self.total)
        return None if math.isinf(model.C) else rational(model.C)

    def signs(self, k: int) -> list[int]:
        return [1 if code == k else -1 for code in self.codes]


def _points(coef: np.ndarray, intercept: Any, with_intercept: bool) -> list[list[arb]]:
    b = np.broadcast_to(np.asarray(intercept, dtype=np.float64), (len(coef),))
    return [
        [exact(v) for v in w] + [exact(v)] * with_intercept for w, v in zip(coef, b, strict=True)
    ]


def _certificates(model: Any, count: int) -> list[Any]:
    certificate = model.certificate_
    return [certificate] if count == 1 else list(certificate.parts)


def parts_of(
    model: Any, X: Any, y: Any, sample_weight: Any = None, rounded: bool = True
) -> list[Part]:
    """The problems that a fitted model is about, from its parameters and the documentation."""
    name = type(model).__name__
    data = Reading(model, X, y, sample_weight, rounded)
    if name == "SVC":
        return kernel_parts(model, data)
    count = len(data.classes)
    intercept = bool(model.fit_intercept)
    if name == "Perceptron":
        kind: dict[str, Any] = {"margin": float(model.margin)}
        upper: list[fmpq] | None = data.s
    else:
        kind, upper = _objective(model, data)
    if name == "LogisticRegression" and model.multiclass == "multinomial" and count > 2:
        assert upper is not None
        kind.pop("loss")
        problem: Problem = Softmax(data.rows, data.codes, count, upper, intercept=intercept, **kind)
        points = _points(model.coef_, model.intercept_, intercept)
        return [Part("", problem, [v for p in points for v in p], model.certificate_)]
    of_class = [1] if count == 2 else list(range(count))
    parts = []
    points = _points(model.coef_, model.intercept_, intercept)
    certificates = _certificates(model, len(of_class))
    for k, point, certificate in zip(of_class, points, certificates, strict=True):
        signs = data.signs(k)
        if name == "Perceptron":
            assert upper is not None
            problem = Mistakes(data.rows, signs, upper, intercept=intercept, **kind)
        else:
            problem = Linear(data.rows, signs, upper, intercept=intercept, **kind)
        title = "" if count == 2 else f"class {data.classes[k]} against the rest"
        parts.append(Part(title, problem, point, certificate))
    return parts


def _objective(model: Any, data: Reading) -> tuple[dict[str, Any], list[fmpq] | None]:
    """Loss, penalty and weights of a linear model."""
    name = type(model).__name__
    one, none = fmpq(1), fmpq(0)
    if name == "SGDClassifier":
        penalised = model.penalty is not None and model.alpha > 0
        strength = rational(model.alpha) if penalised else one
        factor = 1 / (strength * data.total)
        names = {"log_loss": "log", "perceptron": "hinge"}
        kind = {
            "loss": names.get(model.loss, model.loss),
            "l1": none,
            "l2": one if penalised else none,
        }
        if model.loss == "perceptron":
            kind["level"] = float(model.margin)
        return kind, [factor * s for s in data.s]
    C = data.strength()
    ratio = one if model.penalty == "l1" else rational(model.l1_ratio)
    kind = {"loss": "log", "l1": ratio, "l2": 1 - ratio}
    if name == "LinearSVC":
        kind["loss"] = model.loss
        if C is None:
            return {"loss": "hard", "l1": none, "l2": one}, None
    if model.penalty is None or C is None:
        kind["l1"] = kind["l2"] = none
        C = one
    return kind, [C * s for s in data.s]


def kernel_parts(model: Any, data: Reading) -> list[Part]:
    count = len(data.classes)
    C = data.strength()
    pairs = [(1, 0)] if count == 2 else list(itertools.combinations(range(count), 2))
    certificates = _certificates(model, len(pairs))
    support = [int(i) for i in model.support_]
    of_row = dict(zip(data.used, data.codes, strict=True))
    parts = []
    for pair, ((first, second), certificate) in enumerate(zip(pairs, certificates, strict=True)):
        mine = [i for i, code in enumerate(data.codes) if code in (first, second)]
        signs = [1 if data.codes[i] == first else -1 for i in mine]
        upper = None if C is None else [C * data.s[i] for i in mine]
        coefficients = dict.fromkeys((data.used[i] for i in mine), 0.0)
        for column, row in enumerate(support):
            code = of_row[row]
            if count == 2:
                coefficients[row] = float(model.dual_coef_[0, column])
            elif code in (first, second):
                other = second if code == first else first
                line = other - 1 if other > code else other
                coefficients[row] = float(model.dual_coef_[line, column])
        point = [exact(coefficients[data.used[i]]) for i in mine]
        point.append(exact(model.intercept_[pair]))
        loss = "hinge" if upper is not None else "hard"
        values = kernel_values(model, data, [data.used[i] for i in mine])
        title = "" if count == 2 else f"{data.classes[first]} vs {data.classes[second]}"
        level = bool(getattr(model, "fit_intercept", True))
        part = Part(title, Kernel(values, signs, upper, loss, level), point, certificate)
        if model.kernel == "linear":
            rows = [data.rows[i] for i in mine]
            part.search = Linear(rows, signs, upper, loss, l1=fmpq(0), l2=fmpq(1), intercept=level)
            ctx.prec = _KINKED
            w = _column(point[:-1]).transpose() * arb_mat([[exact(v) for v in r] for r in rows])
            part.seed = [*_mids(w.entries()), *point[len(mine) :][:level]]
        parts.append(part)
    return parts


def kernel_values(model: Any, data: Reading, rows: list[int]) -> Callable[[], arb_mat]:
    """The kernel's exact values, at the current precision."""
    kernel, x = model.kernel, data.x[rows]
    if kernel == "precomputed":
        given = arb_mat(x[:, rows].tolist())
        return lambda: given
    if callable(kernel):
        whole = np.asarray(kernel(data.x, data.x), dtype=np.float64)
        called = arb_mat(whole[np.ix_(rows, rows)].tolist())
        return lambda: called
    points = arb_mat([[exact(v) for v in row] for row in x])

    def linear() -> arb_mat:
        return points * points.transpose()

    if kernel == "linear":
        return linear
    gamma = exact(model.kernel_.gamma)
    if kernel == "poly":
        shift, degree = exact(model.coef0), int(model.degree)
        return lambda: arb_mat(
            [[(gamma * v + shift) ** degree for v in row] for row in linear().tolist()]
        )
    if kernel != "rbf":
        raise ValueError(f"kernel={kernel!r} is none that the judge knows.")
    table = [[exact(v) for v in row] for row in x]

    def gaussian() -> arb_mat:
        n = len(table)
        out = [[_ONE] * n for _ in range(n)]
        for i in range(n):
            for j in range(i):
                away = [a - b for a, b in zip(table[i], table[j], strict=True)]
                power = gamma * _dot(away, away)
                out[i][j] = out[j][i] = _ALMOST_NOTHING if power > _FAR else (-power).exp()
        return arb_mat(out)

    return gaussian


# --- the verdict ------------------------------------------------------------------------------


def _relative(difference: arb, size: arb) -> float:
    scale = abs(size)
    return float((difference / scale).mid()) if scale > 0 else float(difference.mid())


def _shown(value: arb) -> str:
    return value.str(25, radius=False)


def _consistent(certificate: Any, where: str, out: list[Finding]) -> None:
    """Append the contradictions between the numbers of a certificate to ``out``."""
    primal, dual, gap = certificate.primal, certificate.dual, certificate.gap
    relative, tol = certificate.relative_gap, certificate.tol
    if any(math.isnan(v) for v in (primal, dual, gap, relative)):
        out.append(Finding("nan", math.inf, f"a number of the certificate{where} is NaN"))
        return
    if dual > primal or dual == math.inf:
        size = (dual - primal) / abs(primal) if primal else math.inf
        out.append(Finding("order", size, f"dual={dual!r} is above primal={primal!r}{where}"))
    if not math.isfinite(primal) or not math.isfinite(dual):
        if math.isfinite(gap) or certificate.status == "optimal":
            text = f"{certificate.status}, gap={gap!r} with primal={primal!r}, dual={dual!r}{where}"
            out.append(Finding("gap", math.inf, text))
        return
    room = rational(4 * math.ulp(max(abs(primal), abs(dual))))
    difference = rational(primal) - rational(dual)
    size = abs(gap - (primal - dual)) / abs(primal) if primal else math.inf
    if not math.isfinite(gap) or abs(rational(gap) - difference) > room or gap < 0:
        text = f"gap={gap!r} is not primal - dual = {primal - dual!r}{where}"
        out.append(Finding("gap", size, text))
    if certificate.status == "optimal" and (
        difference > rational(tol) * abs(rational(primal)) + room or relative > tol
    ):
        text = f"optimal with primal={primal!r}, dual={dual!r} and tol={tol!r}{where}"
        out.append(Finding("status", size, text))


def _value_at(problem: Problem, point: list[arb]) -> Callable[[], arb]:
    return lambda: problem.value(point)


def _floats(point: list[arb]) -> str:
    return "[" + ", ".join(v.str(20, radius=False) for v in point) + "]"


def _judge(parts: list[Part], whole: Any, search: bool) -> Verdict:
    verdict = Verdict()
    out = verdict.findings
    values, lowest = [], []
    for part in parts:
        certificate, problem, point = part.certificate, part.problem, part.point
        where = f" of {part.name}" if part.name else ""
        _consistent(certificate, where, out)
        if not _finite(point):
            if math.isfinite(certificate.primal):
                text = f"the coefficients{where} are not finite, primal={certificate.primal!r}"
                out.append(Finding("nan", math.inf, text))
            return verdict
        value = _value_at(problem, point)
        values.append(value)
        best = value
        if not math.isnan(certificate.primal):
            false, at = is_above(value, certificate.primal)
            if false:
                over = at - exact(certificate.primal)
                text = (
                    f"primal={certificate.primal!r}{where} is below the objective at the "
                    f"coefficients, {_shown(at)}"
                )
                out.append(Finding("primal", _relative(over, at), text))
        dual = certificate.dual
        if math.isnan(dual):
            continue
        false, at = is_below(value, dual) if math.isfinite(dual) else (False, arb(0))
        candidates = []
        # No objective is ever negative, so that a bound of zero needs no search.
        if not false and search and math.isfinite(dual) and dual > 0.0:
            verdict.judged += 1
            closeness = certificate.relative_gap
            closeness = closeness if 0.0 < closeness < 1.0 else 1e-16 if closeness == 0.0 else 1.0
            other = part.search or problem
            try:
                candidates, done = better(other, part.seed or point, closeness)
            except ZeroDivisionError:
                candidates, done = [], False
            verdict.settled += done
            ctx.prec = 256
            found = [(other, c) for c in candidates if _finite(c)]
            for form, candidate in found:
                there = _value_at(form, candidate)
                try:
                    if there().mid() < best().mid():
                        best = there
                        if is_below(there, dual)[0]:
                            false, point = True, candidate
                except Undecided:
                    continue
                ctx.prec = 256
        if false:
            ctx.prec = 256
            at = best()
            text = f"dual={dual!r}{where} is above the objective {_shown(at)} at {_floats(point)}"
            out.append(Finding("dual", _relative(exact(dual) - at, at), text))
        lowest.append(best)
        ctx.prec = 256
        with contextlib.suppress(Undecided):
            verdict.lowest.append(best())
    if len(parts) > 1 and len(lowest) == len(parts):
        _consistent(whole, " of the sum", out)
        _judge_sum(whole, values, lowest, out)
    return verdict


def _judge_sum(
    whole: Any, values: list[Callable[[], arb]], lowest: list[Callable[[], arb]], out: list[Finding]
) -> None:
    if not math.isnan(whole.primal):
        false, at = is_above(lambda: sum((v() for v in values), _ZERO), whole.primal)
        if false:
            text = f"primal={whole.primal!r} of the sum is below the objective, {_shown(at)}"
            out.append(Finding("primal", _relative(at - exact(whole.primal), at), text))
    if math.isfinite(whole.dual):
        false, at = is_below(lambda: sum((v() for v in lowest), _ZERO), whole.dual)
        if false:
            text = f"dual={whole.dual!r} of the sum is above the objective {_shown(at)}"
            out.append(Finding("dual", _relative(exact(whole.dual) - at, at), text))


def judge(model: Any, X: Any, y: Any, sample_weight: Any = None, *, search: bool = True) -> Verdict:
    """The provably false claims of a fitted model's certificate.

    Parameters
    ----------
    model : fitted LogisticRegression, LinearSVC, SVC, SGDClassifier or Perceptron
    X, y, sample_weight
        The training data.  Repeated entries of a sparse matrix have to add up without rounding.
    search : bool
        Whether to search for better points; otherwise only the returned point is used.

    Returns
    -------
    Verdict
        The verdict; ``findings`` is empty where nothing was found to be false.
    """
    before = ctx.prec
    try:
        verdict = _judge(parts_of(model, X, y, sample_weight), model.certificate_, search)
        if verdict.findings and model.class_weight == "balanced":
            # The factors are a rational formula, or floats: a finding counts if it holds for both.
            again = _judge(parts_of(model, X, y, sample_weight, False), model.certificate_, search)
            kinds = {f.kind for f in again.findings}
            verdict.findings = [f for f in verdict.findings if f.kind in kinds]
        return verdict
    finally:
        ctx.prec = before
