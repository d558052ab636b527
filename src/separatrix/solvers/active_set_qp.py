r"""The largest margin of a few rows, by an active-set method.

The dual method of Goldfarb and Idnani (1983) for a strictly convex quadratic program: the rows
in the *face* are held at margin 1, and kept as an orthogonal factorisation; of the others, the
one that violates its constraint the most enters, and any whose multiplier reaches zero on the way
leaves.  Every step raises the dual objective, so no face comes back, and the method ends.  If a
row can enter without end, its multipliers are a combination of the rows that vanishes: no
hyperplane separates the classes.

An unpenalised intercept is the multiplier of ``sum alpha y = 0``.  Each row then ends in a
constant of the size of the data, which that constraint cancels from the answer, but which makes
rows that are affinely independent linearly independent.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from separatrix._compiled.linear_algebra import inner
from separatrix._compiled.rounding import EPS

# A row depends on the face when less is left of it than this part of what was added up.
_DEPENDENT = 64.0 * EPS


class ActiveSet:
    """Rows held at margin 1, ``V``, with ``V' = Q R``.

    Parameters
    ----------
    width : int
        The number of entries of a row.
    constant : float
        The last entry of every row, times its sign, where the multipliers must balance; else 0.

    Attributes
    ----------
    members : list of int
        The rows' places in the pool.
    alpha : ndarray of shape (k,)
        The multipliers of these rows.
    """

    def __init__(self, width: int, constant: float) -> None:
        self.members: list[int] = []
        self.alpha = np.zeros(0)
        self.constant = constant
        self._v = np.empty((0, width))
        self._q = np.empty((0, width))
        self._r = np.empty((0, 0))
        self._lengths = np.empty(0)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def rows(self) -> np.ndarray:
        return self._v[: len(self)]

    @property
    def basis(self) -> np.ndarray:
        return self._q[: len(self)]

    @property
    def signs(self) -> np.ndarray:
        """The signs of the rows, where the multipliers must balance."""
        return self.rows[:, -1] / self.constant

    def _triangular(self, rhs: np.ndarray, transposed: bool = False) -> np.ndarray:
        k = len(self)
        if not k:
            return rhs
        # LAPACK reads the matrix by columns, so that the upper triangle is a lower one.
        out, _ = scipy.linalg.lapack.dtrtrs(
            self._r[:k, :k].T, rhs, lower=1, trans=int(not transposed)
        )
        return out

    def multipliers(self, coordinates: np.ndarray) -> np.ndarray:
        """``R alpha = c``: multipliers of the point with these coordinates."""
        return self._triangular(coordinates)

    def shortest(self, rhs: np.ndarray) -> tuple[np.ndarray, float]:
        """Coordinates ``c`` and offset of the shortest weights with ``V u + y offset = rhs``.

        With an unpenalised intercept the offset is free and the multipliers balance.
        """
        c = self._triangular(rhs, transposed=True)
        if self.constant == 0.0:
            return c, 0.0
        g = self._balance()
        offset = inner(g, c) / inner(g, g)
        return c - offset * g, offset

    def _balance(self) -> np.ndarray:
        """``R'^-1 y``: every row holds the constant times its sign."""
        return self.basis[:, -1] / self.constant

    def entering(self, row: np.ndarray, sign: float) -> tuple[np.ndarray, np.ndarray, float]:
        """The moves of the point as a row enters, for each unit of its multiplier.

        Returns the move of the weights, the fall of the face's multipliers and the move of the
        offset, which leave the face's margins as they are.
        """
        if not len(self):
            return row.copy(), np.zeros(0), 0.0
        h, rest = self._project(row)
        lift = 0.0
        if self.constant != 0.0:
            g = self._balance()
            lift = (sign - inner(g, h)) / inner(g, g)
            h = h + lift * g
            rest = rest - lift * (g @ self.basis)
            rest[-1] = 0.0
        return rest, self.multipliers(h), lift

    def spans(self, row: np.ndarray, move: np.ndarray, fall: np.ndarray) -> bool:
        """Whether a row depends on the face: all that is left of it is rounding."""
        if len(self) == len(row):
            return True
        terms = np.sqrt(inner(row, row)) + inner(np.abs(fall), self._lengths[: len(self)])
        return bool(inner(move, move) <= (_DEPENDENT * terms) ** 2)

    def _project(self, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of a row in the basis, and the rest."""
        q = self.basis
        h = q @ row
        rest = row - h @ q
        # Twice is enough (Kahan; Parlett, 1980).
        again = q @ rest
        return h + again, rest - again @ q

    def add(self, member: int, row: np.ndarray, alpha: float) -> None:
        k = len(self)
        if k == len(self._q):
            self._reserve(max(16, 2 * k))
        h, rest = self._project(row)
        length = float(np.sqrt(inner(rest, rest)))
        self._r[:k, k] = h
        self._r[k, k] = length
        self._q[k] = rest / length
        self._v[k] = row
        self._lengths[k] = np.sqrt(inner(row, row))
        self.members.append(member)
        self.alpha = np.append(self.alpha, alpha)

    def _reserve(self, size: int) -> None:
        k, width = len(self), self._v.shape[1]
        v, q, r = np.empty((size, width)), np.empty((size, width)), np.zeros((size, size))
        v[:k], q[:k], r[:k, :k] = self.rows, self.basis, self._r[:k, :k]
        self._v, self._q, self._r = v, q, r
        self._lengths = np.append(self._lengths[:k], np.zeros(size - k))

    def drop(self, place: int) -> None:
        k = len(self)
        if k > 1:
            q, r = scipy.linalg.qr_delete(
                self.basis.T, self._r[:k, :k], place, which="col", check_finite=False
            )
            self._q[: k - 1] = q[:, : k - 1].T
            self._r[: k - 1, : k - 1] = r[: k - 1]
        self._v[place : k - 1] = self._v[place + 1 : k].copy()
        self._lengths[place : k - 1] = self._lengths[place + 1 : k].copy()
        del self.members[place]
        self.alpha = np.delete(self.alpha, place)

    def rebuild(self, members: np.ndarray, rows: np.ndarray) -> None:
        """Make the first of these rows the face.

        It takes as many as a row has entries, less those that depend on rows before them.
        """
        k = min(rows.shape)
        if not k:
            self.members, self.alpha = [], np.zeros(0)
            return
        q, r = scipy.linalg.qr(rows.T, mode="economic", check_finite=False)
        lengths = np.sqrt(np.einsum("ij,ij->i", rows[:k], rows[:k]))
        apart = np.abs(np.diagonal(r)) > 1e-10 * lengths
        if len(rows) > k or not apart.all():
            self.rebuild(members[:k][apart], rows[:k][apart])
            return
        self.members = members.tolist()
        self.alpha = np.zeros(k)
        self._v, self._q, self._r = rows.copy(), np.ascontiguousarray(q.T), r
        self._lengths = lengths


class Pool:
    """The rows in play, and the largest margin among them.

    Parameters
    ----------
    width : int
    constant : float
        The last entry of every row, times its sign, where the multipliers must balance; else 0.

    Attributes
    ----------
    rows : ndarray of shape (m, width)
        The rows, each times its sign.
    y : ndarray of shape (m,)
        The signs of the rows.
    face : ActiveSet
    u : ndarray of shape (width,)
        The weights of the largest margin, at which the smallest margin is 1.
    offset : float
        The intercept, where it is not among the weights.
    ray : ndarray of shape (m,) or None
        Multipliers >= 0, not all zero, whose combination of the rows vanishes.
    stalled : bool
        Whether steps have stopped making a difference to the objective.
    """

    def __init__(self, width: int, constant: float) -> None:
        self.rows = np.empty((0, width))
        self.y = np.zeros(0)
        self.face = ActiveSet(width, constant)
        self.balances = constant != 0.0
        self.u = np.zeros(width)
        self.offset = 0.0
        self.ray: np.ndarray | None = None
        self.stalled = False
        self._coordinates = np.zeros(0)

    def __len__(self) -> int:
        return len(self.y)

    def join(self, rows: np.ndarray, y: np.ndarray) -> None:
        """Add rows that are already multiplied by their signs."""
        self.rows = np.concatenate([self.rows, rows])
        self.y = np.concatenate([self.y, y])

    def keep(self, size: int) -> np.ndarray:
        """Drop all but the face and the ``size`` rows of least margin; return which rows stay."""
        kept = np.zeros(len(self), dtype=bool)
        kept[np.argsort(self.margins(), kind="stable")[:size]] = True
        kept[self.face.members] = True
        place = np.cumsum(kept) - 1
        self.face.members = place[self.face.members].tolist()
        self.y, self.rows = self.y[kept], self.rows[kept]
        return kept

    def margins(self) -> np.ndarray:
        z = self.rows @ self.u
        return z + self.y * self.offset if self.balances else z

    def multipliers(self) -> np.ndarray:
        """The multipliers of all rows of the pool; the ray, if there is one."""
        if self.ray is not None:
            return self.ray
        out = np.zeros(len(self))
        out[self.face.members] = self.face.alpha
        return out

    def seed(self, members: np.ndarray) -> None:
        """Start from a face among these rows, the likeliest first."""
        face = self.face
        for _ in range(20):
            face.rebuild(members, self.rows[members])
            if not len(face):
                return
            self._settle()
            alpha = face.multipliers(self._coordinates)
            members = np.array(face.members)[alpha > 0.0]
            if len(members) == len(face):
                return
        # The method proper needs multipliers that are not negative; without any it starts cold.
        self.face = ActiveSet(self.rows.shape[1], face.constant)
        self.u, self.offset = np.zeros_like(self.u), 0.0

    def solve(self, check_interrupt: Callable[[], None]) -> None:
        """Move to the largest margin of the pool; sets ``ray`` where there is none.

        ``check_interrupt`` is called between steps and may raise; the next
        call then goes on from there.
        """
        face = self.face
        if self.balances and not len(face):
            self._enter(0)
        idle, best = 0, inner(self.u, self.u)
        while self.ray is None:
            check_interrupt()
            z = self.margins()
            z[face.members] = np.inf
            p = int(z.argmin())
            size = np.abs(self.rows[p]) @ np.abs(self.u) + abs(self.offset)
            if not 1.0 - z[p] > 4.0 * EPS * (size + 1.0):
                return
            self._enter(p)
            # Each step lengthens the weights; where rounding hides that for long, it rules.
            length = inner(self.u, self.u)
            idle = 0 if length > best * (1.0 + 4.0 * EPS) else idle + 1
            best = max(best, length)
            if idle > 20 + len(face) or not np.isfinite(length):
                self.stalled = True
                return

    def _enter(self, p: int) -> None:
        """Raise the multiplier of a row until its margin is 1."""
        face, row, sign = self.face, self.rows[p], float(self.y[p])
        alpha = 0.0
        while True:
            if self.balances and not len(face):
                # Alone, a row balances with no multiplier at all; the offset takes it to 1.
                alpha = 0.0
                break
            move, fall, lift = face.entering(row, sign)
            curvature = inner(move, move)
            full = np.inf
            if not face.spans(row, move, fall):
                missing = 1.0 - inner(row, self.u) - sign * self.offset
                full = max(missing / curvature, 0.0)
            falls = np.flatnonzero(fall > 0.0)
            ratios = face.alpha[falls] / fall[falls]
            step = min(full, ratios.min(initial=np.inf))
            if step == np.inf:
                self.ray = np.zeros(len(self))
                self.ray[face.members] = np.maximum(-fall, 0.0)
                self.ray[p] = 1.0
                return
            alpha += step
            face.alpha = np.maximum(face.alpha - step * fall, 0.0)
            if full < np.inf:
                self.u = self.u + step * move
                self.offset += step * lift
            if step == full:
                break
            face.drop(int(falls[ratios.argmin()]))
        face.add(p, row, alpha)
        self._settle()

    def _settle(self) -> None:
        """Compute the point afresh from the face, since sums of steps would drift.

        It is corrected by the residuals of the face's margins (Wilkinson, 1963): the factorisation
        is blurred by the longest columns, the margins are not.
        """
        face = self.face
        c, u, offset = np.zeros(len(face)), np.zeros_like(self.u), 0.0
        missing, error = np.ones(len(face)), np.inf
        for _ in range(10):
            change, lift = face.shortest(missing)
            c = c + change
            u = u + change @ face.basis
            offset += lift
            if self.balances:
                u[-1] = 0.0
                missing = 1.0 - face.rows @ u - face.signs * offset
            else:
                missing = 1.0 - face.rows @ u
            last, error = error, float(np.abs(missing).max())
            if not 4.0 * EPS < error < 0.25 * last:
                break
        self.u, self.offset, self._coordinates = u, offset, c
        face.alpha = np.maximum(face.multipliers(c), 0.0)
