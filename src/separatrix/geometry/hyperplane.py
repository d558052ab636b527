"""The hyperplane: where it is, which side a point is on, and how far away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from separatrix._compiled.rounding import EPS, TINY
from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import is_pipeline
from separatrix.data.validation import check_number, sample_weight_of, validate
from separatrix.geometry.exact.products import product_signs
from separatrix.losses import Loss, MarginLoss, SquaredResidual, loss_of
from separatrix.objectives.composing import objective_of
from separatrix.objectives.penalties import Penalty, strength_of

# Sizes whose squares and products neither overflow nor underflow.
_TAME = 2.0**500
# Longer equations name only their largest terms.
_SHOWN = 8


def exact_scores(design: Design, w: np.ndarray, b: float) -> np.ndarray:
    """``X w + b`` in float64, with the sign of the exact sum, whatever cancels.

    A sum that rounding could have pushed across zero is added up again in integer arithmetic;
    of any other the error of a sum of products is a bound (Higham, 2002, section 3.1).

    Parameters
    ----------
    design : Design
    w : ndarray of shape (n_features,)
    b : float

    Returns
    -------
    ndarray of shape (n_samples,)
        Zero only where the point is on the plane; infinite beyond the range of floats.
    """
    matrix = design.matrix
    terms = int(np.diff(matrix.indptr).max(initial=0)) if sp.issparse(matrix) else design.n_features
    data = matrix.data if sp.issparse(matrix) else matrix
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        scores = design.dot(w)
        scores += b

        def doubtful(values: np.ndarray, scale: Any) -> np.ndarray:
            # Twice what can have been lost, to underflow too.  NaN and overflow are in doubt.
            slack = (terms + 4) * (EPS * (scale + abs(b)) + 2 * TINY)
            return np.flatnonzero(~(np.abs(values) > slack))

        # One bound for all rows comes first: reading no row again is the ordinary case.
        largest = max(float(data.max(initial=0.0)), -float(data.min(initial=0.0)))
        rows = doubtful(scores, largest * float(np.abs(w).sum()))
        if not len(rows):
            return scores
        part = design.take(rows)
        rows = rows[doubtful(scores[rows], part.absolute_dot(w))]
    if len(rows):
        signs, values = product_signs(design.take(rows), np.ones(len(rows)), w, b)
        scores[rows] = np.where((values == 0.0) & (signs != 0), signs * TINY, values)
    return scores


def signs_of(y: Any, n: int) -> np.ndarray:
    """Labels as signs.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels -1 and +1 (one of them alone will do), or any two labels, of which the second in
        sorted order is positive.
    n : int

    Returns
    -------
    ndarray of float64, shape (n,)
        -1 or +1.

    Raises
    ------
    ValueError
        For another number of labels, or of different ones.
    """
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must hold one label for each of the {n} rows; its shape is {y.shape}.")
    return np.where(y == sides_of(y)[1], 1.0, -1.0)


def sides_of(y: Any) -> np.ndarray:
    """The labels of the negative and of the positive side.

    Parameters
    ----------
    y : array-like of labels
        -1 and +1 (one of them alone will do), or any two.

    Raises
    ------
    ValueError
        For another number of labels, or of different ones.
    """
    classes = np.unique(y)
    if len(classes) and classes.dtype.kind in "iuf" and np.all(np.abs(classes) == 1):
        return np.array([-1, 1])
    if len(classes) != 2:
        held = f"{len(classes)} different labels" if len(classes) != 1 else "one label only"
        raise ValueError(
            f"y holds {held} ({', '.join(repr(c) for c in classes[:3].tolist())}"
            f"{', ...' if len(classes) > 3 else ''}), which do not name two sides; pass -1 and "
            "+1, or two labels, of which the second in sorted order is positive."
        )
    return classes


@dataclass(frozen=True, eq=False, repr=False)
class Hyperplane:
    r"""The hyperplane :math:`w \cdot x + b = 0` in :math:`d` dimensions, and its two sides.

    Multiplying ``w`` and ``b`` by one positive number moves no point to another side: distances
    stay, scores and functional margins are multiplied.

    A point on the plane is on the positive side for :meth:`side`, as in every prediction of this
    library; in training, and therefore for :meth:`functional_margin`, whose value is then 0, it
    counts as a mistake.

    Parameters
    ----------
    w : array-like of shape (n_features,)
        The normal vector; copied.
    b : float, default=0.0

    Raises
    ------
    ValueError
        If ``w`` is not a vector, or a number is NaN or infinite.
    TypeError
        If ``w`` is a model.

    Examples
    --------
    >>> from separatrix import Hyperplane
    >>> plane = Hyperplane([3, -4], 5)
    >>> print(plane)
    3 x0 - 4 x1 + 5 = 0
    >>> plane.signed_distance([[1, 2], [1, -1]]).tolist()
    [0.0, 2.4]
    >>> plane.side([[1, 2], [1, -1], [0, 3]]).tolist()
    [1, 1, -1]
    """

    w: np.ndarray
    b: float = 0.0

    def __post_init__(self) -> None:
        if hasattr(self.w, "fit"):
            raise TypeError(
                "w must be a vector; of a fitted model take Hyperplane.from_model(model)."
            )
        w = np.array(self.w, dtype=np.float64)
        if w.ndim != 1 or not len(w):
            raise ValueError(f"w must be a vector of at least one number; its shape is {w.shape}.")
        bad = np.flatnonzero(~np.isfinite(w))
        if len(bad):
            raise ValueError(
                f"w[{bad[0]}] is {w[bad[0]]}; the weights of a hyperplane must be finite."
            )
        check_number("b", self.b)
        w.flags.writeable = False
        object.__setattr__(self, "w", w)
        object.__setattr__(self, "b", float(self.b))

    def __reduce__(self) -> tuple[Any, ...]:
        # Through the constructor: an array that is unpickled could be written to.
        return type(self), (self.w, self.b)

    def __eq__(self, other: object) -> bool:
        """The same numbers; multiples of one another are different."""
        if not isinstance(other, Hyperplane):
            return NotImplemented
        return bool(np.array_equal(self.w, other.w)) and self.b == other.b

    def __hash__(self) -> int:
        return hash((tuple(self.w.tolist()), self.b))

    # --- ways to make one -------------------------------------------------------------------

    @classmethod
    def from_model(
        cls, model: Any, k: int | None = None, *, against: int | None = None
    ) -> Hyperplane:
        """The hyperplane of a fitted linear model, of any library.

        Parameters
        ----------
        model : object
            With ``coef_`` of shape (1, n_features), (K, n_features) or (n_features,), and
            ``intercept_``.
        k : int, optional
            Which row of ``coef_``; needed where there are several.
        against : int, optional
            Another row: the hyperplane on which the scores ``k`` and ``against`` are equal, on
            the positive side of which ``k`` wins.

        Raises
        ------
        TypeError
            For a model without such attributes.
        ValueError
            If ``coef_`` has several rows and ``k`` is not given, or has no such row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from separatrix import Hyperplane, LogisticRegression
        >>> model = LogisticRegression().fit(*load_iris(return_X_y=True))
        >>> Hyperplane.from_model(model, 0, against=1).n_features
        4
        """
        name = type(model).__name__
        refuse_pipeline(model, "its hyperplane is")
        if not (hasattr(model, "coef_") and hasattr(model, "intercept_")):
            if hasattr(model, "fit"):
                check_is_fitted(model)
            raise TypeError(f"{name} has no coef_ and intercept_, so it has no hyperplane.")
        coef = dense(model.coef_)
        coef = np.atleast_2d(coef).astype(np.float64)
        intercept = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
        if coef.ndim != 2 or intercept.shape not in ((1,), (len(coef),)):
            raise TypeError(
                f"coef_ of {name} has the shape {coef.shape} and intercept_ {intercept.shape}; "
                "a linear model has one intercept for each row of weights."
            )
        intercept = np.broadcast_to(intercept, (len(coef),))
        if k is None:
            if len(coef) > 1:
                raise ValueError(
                    f"{name} has {len(coef)} rows of weights; choose one with k from 0 to "
                    f"{len(coef) - 1}, and give against=j for the plane between the classes k and "
                    "j."
                )
            k = 0
        for which, row in (("k", k), ("against", against)):
            if row is not None and not 0 <= row < len(coef):
                raise ValueError(
                    f"{which}={row} is not a row of coef_, whose rows are 0 to {len(coef) - 1}."
                )
        if against is None:
            return cls(coef[k], float(intercept[k]))
        return cls(coef[k] - coef[against], float(intercept[k] - intercept[against]))

    @classmethod
    def from_lifted(cls, theta: Any) -> Hyperplane:
        """The hyperplane of a vector ``(w, b)``: the inverse of :attr:`theta`.

        Parameters
        ----------
        theta : array-like of shape (n_features + 1,)
        """
        theta = np.asarray(theta, dtype=np.float64)
        if theta.ndim != 1 or len(theta) < 2:
            raise ValueError(
                "theta must be a vector of the weights and the intercept, at least two numbers; "
                f"its shape is {theta.shape}."
            )
        return cls(theta[:-1], float(theta[-1]))

    @property
    def theta(self) -> np.ndarray:
        """``(w, b)``: the normal of the hyperplane through the origin of the lifted points."""
        return np.append(self.w, self.b)

    @staticmethod
    def lift(X: Any) -> Any:
        r"""The rows with a constant 1 at the end.

        :math:`w \cdot x + b = \theta \cdot (x, 1)`: every hyperplane is one through the origin
        of a space with one dimension more.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_features + 1)
            A copy.
        """
        matrix = design_of(X).matrix
        ones = np.ones((matrix.shape[0], 1), dtype=matrix.dtype)
        if sp.issparse(matrix):
            return sp.csr_array(sp.hstack([matrix, ones], format="csr"))
        return np.hstack([matrix, ones])

    # --- what it is -------------------------------------------------------------------------

    @property
    def n_features(self) -> int:
        """The number of features: the dimension d of the space."""
        return len(self.w)

    @property
    def dimension(self) -> int:
        """The dimension of the plane itself: d - 1."""
        return len(self.w) - 1

    @property
    def norm(self) -> float:
        """``|w|``, without overflow or underflow on the way."""
        return math.hypot(*self.w.tolist())

    @property
    def unit(self) -> np.ndarray:
        """The normal of length one, on the positive side."""
        w, _ = self._tame()
        return w / math.hypot(*w.tolist())

    def normalised(self) -> Hyperplane:
        """The same hyperplane with ``|w| = 1``, so that scores are signed distances."""
        w, b = self._tame()
        norm = math.hypot(*w.tolist())
        return Hyperplane(w / norm, b / norm)

    def _tame(self) -> tuple[np.ndarray, float]:
        """``w`` and ``b`` over a power of two that brings the largest weight near one."""
        largest = float(np.abs(self.w).max())
        if largest == 0.0:
            raise ValueError(
                "The weights of this hyperplane are all zero, so there is no plane to measure a "
                "distance to."
            )
        exponent = math.frexp(largest)[1]
        with np.errstate(under="ignore"):
            w = np.ldexp(self.w, -exponent)
        try:
            return w, math.ldexp(self.b, -exponent)
        except OverflowError:
            return w, math.copysign(math.inf, self.b)

    # --- points -----------------------------------------------------------------------------

    def decision(self, X: Any) -> np.ndarray:
        """Scores ``w.x + b``.

        The sign is that of the exact sum of the numbers as they are stored: no rounding puts a
        point on the plane, or takes it off.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Read where it lies, without a copy, if float32 or float64 and dense or CSR.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return exact_scores(design_of(X, self.n_features), self.w, self.b)

    def side(self, X: Any) -> np.ndarray:
        """+1 or -1 by the sign of the score; a point on the plane is +1, as textbooks have it.

        (The ``predict`` of an estimator gives it ``classes_[0]``, as scikit-learn does.)

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        return np.where(self.decision(X) >= 0.0, 1, -1)

    def signed_distance(self, X: Any) -> np.ndarray:
        """``(w.x + b) / |w|``: the distance from the plane, negative on the negative side.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)

        Raises
        ------
        ValueError
            If the weights are all zero.
        """
        return self._distances(design_of(X, self.n_features))

    def _distances(self, design: Design) -> np.ndarray:
        w, b = self._tame()
        if math.isinf(b):
            return np.full(design.n_samples, b)
        norm = self.norm
        if 1.0 / _TAME < norm < _TAME:
            # Rounding the weights to another scale could only cost digits.
            w, b = self.w, self.b
        else:
            norm = math.hypot(*w.tolist())
        with np.errstate(over="ignore", under="ignore"):
            return exact_scores(design, w, b) / norm

    def functional_margin(self, X: Any, y: Any) -> np.ndarray:
        """``y (w.x + b)`` of every row: positive where the row is strictly on its own side.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels -1 and +1, or any two labels, of which the second in sorted order is positive.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        design = design_of(X, self.n_features)
        return signs_of(y, design.n_samples) * exact_scores(design, self.w, self.b)

    def geometric_margin(self, X: Any, y: Any) -> float:
        """``min y (w.x + b) / |w|``: how far the nearest row is from the wrong side.

        Positive only where the hyperplane separates the rows; otherwise minus the distance of
        the worst mistake.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            As for :meth:`functional_margin`.
        """
        design = design_of(X, self.n_features)
        return float((signs_of(y, design.n_samples) * self._distances(design)).min())

    def project(self, X: Any) -> np.ndarray:
        """The nearest points on the plane.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Dense, for the projections of sparse rows are not sparse.
        """
        design = design_of(X, self.n_features)
        distances, unit = self._distances(design), self.unit
        out = dense(design.matrix).astype(np.float64)
        for j in range(self.n_features):
            out[:, j] -= distances * unit[j]
        return out

    # --- what it costs ----------------------------------------------------------------------

    def objective(
        self,
        X: Any,
        y: Any,
        loss: str | Loss = "hinge",
        *,
        lam: float | None = None,
        C: float | None = None,
        alpha: float | None = None,
        sample_weight: Any = None,
    ) -> float:
        r"""The objective that penalised fits minimise, at this hyperplane.

        With ``lam`` (:math:`\lambda`) the mean of the losses and the penalty,

        .. math:: \frac{\sum_i s_i\,\ell(y_i (w \cdot x_i + b))}{\sum_i s_i}
            + \frac\lambda2 \|w\|^2 ,

        and with ``C`` their sum, which is the same divided by :math:`\lambda = 1/(C \sum_i s_i)`,

        .. math:: C \sum_i s_i\,\ell(y_i (w \cdot x_i + b)) + \tfrac12 \|w\|^2 .

        Models minimise the second form, and their certificates bound it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels -1 and +1, or any two labels, of which the second in sorted order is positive.
            For a loss of the residual, numbers.
        loss : str or Loss, default="hinge"
            One of :data:`separatrix.losses.LOSSES` by name, or any loss of
            :mod:`separatrix.losses`.
        lam, C, alpha : float
            Give one of the three.  ``lam=0`` is the mean of the losses alone; ``alpha`` is what
            :class:`~separatrix.SGDClassifier` calls ``lam``.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0.

        Returns
        -------
        float
            Infinite beyond the range of floats.

        Raises
        ------
        ValueError
            For bad data or strengths, or a name that is no loss.

        See Also
        --------
        separatrix.training_error : how many rows are wrong, and which.

        Examples
        --------
        How far a line of one's own is from the best: its objective beside the lower bound that a
        fit proves, below which no line gets.

        >>> from separatrix import Hyperplane, LinearSVC
        >>> X, y = [[0, 0], [2, 0], [0, 2], [3, 3]], [-1, -1, 1, 1]
        >>> model = LinearSVC(loss="hinge", C=1).fit(X, y)
        >>> own = Hyperplane([1, 1], -3)
        >>> own.objective(X, y, C=1), round(model.certificate_.dual, 6)
        (3.0, 0.5)
        >>> round(Hyperplane.from_model(model).objective(X, y, C=1), 6)
        0.5
        """
        strengths = {"lam": lam, "C": C, "alpha": alpha}
        given = {name: value for name, value in strengths.items() if value is not None}
        if len(given) != 1:
            raise ValueError(
                "Give the strength as one of lam, C and alpha; lam=0 is the mean of the losses "
                "without a penalty."
            )
        ((name, strength),) = given.items()
        check_number(name, strength, minimum=0)
        loss = loss_of(loss, convex=False) if isinstance(loss, str) else loss
        design = design_of(X, self.n_features)
        weights = sample_weight_of(sample_weight, design)
        if isinstance(loss, MarginLoss):
            targets = signs_of(y, design.n_samples)
        else:
            targets = column_or_1d(validate(BaseEstimator(), X, y, regression=True)[1])
        if weights is not None and not weights.all():
            # Absent rows have no loss, also where that of the others would be infinite.
            kept = np.flatnonzero(weights)
            design, targets, weights = design.take(kept), targets[kept], weights[kept]
        penalty, factor = Penalty(l2=1.0), strength
        if name != "C":
            total = float(design.n_samples) if weights is None else float(weights.sum())
            penalty, factor = Penalty(l2=float(strength)), strength_of(0.0, total)
        objective = objective_of(design, targets, loss, penalty, C=factor, weights=weights)
        # Scores with exact signs: a point on the plane is one of the zero-one loss's mistakes.
        scores = exact_scores(design, self.w, self.b)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            return objective.value(self.theta, scores)

    def mse(self, X: Any, t: Any, *, sample_weight: Any = None) -> float:
        r"""The mean squared error of the scores as predictions of numbers.

        .. math:: \frac{\sum_i s_i\,(t_i - w \cdot x_i - b)^2}{\sum_i s_i}

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        t : array-like of shape (n_samples,)
            Numbers: of classes, -1 and +1.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0.

        Returns
        -------
        float

        Examples
        --------
        >>> from separatrix import Hyperplane
        >>> Hyperplane([2.0], 1.0).mse([[0.0], [1.0]], [1.0, 5.0])
        2.0
        """
        half = self.objective(X, t, SquaredResidual(), lam=0.0, sample_weight=sample_weight)
        return 2.0 * half

    # --- the planes beside it ---------------------------------------------------------------

    @property
    def margin_boundaries(self) -> tuple[Hyperplane, Hyperplane]:
        """The planes ``w.x + b = +1`` and ``w.x + b = -1``, each ``1/|w|`` away."""
        return Hyperplane(self.w, self.b - 1.0), Hyperplane(self.w, self.b + 1.0)

    @property
    def gap_width(self) -> float:
        """``2/|w|``: the distance between the two :attr:`margin_boundaries`."""
        w, _ = self._tame()
        largest = float(np.abs(self.w).max())
        try:
            return math.ldexp(2.0 / math.hypot(*w.tolist()), -math.frexp(largest)[1])
        except OverflowError:
            return math.inf

    # --- points on it, for drawing ----------------------------------------------------------

    @property
    def point(self) -> np.ndarray:
        """The point of the plane nearest to the origin: ``-b w / |w|^2``."""
        w, b = self._tame()
        norm = math.hypot(*w.tolist())
        # + 0.0: no entry is a negative zero.
        return -(b / norm) * (w / norm) + 0.0

    @property
    def basis(self) -> np.ndarray:
        """Orthonormal directions within the plane, shape (n_features - 1, n_features).

        With :attr:`point` they give every point of the plane: ``point + c @ basis``.
        """
        unit = self.unit
        # The reflection (Householder, 1958) that takes an axis to the normal takes the other
        # axes into the plane.  The axis of the largest entry, with its sign: nothing cancels.
        k = int(np.argmax(np.abs(unit)))
        v = unit.copy()
        v[k] += math.copysign(1.0, unit[k])
        out = np.eye(self.n_features)
        out -= np.outer(v, v * (2.0 / float(v @ v)))
        return np.delete(out, k, axis=0)

    def clip(self, lower: Any, upper: Any) -> np.ndarray:
        """The part of the plane inside a box, in one, two or three dimensions.

        Parameters
        ----------
        lower, upper : array-like of shape (n_features,)
            Corners of the box.

        Returns
        -------
        ndarray of shape (k, n_features)
            The ends of a segment in two dimensions; the vertices of a polygon in three, in order
            around it; none where the plane misses the box.

        Raises
        ------
        ValueError
            In more than three dimensions, or for a box that is none.

        Examples
        --------
        >>> from separatrix import Hyperplane
        >>> Hyperplane([1, 1], -1).clip([0, 0], [1, 2]).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        """
        d = self.n_features
        if d > 3:
            raise ValueError(
                f"A plane in {d} dimensions has no outline to draw; use point and basis, or draw "
                "signed_distance."
            )
        lower, upper = (np.asarray(v, dtype=np.float64) for v in (lower, upper))
        if not (
            lower.shape == upper.shape == (d,)
            and np.all(np.isfinite(lower) & np.isfinite(upper) & (lower <= upper))
        ):
            raise ValueError(f"lower and upper must be the two corners of a box in {d} dimensions.")
        corners = np.array(list(itertools.product(*zip(lower, upper, strict=True))))
        scores = exact_scores(as_design(corners), self.w, self.b)
        found = [corners[scores == 0.0]]
        for i, j in itertools.combinations(range(len(corners)), 2):
            # Edges differ in one bit of the number of their corners.
            if (i ^ j).bit_count() == 1 and min(scores[i], scores[j]) < 0.0 < max(
                scores[i], scores[j]
            ):
                # The halves keep the difference within range.
                a, c = scores[i] / 2, scores[j] / 2
                share = a / (a - c)
                found.append((corners[i] + share * (corners[j] - corners[i]))[None])
        points = np.unique(np.concatenate(found), axis=0)
        if d < 3 or len(points) < 4:
            return points
        flat = (points - points.mean(axis=0)) @ self.basis.T
        return points[np.argsort(np.arctan2(flat[:, 1], flat[:, 0]), kind="stable")]

    def plot(self, X: Any = None, y: Any = None, *, distances: bool = False, ax: Any = None) -> Any:
        """Draw the line or the plane with its normal vector, in two or three dimensions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            Points to draw.
        y : array-like of shape (n_samples,), optional
            Labels -1 and +1, or any two labels, of which the second in sorted order is positive.
        distances : bool, default=False
            Draw the way from each point to the hyperplane.
        ax : matplotlib Axes, optional
            The axes to draw on, three-dimensional (``projection="3d"``) for three features.

        Returns
        -------
        separatrix.plots.HyperplaneDisplay

        Raises
        ------
        MissingPackageError
            Without matplotlib.
        ValueError
            In other than two or three dimensions, or for points that do not fit.

        Examples
        --------
        >>> from separatrix import Hyperplane
        >>> display = Hyperplane([1, 1], -3).plot([[0, 0], [4, 2]], [-1, 1])
        >>> display.ax_.get_title()
        'x0 + x1 - 3 = 0'
        """
        # Pictures know hyperplanes, and not the other way round: they are found by name, at a call.
        display = import_module("separatrix.plots").HyperplaneDisplay
        return display.from_plane(self, X, y, distances=distances, ax=ax)

    # --- text -------------------------------------------------------------------------------

    def equation(self, names: Sequence[str] | None = None) -> str:
        """The equation as text.

        Parameters
        ----------
        names : sequence of n_features str, optional
            The names of the columns; default ``x0``, ``x1``, ...

        Examples
        --------
        >>> from separatrix import Hyperplane
        >>> Hyperplane([0.5, -2], 1).equation(["height", "width"])
        '0.5 height - 2 width + 1 = 0'
        """
        if names is not None and len(names) != self.n_features:
            raise ValueError(f"{len(names)} names do not fit {self.n_features} weights.")
        called = (lambda j: f"x{j}") if names is None else (lambda j: str(names[j]))
        return equation_of(self.w, called, self.b)

    def __str__(self) -> str:
        return self.equation()

    def __repr__(self) -> str:
        w = np.array2string(self.w, separator=", ", threshold=_SHOWN, edgeitems=3)
        return f"Hyperplane({' '.join(w.split())}, {self.b!r})"


