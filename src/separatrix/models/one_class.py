"""The region that most rows are in."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin

from separatrix.data.design import Design, as_design
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import sample_weight_of, validate
from separatrix.expressions import Expression, Threshold
from separatrix.kernels.functions import LinearKernel, PolynomialKernel
from separatrix.kernels.gram import gram_of
from separatrix.kernels.nu import KernelNuObjective
from separatrix.models.certified import Claimed, FitContext, Problems
from separatrix.models.kernel_machine import SHARE_OF_ROWS, KernelMachine
from separatrix.models.predicting import OfClasses
from separatrix.solvers.driver import Solution

# The share of the offset by which a score may be short of it and still count as the same.
_SURFACE = 1e-7


class OneClassSVM(OutlierMixin, KernelMachine):
    r"""One-class support vector machine: separates most rows from the origin, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math:: \tfrac12 \|w\|^2 - \nu n \rho
        + \sum_i s_i \max(0, \rho - \langle w, \varphi(x_i)\rangle) ,

    scikit-learn's problem.  The certificate is that of its dual, :math:`\min_\alpha \tfrac12
    \|\sum_i \alpha_i \varphi(x_i)\|^2` with :math:`0 \le \alpha_i \le s_i` and :math:`\sum_i
    \alpha_i = \nu n`, which is never negative; minus the objective above bounds it from below.

    Parameters
    ----------
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, callable or Kernel, default="rbf"
        See :class:`~separatrix.SVC`.
    degree : int, default=3
        The degree of ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        The scale of ``"rbf"``, ``"poly"`` and ``"sigmoid"``.
    coef0 : float, default=0.0
        The constant term of ``"poly"`` and ``"sigmoid"``.
    tol : float, default=1e-6
        Target for the certified relative gap.
    nu : float, default=0.5
        An upper bound of the share of the rows outside, and a lower bound of the share of support
        vectors; above 0 and at most 1.
    max_iter : int, default=100_000
        Limit on the iterations on working sets; -1 is no limit.
    cache_mb : float, default=1000.0
        The size of the cache of rows of the kernel matrix, in megabytes (1e6 bytes).
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        The rows with a coefficient that is not zero.
    support_vectors_ : ndarray or CSR matrix of shape (n_support, n_features)
        Empty for a precomputed kernel.
    n_support_ : ndarray of shape (1,)
    dual_coef_ : ndarray or CSR matrix of shape (1, n_support)
    intercept_ : ndarray of shape (1,)
        ``-rho``.
    offset_ : float
        ``rho``.
    coef_ : ndarray or CSR matrix of shape (1, n_features)
        The weights of the linear kernel.
    kernel_ : Kernel
        The kernel, with all its parameters set.
    certificate_ : Certificate
    objective_formula_ : str
    fit_status_ : int
        0 where the certificate is within ``tol``, else 1.
    n_iter_ : int
    n_samples_fit_ : int
    shape_fit_ : tuple
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola and Williamson (2001), Estimating the support of a
    high-dimensional distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> model = OneClassSVM(nu=0.1, gamma=0.2).fit(X)
    >>> model.predict([[0.0, 0.0], [5.0, 5.0]]).tolist(), model.certificate_.status
    ([1, -1], 'optimal')
    """

    nu: float = SHARE_OF_ROWS

    _label = "one-class support vector machine"

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix = validate(self, X, reset=True)
        weights = sample_weight_of(sample_weight, matrix)
        return as_design(matrix), TrainingRows.of(matrix, np.zeros(matrix.shape[0]), weights)

    def _problem(self, gram: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
        return KernelNuObjective(gram, np.ones(gram.n_samples), float(self.nu), weights=weights)

    def _gram(self, design: Design) -> Any:
        # The matrix of the linear kernel is that of the points less their mean, which no
        # coefficients feel that add up to zero; these do not.
        linear = isinstance(self.kernel_, LinearKernel)
        kernel = PolynomialKernel(1, 1.0, 0.0) if linear else self.kernel_
        return gram_of(kernel, design, cache_mb=self.cache_mb)

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        ((part, problem, point, weights),) = super()._claims(design, rows)
        # The fitted machine has the surface where the best offset has it.
        level = float(self.intercept_[0])
        fitted = level / (1.0 + _SURFACE * np.sign(level))
        return [(part, problem, problem.join(problem.weights_of(point), fitted), weights)]

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        super()._keep_fit(fit, problems, solutions)
        # The rows on the surface are inside, whatever rounding has done to their scores.
        self.intercept_ += _SURFACE * np.abs(self.intercept_)

    @property
    def offset_(self) -> float:
        """The threshold for the scores of :meth:`score_samples`."""
        return -float(self.intercept_[0])

    def decision_function(self, X: Any) -> np.ndarray:
        """:meth:`score_samples` minus ``offset_``: positive where most rows are.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel, of shape (n_samples, n_samples_fit).

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return OfClasses.decision_function(self, X)

    def score_samples(self, X: Any) -> np.ndarray:
        r"""The scores :math:`\langle w, \varphi(x)\rangle`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """1 where most rows are, and -1 beyond.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of int, shape (n_samples,)
        """
        return OfClasses.predict(self, X)

    @property
    def _predicted_classes(self) -> np.ndarray:
        return np.array([-1, 1])

    def _winner(self, scores: Expression) -> Expression:
        return Threshold(scores, inclusive=True)
