r"""The multinomial objective: K scores a row."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from scipy.special import xlog1py

from separatrix._compiled.compilation import njit
from separatrix._compiled.linear_algebra import inner, largest_of_rows, sums_of_rows
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.data.design import Design
from separatrix.losses.softmax import Softmax, entropy_terms
from separatrix.objectives.base import (
    DualPoint,
    Objective,
)
from separatrix.objectives.enclosure import FUNCTION_UNITS, Enclosure, gamma, total, total_above
from separatrix.objectives.passes import (
    Evaluation,
    softmax_line,
    softmax_pass,
    softmax_product,
)
from separatrix.objectives.penalties import Penalty


class SoftmaxObjective(Objective):
    """Multinomial logistic regression: K scores a row, one problem.

    Parameters
    ----------
    design, penalty, C, weights, fit_intercept
        See :class:`Objective`.
    codes : ndarray of shape (n_samples,)
        Class numbers 0 to K-1.
    n_classes : int
    """

    of_classes = True

    def __init__(
        self,
        design: Design,
        codes: np.ndarray,
        n_classes: int,
        penalty: Penalty | None = None,
        **options: Any,
    ) -> None:
        super().__init__(design, penalty, **options)
        self.loss = Softmax()
        self.codes = np.asarray(codes, dtype=np.int64)
        self.output_shape = (n_classes,)

    def canonical(self, theta: np.ndarray) -> np.ndarray:
        # Adding one number to all scores changes no probability: what the penalty leaves open
        # is centred over the classes.
        theta = theta.copy()
        start = self.design.n_features if self.penalty.coercive else 0
        theta[start:] -= theta[start:].mean(axis=1, keepdims=True)
        return theta

    def of_rows(self, index: np.ndarray) -> Self:
        part = super().of_rows(index)
        part.codes = self.codes[index]
        return part

    @property
    def _at_once(self) -> bool:
        """Whether the kernels that take a few rows at a time take these."""
        return self.design.products is not None

    def _intercepts(self, theta: np.ndarray) -> np.ndarray:
        return np.array(self.intercept_of(theta), dtype=np.float64)

    def evaluate(self, theta: np.ndarray, scores: np.ndarray | None = None) -> Evaluation:
        if scores is not None or not self._at_once:
            return super().evaluate(theta, scores)
        w, b = self.weights_of(theta), self._intercepts(theta)
        scores, loss, paired, adjoint = softmax_pass(self.design, self.codes, self.upper, w, b)
        if not np.isfinite(paired):
            return super().evaluate(theta)
        return Evaluation(scores, loss, paired, adjoint[: self.shape[0]])

    def hessian_product(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        if not self._at_once:
            return super().hessian_product(curvature, direction)
        w, b = self.weights_of(direction), self._intercepts(direction)
        out = softmax_product(self.design, curvature, self.upper, w, b)[: self.shape[0]]
        out[: len(w)] += self.penalty.gradient(w)
        if self.fit_intercept and self.intercept_penalty > 0.0:
            out[-1] += self.intercept_penalty * b
        return out

    def null_scores(self) -> np.ndarray:
        shape = (self.design.n_samples, self.output_shape[0])
        if not self.fit_intercept:
            return np.zeros(shape)
        totals = np.bincount(self.codes, weights=self.upper, minlength=shape[1])
        # A class without weight is as unlikely as a number can express.
        return np.broadcast_to(np.log(np.maximum(totals / totals.sum(), 1e-300)), shape)

    def loss_value(self, scores: np.ndarray) -> float:
        return inner(self.upper, self.loss.value(scores, self.codes))

    def along_line(self, scores: np.ndarray, along: np.ndarray, t: float) -> tuple[float, float]:
        found = softmax_line(self.codes, self.upper, scores, along, t)
        return found if np.isfinite(found[0]) else super().along_line(scores, along, t)

    def residual(self, scores: np.ndarray) -> np.ndarray:
        out = self.loss.probabilities(scores)
        own = np.arange(len(out)), self.codes
        # The label's slope without cancellation: minus what the others have.
        out[own] = 0.0
        out[own] = -sums_of_rows(out)
        out *= self.upper[:, None]
        return out

    def curvature(self, scores: np.ndarray) -> np.ndarray:
        return self.loss.probabilities(scores)

    def curvature_apply(self, curvature: np.ndarray, direction: np.ndarray) -> np.ndarray:
        out = curvature * direction
        out -= curvature * sums_of_rows(out)[:, None]
        out *= self.upper[:, None]
        return out

    def hessian(self, curvature: np.ndarray) -> np.ndarray:
        rows, k = self.shape
        out = np.zeros((rows, k, rows, k))
        # The blocks (j, l) sum to zero over l (scores are defined up to a shift), so the
        # diagonal blocks follow from the others.
        for j in range(k):
            for m in range(j):
                block = self.gram(self.upper * curvature[:, j] * curvature[:, m])
                out[:, j, :, m] = out[:, m, :, j] = -block
                out[:, j, :, j] += block
                out[:, m, :, m] += block
        full = out.reshape(rows * k, rows * k)
        full[np.diag_indices_from(full)] += np.broadcast_to(
            self._penalty_curvature(), self.shape
        ).ravel()
        return full

    def hessian_diagonal(self, curvature: np.ndarray) -> np.ndarray:
        weights = self.upper[:, None] * curvature * (1.0 - curvature)
        out = self.join(self.design.column_squares(weights), weights.sum(axis=0))
        return out + self._penalty_curvature()

    def hessian_block(self, curvature: np.ndarray, k: int, rows: int) -> np.ndarray:
        """The Hessian in the weights of class ``k`` alone, from about ``rows`` of the rows.

        A row is drawn with a chance in proportion to its curvature, and weighs the more the less
        likely it was; those that would count more than once are all taken.  The draw is
        systematic (Madow, 1949) and not random: the same rows at the same point.
        """
        index, weights = _drawn(curvature[:, k], self.upper, rows)
        out = self._bordered_gram(self.design.take(index), weights)
        out.flat[:: len(out) + 1] += self._penalty_curvature().ravel()
        return out

    def _some(self, a: np.ndarray, used: np.ndarray) -> np.ndarray:
        """The rows ``used`` of a matrix, by columns: sums over few columns are quickest so."""
        return a if len(used) == len(a) else a.T[:, used].T

    def _mixture(self, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of positive weight, and the probability vectors that a residual stands for."""
        used = np.flatnonzero(self.upper > 0.0)
        p = self._some(residual, used) / self.upper[used, None]
        p[np.arange(len(used)), self.codes[used]] += 1.0
        # The label's own entry is 1 + r/U, so it may fall short of 0 by an ulp.
        p[(p < 0.0) & (p > -4e-16)] = 0.0
        return used, p

    def balanced(self, residual: np.ndarray) -> np.ndarray:
        used, p = self._mixture(residual)
        u, codes = self.upper[used], self.codes[used]
        sums = np.bincount(codes, weights=u, minlength=self.output_shape[0])
        p = _tilted(p, u, sums)
        # For the rest, mix every row with one and the same probability vector q, chosen so that the
        # sums come out; t, the share of q, is the smallest for which q is non-negative.
        excess = u @ p - sums
        # Rows sum to one up to rounding, which must not pass for an excess of every class.
        excess -= sums * (excess.sum() / sums.sum())
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(excess > 0, excess / (sums + excess), 0.0)
        t = float(shares.max())
        if t > 0.0:
            q = np.maximum(sums - (1.0 - t) / t * excess, 0.0) / u.sum()
            p = (1.0 - t) * p + t * (q / q.sum())
        p[np.arange(len(used)), codes] -= 1.0
        out = np.zeros_like(residual)
        out[used] = p * u[:, None]
        return out

    def clipped(self, residual: np.ndarray) -> np.ndarray:
        used, p = self._mixture(residual)
        p = np.maximum(p, 0.0)
        p /= sums_of_rows(p)[:, None]
        p[np.arange(len(used)), self.codes[used]] -= 1.0
        out = np.zeros_like(residual)
        out[used] = p * self.upper[used, None]
        return out

    def fenchel_young(self, scores: np.ndarray, residual: np.ndarray) -> float:
        used, p = self._mixture(residual)
        if not self._is_mixture(p):
            return float("inf")
        divergence = self.loss.divergence(p, self._some(scores, used))
        return inner(self.upper[used], np.maximum(divergence, 0.0))

    def dual_terms(self, scores: np.ndarray, residual: np.ndarray) -> tuple[float, float]:
        used, p = self._mixture(residual)
        if not self._is_mixture(p):
            return float("inf"), float("inf")
        divergence, entropy = self.loss.divergence_and_entropy(p, self._some(scores, used))
        upper = self.upper[used]
        return inner(upper, np.maximum(divergence, 0.0)), inner(upper, entropy)

    def conjugate_value(self, residual: np.ndarray) -> float:
        used, p = self._mixture(residual)
        if not self._is_mixture(p):
            return float("inf")
        return inner(self.upper[used], self.loss.negative_entropy(p))

    def loss_above(self, scores: Enclosure) -> float:
        used = np.flatnonzero(self.upper > 0.0)
        s, codes = self._some(scores.middle, used), self.codes[used]
        rows = np.arange(len(used))
        # The scores' own errors, and the rounding of their differences.
        radius = self._some(scores.radius, used) * (1.0 + 4.0 * UNIT)
        radius = radius + 4.0 * UNIT * largest_of_rows(np.abs(s))[:, None]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            # The loss rises in every score but the label's own.
            up = s + radius
            up[rows, codes] = s[rows, codes] - radius[rows, codes]
            value = self.loss.value(up, codes)
            terms = self.upper[used] * value
            units = FUNCTION_UNITS + s.shape[1] + 4.0
            out = total_above(terms) * (1.0 + units * UNIT)
            out += (total_above(self.upper) + len(used)) * TINY
        return float("inf") if math.isnan(out) else out

    def dual_point(self, residual: np.ndarray, moved: np.ndarray | None = None) -> DualPoint:
        used = np.flatnonzero(self.upper > 0.0)
        codes, upper, k = self.codes[used], self.upper[used], self.output_shape[0]
        rows = np.arange(len(used))
        # The entries of the other classes are the point; the label's own is minus their sum, which
        # floats hold to K units.
        q = np.maximum(self._some(residual, used), 0.0)
        q[rows, codes] = 0.0
        sums = sums_of_rows(q)
        over = sums * (1.0 + (k + 2.0) * UNIT) > upper
        if np.any(over):
            q[over] *= (upper[over] * (1.0 - (2.0 * k + 8.0) * UNIT) / sums[over])[:, None]
            sums = sums_of_rows(q)
        share, spread, slope = 2.0 * k * UNIT, 0.0, np.zeros(k)
        weights = np.bincount(codes, weights=upper, minlength=k)
        if self.fit_intercept and moved is None:
            for c in range(k):
                value, error = total(q[:, c])
                own, other = total(q[codes == c])
                slope[c] = abs(value - own) + error + other + 4.0 * UNIT * abs(own)
        if self.balances and slope.any():
            # All rows are mixed with one distribution of the classes, of which a share is enough.
            with np.errstate(divide="ignore"):
                shares = np.where(slope > 0.0, slope / (weights * (1.0 - gamma(len(used)))), 0.0)
            spread = float(shares.max()) * (1.0 + 8.0 * UNIT)
            slope = np.zeros(k)
            if not spread <= 0.5:
                return DualPoint(np.zeros_like(residual), 0.0, 0.0)
        with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
            p, s = q / upper[:, None], np.minimum(sums / upper, 1.0)
            entropies = sums_of_rows(entropy_terms(p))
            rest = xlog1py(1.0 - s, -s)
            value = entropies + rest
            # The derivative by p_k is log p_k - log(1 - s); a share of it for each unit.
            beside = s * (1.0 - np.log(np.maximum(1.0 - s, UNIT)))
            units = FUNCTION_UNITS + 2.0 * k + 8.0
            sizes = upper * (np.abs(entropies) + np.abs(rest) + beside)
            rounding = units * UNIT * total_above(sizes)
            terms, error = total(upper * value)
            rounding += 2.0 * spread * total_above(np.abs(upper * value)) + p.size * TINY
            rounding += 800.0 * k * total_above(upper) * TINY
            if moved is not None:
                rounding += self._moving(q, upper - sums, moved[used], codes)
            conjugate = terms + error + rounding * (1.0 + 1e-9)
        conjugate = float("inf") if math.isnan(conjugate) else conjugate
        out = np.zeros_like(residual)
        out[used] = q
        out[used, codes] = -sums
        return DualPoint(out, terms, conjugate, share, 2.0 * spread, slope)

    @staticmethod
    def _moving(q: np.ndarray, own: np.ndarray, moved: np.ndarray, codes: np.ndarray) -> float:
        """A bound on the change of the entropies by moves of ``U p``; infinite out of range."""
        masses = q.copy()
        masses[np.arange(len(q)), codes] = own
        total_mass = sums_of_rows(masses)[:, None]
        if np.any(moved > 0.5 * masses):
            return float("inf")
        # |d (U p log p)| <= (1 + |log p|) |d (U p)|, at the least p on the way.
        slopes = 1.0 + np.abs(np.log(0.5 * masses / total_mass)) + 1e-9
        return total_above(np.where(moved > 0.0, slopes * moved, 0.0))

    def slack(self, residual: np.ndarray, scores: np.ndarray) -> np.ndarray:
        used, p = self._mixture(residual)
        out = np.zeros(len(residual))
        out[used] = self.upper[used] * np.maximum(p.min(axis=1), 0.0)
        return out

    @staticmethod
    def _is_mixture(p: np.ndarray) -> bool:
        return bool(np.all(p >= 0.0) and np.all(np.abs(sums_of_rows(p) - 1.0) <= 1e-9))

    def margins(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        used = np.flatnonzero(self.upper > 0.0)
        codes = self.codes[used]
        own = scores[used, codes]
        others = scores[used].copy()
        others[np.arange(len(used)), codes] = -np.inf
        return used, own - largest_of_rows(others)


# Newton's steps towards intercepts at which the classes' sums come out, and the largest of them.
_TILTS, _STEEPEST = 4, 8.0


def _tilted(p: np.ndarray, u: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Probability vectors, tilted towards those whose weighted sums are given.

    They are those of scores with other intercepts, found by Newton's method.  Probabilities change
    in proportion to themselves, so that the bound loses little: to mix rows with another vector
    gives classes that are next to impossible far more than they have.
    """
    if not p.size or p.min() < 0.0:
        return p
    reached = u @ p
    excess = reached - sums
    for _ in range(_TILTS):
        size = float(np.abs(excess).max())
        if not size > 8.0 * UNIT * float(reached.sum()):
            break
        # The same constant in all intercepts changes nothing; the sum of squares fixes it.
        hessian = np.diag(reached) - p.T @ (u[:, None] * p) + reached.max() / len(sums)
        try:
            step = np.linalg.solve(hessian, excess)
        except np.linalg.LinAlgError:
            break
        if not float(np.abs(step).max()) <= _STEEPEST:
            break
        tilted = p * np.exp(-step)
        tilted /= sums_of_rows(tilted)[:, None]
        reached = u @ tilted
        excess = reached - sums
        if not float(np.abs(excess).max()) < size:
            break
        p = tilted
    return p


@njit(nogil=True, cache=True, error_model="numpy")
def _drawn(p: np.ndarray, upper: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a sample of about ``count``, and the weights of their curvatures in it."""
    n = p.shape[0]
    weights = np.empty(n)
    rest = 0.0
    for i in range(n):
        weights[i] = upper[i] * p[i] * (1.0 - p[i])
        rest += weights[i]
    # Chances in proportion to the weights, of which those of at least one are certain.
    certain, left, rate = np.zeros(n, np.bool_), count, 0.0
    more = n > count
    while more:
        more = False
        rate = left / rest if left > 0 and rest > 0.0 else 0.0
        remaining = 0.0
        for i in range(n):
            if not certain[i]:
                if weights[i] * rate >= 1.0:
                    certain[i], more = True, True
                    left -= 1
                else:
                    remaining += weights[i]
        rest = remaining
    index, drawn = np.empty(n, np.int64), np.empty(n)
    taken, total = 0, 0.5
    for i in range(n):
        chance = 1.0
        if n > count and not certain[i]:
            chance = weights[i] * rate
        before = np.floor(total)
        total += chance
        if weights[i] > 0.0 and np.floor(total) > before:
            index[taken], drawn[taken] = i, weights[i] / chance
            taken += 1
    return index[:taken], drawn[:taken]
