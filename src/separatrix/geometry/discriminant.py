"""Discriminants of classes, and the surfaces on which two of them are equal."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from separatrix.closed_form.gaussian import Gaussians, Names
from separatrix.data.design import dense
from separatrix.data.validation import check_number
from separatrix.geometry.conic import clip_conic
from separatrix.geometry.hyperplane import Hyperplane, design_of, equation_of, refuse_pipeline

# Relative to the largest of its kind, an eigenvalue or an offset that is zero but for rounding.
_ZERO = 1e-11
# Boundaries that are printed.
_MOST_PRINTED = 8


@dataclass(frozen=True, eq=False, repr=False)
class Quadric:
    r"""The points where :math:`u'Au + b'u + c = 0`, :math:`u = x - o`, and its two sides.

    Without an origin :math:`o`, simply :math:`x'Ax + b'x + c = 0`.  An origin among the points
    keeps their digits where they are far from zero.

    Parameters
    ----------
    A : array-like of shape (n_features, n_features)
        The matrix of the quadratic terms; only its symmetric part is used.
    b : array-like of shape (n_features,)
    c : float
    origin : array-like of shape (n_features,), optional

    Raises
    ------
    ValueError
        If the shapes do not fit, or a number is NaN or infinite.

    Examples
    --------
    >>> from separatrix.geometry import Quadric
    >>> circle = Quadric([[1, 0], [0, 1]], [0, 0], -4)
    >>> print(circle)
    x0^2 + x1^2 - 4 = 0
    >>> circle.kind
    'ellipse'
    >>> circle.decision([[0, 0], [2, 0], [3, 0]]).tolist()
    [-4.0, 0.0, 5.0]
    """

    A: np.ndarray
    b: np.ndarray
    c: float
    origin: np.ndarray | None = None

    def __post_init__(self) -> None:
        A = np.array(self.A, dtype=np.float64)
        b = np.array(self.b, dtype=np.float64)
        if A.ndim != 2 or A.shape[0] != A.shape[1] or b.shape != A.shape[:1] or not len(b):
            raise ValueError(
                "A must be a square matrix and b a vector of the same length; their shapes are "
                f"{A.shape} and {b.shape}."
            )
        A = 0.5 * A + 0.5 * A.T
        origin = np.zeros(len(b)) if self.origin is None else np.array(self.origin, dtype=float)
        if origin.shape != b.shape:
            raise ValueError(
                f"origin must be a point in {len(b)} dimensions; its shape is {origin.shape}."
            )
        for name, value in (("A", A), ("b", b), ("origin", origin)):
            if not np.all(np.isfinite(value)):
                raise ValueError(f"{name} holds NaN or infinity; a quadric needs finite numbers.")
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        check_number("c", self.c)
        object.__setattr__(self, "c", float(self.c))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.A, self.b, self.c, self.origin)

    @property
    def n_features(self) -> int:
        """The number of features, which is the dimension of the space."""
        return len(self.b)

    def expanded(self) -> Quadric:
        """The same quadric written about zero: ``x'Ax + b'x + c = 0``."""
        assert self.origin is not None
        half = self.A @ self.origin
        return Quadric(self.A, self.b - 2.0 * half, self.c + float((half - self.b) @ self.origin))

    def decision(self, X: Any) -> np.ndarray:
        """``x'Ax + b'x + c`` of every row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        design = design_of(X, self.n_features)
        out = np.empty(design.n_samples)
        for part, block in design.blocks():
            u = block - self.origin
            out[part] = np.einsum("ij,ij->i", u @ self.A + self.b, u)
        out += self.c
        return out

    def side(self, X: Any) -> np.ndarray:
        """+1 or -1 by the sign of :meth:`decision`; a point on the surface is +1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        return np.where(self.decision(X) >= 0.0, 1, -1)

    @property
    def kind(self) -> str:
        """The kind of the surface, to rounding.

        In two dimensions it is ``"ellipse"``, ``"hyperbola"``, ``"parabola"``,
        ``"pair of lines"``, ``"line"``, ``"point"``, ``"empty"`` or ``"everything"``.  In one
        dimension it is ``"two points"``, ``"point"``, ``"empty"`` or ``"everything"``.  In more
        dimensions it is ``"ellipsoid"``, ``"hyperboloid"``, ``"cone"``, ``"paraboloid"``,
        ``"cylinder"``, ``"pair of planes"``, ``"plane"``, ``"point"``, ``"empty"`` or
        ``"everything"``.
        """
        d = self.n_features
        scale = _balance(self.A, self.b)
        A = self.A * scale[:, None] * scale
        b = self.b * scale
        # The equation over a number changes nothing.
        size = max(float(np.abs(A).max()), float(np.abs(b).max()), abs(self.c))
        if size == 0.0:
            return "everything"
        A, b, c = A / size, b / size, self.c / size
        values, vectors = np.linalg.eigh(A)
        slopes = vectors.T @ b
        curved = np.abs(values) > _ZERO * max(np.abs(values).max(), _ZERO)
        rank = int(curved.sum())
        shifts = slopes[curved] ** 2 / (4.0 * values[curved])
        height = c - float(shifts.sum())
        if abs(height) <= _ZERO * (abs(c) + float(np.abs(shifts).sum())):
            height = 0.0
        flat = slopes[~curved]
        tilted = bool(np.any(np.abs(flat) > 1e3 * _ZERO * max(np.abs(slopes).max(), abs(c))))
        if rank == 0:
            if tilted:
                return {1: "point", 2: "line"}.get(d, "plane")
            return "everything" if height == 0.0 else "empty"
        if rank < d and tilted:
            return "parabola" if d == 2 else "paraboloid"
        signs = np.sign(values[curved])
        if np.all(signs == signs[0]):
            if height * signs[0] > 0:
                return "empty"
            if rank == 1:
                names = {1: ("point", "two points"), 2: ("line", "pair of lines")}
                return names.get(d, ("plane", "pair of planes"))[int(height != 0.0)]
            if rank < d:
                return "line" if height == 0.0 and rank == d - 1 else "cylinder"
            return "point" if height == 0.0 else {2: "ellipse"}.get(d, "ellipsoid")
        if height == 0.0 and rank == 2:
            return "pair of lines" if d == 2 else "pair of planes"
        if rank < d:
            return "cylinder"
        if height == 0.0:
            return "cone"
        return "hyperbola" if d == 2 else "hyperboloid"

    def clip(self, lower: Any, upper: Any) -> list[np.ndarray]:
        """The part of the conic inside a box, in two dimensions.

        Parameters
        ----------
        lower, upper : array-like of shape (2,)
            Corners of the box.

        Returns
        -------
        list of ndarray of shape (k, 2)
            Polylines with their vertices on the conic, dense enough that no chord between two of
            them is off it by more than 1/2000 of the box; straight parts have two vertices, a
            closed curve ends at its first vertex, and a conic of one point is an array of one
            row.  Ends are exactly on the edges of the box.  None where the conic misses the box,
            and none for the equation 0 = 0, which has no outline.

        Raises
        ------
        ValueError
            In other than two dimensions, for a box that is none, or beyond the range of floats.

        Examples
        --------
        >>> from separatrix.geometry import Quadric
        >>> (half,) = Quadric([[1, 0], [0, 1]], [0, 0], -1).clip([0, -2], [2, 2])
        >>> sorted(half[[0, -1]].tolist()), bool(abs((half**2).sum(axis=1) - 1).max() < 1e-14)
        ([[0.0, -1.0], [0.0, 1.0]], True)
        """
        if self.n_features != 2:
            raise ValueError(
                f"A quadric in {self.n_features} dimensions has no outline to draw; only a conic, "
                "in two dimensions, has."
            )
        lower, upper = (np.asarray(v, dtype=np.float64) for v in (lower, upper))
        if not (
            lower.shape == upper.shape == (2,)
            and np.all(np.isfinite(lower) & np.isfinite(upper) & (lower < upper))
        ):
            raise ValueError(
                "lower and upper must be two corners of a box in 2 dimensions, the first below "
                "the second in both."
            )
        assert self.origin is not None
        return clip_conic(self.A, self.b, self.c, self.origin, lower, upper)

    def equation(self, names: Sequence[str] | None = None) -> str:
        """The equation as text, about zero.

        Parameters
        ----------
        names : sequence of n_features str, optional
            The names of the columns; default ``x0``, ``x1``, ...
        """
        d = self.n_features
        if names is not None and len(names) != d:
            raise ValueError(f"{len(names)} names do not fit {d} columns.")
        called = [f"x{j}" for j in range(d)] if names is None else [str(n) for n in names]
        whole = self.expanded()
        first, second = np.triu_indices(d)
        squares = whole.A[first, second] * np.where(first == second, 1.0, 2.0)
        terms = [
            f"{called[i]}^2" if i == j else f"{called[i]} {called[j]}"
            for i, j in zip(first.tolist(), second.tolist(), strict=True)
        ]
        terms += called
        return equation_of(np.concatenate([squares, whole.b]), terms.__getitem__, whole.c)

    def __str__(self) -> str:
        return self.equation()

    def __repr__(self) -> str:
        return f"Quadric({self.n_features} dimensions: {self.equation()})"


def _balance(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Powers of two that bring the largest entry of every row of ``A`` near one (Ruiz, 2001)."""
    size = np.abs(A)
    scale = np.ones(len(A))
    for _ in range(10):
        with np.errstate(under="ignore", over="ignore"):
            largest = (size * scale * scale[:, None]).max(axis=1)
        step = np.where(largest > 0, largest, 1.0)
        scale = scale * np.exp2(-np.round(0.5 * np.log2(step)))
    # Columns that are in no product have the unit that makes their slope one.
    alone = (size.max(axis=1) == 0.0) & (b != 0.0)
    scale[alone] = np.exp2(-np.round(np.log2(np.abs(b[alone]))))
    return scale


