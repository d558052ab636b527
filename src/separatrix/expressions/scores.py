"""The nodes computed from features: affine functions, squares, kernels, polynomials, votes."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import pool
from separatrix.data.design import as_design
from separatrix.data.labels import one_vs_one_scores
from separatrix.expressions.base import Evaluation, Expression, Features, SameColumns

# The number of multiplications up to which BLAS uses one thread by itself.
_FEW = 4096
_AS_IT_IS = contextlib.nullcontext()
# The number of kernel values up to which all are computed in float64 from the start.
_FEW_VALUES = 1 << 16


@dataclass(eq=False, slots=True)
class Affine(Expression):
    r"""``W v + b`` of the values ``v`` of a node, of shape (n_samples, K).

    Attributes
    ----------
    of : Expression
    weights : ndarray of shape (K, d)
    intercepts : ndarray of shape (K,)
    single : bool
        Whether the scores of rows in float32 are rounded to float32.
    """

    of: Expression
    weights: np.ndarray
    intercepts: np.ndarray
    single: bool = False

    @property
    def n_columns(self) -> int:
        return len(self.intercepts)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        if type(self.of) is Features:
            return self._of_features(values)
        scores = self.of.design(values).dot(np.ascontiguousarray(self.weights.T))
        scores += self.intercepts
        return np.asarray(scores)

    def _of_features(self, values: Evaluation) -> np.ndarray:
        design, weights = values.design, self.weights
        matrix = design.matrix
        with (
            # BLAS uses one thread by itself for so few entries.
            _AS_IT_IS if matrix.size * len(weights) <= _FEW else pool.bounded_blas(),
            np.errstate(over="ignore", under="ignore", invalid="ignore"),
        ):
            scores, total = design.scores(weights, self.intercepts)
        # NaN and infinities show in the scores, since finite weights hide none; but some BLAS skip
        # weights of zero.
        if not math.isfinite(total) or (
            np.count_nonzero(weights) < weights.size and not sp.issparse(matrix)
        ):
            values.require_finite()
        narrow = self.single and matrix.dtype == np.float32
        return scores.astype(np.float32) if narrow else scores


@dataclass(eq=False, slots=True)
class Difference(Expression):
    """The second column of two less the first, of shape (n_samples, 1)."""

    of: Expression

    @property
    def n_columns(self) -> int:
        return 1

    def evaluate(self, values: Evaluation) -> np.ndarray:
        both = values.of(self.of)
        return np.asarray(both[:, 1:] - both[:, :1])


@dataclass(eq=False, slots=True)
class Quadratic(Expression):
    r"""Discriminants of Gaussians, of shape (n_samples, K).

    .. math:: \delta_k(x) = c_k - \tfrac12 \|L_k^{-1} D_k (x - \mu_k)\|^2

    Attributes
    ----------
    of : Expression
    gaussians : Gaussians
        An object with ``means``, ``kept`` (the columns that count), and for each class its
        ``factor``: a lower triangular ``L`` and the ``scale`` ``D`` of the columns.
    """

    of: Expression
    gaussians: Any

    @property
    def n_columns(self) -> int:
        return int(self.gaussians.n_classes)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(self.gaussians.discriminants(values.finite_design))

    @property
    def constants(self) -> np.ndarray:
        """The constants ``c_k``, of shape (K,)."""
        own = self.gaussians
        halves = [0.5 * own.factor(k).log_determinant for k in range(own.n_classes)]
        return np.asarray(np.log(own.priors) - np.array(halves))


@dataclass(eq=False, slots=True)
class KernelSum(Expression):
    r"""``sum_j c_jk k(x, v_j) + b_k``, of shape (n_samples, K).

    Attributes
    ----------
    of : Expression
    kernel : Kernel
    vectors : ndarray or CSR matrix of shape (n_vectors, d)
        The support vectors; for a precomputed kernel, whose values are the features, the columns
        that count.
    coefficients : ndarray of shape (n_vectors, K)
    intercepts : ndarray of shape (K,)
    """

    of: Expression
    kernel: Any
    vectors: Any
    coefficients: np.ndarray
    intercepts: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.intercepts)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        from separatrix.kernels.functions import PrecomputedKernel
        from separatrix.kernels.prediction import kernel_scores

        design = values.finite_design
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if isinstance(self.kernel, PrecomputedKernel):
                # Columns of rows that are no support vectors count for nothing, whatever they hold.
                scores = as_design(design.matrix[:, self.vectors]).dot(self.coefficients)
            else:
                vectors = as_design(self.vectors)
                scores = kernel_scores(self.kernel, design, vectors, self.coefficients)
            scores += self.intercepts
        return np.asarray(scores)

    def deciding(self, values: Evaluation) -> np.ndarray:
        return self.decided(self, values)

    def decided(self, node: Expression, values: Evaluation) -> np.ndarray:
        """The deciding scores of itself, or of its votes: float32 decides most signs."""
        from separatrix.kernels.functions import InnerProductKernel
        from separatrix.kernels.prediction import certain_predictions

        few = len(self.coefficients) * values.design.n_samples <= _FEW_VALUES
        if few or values.knows(node) or not isinstance(self.kernel, InnerProductKernel):
            return values.of(node)
        design, vectors = values.finite_design, as_design(self.vectors)
        # This takes a third of the time of float64, which computes the others.
        scores, certain = certain_predictions(
            self.kernel, design, vectors, self.coefficients, self.intercepts
        )
        if isinstance(node, Votes):
            scores = one_vs_one_scores(scores, node.n_classes)
            # Equal numbers of votes are decided by the size of the scores.
            first, second = -np.sort(-scores, axis=1)[:, :2].T
            certain &= first - second > 2.0 / 3.0
        rest = np.flatnonzero(~certain)
        if len(rest):
            scores[rest] = Evaluation(design.take(rest)).of(node)
        return scores


@dataclass(eq=False, slots=True)
class Monomials(Expression):
    r"""Products of polynomials of single columns, of shape (n_samples, n_terms).

    With :math:`t_j = (x_j - m_j) s_j`, :math:`q_0 = 1` and
    :math:`q_{k+1} = ((t - a_k) q_k - b_k q_{k-1}) s_k`, the term of powers ``p`` is
    :math:`\prod_j q_{p_j}(t_j)`. Plain monomials have ``m = a = b = 0`` and ``s = 1``.

    Attributes
    ----------
    of : Expression
    basis : PolynomialBasis
        An object with ``centre`` and ``scale`` of shape (d,), ``recurrence`` of shape
        (d, degree, 3) with ``a_k, b_k, s_k``, and ``powers`` of shape (n_terms, d).
    """

    of: Expression
    basis: Any

    @property
    def n_columns(self) -> int:
        return int(self.basis.n_terms)

    def design(self, values: Evaluation) -> Any:
        """The terms as a design, which computes them in blocks of rows."""
        from separatrix.closed_form.polynomial import PolynomialDesign

        return PolynomialDesign(values.finite_design, self.basis)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(self.design(values).matrix)


@dataclass(eq=False, slots=True)
class Votes(Expression):
    """The scores of classes from those of their pairs: wins, and a share that settles equal ones.

    The pairs are in the order (0, 1), (0, 2), ..., (1, 2), ...; a score of at least 0 is a vote
    for the first. A class adds to its votes ``s / (3 (|s| + 1))``, with the sum ``s`` of its
    signed scores, each held within 1e300.
    """

    of: Expression
    n_classes: int

    @property
    def n_columns(self) -> int:
        return self.n_classes

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return one_vs_one_scores(values.of(self.of), self.n_classes)

    def deciding(self, values: Evaluation) -> np.ndarray:
        return self.of.decided(self, values) if isinstance(self.of, KernelSum) else values.of(self)


@dataclass(eq=False, slots=True)
class Wins(Expression):
    """The number of its pairs that each class wins, without a share that settles equal ones.

    The pairs are in the order (0, 1), (0, 2), ..., (1, 2), ...; a score above 0 is a vote for the
    first.
    """

    of: Expression
    n_classes: int

    @property
    def n_columns(self) -> int:
        return self.n_classes

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return wins(values.of(self.of), self.n_classes)


def wins(pairs: np.ndarray, n_classes: int) -> np.ndarray:
    """The number of its pairs that each class wins, by the scores of all pairs."""
    found = np.zeros((len(pairs), n_classes))
    for k, places in enumerate(combinations(range(n_classes), 2)):
        found[np.arange(len(pairs)), np.where(pairs[:, k] > 0.0, *places)] += 1.0
    return found


@dataclass(eq=False, slots=True)
class Stacked(Expression):
    """The columns of several nodes, one node after the other."""

    of: tuple[Expression, ...]

    @property
    def n_columns(self) -> int:
        return sum(one.n_columns for one in self.of)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.hstack([values.of(one) for one in self.of])


@dataclass(eq=False, slots=True)
class Fourier(Expression):
    r"""Waves of a point, of shape (n_samples, 2 m).

    With the angles :math:`a_j = \omega_j \cdot (x - o)` they are :math:`\sqrt{1/m} \cos a_1,
    \sqrt{1/m} \sin a_1, \sqrt{1/m} \cos a_2`, and so on.

    Attributes
    ----------
    of : Expression
    lift : FourierLift
        An object with ``frequencies_`` of shape (m, d) and ``offset_`` of shape (d,).
    """

    of: Expression
    lift: Any

    @property
    def n_columns(self) -> int:
        return int(self.lift.n_components_)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(self.lift.transform(values.finite_design.matrix))


@dataclass(eq=False, slots=True)
class Shifted(SameColumns):
    """Scores plus a number that is the same for all scores of a row, from a single column."""

    by: Expression

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(values.of(self.of) + values.of(self.by))
