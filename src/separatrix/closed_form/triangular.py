"""The triangular factor of least squares: made a block of rows at a time, merged, solved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg

from separatrix._compiled import pool
from separatrix._compiled.double_double import sum_parts
from separatrix._compiled.linear_algebra import lengths_of, solve_upper
from separatrix._compiled.rounding import EPS
from separatrix.certificate import ResidualCertificate
from separatrix.closed_form.normal_equations import (
    NEGLIGIBLE,
    LeastSquaresProblem,
    NormalEquations,
    NormalInverse,
    NormalResidual,
    dot_once_rounded,
    refine,
    triangle_of,
    units_of,
)
from separatrix.data.design import DenseDesign, Design
from separatrix.data.packing import pack_triangle, unpack_triangle

# Bytes of the rows that are factorised at a time: the second-level cache.
_BLOCK_BYTES = 1 << 20
# Rows that the provisional centres are the medians of.
_SAMPLE = 512
# How much more is taken for rounding where columns that nearly depend on one another defy solution.
_LOOSER = (1.0, 1e1, 1e2, 1e3, 1e4)


@dataclass(frozen=True, eq=False)
class LeastSquaresSolution:
    """The result of a least-squares fit.

    Attributes
    ----------
    coef : ndarray of shape (m, d)
    intercept : ndarray of shape (m,)
    rank : int
        The number of columns that are independent of one another and, with an intercept, of a
        constant.
    condition : float
        Condition number of those columns, centred (with an intercept) and of unit length; an
        estimate for more than 100 columns.
    dependent : tuple of int
        Columns that depend on the others; which of a group is named is arbitrary.
    rss : ndarray of shape (m,)
        Weighted sums of squared residuals.
    weight : float
        Sum of the weights.
    factor : TriangularFactor or None
        The factor, which goes on with more rows; None where it would be too large.
    method : {"cholesky", "qr", "svd", "rows", "cgls"}
        "svd" names the factorisation with pivoting, which reveals the rank.
    certificate : ResidualCertificate
    """

    coef: np.ndarray
    intercept: np.ndarray
    rank: int
    condition: float
    dependent: tuple[int, ...]
    rss: np.ndarray
    weight: float
    factor: TriangularFactor | None
    method: str
    certificate: ResidualCertificate

    @property
    def mse(self) -> np.ndarray:
        """Weighted means of the squared residuals; (m,)."""
        return self.rss / self.weight

    @classmethod
    def of(
        cls,
        found: NormalResidual,
        *,
        method: str,
        steps: int,
        rank: int,
        condition: float,
        dependent: tuple[int, ...] = (),
        factor: TriangularFactor | None = None,
        unfinished: str | None = None,
        whose: str = "",
    ) -> LeastSquaresSolution:
        """The solution at a point, with its certificate."""
        return cls(
            coef=np.ascontiguousarray(found.coef),
            intercept=np.array(found.intercept),
            rank=rank,
            condition=condition,
            dependent=dependent,
            rss=np.array(found.rss),
            weight=found.equations.weight,
            factor=factor,
            method=method,
            certificate=found.certificate(rank, condition, unfinished, steps, whose),
        )

    def in_units(
        self, unit: np.ndarray | None, equations: Callable[[], NormalEquations]
    ) -> LeastSquaresSolution:
        """The solution for targets that were multiplied by ``unit``, for the targets themselves.

        ``equations``: makes those of the targets that were multiplied.  Numbers that lose digits to
        underflow are certified by them anew, as they are returned.

        Raises
        ------
        ValueError
            Where the coefficients are out of range.
        """
        coef, intercept, more = self.coef, self.intercept, ""
        if unit is not None and np.isfinite(coef).all() and np.isfinite(intercept).all():
            coef, intercept, more = coef / unit[:, None], intercept / unit, " or the targets"
        if not np.isfinite(coef).all() or not np.isfinite(intercept).all():
            raise ValueError(
                f"The coefficients are out of the range of float64; scale the columns{more}."
            )
        if unit is None:
            return self
        certificate, kept, level = self.certificate, coef * unit[:, None], intercept * unit
        if not (np.array_equal(kept, self.coef) and np.array_equal(level, self.intercept)):
            of = equations()
            at = of.at(kept, level if of.problem.fit_intercept else np.zeros(len(level)))
            found = at.certificate(self.rank, self.condition, None, certificate.n_iter)
            certificate = replace(found, equations=certificate.equations)
        return replace(
            self,
            certificate=certificate,
            coef=coef,
            intercept=intercept,
            rss=self.rss / unit / unit,
            factor=None if self.factor is None else self.factor.in_units(1.0 / unit),
        )


@dataclass(frozen=True, eq=False)
class TriangularFactor:
    r"""The triangular factor ``R`` of rows (of a QR factorisation), and the means of the rows.

    With weights :math:`s_i`, the rows :math:`\sqrt{s_i}\,[x_i - \bar x \mid y_i - \bar y]` have
    the factorisation :math:`Q R`, and every least-squares fit to them is one to the rows of
    ``R``.  Unlike sums of products, ``R`` keeps what a condition number near ``1/eps`` leaves.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    mean : ndarray of shape (p,)
        Means of the features and, after them, of the targets; zero where nothing is centred.
    r : ndarray of shape (k, p), k <= p
        Upper triangular, the diagonal not negative; fewer rows than columns where there were
        fewer rows.
    n_rows : int
        The number of rows that went in.
    n_targets : int
        The number of columns that are targets, the last ones.
    centred : bool
        Whether there is an intercept.
    mean_rest : ndarray of shape (p,)
        The rounding errors of ``mean``, so that a million merges lose nothing.

    References
    ----------
    Golub and Van Loan, *Matrix Computations* (2013), section 6.5: updating a QR factorisation.
    Demmel, Grigori, Hoemmen and Langou (2012), Communication-optimal parallel and sequential QR
    and LU factorizations.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.closed_form.triangular import TriangularFactor
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[1.0], [3.0], [5.0], [7.0]])
    >>> first = TriangularFactor.of(as_design(X[:1]), y[:1])
    >>> both = first.merge(TriangularFactor.of(as_design(X[1:]), y[1:]))
    >>> solution = both.solve()
    >>> solution.coef.round(12).tolist(), solution.intercept.round(12).tolist()
    ([[2.0]], [1.0])
    """

    weight: float
    mean: np.ndarray
    r: np.ndarray
    n_rows: int
    n_targets: int
    centred: bool
    mean_rest: np.ndarray

    def __reduce__(self) -> tuple[Any, ...]:
        # The lower half of the matrix is zero, and what rounding took mostly is.
        rest = self.mean_rest if self.mean_rest.any() else None
        counts = self.n_rows, self.n_targets, self.centred
        r = pack_triangle(self.r, symmetric=False)
        return _unpickled, (self.weight, self.mean, r, *counts, rest)

    @property
    def n_features(self) -> int:
        return len(self.mean) - self.n_targets

    @classmethod
    def of(
        cls,
        design: Design,
        targets: np.ndarray,
        weights: np.ndarray | None = None,
        fit_intercept: bool = True,
    ) -> TriangularFactor:
        """The factor of the rows of a design.

        Parameters
        ----------
        design : Design
        targets : ndarray of float64, shape (n_samples, m)
        weights : ndarray of float64, shape (n_samples,), optional
        fit_intercept : bool, default=True

        Returns
        -------
        TriangularFactor
            Not finite where an entry is NaN or infinite.
        """
        d, m = design.n_features, targets.shape[1]
        p = d + m
        used = np.arange(design.n_samples) if weights is None else np.flatnonzero(weights > 0.0)
        weight = float(design.n_samples if weights is None else weights.sum())
        if not len(used):
            zero = np.zeros(p)
            return cls(0.0, zero, np.zeros((0, p)), design.n_samples, m, fit_intercept, zero)
        shift = np.zeros(p)
        if fit_intercept:
            # Medians, so that one odd row among the first does not cost the others' digits.
            sample = np.empty((min(_SAMPLE, len(used)), p))
            for part, block in design.take(used[:_SAMPLE]).blocks():
                sample[part, :d] = block
            sample[:, d:] = targets[used[:_SAMPLE]]
            shift = np.median(sample, axis=0)
        parts = pool.ranges(design.n_samples, 2.0 * design.n_samples * p * p)
        found: list[np.ndarray] = [np.zeros((0, 0))] * len(parts)

        def work(k: int, start: int, stop: int) -> None:
            found[k] = _factor(design, targets, weights, shift, fit_intercept, start, stop)

        with pool.one_blas_thread():
            pool.run([partial(work, k, a, b) for k, (a, b) in enumerate(parts)])
            r = found[0] if len(found) == 1 else triangle_of(np.vstack(found))
        mean, rest = np.zeros(p), np.zeros(p)
        if fit_intercept:
            # The column of ones comes first: its reflection takes the means out of the others.
            mean, rest = sum_parts(shift, r[0, 1:] / r[0, 0])
            r = r[1:, 1:]
        return cls(weight, mean, _upright(r), design.n_samples, m, fit_intercept, rest)

    def merge(self, other: TriangularFactor) -> TriangularFactor:
        """The factor of the rows of both.

        Raises
        ------
        ValueError
            If the two have not the same columns, or one has an intercept and the other has none.
        """
        if (self.n_features, self.n_targets, self.centred) != (
            other.n_features,
            other.n_targets,
            other.centred,
        ):
            raise ValueError(
                f"A factor of {self.n_features} features and {self.n_targets} targets cannot be "
                f"merged with a factor of {other.n_features} features and {other.n_targets} "
                "targets, or with another fit_intercept."
            )
        n_rows = self.n_rows + other.n_rows
        if other.weight == 0.0:
            return replace(self, n_rows=n_rows)
        if self.weight == 0.0:
            return replace(other, n_rows=n_rows)
        weight = self.weight + other.weight
        rows, mean, rest = [self.r, other.r], self.mean, self.mean_rest
        if self.centred:
            step = (other.mean - self.mean) + (other.mean_rest - self.mean_rest)
            # Chan, Golub and LeVeque (1983): the scatter between the two means, as one more row.
            rows.append(np.sqrt(self.weight * (other.weight / weight)) * step[None, :])
            mean, low = sum_parts(mean, step * (other.weight / weight))
            mean, rest = sum_parts(mean, low + rest)
        with pool.one_blas_thread():
            r = triangle_of(np.vstack(rows))
        return replace(self, weight=weight, mean=mean, r=_upright(r), n_rows=n_rows, mean_rest=rest)

    def solve(self, ridge: float = 0.0, *, tol: float = 1e-10) -> LeastSquaresSolution:
        """The least-squares solution for all rows that went in.

        Parameters
        ----------
        ridge : float, default=0.0
            The strength of the penalty ``ridge / 2 |W|^2``.
        tol : float, default=1e-10
            The tolerance of the certificate, which is about the factor: the rows are no longer at
            hand.

        Returns
        -------
        LeastSquaresSolution
        """
        unit = units_of(self.r[:, self.n_features :])
        with np.errstate(all="ignore"):
            scaled = self.in_units(unit)
            equations = scaled._equations(float(ridge), tol)
            return scaled._solve(equations).in_units(unit, lambda: equations)

    def _equations(self, ridge: float, tol: float) -> NormalEquations:
        d, m = self.n_features, self.n_targets
        # The rows of the triangle stand for those that went in, centred.
        problem = LeastSquaresProblem(
            DenseDesign(np.ascontiguousarray(self.r[:, :d])),
            np.ascontiguousarray(self.r[:, d:]),
            ridge=ridge,
            fit_intercept=False,
            tol=tol,
            factored=True,
        )
        return NormalEquations(problem, np.zeros(d + m), lengths_of(self.r), self.weight)

    def _solve(self, equations: NormalEquations) -> LeastSquaresSolution:
        d, m = self.n_features, self.n_targets
        solution = self.solve_for(equations, " of the triangular factor of all rows")
        if not self.centred:
            return solution
        intercept = np.empty(m)
        for k, coef in enumerate(solution.coef):
            terms = [(self.mean[d + k], 1.0), (self.mean_rest[d + k], 1.0)]
            terms += [*zip(-coef, self.mean[:d], strict=True)]
            terms += [*zip(-coef, self.mean_rest[:d], strict=True)]
            intercept[k] = dot_once_rounded(terms)
        return replace(solution, intercept=intercept)

    def solve_for(self, equations: NormalEquations, whose: str = "") -> LeastSquaresSolution:
        """The refined solution of equations whose rows have this factor."""
        best: LeastSquaresSolution | None = None
        least = np.inf
        for looser in _LOOSER:
            inverse = self.inverse(equations.problem.ridge, looser)
            coef = np.ascontiguousarray(inverse.solve().T)
            found, steps, _ = refine(equations, inverse, coef)
            reached = found.reached()
            if best is None or reached < least:
                least = reached
                best = LeastSquaresSolution.of(
                    found,
                    method="svd" if inverse.dependent else "qr",
                    steps=steps,
                    rank=inverse.rank,
                    condition=inverse.condition,
                    dependent=inverse.dependent,
                    factor=self,
                    whose=whose,
                )
            # Columns that hardly differ, and many of them, have relations that rounding has
            # spoilt; with fewer columns in the basis those are sharper.
            if not best.dependent or least <= equations.problem.tol:
                break
        assert best is not None
        return best

    def inverse(self, ridge: float = 0.0, looser: float = 1.0) -> NormalInverse:
        """The inverse of the normal equations; ``looser``: so much more is taken for rounding."""
        d = self.n_features
        noise = EPS * np.sqrt(self.weight) * np.abs(self.mean[:d])
        # Rounding adds up over the blocks of rows, as a random walk does.
        negligible = max(NEGLIGIBLE, 4.0 * EPS * max(math.sqrt(self.n_rows), len(self.mean)))
        return NormalInverse(self.r, d, ridge, noise, looser * negligible)

    def in_units(self, unit: np.ndarray | None) -> TriangularFactor:
        """The factor of the same rows with the targets multiplied by ``unit``."""
        if unit is None:
            return self
        whole = np.concatenate([np.ones(self.n_features), unit])
        return replace(
            self, r=self.r * whole, mean=self.mean * whole, mean_rest=self.mean_rest * whole
        )

    @classmethod
    def from_scatter(
        cls,
        weight: float,
        mean: np.ndarray,
        scatter: np.ndarray,
        root: np.ndarray | None,
        n_rows: int,
        n_features: int,
        centred: bool,
    ) -> TriangularFactor:
        """The factor from sums of products and the Cholesky factor ``root`` of the features' sums.

        Without ``root``, for which the sums may be too ill-conditioned, it is made from their
        eigenvalues.
        """
        p, d = len(mean), n_features
        if root is None:
            unit = np.sqrt(np.diagonal(scatter))
            unit[unit == 0.0] = 1.0
            r = _root(scatter / unit[:, None] / unit) * unit
        else:
            across = solve_upper(root, scatter[:d, d:], transposed=True)
            r = np.zeros((p, p))
            r[:d, :d] = root
            r[:d, d:] = across
            # The unexplained part of the targets may be zero, or negative by rounding.
            r[d:, d:] = _root(scatter[d:, d:] - across.T @ across)
        return cls(weight, mean, _upright(r), n_rows, p - d, centred, np.zeros(p))


def _root(matrix: np.ndarray) -> np.ndarray:
    """An upper triangle ``R`` with ``R'R`` the matrix, what is negative in it taken for zero."""
    if len(matrix) == 1:
        return np.sqrt(np.maximum(matrix, 0.0))
    values, vectors = scipy.linalg.eigh(matrix)
    return triangle_of(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _upright(r: np.ndarray) -> np.ndarray:
    """The same factor with a diagonal that is not negative, which makes it unique."""
    signs = np.where(np.diagonal(r) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(r * signs[:, None]) + 0.0


def _factor(
    design: Design,
    targets: np.ndarray,
    weights: np.ndarray | None,
    shift: np.ndarray,
    ones: bool,
    start: int,
    stop: int,
) -> np.ndarray:
    """``R`` of ``sqrt(s) [1 | X - shift | Y - shift]`` of a range of rows, a block at a time."""
    d, lead = design.n_features, int(ones)
    width = len(shift) + lead
    # Each block is factorised together with the triangle so far: many rows make that cheap.
    size = min(max(4 * width, _BLOCK_BYTES // (8 * width)), max(1, stop - start))
    buffer = np.empty((min(width, stop - start) + size) * width)
    r = np.zeros((0, width))
    for part, block in design.blocks(start, stop, size=size):
        k, height = len(r), len(r) + len(block)
        whole = buffer[: height * width].reshape((height, width), order="F")
        rows = whole[k:]
        rows[:, :lead] = 1.0
        np.subtract(block, shift[:d], out=rows[:, lead : lead + d])
        np.subtract(targets[part], shift[d:], out=rows[:, lead + d :])
        if weights is not None:
            rows *= np.sqrt(weights[part])[:, None]
        whole[:k] = r
        r = triangle_of(whole)
    return r


def _unpickled(
    weight: float, mean: Any, r: Any, n_rows: int, n_targets: int, centred: bool, rest: Any
) -> TriangularFactor:
    rest = np.zeros(len(mean)) if rest is None else rest
    return TriangularFactor(weight, mean, unpack_triangle(r), n_rows, n_targets, centred, rest)
