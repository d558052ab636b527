r"""Lasso and elastic net along strengths of the penalty, on the Gram matrix alone.

For the centred columns :math:`A`, the weights :math:`S` and the centred target :math:`t` the sums
:math:`G = A^\top S A`, :math:`q = A^\top S t` and :math:`t^\top S t` contain all that the rows
contribute to the objective

.. math:: \tfrac12 \|t - A w\|_S^2 + \tau \|w\|_1 + \tfrac{c}{2} \|w\|^2 .

A step of coordinate descent then costs a row of :math:`G` and not a column of the data (covariance
updates; Friedman, Hastie and Tibshirani, 2010).  Only columns that may have a weight take part:
those that have one, and those whose slope is beyond the threshold (Massias, Gramfort and Salmon,
2018).  Where the signs of the weights have settled, a linear system gives their values, up to the
first sign that would change.

With the slopes :math:`g = q - G w` at hand, the gap costs :math:`d` operations: the dual point is
a multiple of the residual, whose length is :math:`t^\top S t - q^\top w - w^\top g`.

These gaps are evaluated in floating point.  A fit that is returned is certified from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from separatrix._compiled import compilation
from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import copy_numbers, solve_lower
from separatrix.data.design import DenseDesign, Design
from separatrix.data.moments import Moments
from separatrix.objectives.base import DENSE_HESSIAN
from separatrix.objectives.penalties import prox

# The number of passes of coordinate descent between two linear systems, and two checks of the gap.
_PASSES = 8
# The largest number of working sets for a strength, and of linear systems for a working set.
_SETS, _SYSTEMS = 100, 60
# The share of the requested relative gap to which a working set is solved.
_INNER = 0.3
# A column whose squared length about its mean is below this share of that about zero is constant:
# the mean of the sums has all its digits.
_CONSTANT = 1e-29
# The number of columns for each strength up to which the matrix is worth its price.
_WORTH = 300
# The number of columns of dense rows up to which it is worth its price for a single strength.
_FEW = 40
# Squares below this have lost digits to underflow.
_LEAST = 1e-280


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _gap(x, slope, pull, square, threshold, ridge, lower):
    """The objective at weights with the slopes ``pull - G x``, and a lower bound of it."""
    linear, fall, size, norm = 0.0, 0.0, 0.0, 0.0
    worst, beyond = 0.0, 0.0
    for j in range(len(x)):
        linear += pull[j] * x[j]
        fall += slope[j] * x[j]
        size += abs(x[j])
        norm += x[j] * x[j]
        own = slope[j] - ridge * x[j]
        worst = max(worst, own)
        over = max(slope[j] - threshold, 0.0)
        if lower < 0.0:
            worst = max(worst, -own)
            over = max(over, -slope[j] - threshold)
        beyond += over * over
    residual = max(square - linear - fall, 0.0)
    primal = 0.5 * residual + threshold * size + 0.5 * ridge * norm
    # The penalty's square is one of further rows, with targets of zero.
    longer = residual + ridge * norm
    along = square - linear
    scale = along / longer if longer > 0.0 else 1.0
    if worst > 0.0:
        scale = min(scale, threshold / worst)
    dual = scale * along - 0.5 * scale * scale * longer
    if ridge > 0.0:
        dual = max(dual, along - 0.5 * residual - 0.5 * beyond / ridge)
    return primal, max(dual, 0.0)


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _descend(gram, x, slope, threshold, ridge, lower, passes):
    """Run passes over a working set; return the number of signs that changed in the last one."""
    changes = 0
    for _ in range(passes):
        changes = 0
        for j in range(len(x)):
            bend = gram[j, j] + ridge
            if bend > 0.0:
                target = slope[j] + gram[j, j] * x[j]
                new = prox(target, bend, threshold, lower, np.inf)
                change = new - x[j]
                if change != 0.0:
                    if (new == 0.0) != (x[j] == 0.0) or new * x[j] < 0.0:
                        changes += 1
                    x[j] = new
                    for k in range(len(x)):
                        slope[k] -= change * gram[j, k]
    return changes


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _solve_signs(gram, x, slope, threshold, ridge, factor, step, index):
    """Move the weights that are not zero to their best values, up to the first sign that changes.

    ``factor``, ``step`` and ``index`` are work space.  Returns False where the system is singular.
    """
    count = 0
    for j in range(len(x)):
        if x[j] != 0.0:
            index[count] = j
            count += 1
    for a in range(count):
        j = index[a]
        sign = 1.0 if x[j] > 0.0 else -1.0
        step[a] = slope[j] - ridge * x[j] - threshold * sign
        for b in range(a):
            factor[a, b] = gram[j, index[b]]
        factor[a, a] = gram[j, j] + ridge
    if not solve_lower(factor, step[:count]) > 1e-13:
        return False
    length, first = 1.0, -1
    for a in range(count):
        j = index[a]
        if (x[j] + length * step[a]) * x[j] < 0.0:
            length, first = -x[j] / step[a], a
    for a in range(count):
        j = index[a]
        new = 0.0 if a == first else x[j] + length * step[a]
        change = new - x[j]
        x[j] = new
        for k in range(len(x)):
            slope[k] -= change * gram[j, k]
    return True


@njit(fastmath=compilation.FASTMATH, nogil=True, cache=True, error_model="numpy")
def _minimise(gram, pull, square, w, slope, threshold, ridge, lower, tol, most):
    """Minimise from ``w`` on; ``w`` and its ``slope`` are moved.

    Returns the number of passes over working sets, at most ``most``.
    """
    made = 0
    d = len(w)
    copy_numbers(pull, slope)
    for j in range(d):
        if w[j] != 0.0:
            for k in range(d):
                slope[k] -= w[j] * gram[j, k]
    primal, dual = _gap(w, slope, pull, square, threshold, ridge, lower)
    index = np.empty(d, dtype=np.int64)
    for _ in range(_SETS):
        if primal - dual <= tol * primal or made >= most:
            break
        count = 0
        for j in range(d):
            away = slope[j] > threshold or (lower < 0.0 and -slope[j] > threshold)
            if w[j] != 0.0 or away:
                index[count] = j
                count += 1
        if count == 0:
            break
        small = np.empty((count, count))
        x, own, part = np.empty(count), np.empty(count), np.empty(count)
        for a in range(count):
            j = index[a]
            x[a], own[a], part[a] = w[j], slope[j], pull[j]
            for b in range(count):
                small[a, b] = gram[j, index[b]]
        factor = np.empty((count, count))
        step, chosen = np.empty(count), np.empty(count, dtype=np.int64)
        for _ in range(_SYSTEMS):
            passes = min(_PASSES, most - made)
            changes = _descend(small, x, own, threshold, ridge, lower, passes)
            made += passes
            high, low = _gap(x, own, part, square, threshold, ridge, lower)
            if high - low <= _INNER * tol * high or made >= most:
                break
            if changes * 10 <= count:
                _solve_signs(small, x, own, threshold, ridge, factor, step, chosen)
                high, low = _gap(x, own, part, square, threshold, ridge, lower)
                if high - low <= _INNER * tol * high:
                    break
        for a in range(count):
            j = index[a]
            change = x[a] - w[j]
            w[j] = x[a]
            if change != 0.0:
                for k in range(d):
                    slope[k] -= change * gram[j, k]
        before = primal - dual
        primal, dual = _gap(w, slope, pull, square, threshold, ridge, lower)
        if not primal - dual < before and count == d:
            break
    return made


class GramPath:
    """The least-squares problems of one set of rows, for any strength of the penalty.

    Parameters
    ----------
    moments : Moments
        The moments of the columns and, after them, of the targets, for all rows together.
    n_targets : int
    centred : bool
        Whether there is an intercept; without one the sums are about zero.
    nonnegative : bool
        Whether no weight may be below zero.

    Attributes
    ----------
    weights : ndarray of shape (n_targets, d)
        The weights at the last strength, from which the next one begins.
    """

    @staticmethod
    def pays(design: Design, strengths: int) -> bool:
        """Whether a Gram matrix is worth its price for a number of strengths.

        It takes as many multiplications as some passes over the rows for every column; BLAS makes
        them in the time of a few.  For a single strength on dense rows of more than a few columns
        :class:`~separatrix.solvers.column_descent.ColumnDescent` has those of the columns in use.
        """
        d = design.n_features
        if strengths == 1 and isinstance(design, DenseDesign):
            return 0 < d <= _FEW
        return 0 < d <= min(DENSE_HESSIAN, _WORTH * strengths)

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def __init__(
        self, moments: Moments, n_targets: int, *, centred: bool, nonnegative: bool = False
    ) -> None:
        d = moments.n_columns - n_targets
        mean, total = moments.mean[0], moments.total
        sums = moments.scatter
        about_zero = np.diagonal(sums) + total * mean * mean
        if centred:
            constant = np.diagonal(sums) <= _CONSTANT * about_zero
        else:
            sums = sums + total * np.outer(mean, mean)
            constant = about_zero == 0.0
        self.gram = np.ascontiguousarray(sums[:d, :d])
        self.pull = np.ascontiguousarray(sums[d:, :d])
        # A column of length zero has no slope: its weight stays zero.
        flat = constant[:d]
        if flat.any():
            self.gram[flat], self.gram[:, flat], self.pull[:, flat] = 0.0, 0.0, 0.0
        self.square = np.diagonal(sums)[d:].copy()
        level = mean if centred else np.zeros_like(mean)
        self.mean: np.ndarray = level[:d]
        self.target_mean: np.ndarray = level[d:]
        self.total = total
        self.nonnegative = nonnegative
        self.weights = np.zeros((n_targets, d))
        self._slopes = np.empty((n_targets, d))

    @property
    def finite(self) -> bool:
        """Whether no sum overflowed, and no square that should count underflowed."""
        lengths = np.append(np.diagonal(self.gram), self.square)
        return bool(np.isfinite(lengths).all() and (lengths[lengths > 0.0] > _LEAST).all())

    def largest(self) -> float:
        """The least strength of L1 alone at which all weights are zero."""
        slopes = self.pull if self.nonnegative else np.abs(self.pull)
        return max(float(slopes.max()) / self.total, float(np.finfo(np.float64).tiny))

    @property
    def intercepts(self) -> np.ndarray:
        """The intercepts that go with the weights, one for each target."""
        with np.errstate(under="ignore"):
            return self.target_mean - self.weights @ self.mean

    def move_to(self, alpha: float, l1_ratio: float, tol: float, max_iter: int = 1000) -> int:
        """Minimise for scikit-learn's ``alpha`` and ``l1_ratio``, from where the weights are.

        Returns the largest number of passes over working sets that a target took.
        """
        threshold = self.total * alpha * l1_ratio
        ridge = self.total * alpha * (1.0 - l1_ratio)
        lower = 0.0 if self.nonnegative else -np.inf
        passes = 0
        for k, w in enumerate(self.weights):
            made = _minimise(
                self.gram,
                self.pull[k],
                float(self.square[k]),
                w,
                self._slopes[k],
                threshold,
                ridge,
                lower,
                tol,
                max_iter,
            )
            passes = max(passes, made)
        return passes

    def stages(self, alpha: float, l1_ratio: float, tol: float, passes: int) -> Iterator[int]:
        """Go from zero to the minimum again, and stop after each of the numbers of passes yielded.

        The numbers are at most some tens, increasingly far apart, and less than ``passes``.
        """
        made = 0
        while made < passes:
            self.weights[:] = 0.0
            if made > 0:
                self.move_to(alpha, l1_ratio, tol, made)
            yield made
            # Passes come in groups, at whose ends the weights are those on the way to the minimum.
            made += _PASSES * max(1, made // (8 * _PASSES))

    def along(
        self,
        values: np.ndarray,
        l1_ratio: float,
        tol: float,
        max_iter: int = 1000,
        late: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Weights, intercepts and passes for the strengths; the first begins at weights of zero.

        It ends once ``late()`` is true, with at least the first strength.
        """
        self.weights[:] = 0.0
        for done, value in enumerate(values):
            if done > 0 and late():
                return
            passes = self.move_to(float(value), l1_ratio, tol, max_iter)
            yield self.weights.copy(), self.intercepts, passes
