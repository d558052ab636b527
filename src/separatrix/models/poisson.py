"""Regression of counts."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.targets import TargetFacts, TrainingRows
from separatrix.data.validation import sample_weight_of, validate
from separatrix.expressions import (
    Exp,
    Expression,
)
from separatrix.losses import PoissonDeviance
from separatrix.models.blocked import is_blocked, require_numbers
from separatrix.models.composing import pointwise
from separatrix.models.parameters import compat, parameter
from separatrix.models.pointwise import LinearRegressor
from separatrix.models.predicting import OfNumbers, Rows
from separatrix.objectives.penalties import NoPenalty, penalty_of, strength_of
from separatrix.objectives.pointwise import PointwiseObjective


class PoissonRegressor(LinearRegressor):
    r"""Regression of counts by Poisson's law with a log link, with a certificate.

    Minimises

    .. math:: \frac1{\sum_i s_i} \sum_i s_i\,\big[e^{f_i} - y_i f_i + y_i\log y_i - y_i\big]
        + \alpha \Big[\rho \|w\|_1 + \frac{1 - \rho}2 \|w\|^2\Big], \qquad f_i = w\cdot x_i + b ,

    half the mean deviance and a penalty: scikit-learn's problem, with a share :math:`\rho` of L1 in
    the penalty besides.  A row is expected to count :math:`e^{f}`.  The intercept is never
    penalised.  The certificate is printed in these units; its attributes are those of the objective
    divided by :math:`\alpha`, where that is not zero.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 for none.
    l1_ratio : float, default=0.0
        The share :math:`\rho` of L1, which sets weights to exactly zero, from 0 to 1.
    fit_intercept : bool, default=True
    max_iter : int, default=100
    tol : float, default=1e-6
        Target for the certified relative gap.
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
    Nelder and Wedderburn (1972), Generalized linear models.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import PoissonRegressor
    >>> X = np.array([[1.0, 2.0], [2.0, 3.0], [3.0, 4.0], [4.0, 3.0]])
    >>> model = PoissonRegressor().fit(X, [12, 17, 22, 21])
    >>> model.coef_.round(3).tolist(), round(model.intercept_, 2), model.certificate_.status
    ([0.121, 0.158], 2.09, 'optimal')
    >>> round(model.score(X, [12, 17, 22, 21]), 2), model.predict([[1, 1], [3, 4]]).round().tolist()
    (0.99, [11.0, 22.0])
    """

    alpha: float = parameter(default=1.0, minimum=0)
    l1_ratio: float = parameter(default=0.0, minimum=0, maximum=1)
    max_iter: int = 100
    solver: str = compat("not needed: the solver follows from the problem", default="lbfgs")

    _label = "Poisson regression"
    # Scikit-learn's objective in units of this one, by a penalty of `alpha` times that.
    _sklearn_factor: ClassVar[float] = 1.0
    _follows_dtype = True
    _attributes: ClassVar[rules.Rules] = {
        **LinearRegressor._attributes,
        "coef_": rules.array("d", single=True),
    }
    _loss = PoissonDeviance()

    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> PointwiseObjective:
        facts = rows.facts_of(y)
        self._require_counts(facts)
        if self.fit_intercept and facts.largest == 0.0:
            raise ValueError(
                "All numbers in y are 0, for which the intercept would have to be minus infinity; "
                "give rows with counts, or fit_intercept=False."
            )
        penalised = self.alpha > 0.0
        penalty = penalty_of(float(self.l1_ratio)) if penalised else NoPenalty()
        C = strength_of(float(self.alpha), rows.total)
        options: dict[str, Any] = {
            "C": C,
            "weights": rows.weights,
            "fit_intercept": bool(self.fit_intercept),
        }
        return pointwise(design, y, self._loss, penalty, **options)

    def _require_counts(self, facts: TargetFacts) -> None:
        """Raise ValueError for a number that is not in the domain of the loss."""
        if facts.least < self._loss.domain[0]:
            raise ValueError(
                f"y has a negative number, {facts.least:g} in row {facts.place:,}; "
                "PoissonRegressor predicts counts, which are at least 0."
            )

    def predict(self, X: Any) -> np.ndarray:
        """The expected counts ``exp(w.x + b)``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return OfNumbers.predict(self, X)

    def _scores(self) -> Expression:
        return Exp(super()._scores())

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        r"""The share :math:`D^2` of the deviance that is explained, as scikit-learn's score.

        .. math:: D^2 = 1 - \frac{\sum_i s_i\,\ell(f_i, y_i)}{\sum_i s_i\,\ell(\log\bar y, y_i)} ,

        with the weighted mean :math:`\bar y` of the counts.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Row blocks contain their counts and weights.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if is_blocked(X):
            from separatrix.scale.scores import losses_over

            require_numbers(self, X, y, sample_weight)
            loss, least = losses_over(X, self._losses).tolist()
        else:
            matrix, counts = validate(self, X, y, regression=True, reset=False)
            counts, weights = column_or_1d(counts), sample_weight_of(sample_weight, matrix)
            mean = float(np.average(counts, weights=weights))
            loss, least = self._losses(matrix, counts, weights, mean).tolist()
        if least == 0.0:
            # As scikit-learn has it.
            return 1.0 if loss == 0.0 else 0.0
        return 1.0 - loss / least

    def _losses(
        self, matrix: Any, counts: np.ndarray, weights: np.ndarray | None, mean: float
    ) -> np.ndarray:
        """The sums of the losses of some rows, and of those from the mean of all rows."""
        self._require_counts(TargetFacts.of(counts, None))
        used: Any = slice(None)
        if weights is None:
            weights = np.ones(len(counts))
        elif not weights.all():
            # Rows without weight count as absent, and may be infinitely far from the mean.
            used = weights > 0.0
        found = Rows(self, matrix).of(super()._scores())[:, 0]
        weights, counts, scores = weights[used], counts[used], found[used]
        # Zero where nothing has been counted, for then all losses from the mean are.
        level = np.log(mean) if mean > 0.0 else -np.inf
        both = scores, np.full(len(counts), level)
        return np.array([weights @ self._loss(s, counts) for s in both])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
