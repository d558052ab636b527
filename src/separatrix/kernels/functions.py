r"""Kernels: scalar products of points that were lifted first.

A kernel :math:`k(x, z) = \langle \varphi(x), \varphi(z) \rangle` is the scalar product of two
points after a *lift* :math:`\varphi` into a space where a hyperplane may separate what none
separates here.  A method that needs scalar products alone (the dual of the support vector machine
does) runs in that space without ever going there.

==========================  ======================================  ==============================
kernel                      :math:`k(x, z)`                         lift
==========================  ======================================  ==============================
:class:`LinearKernel`       :math:`x \cdot z`                       the point itself
:class:`PolynomialKernel`   :math:`(\gamma\, x \cdot z + c_0)^d`    all monomials, weighted
:class:`SquaresKernel`      :math:`\sum_j (x_j z_j)^2`              :math:`(x_1^2, \dots, x_n^2)`
:class:`RBFKernel`          :math:`\exp(-\gamma \|x - z\|^2)`       infinitely many coordinates
:class:`DeltaKernel`        1 if :math:`x = z`, else 0              one coordinate for every point
:class:`SigmoidKernel`      :math:`\tanh(\gamma\, x \cdot z + c_0)` none: not a scalar product
==========================  ======================================  ==============================

A kernel is called with two sets of points, one a row, and returns the matrix of its values.
Where the lift is finite, ``lift`` computes it and ``lift_names`` names its coordinates;
:mod:`separatrix.lifts` approximates the others.

References
----------
Mercer (1909), Functions of positive and negative type.  Aizerman, Braverman and Rozonoer (1964),
Theoretical foundations of the potential function method.  Boser, Guyon and Vapnik (1992), A
training algorithm for optimal margin classifiers.

Examples
--------
The scalar product after the lift, and the kernel, which never lifts:

>>> import numpy as np
>>> from separatrix.kernels.functions import PolynomialKernel
>>> X = np.array([[1.0, 2.0], [3.0, -1.0]])
>>> kernel = PolynomialKernel(degree=2, coef0=1)
>>> kernel(X)
array([[ 36.,   4.],
       [  4., 121.]])
>>> (kernel.lift(X) @ kernel.lift(X).T).round(12)
array([[ 36.,   4.],
       [  4., 121.]])
>>> kernel.lift_names(2)
['1', 'sqrt(2) x0', 'sqrt(2) x1', 'x0^2', 'sqrt(2) x0 x1', 'x1^2']
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import memory
from separatrix._compiled.rounding import EPS
from separatrix._compiled.tuning import Tuned
from separatrix.data import rules
from separatrix.data.validation import check_number, require_finite


@dataclass(frozen=True)
class Tuning:
    """The sizes of the parts in which kernels are computed.

    Parameters
    ----------
    cached : int
        Bytes that one pass of a formula works on: they stay in the cache between its steps.
    block : int
        Bytes of a temporary block: large enough for BLAS, small beside any result worth blocking.
    """

    cached: int = 1 << 18
    block: int = 1 << 25


tuned = Tuned(Tuning())

# Values from which on the compiled pass is worth its start.
_WORTH_COMPILING = 4096
# Absolute error of exp(-gamma d^2) from which a distance is taken from differences instead.
_EXACT = 1e-13
# exp(-746) is zero in float64.
_VANISHED = 746.0
# Below this factor a Gaussian of a distance whose square overflows need not be zero; and the power
# of two by which points are then made smaller.
_FAINT, _SMALLER = 1e-290, 2.0**-500
# The share of entries from which on few points are no longer taken for sparse in a product.
_HARDLY_SPARSE = 0.05
# Bytes that the name of a monomial takes.
_NAME = 100


# --- what every kernel checks --------------------------------------------------------------------


def _points(X: Any, name: str) -> Any:
    """Points as a float64 matrix, dense or CSR, finite."""
    x: Any = X if sp.issparse(X) else np.asarray(X)
    if x.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, with one row for each point, but has the shape "
            f"{x.shape}."
        )
    if x.dtype.kind not in "biufO":
        raise ValueError(f"{name} must hold real numbers, but is of type {x.dtype}.")
    if sp.issparse(x):
        x = x.tocsr().astype(np.float64, copy=False)
    else:
        try:
            x = x.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise ValueError(
                f"{name} must hold real numbers, but has entries that are not."
            ) from None
    require_finite(x, called=name)
    return x


def _blocks(n: int, row_bytes: int, size: int) -> Iterator[slice]:
    """Slices of ``n`` rows, of about ``size`` bytes each."""
    step = max(1, size // max(1, row_bytes))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _row_squares(x: Any) -> np.ndarray:
    """Squared norm of every row."""
    if sp.issparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", x, x)


def _dense(x: Any) -> np.ndarray:
    return x.toarray() if sp.issparse(x) else x


def _products(X: Any, Z: Any, out: np.ndarray) -> None:
    """``X Z'`` into ``out``."""
    if not sp.issparse(X) and not sp.issparse(Z):
        # One call for all rows: for a matrix with itself, BLAS computes half, and mirrors it.
        np.matmul(X, Z.T, out=out)
        return
    right = _against_sparse(Z)
    for rows in _blocks(len(out), 8 * out.shape[1], tuned.now.block):
        out[rows] = _dense(X[rows] @ right)