def _covariance_of(model: Any) -> Any:
    """The covariance of a model of Gaussians, or of each class; None of any other."""
    if not (hasattr(model, "means_") and hasattr(model, "priors_")):
        return None
    covariance = getattr(model, "covariance_", None)
    if covariance is None and hasattr(model, "rotations_"):
        pairs = zip(model.rotations_, model.scalings_, strict=True)
        covariance = [(rotation * scaling) @ rotation.T for rotation, scaling in pairs]
    return covariance


@dataclass(frozen=True, eq=False, repr=False)
class Discriminant:
    r"""Discriminants :math:`\delta_k(x)` of K classes; the largest wins.

    The discriminants are those of Gaussians, with a covariance for each class (quadratic
    discriminant analysis) or one for all (linear), or the scores of any linear model.  The
    boundary of two classes is where their discriminants are equal; where a third is larger, it
    decides nothing.

    Parameters
    ----------
    means : array-like of shape (K, n_features)
    covariance : array-like of shape (n_features, n_features), or (K, n_features, n_features)
    priors : array-like of shape (K,), optional
        Positive, with sum 1; equal by default.
    classes : sequence of K labels, optional
        Default 0, 1, ...
    names : sequence of n_features str, optional
        The names of the columns.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a covariance is singular.

    Examples
    --------
    >>> from separatrix.geometry import Discriminant
    >>> same = Discriminant([[0, 0], [2, 0]], [[1, 0], [0, 1]])
    >>> print(same.boundary(1, 0))
    2 x0 - 2 = 0
    >>> each = Discriminant([[0, 0], [2, 0]], [[[1, 0], [0, 1]], [[4, 0], [0, 4]]])
    >>> each.boundary(1, 0).kind, each.predict([[0, 0], [3, 0]]).tolist()
    ('ellipse', [0, 1])
    """

    means: Any
    covariance: Any
    priors: Any = None
    classes: Any = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.means is None:
            return
        means = np.array(self.means, dtype=np.float64)
        covariance = np.array(self.covariance, dtype=np.float64)
        if means.ndim != 2 or len(means) < 2 or not means.shape[1]:
            raise ValueError(
                "means must have one row for each class, and at least two; its shape is "
                f"{means.shape}."
            )
        k, p = means.shape
        if covariance.shape not in ((p, p), (k, p, p)):
            raise ValueError(
                f"covariance must have the shape {(p, p)} or {(k, p, p)} to go with means; its "
                f"shape is {covariance.shape}."
            )
        priors = np.full(k, 1.0 / k) if self.priors is None else np.array(self.priors, dtype=float)
        if priors.shape != (k,) or not np.all(priors > 0) or abs(priors.sum() - 1.0) > 1e-6:
            raise ValueError(f"priors must be {k} positive numbers that sum to 1.")
        for name, value in (("means", means), ("covariance", covariance)):
            if not np.all(np.isfinite(value)):
                raise ValueError(f"{name} holds NaN or infinity.")
        classes = self._checked(self.classes, self.names, k, p)
        names = Names(self.names, classes)
        own = Gaussians.of(means, covariance, priors / priors.sum(), None, names)
        self._settle(own, classes)

    @staticmethod
    def _checked(classes: Any, names: Any, k: int, p: int) -> np.ndarray:
        labels = np.arange(k) if classes is None else np.asarray(classes)
        if labels.shape != (k,) or len(set(labels.tolist())) < k:
            raise ValueError(f"classes must be {k} different labels.")
        if names is not None and len(names) != p:
            raise ValueError(f"{len(names)} names do not fit {p} columns.")
        return labels

    def _settle(self, own: Gaussians, classes: np.ndarray) -> None:
        for name in ("means", "covariance", "priors"):
            object.__setattr__(self, name, getattr(own, name))
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "_gaussians", own)
        planes = own.linear[2:] if own.pooled else None
        object.__setattr__(self, "_planes", planes)

    @classmethod
    def from_linear(
        cls, coef: Any, intercept: Any, classes: Any = None, names: Any = None
    ) -> Discriminant:
        """Build the discriminant of scores ``coef_k . x + intercept_k``.

        Parameters
        ----------
        coef : array-like of shape (K, n_features), or (1, n_features) for two classes
            A single row is the difference of the second class and the first.
        intercept : array-like of shape (K,), or (1,)
        classes, names : sequence, optional
        """
        coef = np.atleast_2d(np.array(coef, dtype=np.float64))
        intercept = np.atleast_1d(np.array(intercept, dtype=np.float64))
        if coef.ndim != 2 or intercept.shape != (len(coef),) or not coef.shape[1]:
            raise ValueError(
                f"coef and intercept must have one row for each class; their shapes are "
                f"{coef.shape} and {intercept.shape}."
            )
        if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
            raise ValueError("coef and intercept must be finite.")
        if len(coef) == 1:
            coef = np.concatenate([np.zeros_like(coef), coef])
            intercept = np.concatenate([np.zeros(1), intercept])
        out = cls(None, None, None, None, names)
        object.__setattr__(out, "classes", cls._checked(classes, names, *coef.shape))
        object.__setattr__(out, "_gaussians", None)
        object.__setattr__(out, "_planes", (coef, intercept))
        return out

    @classmethod
    def from_model(cls, model: Any) -> Discriminant:
        """Build the discriminant of a fitted model, of any library.

        Parameters
        ----------
        model : object
            With ``means_``, ``covariance_`` and ``priors_`` (or scikit-learn's ``rotations_`` and
            ``scalings_``), or with ``coef_`` and ``intercept_`` with a row for each class, or one
            for two classes.

        Raises
        ------
        TypeError
            For a model without such attributes.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from separatrix import QuadraticDiscriminantAnalysis
        >>> from separatrix.geometry import Discriminant
        >>> X, y = load_iris(return_X_y=True)
        >>> model = QuadraticDiscriminantAnalysis().fit(X[:, :2], y)
        >>> Discriminant.from_model(model).boundary(0, 1).kind
        'hyperbola'
        """
        name = type(model).__name__
        refuse_pipeline(model, "its discriminants are")
        if hasattr(model, "fit"):
            check_is_fitted(model)
        columns = getattr(model, "feature_names_in_", None)
        names = None if columns is None else [str(c) for c in columns]
        classes = getattr(model, "classes_", None)
        linear = hasattr(model, "coef_") and hasattr(model, "intercept_")
        centred = hasattr(model, "centred_coef_")
        covariance = _covariance_of(model) if centred or not linear else None
        if covariance is not None:
            kept = getattr(model, "independent_columns_", None)
            own = cls._of(model.means_, covariance, model.priors_, kept, classes, names)
            if centred:
                planes = (model.centred_coef_, model.centred_intercept_)
                object.__setattr__(own, "_planes", planes)
            return own
        if centred:
            return cls.from_linear(model.centred_coef_, model.centred_intercept_, classes, names)
        if not linear:
            raise TypeError(
                f"{name} has neither means_, covariance_ and priors_ nor coef_ and intercept_, so "
                "it has no discriminants."
            )
        coef = dense(model.coef_)
        coef = np.atleast_2d(coef)
        intercept = np.broadcast_to(np.atleast_1d(model.intercept_), (len(coef),))
        k = None if classes is None else len(classes)
        # Support vector machines with kernels vote by pairs, of which three classes have three.
        voting = k is not None and k > 2 and hasattr(model, "dual_coef_")
        if voting or (k is not None and len(coef) != (1 if k == 2 and len(coef) == 1 else k)):
            raise TypeError(
                f"coef_ of {name} has {len(coef)} rows for {k} classes; discriminants need one row "
                "for each class."
            )
        return cls.from_linear(coef, intercept, classes, names)

    @classmethod
    def _of(
        cls, means: Any, covariance: Any, priors: Any, kept: Any, classes: Any, names: Any
    ) -> Discriminant:
        out = cls(None, None, None, None, names)
        labels = cls._checked(classes, names, *np.shape(means))
        own = Gaussians.of(means, np.asarray(covariance), priors, kept, Names(names, labels))
        out._settle(own, labels)
        return out

    # --- what it is -------------------------------------------------------------------------

    @property
    def linear(self) -> bool:
        """Whether all boundaries are hyperplanes."""
        return self._planes is not None  # type: ignore[attr-defined]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def n_features(self) -> int:
        """The number of features, which is the dimension of the space of the classes."""
        if self.linear:
            return int(self._planes[0].shape[1])  # type: ignore[attr-defined]
        return int(self.means.shape[1])

    def decision(self, X: Any) -> np.ndarray:
        """The discriminants, up to what is the same for all classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
        """
        design = design_of(X, self.n_features)
        if not self.linear:
            return self._gaussians.discriminants(design)  # type: ignore[attr-defined]
        coef, intercept = self._planes  # type: ignore[attr-defined]
        out = design.dot(np.ascontiguousarray(coef.T))
        out += intercept
        return out

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest discriminant; of equal ones the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return np.asarray(self.classes[self.decision(X).argmax(axis=1)])

    def _position(self, label: Any) -> int:
        found = [k for k, c in enumerate(self.classes.tolist()) if c == label]
        if not found:
            raise ValueError(
                f"{label!r} is not one of the classes, which are {self.classes.tolist()!r}."
            )
        return found[0]

    def boundary(self, first: Any, second: Any) -> Hyperplane | Quadric:
        """The surface where two discriminants are equal; ``first`` wins on the positive side.

        Parameters
        ----------
        first, second : labels

        Returns
        -------
        Hyperplane or Quadric
            Its ``decision`` is the difference of the two discriminants.

        Raises
        ------
        ValueError
            For labels that are no classes, or twice the same.
        """
        i, j = self._position(first), self._position(second)
        if i == j:
            raise ValueError(f"A boundary is between two classes; both are {first!r}.")
        if self.linear:
            coef, intercept = self._planes  # type: ignore[attr-defined]
            return Hyperplane(coef[i] - coef[j], float(intercept[i] - intercept[j]))
        origin = self.means[i] + 0.5 * (self.means[j] - self.means[i])
        (A, b, c), (other_A, other_b, other_c) = self._about(i, origin), self._about(j, origin)
        return Quadric(A - other_A, b - other_b, c - other_c, origin)

    def coefficients(self, label: Any) -> tuple[np.ndarray, np.ndarray, float]:
        r"""The coefficients of a class's discriminant, :math:`\delta_k(x) = x'A_k x + b_k'x + c_k`.

        For Gaussians with a covariance for each class they are

        .. math:: A_k = -\tfrac12 \Sigma_k^{-1}, \qquad b_k = \Sigma_k^{-1} \mu_k, \qquad
            c_k = -\tfrac12 \mu_k' \Sigma_k^{-1} \mu_k - \tfrac12 \log |\Sigma_k| + \log \pi_k ,

        the logarithm of prior times density less :math:`-\tfrac p2 \log 2\pi`, which all classes
        share.  Linear discriminants have :math:`A_k = 0`, and :math:`b_k` and :math:`c_k` are the
        weights and the intercept, up to terms that all classes share.  Columns that depend on
        others have coefficients of zero.  Where the means are large against the spread, terms
        about zero cancel, and :meth:`decision` has more digits.

        Parameters
        ----------
        label : label
            The class.

        Returns
        -------
        A : ndarray of shape (n_features, n_features)
        b : ndarray of shape (n_features,)
        c : float

        Raises
        ------
        ValueError
            For a label that is no class.

        Examples
        --------
        >>> from separatrix.geometry import Discriminant
        >>> two = Discriminant([[0, 0], [2, 0]], [[[1, 0], [0, 1]], [[4, 0], [0, 4]]])
        >>> A, b, c = two.coefficients(1)
        >>> A.tolist(), b.tolist(), round(c, 4)
        ([[-0.125, 0.0], [0.0, -0.125]], [0.5, 0.0], -2.5794)
        """
        k = self._position(label)
        if self.linear:
            coef, intercept = self._planes  # type: ignore[attr-defined]
            return np.zeros((self.n_features,) * 2), coef[k].copy(), float(intercept[k])
        return self._about(k, np.zeros(self.n_features))

    def _about(self, k: int, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The coefficients of a discriminant of Gaussians about an origin."""
        own: Gaussians = self._gaussians  # type: ignore[attr-defined]
        p, kept, factor = own.n_features, own.kept, own.factor(k)
        A, b = np.zeros((p, p)), np.zeros(p)
        step = (own.means[k] - origin)[kept]
        A[np.ix_(kept, kept)] -= 0.5 * factor.inverse()
        b[kept] = factor.solve(step[:, None])[:, 0]
        c = np.log(own.priors[k]) - 0.5 * (float(step @ b[kept]) + factor.log_determinant)
        return A, b, float(c)

    def boundaries(self) -> dict[tuple[Any, Any], Hyperplane | Quadric]:
        """The boundaries of all pairs of classes."""
        pairs = itertools.combinations(self.classes.tolist(), 2)
        return {(first, second): self.boundary(first, second) for first, second in pairs}

    def __str__(self) -> str:
        pairs = list(itertools.combinations(self.classes.tolist(), 2))
        lines = [
            f"{first} over {second}: {self.boundary(first, second).equation(self.names)}"
            for first, second in pairs[:_MOST_PRINTED]
        ]
        if len(pairs) > _MOST_PRINTED:
            lines.append(f"... ({len(pairs) - _MOST_PRINTED:,} more pairs)")
        return "\n".join(lines)

    def __repr__(self) -> str:
        kind = "linear" if self.linear else "quadratic"
        return f"Discriminant({kind}, {self.n_classes} classes, {self.n_features} columns)"
