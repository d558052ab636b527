"""Logistic regression."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from separatrix.design import Design
from separatrix.labels import Labels
from separatrix.losses import LogLoss, Softmax
from separatrix.models.base import agreeing, winners
from separatrix.models.linear import PenalisedClassifier
from separatrix.objective import LinearProblem, MarginObjective, SoftmaxObjective
from separatrix.validation import check_choice, check_number

__all__ = ["LogisticRegression"]


class LogisticRegression(PenalisedClassifier):
    r"""Logistic regression, binary and multinomial, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}`,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \log(1 + e^{-y_i (w\cdot x_i + b)}),

    and for K classes the multinomial form with scores :math:`w_k\cdot x + b_k`.  The intercept
    is never penalised.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty; ``inf`` for no penalty.
    lam : float, optional
        The same in the form ``1/n sum loss + lam/2 |w|^2``: ``C = 1 / (lam n)`` with ``n`` the
        sum of the sample weights.  Give one of the two: with ``lam``, leave ``C`` at 1.
    penalty : {"l2", None}, default="l2"
        Without a penalty separable data have no finite optimum; the fit then stops and its
        certificate says so.
    multiclass : {"multinomial", "ovr"}, default="multinomial"
        For more than two classes: one problem, or one-vs-rest.
    steepness : float, default=1.0
        ``k`` in the probability ``sigma(k (w.x + b))`` at prediction; it changes how sharply
        probabilities turn from 0 to 1, and no decision.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Target for the certified relative gap.
    max_iter : int, default=10_000
        Limit on iterations; those of dual coordinate descent are passes, many and cheap.
    solver : {"auto", "newton", "dual", "augmented-lagrangian"} or Solver, default="auto"
        See :func:`separatrix.select_solver`.
    time_limit : float, optional
        Seconds; the fit then returns its best iterate with the gap it reached.
    random_state : int, RandomState or None
        For solvers that visit rows at random.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
    objective_formula_ : str
        The formula that was minimised.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns had names.
    trace_ : Trace, or a tuple of one for each binary problem

    References
    ----------
    Cox (1958), The regression analysis of binary sequences.  Hastie, Tibshirani and Friedman
    (2009), The Elements of Statistical Learning, 4.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(C=1.0).fit(X, y)
    >>> model.certificate_.status
    'optimal'
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        lam: float | None = None,
        penalty: str | None = "l2",
        multiclass: str = "multinomial",
        steepness: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        solver: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
        record: bool = False,
    ) -> None:
        self.C = C
        self.lam = lam
        self.penalty = penalty
        self.multiclass = multiclass
        self.steepness = steepness
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose
        self.record = record

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("penalty", self.penalty, ["l2", None])
        check_choice("multiclass", self.multiclass, ["multinomial", "ovr"])
        check_number("steepness", self.steepness, above=0)

    def _problems(self, design: Design, labels: Labels) -> list[tuple[str, LinearProblem]]:
        penalty, C = self._strength(labels, self.penalty)
        options = {"C": C, "weights": labels.weights, "fit_intercept": self.fit_intercept}
        if self.multiclass == "multinomial" and not labels.binary:
            codes, k = labels.codes, len(labels.classes)
            return [("", SoftmaxObjective(design, codes, k, penalty, **options))]
        return [
            (part, MarginObjective(design, y, LogLoss(), penalty, **options))
            for part, y in labels.parts()
        ]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
            Rows sum to one.  The largest entry is always the class that ``predict`` gives, and
            it is the only largest: where two would round to the same number, that class has
            the next number up.
        """
        scores = self.decision_function(X)
        winner = winners(scores)
        # Far beyond this every probability is 0 or 1; an overflow to infinity would be NaN.
        with np.errstate(over="ignore"):
            scores = np.clip(self.steepness * scores, -1e300, 1e300)
        if scores.ndim == 1:
            positive = expit(scores)
            proba = np.stack([expit(-scores), positive], axis=1)
        elif self.multiclass == "multinomial":
            proba = Softmax().probabilities(scores)
        else:
            # Logs first: far from every class all sigmoids would round to zero.
            proba = Softmax().probabilities(-np.logaddexp(0.0, -scores))
        return agreeing(proba, winner)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
