"""Training mistakes: those of a model, and the fewest that any hyperplane can make."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import (
    assert_all_finite,
    check_is_fitted,
    column_or_1d,
)

from separatrix.data.columns import columns_of
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels
from separatrix.data.validation import check_number, require_classes, sample_weight_of, validate
from separatrix.geometry.exact.deadline import Deadline, OutOfTime
from separatrix.geometry.exact.integer_weights import integer_weights, whole_weights
from separatrix.geometry.exact.products import product_signs
from separatrix.geometry.exact.rational import round_down, round_up
from separatrix.geometry.hyperplane import (
    Hyperplane,
    design_of,
    exact_scores,
    plane_of,
    signs_of,
)
from separatrix.geometry.mistakes.arrangement import Arrangement
from separatrix.geometry.mistakes.covering import Covering, Plane
from separatrix.geometry.mistakes.thresholds import best_threshold
from separatrix.geometry.points import Cloud, LabelledPoints, labelled_points
from separatrix.geometry.separation.separability import decide
from separatrix.geometry.separation.witness import (
    HyperplaneWitness,
    MultiplierWitness,
    Sides,
    multiplier_witness,
)
from separatrix.messages import counted

# Seconds that trying every hyperplane may take where no time limit was given.
_PATIENCE = 3600.0
# Trying every hyperplane is not put off where it takes less than this.
_SHORT = 0.5
# Numbers of this many entries are worth a copy in integers.
_SIZE = 3_000_000
# Seconds for the widest gap around a hyperplane that is found: it is for looking at.
_WIDEN = 10.0
# Seconds for rounding one whose weights need more digits than floats have.
_ROUNDING = 1.0


# --- the mistakes of a model ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Mistakes:
    """The rows that are wrong, and their number; as a float it is the fraction.

    True in a condition if and only if a row is wrong, as that fraction is.

    Attributes
    ----------
    count : int
    n_samples : int
    weight : float
        Sum of the weights of the wrong rows; their number, without weights.
    total : float
        Sum of all weights.
    by_class : dict
        Number of wrong rows by their true label, for every label.
    on_plane : int
        The number of wrong rows that lie exactly on the hyperplane.
    rows : ndarray of int
        The wrong rows, ascending.
    """

    count: int
    n_samples: int
    weight: float
    total: float
    by_class: dict[Any, int]
    on_plane: int = 0
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64), repr=False)

    @property
    def fraction(self) -> float:
        """``weight / total``: the training error, or empirical risk."""
        return self.weight / self.total if self.total else 0.0

    def __float__(self) -> float:
        return self.fraction

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        parts = ", ".join(f"{n:,} of class {label}" for label, n in self.by_class.items() if n)
        text = f"{counted(self.count, 'mistake')} in {self.n_samples:,} rows"
        text += f" ({_percent(self.fraction)} %"
        text += " by weight)" if self.weight != self.count or self.total != self.n_samples else ")"
        text += f": {parts}" if parts else ""
        return text + (f"; {self.on_plane:,} on the plane" if self.on_plane else "")

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "count": self.count,
            "n_samples": self.n_samples,
            "weight": self.weight,
            "total": self.total,
            "fraction": self.fraction,
            "by_class": [[label, count] for label, count in self.by_class.items()],
            "on_plane": self.on_plane,
            "rows": self.rows.tolist(),
        }


def zero_one_loss(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> Mistakes:
    r"""The 0/1 loss of predictions: how many are wrong, and which.

    .. math:: \frac{\sum_i s_i\, [\hat y_i \ne y_i]}{\sum_i s_i}

    is ``float(zero_one_loss(y_true, y_pred))``, and equals
    :func:`sklearn.metrics.zero_one_loss`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_samples,)
    sample_weight : array-like of shape (n_samples,), optional

    Returns
    -------
    Mistakes

    Raises
    ------
    ValueError
        For lengths that differ, or what are no labels.

    See Also
    --------
    training_error : the same for a model or a hyperplane, where a point on the plane is a mistake.

    Examples
    --------
    >>> from separatrix import zero_one_loss
    >>> print(zero_one_loss(["a", "b", "b"], ["a", "b", "a"]))
    1 mistake in 3 rows (33.3 %): 1 of class b
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    if len(y_true) != len(y_pred):
        raise ValueError(
            f"There are {len(y_true)} labels and {len(y_pred)} predictions; pass one for each row."
        )
    require_classes(y_true)
    return _mistakes_of(y_true, y_true != y_pred, sample_weight)


