"""The triangular factor of least squares: made a block of rows at a time, merged, solved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
import scipy.linalg.lapack as lapack

from separatrix._compiled import pool
from separatrix._compiled.double_double import sum_parts
from separatrix.data.design import Design

if TYPE_CHECKING:
    from separatrix.closed_form.least_squares import LeastSquaresSolution

__all__ = ["NormalInverse", "TriangularFactor", "lengths_of"]

_EPS = float(np.finfo(np.float64).eps)
# Bytes of the rows that are factorised at a time: the second-level cache.
_BLOCK_BYTES = 1 << 20
# Rows that the provisional centres are the medians of.
_SAMPLE = 512
# What the factorisation of a few rows leaves of a column of unit length that depends on others.
NOTHING = 64 * _EPS
# Beyond this the condition number is estimated instead of computed.
_EXACT_CONDITION = 400


@dataclass(frozen=True, eq=False)
class TriangularFactor:
    r"""What least squares needs to know of rows: ``R`` of a QR factorisation, and the means.

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
        Rows that went in.
    n_targets : int
        How many of the columns are targets, the last ones.
    centred : bool
        Whether there is an intercept.
    mean_rest : ndarray of shape (p,)
        What rounding took from ``mean``, so that a million merges lose nothing.

    References
    ----------
    Golub and Van Loan, *Matrix Computations* (2013), section 6.5: updating a QR factorisation.
    Demmel, Grigori, Hoemmen and Langou (2012), Communication-optimal parallel and sequential QR
    and LU factorizations.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.design import as_design
    >>> from separatrix.closed_form.least_squares import TriangularFactor
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
            r = found[0] if len(found) == 1 else _triangle(np.vstack(found))
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
                f"merged with one of {other.n_features} features and {other.n_targets} targets, "
                "or of another intercept."
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
            r = _triangle(np.vstack(rows))
        return replace(self, weight=weight, mean=mean, r=_upright(r), n_rows=n_rows, mean_rest=rest)

    def solve(self, ridge: float = 0.0, *, tol: float = 1e-10) -> LeastSquaresSolution:
        """The least-squares solution for all rows that went in.

        Parameters
        ----------
        ridge : float, default=0.0
            Adds ``ridge / 2 |W|^2``.
        tol : float, default=1e-10
            Of the certificate, which is of the factor: the rows are no longer at hand.

        Returns
        -------
        LeastSquaresSolution
        """
        from separatrix.closed_form.least_squares import solve_factor

        return solve_factor(self, ridge, tol=tol)

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
        """From sums of products, and the Cholesky factor ``root`` of those of the features.

        Without ``root``, which the sums may be too ill-conditioned for, from their eigenvalues.
        """
        p, d = len(mean), n_features
        if root is None:
            unit = np.sqrt(np.diagonal(scatter))
            unit[unit == 0.0] = 1.0
            r = _root(scatter / unit[:, None] / unit) * unit
        else:
            across = scipy.linalg.solve_triangular(
                root, scatter[:d, d:], trans="T", check_finite=False
            )
            r = np.zeros((p, p))
            r[:d, :d] = root
            r[:d, d:] = across
            # What the features leave of the targets may be nothing, or by rounding less.
            r[d:, d:] = _root(scatter[d:, d:] - across.T @ across)
        return cls(weight, mean, _upright(r), n_rows, p - d, centred, np.zeros(p))


