r"""Penalties on the weights; the intercept is never among them.

A penalty is a sum over the weights (it is *separable*), of at most three parts each,

.. math:: \Omega(w) = \sum_j \lambda_j |w_j| + \tfrac{q_j}2 w_j^2
    \quad\text{where}\quad l_j \le w_j \le u_j,

and infinite elsewhere.  Each of the four numbers, ``l1``, ``l2``, ``lower`` and ``upper``, is one
for all columns or an array with one a column.  A weight of zero is always allowed, :math:`l_j \le 0
\le u_j`, so that no penalty is negative anywhere, nor its conjugate.

The part of the duality gap that it contributes is, with the dual vector :math:`v = \sum_i \alpha_i
y_i x_i`, the Fenchel-Young gap :math:`\Omega(w) + \Omega^*(v) - w\cdot v`.  With the slope beyond
the kink, :math:`m = \operatorname{sign}(v) \max(|v| - \lambda, 0)`, the conjugate of one weight is

.. math:: \Omega_j^*(v) = m w^* - \tfrac q2 {w^*}^2, \qquad w^* = \min(\max(m / q, l), u).

Where :math:`\lambda > 0`, and at the bounds, a penalty has *kinks*: they are what sets weights to
exactly zero.  Solvers query what they need to know, see :class:`Penalty` and :class:`Kinks`, and
never a number that one kind of penalty happens to have.  Penalties that supply their own conjugate,
proximal step and distance from optimality, weight by weight, are the design of skglm (Bertrand,
Klopfenstein, Bannier, Gidel and Massias, 2022).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled.compilation import scalar
from separatrix._compiled.linear_algebra import inner, squared_distance
from separatrix._compiled.rounding import EPS, TINY, UNIT
from separatrix.objectives.enclosure import Enclosure, length_above, total_above


@scalar
def prox(u: Any, bend: Any, l1: Any, lower: Any, upper: Any) -> Any:
    """``argmin_x 1/2 bend x^2 - u x + l1 |x|`` from ``lower`` to ``upper``, where ``bend > 0``.

    The soft threshold of Donoho and Johnstone (1994) between bounds.
    """
    if u > l1:
        return min((u - l1) / bend, upper)
    if u < -l1:
        return max((u + l1) / bend, lower)
    return 0.0


@scalar
def violation(x: Any, slope: Any, l1: Any, lower: Any, upper: Any) -> Any:
    """The distance of a slope at ``x`` from where it has to be; at a kink, negative inside.

    ``slope`` is that of everything without kinks, and the distance that of its negative from the
    subdifferential of the kinked part.
    """
    out = -np.inf
    if x < upper:
        out = -slope - l1 if x >= 0.0 else -slope + l1
    if x > lower:
        out = max(out, slope + l1 if x > 0.0 else slope - l1)
    return out


class Kinks(NamedTuple):
    """The kinks of a penalty, at which its slope jumps, entry by entry of a point.

    Attributes
    ----------
    l1 : ndarray
        Half the jump at zero; 0 where there is none.
    lower, upper : ndarray
        The bounds, at most and at least zero; infinite where there are none.
    bounded : bool
        Whether there are any bounds.
    """

    l1: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    bounded: bool = True

    def ravel(self) -> Kinks:
        """The same for a point as a vector."""
        return Kinks(self.l1.ravel(), self.lower.ravel(), self.upper.ravel(), self.bounded)

    def of(self, index: np.ndarray) -> Kinks:
        """The same for some of the entries."""
        l1 = self.l1[index]
        # Infinite bounds are looked at by compiled loops alone.
        return (
            Kinks(l1, self.lower[index], self.upper[index])
            if self.bounded
            else Kinks(l1, *self[1:])
        )

    def scaled(self, scale: np.ndarray) -> Kinks:
        """The same for the products of the entries with ``scale``, which is above zero."""
        return Kinks(self.l1 / scale, self.lower * scale, self.upper * scale, self.bounded)

    def free(self, x: np.ndarray) -> np.ndarray:
        """Whether each entry is at no kink."""
        out = (x != 0.0) | (self.l1 == 0.0)
        return out & (x > self.lower) & (x < self.upper) if self.bounded else out

    def met(self, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, Any]:
        """Whether a step takes each free entry to a kink or beyond, and the first kink met."""
        if not self.bounded:
            return (self.l1 > 0.0) & (step != 0.0) & ((x + step) * x <= 0.0), 0.0
        down = np.where((x > 0.0) & (self.l1 > 0.0), 0.0, self.lower)
        up = np.where((x < 0.0) & (self.l1 > 0.0), 0.0, self.upper)
        end, kink = x + step, np.where(step < 0.0, down, up)
        return (step != 0.0) & np.where(step < 0.0, end <= kink, end >= kink), kink

    def violation(self, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The function :func:`violation` of every entry."""
        return _violation(x, slope, self.l1, self.lower, self.upper, self.bounded)

    def within(self, x: np.ndarray) -> np.ndarray:
        """The nearest point within the bounds."""
        return np.clip(x, self.lower, self.upper) if self.bounded else x


