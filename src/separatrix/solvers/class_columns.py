r"""The model of :mod:`column_model` where a row has a score for each of several classes.

The curvature of a row's loss is then a matrix; that of the multinomial loss with probabilities
:math:`p` is :math:`U (\operatorname{diag}(p) - p p^\top)`.  Coordinate descent takes the
weights of a column for all classes at once: their slopes come from one reading of the column, and
so does what their moves change.  Each moves as if the others did not, against twice its own
curvature, which is at least that of all together, since the matrix is diagonally dominant; so the
model falls (a block of Tseng and Yun, 2009).  Before that they move together, which the loss does
not see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._compiled.compilation import specialise
from separatrix._compiled.row_access import row_entry, row_length
from separatrix.data.design import Design
from separatrix.objectives.penalties import Kinks, prox, violation
from separatrix.solvers.column_model import ColumnModel, common_move


def _descend(
    rows, weight, p, u, x, bend, own, shift, l1, lower, upper, active, count, last, tol, passes
):
    """Run coordinate descent as for one class, over columns of weights.

    ``p`` are the probabilities of the rows, of shape (n, k) like the slopes ``u``, and ``weight``
    holds the weights of the rows.
    """
    classes = u.shape[1]
    slope, move = np.empty(classes), np.empty(classes)
    worst, limit, total = 0.0, np.inf, 0.0
    made = 0
    while made < passes:
        made += 1
        worst, total = 0.0, 0.0
        left = 0
        if last >= 0:
            for k in range(classes):
                slope[k] = own[last, k] * x[last, k] + shift[last, k]
            for i in range(u.shape[0]):
                for k in range(classes):
                    slope[k] += u[i, k]
            for k in range(classes):
                worst = max(worst, abs(slope[k]))
                total += abs(slope[k])
                move[k] = -slope[k] / bend[last, k] if bend[last, k] > 0.0 else 0.0
                x[last, k] += move[k]
            for i in range(u.shape[0]):
                mean = 0.0
                for k in range(classes):
                    mean += p[i, k] * move[k]
                for k in range(classes):
                    u[i, k] += weight[i] * p[i, k] * (move[k] - mean)
        for m in range(count):
            j = active[m]
            for k in range(classes):
                slope[k] = 0.0
            for q in range(row_length(rows, j)):
                i, value = row_entry(rows, j, q)
                for k in range(classes):
                    slope[k] += value * u[np.uint64(i), k]
            farthest, moved, zero, bent = -np.inf, False, True, 0.0
            for k in range(classes):
                slope[k] += own[j, k] * x[j, k] + shift[j, k]
                zero = zero and x[j, k] == 0.0
                bent += own[j, k]
            if not zero:
                together = common_move(slope, x[j], bent, l1[j], lower[j], upper[j])
                for k in range(classes):
                    x[j, k] = min(max(x[j, k] + together, lower[j, k]), upper[j, k])
                    slope[k] += own[j, k] * together
            for k in range(classes):
                at, kink, low, high, g = x[j, k], l1[j, k], lower[j, k], upper[j, k], slope[k]
                away = violation(at, g, kink, low, high)
                farthest = max(farthest, away)
                move[k] = 0.0
                if away > 0.0:
                    total += away
                    h = bend[j, k]
                    new = prox(at * h - g, h, kink, low, high) if h > 0.0 else 0.0
                    move[k] = new - at
                    x[j, k] = new
                    moved = moved or move[k] != 0.0
            if farthest < -limit:
                continue
            active[left] = j
            left += 1
            worst = max(worst, farthest)
            if moved:
                for q in range(row_length(rows, j)):
                    i, value = row_entry(rows, j, q)
                    mean = 0.0
                    for k in range(classes):
                        mean += p[np.uint64(i), k] * move[k]
                    share = value * weight[np.uint64(i)]
                    for k in range(classes):
                        u[np.uint64(i), k] += share * p[np.uint64(i), k] * (move[k] - mean)
        count = left
        if total <= tol:
            break
        limit = worst
    return worst, total, count, made


class ClassColumnModel(ColumnModel):
    """The model of several classes, and the search for its minimum.

    Parameters
    ----------
    design : Design
        The matrix.
    active : ndarray of int
        The columns that may move.
    upper : ndarray of shape (n_samples,)
        The weights of the rows in the loss.
    probabilities : ndarray of shape (n_samples, n_classes)
        The probabilities ``p``.
    bent : function
        The change of the slopes along a change of the scores: the product with the curvature.
    residual : ndarray of shape (n_samples, n_classes)
        The slope in the scores.
    x, kinks, own : of shape (n_columns, n_classes), or one row more
        As in :class:`ColumnModel`, with a column for each class.
    ridge : float
        The ridge, as a share of the Hessian's diagonal: a penalty on the squared distance from
        ``x``.
    """

    def __init__(
        self,
        design: Design,
        active: np.ndarray,
        upper: np.ndarray,
        probabilities: np.ndarray,
        bent: Callable[[np.ndarray], np.ndarray],
        residual: np.ndarray,
        x: np.ndarray,
        kinks: Kinks,
        own: np.ndarray,
        ridge: float,
    ) -> None:
        self._upper, self._along = upper, bent
        self._p = np.ascontiguousarray(probabilities)
        slopes = np.ascontiguousarray(residual)
        super().__init__(design, active, self._p, slopes, x, kinks, own, ridge)

    def _compile(self, columns: Design) -> Callable[..., Any]:
        return specialise(_descend, row_length=columns.row_length, row_entry=columns.row_entry)

    def _diagonal(self) -> np.ndarray:
        weights = 2.0 * self._upper[:, None] * self._p * (1.0 - self._p)
        squares = self._design.column_squares(weights)
        return np.concatenate([squares, weights.sum(axis=0)[None]])[: len(self.x)]

    def _passes(self, *arguments: object) -> tuple[float, float, int, int]:
        rows, u = self._design.turned.rows, self.u
        found: tuple[float, float, int, int] = self._kernel(
            rows, self._upper, self._p, u, *arguments
        )
        return found

    def _bent(self, along: np.ndarray) -> np.ndarray:
        return self._along(along)
