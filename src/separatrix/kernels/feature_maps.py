r"""Approximate lifts: few coordinates whose scalar products are nearly those of a kernel.

A linear method on such coordinates costs what linear methods cost, whatever the number of points,
where a method on the kernel's matrix costs its square.

====================  =================  ======================================================
lift                  of which kernels   what it is
====================  =================  ======================================================
:class:`NystroemLift` every semidefinite the true lift, projected on the span of a few landmarks
:class:`FourierLift`  the Gaussian       waves of random frequencies
====================  =================  ======================================================

The lift by landmarks follows the data and is the better one for as many coordinates, as a rule;
the waves know nothing of the data and are the cheaper ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.data import rules
from separatrix.data.design import require_in_range
from separatrix.data.random_state import random_state_of
from separatrix.data.validation import check_number, require_finite
from separatrix.kernels.functions import (
    CallableKernel,
    Kernel,
    PrecomputedKernel,
    RBFKernel,
    check_kernel,
    tuned,
)

# Candidates that are drawn at once.  A product with this many columns runs at the speed of BLAS,
# and the few that are drawn in vain cost no more than their scalar products with one another.
_DRAWN = 128
# The share of k(x, x) below which what is left unexplained is rounding: some hundred times the
# unit of a sum of as many squares as there are landmarks.
_ROUNDING = 1e-13
# The share by which it may fall below zero in a kernel that is a scalar product.
_NEGATIVE = 1e-6


_COMMON: rules.Rules = {
    "n_features_in_": rules.whole(1),
    "feature_names_in_": rules.names,
    "n_components_": rules.whole(),
}


class _Lift(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """The base of the lifts: validation, row blocks, scikit-learn's contract."""

    def _validate(self, X: Any, *, reset: bool) -> Any:
        x = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        if sp.issparse(x):
            require_in_range(x)
        require_finite(x, getattr(self, "feature_names_in_", None))
        return x

    def _blocks(self, x: Any, width: int) -> Iterator[slice]:
        size = max(1, tuned.now.block // (8 * max(1, width, 1 if sp.issparse(x) else x.shape[1])))
        for start in range(0, x.shape[0], size):
            yield slice(start, min(start + size, x.shape[0]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NystroemLift(_Lift):
    r"""The lift of a kernel, projected on the span of some of the points: the landmarks.

    With the landmarks :math:`l_1, \dots, l_m`, their matrix :math:`K_{mm} = L L^\top` and
    :math:`k_m(x) = (k(l_j, x))_j`,

    .. math:: \hat\varphi(x) = L^{-1} k_m(x), \qquad
        \hat\varphi(x) \cdot \hat\varphi(z) = k_m(x)^\top K_{mm}^{-1} k_m(z) .

    A projection only shortens: :math:`K - \hat K` is positive semidefinite, the approximation is
    exact at every landmark, and nowhere further off than
    :math:`|k - \hat k|(x, z) \le \sqrt{r(x)\, r(z)}`, with the unexplained rest
    :math:`r(x) = k(x, x) - \|\hat\varphi(x)\|^2` (see :meth:`unexplained`).

    A hyperplane in these coordinates is a function in the space of the true kernel, with the same
    norm (see :meth:`coefficients`): a machine trained here solves the true problem, restricted to
    such functions.

    The landmarks are drawn one after another, each with a probability proportional to what those
    before leave unexplained of it, :math:`r(x_i)` (randomly pivoted Cholesky).  Candidates are
    drawn by the hundred and thinned out by rejection, which changes nothing in that distribution
    and makes the work products of matrices; the whole matrix of the kernel is never formed.
    Where nothing is left to explain but rounding, there are no further landmarks:
    ``n_components_`` is then the rank of the kernel's matrix.  With the same seed, fewer landmarks
    are the first of more, and so are the coordinates.

    Parameters
    ----------
    kernel : Kernel, optional
        A kernel of :mod:`separatrix.kernels`; by default ``RBFKernel()``.  It must be
        semidefinite, which a ``CallableKernel`` is assumed to be until a value shows otherwise.
    n_components : int, default=1000
        The largest number of landmarks, and so of columns.
    random_state : int, RandomState or None
        None is a fixed stream: the same call on the same data gives the same bits.

    Attributes
    ----------
    kernel_ : Kernel
    n_components_ : int
        The number of landmarks: ``n_components`` in the shapes here.
    landmarks_ : ndarray of shape (n_components,)
        Their row numbers, in the order in which they were drawn.
    landmark_points_ : ndarray or CSR matrix of shape (n_components, n_features)
    factor_ : ndarray of shape (n_components, n_components)
        ``L``, lower triangular, with ``L L' = K_mm``.
    unexplained_ : float
        The share of ``sum_i k(x_i, x_i)`` over the training rows that is not explained.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the columns, if they had any.

    Notes
    -----
    Memory is that of one matrix of shape (n_samples, n_components), in ``fit`` as in
    ``transform``; the work is ``O(n m^2)`` and ``n m`` values of the kernel.

    References
    ----------
    Williams and Seeger (2001), Using the Nyström method to speed up kernel machines.  Chen,
    Epperly, Tropp and Webber (2023), Randomly pivoted Cholesky: practical approximation of a
    kernel matrix with few entry evaluations.  Epperly, Tropp and Webber (2024), Embrace
    rejection: kernel matrix approximation by accelerated randomly pivoted Cholesky.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.kernels.functions import PolynomialKernel
    >>> from separatrix.kernels.feature_maps import NystroemLift
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> kernel = PolynomialKernel(degree=2, coef0=1)
    >>> lift = NystroemLift(kernel, n_components=100, random_state=0).fit(X)

    The kernel has six monomials, and that many landmarks span them all:

    >>> lift.n_components_, lift.unexplained_
    (6, 0.0)
    >>> L = lift.transform(X)
    >>> bool(np.allclose(L @ L.T, kernel(X)))
    True
    """

    _attributes: ClassVar[rules.Rules] = {
        **_COMMON,
        "kernel_": check_kernel,
        "landmarks_": rules.whole_array("components"),
        "landmark_points_": rules.points("components"),
        "factor_": rules.array("components", "components"),
        "unexplained_": rules.number(low=0.0),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NystroemLift:
        """Choose the landmarks.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Choose the landmarks and lift the training rows, in one go.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        coordinates = self._fit(X)
        # A view would keep the memory of all columns that were provided for.
        m = self.n_components_
        return coordinates if coordinates.shape[1] == m else coordinates[:, :m].copy()

    def _fit(self, X: Any) -> np.ndarray:
        check_number("n_components", self.n_components, minimum=1, integer=True)
        kernel = self._semidefinite_kernel()
        rng = random_state_of(self.random_state)
        x = self._validate(X, reset=True)
        n = x.shape[0]
        most = min(int(self.n_components), n)

        whole = kernel.diagonal(x)
        self._require_scalar_product(kernel, whole, whole)
        rest = whole.copy()
        coordinates = np.empty((n, most))
        landmarks = np.empty(0, dtype=np.intp)
        while len(landmarks) < most:
            rest[rest <= _ROUNDING * whole] = 0.0
            total = np.cumsum(rest)
            if not len(total) or total[-1] <= 0.0:
                break
            draws = rng.random_sample(_DRAWN) * total[-1]
            drawn = np.minimum(np.searchsorted(total, draws, side="right"), n - 1)
            taken, factor = _thinned(
                _unexplained_products(kernel, x, coordinates, drawn, len(landmarks)),
                rest[drawn],
                rng.random_sample(_DRAWN),
                _ROUNDING * whole[drawn],
                most - len(landmarks),
            )
            if not len(taken):
                # The first is rejected only where rounding disagrees about what is left of it.
                rest[drawn[0]] = 0.0
                continue
            fresh = drawn[taken]
            self._extend(kernel, x, coordinates, rest, fresh, factor, len(landmarks))
            landmarks = np.concatenate([landmarks, fresh])
            rest[landmarks] = 0.0
            self._require_scalar_product(kernel, rest, whole)

        m = len(landmarks)
        size = float(whole.sum())
        rest[rest <= _ROUNDING * whole] = 0.0
        self.kernel_ = kernel
        self.n_components_ = m
        self.landmarks_ = landmarks
        self.landmark_points_ = x[landmarks]
        # The rounding above the diagonal is no part of the factor.
        self.factor_ = np.tril(coordinates[landmarks, :m])
        self.unexplained_ = float(rest.sum()) / size if size > 0.0 else 0.0
        return coordinates

    def _extend(
        self,
        kernel: Kernel,
        x: Any,
        coordinates: np.ndarray,
        rest: np.ndarray,
        fresh: np.ndarray,
        factor: np.ndarray,
        known: int,
    ) -> None:
        """Coordinates of all rows along the fresh landmarks, and what is then left of them."""
        points = x[fresh]
        before = coordinates[fresh, :known]
        new = slice(known, known + len(fresh))
        for rows in self._blocks(x, len(fresh)):
            block = kernel(x[rows], points)
            block -= coordinates[rows, :known] @ before.T
            block = _solved(factor, block)
            coordinates[rows, new] = block
            rest[rows] -= np.einsum("ij,ij->i", block, block)
        # The fresh rows are as they were factorised; those above may differ from them by rounding.
        coordinates[fresh, new] = factor

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_components), float64
        """
        check_is_fitted(self)
        x = self._validate(X, reset=False)
        out = np.empty((x.shape[0], self.n_components_))
        if self.n_components_:
            for rows in self._blocks(x, self.n_components_):
                out[rows] = _solved(self.factor_, self.kernel_(x[rows], self.landmark_points_))
        return out

    def coefficients(self, w: Any) -> np.ndarray:
        r"""A function of the coordinates as a sum over the landmarks.

        .. math:: w \cdot \hat\varphi(x) = \sum_j \beta_j k(l_j, x), \qquad
            \beta = L^{-\top} w, \qquad \beta^\top K_{mm} \beta = \|w\|^2 .

        So it belongs to the space of the true kernel, and has the norm there that it has here.

        Parameters
        ----------
        w : array-like of shape (n_components,) or (n_functions, n_components)

        Returns
        -------
        ndarray of the shape of ``w``
        """
        check_is_fitted(self)
        w = np.asarray(w, dtype=np.float64)
        if w.ndim not in (1, 2) or w.shape[-1] != self.n_components_:
            raise ValueError(
                f"w has the shape {w.shape}, but must have {self.n_components_} coefficients, one "
                "for each column of the lift."
            )
        if not w.size:
            return np.array(w)
        return scipy.linalg.solve_triangular(self.factor_, w.T, lower=True, trans="T").T

    def unexplained(self, X: Any) -> np.ndarray:
        r"""The part of :math:`k(x, x)` that the landmarks leave unexplained.

        .. math:: r(x) = k(x, x) - \|\hat\varphi(x)\|^2 \ge 0 ,

        the squared distance of the true lift of x to the span of the landmarks', which bounds the
        error of the approximate kernel by
        :math:`0 \le |k(x, z) - \hat\varphi(x) \cdot \hat\varphi(z)| \le \sqrt{r(x)\, r(z)}`.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,)
            Not negative, whatever rounding makes of it.
        """
        check_is_fitted(self)
        x = self._validate(X, reset=False)
        rest = self.kernel_.diagonal(x)
        for rows in self._blocks(x, self.n_components_):
            block = self.transform(x[rows])
            rest[rows] -= np.einsum("ij,ij->i", block, block)
        return np.maximum(rest, 0.0)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _semidefinite_kernel(self) -> Kernel:
        kernel = RBFKernel() if self.kernel is None else self.kernel
        if not isinstance(kernel, Kernel):
            raise TypeError(
                f"kernel={kernel!r} must be a kernel of separatrix.kernels, such as RBFKernel(); "
                "pass a function as CallableKernel(function)."
            )
        if isinstance(kernel, PrecomputedKernel):
            raise TypeError(
                "A precomputed kernel matrix has no points from which to choose landmarks; give "
                "the kernel itself."
            )
        if not kernel.semidefinite and not isinstance(kernel, CallableKernel):
            raise ValueError(
                f"{kernel.formula} is not positive semidefinite in general, and only such a kernel "
                "has a lift to approximate."
            )
        return kernel

    @staticmethod
    def _require_scalar_product(kernel: Kernel, rest: np.ndarray, whole: np.ndarray) -> None:
        wrong = np.flatnonzero(rest < -_NEGATIVE * np.abs(whole))
        if len(wrong):
            raise ValueError(
                f"{kernel.formula} is not positive semidefinite (row {wrong[0]} would have a "
                "negative squared norm), so that it has no lift to approximate."
            )


def _solved(factor: np.ndarray, block: np.ndarray) -> np.ndarray:
    """``block L^{-T}``: each row solved for; overwrites ``block``."""
    return scipy.linalg.solve_triangular(
        factor, block.T, lower=True, overwrite_b=True, check_finite=False
    ).T


def _unexplained_products(
    kernel: Kernel, x: Any, coordinates: np.ndarray, rows: np.ndarray, known: int
) -> np.ndarray:
    """Return the kernel matrix of some rows less the part that their coordinates explain."""
    part = coordinates[rows, :known]
    return kernel(x[rows]) - part @ part.T


def _thinned(
    products: np.ndarray,
    weights: np.ndarray,
    chances: np.ndarray,
    rounding: np.ndarray,
    most: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Candidates drawn by what was left of them, thinned to draws by what is left now.

    A candidate was drawn with a probability proportional to its weight, its rest before this
    round.  Kept with the probability (rest now) / weight, it is one drawn in proportion to its
    rest now, which those kept before it have made smaller.

    Returns
    -------
    taken : ndarray of int
        Places of those that are kept.
    factor : ndarray of shape (n_taken, n_taken)
        The Cholesky factor of their matrix.
    """
    left = products.copy()
    columns = np.zeros_like(left)
    taken: list[int] = []
    for i in range(len(left)):
        if len(taken) == most:
            break
        # Not "less": where the rest is the weight, it is kept for certain.
        if left[i, i] <= rounding[i] or chances[i] * weights[i] >= left[i, i]:
            continue
        column = left[i:, i] / np.sqrt(left[i, i])
        columns[i:, len(taken)] = column
        left[i:, i:] -= np.outer(column, column)
        taken.append(i)
    places = np.array(taken, dtype=np.intp)
    return places, np.tril(columns[places, : len(places)])


class FourierLift(_Lift):
    r"""Waves of random frequencies: an approximate lift of the Gaussian kernel.

    With :math:`m / 2` frequencies :math:`\omega_j` drawn from the normal distribution of
    covariance :math:`2 \gamma I`, whose Fourier transform the kernel is (Bochner's theorem),

    .. math:: \hat\varphi(x) = \sqrt{\tfrac{2}{m}}\, \bigl(\cos \omega_1 \cdot x,
        \sin \omega_1 \cdot x, \cos \omega_2 \cdot x, \dots \bigr), \qquad
        \mathrm{E}\, \hat\varphi(x) \cdot \hat\varphi(z) = \exp(-\gamma \|x - z\|^2) .

    The error falls as :math:`1 / \sqrt m`.  Cosine and sine in pairs have
    :math:`\|\hat\varphi(x)\| = 1` for every point, as the true lift has.  Points are taken
    relative to the mean of the training rows, which turns the coordinates and changes no scalar
    product.

    Parameters
    ----------
    gamma : float, default=1.0
        Not negative.
    n_components : int, default=1000
        The number of columns, two for each frequency; an odd number is rounded up.
    random_state : int, RandomState or None
        None is a fixed stream: the same call on the same data gives the same bits.

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_components / 2, n_features)
    offset_ : ndarray of shape (n_features,)
        The mean of the training rows.
    n_components_ : int
        The number of columns, an even number: ``n_components`` in the shapes here.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the columns, if they had any.

    References
    ----------
    Rahimi and Recht (2007), Random features for large-scale kernel machines.  Sutherland and
    Schneider (2015), On the error of random Fourier features: pairs err less than shifted cosines.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.kernels.functions import RBFKernel
    >>> from separatrix.kernels.feature_maps import FourierLift
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> L = FourierLift(gamma=0.5, n_components=10_000, random_state=0).fit_transform(X)
    >>> bool(np.abs(L @ L.T - RBFKernel(gamma=0.5)(X)).max() < 0.06)
    True
    >>> bool(np.allclose((L**2).sum(axis=1), 1.0))
    True
    """

    _attributes: ClassVar[rules.Rules] = {
        **_COMMON,
        "frequencies_": rules.array("waves", "d"),
        "offset_": rules.array("d"),
    }

    def __init__(
        self, gamma: float = 1.0, n_components: int = 1000, random_state: Any = None
    ) -> None:
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> FourierLift:
        """Draw the frequencies.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        check_number("gamma", self.gamma, minimum=0)
        check_number("n_components", self.n_components, minimum=1, integer=True)
        rng = random_state_of(self.random_state)
        x = self._validate(X, reset=True)
        # Each term is divided before it is added: a sum can overflow where the mean does not.
        share = np.full(x.shape[0], 1.0 / x.shape[0])
        self.offset_ = np.asarray(share @ x, dtype=np.float64).ravel()
        pairs = (int(self.n_components) + 1) // 2
        frequencies = rng.standard_normal((pairs, x.shape[1]))
        self.frequencies_ = frequencies * np.sqrt(2.0 * float(self.gamma))
        self.n_components_ = 2 * pairs
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The coordinates of points.

        Parameters
        ----------
        X : array-like or CSR matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_components), float64
            Cosine and sine of the first frequency, of the second, and so on.
        """
        check_is_fitted(self)
        x = self._validate(X, reset=False)
        out = np.empty((x.shape[0], self.n_components_))
        turned = self.frequencies_.T
        for rows in self._blocks(x, self.n_components_):
            if sp.issparse(x):
                angles = x[rows] @ turned - self.offset_ @ turned
            else:
                angles = (x[rows] - self.offset_) @ turned
            np.cos(angles, out=out[rows, 0::2])
            np.sin(angles, out=out[rows, 1::2])
            out[rows] *= np.sqrt(2.0 / self.n_components_)
        return out

    @property
    def _n_features_out(self) -> int:
        return self.n_components_


def check_lift(name: str, value: Any, sizes: rules.Sizes) -> None:
    """The rule of a fitted lift that a file holds."""
    if type(value) not in (FourierLift, NystroemLift):
        raise rules.refuse(name, f"is of {type(value).__name__}, which is not a lift")
    rules.check_attributes(value, sizes, where=f"{name}.")
    m, d = sizes.known["components"], sizes.known["d"]
    if isinstance(value, FourierLift):
        if m != 2 * sizes.known["waves"]:
            raise rules.refuse(name, f"has {m:,} components of {sizes.known['waves']:,} waves")
        return
    if not np.all(np.diagonal(value.factor_)):
        raise rules.refuse(name, "has a factor that is singular")
    if not m and d > rules.MOST_UNSEEN:
        raise rules.refuse(name, f"has no landmarks for {d:,} columns")