def _violation(
    x: np.ndarray, slope: np.ndarray, l1: Any, lower: Any, upper: Any, bounded: bool
) -> np.ndarray:
    if not bounded:
        return np.where(x == 0.0, np.abs(slope) - l1, np.abs(slope + l1 * np.sign(x)))
    up = -slope - np.where(x >= 0.0, l1, -l1)
    down = slope + np.where(x > 0.0, l1, -l1)
    return np.maximum(np.where(x < upper, up, -np.inf), np.where(x > lower, down, -np.inf))


def _part(value: Any) -> Any:
    """A part of a penalty: a number where it is the same for all columns."""
    if isinstance(value, float):
        return value
    values = np.asarray(value, dtype=np.float64)
    if values.ndim == 0 or (len(values) and np.all(values == values[0])):
        return float(values.flat[0])
    return values


def _all(condition: Any) -> bool:
    """Whether something holds for all columns; for numbers without NumPy, which takes longer."""
    return condition if isinstance(condition, bool) else bool(np.all(condition))


def _any(condition: Any) -> bool:
    return condition if isinstance(condition, bool) else bool(np.any(condition))


def _over(value: Any, w: np.ndarray) -> Any:
    """A part of a penalty as it goes with weights, which may have a column for every class."""
    return value if isinstance(value, float) else value.reshape(-1, *(1,) * (w.ndim - 1))