def training_error(model: Any, X: Any, y: Any, *, sample_weight: Any = None) -> Mistakes:
    r"""The training mistakes of a model or a hyperplane: which rows are wrong, and how many.

    For a hyperplane, or a linear model of two classes, a mistake is :math:`y_i (w \cdot x_i + b)
    \le 0`: a point on the plane is one, although it is predicted as the positive class.  The sign
    is that of the exact sum, so that rounding neither makes a mistake nor hides one.  For any
    other model a mistake is a prediction that differs from the label.

    Parameters
    ----------
    model : Hyperplane, pair (w, b) or fitted classifier
        A hyperplane, or a classifier of any library, or a pipeline that ends in one.
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        For a hyperplane, labels -1 and +1, or any two labels, of which the second in sorted
        order is positive.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0.

    Returns
    -------
    Mistakes

    Raises
    ------
    ValueError
        For a label that the model was not trained on, or data that do not fit it.

    See Also
    --------
    zero_one_loss : the same for predictions.
    min_training_error : the fewest mistakes that any hyperplane makes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression, training_error
    >>> X, y = load_iris(return_X_y=True)
    >>> print(training_error(LogisticRegression().fit(X, y), X, y))
    4 mistakes in 150 rows (2.67 %): 3 of class 1, 1 of class 2
    """
    from sklearn.pipeline import Pipeline

    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, model[-1]
    plane = plane_of(model)
    if plane is not None:
        # The plane says how many columns there must be.
        design = design_of(X, plane.n_features)
        y = column_or_1d(y)
        assert_all_finite(y, input_name="y")
        require_classes(y)
        return _on_plane(plane, design, y, signs_of(y, design.n_samples), sample_weight)
    check_is_fitted(model)
    y = column_or_1d(y)
    classes = getattr(model, "classes_", None)
    if classes is not None:
        unknown = np.flatnonzero(~np.isin(y, classes))
        if len(unknown):
            raise ValueError(
                f"Row {unknown[0]} has the label {y[unknown[:1]].tolist()[0]!r}, which the model "
                "was not trained on; pass the training data."
            )
    linear = hasattr(model, "intercept_") and np.shape(getattr(model, "coef_", ()))[:1] == (1,)
    if classes is None or len(classes) != 2 or not linear:
        return zero_one_loss(y, model.predict(X), sample_weight=sample_weight)
    design = as_design(validate(model, X))
    if len(y) != design.n_samples:
        raise ValueError(f"y has {len(y)} labels for {design.n_samples} rows.")
    plane = Hyperplane.from_model(model)
    return _on_plane(plane, design, y, np.where(y == classes[1], 1.0, -1.0), sample_weight)


def _on_plane(
    plane: Hyperplane, design: Design, y: np.ndarray, signs: np.ndarray, sample_weight: Any
) -> Mistakes:
    scores = exact_scores(design, plane.w, plane.b)
    on_plane = int(np.count_nonzero(scores == 0.0))
    return _mistakes_of(y, signs * scores <= 0.0, sample_weight, on_plane)


def _mistakes_of(
    y: np.ndarray, wrong: np.ndarray, sample_weight: Any, on_plane: int = 0
) -> Mistakes:
    weights = sample_weight_of(sample_weight, y)
    rows = np.flatnonzero(wrong)
    classes, codes = np.unique(y, return_inverse=True)
    counts = np.bincount(codes[rows], minlength=len(classes))
    return Mistakes(
        count=len(rows),
        n_samples=len(y),
        weight=float(len(rows)) if weights is None else math.fsum(weights[rows]),
        total=float(len(y)) if weights is None else math.fsum(weights),
        by_class=dict(zip(classes.tolist(), counts.tolist(), strict=True)),
        on_plane=on_plane,
        rows=rows,
    )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.3g}"


# --- the fewest mistakes of any hyperplane --------------------------------------------------


