"""Regression that outliers do not bend."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.targets import TrainingRows
from separatrix.losses import Huber
from separatrix.messages import Message
from separatrix.models.certified import Problems
from separatrix.models.composing import with_scale
from separatrix.models.parameters import parameter
from separatrix.models.pointwise import LinearRegressor
from separatrix.objectives.penalties import L2, NoPenalty
from separatrix.solvers.driver import Solution


class HuberRegressor(LinearRegressor):
    r"""Linear regression that is robust to outliers, with a certificate.

    Minimises over the weights, the intercept and the scale :math:`\sigma` of the residuals

    .. math:: \alpha \|w\|^2 + \sum_i s_i \Big[\sigma
        + \sigma H_\epsilon\Big(\frac{y_i - w\cdot x_i - b}\sigma\Big)\Big], \qquad
        H_\epsilon(z) = \begin{cases} z^2 & |z| \le \epsilon \\
        2\epsilon|z| - \epsilon^2 & \text{otherwise.} \end{cases}

    Residuals up to :math:`\epsilon\sigma` are squared, and larger ones, the outliers, enter
    linearly. The scale makes the fit independent of the unit of the targets.  The intercept is
    never penalised.  The problem is scikit-learn's; ``objective_formula_`` writes it with
    :math:`H(z) = H_\epsilon(z) / 2`.  The certificate is printed in these units; its attributes are
    those of the problem divided by :math:`2\alpha` (by 2, as what is printed, where that is zero).

    Parameters
    ----------
    epsilon : float, default=1.35
        At least 1; at 1 the scale falls to zero and the fit is that of least absolute deviations.
        With 1.35 the estimate has 95 % of the efficiency of least squares where the errors are
        normal, and the scale falls to zero where a plane fits more than 45 % of the rows exactly.
    max_iter : int, default=100
    alpha : float, default=0.0001
        Strength of the penalty; 0 for none.
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        Target for the certified relative gap.
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    scale_ : float
        The scale :math:`\sigma`, in the unit of ``y``, at least 4.5e-13 of the largest target and
        at least ``2**-900``, about 1e-271.
    outliers_ : ndarray of bool, shape (n_samples,)
        The rows beyond :math:`\epsilon\sigma`; not of a fit to row blocks.
    certificate_ : Certificate
    objective_formula_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace

    References
    ----------
    Huber (1981), Robust Statistics, 7.7 and 7.8.  Owen (2007), A robust hybrid of lasso and ridge
    regression.

    Examples
    --------
    One wrong reading changes the line of least squares, but not this one:

    >>> import numpy as np
    >>> from separatrix import HuberRegressor, LinearRegression
    >>> X = np.arange(8.0)[:, None]
    >>> y = 2 * X[:, 0] + np.array([0.1, -0.1, 0.2, 0.0, -0.2, 0.1, -0.1, 40.0])
    >>> model = HuberRegressor().fit(X, y)
    >>> model.coef_.round(2).tolist(), LinearRegression().fit(X, y).coef_.round(2).tolist()
    ([2.01], [5.32])
    >>> np.flatnonzero(model.outliers_).tolist(), model.certificate_.status
    ([4, 7], 'optimal')
    """

    epsilon: float = parameter(default=1.35, minimum=1)
    max_iter: int = parameter(default=100, meaning="the same")
    alpha: float = parameter(default=0.0001, minimum=0)

    _label = "Huber regression"
    # Scikit-learn's objective in units of this one, by a penalty of `alpha` times that.
    _sklearn_factor: ClassVar[float] = 2.0
    _attributes: ClassVar[rules.Rules] = {
        **LinearRegressor._attributes,
        "scale_": rules.number(low=0.0),
        "outliers_": rules.flags("n"),
    }

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if not self.alpha > 0.0:
            return Message("no_penalty_in_passes")
        return None

    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> Any:
        penalty, C = (L2(), 1.0 / self.alpha) if self.alpha > 0 else (NoPenalty(), 1.0)
        options: dict[str, Any] = {"weights": rows.weights, "fit_intercept": self.fit_intercept}
        return with_scale(design, y, Huber(self.epsilon), penalty, C=C, **options)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        super()._keep(problems, solutions)
        problem: Any = problems[0][1]
        self.__dict__.pop("outliers_", None)
        scores = problem.linear(solutions[0].theta)
        self.scale_ = problem.scale_at(scores)
        if not problem.in_passes:
            self.outliers_ = np.abs(problem.targets - scores) > self.epsilon * self.scale_
