"""The nodes that are made of features: affine functions, squares, kernels, polynomials, votes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from separatrix.data.design import as_design
from separatrix.data.labels import one_vs_one_scores
from separatrix.expressions.base import Evaluation, Expression, Features
from separatrix.kernels.prediction import kernel_scores

__all__ = [
    "Affine",
    "Difference",
    "KernelSum",
    "Monomials",
    "Quadratic",
    "Stacked",
    "Votes",
    "Wins",
]


@dataclass(frozen=True, eq=False)
class Affine(Expression):
    r"""``W v + b`` of the values ``v`` of a node, of shape (n_samples, K).

    Attributes
    ----------
    of : Expression
    weights : ndarray of shape (K, d)
    intercepts : ndarray of shape (K,)
    """

    of: Expression
    weights: np.ndarray
    intercepts: np.ndarray

    @property
    def n_columns(self) -> int:
        return len(self.intercepts)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        if isinstance(self.of, Features):
            scores, _ = values.design.scores(self.weights, self.intercepts)
            return np.asarray(scores)
        if isinstance(self.of, Monomials):
            design = self.of.design(values)
        else:
            design = as_design(values.of(self.of))
        scores = design.dot(np.ascontiguousarray(self.weights.T))
        scores += self.intercepts
        return np.asarray(scores)


@dataclass(frozen=True, eq=False)
class Difference(Expression):
    """The second column of two less the first, of shape (n_samples, 1)."""

    of: Expression

    @property
    def n_columns(self) -> int:
        return 1

    def evaluate(self, values: Evaluation) -> np.ndarray:
        both = values.of(self.of)
        return np.asarray(both[:, 1:] - both[:, :1])


@dataclass(frozen=True, eq=False)
class Quadratic(Expression):
    r"""Discriminants of Gaussians, of shape (n_samples, K).

    .. math:: \delta_k(x) = c_k - \tfrac12 \|L_k^{-1} D_k (x - \mu_k)\|^2

    Attributes
    ----------
    of : Expression
    gaussians : Gaussians
        With ``means``, ``kept`` (the columns that count), and for each class its ``factor``:
        a lower triangular ``L`` and the ``scale`` ``D`` of the columns.
    """

    of: Expression
    gaussians: Any

    @property
    def n_columns(self) -> int:
        return int(self.gaussians.n_classes)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(self.gaussians.discriminants(values.design))

    @property
    def constants(self) -> np.ndarray:
        """The ``c_k``, of shape (K,)."""
        own = self.gaussians
        halves = [0.5 * own.factor(k).log_determinant for k in range(own.n_classes)]
        return np.asarray(np.log(own.priors) - np.array(halves))


@dataclass(frozen=True, eq=False)
class KernelSum(Expression):
    r"""``sum_j c_jk k(x, v_j) + b_k``, of shape (n_samples, K).

    Attributes
    ----------
    of : Expression
    kernel : Kernel
    vectors : ndarray or CSR matrix of shape (n_vectors, d)
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
        vectors = as_design(self.vectors)
        scores = kernel_scores(self.kernel, values.design, vectors, self.coefficients)
        scores += self.intercepts
        return scores


@dataclass(frozen=True, eq=False)
class Monomials(Expression):
    r"""Products of polynomials of single columns, of shape (n_samples, n_terms).

    With :math:`t_j = (x_j - m_j) s_j`, :math:`q_0 = 1` and
    :math:`q_{k+1} = ((t - a_k) q_k - b_k q_{k-1}) s_k`, the term of powers ``p`` is
    :math:`\prod_j q_{p_j}(t_j)`. Plain monomials have ``m = a = b = 0`` and ``s = 1``.

    Attributes
    ----------
    of : Expression
    basis : PolynomialBasis
        With ``centre`` and ``scale`` of shape (d,), ``recurrence`` of shape (d, degree, 3) with
        ``a_k, b_k, s_k``, and ``powers`` of shape (n_terms, d).
    """

    of: Expression
    basis: Any

    @property
    def n_columns(self) -> int:
        return int(self.basis.n_terms)

    def design(self, values: Evaluation) -> Any:
        """The terms as a design, which computes them in blocks of rows."""
        from separatrix.closed_form.polynomial import PolynomialDesign

        return PolynomialDesign(values.design, self.basis)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(self.design(values).matrix)


@dataclass(frozen=True, eq=False)
class Votes(Expression):
    """Scores of classes from those of their pairs: wins, and a share that settles equal ones.

    The pairs are in the order (0, 1), (0, 2), ..., (1, 2), ...; a score of at least 0 is a vote
    for the first. To its votes a class adds ``s / (3 (|s| + 1))``, with the sum ``s`` of its
    signed scores, each held within 1e300.
    """

    of: Expression
    n_classes: int

    @property
    def n_columns(self) -> int:
        return self.n_classes

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return one_vs_one_scores(values.of(self.of), self.n_classes)


@dataclass(frozen=True, eq=False)
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
        pairs = values.of(self.of)
        wins = np.zeros((len(pairs), self.n_classes))
        for k, places in enumerate(combinations(range(self.n_classes), 2)):
            wins[np.arange(len(pairs)), np.where(pairs[:, k] > 0.0, *places)] += 1.0
        return wins


@dataclass(frozen=True, eq=False)
class Stacked(Expression):
    """The columns of several nodes, one node after the other."""

    of: tuple[Expression, ...]

    @property
    def n_columns(self) -> int:
        return sum(one.n_columns for one in self.of)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.hstack([values.of(one) for one in self.of])