def refuse_pipeline(model: Any, what: str) -> None:
    """Raise TypeError for a pipeline, whose planes are those of other coordinates."""
    if is_pipeline(model):
        raise TypeError(
            f"{type(model).__name__} is a pipeline, and {what} in the coordinates of the last "
            "step; pass model[-1], and rows transformed by model[:-1]."
        )


def equation_of(factors: np.ndarray, name: Callable[[int], str], constant: float) -> str:
    """A sum of terms and a constant, which is zero, as text; of many terms the largest ones."""
    kept = np.flatnonzero(factors)
    left_out = len(kept) - _SHOWN if len(kept) > _SHOWN + 1 else 0
    if left_out:
        largest = np.argsort(-np.abs(factors[kept]), kind="stable")[:_SHOWN]
        kept = np.sort(kept[largest])
    text = ""
    for j in kept.tolist():
        text = _add(text, float(factors[j]), name(j))
    if left_out:
        text += f" + ... ({left_out:,} smaller terms)"
    if constant or not text:
        text = _add(text, constant, "")
    return f"{text} = 0"


def _add(text: str, value: float, name: str) -> str:
    """One more term of an equation."""
    size = "" if name and abs(value) == 1.0 else f"{abs(value):.6g}"
    plus, minus = (" + ", " - ") if text else ("", "-")
    return text + (minus if value < 0 else plus) + f"{size} {name}".strip()


def plane_of(given: Any) -> Hyperplane | None:
    """A hyperplane, or a pair ``(w, b)`` as one; None for what is neither, a model say."""
    if isinstance(given, tuple) and len(given) == 2:
        return Hyperplane(*given)
    return given if isinstance(given, Hyperplane) else None


def design_of(X: Any, n_features: int | None = None) -> Design:
    """The design of points to look at, of ``n_features`` columns where that is given."""
    if isinstance(X, Design):
        X = X.matrix
    # As to fit: of names of columns nothing is expected here.
    matrix, _ = validate(BaseEstimator(), X, np.zeros(_num_samples(X), dtype=np.int8))
    if n_features is not None and matrix.shape[1] != n_features:
        raise ValueError(
            f"X has {matrix.shape[1]} columns, but the hyperplane has {n_features} weights."
        )
    return as_design(matrix)
