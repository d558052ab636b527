"""Several soft margins on one matrix: products and certificates of all of them at once.

The machines of all pairs of classes are small problems of one kind.  Here their vectors lie one
after another, and what :meth:`KernelObjective.charged` does for one is done for all of them in a
few operations on whole vectors.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix._compiled.compilation import specialise
from separatrix._compiled.rounding import TINY, UNIT
from separatrix.kernels.functions import LinearKernel
from separatrix.kernels.gram import runs_of
from separatrix.kernels.matrix_rows import add_parts, charges
from separatrix.kernels.nu import MEETING, KernelNuObjective
from separatrix.kernels.objective import KernelObjective, box_of, dual_slope_of
from separatrix.objectives.base import Bound, charged_bound
from separatrix.objectives.enclosure import gamma

# Rows of a part up to which the whole of its matrix is looked at again and again.
_LARGEST = 2048
# Bytes of exact rows that are at hand at a time.
_HELD = 16 << 20


class BatchedObjective:
    """The objectives of machines on parts of one matrix, with vectors one after another.

    Parameters
    ----------
    problems : sequence of KernelObjective
        The objectives, on parts of one matrix and with one loss.

    Attributes
    ----------
    starts : ndarray of shape (n_parts + 1,)
        The start of the vectors of each part, and the end of the last.
    columns : ndarray
        The positions in the matrix.
    runs, run_starts : ndarray
        The pieces of neighbouring columns; see :func:`separatrix.kernels.gram.runs_of`.
    y, upper : ndarray
    splits : ndarray of shape (n_parts,)
        The start of the rows of each part whose coefficients have a sum of their own; the end of
        the part where there are none.
    low, high, linear : ndarray
        The duals; see :class:`separatrix.kernels.objective.QuadraticDual`.
    met : float
        The square of weights that are taken for none, relative to the sum of the multipliers'.
    """

    # The type of the problems.
    kind: Any = KernelObjective

    def __init__(self, problems: Sequence[Any]) -> None:
        self.problems = problems
        self.gram = problems[0].matrix.whole
        self.loss = problems[0].loss
        sizes = [len(p.y) for p in problems]
        self.starts = np.array([0, *itertools.accumulate(sizes)], dtype=np.intp)
        self.columns = _joined([p.matrix.columns for p in problems])
        if len(problems) == 1:
            self.runs = problems[0].matrix.runs
            self.run_starts = np.array([0, len(self.runs)])
        else:
            self.runs, self.run_starts = runs_of(self.columns, self.starts)
        self.y = _joined([p.y for p in problems])
        self.upper = _joined([p.upper for p in problems])
        self.splits, self.met = self.starts[1:], 0.0
        if self.loss is not None:
            self._set_dual(self.loss.dual_upper, dual_slope_of(self.loss))

    def _set_dual(self, most: float, slope: float) -> None:
        """Set the box of the multipliers, up to ``most`` times the weights, and the linear term."""
        self.low, self.high = box_of(self.y, most * self.upper)
        self.linear = slope * self.y

    @classmethod
    def of(cls, problems: Sequence[object]) -> BatchedObjective | None:
        """Such machines together, if they are small and the rows of their matrix all in memory."""
        machines: list[Any] = [p for p in problems if isinstance(p, cls.kind)]
        if len(machines) < len(problems):
            return None
        gram = machines[0].matrix.whole
        if not (gram.bounded and machines[0].balances):
            return None
        if any(p.matrix.whole is not gram or len(p.y) > _LARGEST for p in machines):
            return None
        if not (gram.full or (gram.n_samples <= _LARGEST and gram.fill())):
            return None
        return cls(machines)

    def theta(
        self, part: int, c: np.ndarray, b: np.ndarray, product: np.ndarray | None = None
    ) -> np.ndarray:
        """The point of one part, which remembers its product with the matrix."""
        problem, own = self.problems[part], self.own(part, c)
        if product is not None:
            problem.matrix.remember(own, self.own(part, product))
        theta: np.ndarray = problem.join(own, b[part])
        return theta

    def begun(self) -> np.ndarray:
        """Coefficients that are feasible."""
        return np.zeros(len(self.y))

    def balance(self, c: np.ndarray, parts: np.ndarray) -> None:
        """Take out of the sums of some parts what rounding has left in them, if that counts."""

    def set_levels(self, level: np.ndarray, product: np.ndarray, parts: np.ndarray) -> None:
        """Set the intercepts of some parts, where there are better ones than the solver's."""

    def own(self, part: int, vector: np.ndarray) -> np.ndarray:
        """The entries of one part, in the order of its rows."""
        return vector[self.starts[part] : self.starts[part + 1]]

    def product(self, c: np.ndarray) -> np.ndarray:
        """``K c`` of every part in float64."""
        gram, out = self.gram, np.zeros(len(c))
        if gram.exact:
            self._add(gram.cache, gram.places, c, out)
            return out
        used = np.zeros(gram.n_samples, dtype=bool)
        used[self.columns[c != 0.0]] = True
        index = np.flatnonzero(used)
        step = max(1, _HELD // (8 * gram.n_samples))
        for start in range(0, len(index), step):
            part = index[start : start + step]
            places = np.full(gram.n_samples, -1, dtype=np.intp)
            places[part] = np.arange(len(part))
            self._add(gram.exact_rows(part), places, c, out)
        return out

    def _add(self, rows: np.ndarray, places: np.ndarray, c: np.ndarray, out: np.ndarray) -> None:
        n = len(self.problems)
        args = (rows, places, self.columns, self.starts, self.runs, self.run_starts, c, out)
        work = float(np.count_nonzero(c)) * len(c) / n
        pool.run([partial(add_parts, *args, a, b) for a, b in pool.ranges(n, work)])

    def certify(
        self, c: np.ndarray, b: np.ndarray, product: np.ndarray, tol: float, parts: np.ndarray
    ) -> list[Bound]:
        """The bounds of :meth:`KernelObjective.certify` for some of the parts.

        Parameters
        ----------
        c : ndarray
            The coefficients of all parts, which are their own dual points.
        b : ndarray of shape (n_parts,)
            The intercepts.
        product : ndarray
            ``product(c)``.
        tol : float
        parts : ndarray
            The parts to certify.
        """
        found: list[Bound | None] = [None] * len(parts)
        if not isinstance(self.gram.kernel, LinearKernel):
            with np.errstate(all="ignore"):
                sides = self._sides(c, b, product)
            for k, part in enumerate(parts.tolist()):
                near, middle, primal, dual = sides[:, part].tolist()
                residual = -c[self.starts[part] : self.starts[part + 1]]
                found[k] = charged_bound((near, middle), primal, dual, residual)
        return [
            self.certify_part(part, c, b, tol) if bound is None or _unsharp(bound, tol) else bound
            for part, bound in zip(parts.tolist(), found, strict=True)
        ]

    def certify_part(self, part: int, c: np.ndarray, b: np.ndarray, tol: float) -> Bound:
        """The certificate of one part, as closely as it takes."""
        problem, own = self.problems[part], self.own(part, c)
        theta = problem.join(own, b[part])
        found: Bound = problem.certify(theta, Bound(np.inf, 0.0, np.inf, -own), tol)
        return found

    def _sides(self, c: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
        """Both objectives of every part as they are computed, and bounds of them.

        The steps are those of :meth:`KernelObjective.charged`, with sums whose rounding is bounded
        as that of any order of their terms.
        """
        gram, loss, n = self.gram, self.loss, len(self.problems)
        sizes = np.diff(self.starts)
        most = gamma(float(sizes.max()) + 4.0)
        tiny = (sizes + 4.0) * 4.0 * TINY
        # The error of an entry of a product, for multipliers that add up to one.
        entry, by_square, squares = gram.entry_errors()
        entry, unit = entry * (1.0 + 2.0 * most), UNIT * (1.0 + 1e-6)
        unit *= gram.largest + gram.entry_error
        kernel = specialise(charges, value_at=loss.value_at, conjugate_at=loss.conjugate_at)
        sums = np.empty((12, n))
        before = (self.starts, self.columns, self.y, self.upper, gram.diagonal, squares, c, product)
        off_by = entry, by_square, unit, gram.entry_error
        kernel(*before, b, *off_by, float(loss.dual_upper), sums)
        size, errors, square, terms, losses, near, conjugate, spans, lengths, up, down, out = sums
        size = size * (1.0 + most)
        off = (most * terms + errors) * (1.0 + 2.0 * most) + tiny
        above = np.maximum(square + off, 0.0)
        losses = losses * (1.0 + most) * (1.0 + (loss.units + 4.0) * UNIT) + tiny
        primal = 0.5 * above * (1.0 + 8.0 * UNIT) + losses
        # The heavier class gives way, by a share.
        slope, least = np.abs(up - down) + most * size, np.minimum(up, down) - most * size
        share = np.where(size > 0.0, np.where(least > 0.0, slope / least * (1.0 + most), np.inf), 0)
        length = np.sqrt(above) * (1.0 + 8.0 * UNIT) + share * lengths * (1.0 + 1e-9)
        charge = (most + (loss.units + 4.0) * UNIT + share) * spans * (1.0 + most) + tiny
        dual = -(0.5 * length * length * (1.0 + 8.0 * UNIT) + conjugate + charge * (1.0 + 1e-9))
        dual = np.where(out > 0.0, -np.inf, dual)
        near = near + 0.5 * square
        return np.array([near, -0.5 * square - conjugate, primal, dual])


class BatchedNuObjective(BatchedObjective):
    """Machines whose multipliers have fixed sums in both classes.

    Their vectors have the positive rows of each part before its negative ones.

    Parameters
    ----------
    problems : sequence of KernelNuObjective
        The objectives, on parts of one matrix and of two classes each.
    """

    kind = KernelNuObjective

    def __init__(self, problems: Sequence[KernelNuObjective]) -> None:
        super().__init__(problems)
        self._orders = [np.argsort(-p.y, kind="stable") for p in problems]
        order = _joined([a + o for a, o in zip(self.starts[:-1], self._orders, strict=True)])
        self.columns, self.y, self.upper = self.columns[order], self.y[order], self.upper[order]
        self.runs, self.run_starts = runs_of(self.columns, self.starts)
        positive = [int(np.count_nonzero(p.y > 0.0)) for p in problems]
        self.splits = self.starts[:-1] + np.array(positive, dtype=np.intp)
        self.met = MEETING * self.gram.largest
        self._set_dual(1.0, 0.0)
        self._duals = [p.quadratic() for p in problems]

    @classmethod
    def of(cls, problems: Sequence[object]) -> BatchedObjective | None:
        if any(getattr(p, "one_class", False) for p in problems):
            return None
        return super().of(problems)

    def own(self, part: int, vector: np.ndarray) -> np.ndarray:
        out = np.empty(len(self._orders[part]))
        out[self._orders[part]] = super().own(part, vector)
        return out

    def begun(self) -> np.ndarray:
        """Coefficients that have the sums."""
        starts = [d.begun(np.zeros(len(o))) for d, o in zip(self._duals, self._orders, strict=True)]
        return _joined([c[o] for c, o in zip(starts, self._orders, strict=True)])

    def balance(self, c: np.ndarray, parts: np.ndarray) -> None:
        for part in np.flatnonzero(parts).tolist():
            own = self.own(part, c)
            self._duals[part].balance(own)
            c[self.starts[part] : self.starts[part + 1]] = own[self._orders[part]]

    def set_levels(self, level: np.ndarray, product: np.ndarray, parts: np.ndarray) -> None:
        for part in np.flatnonzero(parts).tolist():
            level[part] = self.problems[part].level_and_width(self.own(part, product))[0]

    def certify(
        self, c: np.ndarray, b: np.ndarray, product: np.ndarray, tol: float, parts: np.ndarray
    ) -> list[Bound]:
        found = []
        for part in parts.tolist():
            # It is certified as it is returned, and need not be multiplied again.
            self.theta(part, c, b, product)
            found.append(self.certify_part(part, c, b, tol))
        return found


def _joined(vectors: list[np.ndarray]) -> np.ndarray:
    return vectors[0] if len(vectors) == 1 else np.concatenate(vectors)


def _unsharp(bound: Bound, tol: float) -> bool:
    """Whether rounding has more than a thousandth of ``tol``, and the rest of the gap no more."""
    goal = tol * abs(bound.primal)
    return bound.gap - bound.charge <= goal and not bound.charge <= 1e-3 * goal
