r"""An active-set method for small quadratic programs, in exact rational arithmetic.

It solves

.. math:: \min_{\alpha \ge 0}\; \tfrac12 \Big\|\sum_i \alpha_i g_i\Big\|^2 - \sum_i q_i \alpha_i
    \quad (\text{and } \sum_i \alpha_i y_i = 0 \text{ on request})

in the manner of Lawson and Hanson (1974): a set of positive multipliers is kept stationary, the
row with the steepest slope enters, and rows leave as they reach zero.  In exact arithmetic every
step lowers the objective, so no set comes back and the method ends.  With ``g_i = y_i x_i`` and
``q_i = 1`` it is the dual of the hard margin: it ends at the hyperplane of the largest margin, or
in a direction without end, which is a combination of the rows that is exactly zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from separatrix.geometry.exact.deadline import NO_DEADLINE, OutOfTime
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.exact.rational import (
    common_denominator,
    dependency,
    dot,
    solve,
    whole_numbers,
)
from separatrix.geometry.points import Cloud

# How many rows that are not yet satisfied are taken into account at a time.
_BATCH = 64


@dataclass(frozen=True)
class Stationary:
    """The minimum.

    Attributes
    ----------
    multipliers : dict of int to Fraction
        Positive ones, by row.
    w : tuple of Fraction
        ``sum alpha_i g_i``.
    b : Fraction
        The multiplier of the constraint ``sum alpha y = 0``; 0 without it.
    """

    multipliers: dict[int, Fraction]
    w: tuple[Fraction, ...]
    b: Fraction


@dataclass(frozen=True)
class Unbounded:
    """There is no minimum: ``sum alpha_i g_i = 0`` (and ``sum alpha_i y_i = 0``)."""

    multipliers: dict[int, Fraction]


@dataclass
class _State:
    """Rows in play as integers over one power of two, and their multipliers."""

    cloud: Cloud
    balanced: bool
    target: tuple[Fraction, ...] | None
    alpha: dict[int, Fraction]
    rows: dict[int, list[Fraction]] = field(default_factory=dict)

    def generator(self, i: int) -> list[Fraction]:
        if i not in self.rows:
            block = self.cloud.signed(np.array([i]), balanced=self.balanced)[0]
            self.rows[i] = [Fraction(v) for v in block.tolist()]
        return self.rows[i]

    def block(self, used: list[int]) -> tuple[np.ndarray, int]:
        block = self.cloud.signed(np.array(used, dtype=np.int64), balanced=self.balanced)
        return whole_numbers(block)

    def linear(self, i: int) -> Fraction:
        """``q_i``."""
        if self.target is None:
            return Fraction(1)
        return dot(self.generator(i), self.target)


def exact_minimum(
    cloud: Cloud,
    *,
    balanced: bool,
    target: tuple[Fraction, ...] | None = None,
    start: dict[int, Fraction] | None = None,
    deadline: Callable[[], None] = NO_DEADLINE,
    max_steps: int | None = None,
) -> Stationary | Unbounded:
    """Solve the program over all rows of ``cloud``.

    Parameters
    ----------
    cloud : Cloud
    balanced : bool
        With the constraint ``sum alpha y = 0``; the generators are then ``y x`` without the
        lifted coordinate.
    target : tuple of Fraction, optional
        ``q_i = g_i . target``, so that the program is the distance from the target to the cone
        of the rows; default ``q_i = 1``.
    start : dict of int to Fraction, optional
        Multipliers to start from, positive, and balanced if ``balanced``.
    deadline : callable
        Called between steps; may raise.
    max_steps : int, optional
        Raise :class:`OutOfTime` after so many rows have entered.
    """
    state = _State(cloud, balanced, target, dict(start or {}))
    if balanced and not state.alpha:
        first = [int(np.flatnonzero(cloud.y == s)[0]) for s in (1.0, -1.0)]
        state.alpha = {i: Fraction(1) for i in first}
    pool = np.array(sorted(state.alpha), dtype=np.int64)
    while True:
        deadline()
        ended, b = _settle(state, deadline)
        if ended is not None:
            return ended
        w = _weights(state)
        entering, pool = _entering(state, w, b, pool)
        if entering is None:
            return Stationary(dict(state.alpha), tuple(w), b)
        if max_steps is not None:
            if max_steps == 0:
                raise OutOfTime
            max_steps -= 1
        state.alpha[entering] = Fraction(0)


def _weights(state: _State) -> list[Fraction]:
    width = state.cloud.width(balanced=state.balanced)
    used = [i for i, v in state.alpha.items() if v]
    if not used:
        return [Fraction(0)] * width
    block, shift = state.block(used)
    numerators, denominator = common_denominator([state.alpha[i] for i in used])
    return [Fraction(v, denominator << shift) for v in numerators.dot(block)]


def _entering(
    state: _State, w: list[Fraction], b: Fraction, pool: np.ndarray
) -> tuple[int | None, np.ndarray]:
    """The row with the steepest slope among those in play, else among all."""
    direction = w if state.target is None else [v - t for v, t in zip(w, state.target, strict=True)]
    constant = Fraction(1 if state.target is None else 0)
    scale = math.lcm(b.denominator, *(v.denominator for v in direction))
    whole = [-int(v * scale) for v in direction]
    offset = -int(b * scale)
    if not state.balanced and state.cloud.lifted:
        offset = whole.pop()
    # The slope q_i - g_i.w - y_i b, times the scale.
    for rows in (pool, None):
        part = state.cloud if rows is None else state.cloud.take(rows)
        signs, values = product_signs(part.design, part.y, whole, offset, constant * scale)
        steep = np.flatnonzero(signs > 0)
        if rows is not None:
            steep = steep[[int(rows[i]) not in state.alpha for i in steep]]
        if len(steep):
            # Beyond the range of floats all are equally infinite, and any will do.
            order = steep[np.argsort(-values[steep], kind="stable")]
            if rows is not None:
                return int(rows[order[0]]), pool
            best = order[:_BATCH]
            return int(best[0]), np.union1d(pool, best)
    return None, pool


def _settle(state: _State, deadline: Callable[[], None]) -> tuple[Unbounded | None, Fraction]:
    """Move to the minimum over the multipliers in play, dropping those that reach zero."""
    while True:
        deadline()
        used = list(state.alpha)
        if not used:
            return None, Fraction(0)
        block, shift = state.block(used)
        y = [int(state.cloud.y[i]) for i in used]
        scale = 1 << (2 * shift)
        q = [state.linear(i) * scale for i in used]
        common = math.lcm(*(v.denominator for v in q))
        k = len(used)
        size = k + int(state.balanced)
        matrix = np.zeros((size, size), dtype=object)
        matrix[:k, :k] = block.dot(block.T)
        if state.balanced:
            matrix[:k, k] = matrix[k, :k] = y
        found = solve(matrix, [int(v * common) for v in q] + [0] * (size - k), deadline)
        if found is not None:
            goal = [v / common for v in found[:k]]
            if all(v > 0 for v in goal):
                state.alpha = dict(zip(used, goal, strict=True))
                return None, (found[k] / common / scale if state.balanced else Fraction(0))
            step = [g - state.alpha[i] for i, g in zip(used, goal, strict=True)]
            limit = Fraction(1)
        else:
            extended = np.column_stack([block, y]) if state.balanced else block
            relation = dependency(extended, deadline)
            if relation is None:
                raise ArithmeticError("a singular system of equations has no dependent rows")
            gain = dot(q, map(int, relation))
            if gain < 0 or (gain == 0 and all(d >= 0 for d in relation)):
                relation = -relation
            step = [Fraction(int(d)) for d in relation]
            if all(d >= 0 for d in step):
                kept = {i: d for i, d in zip(used, step, strict=True) if d}
                return Unbounded(kept), Fraction(0)
            limit = None
        ratios = [state.alpha[i] / -s for i, s in zip(used, step, strict=True) if s < 0]
        length = min(ratios) if limit is None else min([limit, *ratios])
        moved = {i: state.alpha[i] + length * s for i, s in zip(used, step, strict=True)}
        state.alpha = {i: v for i, v in moved.items() if v > 0}