@dataclass(frozen=True, eq=False)
class TrainingError:
    """Bounds on the fewest mistakes that any hyperplane makes.

    Attributes
    ----------
    lower : int or float
        No hyperplane makes fewer mistakes; with sample weights, mistakes of less weight.  Proved
        without floating-point tolerances.
    upper : int or float
        The mistakes of ``hyperplane``, counted exactly.
    hyperplane : Hyperplane
        The best hyperplane that was found; among all that have the same rows right, the one
        furthest from them, where that was found in time.
    mistakes : Mistakes
        The mistakes of ``hyperplane``.
    classes : tuple
        The negative and the positive label.
    fit_intercept : bool
    method : {"separable", "threshold", "arrangement", "covering"}
        Where the lower bound comes from: there are no mistakes to make; all thresholds of the
        only column; all ways in which a hyperplane can part the points; or sets of rows, each
        with a mistake in it, and the least cost of covering them all.
    status : {"exact", "time_limit", "interrupted", "precision"}
        Why the search ended: the bounds meet; the time limit or Ctrl-C came first; or a
        hyperplane in float64, or costs of very different sizes, cannot attain the bound.
    witnesses : tuple of MultiplierWitness
        The proofs of the sets, if there are any; each can be checked by itself.
    seconds : float
    """

    lower: float
    upper: float
    hyperplane: Hyperplane
    mistakes: Mistakes
    classes: tuple[Any, Any]
    fit_intercept: bool
    method: str
    status: str
    witnesses: tuple[MultiplierWitness, ...] = field(default=(), repr=False)
    seconds: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the bounds meet, so that ``upper`` is the least possible."""
        return self.lower == self.upper

    def __bool__(self) -> bool:
        # Whether there are mistakes, and whether the bounds meet, are both natural readings.
        raise TypeError(
            "these bounds are neither true nor false: use .upper or .lower for the mistakes, and "
            ".exact for whether they are known exactly"
        )

    @property
    def rows(self) -> np.ndarray:
        """The rows that the hyperplane has wrong."""
        return self.mistakes.rows

    def __str__(self) -> str:
        rows = self._rows
        if self.exact and not self.upper:
            return f"a hyperplane{self._through} makes no mistake in {rows}"
        if self.exact:
            share = _percent(self.mistakes.fraction)
            return f"no hyperplane{self._through} {self._fewer} in {rows} ({share} %)"
        remedy = {"time_limit": "; raise time_limit", "interrupted": "; interrupted"}
        return (
            f"every hyperplane{self._through} makes at least {self._count(self.lower)} in {rows}, "
            f"and one that makes {self._count(self.upper)} is known"
            f"{remedy.get(self.status, '')}"
        )

    @property
    def _through(self) -> str:
        return "" if self.fit_intercept else " through the origin"

    @property
    def _weighted(self) -> bool:
        return isinstance(self.upper, float)

    @property
    def _rows(self) -> str:
        rows = f"{self.mistakes.n_samples:,} rows"
        return f"{rows} of weight {self.mistakes.total:.6g}" if self._weighted else rows

    def _count(self, value: float) -> str:
        if self._weighted:
            return f"mistakes of weight {value:.6g}"
        return counted(int(value), "mistake")

    @property
    def _fewer(self) -> str:
        if self._weighted:
            return f"makes mistakes of less weight than {self.lower:.6g}"
        return f"makes fewer than {counted(int(self.lower), 'mistake')}"

    def compare(
        self, model: Any, X: Any, y: Any, *, sample_weight: Any = None, name: str | None = None
    ) -> str:
        """Compare the mistakes of a model with the fewest of any hyperplane, in one sentence.

        Parameters
        ----------
        model : Hyperplane or fitted classifier
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The data that this record is about.
        sample_weight : array-like of shape (n_samples,), optional
            As given to :func:`min_training_error`.
        name : str, optional
            The name of the model; default: its class.

        Raises
        ------
        ValueError
            For another number of rows, or what :func:`training_error` refuses.
        """
        found = training_error(model, X, y, sample_weight=sample_weight)
        if found.n_samples != self.mistakes.n_samples:
            raise ValueError(
                f"There are {found.n_samples:,} rows, and the bounds hold for "
                f"{self.mistakes.n_samples:,}; pass the same data."
            )
        text = f"{name or type(model).__name__} makes {self._count(found.weight)} in {self._rows}; "
        text += f"no hyperplane{self._through} {self._fewer}"
        return text if self.exact else f"{text}, and one makes {self._count(self.upper)}"

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able dictionary."""
        return {
            "lower": self.lower,
            "upper": self.upper,
            "exact": self.exact,
            "w": self.hyperplane.w.tolist(),
            "b": self.hyperplane.b,
            "mistakes": self.mistakes.to_dict(),
            "classes": list(self.classes),
            "fit_intercept": self.fit_intercept,
            "method": self.method,
            "status": self.status,
            "witnesses": [w.to_dict() for w in self.witnesses],
            "seconds": self.seconds,
        }


