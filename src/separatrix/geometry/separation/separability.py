"""Whether a hyperplane separates labelled points, with a proof either way.

Floating point only suggests.  Every verdict rests on a witness that was checked in exact
arithmetic, and where no suggestion passes the check, an exact method decides
(:mod:`separatrix.geometry.exact.active_set`).
"""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from separatrix._compiled.tuning import Tuned
from separatrix.data.labels import plain_label
from separatrix.geometry.exact.active_set import Unbounded, exact_minimum
from separatrix.geometry.exact.deadline import Deadline, OutOfTime
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.exact.rational import (
    common_denominator,
    dependency,
    dot,
    independent,
    solve,
    whole_numbers,
)
from separatrix.geometry.hyperplane import Hyperplane
from separatrix.geometry.points import Cloud, LabelledPoints, class_ranges, labelled_points
from separatrix.geometry.separation.linear_programs import (
    Suggestion,
    WorkingSet,
    suggest_boundary,
    suggest_strict,
)
from separatrix.geometry.separation.margin import (
    MarginBounds,
    Suggested,
    feasible_multipliers,
    margin_bounds,
    suggest_margin,
)
from separatrix.geometry.separation.witness import (
    HyperplaneWitness,
    MultiplierWitness,
    Proof,
    Sides,
    exact_multipliers,
    multiplier_witness,
    plain_count,
    plain_flag,
    signed_sum,
    signed_total,
    witness_from_dict,
)
from separatrix.losses import PerceptronLoss
from separatrix.messages.markup import paragraphs_html, table_html
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import minimise
from separatrix.solvers.perceptron import MistakeDriven

STATUSES = ("separable", "quasi_separable", "not_separable", "undecided")


@dataclass(frozen=True)
class Tuning:
    """Numbers of columns that decide which suggestion comes first, and no verdict.

    Parameters
    ----------
    medium : int
        With more columns than this a linear program takes seconds, and cheaper guesses come first.
    largest_margin : int
        Up to this many columns the search for the largest margin is one of these guesses.
    wide : int
        With more columns than this no linear program is solved while there is a guess left.
    """

    medium: int = 60
    largest_margin: int = 200
    wide: int = 1000


tuned = Tuned(Tuning())

_PASSES = 200
_ITERATIONS = (250, 1000, 4000)
# The most points with both labels that are projected out exactly.
_HELD = 100


