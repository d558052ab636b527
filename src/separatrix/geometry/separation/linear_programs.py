"""Linear programs about homogeneous points, solved in floating point by HiGHS.

A few rows decide such a program, so it is solved on a working set that grows by the rows it
violates most (cutting planes; Kelley, 1960).  Nothing here is a proof: what comes out is a
hyperplane or a set of rows that exact arithmetic then judges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
import scipy.sparse as sp

from separatrix.geometry.exact.deadline import NO_DEADLINE, Deadline
from separatrix.geometry.points import Cloud

# HiGHS takes a constraint for satisfied within 1e-7; rows are scaled to a size of one.
_TOLERANCE = 1e-7
# The number of variables beyond which interior points are used.
_INTERIOR = 150


@dataclass(frozen=True)
class Suggestion:
    """A suggestion in floats, which proves nothing: a hyperplane, or rows in the way of one.

    Attributes
    ----------
    w : ndarray of shape (n_features,)
    b : float
    rows : ndarray of int
        Rows that hold the hyperplane, or that stand in the way of one.
    multipliers : ndarray
        Their multipliers.
    value : float
        The value of the linear program, above 0 where there is such a hyperplane; 0 where none
        was solved.
    """

    w: np.ndarray
    b: float
    rows: np.ndarray
    multipliers: np.ndarray
    value: float


class WorkingSet:
    """Rows in play, in coordinates that suit floating point: centred, scaled, of size one.

    It is kept from one program to the next: rows that decided one are likely to decide another.
    """

    def __init__(self, cloud: Cloud) -> None:
        rng = np.random.default_rng(0)
        self.cloud = cloud
        length = np.sqrt(cloud.design.row_squares() + float(cloud.lifted))
        self.length = np.where(length > 0, length, 1.0)
        size = min(cloud.n, max(200, 5 * min(cloud.dimension, 1000)))
        self.rows = _sample(cloud.y, size, rng)
        d = cloud.design.n_features
        block = cloud.design.take(self.rows).matrix
        self.sparse = sp.issparse(block)
        self.centre = np.zeros(d)
        if self.sparse:
            largest = abs(block).max(axis=0).toarray().ravel()
        else:
            block = np.asarray(block, dtype=np.float64)
            if cloud.lifted:
                # With an offset a shift of the points is undone by the intercept.  Only where it
                # matters: indicators are best left as sparse as they are.
                mean, spread = block.mean(axis=0), block.std(axis=0)
                self.centre = np.where(np.abs(mean) > 10.0 * spread, mean, 0.0)
            largest = np.abs(block - self.centre).max(axis=0)
        # Below this the reciprocal would be infinite, and the rows are scaled once more anyway.
        largest = np.where((largest > 1e-300) & np.isfinite(largest), largest, 1.0)
        self.scale = 1.0 / largest
        self.matrix = self._coordinates(self.rows)

    def _coordinates(self, rows: np.ndarray) -> np.ndarray | sp.csr_array:
        cloud = self.cloud
        block = cloud.design.take(rows).matrix
        y = cloud.y[rows]
        if self.sparse:
            out = sp.csr_array(block).astype(np.float64) @ sp.diags_array(self.scale)
            if cloud.lifted:
                out = sp.hstack([out, np.ones((len(rows), 1))])
            out = sp.csr_array(sp.diags_array(y) @ out)
            size = abs(out).max(axis=1).toarray().ravel()
            return sp.csr_array(sp.diags_array(1.0 / np.where(size > 0, size, 1.0)) @ out)
        out = (np.asarray(block, dtype=np.float64) - self.centre) * self.scale
        if cloud.lifted:
            out = np.column_stack([out, np.ones(len(rows))])
        out *= y[:, None]
        size = np.abs(out).max(axis=1)
        out /= np.where(size > 0, size, 1.0)[:, None]
        return out

    def add(self, rows: np.ndarray) -> None:
        new = self._coordinates(rows)
        stack = sp.vstack if self.sparse else np.vstack
        self.rows = np.concatenate([self.rows, rows])
        self.matrix = stack([self.matrix, new])
        if self.sparse:
            self.matrix = sp.csr_array(self.matrix)

    def hyperplane(self, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Weights and offset in the points' own coordinates."""
        d = self.cloud.design.n_features
        w = u[:d] * self.scale
        b = float(u[d] - w @ self.centre) if self.cloud.lifted else 0.0
        return w, b

    def target(self, c: np.ndarray) -> np.ndarray:
        """The objective ``c . z`` in these coordinates."""
        d = self.cloud.design.n_features
        out = (c[:d] - (c[d] * self.centre if self.cloud.lifted else 0.0)) * self.scale
        out = np.append(out, c[d]) if self.cloud.lifted else out
        size = np.abs(out).max(initial=0.0)
        return out / size if size > 0 else out