def _against_sparse(Z: Any) -> Any:
    """``Z'`` as sparse rows are multiplied by it: sparse where most of it is zero."""
    if not sp.issparse(Z):
        return Z.T
    # A product of two sparse matrices is gone through twice, counted first, and then made dense.
    return Z.T.tocsr() if Z.nnz < _HARDLY_SPARSE * math.prod(Z.shape) else Z.toarray().T


def _require_memory(columns: int, column_bytes: int, what: str) -> None:
    if columns * column_bytes > memory.installed() // 2:
        size = Fraction(columns * column_bytes, 10**9)
        # Far beyond any machine, the size says no more than the number of columns does.
        size_text = f" ({float(size):,.0f} GB)" if size < 10**9 else ""
        raise ValueError(
            f"The lift by {what} has {columns:,} columns, which do not fit in memory"
            f"{size_text}; lower the degree, use the kernel itself, or "
            "separatrix.lifts.NystroemLift."
        )


def _feature_names(features: Any) -> list[str]:
    if isinstance(features, numbers.Integral):
        check_number("features", features, minimum=0, integer=True)
        return [f"x{j}" for j in range(int(features))]
    if isinstance(features, str) or not hasattr(features, "__iter__"):
        raise ValueError(f"features={features!r} must be a number of features, or their names.")
    return [str(name) for name in features]


# --- the face ------------------------------------------------------------------------------------