def min_training_error(
    X: Any,
    y: Any,
    *,
    fit_intercept: bool = True,
    sample_weight: Any = None,
    time_limit: float | None = None,
) -> TrainingError:
    r"""The fewest training mistakes that any hyperplane makes, between two proved bounds.

    Minimises the number (or weight) of rows with :math:`y_i (w \cdot x_i + b) \le 0`, which is
    hard in general, and often quick all the same:

    * Separable data have 0, with a witness (:func:`separatrix.separability`).
    * On one column the rows are sorted.
    * On few columns all ways in which a hyperplane can part the points are tried: a line is turned
      about every point, a plane about every two, in :math:`O(n^d \log n)`.
    * Otherwise sets of rows are collected that no hyperplane has all right, each with a proof; the
      cheapest way of covering them all, an integer program, is a lower bound, and the answer as
      soon as the rows that it leaves are separable.

    Whatever floating point leaves in doubt is decided in integer arithmetic, on the numbers as
    they are stored; no tolerance is involved.  The bounds hold whenever the search is stopped.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Two labels, of which the second in sorted order is positive.
    fit_intercept : bool, default=True
        Hyperplanes with an offset; False: through the origin.
    sample_weight : array-like of shape (n_samples,), optional
        Weights >= 0; the weight of the mistakes is then minimised.
    time_limit : float, optional
        Seconds, after which the bounds reached by then are returned.  Without one, the search
        ends when the bounds meet, or with Ctrl-C, which returns them too.

    Returns
    -------
    TrainingError

    Raises
    ------
    ValueError
        For NaN or infinity (named by row and column), bad weights, or labels that are not two.

    References
    ----------
    Johnson and Preparata (1978), The densest hemisphere problem.  Parker and Ryan (1996), Finding
    the minimum weight IIS cover of an infeasible system of linear inequalities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC, min_training_error
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[y > 0], y[y > 0]
    >>> least = min_training_error(X, y)
    >>> print(least)
    no hyperplane makes fewer than 1 mistake in 100 rows (1 %)
    >>> print(least.compare(LinearSVC().fit(X, y), X, y))
    LinearSVC makes 2 mistakes in 100 rows; no hyperplane makes fewer than 1 mistake
    """
    if time_limit is not None:
        check_number("time_limit", time_limit, above=0)
    start = time.perf_counter()
    points = labelled_points(X, y)
    weights = sample_weight_of(sample_weight, points.labels.codes)
    search = _Search(points, weights, fit_intercept, start + (time_limit or math.inf))
    status = search.run()
    lower, upper = (search.lower * search.unit, search.upper * search.unit)
    whole = weights is None
    return TrainingError(
        lower=int(lower) if whole else round_down(lower) if lower < upper else float(lower),
        upper=int(upper) if whole else round_up(upper) if lower < upper else float(upper),
        hyperplane=search.hyperplane,
        mistakes=search.mistakes(),
        classes=(search.sides.negative, search.sides.positive),
        fit_intercept=fit_intercept,
        method=search.method,
        status=status,
        witnesses=search.witnesses(),
        seconds=time.perf_counter() - start,
    )