class Penalty:
    r"""A separable penalty with its conjugate, its kinks and its other properties.

    Parameters
    ----------
    l2 : float or ndarray of shape (n_features,), default=0
        Factors of half the squares, at least 0.
    l1 : float or ndarray of shape (n_features,), default=0
        Factors of the absolute values, at least 0.
    lower, upper : float or ndarray of shape (n_features,)
        Bounds of the weights, at most and at least zero; infinite by default.

    Attributes
    ----------
    kinked : bool
        Whether it lacks a gradient somewhere: at zero, or at a bound.
    coercive : bool
        Whether it grows without end in every direction, so that there is always an optimum.
    supercoercive : bool
        Whether it grows faster than any slope, so that its conjugate is finite everywhere.
    shrinks : bool
        Whether it pulls any weight towards zero.
    quadratic : bool
        Whether it is a sum of squares of all weights, and nothing else.
    ridge : bool
        Whether it is half the squared norm, and nothing else.
    strong_convexity : float
        The least factor of half a square.
    level : float
        The least slope above zero that a weight at zero withstands; 0 where none does.
    symmetric : bool
        Whether its value is the same at ``w`` and ``-w``, weight by weight.

    Raises
    ------
    ValueError
        For a factor below zero, or bounds that exclude zero.

    Examples
    --------
    A weight of each sign is bounded, and the third is free:

    >>> import numpy as np
    >>> from separatrix.objectives.penalties import Penalty
    >>> penalty = Penalty(l2=1.0, lower=[0.0, -1.0, -np.inf], upper=[1.0, 0.0, np.inf])
    >>> penalty.value(np.array([1.0, -1.0, 2.0])), penalty.value(np.array([-1.0, 0.0, 0.0]))
    (3.0, inf)
    >>> penalty.conjugate(np.array([3.0, 3.0, 3.0]))  # 3 - 1/2, 0 and 9/2
    7.0
    """

    def __init__(
        self, *, l2: Any = 0.0, l1: Any = 0.0, lower: Any = -math.inf, upper: Any = math.inf
    ) -> None:
        self.l2, self.l1 = _part(l2), _part(l1)
        self.lower, self.upper = _part(lower), _part(upper)
        l2, l1, lower, upper = parts = self.l2, self.l1, self.lower, self.upper
        # Not the other way round, which lets NaN through.
        if not (_all(l2 >= 0.0) and _all(l1 >= 0.0)):
            raise ValueError("The factors of a penalty must be at least 0.")
        if not (_all(lower <= 0.0) and _all(upper >= 0.0)):
            raise ValueError("The bounds of a weight must allow zero: lower <= 0 <= upper.")
        held = (lower > -math.inf) & (upper < math.inf)
        self.bounded = _any(lower > -math.inf) or _any(upper < math.inf)
        self.kinked = self.bounded or _any(l1 > 0.0)
        self.coercive = _all((l2 > 0.0) | (l1 > 0.0) | held)
        self.supercoercive = _all((l2 > 0.0) | held)
        self.strong_convexity = l2 if isinstance(l2, float) else float(np.min(l2))
        self._most = l2 if isinstance(l2, float) else float(np.max(l2))
        # Whether any weight may be above zero, or below.
        self._rises, self._falls = _any(upper > 0.0), _any(lower < 0.0)
        self.shrinks = _any(l2 > 0.0) or _any(l1 > 0.0)
        self.quadratic = self.strong_convexity > 0.0 and not self.kinked
        self.symmetric = _all(lower == -upper)
        self._even = all(isinstance(part, float) for part in parts)
        self.ridge = self.quadratic and self._even and self.strong_convexity == 1.0
        if isinstance(l1, float):
            self.level = l1
        else:
            self.level = float(np.min(l1[l1 > 0.0]))
        # Whether bounds are those of signs: zero or infinite.
        self._signs = all(_all((b == 0.0) | (abs(b) == math.inf)) for b in (lower, upper))

    @property
    def formula(self) -> str:
        """The penalty as text, without its :attr:`constraint`; empty for none."""
        terms = []
        if not isinstance(self.l1, float):
            terms.append("sum l1_j |w_j|")
        elif self.l1 > 0.0:
            terms.append("|w|_1" if self.l1 == 1.0 else f"{self.l1:.6g} |w|_1")
        if not isinstance(self.l2, float):
            terms.append("1/2 sum l2_j w_j^2")
        elif self.l2 > 0.0:
            terms.append("1/2 |w|^2" if self.l2 == 1.0 else f"{0.5 * self.l2:.6g} |w|^2")
        return " + ".join(terms)

    @property
    def constraint(self) -> str:
        """The bounds as text; empty for none."""
        if not self.bounded:
            return ""
        if not (isinstance(self.lower, float) and isinstance(self.upper, float)):
            return " subject to lower_j <= w_j <= upper_j"
        low = f"{self.lower:.6g} <= " if self.lower > -math.inf else ""
        return f" subject to {low}w" + (f" <= {self.upper:.6g}" if self.upper < math.inf else "")

    def __repr__(self) -> str:
        parts = {"l2": 0.0, "l1": 0.0, "lower": -math.inf, "upper": math.inf}
        given = {k: getattr(self, k) for k in parts}
        arguments = [
            f"{k}={p!r}" if isinstance(p, float) else f"{k}=<{len(p)} numbers>"
            for k, p in given.items()
            if not np.array_equal(p, parts[k])
        ]
        return f"Penalty({', '.join(arguments)})"

    # --- value and slopes -----------------------------------------------------------------------

    def allows(self, w: np.ndarray) -> bool:
        """Whether weights are within the bounds."""
        return bool(np.all(w >= _over(self.lower, w)) and np.all(w <= _over(self.upper, w)))

    def value(self, w: np.ndarray) -> float:
        if self.bounded and not self.allows(w):
            return math.inf
        out = 0.0
        if not isinstance(self.l1, float):
            out += float(np.sum(_over(self.l1, w) * np.abs(w)))
        elif self.l1 > 0.0:
            out += self.l1 * float(np.add.reduce(np.abs(w), axis=None))
        if not isinstance(self.l2, float):
            out += 0.5 * inner(_over(self.l2, w) * w, w)
        elif self.l2 > 0.0:
            out += 0.5 * self.l2 * inner(w, w)
        return out

    def gradient(self, w: np.ndarray) -> np.ndarray:
        """The gradient of the squares, the part without kinks."""
        if isinstance(self.l2, float):
            if self.l2 == 1.0:
                return w
            return self.l2 * w if self.l2 > 0.0 else np.zeros_like(w)
        out: np.ndarray = _over(self.l2, w) * w
        return out

    def curvature(self, shape: tuple[int, ...], columns: int) -> np.ndarray:
        """The second derivatives of the squares, for the rows of a point of this shape.

        Rows beyond the ``columns``, which are an intercept's, have none.  One entry a row, for all
        classes.
        """
        out = np.zeros((shape[0],) + (1,) * (len(shape) - 1))
        out[:columns] = _over(self.l2, out)
        return out

    def kinks(self, shape: tuple[int, ...], columns: int) -> Kinks:
        """The kinks for a point of this shape; rows beyond the ``columns`` have none."""
        l1 = np.zeros(shape)
        l1[:columns] = _over(self.l1, l1)
        lower, upper = np.full(shape, -math.inf), np.full(shape, math.inf)
        if self.bounded:
            lower[:columns], upper[:columns] = _over(self.lower, l1), _over(self.upper, l1)
        return Kinks(l1, lower, upper, self.bounded)

    def violation(self, w: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """The distances from optimality of the slopes of all else, see :func:`violation`."""
        l1, lower, upper = self.l1, self.lower, self.upper
        if not self._even:
            l1, lower, upper = _over(l1, w), _over(lower, w), _over(upper, w)
        return _violation(w, slope, l1, lower, upper, self.bounded)

    def longest(self, v: np.ndarray, length: float) -> float:
        """The largest multiple of ``v``, up from zero, at which weights of zero are optimal.

        It is in units of ``length``; infinite where they are optimal at any multiple.
        """
        w = np.zeros_like(v)
        lower, upper = _over(self.lower, w), _over(self.upper, w)
        pull = np.maximum(np.where(upper > 0.0, v, 0.0), np.where(lower < 0.0, -v, 0.0))
        if isinstance(self.l1, float):
            strongest = float(pull.max(initial=0.0))
            return length * self.l1 / strongest if strongest > 0.0 else math.inf
        l1 = np.broadcast_to(_over(self.l1, w), v.shape)
        pulled = pull > 0.0
        return float(np.min(length * l1[pulled] / pull[pulled], initial=math.inf))

    def gap_of_gradient(self, gradient: np.ndarray) -> float:
        """The gap that a gradient of the objective leaves, with the slopes as the dual point.

        It is the gap for squares alone: half the squared gradient over their factors.
        """
        if isinstance(self.l2, float):
            return 0.5 * inner(gradient, gradient) / self.l2
        return 0.5 * inner(gradient / _over(self.l2, gradient), gradient)

    def restricted(self, columns: np.ndarray) -> Penalty:
        """The penalty of some of the columns."""
        if self._even:
            return self
        parts = (self.l2, self.l1, self.lower, self.upper)
        l2, l1, lower, upper = (p if isinstance(p, float) else p[columns] for p in parts)
        return Penalty(l2=l2, l1=l1, lower=lower, upper=upper)

    # --- the conjugate --------------------------------------------------------------------------

    def _sides(self, v: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """The pull of each weight away from zero, and the bound of the weight, to either side."""
        if self.symmetric:
            yield np.abs(v), _over(self.upper, v)
            return
        if self._rises:
            yield v, _over(self.upper, v)
        if self._falls:
            yield -v, -_over(self.lower, v)

    def _parted(self, pull: np.ndarray, bound: Any) -> tuple[np.ndarray, np.ndarray]:
        """The part of a pull beyond the kink that moves a weight, and the rest at its bound."""
        beyond = np.maximum(pull - _over(self.l1, pull), 0.0)
        with np.errstate(invalid="ignore", over="ignore"):
            taken = np.where(np.isinf(bound), math.inf, _over(self.l2, pull) * bound)
        over = np.maximum(beyond - taken, 0.0)
        return beyond - over, over

    def _free(self, v: np.ndarray) -> Any:
        """Whether each column has neither a factor nor a bound: nothing may pull at it."""
        free = (self.l2 == 0.0) & (self.l1 == 0.0) & np.isinf(self.lower) & np.isinf(self.upper)
        return free if np.ndim(free) == 0 else _over(np.asarray(free), v)

    def conjugate(self, v: np.ndarray) -> float:
        """The conjugate; columns without penalty and bounds count as if nothing pulled at them.

        The objective has moved their products to zero, up to rounding, before it evaluates this.
        """
        if self.ridge:
            return 0.5 * inner(v, v)
        if not (self.coercive or self.bounded) and self._even:
            return 0.0
        out = 0.0
        for pull, bound in self._sides(v):
            if self._even and bound == math.inf:
                if self.l2 > 0.0:
                    beyond = np.maximum(pull - self.l1, 0.0)
                    out += 0.5 * inner(beyond, beyond) / self.l2
                elif pull.max(initial=0.0) > self.l1:
                    return math.inf
                continue
            inside, over = self._parted(pull, bound)
            l2 = np.broadcast_to(_over(self.l2, v), v.shape)
            moved = inside > 0.0
            if np.any(moved & (l2 == 0.0) & ~np.broadcast_to(self._free(v), v.shape)):
                return math.inf
            moved &= l2 > 0.0
            out += 0.5 * float(np.sum(np.square(inside[moved]) / l2[moved]))
            held = over > 0.0
            out += float(np.sum(over[held] * np.broadcast_to(bound, v.shape)[held]))
        return out

    def fenchel_young(self, w: np.ndarray, v: np.ndarray) -> float:
        """``value(w) + conjugate(v) - w.v`` as a sum of terms that are not negative."""
        if self.ridge:
            return 0.5 * squared_distance(w, v)
        if not (self.coercive or self.bounded) and self._even:
            # What rounding left over is charged to the gap.
            return float(np.sum(np.abs(w * v)))
        # The kinks take what they can of v, the smooth part the rest; either share is >= 0.  What
        # pulls at a bound of zero is the bound's to take.
        if self._even and self._signs:
            if self.l2 == 0.0:
                if self._farthest_beyond(self._sides(v)) > 1.0:
                    return math.inf
                return float(np.add.reduce(self.l1 * np.abs(w) - v * w, axis=None))
            low = -self.l1 if self._falls else -math.inf
            kink = np.clip(v, low, self.l1 if self._rises else math.inf)
            difference = self.l2 * w - (v - kink)
            smooth = 0.5 * inner(difference, difference) / self.l2
            kinks = np.add.reduce(self.l1 * np.abs(w) - kink * w, axis=None)
            return smooth + float(kinks)
        l1, l2 = _over(self.l1, w), _over(self.l2, w)
        lower, upper = _over(self.lower, w), _over(self.upper, w)
        kink = np.clip(v, np.where(lower < 0.0, -l1, -np.inf), np.where(upper > 0.0, l1, np.inf))
        kinks = float(np.sum(l1 * np.abs(w) - kink * w))
        rest = v - kink
        with np.errstate(invalid="ignore", divide="ignore"):
            # Where the smooth part alone is best off; without one, at the bound that is pulled at.
            farthest = np.where(rest == 0.0, w, np.copysign(np.inf, rest))
            best = np.where(l2 > 0.0, rest / l2, farthest)
        best = np.clip(best, lower, upper)
        free = np.broadcast_to(self._free(v), v.shape)
        best = np.where(free, w, best)
        if np.any(np.isinf(best)):
            return math.inf
        left = (rest - l2 * best) * (best - w)
        left = np.where(free, np.abs(w * v), np.maximum(left, 0.0))
        return float(np.sum(0.5 * l2 * np.square(w - best) + left)) + kinks

    def dual_scale(self, v: np.ndarray) -> float:
        """The largest factor, at most 1, that brings ``v`` into the domain of the conjugate."""
        if self.supercoercive or not (self.coercive or self.bounded):
            return 1.0
        largest = self._farthest_beyond(self._sides(v))
        # A hair's breadth inside, so that the product with the factor cannot round to beyond 1.
        return 1.0 if largest <= 1.0 else (1.0 - 4.0 * EPS) / largest

    def _farthest_beyond(self, sides: Iterable[tuple[np.ndarray, Any]]) -> float:
        """The factor by which pulls exceed the kinks of weights that nothing else holds."""
        largest = 0.0
        for pull, bound in sides:
            if self._even:
                if self.l2 > 0.0 or bound < math.inf:
                    continue
                found = float(pull.max(initial=0.0))
                if self.l1 != 1.0 and found > 0.0:
                    found = found / self.l1 if self.l1 > 0.0 else math.inf
            else:
                limited = (_over(self.l2, pull) == 0.0) & np.isinf(bound)
                # Not the other way round, which drops NaN.
                limited = np.broadcast_to(limited, pull.shape) & ~(pull <= 0.0)
                l1 = np.broadcast_to(_over(self.l1, pull), pull.shape)[limited]
                with np.errstate(divide="ignore"):
                    found = float(np.max(pull[limited] / l1, initial=0.0))
            # A NaN is kept.
            largest = largest if found <= largest else found
        return largest

    # --- bounds that rounding is charged to -----------------------------------------------------

    def value_above(self, w: np.ndarray) -> float:
        """An upper bound of :meth:`value`, rounding included."""
        if self.bounded and not self.allows(w):
            return math.inf
        out = 0.0
        with np.errstate(over="ignore", under="ignore"):
            if not isinstance(self.l1, float):
                out += total_above(_over(self.l1, w) * np.abs(w))
            elif self.l1 > 0.0:
                out += self.l1 * total_above(np.abs(w))
            if not isinstance(self.l2, float):
                out += 0.5 * total_above(_over(self.l2, w) * np.square(w))
            elif self.l2 > 0.0:
                out += 0.5 * self.l2 * total_above(np.square(w))
        if out > 0.0 or self.coercive:
            # The underflow of squares, and of their products with the factors.
            out += np.count_nonzero(w) * (self._most + 2.0) * TINY
        return out * (1.0 + 8.0 * UNIT)

    def conjugate_above(self, v: Enclosure, losses: float) -> tuple[float, float]:
        """Upper bounds of the conjugate at the true ``v``, and of the losses' conjugates.

        The latter are ``losses``; a penalty whose conjugate ends somewhere scales the dual point
        down into its domain, and the losses' conjugates with it.
        """
        if self.ridge:
            return _half_square(v, 0.0), losses
        if self._even and self.l2 > 0.0 and self._signs and self.upper > 0.0:
            square = _half_square(v, self.l1, signed=self.lower == 0.0)
            return square / self.l2 * (1.0 + 8.0 * UNIT), losses
        largest = 1.0
        if not self.supercoercive:
            largest = self._farthest_beyond(self._sides_above(v))
            if not largest < np.inf:
                return 0.0, max(losses, 0.0)
            largest = max(1.0, largest)
        # By convexity a share of the point has at most that share of the conjugates, all of which
        # are at most zero at zero.
        if losses < 0.0:
            losses = losses / largest * (1.0 - 8.0 * UNIT)
        if self._even and self._signs and self.l2 == 0.0:
            return 0.0, losses
        return self._held_above(v) / largest * (1.0 + 8.0 * UNIT), losses

    def _sides_above(self, v: Enclosure) -> Iterator[tuple[np.ndarray, Any]]:
        """Upper bounds of the pulls that :meth:`_sides` gives."""
        if self.symmetric:
            yield v.above(), _over(self.upper, v.middle)
            return
        if self._rises:
            yield v.above(signed=True), _over(self.upper, v.middle)
        if self._falls:
            yield v.mirrored().above(signed=True), -_over(self.lower, v.middle)

    def _held_above(self, v: Enclosure) -> float:
        r"""An upper bound of the conjugate, but for the weights whose conjugate ends.

        To either side, and whatever :math:`0 \le t \le m`, the conjugate of a weight is at most
        :math:`(m - t)^2 / (2 q) + u t`: all terms are positive, and it does not matter how ``t``,
        the pull that is left at the bound, was rounded.  Its slope is the weight that is best, so
        that errors of a ``length`` together add no more than that times the length of these.
        """
        entries, middle, reach = 0.0, 0.0, 0.0
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            sides = zip(self._sides_above(v), self._sides(v.middle), strict=True)
            for (above, bound), (pull, _) in sides:
                entries += self._side_above(above, bound)
                middle += self._side_above(pull, bound)
                reach = math.hypot(reach, self._farthest(above, bound))
            middle += reach * v.length * (1.0 + 16.0 * UNIT)
            middle += TINY if reach > 0.0 and v.length > 0.0 else 0.0
        return min(entries, middle) if middle < math.inf else entries

    def _side_above(self, pull: np.ndarray, bound: Any) -> float:
        """An upper bound of the conjugate to one side."""
        if not np.all(pull < math.inf):
            return math.inf
        inside, over = self._parted(pull, bound)
        l2 = np.broadcast_to(_over(self.l2, pull), pull.shape)
        moved, held = (inside > 0.0) & (l2 > 0.0), over > 0.0
        out = 0.5 * total_above(np.square(inside[moved]) / l2[moved])
        out += total_above(over[held] * np.broadcast_to(bound, pull.shape)[held])
        least = float(np.min(l2[moved], initial=1.0))
        underflow = (np.count_nonzero(moved | held) + 1.0) * (1.0 / least + 3.0) * TINY
        return out * (1.0 + 16.0 * UNIT) + (underflow if np.any(moved | held) else 0.0)

    def _farthest(self, pull: np.ndarray, bound: Any) -> float:
        """An upper bound of the norm of the best weights for pulls of up to these."""
        beyond = np.maximum(pull - _over(self.l1, pull), 0.0)
        l2 = np.broadcast_to(_over(self.l2, pull), pull.shape)
        far = np.divide(beyond, l2, out=np.where(beyond > 0.0, np.inf, 0.0), where=l2 > 0.0)
        far = np.minimum(far, bound)
        # Weights whose conjugate ends are not among them.
        return length_above(np.where((l2 == 0.0) & np.isinf(bound), 0.0, far)) * (1.0 + 8.0 * UNIT)


class L2(Penalty):
    r"""Half the squared norm, :math:`\tfrac12\|w\|^2` (ridge; Hoerl and Kennard, 1970)."""

    def __init__(self) -> None:
        super().__init__(l2=1.0)

    def __repr__(self) -> str:
        return "L2()"


class NoPenalty(Penalty):
    r"""No penalty: its conjugate is 0 at :math:`v = 0` and infinite elsewhere."""

    def __init__(self) -> None:
        super().__init__()

    def __repr__(self) -> str:
        return "NoPenalty()"


class ElasticNet(Penalty):
    r"""A mixture of L1 and L2, :math:`\rho \|w\|_1 + \tfrac{1-\rho}2 \|w\|^2`.

    Its conjugate is :math:`\sum_j \max(|v_j| - \rho, 0)^2 / (2 (1 - \rho))`.  Zou and Hastie
    (2005).

    Parameters
    ----------
    l1_ratio : float
        The share :math:`\rho` of L1, above 0 and below 1.
    nonnegative : bool, default=False
        Whether no weight may be below zero; its conjugate then has :math:`v_j` for :math:`|v_j|`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.objectives.penalties import ElasticNet
    >>> ElasticNet(0.5).value(np.array([2.0, -1.0]))
    2.75
    """

    def __init__(self, l1_ratio: float, nonnegative: bool = False) -> None:
        lower = 0.0 if nonnegative else -math.inf
        super().__init__(l2=1.0 - float(l1_ratio), l1=float(l1_ratio), lower=lower)

    def __repr__(self) -> str:
        return f"ElasticNet({self.l1:g}{', nonnegative=True' * self.bounded})"


class L1(Penalty):
    r"""The sum of absolute values, :math:`\|w\|_1` (lasso; Tibshirani, 1996).

    Its conjugate is 0 where :math:`\|v\|_\infty \le 1` and infinite elsewhere.

    Parameters
    ----------
    nonnegative : bool, default=False
        Whether no weight may be below zero; the conjugate is then 0 where all :math:`v_j \le 1`.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.objectives.penalties import L1
    >>> L1().value(np.array([2.0, -1.0]))
    3.0
    """

    def __init__(self, nonnegative: bool = False) -> None:
        super().__init__(l1=1.0, lower=0.0 if nonnegative else -math.inf)

    def __repr__(self) -> str:
        return "L1(nonnegative=True)" if self.bounded else "L1()"


def _half_square(v: Enclosure, threshold: float, *, signed: bool = False) -> float:
    """An upper bound of half the squared norm of the parts of numbers beyond the threshold.

    With ``signed``, only numbers above zero count.
    """
    beyond = v.middle
    if threshold > 0.0:
        beyond = np.maximum((beyond if signed else np.abs(beyond)) - threshold, 0.0)
    # A norm changes by no more than its argument does.
    length = (length_above(beyond) + v.length) * (1.0 + 8.0 * UNIT)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        square = length * length
        underflow = TINY if length > 0.0 else 0.0
        # Where only the norm of all errors together is known, the entries give no sharper bound.
        if not (isinstance(v.radius, float) and v.radius >= v.length):
            # In place: with many columns a copy is what a fit needs the most memory for.
            entries = v.above(signed=signed)
            entries -= threshold
            np.maximum(entries, 0.0, out=entries)
            underflow *= np.count_nonzero(entries) + 1.0
            square = min(square, total_above(np.square(entries, out=entries)))
        return float(0.5 * square * (1.0 + 8.0 * UNIT) + underflow)


def penalty_of(l1_ratio: float, *, nonnegative: bool = False) -> Penalty:
    """The penalty of which L1 has the share ``l1_ratio``, and L2 the rest.

    Parameters
    ----------
    l1_ratio : float
        The share of L1, from 0 to 1.
    nonnegative : bool, default=False
        Whether no weight may be below zero.

    Examples
    --------
    >>> from separatrix.objectives.penalties import penalty_of
    >>> penalty_of(0.0), penalty_of(0.25), penalty_of(1.0)
    (L2(), ElasticNet(0.25), L1())
    """
    if l1_ratio == 0.0:
        return Penalty(l2=1.0, lower=0.0) if nonnegative else L2()
    return L1(nonnegative) if l1_ratio == 1.0 else ElasticNet(l1_ratio, nonnegative)


def strength_of(alpha: float, total: float) -> float:
    """The factor ``C = 1 / (alpha * total)`` of the losses where ``alpha`` weighs the penalty.

    Estimators that state ``alpha`` minimise ``sum_i s_i loss_i / sum_i s_i + alpha * penalty``;
    an objective is ``C * sum_i s_i loss_i + penalty``. Without a penalty (``alpha = 0``) it is the
    mean of the losses that is minimised: ``C = 1 / total``.

    Parameters
    ----------
    alpha : float
        The weight of the penalty, not negative.
    total : float
        The sum of the sample weights ``s_i``.

    Raises
    ------
    ValueError
        If float64 cannot hold it.
    """
    product = float(total) * (alpha if alpha > 0.0 else 1.0)
    with np.errstate(over="ignore"):
        C = float(np.divide(1.0, product)) if 0.0 < product < np.inf else np.inf
    if np.inf > C:
        return C
    if alpha > 0.0:
        raise ValueError(
            f"The penalty's weight {alpha:g} and the sample weights, which add up to {total:.3g}, "
            "give no factor 1 / (weight * sum) that float64 can hold; divide the sample weights by "
            "a common factor, or set the penalty's weight to 0 to fit without a penalty."
        )
    raise ValueError(
        f"The sample weights, which add up to {total:.3g}, have no inverse that float64 can hold; "
        "divide them by a common factor."
    )
