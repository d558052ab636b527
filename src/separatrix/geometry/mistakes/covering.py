"""The fewest rows whose removal leaves the rest separable, in any dimension.

Of a set of rows that no hyperplane has all on their sides, one at least is a mistake of any
hyperplane: a mistake has to be made in every such set, and the least cost of *covering* a
collection of them is a lower bound for the mistakes of all hyperplanes.  Every set is proved by
multipliers in exact arithmetic (Gordan, 1873) and has as few rows as possible, at most one more
than there are dimensions; the sets are found as vertices of the polyhedron of multipliers (Gleeson
and Ryan, 1990).  The least cover is found by integer programming over zeros and ones.  When the
rows that it leaves are separable, it is the answer; when they are not, they contain a new set
(Parker and Ryan, 1996; Codato and Fischetti, 2006).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import scipy
import scipy.sparse as sp

from separatrix.data.design import dense
from separatrix.geometry.exact.active_set import Unbounded, exact_minimum
from separatrix.geometry.exact.deadline import NO_DEADLINE, Deadline
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.mistakes.descent import descend
from separatrix.geometry.points import Cloud
from separatrix.geometry.separation.linear_programs import WorkingSet, suggest_strict
from separatrix.geometry.separation.witness import exact_multipliers

# Numbers of this many entries are worth a dense copy for the linear programs.
_DENSE = 20_000_000
# HiGHS, whose tolerances are near 1e-6, distinguishes the costs of covers up to this.
_COSTS = 100_000
# A bound on a whole number may be rounded up, from somewhat below it.
_SLACK = 0.25


@dataclass(frozen=True)
class Plane:
    """A hyperplane, in floats or in rationals with denominators that are powers of two."""

    w: np.ndarray | tuple[Fraction, ...]
    b: float | Fraction


@dataclass
class Covering:
    """The search, whose bounds hold whenever it is stopped.

    Attributes
    ----------
    cloud : Cloud
        Different points, each with one sign.
    costs : list of int
        The cost of a mistake on each point; positive.
    lower, upper : int
        Bounds on the least cost of the mistakes of any hyperplane.
    plane : Plane
        A hyperplane whose mistakes cost ``upper``.
    sets : list of dict of int to Fraction
        Sets of rows of which at least one is a mistake, with the multipliers that prove it.
    deadline : Deadline
    """

    cloud: Cloud
    costs: list[int]
    deadline: Deadline = NO_DEADLINE
    lower: int = 0
    upper: int = field(init=False)
    plane: Plane = field(init=False)
    sets: list[dict[int, Fraction]] = field(default_factory=list)

    def __post_init__(self) -> None:
        n, d = self.cloud.n, self.cloud.design.n_features
        self._rng = np.random.default_rng(0)
        self._floats = np.array([float(c) for c in self.costs])
        self._floats /= self._floats.max()
        self._known: set[frozenset[int]] = set()
        self._occurrences = np.zeros(n)
        self._working = WorkingSet(self.cloud)
        self._matrix = self._rows_in_floats() if n * self.cloud.dimension <= _DENSE else None
        # The plane far away that has all points on the side of the costlier class.
        positive = self.cloud.y > 0
        lead = sum(c if p else -c for c, p in zip(self.costs, positive.tolist(), strict=True))
        self.upper, self.plane = sum(self.costs), Plane(np.zeros(d), 0.0)
        if self.cloud.lifted:
            self._offer(Plane(np.zeros(d), 1.0 if lead > 0 else -1.0))

    def run(self) -> None:
        """Search until the bounds meet; sooner only at the deadline."""
        self._pack()
        self._relax()
        patience = 2.0
        while self.lower < self.upper:
            start = time.perf_counter()
            cover, finished = self._cheapest_cover(patience)
            spent = time.perf_counter() - start
            if self.lower >= self.upper:
                return
            fresh = self._violated_sets(cover)
            if not fresh and finished:
                # The cheapest cover leaves separable rows; what is still between the bounds is
                # the rounding of costs.
                return
            # Sets are cheap beside covers: as much time for the one as for the other.
            while fresh and time.perf_counter() - start < 2.0 * spent:
                fresh = self._violated_sets(cover)
            if not finished:
                patience *= 2.0

    def _limit(self) -> dict[str, float]:
        """The time limit of a linear or integer program in floats, as an option of HiGHS."""
        left = self.deadline.left
        return {} if left is None else {"time_limit": left}

    # --- hyperplanes ------------------------------------------------------------------------

    def _offer(self, plane: Plane) -> bool:
        """Keep a hyperplane if its mistakes, counted exactly, cost less than the best."""
        if isinstance(plane.w, np.ndarray) and not np.all(np.isfinite([*plane.w, plane.b])):
            return False
        signs, _ = product_signs(self.cloud.design, self.cloud.y, plane.w, plane.b)
        cost = sum(self.costs[i] for i in np.flatnonzero(signs <= 0))
        if cost >= self.upper:
            return False
        self.upper, self.plane = cost, plane
        return True

    def _rows_in_floats(self) -> np.ndarray:
        """The signed points in coordinates that floats handle well."""
        rest = np.setdiff1d(np.arange(self.cloud.n), self._working.rows)
        if len(rest):
            self._working.add(rest)
        return dense(self._working.matrix[np.argsort(self._working.rows)])

    def guess(self) -> None:
        """Upper bounds, from other losses and from line searches."""
        z = self._matrix
        if z is None:
            return
        starts = [
            np.linalg.lstsq(z * r[:, None], r, rcond=None)[0] for r in [np.sqrt(self._floats)]
        ]
        starts += [(z * self._floats[:, None]).sum(axis=0), self._hinge()]
        for u in starts:
            u, _ = descend(
                lambda v: z @ v,
                lambda i: z[i],
                self._floats,
                u,
                self._rng,
                patience=40 * z.shape[1],
                deadline=self.deadline,
            )
            self._offer(Plane(*self._working.hyperplane(u)))

    def _hinge(self) -> np.ndarray:
        """Least sum of hinge losses, a linear program: it errs little where few rows err."""
        z = self._matrix
        assert z is not None
        n, p = z.shape
        # Its dual has as few rows as the points have coordinates.
        result = scipy.optimize.linprog(
            -np.ones(n),
            A_eq=z.T,
            b_eq=np.zeros(p),
            bounds=np.column_stack([np.zeros(n), self._floats]),
            options=self._limit(),
        )
        return np.zeros(p) if result.x is None else -result.eqlin.marginals

    # --- sets with a mistake in them --------------------------------------------------------

    def _find(self, rows: np.ndarray, prices: np.ndarray) -> dict[int, Fraction] | Plane:
        """A set within ``rows`` of low price, with its proof; or a plane that separates them.

        ``prices`` are by row of the cloud.
        """
        self.deadline()
        y = self.cloud.y[rows]
        if not len(rows) or (self.cloud.lifted and abs(int(y.sum())) == len(y)):
            sign = float(y[0]) if len(rows) and self.cloud.lifted else 0.0
            return Plane(np.zeros(self.cloud.design.n_features), sign)
        if self._matrix is not None:
            z = self._matrix[rows]
            n, p = z.shape
            result = scipy.optimize.linprog(
                prices[rows],
                A_eq=np.vstack([z.T, np.ones(n)]),
                b_eq=np.append(np.zeros(p), 1.0),
                method="highs-ds",
                options=self._limit(),
            )
            if result.x is not None:
                held = np.flatnonzero(result.x > 1e-11)
                order = np.argsort(-result.x[held], kind="stable")
                found = exact_multipliers(self.cloud, rows[held[order]])
                if found is not None:
                    return found
        part = self.cloud.take(rows)
        suggestion = suggest_strict(WorkingSet(part), self.deadline)
        if np.all(np.isfinite(suggestion.w)) and np.isfinite(suggestion.b):
            signs, _ = product_signs(part.design, part.y, suggestion.w, suggestion.b)
            if np.all(signs > 0):
                return Plane(suggestion.w, suggestion.b)
        order = np.argsort(-suggestion.multipliers)
        found = exact_multipliers(self.cloud, rows[suggestion.rows[order]])
        if found is not None:
            return found
        # Floating point has no answer.
        exact = exact_minimum(part, balanced=part.lifted, deadline=self.deadline)
        if isinstance(exact, Unbounded):
            return {int(rows[i]): v for i, v in exact.multipliers.items()}
        shared = math.lcm(exact.b.denominator, *(v.denominator for v in exact.w))
        return Plane(tuple(v * shared for v in exact.w), exact.b * shared)

    def _add(self, found: dict[int, Fraction]) -> bool:
        key = frozenset(found)
        if key in self._known:
            return False
        self._known.add(key)
        self.sets.append(found)
        self._occurrences[list(found)] += 1.0
        return True

    def _noise(self) -> np.ndarray:
        return 1e-3 * self._rng.random(self.cloud.n)

    def _pack(self) -> None:
        """Sets that share no row: each costs its cheapest row, whatever the hyperplane.

        A row that costs more than its set has taken can be shared for the rest.  First among a
        few rows at a time, where a set is found quickly, then among ever more.
        """
        rest = list(self.costs)
        total, size = 0, 8 * self.cloud.dimension
        rows = self._rng.permutation(self.cloud.n)
        while len(rows):
            kept = []
            for start in range(0, len(rows), size):
                block = rows[start : start + size]
                found = self._find(block, self._noise())
                while not isinstance(found, Plane):
                    self._add(found)
                    least = min(rest[i] for i in found)
                    for i in found:
                        rest[i] -= least
                    total += least
                    self.lower = max(self.lower, total)
                    block = block[[rest[i] > 0 for i in block]]
                    found = self._find(block, self._noise())
                kept.append(block)
                if size >= len(rows):
                    self._offer(found)
                    return
            rows, size = self._rng.permutation(np.concatenate(kept)), 4 * size

    def _relax(self, rounds: int = 200, batch: int = 20) -> None:
        """Sets that the least fractional cover leaves uncovered, until none is found."""
        if not self.sets:
            return
        stalled, best = 0, -math.inf
        for _ in range(rounds):
            share, value = self._fractional_cover()
            self._raise(value)
            if self.lower >= self.upper:
                return
            stalled = stalled + 1 if value < best + 1e-3 else 0
            best = max(best, value)
            if stalled > 5:
                return
            prices = share + self._noise()
            fresh = 0
            for _ in range(batch):
                found = self._find(np.arange(self.cloud.n), prices)
                if isinstance(found, Plane) or share[list(found)].sum() > 1.0 - 1e-3:
                    break
                fresh += self._add(found)
                prices[list(found)] += 0.5
            if not fresh:
                return

    def _violated_sets(self, cover: np.ndarray) -> bool:
        """Look for sets that a cover misses, and for the hyperplane of the rows it leaves."""
        left = np.ones(self.cloud.n, dtype=bool)
        left[cover] = False
        fresh = False
        while True:
            found = self._find(np.flatnonzero(left), self._noise())
            if isinstance(found, Plane):
                self._offer(found)
                return fresh
            fresh = self._add(found) or fresh
            rows = np.array(list(found))
            left[rows[np.argmax(self._occurrences[rows] / self._floats[rows])]] = False

    # --- covers -----------------------------------------------------------------------------

    def _program(self) -> tuple[np.ndarray, np.ndarray, sp.csr_array, float]:
        """Rows that occur in sets, their costs for the program, the sets, and the unit."""
        used = np.unique(np.concatenate([list(s) for s in self.sets]))
        place = np.zeros(self.cloud.n, dtype=np.int64)
        place[used] = np.arange(len(used))
        columns = np.concatenate([place[list(s)] for s in self.sets])
        starts = np.cumsum([0, *(len(s) for s in self.sets)])
        matrix = sp.csr_array((np.ones(len(columns)), columns, starts), (len(self.sets), len(used)))
        # Rounding the costs down keeps every bound a bound.
        unit = Fraction(1) if self.upper <= _COSTS else Fraction(self.upper, _COSTS)
        costs = np.array([float(self.costs[i] // unit) for i in used])
        return used, costs, matrix, float(unit)

    def _raise(self, value: float) -> None:
        """Take a bound from HiGHS, in units of the program, for the whole number above it."""
        _, _, _, unit = self._program()
        self.lower = max(self.lower, min(math.ceil((value - _SLACK) * unit), self.upper))

    def _fractional_cover(self) -> tuple[np.ndarray, float]:
        used, costs, matrix, _ = self._program()
        result = scipy.optimize.linprog(
            costs,
            A_ub=-matrix,
            b_ub=-np.ones(matrix.shape[0]),
            bounds=(0.0, 1.0),
            options=self._limit(),
        )
        share = np.zeros(self.cloud.n)
        if result.x is None:
            return share, 0.0
        share[used] = result.x
        return share, float(result.fun)

    def _cheapest_cover(self, patience: float) -> tuple[np.ndarray, bool]:
        """A cover of all sets, and whether it is proved to be the cheapest."""
        used, costs, matrix, _ = self._program()
        self.deadline()
        limit = min(patience, self.deadline.left or math.inf)
        result = scipy.optimize.milp(
            costs,
            constraints=scipy.optimize.LinearConstraint(matrix, 1.0, np.inf),
            bounds=scipy.optimize.Bounds(0.0, 1.0),
            integrality=np.ones(len(used)),
            options={"time_limit": limit, "mip_rel_gap": 0.0},
        )
        bound = getattr(result, "mip_dual_bound", None)
        if bound is not None and np.isfinite(bound):
            self._raise(float(bound))
        if result.x is None:
            return used, False
        return used[result.x > 0.5], bool(result.status == 0)
