"""Regression by machines with kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from separatrix.kernels.nu import KernelNuResidualObjective
from separatrix.kernels.objective import KernelResidualObjective
from separatrix.losses import EpsilonInsensitive
from separatrix.models.kernel_machine import SHARE_OF_ROWS, KernelMachine
from separatrix.models.parameters import parameter
from separatrix.models.predicting import OfNumbers


class SVR(RegressorMixin, KernelMachine):
    r"""Support vector regression with kernels, with a certificate.

    Minimises, for the lift :math:`\varphi` that belongs to the kernel,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \max(0, |y_i - \langle w, \varphi(x_i)\rangle - b|
        - \epsilon) ,

    scikit-learn's problem; the intercept is never penalised.

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
    C : float, default=1.0
        Weight of the losses against the squared norm.
    epsilon : float, default=0.1
        Half the width of the tube in which residuals cost nothing.
    fit_intercept : bool, default=True
        Whether there is an intercept :math:`b`.
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
    Vapnik (1995), The nature of statistical learning theory.  Smola and Schölkopf (2004), A
    tutorial on support vector regression.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import SVR
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> model.certificate_.status, bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06)
    ('optimal', True)
    """

    C: float = parameter(default=1.0, above=0)
    epsilon: float = parameter(default=0.1, minimum=0)
    fit_intercept: bool = parameter(default=True)

    score = OfNumbers.score

    _label = "support vector regression"

    def _problem(self, gram: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
        loss = EpsilonInsensitive(float(self.epsilon))
        options = {"C": float(self.C), "fit_intercept": bool(self.fit_intercept)}
        return KernelResidualObjective(gram, y, loss, weights=weights, **options)


class NuSVR(RegressorMixin, KernelMachine):
    r"""Support vector regression with a share of the rows as parameter, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`, over the width :math:`\epsilon` as well,

    .. math:: \tfrac12 \|w\|^2 + C \Big[\nu n \epsilon
        + \sum_i s_i \max(0, |y_i - \langle w, \varphi(x_i)\rangle - b| - \epsilon)\Big] ,

    scikit-learn's problem.

    Parameters
    ----------
    nu : float, default=0.5
        An upper bound of the share of the rows outside the tube, and a lower bound of the share of
        support vectors; above 0 and at most 1.
    C : float, default=1.0
        Weight of the losses against the squared norm.
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
    Schölkopf, Smola, Williamson and Bartlett (2000), New support vector algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import NuSVR
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> model = NuSVR(nu=0.2, C=10.0).fit(X, np.sin(X[:, 0]))
    >>> model.certificate_.status
    'optimal'
    """

    C: float = parameter(default=1.0, above=0)
    nu: float = SHARE_OF_ROWS

    score = OfNumbers.score

    _label = "nu support vector regression"

    def _problem(self, gram: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
        options = {"C": float(self.C), "weights": weights}
        return KernelNuResidualObjective(gram, y, float(self.nu), **options)
