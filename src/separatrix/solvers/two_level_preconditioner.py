r"""Two levels of columns: a stand-in for a Hessian of wide, sparse data.

One-hot columns are a few that most rows have and hundreds of thousands that few have.  The Hessian
of the frequent ones is formed from the rows of a sample and factorised; for a rare one its
diagonal, taken over all rows, is enough.  Such a diagonal misses what rare columns do together:
the levels of one category add up to the intercept but for the frequent ones.  So the factorised
matrix has a column for each run of columns of which a row has one at most, which is the
sum of the rare ones in it, weighted as the optimum would move them: the coarse level (Nicolaides,
1987).  With :math:`P` of these coarse columns, :math:`D` the diagonal of the rare ones and
:math:`\Pi` the :math:`D`-orthogonal projection onto the sums,

.. math:: M^{-1} = P (P' H P)^{-1} P' + (I - \Pi) D^{-1} (I - \Pi)' ,

which is positive definite whatever the sample is.  What remains are the products of rare columns
with one another, and these are about as small as the square root of effective parameters over rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled.compilation import FASTMATH, njit
from separatrix._compiled.linear_algebra import Factor, factorise
from separatrix.data.design import CSRDesign
from separatrix.objectives.base import Objective

# The multiplications that BLAS makes in the time of one whose product is added to an entry of its
# own, and the number of rows in a block.
_DENSE_GAIN, _BLOCK = 24.0, 256


@dataclass(frozen=True)
class Tuning:
    """The sizes of the two levels, which affect the speed but not the optimum.

    Parameters
    ----------
    frequent : int
        The number of columns that count as frequent.
    rows : int
        The number of rows in a sample for each column of the coarse level.
    entries : int
        The largest number of entries in a sample for each column of the coarse level.
    runs : int
        The largest number of runs of columns; data with more have no such structure.
    """

    frequent: int = 1000
    rows: int = 64
    entries: int = 4096
    runs: int = 500


@dataclass(frozen=True)
class TwoLevelPreconditioner:
    """A positive definite stand-in for a Hessian; :meth:`solve` applies its inverse.

    Attributes
    ----------
    place : ndarray of int32, shape (n_features,)
        The coarse column that each column is in.
    weight : ndarray of shape (n_features,)
        The weight of each column in its coarse column; 1 for the frequent ones, which have a
        coarse column each.
    rare : ndarray of bool, shape (n_features,)
    diagonal : ndarray of shape (n_features,)
        The diagonal of the Hessian.
    share : ndarray of shape (n_coarse,)
        The sum, over the rare columns in each coarse column, of their squared weights times their
        diagonal.
    factor : Factor
        The factorised Hessian of the coarse columns.
    intercept : bool
        Whether the last coarse column is the column of ones; if not, that column moves nothing.
    """

    place: np.ndarray
    weight: np.ndarray
    rare: np.ndarray
    diagonal: np.ndarray
    share: np.ndarray
    factor: Factor
    intercept: bool

    @staticmethod
    def suit(part: Any) -> bool:
        """Whether the rows of an objective lie in memory, and are sparse."""
        return isinstance(part, Objective) and isinstance(part.design, CSRDesign)

    @classmethod
    def of(
        cls,
        part: Any,
        theta: np.ndarray,
        diagonal: np.ndarray,
        rng: np.random.Generator,
        tuning: Tuning = Tuning(),
    ) -> TwoLevelPreconditioner:
        """The preconditioner at a point, from rows in memory and the Hessian's diagonal.

        The diagonal is that of the Hessian of all rows.
        """
        d = part.design.n_features
        bent = part.penalty.curvature((d,), d)
        matrix, own = part.design.matrix, np.maximum(diagonal[:d], np.finfo(float).tiny)
        loss = np.maximum(diagonal[:d] - bent, 0.0)
        starts = _runs(matrix.indices, matrix.indptr, d)
        grouped = np.count_nonzero(starts) <= tuning.runs
        runs = np.cumsum(starts) - 1 if grouped else np.zeros(d, dtype=np.int64)
        n_runs = int(runs[-1]) + 1
        frequent = np.argsort(-loss, kind="stable")[: min(tuning.frequent, d)]
        rare = np.ones(d, dtype=bool)
        rare[frequent] = False
        place = (len(frequent) + runs).astype(np.int32)
        place[frequent] = np.arange(len(frequent), dtype=np.int32)
        weight = np.where(rare, loss / own, 1.0)
        size = len(frequent) + n_runs + 1
        n = part.design.n_samples
        enough = min(tuning.rows * size, tuning.entries * size * n // max(matrix.nnz, 1) + 1)
        few = part.some(min(enough, n), rng)
        coarse = _coarse(few.design.matrix, few.curvature(few.linear(theta)), place, weight, size)
        # Columns that the sample lacks have their diagonal.  The others are not scaled to it:
        # those of a run would no longer add up to the intercept.
        wanted = np.bincount(place, weights=np.square(weight) * loss, minlength=size)
        found = np.diagonal(coarse).copy()
        bends = np.bincount(place, weights=bent * np.square(weight), minlength=size)
        missed = np.where(found > 0.0, 0.0, wanted)
        # A coarse column that nothing is in moves nothing.
        empty = np.where(found + bends + missed > 0.0, 0.0, 1.0)
        coarse[np.diag_indices(size)] += bends + missed + empty
        if not part.fit_intercept:
            coarse[-1], coarse[:, -1], coarse[-1, -1] = 0.0, 0.0, 1.0
        square = np.where(rare, np.square(weight) * own, 0.0)
        share = np.bincount(place, weights=square, minlength=size)
        return cls(place, weight, rare, own, share, factorise(coarse), bool(part.fit_intercept))

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """The inverse of the stand-in, times a vector of the shape of a point."""
        return self.coarse(rhs) + self.fine(rhs)

    def coarse(self, rhs: np.ndarray) -> np.ndarray:
        """The contribution of the coarse columns to :meth:`solve`."""
        d, size = len(self.place), len(self.share)
        sums = np.bincount(self.place, weights=self.weight * rhs[:d], minlength=size)
        if self.intercept:
            sums[-1] = rhs[d]
        found = self.factor.solve(sums)
        out = np.empty_like(rhs)
        out[:d] = self.weight * found[self.place]
        if self.intercept:
            out[d] = found[-1]
        return out

    def fine(self, rhs: np.ndarray) -> np.ndarray:
        """The contribution of the rare columns to :meth:`solve`, beside the coarse ones."""
        d, size = len(self.place), len(self.share)
        own = np.where(self.rare, rhs[:d], 0.0)
        sums = np.bincount(self.place, weights=self.weight * own, minlength=size)
        sums = np.divide(sums, self.share, out=np.zeros(size), where=self.share > 0.0)
        out = np.zeros_like(rhs)
        out[:d] = own / self.diagonal - np.where(self.rare, self.weight * sums[self.place], 0.0)
        return out


@njit(nogil=True, cache=True)
def _runs(indices, indptr, d):
    """Whether each column begins a run of columns of which no row has more than one.

    The column indices of each row are in ascending order.
    """
    left = np.full(d, -1, dtype=np.int64)
    for i in range(len(indptr) - 1):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            if left[indices[p]] < indices[p - 1]:
                left[indices[p]] = indices[p - 1]
    # The least number of cuts, each as far to the right as it may be.
    starts = np.zeros(d, dtype=np.bool_)
    starts[0] = True
    last = 0
    for j in range(d):
        if left[j] >= last:
            starts[j], last = True, j
    return starts


def _coarse(
    matrix: sp.csr_matrix, curvature: np.ndarray, place: np.ndarray, weight: np.ndarray, size: int
) -> np.ndarray:
    """The Hessian of the coarse columns; the last of them is that of ones."""
    out = np.zeros((size, size))
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    products = np.square(np.diff(indptr).astype(np.float64)).sum()
    if _DENSE_GAIN * products <= len(curvature) * float(size) ** 2:
        _add_rows(data, indices, indptr, curvature, place, weight, out)
        out += out.T
        return out
    # Long rows have several columns in the same coarse ones: sums first, and then dense products.
    sums = sp.csr_matrix((data * weight[indices], place[indices], indptr), (len(curvature), size))
    for start in range(0, len(curvature), _BLOCK):
        block = sums[start : start + _BLOCK].toarray()
        block[:, -1] = 1.0
        out += block.T @ (curvature[start : start + _BLOCK, None] * block)
    return out


@njit(fastmath=FASTMATH, nogil=True, cache=True)
def _add_rows(data, indices, indptr, curvature, place, weight, out):
    """Add the products of the entries of each row to half of the matrix.

    The product of two entries goes to one of two places that mirror one another, and a square is
    halved: the matrix and its mirror image add up to what is wanted.
    """
    size = out.shape[0]
    longest = 0
    for i in range(len(indptr) - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    columns, values = np.empty(longest + 1, dtype=np.int64), np.empty(longest + 1)
    for i in range(len(indptr) - 1):
        n = indptr[i + 1] - indptr[i]
        for k in range(n):
            j = indices[indptr[i] + k]
            columns[k], values[k] = place[j], data[indptr[i] + k] * weight[j]
        columns[n], values[n] = size - 1, 1.0
        for a in range(n + 1):
            scaled = curvature[i] * values[a]
            for b in range(a):
                out[columns[a], columns[b]] += scaled * values[b]
            out[columns[a], columns[a]] += 0.5 * scaled * values[a]