def _root(matrix: np.ndarray) -> np.ndarray:
    """An upper triangle ``R`` with ``R'R`` the matrix, what is negative in it taken for zero."""
    values, vectors = scipy.linalg.eigh(matrix)
    return _triangle(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def _triangle(rows: np.ndarray) -> np.ndarray:
    """``R`` of the rows, which are overwritten."""
    rows = np.asfortranarray(rows)
    k = min(rows.shape)
    if not k:
        return np.zeros((k, rows.shape[1]))
    out = lapack.dgeqrf(rows, lwork=max(1, 64 * rows.shape[1]), overwrite_a=True)[0]
    return np.triu(out[:k])


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
        r = _triangle(whole)
    return r


# --- the equations of a factor ------------------------------------------------------------------


class NormalInverse:
    """``(A'A + ridge I)^-1``, or where columns depend on one another what stands for it.

    Everything is done in columns of unit length.  A column that the others explain to rounding
    leaves the basis; a solution in the basis becomes the one of least norm by adding relations
    between columns, each known entry by entry.

    Parameters
    ----------
    r : ndarray of shape (k, p)
        Rows that have the same ``A'A`` and ``A'Y``: the features and, after them, the targets.
    n_features : int
    ridge : float
    noise : ndarray of shape (n_features,), optional
        Length of what rounding of the entries can make of each column of ``A``.
    nothing : float, optional
        What is left of a column of unit length that depends on others.
    trusted : bool, default=False
        The features are known to be independent.
    """

    def __init__(
        self,
        r: np.ndarray,
        n_features: int,
        ridge: float = 0.0,
        noise: np.ndarray | None = None,
        nothing: float = NOTHING,
        trusted: bool = False,
    ) -> None:
        self._nothing = nothing
        d = n_features
        noise = np.zeros(d) if noise is None else noise
        if ridge > 0.0:
            penalty = np.zeros((d, r.shape[1]))
            np.fill_diagonal(penalty, np.sqrt(ridge))
            r = _triangle(np.vstack([r, penalty]))
            # The penalty is exact: no column is lost in rounding that it holds up.
            noise = np.zeros(d)
        lengths = lengths_of(r[:, :d])
        alive = lengths > 4.0 * noise
        self.scale = np.where(alive, lengths, 1.0)
        self.n_columns = d
        self._live = np.flatnonzero(alive)
        self._rest = np.zeros(0, dtype=np.int64)
        a = r[:, self._live] / self.scale[self._live]
        relative = float(np.max(noise[alive] / lengths[alive], initial=0.0))
        if (
            alive.all()
            and len(r) >= d
            and (trusted or _reciprocal_condition(a[:d]) > max(1e3 * nothing, 64.0 * relative))
        ):
            self.basis, self.upper = np.arange(d), np.ascontiguousarray(a[:d])
            self._right = r[:d, d:]
        else:
            self._pivot(a, r[:, d:], noise[self._live] / self.scale[self._live])
        self.rank = len(self.basis)
        self.dependent = tuple(int(j) for j in np.setdiff1d(np.arange(d), self.basis))
        self.condition = _condition(self.upper)

    def _pivot(self, a: np.ndarray, right: np.ndarray, noise: np.ndarray) -> None:
        q, upper, order = scipy.linalg.qr(a, mode="economic", pivoting=True, check_finite=False)
        size = np.abs(np.diagonal(upper))
        rank = int(np.sum(size > self._nothing * size[:1].sum())) if len(size) else 0
        # A relation between rounded columns holds to their rounding, not to that of the sums.
        while rank and size[rank - 1] < 1e-4 and noise.any():
            k = rank - 1
            head = upper[:k, :k]
            weights = scipy.linalg.solve_triangular(head, upper[:k, k]) if k else np.zeros(0)
            expected = noise[order[k]] + np.abs(weights) @ noise[order[:k]]
            if size[k] > 4.0 * expected:
                break
            rank = k
        self._right = q[:, :rank].T @ right
        self.upper = np.ascontiguousarray(upper[:rank, :rank])
        self.basis = self._live[order[:rank]]
        self._rest = rest = self._live[order[rank:]]
        if not len(rest):
            return
        over = upper[:rank, rank : rank + len(rest)]
        if rank:
            over = scipy.linalg.solve_triangular(self.upper, over)
        # What is left of a coefficient that is zero would be blown up by unequal units.
        over[np.abs(over) < 1e3 * NOTHING] = 0.0
        d = self.n_columns
        if len(rest) <= rank:
            relations = np.zeros((d, len(rest)))
            relations[self.basis] = -over / self.scale[self.basis, None]
            relations[rest, np.arange(len(rest))] = 1.0 / self.scale[rest]
            relations /= lengths_of(relations)
            self._relations = relations
            self._span, self._span_r = scipy.linalg.qr(relations, mode="economic")
        else:
            combined = np.zeros((d, rank))
            combined[self.basis, np.arange(rank)] = self.scale[self.basis]
            combined[rest] = over.T * self.scale[rest, None]
            self._span, self._span_r = scipy.linalg.qr(combined, mode="economic")

    def _lifted(self, z: np.ndarray) -> np.ndarray:
        """Coefficients of least norm for a solution in the basis, in columns of unit length."""
        w = np.zeros((self.n_columns, z.shape[1]))
        if 0 < self.rank < len(self._rest):
            half = scipy.linalg.solve_triangular(self._span_r, z, trans="T", check_finite=False)
            return self._span @ half
        w[self.basis] = z / self.scale[self.basis, None]
        if len(self._rest) and self.rank:
            # Three times: what is large in one unit hides what is small in another.
            for _ in range(3):
                steps = scipy.linalg.solve_triangular(
                    self._span_r, self._span.T @ w, check_finite=False
                )
                w -= self._relations @ steps
        return w

    def solve(self) -> np.ndarray:
        """Coefficients (n_features, m) for the targets that came with the rows."""
        if not self.rank:
            return np.zeros((self.n_columns, self._right.shape[1]))
        return self._lifted(
            scipy.linalg.solve_triangular(self.upper, self._right, check_finite=False)
        )

    def step(self, gradient: np.ndarray) -> np.ndarray:
        """``(A'A + ridge I)^-1 gradient`` for (d, m): seminormal equations (Bjorck, 1987)."""
        if not self.rank:
            return np.zeros_like(gradient)
        right = gradient[self.basis] / self.scale[self.basis, None]
        half = scipy.linalg.solve_triangular(self.upper, right, trans="T", check_finite=False)
        return self._lifted(scipy.linalg.solve_triangular(self.upper, half, check_finite=False))


def lengths_of(a: np.ndarray) -> np.ndarray:
    """Lengths of the columns of a matrix, without overflow of the squares."""
    if not a.size:
        return np.zeros(a.shape[1])
    top = np.abs(a).max(axis=0)
    safe = np.where((top > 0.0) & np.isfinite(top), top, 1.0)
    return safe * np.sqrt(np.square(a / safe).sum(axis=0))


def _reciprocal_condition(upper: np.ndarray) -> float:
    return float(lapack.dtrcon(upper, norm="1", uplo="U")[0])


def _condition(upper: np.ndarray) -> float:
    """Condition number of a triangle: exact, or for many columns an estimate in the 1-norm."""
    if not len(upper):
        return 1.0
    if len(upper) <= _EXACT_CONDITION:
        values = scipy.linalg.svdvals(upper, check_finite=False)
        return float(values[0] / values[-1]) if values[-1] > 0.0 else np.inf
    inverse = _reciprocal_condition(upper)
    return 1.0 / inverse if inverse > 0.0 else np.inf