class Kernel(ABC):
    """The face of a kernel: a function of two points, called on two sets of them.

    Attributes
    ----------
    formula : str
        The kernel as text, with its numbers.
    semidefinite : bool
        Whether every matrix of this kernel is known to be positive semidefinite, which is what
        makes it a scalar product.
    """

    formula: str
    semidefinite: bool = False

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The matrix of the kernel's values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
        Z : array-like or sparse matrix of shape (m, n_features), optional
            Left out: the points of ``X``.

        Returns
        -------
        ndarray of shape (n, m), float64
            ``k(x_i, z_j)``.

        Raises
        ------
        ValueError
            For points that are no finite numbers, or of different dimensions, and where a value
            is beyond the range of floats.
        """
        x = _points(X, "X")
        z = x if Z is None else _points(Z, "Z")
        if x.shape[1] != z.shape[1]:
            raise ValueError(
                f"X has {x.shape[1]} columns and Z has {z.shape[1]}, but they must have the same "
                "number."
            )
        out = np.empty((x.shape[0], z.shape[0]))
        # An overflow is found below, whichever step it was in.
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            self._fill(x, z, out)
            return self._finite(out)

    def diagonal(self, X: Any) -> np.ndarray:
        """``k(x, x)`` of every point, without the matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n,), float64
        """
        x = _points(X, "X")
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return self._finite(self._diagonal(x))

    def lift(self, X: Any) -> np.ndarray:
        """The points in the space where the kernel is a scalar product.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_coordinates), float64
            ``L`` with ``k(x_i, x_j) = L[i] . L[j]``.

        Raises
        ------
        TypeError
            Where the kernel has no finite lift.
        ValueError
            Where the lift has more columns than fit in memory.
        """
        raise TypeError(self._why_no_lift())

    def lift_names(self, features: int | Sequence[str]) -> list[str]:
        """Names of the columns of :meth:`lift`, in their order.

        Parameters
        ----------
        features : int or sequence of str
            The number of features of the points (they are then called x0, x1, ...), or their names.

        Returns
        -------
        list of str

        Raises
        ------
        TypeError
            Where the kernel has no finite lift.
        """
        raise TypeError(self._why_no_lift())

    def _why_no_lift(self) -> str:
        return f"No lift of {self.formula} is known."

    @abstractmethod
    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        """Write the values of valid points into ``out``; ``z is x`` where only one was given."""

    @abstractmethod
    def _diagonal(self, x: Any) -> np.ndarray:
        """``k(x, x)`` of valid points."""

    def _finite(self, values: np.ndarray) -> np.ndarray:
        # The sum is finite exactly when all values are, short of overflow.
        if not np.isfinite(values.sum()) and not np.isfinite(values).all():
            place = " and ".join(str(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise ValueError(
                f"{self.formula} is beyond the range of floats (first at {place}); scale the "
                "features first."
            )
        return values


class InnerProductKernel(Kernel):
    """A kernel that is a function of ``x.z`` and of the two squared norms."""

    # Whether moving all points by one vector changes nothing, so that they may be centred first.
    translates: bool = False
    # Whether it changes the kernel by functions of one point or the other alone, which combinations
    # whose coefficients sum to zero do not see.
    shifts: bool = False

    @abstractmethod
    def of_products(self, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Turn scalar products into values of the kernel, in place.

        Parameters
        ----------
        products : ndarray of shape (n, m), float32 or float64
            ``x_i . z_j``, overwritten.
        left, right : ndarray of shape (n,) and (m,)
            Squared norms of the ``x_i`` and the ``z_j``, of the same type.
        """

    @abstractmethod
    def of_norms(self, squares: np.ndarray) -> np.ndarray:
        """``k(x, x)`` from the squared norms."""

    @abstractmethod
    def sensitivity(self, square: float) -> float:
        """The factor by which a relative error in ``x.z`` changes ``k``, relative to its largest
        value, for points of squared norm up to ``square``."""

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        _products(x, z, out)
        left = _row_squares(x)
        self.of_products(out, left, left if z is x else _row_squares(z))

    def _diagonal(self, x: Any) -> np.ndarray:
        return self.of_norms(_row_squares(x))


def _passes(products: np.ndarray) -> Iterator[slice]:
    """Slices of rows that stay in the cache while a formula goes over them several times."""
    return _blocks(len(products), products.shape[1] * products.itemsize, tuned.now.cached)


# --- kernels that are functions of the scalar product --------------------------------------------


