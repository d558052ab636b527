r"""The residual of each row in a ridge regression to all the others.

The hat matrix of a ridge regression with an intercept, of rows with weights :math:`s_i`, is

.. math:: H = \mathbf 1 s^\top / n + U \operatorname{diag}\Big(\frac{\sigma_j^2}{\sigma_j^2 +
    \alpha}\Big) U^\top

in coordinates in which row :math:`i` of the singular vectors :math:`U` of the centred rows is
multiplied by :math:`\sqrt{s_i}`, and the residual of a row that is left out of the fit is
:math:`(y_i - \hat y_i) / (1 - H_{ii})`: one decomposition serves all rows and all strengths.

References
----------
Golub, Heath and Wahba (1979), Generalized cross-validation as a method for choosing a good ridge
parameter.  Allen (1974), The relationship between variable selection and data augmentation and a
method for prediction.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import svd

from separatrix._compiled import pool
from separatrix._compiled.rounding import EPS
from separatrix.data.design import Design


@pool.with_one_blas_thread
def leave_one_out_residuals(
    design: Design,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None,
    fit_intercept: bool,
) -> np.ndarray:
    """Residuals of every row in a fit without it.

    Parameters
    ----------
    design : Design
        The design of shape (n_samples, n_features); it is made dense.
    targets : ndarray of shape (n_samples, n_targets)
    alphas : ndarray of shape (n_alphas,)
        Factors of the squared norm of the weights, >= 0.
    weights : ndarray of shape (n_samples,) or None
    fit_intercept : bool

    Returns
    -------
    ndarray of shape (n_alphas, n_samples, n_targets)
        NaN for a row that alone determines a coefficient.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.closed_form.leave_one_out import leave_one_out_residuals
    >>> from separatrix.data.design import as_design
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> found = leave_one_out_residuals(as_design(X), y, np.array([0.0]), None, True)
    >>> found[0, 2].round(6).tolist()
    [3.0]
    """
    rows = design.matrix
    dense = np.array(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
    own = np.ones(len(dense)) if weights is None else weights
    leverage, residual = np.zeros(len(dense)), np.array(targets, dtype=np.float64)
    if fit_intercept:
        whole = own.sum()
        dense -= (own @ dense) / whole
        residual -= (own @ residual) / whole
        leverage = own / whole
    used: Any = slice(None)
    root: Any = 1.0
    weightless = plain = None
    if weights is not None:
        # A fit without a row of no weight is the fit to all: its residual is the plain one.
        used = own > 0.0
        weightless, plain = dense[~used], residual[~used]
        dense, residual, leverage = dense[used], residual[used], leverage[used]
        root = np.sqrt(own[used])[:, None]
        dense *= root
        residual *= root
    left, sizes, right = svd(dense, full_matrices=False, overwrite_a=True, check_finite=False)
    # Directions that are only rounding, of columns that depend on others, are left out.
    kept = sizes > sizes.max(initial=0.0) * max(len(own), len(right)) * EPS
    left, sizes, right = left[:, kept], sizes[kept], right[kept]
    squares, turned = np.square(left), left.T @ residual
    # The part that no column explains; zero, where there are as many directions as rows.
    beyond, outside = 1.0 - leverage - squares.sum(axis=1), residual - left @ turned
    if len(sizes) + int(fit_intercept) >= len(residual):
        beyond[:], outside[:] = 0.0, 0.0
    out = np.empty((len(alphas), *targets.shape))
    for k, alpha in enumerate(alphas):
        kept_back = alpha / (np.square(sizes) + alpha)
        rest = beyond + squares @ kept_back
        rest[rest <= (1e-12 if np.any(beyond) else 0.0)] = np.nan
        out[k, used] = (outside + left @ (kept_back[:, None] * turned)) / root / rest[:, None]
        if weightless is not None:
            coef = right.T @ ((sizes / (np.square(sizes) + alpha))[:, None] * turned)
            out[k, ~used] = plain - weightless @ coef
    return out
