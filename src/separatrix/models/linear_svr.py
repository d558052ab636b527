"""Linear support vector regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.targets import TrainingRows
from separatrix.losses import EpsilonInsensitive, SquaredEpsilonInsensitive, key_of, names_of
from separatrix.models.composing import pointwise
from separatrix.models.parameters import compat, parameter
from separatrix.models.pointwise import LinearRegressor
from separatrix.models.sklearn_compat import NOTHING_RANDOM, warn_once
from separatrix.objectives.penalties import L2
from separatrix.objectives.pointwise import PointwiseObjective

_LOSSES = {
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}


class LinearSVR(LinearRegressor):
    r"""Linear support vector regression, with a certificate.

    Minimises

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \max(0, |y_i - w\cdot x_i - b| - \epsilon) ,

    or the squares of these losses: scikit-learn's problem, except that the intercept is never
    penalised. The loss with a kink is minimised by Newton steps on envelopes of it: around the
    multipliers where there are few rows, and otherwise ever closer to the loss.

    Parameters
    ----------
    epsilon : float, default=0.0
        Half the width of the tube in which residuals cost nothing.
    tol : float, default=1e-6
        Target for the certified relative gap.
    C : float, default=1.0
        Weight of the losses against the penalty.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    warm_start : bool, default=False
        Start from the coefficients of the previous fit.
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
    certificate_ : Certificate
    objective_formula_ : str
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace

    References
    ----------
    Vapnik (1995), The nature of statistical learning theory.  Ho and Lin (2012), Large-scale linear
    support vector regression.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import LinearSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LinearSVR(epsilon=20.0).fit(scale(X), y)
    >>> model.certificate_.status, round(model.score(scale(X), y), 2)
    ('optimal', 0.51)
    """

    epsilon: float = parameter(default=0.0, minimum=0)
    C: float = parameter(default=1.0, above=0)
    loss: str = parameter(
        default="epsilon_insensitive", choices=tuple(_LOSSES), also=names_of(*_LOSSES)
    )
    intercept_scaling: float = compat("not needed: the intercept is not penalised", default=1.0)
    dual: str = compat("not needed: the solver follows from the problem", default="auto")
    random_state: Any = NOTHING_RANDOM

    _label = "linear support vector regression"
    _attributes: ClassVar[rules.Rules] = LinearRegressor._attributes

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_intercept:
            warn_once("free_intercept_of_regression")

    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> PointwiseObjective:
        loss = _LOSSES[key_of(self.loss)](float(self.epsilon))
        options: dict[str, Any] = {
            "C": float(self.C),
            "weights": rows.weights,
            "fit_intercept": self.fit_intercept,
        }
        return pointwise(design, y, loss, L2(), **options)