def _sample(y: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Rows at random, of both classes where there are two."""
    chosen = [rng.choice(len(y), size=size, replace=False) if size < len(y) else np.arange(len(y))]
    for sign in (1.0, -1.0):
        of_class = np.flatnonzero(y == sign)
        chosen.append(of_class[: min(5, len(of_class))])
    return np.unique(np.concatenate(chosen))


def _cut(
    working: WorkingSet,
    program: Callable[[], tuple[np.ndarray, np.ndarray, float]],
    floor: Callable[[float], float],
    deadline: Deadline,
    rounds: int | None = None,
) -> Suggestion:
    """Solve ``program`` on a growing working set until no other row objects."""
    cloud = working.cloud
    while True:
        deadline()
        u, multipliers, value = program()
        w, b = working.hyperplane(u)
        held = np.flatnonzero(multipliers > _TOLERANCE * max(multipliers.max(initial=0.0), 1e-300))
        found = Suggestion(w, b, working.rows[held], multipliers[held], value)
        if value <= _TOLERANCE and floor(0.0) >= 0.0:
            return found
        score = cloud.y * (cloud.design.dot(w) + b) / working.length
        score[working.rows] = np.inf
        worst = float(np.abs(w).max(initial=0.0)) or 1.0
        against = np.flatnonzero(score <= floor(worst))
        rounds = None if rounds is None else rounds - 1
        if not len(against) or rounds == 0:
            return found
        if len(against) > (most := max(100, 2 * min(cloud.dimension, 500))):
            against = against[np.argpartition(score[against], most)[:most]]
        working.add(against)


def suggest_strict(
    working: WorkingSet, deadline: Deadline = NO_DEADLINE, rounds: int | None = None
) -> Suggestion:
    r"""A hyperplane with every ``z_i . u > 0``, or multipliers that exclude one.

    Solves :math:`\max t` subject to :math:`z_i \cdot u \ge t`, :math:`|u_j| \le 1`.  At the
    value 0 the dual solution is a point common to both convex hulls.

    Parameters
    ----------
    working : WorkingSet
    deadline : Deadline
    rounds : int, optional
        Stop after so many programs, although rows may still object.
    """

    def program() -> tuple[np.ndarray, np.ndarray, float]:
        p = working.cloud.dimension
        ones = np.ones((working.matrix.shape[0], 1))
        left = (sp.hstack if working.sparse else np.hstack)([-working.matrix, ones])
        bounds: list[tuple[float | None, float | None]] = [(-1.0, 1.0)] * p
        bounds.append((None, 1.0))
        cost = np.append(np.zeros(p), -1.0)
        return _highs(cost, left, bounds, p, deadline)

    # Any row on the wrong side, or on the plane, objects.
    return _cut(working, program, lambda size: 0.0, deadline, rounds)


def suggest_boundary(
    working: WorkingSet, total: np.ndarray, deadline: Deadline = NO_DEADLINE
) -> Suggestion:
    r"""A hyperplane with every ``z_i . u >= 0``, not all zero, or a sign that there is none.

    Solves :math:`\max c \cdot u` subject to :math:`z_i \cdot u \ge 0` and
    :math:`\sum_j |u_j| \le 1`, with ``c`` the sum of all rows: such a vector has few entries
    that are not zero.

    Parameters
    ----------
    working : WorkingSet
    total : ndarray
        ``c``.
    """

    def spread() -> tuple[np.ndarray, np.ndarray, float]:
        c, m = working.target(total), working.matrix
        return _highs(-c, -m, [(-1.0, 1.0)] * len(c), len(c), deadline)

    # With a bound on each entry alone a vector moves in every column that can, and the rows that
    # object to any of them are found at once; with the bound on the sum, a column at a time.
    found = _cut(working, spread, lambda size: -_TOLERANCE * size, deadline)
    if found.value <= _TOLERANCE:
        return found

    def program() -> tuple[np.ndarray, np.ndarray, float]:
        p = working.cloud.dimension
        c = working.target(total)
        m = working.matrix
        stack, rest = (sp.hstack, sp.vstack) if working.sparse else (np.hstack, np.vstack)
        left = rest([stack([-m, m]), np.ones((1, 2 * p))])
        right = np.append(np.zeros(m.shape[0]), 1.0)
        cost = np.append(-c, c)
        u, multipliers, value = _highs(cost, left, [(0.0, None)] * (2 * p), 2 * p, deadline, right)
        return u[:p] - u[p:], multipliers[:-1], value

    return _cut(working, program, lambda size: -_TOLERANCE * size, deadline)


def _highs(
    cost: np.ndarray,
    left: np.ndarray | sp.sparray,
    bounds: Sequence[tuple[float | None, float | None]],
    count: int,
    deadline: Deadline,
    right: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """The first ``count`` variables, the multipliers of the rows, and the value (maximised)."""
    right = np.zeros(left.shape[0]) if right is None else right
    parts = (cost, right, left.data if sp.issparse(left) else left)
    if not all(np.all(np.isfinite(part)) for part in parts):
        # Beyond the range of floats: nothing is suggested.
        return np.zeros(count), np.zeros(left.shape[0]), 0.0
    limit = {} if deadline.left is None else {"time_limit": deadline.left}
    # With many columns the simplex method takes many steps, and interior points are quicker.
    method = "highs-ipm" if count > _INTERIOR else "highs"
    result = scipy.optimize.linprog(
        cost, A_ub=left, b_ub=right, bounds=bounds, method=method, options=limit
    )
    deadline()
    if result.x is None or result.status == 1:
        # HiGHS gave up: nothing is suggested, and exact arithmetic starts from nothing.
        return np.zeros(count), np.zeros(left.shape[0]), 0.0
    return result.x[:count], np.maximum(-result.ineqlin.marginals, 0.0), -float(result.fun)
