"""Regression with the losses, penalties and passes of stochastic gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.random_state import seed_of
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import check_number, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.losses import Loss, SquaredResidual, key_of
from separatrix.models.base import SEED_OF_VISITS
from separatrix.models.certified import FitContext, Problems
from separatrix.models.composing import pointwise
from separatrix.models.limits import counted
from separatrix.models.linear import densify, forget_averaged, sparsify
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.pointwise import LinearRegressor
from separatrix.models.sgd import (
    KINKED_PART,
    RESIDUAL,
    MeanOfLosses,
    check_loss,
    warn_of_weights,
)
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.driver import Solution
from separatrix.solvers.schedules import Schedule, schedule_of
from separatrix.solvers.stochastic import (
    ResumeState,
    StochasticDescent,
    StochasticResidual,
    Visits,
    one_pass,
)

_LOSSES = {"squared_error": lambda epsilon: SquaredResidual(), **RESIDUAL}
# scikit-learn's default rates for numbers, which are larger steps than those for classes.
_RATE, _POWER = 0.01, 0.25


class SGDRegressor(MeanOfLosses, LinearRegressor):
    r"""The regressions of scikit-learn's stochastic gradients, at their certified optimum.

    Minimises

    .. math:: \frac1n \sum_i s_i\, \ell(y_i - w\cdot x_i - b) + \alpha\, \Omega(w)

    with :math:`\Omega = \tfrac12\|w\|^2`, :math:`\|w\|_1` or a mixture.  :meth:`fit` has all rows,
    so it does not take steps of single rows: it uses the method of
    :func:`~separatrix.select_solver` and runs to the optimum, and rates have no effect.
    :meth:`partial_fit` takes one step for each row, at the rates of the schedule, for rows that
    arrive over time.

    Parameters
    ----------
    loss : {"squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"} or Loss
        Half the square of the residual; linear beyond ``epsilon``; zero up to ``epsilon``; or an
        object of :mod:`separatrix.losses` that is ``of_residual``.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
    alpha : float, default=1e-4
        Strength of the penalty; 0 for none.
    fit_intercept : bool, default=True
        The intercept is never penalised.
    max_iter : int, default=1000
    tol : float or None, default=1e-6
        Target for the certified relative gap; None and 0 mean the smallest gap that can be reached.
    shuffle : bool, default=True
        Shuffle the rows in every call of :meth:`partial_fit`; otherwise they are used in the given
        order.
    random_state : int, RandomState or None, default=None
        The seed of that order. None uses a fixed seed: the same call on the same data gives the
        same bits.
    learning_rate : {"invscaling", "constant", "adaptive", "optimal"} or Schedule
        The rates of :meth:`partial_fit`: ``eta0 / k^power_t``, which is the default and also
        "adaptive"; ``eta0``; ``1 / (alpha (t0 + k))`` with ``t0 = 1 / (alpha eta0)``; or a schedule
        of :mod:`separatrix.schedules`.
    eta0 : float, default=0.01
    power_t : float, default=0.25
    average : bool or int, default=False
        Average the weights after the steps of :meth:`partial_fit`; a number is the step from which
        to average.
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
    intercept_ : ndarray of shape (1,)
    certificate_ : Certificate
        After :meth:`partial_fit`, for the rows of that call.
    objective_formula_ : str
    n_iter_ : int
    n_steps_ : int
        The number of steps, or of rows that were read.
    t_ : int
        The number of steps plus one, as scikit-learn counts.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace

    References
    ----------
    Robbins and Monro (1951), A stochastic approximation method.  Bottou (2012), Stochastic gradient
    descent tricks.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import SGDRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SGDRegressor("huber", epsilon=20.0, alpha=0.01).fit(scale(X), y)
    >>> model.certificate_.status, round(model.score(scale(X), y), 2)
    ('optimal', 0.51)
    """

    loss: Any = parameter(default="squared_error", kw_only=False)
    random_state: Any = parameter(default=None, meaning=SEED_OF_VISITS)
    learning_rate: Any = "invscaling"
    eta0: float = parameter(default=_RATE)
    power_t: float = _POWER
    average: Any = parameter(
        default=False,
        minimum=0,
        integer=True,
        instead=(bool, np.bool_),
        meaning="the same, for `partial_fit`",
    )
    epsilon: float = compat(
        "the parameter of the losses other than ``squared_error``", default=0.1, minimum=0
    )
    early_stopping: bool = compat(
        "a fit ends at its certified optimum",
        (False,),
        "a fit ends at its certified optimum; a larger alpha reduces overfitting",
        default=False,
    )
    validation_fraction: float = compat("not needed: it belongs to early stopping", default=0.1)
    n_iter_no_change: float = compat("not needed: it belongs to early stopping", default=5)

    sparsify, densify = sparsify, densify

    _label = "regression by stochastic gradients"
    _follows_dtype = True
    _attributes: ClassVar[rules.Rules] = {
        **LinearRegressor._attributes,
        "coef_": rules.one_of(rules.array("d", single=True), rules.weights("outputs")),
        "intercept_": rules.array("outputs", single=True),
        "certificate_": rules.any_certificate,
        "n_steps_": rules.whole(),
        "plain_coef_": rules.array("d"),
        "plain_intercept_": rules.array("outputs"),
        "n_visits_": rules.number(low=0.0),
    }

    # Scikit-learn's objective in units of this one, by a penalty of `alpha` times that.
    _sklearn_factor: ClassVar[float] = 1.0

    intercept_: np.ndarray = fitted()
    plain_coef_: np.ndarray = fitted()
    plain_intercept_: np.ndarray = fitted()
    n_visits_: float = fitted()
    n_iter_: int = fitted()

    # --- parameters -------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.loss, Loss):
            check_loss(self.loss, list(_LOSSES))
        elif not self.loss.of_residual:
            raise ValueError(
                f"loss={self.loss!r} is a loss for classes; give a regression loss such as "
                "'huber', or use SGDClassifier."
            )
        if key_of(self.loss) == "huber":
            check_number("epsilon", self.epsilon, above=0)
        if not isinstance(self.learning_rate, Schedule):
            check_number("eta0", self.eta0, above=0)

    def _options(self, rows: TrainingRows) -> tuple[Loss, Any, dict[str, Any]]:
        """Loss, penalty and what else the objective is made of."""
        loss = self.loss
        if not isinstance(loss, Loss):
            loss = _LOSSES[key_of(loss)](float(self.epsilon))
        return (loss, *self._terms(rows.total, rows.weights))

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> PointwiseObjective:
        loss, penalty, options = self._options(rows)
        return pointwise(design, y, loss, penalty, **options)

    # --- fit --------------------------------------------------------------------------------

    def _settled(self, fit: FitContext) -> Problems:
        warn_of_weights(fit.target.weights, self._penalised)
        return super()._settled(fit)

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        # The intercept is an array of one, as scikit-learn's is.
        coef, self.intercept_ = self._weights(problems, solutions)
        self.coef_ = coef[0]
        self._record(problems, solutions)
        self.n_steps_ = int(self.n_iter_) * problems[0][1].design.n_samples
        forget_averaged(self)

    @counted
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> SGDRegressor:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; sums are
            float64. Row blocks of :func:`separatrix.scale.scan` are fitted in passes; they contain
            their numbers and weights.
        y : array-like of shape (n_samples,)
        coef_init : array-like of shape (n_features,), optional
            Weights to start from.
        intercept_init : float or array-like of shape (1,), optional
            Intercept to start from.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            The engine of the passes over row blocks; by default the threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves its state. A fit that finds its own
            file continues from it, and removes it at the end.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), or several targets.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        begin = coef_init, intercept_init
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint, begin=begin)
        return self

    @property
    def t_(self) -> int:
        """The number of steps plus one."""
        return self.n_steps_ + 1

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> SGDRegressor:
        """One step for each of the given rows, starting from the weights of the earlier calls.

        The schedule and the average continue to count.  ``certificate_`` describes the rows of this
        call; a gap above ``tol`` causes no warning here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data, or a penalty with L1.
        KeyboardInterrupt
            On Ctrl-C, with the model as it was before the call.

        Warns
        -----
        ConvergenceWarning
            If the arithmetic overflowed; the weights are then those from before the call.

        Examples
        --------
        >>> from separatrix import SGDRegressor
        >>> model = SGDRegressor(learning_rate="constant", eta0=0.15, shuffle=False)
        >>> for x, y in [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)] * 40:
        ...     _ = model.partial_fit([[x]], [y])
        >>> model.predict([[4.0]]).round(1).tolist()
        [8.0]
        """
        self._check_parameters()
        first = not hasattr(self, "coef_")
        matrix, numbers = validate(self, X, y, regression=True, reset=first)
        weights = sample_weight_of(sample_weight, matrix)
        rows = TrainingRows.of(matrix, column_or_1d(numbers, warn=True), weights)
        design = as_design(matrix).merged()
        warn_of_weights(rows.weights, self._penalised)
        loss, penalty, options = self._options(rows)
        if penalty.kinked:
            raise ValueError(KINKED_PART)
        problem = StochasticResidual(
            design,
            rows.targets[:, 0],
            loss,
            penalty,
            visits=lambda: Visits.of(design.n_samples, rows.weights),
            **options,
        )
        coef, level, steps, visits = np.zeros(design.n_features), 0.0, 0, 0.0
        average = None
        if not first:
            coef, level = dense(self.coef_).ravel(), float(np.sum(self.intercept_))
            steps = int(self.n_steps_)
        if hasattr(self, "plain_coef_") and self.average:
            average, visits = problem.join(coef, level), float(self.n_visits_)
            coef, level = self.plain_coef_, float(self.plain_intercept_[0])
        problem.start = problem.join(coef, level)
        seed = seed_of(self.random_state)
        solution = one_pass(
            problem,
            StochasticDescent(self._schedule(), shuffle=bool(self.shuffle), average=self.average),
            carried=ResumeState(steps, visits, average),
            tol=self._goal,
            seed=[seed, steps],
        )
        self._keep([("", problem)], [solution])
        self.__dict__.pop("trace_", None)
        state = solution.state
        if self.average:
            self.plain_coef_ = np.array(problem.weights_of(state.theta))
            self.plain_intercept_ = np.array([float(problem.intercept_of(state.theta))])
            self.n_visits_ = float(state.elapsed)
        self.n_steps_ = int(state.steps)
        self.n_iter_ = 1
        if solution.certificate.status == "non_finite":
            warn(str(solution.certificate), ConvergenceWarning)
        return self

    def _schedule(self) -> Schedule:
        if isinstance(self.learning_rate, Schedule):
            return self.learning_rate
        name = "invscaling" if self.learning_rate == "adaptive" else self.learning_rate
        return schedule_of(name, float(self.eta0), alpha=self.alpha, power_t=self.power_t)

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if len(self.intercept_) != 1:
            raise rules.refuse("intercept_", "must hold one number for the one target")