@dataclass(frozen=True)
class Separability:
    """The verdict on two classes of points, with its witness.

    True in a condition if and only if the classes are separable; ``status`` distinguishes the other
    cases, an undecided one among them.

    Attributes
    ----------
    status : {"separable", "quasi_separable", "not_separable", "undecided"}
        *Separable*: a hyperplane has every point strictly on its own side.
        *Quasi-separable*: none has, but one has no point on the wrong side, and not all on
        the plane; logistic regression has no finite estimate then.  *Not separable*: neither.
        *Undecided* only where a time limit was given and came first.
    sides : Sides
        The labels that the verdict is about.
    fit_intercept : bool
        Whether hyperplanes may have an offset, or go through the origin.
    n_samples, n_features : int
    witness : HyperplaneWitness or MultiplierWitness or None
        The proof: a hyperplane where separable or quasi-separable, else multipliers.
    common : MultiplierWitness or None
        Where quasi-separable: the proof that no hyperplane separates strictly.
    margin : MarginBounds or None
        The largest margin, where separable and requested.
    seconds : float
    feature_names : tuple of str or None
        The names of the columns, if they had any.
    """

    status: str
    sides: Sides
    fit_intercept: bool
    n_samples: int
    n_features: int
    witness: HyperplaneWitness | MultiplierWitness | None
    common: MultiplierWitness | None = None
    margin: MarginBounds | None = None
    seconds: float = 0.0
    feature_names: tuple[str, ...] | None = None

    @property
    def separable(self) -> bool:
        """Whether a hyperplane has every point strictly on its own side."""
        return self.status == "separable"

    def __bool__(self) -> bool:
        return self.separable

    @property
    def classes(self) -> tuple[Any, Any]:
        """The negative and the positive label; the negative one is None for "the rest"."""
        return self.sides.negative, self.sides.positive

    @property
    def hyperplane(self) -> Hyperplane | None:
        """The hyperplane of the largest margin that was found, else the witness, in floats."""
        if self.margin is not None:
            return self.margin.hyperplane
        return self.witness.hyperplane if isinstance(self.witness, HyperplaneWitness) else None

    def check(self, X: Any, y: Any) -> Proof:
        """Prove the verdict again, in integer arithmetic.

        Only the status is proved, and not the bounds on the margin.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        Proof
            True in a condition if and only if the witnesses hold and prove the status.
        """
        if self.witness is None:
            return Proof(False, "nothing was proved: the time limit came first")
        if not self._fits():
            return Proof(False, f"the witness does not belong to the status {self.status!r}")
        points = labelled_points(X, y)
        if points.design.n_features != self.n_features:
            return Proof(
                False,
                f"the verdict is about {self.n_features} columns, and the points have "
                f"{points.design.n_features}",
            )
        cloud, _ = self.sides.cloud(points, self.fit_intercept)
        if cloud.n != self.n_samples:
            return Proof(
                False, f"the verdict is about {self.n_samples:,} points, and there are {cloud.n:,}"
            )
        proof = self.witness.check(points)
        if not proof or self.common is None:
            return proof
        other = self.common.check(points)
        return Proof(bool(other), f"{proof.reason}; {other.reason}" if other else other.reason)

    def _fits(self) -> bool:
        """Whether the witnesses are about these points, and of the kind that proves the status."""
        for part in (self.witness, self.common):
            if part is not None and (part.sides, part.fit_intercept) != (
                self.sides,
                self.fit_intercept,
            ):
                return False
        quasi = self.status == "quasi_separable"
        if quasi != isinstance(self.common, MultiplierWitness):
            return False
        if isinstance(self.witness, MultiplierWitness):
            return self.status == "not_separable" and self.witness.overlap
        assert self.witness is not None
        return quasi if not self.witness.strict else self.status == "separable"

    def column(self, j: int) -> str:
        """The name of a column, or its number."""
        return f"column {j}" if self.feature_names is None else self.feature_names[j]

    def _repr_html_(self) -> str:
        return paragraphs_html([f"{self.sides}: {self}"])

    def __repr__(self) -> str:
        return f"<Separability of {self.sides}: {self.status}>"

    def __str__(self) -> str:
        offset = "" if self.fit_intercept else " through the origin"
        n = f"{self.n_samples:,}"
        if self.status == "separable":
            text = f"separable: a hyperplane{offset} has all {n} points strictly on their own side"
            if self.margin is not None:
                text += f"; the largest margin is {self.margin}"
            return text
        if self.status == "quasi_separable":
            assert isinstance(self.witness, HyperplaneWitness)
            by = ", ".join(self.column(j) for j in self.witness.columns[:5])
            more = len(self.witness.columns) - 5
            by += f" and {more} more" if more > 0 else ""
            return (
                f"quasi-separable: no hyperplane{offset} separates the points, but one has "
                f"{len(self.witness.separated):,} of {n} strictly on their own side and the others "
                f"on the plane (by {by or 'the offset alone'}); logistic regression without a "
                "penalty has no finite estimate"
            )
        if self.status == "undecided":
            return "undecided: the time limit came first; raise time_limit"
        assert isinstance(self.witness, MultiplierWitness)
        count = len(self.witness.rows)
        if self.fit_intercept:
            return (
                f"not separable: a weighted mean of some points of {self.sides.positive!r} is "
                f"exactly a weighted mean of points of the other class, {count} points in all"
            )
        if count == 1:
            return "not separable through the origin: one of the points is the origin"
        return (
            f"not separable through the origin: {count} points, each multiplied by its sign and a "
            "positive weight, add up to exactly zero"
        )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary; every number of a witness is exact."""
        return {
            "status": self.status,
            "negative": plain_label(self.sides.negative),
            "positive": plain_label(self.sides.positive),
            "against_rest": self.sides.against_rest,
            "fit_intercept": self.fit_intercept,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "common": None if self.common is None else self.common.to_dict(),
            "margin": None if self.margin is None else self.margin.to_dict(),
            "seconds": self.seconds,
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Separability:
        """The inverse of :meth:`to_dict`.

        Raises
        ------
        ValueError, KeyError, TypeError
            For anything that is not such a dictionary.
        """
        if record["status"] not in STATUSES:
            raise ValueError(f"there is no status {record['status']!r}")
        labels = record["negative"], record["positive"]
        if not all(isinstance(v, (str, int, float, bool, type(None))) for v in labels):
            raise TypeError("a label is a text, a number or a boolean")
        sides = Sides(*labels, plain_flag(record["against_rest"]))
        fit_intercept = plain_flag(record["fit_intercept"])

        def witness(part: dict[str, Any] | None) -> Any:
            return None if part is None else witness_from_dict(part, sides, fit_intercept)

        names = record["feature_names"]
        margin = record["margin"]
        try:
            return cls(
                status=record["status"],
                sides=sides,
                fit_intercept=fit_intercept,
                n_samples=plain_count(record["n_samples"]),
                n_features=plain_count(record["n_features"]),
                witness=witness(record["witness"]),
                common=witness(record["common"]),
                margin=None if margin is None else MarginBounds.from_dict(margin),
                seconds=float(record["seconds"]),
                feature_names=None if names is None else tuple(str(name) for name in names),
            )
        except OverflowError as error:
            raise ValueError(f"a number is beyond the range of floats: {error}") from error


@dataclass(frozen=True)
class SeparabilityTable:
    """The verdicts on more than two classes: by pairs, and each against the rest.

    True in a condition if and only if every two classes are separable from each other.

    Attributes
    ----------
    classes : tuple
    pairs : dict of (class, class) to Separability
    one_vs_rest : dict of class to Separability
    """

    classes: tuple[Any, ...]
    pairs: dict[tuple[Any, Any], Separability]
    one_vs_rest: dict[Any, Separability]

    @classmethod
    def of(
        cls, classes: Sequence[Any], verdict: Callable[[Sides], Separability]
    ) -> Separability | SeparabilityTable:
        """The verdicts on all pairs and each class against the rest; just one for two classes."""
        if len(classes) == 2:
            return verdict(Sides(*classes))
        pairs = itertools.combinations(classes, 2)
        return cls(
            tuple(classes),
            {(a, b): verdict(Sides(a, b)) for a, b in pairs},
            {c: verdict(Sides(None, c, against_rest=True)) for c in classes},
        )

    @property
    def separable(self) -> bool:
        """Whether every two classes are separable from each other."""
        return all(v.separable for v in self.pairs.values())

    def __bool__(self) -> bool:
        return self.separable

    def __getitem__(self, classes: tuple[Any, Any]) -> Separability:
        """The verdict on two classes, in either order."""
        for pair, verdict in self.pairs.items():
            if set(pair) == set(classes):
                return verdict
        raise KeyError(f"{classes!r} is not a pair of {', '.join(repr(c) for c in self.classes)}")

    def __iter__(self) -> Iterator[Separability]:
        yield from self.pairs.values()
        yield from self.one_vs_rest.values()

    def check(self, X: Any, y: Any) -> Proof:
        """Prove every verdict again; see :meth:`Separability.check`."""
        for verdict in self:
            proof = verdict.check(X, y)
            if not proof:
                return Proof(False, f"{verdict.sides}: {proof.reason}")
        count = len(self.pairs) + len(self.one_vs_rest)
        return Proof(True, f"all {count} verdicts hold")

    def __str__(self) -> str:
        return "\n".join(f"{verdict.sides}: {verdict}" for verdict in self)

    def _repr_html_(self) -> str:
        rows = [[str(verdict.sides), verdict.status, str(verdict)] for verdict in self]
        return table_html([["classes", "verdict", "proof"], *rows], left=3)

    def __repr__(self) -> str:
        count = len(self.pairs) + len(self.one_vs_rest)
        return f"<SeparabilityTable of {count} verdicts>"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "classes": [plain_label(c) for c in self.classes],
            "pairs": [v.to_dict() for v in self.pairs.values()],
            "one_vs_rest": [v.to_dict() for v in self.one_vs_rest.values()],
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> SeparabilityTable:
        """The inverse of :meth:`to_dict`."""
        pairs = [Separability.from_dict(part) for part in record["pairs"]]
        rest = [Separability.from_dict(part) for part in record["one_vs_rest"]]
        return cls(
            tuple(record["classes"]),
            {(v.sides.negative, v.sides.positive): v for v in pairs},
            {v.sides.positive: v for v in rest},
        )


def decide(
    points: LabelledPoints,
    sides: Sides,
    *,
    fit_intercept: bool = True,
    margin: bool = True,
    deadline: float = np.inf,
) -> Separability:
    """The verdict on two sides of labelled points; see :func:`separability`."""
    start = time.perf_counter()
    cloud, rows = sides.cloud(points, lifted=fit_intercept)
    bounds: MarginBounds | None = None

    try:
        # Floats that overflow only make for a worse suggestion.
        with np.errstate(all="ignore"):
            decision = _Decision(cloud, rows, sides, Deadline(deadline))
            status, witness, common = decision.run()
            if status == "separable" and margin:
                assert isinstance(witness, HyperplaneWitness)
                bounds = _margin(decision, witness)
    except OutOfTime:
        status, witness, common = "undecided", None, None
    return Separability(
        status=status,
        sides=sides,
        fit_intercept=fit_intercept,
        n_samples=cloud.n,
        n_features=cloud.design.n_features,
        witness=witness,
        common=common,
        margin=bounds,
        seconds=time.perf_counter() - start,
        feature_names=points.names,
    )


def _margin(decision: _Decision, witness: HyperplaneWitness) -> MarginBounds | None:
    """The bounds on the margin; None where the time does not suffice for them."""
    plane, rows = witness.hyperplane, decision.rows
    try:
        found = margin_bounds(
            decision.cloud,
            (plane.w, plane.b),
            suggested=decision.largest_margin,
            deadline=decision.deadline,
        )
    except OutOfTime:
        return None
    if found is None or rows is None:
        return found
    return replace(found, support=tuple(int(rows[i]) for i in found.support))


_Verdict = tuple[str, HyperplaneWitness | MultiplierWitness, MultiplierWitness | None]


class _Decision:
    """One run: suggestions from floating point, judged and where needed replaced exactly."""

    def __init__(
        self, cloud: Cloud, rows: np.ndarray | None, sides: Sides, deadline: Deadline
    ) -> None:
        self.cloud = cloud
        self.rows = rows
        self.sides = sides
        self.deadline = deadline

    def run(self) -> _Verdict:
        found = self._strict()
        if isinstance(found, HyperplaneWitness):
            return "separable", found, None
        return self._quasi_or_not(found)

    @functools.cached_property
    def working(self) -> WorkingSet:
        return WorkingSet(self.cloud)

    # --- strictly separable, or not ---------------------------------------------------------

    def _strict(self) -> HyperplaneWitness | dict[int, Fraction]:
        """A strict witness, or exact multipliers by row of the cloud."""
        start = None
        for suggestion in self._suggestions():
            witness = self._as_witness(suggestion.w, suggestion.b)
            if witness is not None:
                return witness
            order = np.argsort(-suggestion.multipliers, kind="stable")
            exact = exact_multipliers(self.cloud, suggestion.rows[order], self.deadline)
            if exact is not None:
                return exact
            start = feasible_multipliers(
                self.cloud, suggestion.rows, suggestion.multipliers, self.cloud.lifted
            )
        found = exact_minimum(
            self.cloud, balanced=self.cloud.lifted, start=start, deadline=self.deadline
        )
        if isinstance(found, Unbounded):
            return found.multipliers
        # Floats on a sensible scale are easier to read; exact numbers are there where they fail.
        return self._rounded(found.w, found.b) or self._exact_witness(found.w, found.b)

    def _suggestions(self) -> Iterator[Suggestion]:
        """Cheap guesses first where a linear program would be slow."""
        cloud, d = self.cloud, self.cloud.design.n_features
        wide = cloud.dimension > tuned.now.wide
        if wide and self._coincident_pairs:
            yield Suggestion(np.zeros(d), 0.0, np.array(self._coincident_pairs[0]), np.ones(2), 0.0)
        if cloud.dimension > tuned.now.medium:
            yield self._point(self._perceptron())
        if wide:
            yield self._point(self._least_squares(cloud.y))
        elif cloud.dimension > tuned.now.largest_margin:
            # A sample of the rows is often enough to show that there is no hyperplane.
            yield suggest_strict(self.working, self.deadline, rounds=1)
        if cloud.dimension <= tuned.now.medium:
            yield suggest_strict(self.working, self.deadline)
        if cloud.dimension <= tuned.now.largest_margin:
            # Also where margins are too small for the tolerances of a linear program.
            theta, alpha = self.largest_margin
            self.deadline()
            yield self._point(theta)
            rows = np.flatnonzero(alpha)
            yield Suggestion(np.zeros(d), 0.0, rows, alpha[rows], 0.0)
        if cloud.dimension > tuned.now.medium:
            yield suggest_strict(self.working, self.deadline)

    @functools.cached_property
    def largest_margin(self) -> Suggested:
        return suggest_margin(self.cloud, deadline=self.deadline)

    def _point(self, u: np.ndarray | None) -> Suggestion:
        """A point of homogeneous coordinates as a suggestion; none where it is None."""
        d = self.cloud.design.n_features
        u = np.zeros(self.cloud.dimension) if u is None else u
        b = float(u[d]) if self.cloud.lifted else 0.0
        return Suggestion(u[:d], b, np.empty(0, dtype=np.int64), np.empty(0), 0.0)

    def _perceptron(self) -> np.ndarray:
        """The weights of the perceptron after a number of passes."""
        problem = MistakeObjective(
            self.cloud.design, self.cloud.y, PerceptronLoss(), fit_intercept=self.cloud.lifted
        )
        solution = minimise(
            problem,
            MistakeDriven(keep="last"),
            max_iter=_PASSES,
            time_limit=self.deadline.left,
            exhausted="not_separated",
        )
        if solution.interrupted:
            raise KeyboardInterrupt
        self.deadline()
        return solution.theta

    def _least_squares(self, target: np.ndarray) -> np.ndarray | None:
        """A fit of ``w.x + b = target`` that has the right signs.

        With more columns than rows the fit comes as close as one likes.
        """
        cloud, d = self.cloud, self.cloud.design.n_features

        def forward(u: np.ndarray) -> np.ndarray:
            self.deadline()
            return cloud.design.dot(u[:d]) + (u[d] if cloud.lifted else 0.0)

        def backward(r: np.ndarray) -> np.ndarray:
            return np.append(cloud.design.t_dot(r), [r.sum()] if cloud.lifted else [])

        shape = (cloud.n, cloud.dimension)
        operator = LinearOperator(shape, matvec=forward, rmatvec=backward, dtype=np.float64)
        for iterations in _ITERATIONS:
            # Each time from the start: what the method knows of the matrix is lost on the way out.
            u: np.ndarray = lsqr(operator, target, iter_lim=iterations, atol=0, btol=0)[0]
            # Half way is near enough: the rest is left to the exact projection.
            wrong = int(np.sum(np.abs(forward(u) - target) >= 1.0))
            if wrong == 0:
                return u
            if wrong > cloud.n // 20:
                break
        return None

    @functools.cached_property
    def _coincident_pairs(self) -> list[tuple[int, int]]:
        """Rows that are one and the same point with both labels, in pairs."""
        weights = np.random.default_rng(0).standard_normal(self.cloud.design.n_features)
        score = self.cloud.design.dot(weights)
        order = np.lexsort((self.cloud.y, score))
        s, y = score[order], self.cloud.y[order]
        found = []
        for k in np.flatnonzero((s[1:] == s[:-1]) & (y[1:] != y[:-1])):
            pair = order[k : k + 2]
            if not np.any(self.cloud.signed(pair).sum(axis=0)):
                found.append((int(pair[0]), int(pair[1])))
        return found

    def _as_witness(self, w: np.ndarray, b: float) -> HyperplaneWitness | None:
        if not (np.all(np.isfinite(w)) and np.isfinite(b)):
            return None
        signs, _ = product_signs(self.cloud.design, self.cloud.y, w, float(b), filtered=True)
        if not np.all(signs > 0):
            return None
        return self._exact_witness(tuple(Fraction(v) for v in w.tolist()), Fraction(b))

    def _exact_witness(self, w: tuple[Fraction, ...], b: Fraction) -> HyperplaneWitness:
        return HyperplaneWitness(w, b, self.sides, self.cloud.lifted, strict=True)

    def _rounded(self, w: tuple[Fraction, ...], b: Fraction) -> HyperplaneWitness | None:
        plane = self._exact_witness(w, b).hyperplane
        return self._as_witness(plane.w, plane.b)

    # --- quasi-separable, or not ------------------------------------------------------------

    def _quasi_or_not(self, multipliers: dict[int, Fraction]) -> _Verdict:
        block, _ = whole_numbers(self.cloud.signed(np.array(list(multipliers), dtype=np.int64)))
        if len(independent(block)[0]) == self.cloud.dimension:
            # A hyperplane with none of these on the wrong side has them all on it: it is zero.
            return "not_separable", self._multiplier_witness(multipliers, overlap=True), None
        if self.cloud.dimension > tuned.now.wide:
            around = self._around(list(multipliers))
            if around is not None:
                return "quasi_separable", around, self._multiplier_witness(multipliers)
        # Add up hyperplanes until no other row can be moved off the plane; first those of one
        # column, which are at hand.
        u = self._thresholds()
        left = np.flatnonzero(self._signs(u) == 0) if any(u) else np.arange(self.cloud.n)
        extra: dict[int, Fraction] = {}
        while len(left):
            total = signed_total(self.cloud.take(left) if len(left) < self.cloud.n else self.cloud)
            found = self._beyond(total)
            if isinstance(found, dict):
                extra = found
                break
            step, signs = found
            scale = max(abs(v) for v in step)
            u = [a + v / scale for a, v in zip(u, step, strict=True)]
            left = left[signs[left] == 0]
        if not any(u):
            witness = self._multiplier_witness(multipliers, overlap=True, extra=extra)
            return "not_separable", witness, None
        # The shortest proof that no hyperplane does better is one point with both labels.
        if self._coincident_pairs:
            multipliers = dict.fromkeys(self._coincident_pairs[0], Fraction(1))
        return "quasi_separable", self._weak_witness(u), self._multiplier_witness(multipliers)

    def _thresholds(self) -> list[Fraction]:
        """The sum of all hyperplanes ``+-(x_j - c) = 0`` with no row on the wrong side."""
        low, high = class_ranges(self.cloud)
        d = self.cloud.design.n_features
        u = [Fraction(0)] * self.cloud.dimension
        for j in range(d):
            # Each pair: the positive class, then the negative one.
            (low_p, low_n), (high_p, high_n) = low[:, j], high[:, j]
            for sign, below, above in ((1, high_n, low_p), (-1, high_p, low_n)):
                constant = low_p == high_p == low_n == high_n
                origin = self.cloud.lifted or below <= 0.0 <= above
                if (
                    below <= above
                    and origin
                    and not (constant and (self.cloud.lifted or not low_p))
                ):
                    u[j] += sign
                    if self.cloud.lifted:
                        u[d] -= sign * Fraction(float(below))
        return u

    def _around(self, rows: list[int]) -> HyperplaneWitness | None:
        """A hyperplane through the given rows and all twins, with the others on their sides.

        All of those have to be on the plane; if no other row has to, this is it.
        """
        held = sorted({*rows, *(i for pair in self._coincident_pairs for i in pair)})
        block, _ = whole_numbers(self.cloud.signed(np.array(held, dtype=np.int64)))
        taken, _ = independent(block)
        if len(taken) > _HELD:
            return None
        target = self.cloud.y.copy()
        target[held] = 0.0
        u = self._least_squares(target)
        if u is None:
            return None
        # The exact projection onto the vectors that are orthogonal to the rows held.
        block = block[taken]
        whole, _ = whole_numbers(u)
        weights = solve(block.dot(block.T), block.dot(whole), self.deadline)
        if weights is None:
            return None
        numerators, common = common_denominator(weights)
        projected = [Fraction(int(v)) for v in whole * common - numerators.dot(block)]
        signs = self._signs(projected)
        if np.any(signs < 0) or not np.any(signs > 0):
            return None
        # A row may lie on the plane by accident; only one that depends on those held has to.
        on_plane = np.union1d(np.flatnonzero(signs == 0), held)
        if len(on_plane) > 2 * _HELD:
            return None
        together, _ = whole_numbers(self.cloud.signed(on_plane))
        if len(independent(together)[0]) != len(taken):
            return None
        return self._weak_witness(projected)

    def _beyond(
        self, total: list[Fraction]
    ) -> tuple[list[Fraction], np.ndarray] | dict[int, Fraction]:
        """A hyperplane with no row below zero and ``total`` above it, and the rows' signs.

        Or, where there is none, multipliers whose rows cancel ``total``.
        """
        if not any(total):
            return {}
        largest = max(abs(v) for v in total)
        floats = np.array([float(v / largest) for v in total])
        suggestion = suggest_boundary(self.working, floats, self.deadline)
        vector = self._on_boundary(suggestion)
        if vector is not None:
            signs = self._signs(vector)
            if dot(vector, total) > 0 and not np.any(signs < 0):
                return vector, signs
        exact = self._cancelling(suggestion, total)
        if exact is not None:
            return exact
        target = tuple(-v for v in total)
        # Without the constraint there is no direction without end: this is a distance.
        nearest = exact_minimum(self.cloud, balanced=False, target=target, deadline=self.deadline)
        assert not isinstance(nearest, Unbounded)
        vector = [v - t for v, t in zip(nearest.w, target, strict=True)]
        if not any(vector):
            return nearest.multipliers
        return vector, self._signs(vector)

    def _signs(self, u: list[Fraction]) -> np.ndarray:
        d = self.cloud.design.n_features
        b = u[d] if self.cloud.lifted else Fraction(0)
        plane = HyperplaneWitness(tuple(u[:d]), b, self.sides, self.cloud.lifted, strict=False)
        return plane.signs(self.cloud)[0]

    def _on_boundary(self, suggestion: Suggestion) -> list[Fraction] | None:
        """The suggested hyperplane, solved for exactly from the rows that lie on it."""
        u = np.append(suggestion.w, suggestion.b) if self.cloud.lifted else suggestion.w
        reach = np.abs(u) * np.append(np.sqrt(self._column_sizes), 1.0)[: len(u)]
        columns = np.flatnonzero(reach > 1e-7 * reach.max(initial=0.0))
        if suggestion.value <= 0.0 or not len(columns) or len(columns) > tuned.now.wide:
            return None
        score = self.cloud.design.dot(suggestion.w) + suggestion.b
        on_plane = np.flatnonzero(np.abs(score) <= 1e-6 * reach.max())
        block = self._distinct(on_plane, columns)
        whole, _ = whole_numbers(block)
        rows, _ = independent(whole) if len(whole) else (np.empty(0, dtype=np.int64), None)
        if len(rows) != len(columns) - 1:
            return None
        # One vector, up to a factor, is orthogonal to these.
        relation = dependency(whole[rows].T.reshape(len(columns), len(rows)), self.deadline)
        if relation is None:
            return None
        largest = int(np.argmax(reach[columns]))
        if (relation[largest] < 0) != (u[columns[largest]] < 0):
            relation = -relation
        out = [Fraction(0)] * len(u)
        for j, v in zip(columns, relation, strict=True):
            out[int(j)] = Fraction(int(v))
        return out

    @functools.cached_property
    def _column_sizes(self) -> np.ndarray:
        design = self.cloud.design
        return design.column_squares(np.full(design.n_samples, 1.0 / design.n_samples))

    def _distinct(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """A few different rows, in the given columns of homogeneous coordinates."""
        # Rows that differ and share a key by rounding are hardly missed: any that span will do.
        mixture = np.random.default_rng(0).standard_normal(len(columns))
        keys, parts = np.empty(0), [np.empty((0, len(columns)))]
        for start in range(0, len(rows), 10_000):
            chunk = self.cloud.signed(rows[start : start + 10_000])[:, columns]
            # Keys beyond all floats are taken for equal: then fewer rows are tried.
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                own, first = np.unique(chunk.dot(mixture), return_index=True)
            new = np.flatnonzero(~np.isin(own, keys))[: 20 * len(columns) + 100]
            keys = np.concatenate([keys, own[new]])
            parts.append(chunk[first[new]])
        return np.concatenate(parts)

    def _cancelling(
        self, suggestion: Suggestion, total: list[Fraction]
    ) -> dict[int, Fraction] | None:
        """Multipliers >= 0 of the suggested rows that cancel the sum, exactly, if there are."""
        rows = suggestion.rows
        if not 0 < len(rows) <= self.cloud.dimension:
            return None
        block, shift = whole_numbers(self.cloud.signed(rows))
        taken, columns = independent(block)
        shared = max(v.denominator for v in total)
        right = [-int(total[j] * shared) << shift for j in columns]
        x = solve(block[np.ix_(taken, columns)].T, right, self.deadline)
        if x is None or any(v < 0 for v in x):
            return None
        out = {int(rows[i]): v / shared for i, v in zip(taken, x, strict=True) if v}
        rest = signed_sum(self.cloud, list(out), list(out.values()))
        return out if all(a + c == 0 for a, c in zip(rest, total, strict=True)) else None

    # --- witnesses --------------------------------------------------------------------------

    def _multiplier_witness(
        self,
        multipliers: dict[int, Fraction],
        overlap: bool = False,
        extra: dict[int, Fraction] | None = None,
    ) -> MultiplierWitness:
        lifted = self.cloud.lifted
        return multiplier_witness(
            multipliers, self.sides, lifted, self.rows, overlap=overlap, extra=extra
        )

    def _weak_witness(self, u: list[Fraction]) -> HyperplaneWitness:
        d = self.cloud.design.n_features
        on_side = np.flatnonzero(self._signs(u) > 0)
        return HyperplaneWitness(
            w=tuple(u[:d]),
            b=u[d] if self.cloud.lifted else Fraction(0),
            sides=self.sides,
            fit_intercept=self.cloud.lifted,
            strict=False,
            separated=tuple((on_side if self.rows is None else self.rows[on_side]).tolist()),
            columns=tuple(j for j in range(d) if u[j]),
        )
