"""Logistic regression."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.certificate import Certificate
from separatrix.closed_form.inference import (
    Summary,
    likelihood_information,
    logistic_summary,
)
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels
from separatrix.data.validation import (
    column_bounds,
    sample_weight_of,
    validate,
)
from separatrix.expressions import Expression, Scaled, posterior
from separatrix.losses import LogLoss
from separatrix.messages import Message, Setting
from separatrix.models import certified, penalised
from separatrix.models.callbacks import CallbackSupportMixin
from separatrix.models.certified import FitContext, Problems
from separatrix.models.composing import multinomial, pointwise
from separatrix.models.limits import deadline_of
from separatrix.models.linear import LinearClassifier, densify, sparsify
from separatrix.models.parameters import compat, parameter
from separatrix.models.predicting import OfClasses
from separatrix.models.scores import column_names
from separatrix.models.sklearn_compat import N_JOBS, WARM_START
from separatrix.objectives.penalties import Penalty
from separatrix.solvers import SOLVERS
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Solver


class LogisticRegression(CallbackSupportMixin, LinearClassifier):
    r"""Logistic regression, binary and multinomial, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}`,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \log(1 + e^{-y_i (w\cdot x_i + b)}),

    and for K classes the multinomial form with scores :math:`w_k\cdot x + b_k`.  With
    ``l1_ratio`` :math:`\rho > 0` the penalty is :math:`\rho \|w\|_1 + \tfrac{1-\rho}2 \|w\|^2`.
    The intercept is never penalised.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty; ``inf`` for no penalty.
    lam : float, optional
        The same in the form ``1/n sum loss + lam/2 |w|^2``: ``C = 1 / (lam n)`` with ``n`` the
        sum of the sample weights.  Give only one of the two: with ``lam``, leave ``C`` at 1.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        ``"l1"`` is short for ``l1_ratio=1``, and ``"elasticnet"`` uses ``l1_ratio`` as it is.
        Without a penalty separable data have no finite optimum; the fit then stops and its
        certificate says so.
    l1_ratio : float or None, default=0.0
        From 0 to 1, the share of L1 in the penalty ``l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2``.
        L1 sets weights to exactly zero. 0 is L2, 1 is L1, and values between them are the elastic
        net; ``l1_ratio`` alone selects among all three, as in scikit-learn.
    bounds : tuple or dict, optional
        Bounds of the weights: a pair ``(lower, upper)`` for all columns, each of them a number or
        one a column, or pairs of numbers by the name or the index of a column. None is no bound,
        and a Series is read by its labels, names or indices. All have to allow zero, ``lower <= 0
        <= upper``; those of a column are those of its weight for each class. Without a penalty
        every column needs both.
    multiclass : {"multinomial", "ovr"}, default="multinomial"
        For more than two classes: one problem, or one-vs-rest.
    steepness : float, default=1.0
        ``k`` in the probability ``sigma(k (w.x + b))`` at prediction; it changes how steeply the
        probabilities rise from 0 to 1, but no prediction.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Target for the certified relative gap.
    max_iter : int, default=10_000
        Limit on iterations; those of dual coordinate descent are passes, many and cheap.
    solver : str or Solver, default="auto"
        ``"newton"``, ``"quasi-newton"``, ``"dual"``, ``"augmented-lagrangian"``,
        ``"interior-point"`` or ``"proximal-newton"``.
        See :func:`separatrix.select_solver`.  Scikit-learn's names mean "auto".
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    random_state : int, RandomState or None
        The seed of solvers that visit rows in random order. None uses a fixed seed: the same call
        on the same data gives the same bits.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
        Float32 for data of float32, unless its digits would cost more than ``tol``.
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
    objective_formula_ : str
        The formula that was minimised.
    n_iter_ : ndarray of shape (1,) or (K,)
        Iterations; with ``multiclass="ovr"`` those of each class.
    information_ : ndarray of shape (k, k)
        Without a penalty, and for up to 2,000 coefficients k: the information, whose inverse is
        the covariance of the estimates. For K > 2 classes that of their contrasts with the first
        class, one class after another, each with its intercept first. It is absent where it would
        have taken longer than the fit or its time limit, or where the likelihood has no finite
        maximum.
    class_totals_ : ndarray of shape (K,)
        Without a penalty: sums of the sample weights of the classes.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace, or a tuple of one for each binary problem

    References
    ----------
    Cox (1958), The regression analysis of binary sequences.  Hastie, Tibshirani and Friedman
    (2009), The Elements of Statistical Learning, 4.4.  Zou and Hastie (2005), Regularization and
    variable selection via the elastic net.

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

    L1 leaves out columns, here both columns of the sepals:

    >>> model = LogisticRegression(l1_ratio=1, C=0.5).fit(X, y)
    >>> (model.coef_ == 0).all(axis=0).tolist()
    [True, True, False, False]

    Bounds say which way a column may count; the certificate is about the bounded problem:

    >>> model = LogisticRegression(bounds={2: (0, None), 3: (0, 0.5)}).fit(X, y == 1)
    >>> model.coef_.round(2).tolist()[0][2:], model.certificate_.status
    ([0.11, 0.0], 'optimal')
    >>> model.objective_formula_[-36:]
    'subject to lower_j <= w_j <= upper_j'
    """

    penalty: str | None = parameter(
        default="l2",
        choices=("l2", "l1", "elasticnet", None),
        also=("deprecated",),
        meaning='the same; with `"deprecated"`, `l1_ratio` decides',
        kw_only=False,
    )
    C: float = penalised.C
    lam: float | None = penalised.LAM
    l1_ratio: float | None = parameter(default=0.0, minimum=0, maximum=1, none=True)
    bounds: Any = parameter(default=None)
    multiclass: str = parameter(default="multinomial", choices=("multinomial", "ovr"))
    steepness: float = parameter(default=1.0, above=0)
    solver: Any = parameter(
        default="auto",
        choices=("auto", *SOLVERS),
        also=("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"),
        instead=Solver,
        meaning='its names mean `"auto"`',
    )
    max_iter: int = parameter(default=10_000, minimum=0)
    dual: bool = compat("not needed: the solver follows from the problem", default=False)
    intercept_scaling: float = compat("not needed: the intercept is not penalised", default=1)
    warm_start: bool = WARM_START
    n_jobs: Any = N_JOBS
    multi_class: str = compat(
        "an older name of ``multiclass``",
        ("deprecated", "auto", "multinomial", "ovr"),
        "give 'multinomial' or 'ovr'",
        default="deprecated",
    )

    fit, path = certified.fit, penalised.path
    sparsify, densify = sparsify, densify

    _label = "logistic regression"
    _margin_loss = "log"
    _strengths = penalised.STRENGTHS
    _counts_each = True
    _follows_dtype = True
    _attributes: ClassVar[rules.Rules] = {
        **LinearClassifier._attributes,
        "n_iter_": rules.either(rules.whole(), rules.whole_array("parts")),
        "information_": rules.array("order", "order", finite=False),
        "class_totals_": rules.array("K", low=0.0),
    }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        penalised.check_strength(self)
        penalised.check_penalty(self)

    def _problems(self, design: Design, labels: Labels) -> Problems:
        penalty, C = penalised.penalty_and_strength(self, labels.total, self.penalty, self.l1_ratio)
        penalty = self._between_bounds(penalty)
        options: dict[str, Any] = {"C": C, "fit_intercept": self.fit_intercept}
        if self._multinomial and not labels.binary:
            return [("", multinomial(design, labels, penalty, **options))]
        options["weights"] = labels.weights
        return [
            (part, pointwise(design, y, LogLoss(), penalty, **options))
            for part, y in labels.parts()
        ]

    def _between_bounds(self, penalty: Penalty) -> Penalty:
        """The penalty within the bounds of the weights."""
        if self.bounds is None:
            return penalty
        names = column_names(self)
        lower, upper = column_bounds(self.bounds, names)
        bounded = Penalty(l2=penalty.l2, l1=penalty.l1, lower=lower, upper=upper)
        if not bounded.coercive:
            j = int(np.flatnonzero(np.isinf(lower) | np.isinf(upper))[0])
            raise ValueError(
                f"without a penalty every column needs a lower and an upper bound, and {names[j]!r}"
                " has not both; give them, or a penalty."
            )
        return bounded if bounded.bounded else penalty

    def _settled(self, fit: FitContext) -> Problems:
        # From an earlier fit with other parameters.
        self.__dict__.pop("information_", None)
        self.__dict__.pop("class_totals_", None)
        labels = fit.target
        if not self._penalised and (self._multinomial or labels.binary):
            self.class_totals_ = labels.class_totals.astype(np.float64)
        return super()._settled(fit)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        super()._keep(problems, solutions)
        problem = problems[0][1]
        if len(problems) > 1 or self._penalised or self.bounds is not None:
            return
        if self.class_weight is None and self.certificate_.ok:
            deadline = deadline_of(self.time_limit)
            information = likelihood_information(problem, solutions[0].theta, deadline)
            if information is not None:
                self.information_ = information

    @property
    def _lacking_classes(self) -> str:
        if not self._multinomial:
            return "refuse"
        # Without an intercept nothing drives the score of a class without rows to -infinity.
        return "drop" if self.fit_intercept else "keep"

    def _know_one(self, design: Design, labels: Labels) -> None:
        # The loss vanishes as the intercept of the class grows.
        self.classes_ = labels.classes
        self.coef_, self.intercept_ = np.zeros((1, design.shape[1])), np.zeros(1)
        self.certificate_ = Certificate(0.0, 0.0, 0.0, 0.0, self.tol, "optimal", 0, 0.0)

    def _know_absent(self, classes: np.ndarray) -> None:
        # The infimum is approached as the intercepts of the others fall to -infinity.
        there = np.isin(classes, self.classes_)
        if len(classes) == 2:
            self.intercept_ = np.array([np.inf if there[1] else -np.inf])
        else:
            coef = np.zeros((len(classes), self.coef_.shape[1]), dtype=self.coef_.dtype)
            intercept = np.full(len(classes), -np.inf, dtype=self.intercept_.dtype)
            coef[there], intercept[there] = self.coef_, self.intercept_
            self.coef_, self.intercept_ = coef, intercept
        self.classes_ = classes

    @property
    def _multinomial(self) -> bool:
        return self.multiclass == "multinomial" and self.multi_class != "ovr"

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        several = n_classes is not None and n_classes > 2 and self._multinomial
        free = several and not self._penalised and self.bounds is None
        return Message("multinomial_in_passes") if free else None

    @property
    def _penalised(self) -> bool:
        return not (self.penalty is None or self.lam == 0 or np.inf == self.C)

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if "order" not in sizes.known:
            return
        d, k, order = (sizes.known[size] for size in ("d", "K", "order"))
        if order not in ((k - 1) * d, (k - 1) * (d + 1)):
            raise rules.refuse("information_", f"is for {order:,} weights")

    def summary(
        self,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        robust: str | None = None,
        clusters: Any = None,
        level: float = 0.95,
    ) -> Summary:
        r"""Standard errors, z, p-values, confidence intervals and odds ratios.

        For a fit without a penalty only. The classic errors are the roots of the diagonal of
        the inverse information,

        .. math:: \Big(\sum_i s_i\, p_i (1 - p_i)\, x_i x_i^\top\Big)^{-1} ,

        with a leading 1 in :math:`x_i` for the intercept, and hold where the model does. The
        robust ones (``"HC0"`` to ``"HC3"``) are White's, with its corrections for few rows; see
        :mod:`separatrix.closed_form.inference` for the formulas. For K > 2 classes the numbers are
        those of each class against the first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            The rows that the model was fitted to. Without them the classic errors are computed from
            the information matrix of the fit; robust errors need them.
        y : array-like of shape (n_samples,), optional
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the fit; a weight of k stands for k copies of the row.
        robust : {"HC0", "HC1", "HC2", "HC3"}, optional
            HC2 and HC3 for two classes only.
        clusters : array-like of shape (n_samples,), optional
            The cluster of each row, such as a patient: errors that allow for rows of one cluster
            which depend on one another (Liang and Zeger, 1986).
        level : float, default=0.95
            The level of the confidence intervals.

        Returns
        -------
        Summary

        Raises
        ------
        ValueError
            For a fit with a penalty, with class weights, one-vs-rest, or above its tolerance;
            where there is no finite maximum; where columns depend on one another; or for other
            rows than those of the fit.

        References
        ----------
        White (1980); MacKinnon and White (1985); Long and Ervin (2000); McFadden (1974).

        Examples
        --------
        >>> import numpy as np
        >>> from separatrix import LogisticRegression
        >>> hours = np.array([[0.5], [1.0], [1.5], [2.0], [2.5], [3.0], [3.5], [4.0]])
        >>> passed = np.array([0, 0, 1, 0, 1, 0, 1, 1])
        >>> model = LogisticRegression(penalty=None).fit(hours, passed)
        >>> model.summary().odds_ratio.round(2).tolist()
        [0.07, 3.28]
        """
        check_is_fitted(self)
        if self._penalised:
            raise ValueError(Message("summary_of_penalised", without=Setting("penalty", None)))
        if self.bounds is not None:
            raise ValueError("weights between bounds have no standard errors; fit without them.")
        if len(self.classes_) > 2 and not self._multinomial:
            raise ValueError(Message("summary_of_one_vs_rest"))
        if self.class_weight is not None:
            raise ValueError(Message("summary_of_weighted"))
        if (X is None) != (y is None):
            raise ValueError("give both X and y, or neither.")
        rows: dict[str, Any] = {}
        if X is not None:
            matrix = validate(self, X)
            labels = column_or_1d(y)
            check_consistent_length(matrix, labels)
            rows = {
                "design": as_design(matrix),
                "labels": labels,
                "weights": sample_weight_of(sample_weight, matrix),
            }
        information = getattr(self, "information_", None)
        fit_intercept = bool(self.fit_intercept)
        if information is not None and X is None:
            # The fit's value, whatever the parameter has been set to since.
            parts = 1 if len(self.classes_) == 2 else len(self.classes_) - 1
            fit_intercept = len(information) == parts * (self.n_features_in_ + 1)
        return logistic_summary(
            self.coef_,
            self.intercept_,
            classes=self.classes_,
            names=column_names(self),
            certificate=self.certificate_,
            information=information,
            totals=getattr(self, "class_totals_", None),
            fit_intercept=fit_intercept,
            level=level,
            robust=robust,
            clusters=clusters,
            **rows,
        )

    predict_proba = OfClasses.predict_proba
    predict_log_proba = OfClasses.predict_log_proba

    def _probabilities(self, scores: Expression, winner: Expression) -> Expression:
        # Far beyond this every probability is 0 or 1; an overflow to infinity would be NaN.
        own = Scaled(scores, self.steepness)
        return posterior(own, winner, jointly=self._multinomial)
