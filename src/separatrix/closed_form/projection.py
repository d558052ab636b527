r"""The share of the residuals that the columns explain: their projection on the columns' span.

With :math:`A` the weighted columns, that of ones and the roots of a penalty among them, and
:math:`P_A` the projection on their span, :math:`\|P_A r\|^2 / \|r\|^2` is the share of the
objective that other coefficients could take away.  Few rows are factorised as they are, in twice
the precision: what columns that nearly depend on one another add, and large offsets hide, is beyond
the digits of float64.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from separatrix._compiled.double_double import (
    dense_dot_parts,
    product_parts,
    sum_parts,
)
from separatrix._compiled.linear_algebra import lengths_of, solve_upper
from separatrix._compiled.reflections import reflect
from separatrix._compiled.rounding import EPS
from separatrix.data.design import Design

# The remainder of a column is rounding of its entries where it is no longer than this many times
# their size, and rounding of what made them where it is no longer than this many times their
# spread.
_OF_ENTRIES, _OF_SPREAD = 4.0, 64.0
# The most that such a column adds to the residual, relative to it.
_STILL = 1e-3
# A remainder is rounding of the arithmetic below this many times the size of the rows.
_LOST, _LOST_IN_PARTS = 1e3 * EPS, 1e3 * EPS**2


@dataclass(frozen=True, eq=False)
class Columns:
    """Weighted rows of columns and residuals, in the two parts of twice the precision.

    Attributes
    ----------
    high : ndarray of shape (1 + d + m, n)
        The column of ones (zeros without an intercept), the features, and the residuals.
    low : ndarray of the same shape, or None
        None where the columns are in float64 alone.
    """

    high: np.ndarray
    low: np.ndarray | None

    @classmethod
    def of(
        cls,
        design: Design,
        targets: np.ndarray,
        roots: np.ndarray,
        level: bool,
        coef: np.ndarray,
        intercept: np.ndarray,
    ) -> Columns:
        """The rows of a design as they are; ``roots`` are those of their weights."""
        n, d = design.shape
        m = len(coef)
        high, low = np.empty((1 + d + m, n)), np.zeros((1 + d + m, n))
        high[0] = float(level) * roots
        zero = np.zeros(d)
        for part, block in design.blocks():
            x = np.ascontiguousarray(block, dtype=np.float64)
            high[1 : 1 + d, part], low[1 : 1 + d, part] = product_parts(x.T, roots[part])
            fitted, rest, size = np.empty((3, len(x)))
            for k in range(m):
                w = np.ascontiguousarray(coef[k])
                dense_dot_parts(x, w, zero, intercept[k], fitted, rest, size, 0)
                left, below = sum_parts(targets[part, k], -fitted)
                left, below = sum_parts(left, below - rest)
                product, error = product_parts(left, roots[part])
                high[1 + d + k, part], low[1 + d + k, part] = product, error + below * roots[part]
        return cls(high, low)

    @classmethod
    def joined(cls, parts: Sequence[Columns]) -> Columns:
        """The rows of all parts."""
        lows = [part.low for part in parts if part.low is not None]
        high = np.concatenate([part.high for part in parts], axis=1)
        return cls(high, np.concatenate(lows, axis=1) if len(lows) == len(parts) else None)

    def with_penalty(self, ridge: float, coef: np.ndarray) -> Columns:
        """The columns with the roots of a penalty as ``d`` rows more."""
        m, d = coef.shape
        root = math.sqrt(ridge)
        high, low = np.zeros((1 + d + m, d)), np.zeros((1 + d + m, d))
        high[1 : 1 + d] = root * np.eye(d)
        high[1 + d :], low[1 + d :] = product_parts(coef, -root)
        return Columns.joined([self, Columns(high, None if self.low is None else low)])

    def of_features(self, index: np.ndarray, k: int, n_targets: int) -> Columns:
        """The column of ones, some of the features, and the residual of target ``k``."""
        own = np.concatenate([[0], 1 + index, [len(self.high) - n_targets + k]])
        return Columns(self.high[own], None if self.low is None else self.low[own])

    def reduced(self) -> Columns:
        """Return as many rows as there are columns, which stand for all of them."""
        width, n = self.high.shape
        if n <= width:
            return self
        parts = self._from_the_largest()
        return parts._triangular(width, width)[0]

    def explained(self, raw: np.ndarray, spread: np.ndarray, coef: np.ndarray | None) -> np.ndarray:
        """The share of each residual that the columns explain, of shape (m,).

        Parameters
        ----------
        raw, spread : ndarray of shape (d,)
            Lengths of the features about zero, and about their means.
        coef : ndarray of shape (m, d), or None
            The coefficients.  With them, columns that differ from a combination of others by the
            rounding of their entries alone explain nothing; a penalty makes them independent.
        """
        p, m = 1 + len(raw), len(self.high) - 1 - len(raw)
        if not self.high.size:
            return np.zeros(m)
        if not np.isfinite(self.high).all():
            return np.ones(m)
        # By powers of two, so that nothing that matters under- or overflows.
        power = -np.frexp(np.abs(self.high).max(axis=1))[1]
        unit = np.ldexp(1.0, np.clip(power, -1000, 1000))[:, None]
        low = self.low
        scaled = Columns(self.high * unit, None if low is None else low * unit)._from_the_largest()
        size = np.abs(scaled.high[:p]).max(axis=0)
        found, order = scaled._triangular(int(self.high[0].any()), p)
        rank = min(p, found.high.shape[1])
        upper, rotated = np.triu(found.high[:p, :rank].T), found.high[p:]
        lost = _LOST if low is None else _LOST_IN_PARTS
        pivots = np.abs(np.diagonal(upper))
        kept = pivots > lost * math.sqrt(p) * size[:rank]
        whole = lengths_of(scaled.high[p:].T)
        shares = _shares(rotated[:, :rank], kept, whole)
        if coef is None or not kept.any():
            return shares
        units = np.concatenate([[1.0], unit[1:p, 0]])
        rounding = _rounding(
            upper, kept, order, units * np.append(0.0, raw), units * np.append(0.0, spread)
        )
        independent = kept & (pivots > rounding)
        if independent.all():
            return shares
        # The contribution of dependent columns has to be rounding, too.
        terms = np.column_stack([np.zeros(m), coef]) / units * unit[p:]
        first = int(np.argmax(kept & ~independent))
        added = lengths_of(upper[first:, first:] @ terms[:, order[first:]].T)
        without = _shares(rotated[:, :rank], independent, whole)
        return np.where(added <= _STILL * whole, without, shares)

    def _from_the_largest(self) -> Columns:
        """The rows from the largest to the smallest.

        With pivots, rounding stays relative to each row then, however unequal the weights are
        (Powell and Reid, 1969; Cox and Higham, 1998).
        """
        order = np.argsort(-np.abs(self.high).max(axis=0), kind="stable")
        low = None if self.low is None else self.low[:, order]
        return Columns(self.high[:, order], low)

    def _triangular(self, fixed: int, count: int) -> tuple[Columns, np.ndarray]:
        """``R`` of the first columns and ``Q'`` times the others, and the order of the columns."""
        order = np.arange(count)
        width, n = self.high.shape
        if self.low is not None:
            high, low = self.high.copy(), self.low.copy()
            reflect(high, low, fixed, count, order)
            rows = n if count < width else width
            return Columns(high[:, :rows], low[:, :rows]), order
        if count == width:
            r = scipy.linalg.qr(self.high.T, mode="r", check_finite=False)[0]
            return Columns(np.ascontiguousarray(r[:width].T), None), order
        q, upper, order = scipy.linalg.qr(
            self.high[:count].T, mode="economic", pivoting=True, check_finite=False
        )
        rotated = self.high[count:] @ q
        return Columns(np.vstack([np.triu(upper).T, rotated]), None), order


def _shares(rotated: np.ndarray, kept: np.ndarray, whole: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.square(lengths_of(rotated[:, kept].T) / np.where(whole > 0.0, whole, 1.0))
    return out


def _rounding(
    upper: np.ndarray, kept: np.ndarray, order: np.ndarray, raw: np.ndarray, spread: np.ndarray
) -> np.ndarray:
    """The length that rounding can leave of each column, in the order of the pivots."""
    out = np.zeros(len(upper))
    for k in np.flatnonzero(kept):
        head = np.ascontiguousarray(upper[:k, :k])
        relation = np.abs(solve_upper(head, upper[:k, k])) if k and kept[:k].all() else np.zeros(k)
        entries, sums = (a[order[k]] + relation @ a[order[:k]] for a in (raw, spread))
        out[k] = EPS * max(_OF_ENTRIES * entries, _OF_SPREAD * sums)
    return out