class _Search:
    """Bounds on the least cost, in whole units; they hold whenever the search is stopped."""

    def __init__(
        self,
        points: LabelledPoints,
        weights: np.ndarray | None,
        fit_intercept: bool,
        deadline: float,
    ) -> None:
        self.points, self.weights = points, weights
        n, codes = points.design.n_samples, points.labels.codes
        self.used = np.arange(n) if weights is None else np.flatnonzero(weights > 0)
        present = np.unique(codes[self.used])
        if len(present) != 2:
            which = "" if weights is None else " of positive weight"
            raise ValueError(
                f"min_training_error needs two classes, and y has {len(present)}{which}; pass the "
                "rows of two classes, or one class against the rest (y == label)."
            )
        self.labels = points.labels.classes[present]
        self.sides = Sides(*self.labels.tolist())
        self.design = points.design if len(self.used) == n else points.design.take(self.used)
        self.y = np.where(codes[self.used] == present[1], 1.0, -1.0)
        self.used_weights = None if weights is None else weights[self.used]
        self.costs, self.unit = whole_weights(self.used_weights, len(self.used))
        self.fit_intercept = fit_intercept
        self.deadline = deadline
        self.method = "covering"
        self.lower = self.base = 0
        self.upper = sum(self.costs) + 1
        self.hyperplane: Hyperplane
        self.wrong: np.ndarray
        # Through the origin a row of zeros is on the plane, whatever the plane.
        self.zero = np.zeros(len(self.y), dtype=bool)
        if not fit_intercept:
            self.zero = self.design.absolute_dot(np.ones(self.design.n_features)) == 0.0
        # The covering has one row for each point; mistakes that no plane avoids are in ``base``.
        self.cover: Covering | None = None
        self.kept = np.empty(0, dtype=np.int64)
        self.pairs: list[tuple[int, int]] = []
        for sign in (1.0, -1.0) if fit_intercept else (1.0,):
            self._consider(self._distant_plane(sign))

    def run(self) -> str:
        """Search, and return the status."""
        status = "precision"
        try:
            self._solve()
        except OutOfTime:
            status = "time_limit"
        except KeyboardInterrupt:
            status = "interrupted"
        if self.cover is not None:
            self.lower = max(self.lower, self.base + self.cover.lower)
            self._take(self.cover.plane, self.base + self.cover.upper)
        if status != "interrupted":
            self._widen()
        return "exact" if self.lower == self.upper else status

    # --- hyperplanes ------------------------------------------------------------------------

    def _distant_plane(self, sign: float) -> Hyperplane:
        """A hyperplane so far away that all points are on one side; one of many, at the origin."""
        w = np.zeros(self.design.n_features)
        if not self.fit_intercept:
            w[0] = 1.0
            return Hyperplane(w)
        (column,) = columns_of(self.design).each([0])
        exponent = int(np.frexp(np.abs(column).max())[1])
        # The power of two nearest to one at which the first column stays below one half.
        w[0] = math.ldexp(0.5, min(-exponent, 0))
        return Hyperplane(w, sign)

    def _cost(self, plane: Hyperplane) -> tuple[int, np.ndarray]:
        wrong = np.flatnonzero(self.y * exact_scores(self.design, plane.w, plane.b) <= 0.0)
        return sum(self.costs[i] for i in wrong), wrong

    def _consider(self, plane: Hyperplane) -> int:
        """Keep a hyperplane if its mistakes cost less than the best; its cost."""
        cost, wrong = self._cost(plane)
        if cost < self.upper:
            self.upper, self.hyperplane, self.wrong = cost, plane, wrong
        return cost

    def _take(self, plane: Plane, cost: int) -> None:
        """Keep a hyperplane of a known cost, in floats that have that cost if any are found."""
        if cost >= self.upper:
            return
        for candidate in self._floats(plane):
            if self._consider(candidate) <= cost:
                return

    def _floats(self, plane: Plane) -> Iterator[Hyperplane]:
        """A hyperplane in floats, rounded in many ways where its own numbers will not do."""
        w = [
            Fraction(v) for v in (plane.w.tolist() if isinstance(plane.w, np.ndarray) else plane.w)
        ]
        b = Fraction(plane.b)
        largest = max(abs(v) for v in w)
        if not largest:
            yield self._distant_plane(1.0 if b > 0 else -1.0)
            return
        if isinstance(plane.w, np.ndarray):
            yield Hyperplane(plane.w, float(plane.b))
        signs, w, b = self._off_points(w, b)
        largest = max(abs(v) for v in w)
        for rounded in self._rounded([v / largest for v in w]):
            if not self.fit_intercept:
                yield Hyperplane(rounded)
                continue
            # For the rounded weights the best offset is another: half way between the sides.
            scores = exact_scores(self.design, rounded, 0.0)
            below = (-scores[signs > 0]).max(initial=-math.inf)
            above = (-scores[signs < 0]).min(initial=math.inf)
            if math.isfinite(below) and math.isfinite(above):
                yield Hyperplane(rounded, 0.5 * below + 0.5 * above)

    def _off_points(
        self, w: list[Fraction], b: Fraction
    ) -> tuple[np.ndarray, list[Fraction], Fraction]:
        """The signs of all points, and a hyperplane moved a little so that none is zero.

        It may have gone through points that weigh the same in both classes: they have no say in
        the search, but on the plane they are two mistakes instead of one.
        """
        rng = np.random.default_rng(0)
        for _ in range(20):
            signs, values, shared = self._signs(w, b)
            on_plane = (signs == 0) & ~self.zero
            if not on_plane.any():
                break
            step = [Fraction(int(v)) for v in rng.integers(-99, 100, len(w))]
            offset = Fraction(int(rng.integers(-99, 100)) if self.fit_intercept else 0)
            moved, changes, _ = self._signs(step, offset)
            if np.all(moved[on_plane]):
                against = signs * moved < 0
                with np.errstate(over="ignore"):
                    longest = float(np.abs(values[against] / changes[against]).min(initial=1.0))
                # Half would do, were these numbers not rounded.
                length = Fraction(min(longest, 1.0)) / (4 * shared)
                w = [v + length * c for v, c in zip(w, step, strict=True)]
                b += length * offset
        return signs, w, b

    def _rounded(self, w: list[Fraction]) -> Iterator[np.ndarray]:
        """Floats near the direction of a vector: plainly, of few digits, and by luck."""
        yield np.array([_float(v) for v in w])
        end = time.perf_counter() + _ROUNDING
        for bits in range(1, 50):
            simple = [v.limit_denominator(1 << bits) for v in w]
            shared = math.lcm(*(v.denominator for v in simple))
            if shared >> 53:
                break
            yield np.array([float(v * shared) for v in simple])
        rng = np.random.default_rng(0)
        while time.perf_counter() < end:
            factor = Fraction(rng.uniform(0.5, 1.0))
            yield np.array([_float(v * factor) for v in w])

    def _signs(self, w: list[Fraction], b: Fraction) -> tuple[np.ndarray, np.ndarray, int]:
        """Exact signs of the scores; and the scores, rounded, in units of one over a number."""
        shared = math.lcm(b.denominator, *(v.denominator for v in w))
        ones = np.ones(self.design.n_samples)
        signs, values = product_signs(self.design, ones, [v * shared for v in w], b * shared)
        return signs, values, shared

    def _widen(self) -> None:
        """Take the hyperplane furthest from the rows among those with the same rows right."""
        right = np.setdiff1d(np.arange(len(self.y)), self.wrong)
        if abs(self.y[right].sum()) == len(right):
            return
        now = time.perf_counter()
        part = self._labelled(right)
        try:
            verdict = decide(
                part,
                self.sides,
                fit_intercept=self.fit_intercept,
                deadline=min(self.deadline, now + _WIDEN),
            )
        except KeyboardInterrupt:
            return
        if verdict.margin is not None:
            cost, wrong = self._cost(verdict.margin.hyperplane)
            if cost <= self.upper:
                self.upper, self.hyperplane, self.wrong = cost, verdict.margin.hyperplane, wrong

    def _labelled(self, rows: np.ndarray) -> LabelledPoints:
        everything = len(rows) == len(self.y)
        codes = (self.y[rows] > 0).astype(np.intp)
        labels = Labels(self.labels, codes, None, float(len(rows)))
        return LabelledPoints(self.design if everything else self.design.take(rows), labels)

    # --- the search -------------------------------------------------------------------------

    def _solve(self) -> None:
        if self.design.n_features == 1 and self.fit_intercept and self._threshold():
            return
        cloud, costs = self._merge()
        self.lower = self.base
        if cloud is None:
            self._avoid()
            return
        if not self.base:
            verdict = decide(
                self._labelled(np.arange(len(self.y))),
                self.sides,
                fit_intercept=self.fit_intercept,
                deadline=self.deadline,
            )
            if verdict.separable:
                self.method = "separable"
                if verdict.margin is not None:
                    self._consider(verdict.margin.hyperplane)
                assert isinstance(verdict.witness, HyperplaneWitness)
                self._take(Plane(verdict.witness.w, verdict.witness.b), 0)
                return
        cover = self.cover = Covering(cloud, costs, Deadline(self.deadline))
        cover.guess()
        if cover.lower < cover.upper:
            self._take_turns(cover)

    def _take_turns(self, cover: Covering) -> None:
        """Cover for as long as trying everything would take; then try everything."""
        now = time.perf_counter()
        every, effort = None, math.inf
        if cover.cloud.n * cover.cloud.dimension <= _SIZE:
            every = Arrangement(cover.cloud, cover.costs)
            effort = every.effort
            if not (every.complete and effort < min(_PATIENCE, self.deadline - now)):
                every = None
        if every is None or effort > _SHORT:
            cover.deadline = Deadline(
                min(self.deadline, math.inf if every is None else now + effort)
            )
            try:
                cover.run()
            except OutOfTime:
                Deadline(self.deadline)()
        if every is None or cover.lower >= cover.upper:
            return
        for cost, u in every.search(cover.upper, Deadline(self.deadline)):
            w, b = (u[:-1], u[-1]) if self.fit_intercept else (u, Fraction(0))
            cover.upper, cover.plane = cost, Plane(w, b)
            if cost == cover.lower:
                return
        cover.lower = cover.upper
        self.method = "arrangement"

    def _threshold(self) -> bool:
        """On one column: sort."""
        weights = integer_weights(self.used_weights, len(self.y))
        if not weights.whole:
            return False
        self.method = "threshold"
        cut = best_threshold(self.design, (self.y > 0).astype(np.intp), 2, weights)
        self.lower = int(cut.risk / self.unit)
        if math.isfinite(cut.below):
            sign = 1 if cut.right == 1 else -1
            middle = (Fraction(cut.below) + Fraction(cut.above)) / 2
            self._take(Plane((Fraction(sign),), -sign * middle), self.lower)
        return True

    def _merge(self) -> tuple[Cloud | None, list[int]]:
        """One row for each point, with the sign that weighs more there, and the cost of a mistake.

        At a point with both labels every hyperplane has one of them wrong.
        """
        n = len(self.y)
        columns = columns_of(self.design)
        _, first, group = np.unique(columns.hashes[0], return_index=True, return_inverse=True)
        # Equal bits of different rows: leave such a row by itself.
        other = ~columns.equal_rows(np.arange(n), first[group])
        group[other] = len(first) + np.arange(np.count_nonzero(other))
        weight = [[0, 0] for _ in range(int(group.max()) + 1)]
        rows = [[-1, -1] for _ in weight]
        for i, (g, side) in enumerate(zip(group.tolist(), (self.y > 0).tolist(), strict=True)):
            weight[g][side] += self.costs[i]
            rows[g][side] = i
        kept: list[int] = []
        costs: list[int] = []
        for (negative, positive), (low, high) in zip(weight, rows, strict=True):
            if self.zero[max(low, high)]:
                self.base += negative + positive
                continue
            if min(low, high) >= 0:
                self.base += min(negative, positive)
                self.pairs.append((low, high))
            if negative != positive:
                kept.append(high if positive > negative else low)
                costs.append(abs(positive - negative))
        if not kept:
            return None, costs
        order = np.argsort(kept)
        self.kept = np.array(kept)[order]
        costs = [costs[i] for i in order.tolist()]
        design = self.design if len(kept) == n else self.design.take(self.kept)
        return Cloud(design, self.y[self.kept], self.fit_intercept), costs

    def _avoid(self) -> None:
        """Any hyperplane will do that meets no point."""
        rng = np.random.default_rng(0)
        while self.upper > self.base:
            w = rng.standard_normal(self.design.n_features)
            self._consider(Hyperplane(w, float(self.fit_intercept)))

    # --- what was found ---------------------------------------------------------------------

    def mistakes(self) -> Mistakes:
        """The mistakes of the hyperplane."""
        labels = self.points.labels
        wrong = np.zeros(self.points.design.n_samples, dtype=bool)
        wrong[self.used[self.wrong]] = True
        scores = exact_scores(self.design, self.hyperplane.w, self.hyperplane.b)
        on_plane = int(np.count_nonzero(scores == 0.0))
        return _mistakes_of(labels.classes[labels.codes], wrong, self.weights, on_plane)

    def witnesses(self) -> tuple[MultiplierWitness, ...]:
        """Sets of rows with a mistake in each, where the lower bound rests on them."""
        if self.method != "covering":
            return ()
        sets = [dict.fromkeys(pair, Fraction(1)) for pair in self.pairs]
        found = [] if self.cover is None else self.cover.sets
        sets += [{int(self.kept[i]): v for i, v in one.items()} for one in found]
        return tuple(
            multiplier_witness(one, self.sides, self.fit_intercept, self.used) for one in sets
        )


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)