@dataclass(frozen=True)
class LinearKernel(InnerProductKernel):
    r""":math:`k(x, z) = x \cdot z`: the points as they are.

    Examples
    --------
    >>> LinearKernel()([[1, 2], [3, 4]], [[1, 0]]).tolist()
    [[1.0], [3.0]]
    """

    semidefinite = True
    shifts = True

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return "x.z"

    def of_products(self, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        pass

    def of_norms(self, squares: np.ndarray) -> np.ndarray:
        return squares.copy()

    def sensitivity(self, square: float) -> float:
        return 1.0

    def lift(self, X: Any) -> np.ndarray:
        """The points as they are, as a dense array."""
        x = _points(X, "X")
        if not sp.issparse(x):
            return np.array(x)
        _require_memory(x.shape[1], 8 * x.shape[0], self.formula)
        return x.toarray()

    def lift_names(self, features: int | Sequence[str]) -> list[str]:
        """Names of the features."""
        return _feature_names(features)


class _AffineKernel(InnerProductKernel):
    """A function of ``gamma x.z + coef0``."""

    gamma: float
    coef0: float

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, minimum=0)
        check_number("coef0", self.coef0)
        # Numbers of numpy's types would show in the repr, and in every file that keeps it.
        object.__setattr__(self, "gamma", float(self.gamma))
        object.__setattr__(self, "coef0", float(self.coef0))

    @abstractmethod
    def _transform(self, values: np.ndarray) -> None:
        """Replace some values of ``gamma x.z + coef0`` by those of the kernel."""

    def of_products(self, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        kind = products.dtype.type
        for rows in _passes(products):
            part = products[rows]
            part *= kind(self.gamma)
            part += kind(self.coef0)
            self._transform(part)


@dataclass(frozen=True)
class PolynomialKernel(_AffineKernel):
    r""":math:`k(x, z) = (\gamma\, x \cdot z + c_0)^d`.

    Multiplied out, it is a scalar product of monomials (the multinomial theorem): with
    :math:`x^a = \prod_j x_j^{a_j}` and :math:`p = \sum_j a_j`,

    .. math:: k(x, z) = \sum_{p \le d} \frac{d!}{(d - p)!}\, c_0^{d-p} \gamma^p
        \sum_{|a| = p} \frac{1}{\prod_j a_j!}\, x^a z^a ,

    so that each monomial of degree up to :math:`d`, times the root of its coefficient, is a
    coordinate of the lift.  With :math:`c_0 = 0` only those of degree :math:`d` remain.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    gamma : float, default=1.0
        Not negative.
    coef0 : float, default=0.0
        Below zero, the kernel is no scalar product in general, and has no lift.

    References
    ----------
    Poggio (1975), On optimal nonlinear associative recall.  Boser, Guyon and Vapnik (1992), A
    training algorithm for optimal margin classifiers.

    Examples
    --------
    >>> kernel = PolynomialKernel(degree=2, coef0=1)
    >>> kernel.formula
    '(1 x.z + 1)^2'
    >>> kernel([[1, 2]], [[3, 4]])
    array([[144.]])
    >>> kernel.lift([[1, 2]]).round(4).tolist()
    [[1.0, 1.4142, 2.8284, 1.0, 2.8284, 4.0]]
    >>> kernel.lift_names(["a", "b"])
    ['1', 'sqrt(2) a', 'sqrt(2) b', 'a^2', 'sqrt(2) a b', 'b^2']

    Without a constant, the lift has the monomials of one degree alone:

    >>> PolynomialKernel(degree=3).lift_names(2)
    ['x0^3', 'sqrt(3) x0^2 x1', 'sqrt(3) x0 x1^2', 'x1^3']
    """

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        check_number("degree", self.degree, minimum=1, integer=True)
        object.__setattr__(self, "degree", int(self.degree))
        super().__post_init__()

    @property
    def semidefinite(self) -> bool:  # type: ignore[override]
        return self.coef0 >= 0.0

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return f"({self.gamma:.6g} x.z + {self.coef0:.6g})^{self.degree}"

    def _transform(self, values: np.ndarray) -> None:
        if self.degree == 1:
            return
        # Square and multiply, by the binary digits of the degree after the first.
        base = values.copy() if self.degree & (self.degree - 1) else values
        for bit in bin(self.degree)[3:]:
            np.square(values, out=values)
            if bit == "1":
                values *= base

    def of_norms(self, squares: np.ndarray) -> np.ndarray:
        return (self.gamma * squares + self.coef0) ** self.degree

    def sensitivity(self, square: float) -> float:
        largest = self.gamma * square + abs(self.coef0)
        return self.degree * self.gamma * square / largest if largest > 0.0 else 1.0

    def lift(self, X: Any) -> np.ndarray:
        r"""All monomials of degree up to ``degree``, weighted.

        In the order of their degree, and of one degree in alphabetical order: 1, x0, x1, x0^2,
        x0 x1, x1^2, and so on, as in scikit-learn's ``PolynomialFeatures``.  Those whose weight
        is zero (all of lower degree where ``coef0`` is 0) are left out.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_monomials), float64
            With ``coef0 > 0`` and ``gamma > 0``, ``comb(n_features + degree, degree)`` columns.

        Raises
        ------
        TypeError
            Where ``coef0`` is negative: the kernel is then no scalar product in general.
        ValueError
            Where the columns do not fit in memory.
        """
        x = _points(X, "X")
        n, width = x.shape
        degrees = self._degrees(width)
        columns = sum(math.comb(width + p - 1, p) if width else p == 0 for p in degrees)
        _require_memory(columns, 8 * max(n, 1), self.formula)
        try:
            weights = np.array([math.sqrt(square) for _, square in self._monomials(width)])
        except OverflowError:
            raise ValueError(
                f"The weights of the lift by {self.formula} are beyond the range of floats."
            ) from None
        out = np.empty((n, columns))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for rows in _blocks(n, 8 * columns, tuned.now.block):
                _fill_monomials(_dense(x[rows]), degrees, out[rows])
                out[rows] *= weights
            return self._finite(out)

    def lift_names(self, features: int | Sequence[str]) -> list[str]:
        """Names of the columns of :meth:`lift`: weight and monomial.

        A weight is written as a number where it is one of few digits, as a root where its square
        is, and rounded otherwise; 1 is left out.

        Parameters
        ----------
        features : int or sequence of str
            The number of features of the points (they are then called x0, x1, ...), or their names.

        Returns
        -------
        list of str
        """
        names = _feature_names(features)
        degrees = self._degrees(len(names))
        columns = sum(math.comb(len(names) + p - 1, p) if names else p == 0 for p in degrees)
        _require_memory(columns, _NAME, self.formula)
        result = []
        for members, square in self._monomials(len(names)):
            powers = [(names[j], len(list(group))) for j, group in groupby(members)]
            monomial = " ".join(name if a == 1 else f"{name}^{a}" for name, a in powers)
            weight = _root_text(square)
            parts = [part for part in (weight if weight != "1" else "", monomial) if part]
            result.append(" ".join(parts) or "1")
        return result

    def _degrees(self, width: int) -> list[int]:
        """Degrees of the monomials that have a weight."""
        if not self.semidefinite:
            raise TypeError(
                f"{self.formula} has no lift: with coef0 < 0 some monomials have a negative "
                "weight, so that it is not positive semidefinite in general."
            )
        lowest = 0 if self.coef0 > 0.0 else self.degree
        return [p for p in range(lowest, self.degree + 1) if p == 0 or (self.gamma and width)]

    def _monomials(self, width: int) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Each monomial, as the features that it multiplies, and the square of its weight."""
        d = self.degree
        for p in self._degrees(width):
            factor = math.perm(d, p) * Fraction(self.coef0) ** (d - p) * Fraction(self.gamma) ** p
            for members in combinations_with_replacement(range(width), p):
                repeats = math.prod(
                    math.factorial(len(list(group))) for _, group in groupby(members)
                )
                yield members, factor / repeats


def _fill_monomials(x: np.ndarray, degrees: Sequence[int], out: np.ndarray) -> None:
    """The monomials of the given degrees, ascending, side by side into ``out``."""
    n, width = x.shape
    end = 0
    previous = np.ones((n, 1))
    # The monomials of the degree before that begin with feature j or a later one are the tail from
    # starts[j].
    starts = [0] * width
    for p in range(max(degrees, default=-1) + 1):
        if p > 0:
            current = np.empty((n, math.comb(width + p - 1, p)))
            begin, fresh = 0, []
            for j in range(width):
                tail = previous[:, starts[j] :]
                fresh.append(begin)
                np.multiply(tail, x[:, j : j + 1], out=current[:, begin : begin + tail.shape[1]])
                begin += tail.shape[1]
            previous, starts = current, fresh
        if p in degrees:
            out[:, end : end + previous.shape[1]] = previous
            end += previous.shape[1]


def _root_text(square: Fraction) -> str:
    """The root of a positive number, as text."""
    over, under = square.as_integer_ratio()
    if max(over, under) < 10**6:
        top, bottom = math.isqrt(over), math.isqrt(under)
        if top * top == over and bottom * bottom == under:
            return str(Fraction(top, bottom))
        return f"sqrt({square})"
    try:
        return f"{math.sqrt(square):.6g}"
    except OverflowError:
        return f"sqrt({Fraction(over // under)})"


@dataclass(frozen=True)
class RBFKernel(InnerProductKernel):
    r""":math:`k(x, z) = \exp(-\gamma \|x - z\|^2)`, the Gaussian kernel.

    Its lift has infinitely many coordinates, all of length one:
    :math:`\|\varphi(x)\|^2 = k(x, x) = 1`.  The larger :math:`\gamma`, the less a point has to
    do with any other: the matrix of distinct points tends to the identity, that is to
    :class:`DeltaKernel`.

    Points far from the origin lose nothing: dense data are centred, and distances in which
    digits would cancel are taken from differences.

    Parameters
    ----------
    gamma : float, default=1.0
        Not negative.

    References
    ----------
    Aizerman, Braverman and Rozonoer (1964), Theoretical foundations of the potential function
    method.  Micchelli (1986), Interpolation of scattered data: its matrix is positive definite
    for distinct points.

    Examples
    --------
    >>> RBFKernel(gamma=0.5)([[0, 0], [1, 1]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    >>> RBFKernel().lift([[0, 0]])
    Traceback (most recent call last):
    TypeError: The lift of exp(-1 |x - z|^2) has infinitely many coordinates; ...
    """

    gamma: float = 1.0

    semidefinite = True
    translates = True

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, minimum=0)
        object.__setattr__(self, "gamma", float(self.gamma))

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return f"exp(-{self.gamma:.6g} |x - z|^2)"

    def of_products(self, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        kind = products.dtype.type
        largest = float(max(left.max(initial=0), right.max(initial=0)))
        # Beyond this, gamma times a square would be infinite and their difference no number.
        tame = self.gamma * max(1.0, largest) < float(np.finfo(kind).max) / 8
        if tame and products.size >= _WORTH_COMPILING:
            # Loaded when there is work for it, for compiled code takes a while to load.
            from separatrix.kernels.rbf_values import gaussian

            if gaussian(products, left, right, self.gamma):
                return
        before = self.gamma if tame else 1.0
        left, right = kind(before) * left[:, None], kind(before) * right
        for rows in _passes(products):
            part = products[rows]
            part *= kind(2.0 * before)
            # The two squares are added first, so that k(x, z) and k(z, x) are rounded alike.
            part -= left[rows] + right
            # A distance is never negative, whatever rounding makes of it.
            np.minimum(part, kind(0.0), out=part)
            if not tame:
                with np.errstate(over="ignore"):
                    part *= kind(min(self.gamma, float(np.finfo(kind).max)))
            np.exp(part, out=part)

    def of_norms(self, squares: np.ndarray) -> np.ndarray:
        return np.ones_like(squares)

    def sensitivity(self, square: float) -> float:
        return 2.0 * self.gamma * square

    def within_range(self, x: Any) -> tuple[Any, float]:
        """Points and a factor of the same kernel whose squares overflow only where it is zero."""
        if not 0.0 < self.gamma < _FAINT:
            return x, self.gamma
        return x * _SMALLER, self.gamma / _SMALLER**2

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        if self.gamma == 0.0 or not out.size:
            out[:] = 1.0
            return
        if self.gamma < _FAINT:
            left, gamma = self.within_range(x)
            right = left if z is x else self.within_range(z)[0]
            RBFKernel(gamma)._fill(left, right, out)
            return
        same = z is x
        # Differences are taken of the points as they are, for moving them rounds them.
        given = x, z
        if not sp.issparse(x) and not sp.issparse(z):
            shift = x.mean(axis=0) if same else (x.mean(axis=0) + z.mean(axis=0)) / 2
            # Finite points can have an infinite mean.
            shift[~np.isfinite(shift)] = 0.0
            x = x - shift
            z = x if same else z - shift
        _products(x, z, out)
        left = _row_squares(x)
        right = left if same else _row_squares(z)
        # Rounding of x.z and of the squares, with room to spare.
        scale = 16 * EPS * self.gamma
        hopeless = not scale * float(left.max() + right.max()) <= _EXACT
        for rows in _blocks(len(out), 8 * out.shape[1], tuned.now.block):
            part = out[rows]
            if hopeless:
                sums = left[rows, None] + right
                exponents = self.gamma * (sums - 2 * part)
                errors = scale * sums
                i, j = np.nonzero(~(errors <= _EXACT) & ~(exponents - errors > _VANISHED))
            self.of_products(part, left[rows], right)
            if hopeless:
                start = rows.start
                part[i, j] = np.exp(-self.gamma * _square_distances(*given, i + start, j))
        if same:
            np.fill_diagonal(out, 1.0)

    def _why_no_lift(self) -> str:
        return (
            f"The lift of {self.formula} has infinitely many coordinates; approximate it with "
            "separatrix.lifts.NystroemLift or separatrix.lifts.FourierLift."
        )


def _square_distances(x: Any, z: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """``|x_i - z_j|^2`` of pairs of rows, from their differences."""
    if sp.issparse(x) != sp.issparse(z):
        x, z = sp.csr_array(x), sp.csr_array(z)
    result = np.empty(len(i))
    for part in _blocks(len(i), 16 * max(1, x.shape[1]), tuned.now.block):
        result[part] = _row_squares(x[i[part]] - z[j[part]])
    return result


@dataclass(frozen=True)
class SigmoidKernel(_AffineKernel):
    r""":math:`k(x, z) = \tanh(\gamma\, x \cdot z + c_0)`; no scalar product in general.

    Its matrices can have negative eigenvalues, whatever the parameters: the dual of a support
    vector machine is then not concave, and what is found is a stationary point.

    Parameters
    ----------
    gamma : float, default=1.0
        Not negative.
    coef0 : float, default=0.0

    References
    ----------
    Lin and Lin (2003), A study on sigmoid kernels for SVM and the training of non-PSD kernels by
    SMO-type methods.

    Examples
    --------
    Were it a scalar product, no two points could have a negative determinant:

    >>> K = SigmoidKernel()([[1.0], [2.0]])
    >>> bool(K[0, 0] * K[1, 1] < K[0, 1] ** 2)
    True
    """

    gamma: float = 1.0
    coef0: float = 0.0

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return f"tanh({self.gamma:.6g} x.z + {self.coef0:.6g})"

    def _transform(self, values: np.ndarray) -> None:
        np.tanh(values, out=values)

    def of_norms(self, squares: np.ndarray) -> np.ndarray:
        return np.tanh(self.gamma * squares + self.coef0)

    def sensitivity(self, square: float) -> float:
        return self.gamma * square

    def _why_no_lift(self) -> str:
        return f"{self.formula} is not positive semidefinite in general, so it has no lift."


# --- other kernels -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SquaresKernel(Kernel):
    r""":math:`k(x, z) = \sum_j (x_j z_j)^2`: the scalar product of the squared features.

    A hyperplane after its lift :math:`(x_1^2, \dots, x_n^2)` is here an ellipse (ellipsoid,
    hyperbola) with its axes along the coordinates and its centre at the origin:
    :math:`\sum_j w_j x_j^2 + b = 0`.

    Examples
    --------
    A point inside the ellipse and one outside:

    >>> kernel = SquaresKernel()
    >>> kernel.lift([[1, 0.5], [-4, 0.5]])
    array([[ 1.  ,  0.25],
           [16.  ,  0.25]])
    >>> kernel.lift_names(2)
    ['x0^2', 'x1^2']
    >>> kernel([[1, 0.5]], [[-4, 0.5]])
    array([[16.0625]])
    """

    semidefinite = True

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return "sum_j (x_j z_j)^2"

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        left = _squared(x)
        _products(left, left if z is x else _squared(z), out)

    def _diagonal(self, x: Any) -> np.ndarray:
        return _row_squares(_squared(x))

    def lift(self, X: Any) -> np.ndarray:
        """The squares of the features, as a dense array."""
        x = _points(X, "X")
        _require_memory(x.shape[1], 8 * x.shape[0], self.formula)
        with np.errstate(over="ignore", under="ignore"):
            return self._finite(np.square(_dense(x)))

    def lift_names(self, features: int | Sequence[str]) -> list[str]:
        """Names of the squared features."""
        return [f"{name}^2" for name in _feature_names(features)]


def _squared(x: Any) -> Any:
    return x.multiply(x).tocsr() if sp.issparse(x) else np.square(x)


@dataclass(frozen=True)
class DeltaKernel(Kernel):
    r""":math:`k(x, z) = 1` if the two are the same point, else 0.

    It lifts every distinct point to a unit vector of its own, so that *any* distinct points with
    *any* labels :math:`y_i` are separable: by :math:`w = \sum_i y_i e_i`, with
    :math:`w \cdot e_i = y_i`.  And it says nothing about any other point, whose lift is
    perpendicular to all of these.  :class:`RBFKernel` tends to it as :math:`\gamma` grows.

    Examples
    --------
    >>> kernel = DeltaKernel()
    >>> kernel([[0, 0], [0, 1]], [[0, 1], [5, 5]])
    array([[0., 0.],
           [1., 0.]])
    >>> kernel.lift([[0, 0], [0, 1], [0, 0]])
    array([[1., 0.],
           [0., 1.],
           [1., 0.]])
    """

    semidefinite = True

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return "1 if x = z else 0"

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        left, right = _numbered(x) if z is x else _numbered(x, z)
        for rows in _blocks(len(out), 8 * out.shape[1], tuned.now.block):
            out[rows] = left[rows, None] == right

    def _diagonal(self, x: Any) -> np.ndarray:
        return np.ones(x.shape[0])

    def lift(self, X: Any) -> np.ndarray:
        """Unit vectors: column c is the c-th distinct point of ``X``, by first appearance.

        A lift of the points given, and of no others: the columns of another set of points are
        other points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_distinct), float64
        """
        numbers_, _ = _numbered(_points(X, "X"))
        columns = int(numbers_.max(initial=-1)) + 1
        _require_memory(columns, 8 * len(numbers_), self.formula)
        out = np.zeros((len(numbers_), columns))
        out[np.arange(len(numbers_)), numbers_] = 1.0
        return out

    def _why_no_lift(self) -> str:
        return (
            "The lift of DeltaKernel has one column for every distinct point, and does not "
            "depend on features."
        )


def _numbered(x: Any, z: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the points, equal where the points are, from 0 by first appearance."""
    sets = [x] if z is None else [x, z]
    if any(sp.issparse(s) for s in sets):
        sets = [sp.csr_array(s, copy=True) for s in sets]
    seen: dict[bytes, int] = {}
    result = []
    for s in sets:
        if sp.issparse(s):
            # A stored zero is a zero, and indices may be of 32 bits or of 64.
            s.sum_duplicates()
            s.eliminate_zeros()
            bounds = zip(s.indptr[:-1], s.indptr[1:], strict=True)
            at = s.indices.astype(np.int64)
            keys = (at[a:b].tobytes() + s.data[a:b].tobytes() for a, b in bounds)
        else:
            # Adding zero turns -0.0 into the 0.0 that it is equal to.
            keys = ((row + 0.0).tobytes() for row in s)
        result.append(np.array([seen.setdefault(k, len(seen)) for k in keys], dtype=np.intp))
    return result[0], result[-1]


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """The data are the kernel's values themselves: row i holds ``k(x_i, z_j)`` for every j.

    Examples
    --------
    >>> PrecomputedKernel()([[2, 1], [1, 2]])
    array([[2., 1.],
           [1., 2.]])
    """

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return "precomputed"

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The values, as a float64 array of their own."""
        if Z is not None:
            raise ValueError(
                "A precomputed kernel takes one matrix, its values, and no second one."
            )
        return np.array(_dense(_points(X, "X")))

    def diagonal(self, X: Any) -> np.ndarray:
        """The diagonal of the values, which must be those of points with themselves."""
        x = _points(X, "X")
        if x.shape[0] != x.shape[1]:
            raise ValueError(
                f"The diagonal of a precomputed kernel needs a square matrix, not {x.shape}."
            )
        return self._diagonal(x)

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        out[:] = _dense(x)

    def _diagonal(self, x: Any) -> np.ndarray:
        return np.array(x.diagonal())

    def _why_no_lift(self) -> str:
        return "A precomputed kernel has no points, so there is nothing to lift."


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function of two matrices that returns ``k(x_i, z_j)``, shape (n, m).

    Whether it is a scalar product is not known.

    Parameters
    ----------
    function : callable
        Takes two float64 matrices, dense or CSR as the data are.

    Examples
    --------
    >>> import numpy as np
    >>> def laplace(X, Z):
    ...     return np.exp(-np.abs(X[:, None] - Z).sum(axis=2))
    >>> kernel = CallableKernel(laplace)
    >>> kernel.formula
    'laplace(x, z)'
    >>> kernel([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])
    """

    function: Callable[[Any, Any], np.ndarray]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function={self.function!r} must be a function of two matrices.")

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The kernel as text."""
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}(x, z)"

    def _fill(self, x: Any, z: Any, out: np.ndarray) -> None:
        values = self.function(x, z)
        values = np.asarray(_dense(values))
        if values.shape != out.shape:
            raise ValueError(
                f"{self.formula} must return a matrix of shape {out.shape} for these points, but "
                f"returned one of shape {values.shape}."
            )
        if values.dtype.kind not in "biuf":
            raise ValueError(
                f"{self.formula} must return real numbers, but returned type {values.dtype}."
            )
        out[:] = values

    def _diagonal(self, x: Any) -> np.ndarray:
        # Squares of a few points: a call for each point would cost more than what is thrown away.
        out = np.empty(x.shape[0])
        for rows in _blocks(x.shape[0], 1, 32):
            block = np.empty((rows.stop - rows.start,) * 2)
            self._fill(x[rows], x[rows], block)
            out[rows] = block.diagonal()
        return out


def check_kernel(name: str, value: Any, sizes: rules.Sizes) -> None:
    """The rule of a kernel that a file holds."""
    if not isinstance(value, Kernel) or isinstance(value, CallableKernel):
        kind = type(value).__name__
        raise rules.refuse(name, f"is of {kind}, which is not a kernel that a file can hold")
    if isinstance(value, PolynomialKernel) and value.degree > 1_000_000:
        raise rules.refuse(name, f"has the degree {value.degree:,}")
