"""Linear classifiers by stochastic gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if

from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode
from separatrix.data.random_state import seed_of
from separatrix.data.row_hashing import canonical_order
from separatrix.data.splitting import held_out_by_class
from separatrix.data.validation import (
    check_choice,
    check_number,
    is_same,
    require_classes,
    sample_weight_of,
    validate,
)
from separatrix.exceptions import warn
from separatrix.expressions import Clipped, Expression, Normalised, posterior
from separatrix.losses import (
    LOSSES,
    EpsilonInsensitive,
    Huber,
    LogLoss,
    Loss,
    MarginPerceptronLoss,
    ModifiedHuber,
    PerceptronLoss,
    SquaredEpsilonInsensitive,
    key_of,
    loss_of,
)
from separatrix.messages import Message, Setting
from separatrix.models.base import portion_of
from separatrix.models.blocked import InPasses, is_blocked, refuse
from separatrix.models.callbacks import CallbackSupportMixin
from separatrix.models.certified import Certified, FitContext, Problems
from separatrix.models.composing import pointwise
from separatrix.models.limits import counted
from separatrix.models.linear import (
    AVERAGED,
    LinearClassifier,
    check_averaged,
    densify,
    forget_averaged,
    keep_steps,
    resumed,
    sparsify,
)
from separatrix.models.parameters import compat, parameter
from separatrix.models.path import Path
from separatrix.models.predicting import OfClasses
from separatrix.models.search import RowSearch
from separatrix.models.sklearn_compat import N_JOBS, WARM_START, warn_once
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.penalties import NoPenalty, Penalty, penalty_of, strength_of
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Solution, watched
from separatrix.solvers.perceptron import starting_points
from separatrix.solvers.schedules import SCHEDULES, Constant, Schedule, schedule_of
from separatrix.solvers.stochastic import (
    Holdout,
    ResumeState,
    StochasticDescent,
    StochasticObjective,
    StochasticResidual,
    Visited,
    Visits,
    finalize,
    one_pass,
    try_rates,
)
from separatrix.solvers.warm_starts import mean_square

# The losses of the margin that are offered, under scikit-learn's names.
_LOSSES = [{"log": "log_loss"}.get(key, key) for key, kind in sorted(LOSSES.items()) if kind.convex]


# Losses of the residual: what each is with its ``epsilon``.  Targets of classes are -1 and +1.
RESIDUAL: dict[str, Callable[[float], Loss]] = {
    "huber": lambda epsilon: Huber(epsilon),
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
}
_ADAPTIVE = "adaptive"


KINKED_PART = (
    "partial_fit takes one step for each row, and such steps do not make weights exactly zero as "
    "an L1 penalty should; give penalty='l2' or use fit."
)


class MeanOfLosses(Certified):
    """An estimator of a mean of losses and a penalty that a fit minimises with all rows at hand.

    It is the base of the two models with the parameters of stochastic gradients: where nobody chose
    the steps, any method may minimise their objective, and the one that certifies it soonest does.
    """

    penalty: str | None = parameter(default="l2", choices=("l2", "l1", "elasticnet", None))
    alpha: float = parameter(default=1e-4, minimum=0)
    shuffle: bool = parameter(default=True, choices=(True, False))
    learning_rate: Any = parameter(
        default="optimal",
        choices=(*SCHEDULES, _ADAPTIVE),
        instead=Schedule,
        meaning="the same, or a schedule; `adaptive` is `invscaling`; no `pa1`, `pa2`",
    )
    power_t: float = parameter(default=0.5, number=True)
    tol: float | None = parameter(default=1e-6, above=None, minimum=0, none=True)  # type: ignore[assignment]
    l1_ratio: float | None = compat(
        'the share of L1 in ``penalty="elasticnet"``', default=0.15, minimum=0, maximum=1, none=True
    )

    def _check_parameters(self) -> None:
        if self.learning_rate in ("pa1", "pa2"):
            raise ValueError(
                f"learning_rate={self.learning_rate!r} is the passive-aggressive algorithm, which "
                "is not implemented; give learning_rate='optimal', or use scikit-learn's own class."
            )
        super()._check_parameters()
        if self.l1_ratio is None and self.penalty == "elasticnet":
            raise ValueError("l1_ratio must be set when penalty is 'elasticnet'.")

    # The value that ``learning_rate_formula_`` has, or would have, where no step has a rate.
    _no_schedule = "none", "the method looks at all rows at once and converges"

    @property
    def _penalised(self) -> bool:
        return self.penalty is not None and self.alpha > 0

    @property
    def _share_of_l1(self) -> float:
        return {"l1": 1.0, "elasticnet": float(self.l1_ratio or 0.0)}.get(self.penalty or "", 0.0)

    @property
    def _goal(self) -> float:
        """The gap to certify; without a ``tol`` as small a one as there is."""
        return float(self.tol or 1e-9)

    def _limits(self) -> dict[str, Any]:
        return {"tol": self._goal, "max_iter": self.max_iter}

    def _starts(self, problems: Problems, fit: FitContext) -> Sequence[dict[str, Any]] | None:
        if all(part is None for part in fit.begin):
            return super()._starts(problems, fit)
        points = starting_points(
            *fit.begin,
            n_features=problems[0][1].design.n_features,
            parts=len(problems),
            fit_intercept=bool(self.fit_intercept),
        )
        return [{"theta": point} for point in points]

    def _terms(self, total: float, weights: np.ndarray | None) -> tuple[Penalty, dict[str, Any]]:
        """The penalty, and the options of the objective for rows of these weights.

        ``total``: the sum of the sample weights.
        """
        penalised = self._penalised
        return (
            penalty_of(self._share_of_l1) if penalised else NoPenalty(),
            {
                "C": strength_of(float(self.alpha) if penalised else 0.0, total),
                "weights": weights,
                "fit_intercept": bool(self.fit_intercept),
            },
        )


def check_loss(loss: Any, offered: Sequence[str]) -> None:
    """Raise ValueError for a loss that has none of the names of those that are offered."""
    if key_of(loss) not in [key_of(name) for name in offered]:
        check_choice("loss", loss, offered)


def warn_of_weights(sample_weight: np.ndarray | None, penalised: bool) -> None:
    """Warn, once, where weights of rows do not mean what they do in scikit-learn."""
    if penalised and sample_weight is not None and abs(sample_weight.mean() - 1.0) > 1e-9:
        warn_once("weights_are_copies")


def _has_probabilities(model: Any) -> bool:
    known = ("log", "modified_huber")
    if key_of(model.loss) in known or isinstance(model.loss, LogLoss | ModifiedHuber):
        return True
    raise AttributeError(
        f"SGDClassifier(loss={model.loss!r}) has scores but no probabilities; loss='log_loss' and "
        "loss='modified_huber' have both."
    )


def _check_rate_curve(name: str, value: Any, sizes: rules.Sizes) -> None:
    wanted = {
        "rates": rules.array("rates", low=0.0),
        "objective": rules.array("rates", finite=False),
    }
    rules.check_parts(name, value, wanted, sizes)


def _check_curves(name: str, value: Any, sizes: rules.Sizes) -> None:
    """Check one array for each half-space, or the array itself where there is one."""
    curves = value if isinstance(value, list) else [value]
    if len(curves) != sizes.known["h"]:
        raise rules.refuse(name, f"has {len(curves):,} curves for {sizes.known['h']:,} half-spaces")
    for k, curve in enumerate(curves):
        rules.array(f"length of curve {k}", finite=False)(name, curve, sizes)


class SGDClassifier(CallbackSupportMixin, MeanOfLosses, LinearClassifier):
    r"""The linear classifiers of scikit-learn's stochastic gradients, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}`,

    .. math:: \frac1n \sum_i s_i\, \ell(y_i (w\cdot x_i + b)) + \frac\alpha2 \|w\|^2

    with :math:`n` the sum of the sample weights.  :meth:`fit` has all rows at hand, so that it need
    not take steps of single rows: unless some parameter of the steps is given, it goes to the
    certified optimum by the method that :func:`~separatrix.select_solver` gives.  Where
    ``learning_rate``, ``eta0``, ``power_t``, ``batch_size``, ``average``, ``shuffle``, ``step_tol``
    or ``early_stopping`` is given, in :meth:`partial_fit`, and for the perceptron's loss it takes a
    step along the slope of one row at a time:

    .. math:: w \leftarrow (1 - \eta_k \alpha)\, w - \eta_k\, \ell'(z_i)\, y_i x_i, \qquad
        b \leftarrow b - \eta_k\, \ell'(z_i)\, y_i .

    The intercept is never penalised.  More than two classes are fitted one against the rest.

    A row of weight ``k`` is visited ``k`` times in a pass; a fraction left over is a visit with a
    step of that fraction.  With ``shuffle`` the order of the visits is drawn from the values of
    the rows and not from how they lie, so that weights are the same as copies of a row wherever
    these are.

    Parameters
    ----------
    loss : str or Loss, default="hinge"
        A name, one of "hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron",
        "squared_error", "huber", "epsilon_insensitive" and "squared_epsilon_insensitive", or
        an object of :mod:`separatrix.losses`.  With the perceptron loss no penalty is applied,
        unless it has a ``margin``, because the best weights would be zero.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        Steps along the gradients of single rows do not make weights exactly zero: under a penalty
        with L1, and for the last three losses, parameters of the steps have no effect.
    alpha : float, default=1e-4
        Strength of the penalty; 0 for none.
    margin : float, default=0.0
        For ``loss="perceptron"``: the loss is ``max(0, margin - z)``.
    fit_intercept : bool, default=True
    learning_rate : {"optimal", "invscaling", "constant", "adaptive"} or Schedule
        The rates :math:`\eta_k`: a schedule of :mod:`separatrix.schedules`, or a name:
        ``1 / (alpha (t0 + k))`` with ``t0 = 1 / (alpha eta0)``, the default "optimal",
        ``eta0 / k^power_t``, or ``eta0``; "adaptive" falls as "invscaling" does.
        Steps are counted over all passes.
    eta0 : float or "search", default="search"
        The first rate, if ``learning_rate`` is a name: a number, or (also with 0) the result of
        :meth:`search_learning_rate`. A schedule has its own rate.
    power_t : float, default=0.75
        For ``learning_rate="invscaling"``: from 0 to 1, and greater than 0.5 if the steps must
        reach the optimum with certainty.
    batch_size : int, default=1
        The number of rows in a step, whose gradients are averaged.
    average : {"linear", True, False} or int, default="linear"
        Return the average of the weights after each step (Polyak and Juditsky, 1992) rather than
        the last ones; with a number, from that visit on.  With "linear" each counts as much as its
        number (Lacoste-Julien, Schmidt and Bach, 2012), which forgets the start sooner.
    shuffle : bool, default=True
        Shuffle the rows in every pass; otherwise they are visited in the given order.
    max_iter : int, default=1000
        Limit on passes, or on the iterations of the method that looks at all rows.
    tol : float or None, default=1e-3
        Target for the certified relative gap; None, or a value that is not greater than 0, requests
        as small a gap as there is.  Steps end where the mean objective that a pass met with was not
        below the least before by more than this for ``n_iter_no_change`` passes, which is
        scikit-learn's rule and says nothing about the gap; with None they make all ``max_iter``
        passes, without a warning.
    step_tol : float, optional
        Also stop when a pass changes the weights by less than this, relative to their norm.
    early_stopping : bool, default=False
        Hold out a part of the rows and stop when the accuracy on them (among equals, the loss) has
        not improved for ``n_iter_no_change`` passes; the result is the weights that were best on
        them. The objective and its certificate cover the other rows.
    validation_fraction : float, default=0.1
        The share of the rows of each class to hold out.
    n_iter_no_change : int, default=5
        The number of passes without progress that end a fit, by ``early_stopping`` or ``tol``;
        losses without ``value_at`` are not followed.
    class_weight : dict or "balanced", optional
    random_state : int, RandomState or None
        None uses a fixed seed: the same call on the same data gives the same bits.
    time_limit : float, optional
        Time limit in seconds of the passes; the fit then returns its best iterate with the gap that
        it reached.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``; of steps with a check after every pass, and for the perceptron loss without
        a penalty and with ``batch_size=1`` with every update.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
        The certificate of the sum over the binary problems, which are its ``parts``.  After steps
        the bound comes from the slopes of the loss at the visits, averaged over the passes, and
        from those that a Newton step predicts.
    objective_formula_ : str
        The formula that was minimised, in the form ``1/2 |w|^2 + C sum`` with
        ``C = 1 / (alpha n)``.
    n_iter_ : int
        The number of passes or iterations.
    n_steps_ : ndarray of shape (1,) or (K,)
        The number of steps, or of rows that were evaluated, for each binary problem.
    t_ : int
        The largest number of steps plus one, as scikit-learn counts.
    eta0_ : float
        The first rate of the schedule, if ``learning_rate`` is a name and steps were taken.
    rate_curve_ : dict of ndarray
        The result of the search for a rate, if there was one: ``"rates"`` and the ``"objective"``
        that each reached.
    learning_rate_formula_, learning_rate_condition_ : str
        The schedule, and what is known of its convergence; "none" where there were no steps.
    validation_rows_ : ndarray
        With ``early_stopping``: the rows held out.
    validation_scores_ : ndarray, or list of ndarray
        With ``early_stopping``: the accuracy on the held-out rows after each pass.
    plain_coef_, plain_intercept_, n_visits_ : ndarray
        With ``average``: the last weights, and the visits that the average is over (of "linear"
        the sum of their numbers), of shape (1,) or (K,).
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace, or a tuple of one for each binary problem

    References
    ----------
    Robbins and Monro (1951), A stochastic approximation method.  Rosenblatt (1958), The
    perceptron.  Polyak and Juditsky (1992), Acceleration of stochastic approximation by averaging.
    Bottou (2012), Stochastic gradient descent tricks.  Lacoste-Julien, Schmidt and Bach (2012), A
    simpler approach to obtaining an O(1/t) convergence rate for the projected stochastic
    subgradient method.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import SGDClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SGDClassifier("log_loss", alpha=0.01).fit(scale(X), y)
    >>> model.certificate_.relative_gap <= 1e-3
    True
    >>> model.score(scale(X), y) > 0.97
    True

    Steps at given rates:

    >>> model = SGDClassifier("log_loss", alpha=0.01, eta0=0.1, tol=None, max_iter=50)
    >>> model = model.fit(scale(X), y)
    >>> model.learning_rate_formula_
    'eta_k = 100 / (1000 + k)'
    >>> model.certificate_.relative_gap < 0.01
    True

    The perceptron is a special case:

    >>> X = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]]
    >>> model = SGDClassifier.perceptron().fit(X, [-1, -1, 1, 1])
    >>> model.coef_.tolist(), model.intercept_.tolist()
    ([[4.0, -0.5]], [1.0])
    """

    loss: Any = parameter(default="hinge", kw_only=False)
    penalty: str | None = parameter(
        default="l2", meaning="the same; with L1 the solver uses all rows at once"
    )
    alpha: float = 1e-4
    margin: float = parameter(default=0.0, minimum=0)
    fit_intercept: bool = True
    learning_rate: Any = "optimal"
    eta0: Any = parameter(
        default="search",
        choices=("search",),
        minimum=0,
        meaning='the same, or `"search"`, the default',
    )
    power_t: float = 0.75
    batch_size: int = parameter(default=1, minimum=1, integer=True)
    average: Any = parameter(
        default="linear",
        choices=("linear", True, False),
        minimum=0,
        integer=True,
        instead=(bool, np.bool_),
        meaning='the same, or `"linear"`, the default',
    )
    shuffle: bool = True
    max_iter: int = 1000
    tol: float = parameter(
        default=1e-3,
        meaning="the certified relative gap; with chosen steps the same, and None makes all passes",
    )
    step_tol: float | None = parameter(default=None, above=0)
    early_stopping: bool = parameter(default=False, choices=(True, False))
    validation_fraction: float = parameter(
        default=0.1, above=0, below=1, beyond="must be less than 1, so that rows are left to fit"
    )
    n_iter_no_change: int = parameter(default=5, minimum=1, integer=True)
    class_weight: Any = None
    random_state: Any = None
    time_limit: float | None = None
    verbose: int = 0
    record: bool = False
    l1_ratio: float | None = 0.15
    epsilon: float = compat(
        "the parameter of the losses ``huber`` and ``epsilon_insensitive``", default=0.1, minimum=0
    )
    n_jobs: Any = N_JOBS
    warm_start: bool = WARM_START

    sparsify, densify = sparsify, densify

    _label = "stochastic gradients"
    # The names of attributes in older model files.
    _renamed: ClassVar[dict[str, str]] = {"t_": "n_steps_"}
    # Parameters and attributes of older model files that there are no more.
    _retired: ClassVar[tuple[str, ...]] = ("finish", "finish_passes_")
    # The parameters of which any makes the fit one of steps.
    _of_steps: ClassVar[tuple[str, ...]] = (
        *("learning_rate", "eta0", "power_t", "batch_size", "average", "shuffle", "step_tol"),
        "early_stopping",
    )
    _attributes: ClassVar[rules.Rules] = {
        **LinearClassifier._attributes,
        **AVERAGED,
        "certificate_": rules.any_certificate,
        "eta0_": rules.number(low=0.0),
        "learning_rate_condition_": rules.text,
        "learning_rate_formula_": rules.text,
        "rate_curve_": _check_rate_curve,
        "n_steps_": rules.whole_array("h"),
        "validation_rows_": rules.whole_array("held"),
        "validation_scores_": _check_curves,
    }
    _needed: tuple[str, ...] = (
        *("coef_", "intercept_", "learning_rate_formula_"),
        *("learning_rate_condition_", "classes_", "certificate_"),
    )

    _strengths: ClassVar[dict[str, bool]] = {"alpha": False}

    # --- special cases ----------------------------------------------------------------------

    @classmethod
    def perceptron(cls, **options: Any) -> SGDClassifier:
        """The perceptron (Rosenblatt, 1958): ``w += y x`` and ``b += y`` on every mistake.

        The perceptron loss without a penalty, at the constant rate 1, over the rows in the given
        order: exactly the updates of :class:`separatrix.Perceptron`.  A point on the plane is a
        mistake.

        Parameters
        ----------
        **options
            Other parameters, or other values for these.

        Returns
        -------
        SGDClassifier

        Examples
        --------
        >>> from separatrix import SGDClassifier
        >>> model = SGDClassifier.perceptron(fit_intercept=False, record=True)
        >>> model = model.fit([[-1, -1], [1, 0], [-1, 1.5]], [1, -1, 1])
        >>> [update.sample for update in model.trace_.updates], model.coef_.tolist()
        ([0, 2], [[-2.0, 0.5]])
        """
        return cls(
            **{
                "loss": "perceptron",
                "penalty": None,
                "learning_rate": Constant(1.0),
                "average": False,
                "shuffle": False,
                **options,
            }
        )

    @classmethod
    def margin_perceptron(cls, margin: float, **options: Any) -> SGDClassifier:
        """The margin perceptron: ``w += y x`` and ``b += y`` while ``y (w.x + b) < margin``.

        Parameters
        ----------
        margin : float
            A score, not a distance: only the margin divided by the rate matters.
        **options
            Other parameters, or other values for those of :meth:`perceptron`.

        Returns
        -------
        SGDClassifier

        Examples
        --------
        >>> from separatrix import SGDClassifier
        >>> X, y = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]], [-1, -1, 1, 1]
        >>> model = SGDClassifier.margin_perceptron(2.0).fit(X, y)
        >>> bool(min(y * model.decision_function(X)) >= 2.0)
        True
        """
        return cls.perceptron(margin=margin, **options)

    # --- fit --------------------------------------------------------------------------------

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> SGDClassifier:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used where they lie, without
            a copy; other types are converted once to float64, other sparse formats to CSR.
            Row blocks, of :func:`separatrix.scale.scan`, are visited in their order, the rows of
            each shuffled, or not, and have labels and weights of their own; a rate is searched for
            on a sample.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        coef_init : array-like of shape (n_features,), (1, n_features) or (K, n_features), optional
            Weights to start from; zero by default.
        intercept_init : float or array-like of shape (1,) or (K,), optional
            Intercept to start from; zero by default.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            The engine that loads the row blocks in advance; by default threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves its state; not for steps of a
            chosen size, whose next pass needs more than the weights of the last one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), one class only, weights
            that need hundreds of millions of visits, or a search in which every rate diverged.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far; the
            search for a rate is broken off at once.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        given = any(part is not None for part in (checkpoint, coef_init, intercept_init))
        if is_blocked(X) and given and self._by_rows:
            raise ValueError(
                "A fit of row blocks by steps starts from zero and runs to its end: leave out "
                "checkpoint, coef_init and intercept_init, or use partial_fit."
            )
        begin = coef_init, intercept_init
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint, begin=begin)
        return self

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if not self._by_rows:
            return None
        whys = (
            (not self._penalised, "without a penalty there is no bound: give an alpha"),
            (bool(self.early_stopping), "early_stopping draws rows to hold out"),
            (bool(self.record), "a record of every update is as long as the data"),
        )
        return next((why for given, why in whys if given), None)

    def _settle_rate_on(self, fit: InPasses) -> None:
        """Settle the rate on the rows that were drawn when the data were scanned."""
        sample = fit.data.sample
        if sample is None:
            raise refuse(self, "there is no sample on which to search for a rate: give eta0")
        codes = sample.target.astype(np.intp)
        own = fit.factors[codes]
        given = np.ones(len(codes)) if sample.weights is None else sample.weights
        labels = Labels(fit.classes, codes, own * given, float(given.sum()), sample.weights)
        problems = self._composed(as_design(sample.matrix), labels)
        self._settle_rate(problems, seed_of(self.random_state))

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> SGDClassifier:
        """One pass over the given rows, starting from the weights of the earlier calls.

        The first call starts from zero; a call after :meth:`fit` starts from its weights, or with
        ``average`` from the last ones.  The schedule and the average continue to count.  There is
        no early stopping.  ``certificate_`` and ``trace_`` describe the rows of this call; a gap
        above ``tol`` causes no warning here.  A search for the rate is made in the first call.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels among ``classes``; they need not all occur.
        classes : array-like of shape (K,), optional
            All labels of all calls; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters or data, ``classes`` missing in the first call or changed in a
            later one, a label not among them, or ``class_weight="balanced"``, which needs all rows.
        KeyboardInterrupt
            On Ctrl-C, with the model as it was before the call.

        Warns
        -----
        ConvergenceWarning
            If the arithmetic overflowed; the weights are then those from before the call.

        Examples
        --------
        >>> from separatrix import SGDClassifier
        >>> model = SGDClassifier.perceptron()
        >>> for x, label in [([-1, 3], "a"), ([3, -1], "b"), ([0, 1.5], "b")]:
        ...     _ = model.partial_fit([x], [label], classes=["a", "b"])
        >>> model.n_steps_.tolist(), model.coef_.tolist()
        ([3], [[1.0, -1.5]])
        """
        self._check_parameters()
        if self.early_stopping:
            raise ValueError(
                "partial_fit does not support early_stopping=True, because it has only the rows of "
                "one call; use fit, or early_stopping=False."
            )
        if self._penalised and self._share_of_l1 > 0.0:
            raise ValueError(KINKED_PART)
        X, labels = portion_of(self, X, y, classes, sample_weight, self.class_weight)
        known = labels.classes
        warn_of_weights(labels.sample_weight, self._penalised)
        if labels.weights is not None and not labels.weights.any():
            raise ValueError(
                "Every row of this call has weight zero, so there is nothing to fit; leave out the "
                "call."
            )
        design = as_design(X).merged()
        start, average, visits = resumed(self, labels, X.shape[1])
        steps = getattr(self, "n_steps_", np.zeros(len(visits), dtype=np.int64))
        problems = self._composed(design, labels, start=start)
        seed = seed_of(self.random_state)
        if not hasattr(self, "eta0_") and isinstance(self.learning_rate, str):
            self._settle_rate(problems, seed)
        passes = getattr(self, "n_iter_", 0)
        solutions = []
        for k, (part, problem) in enumerate(problems):
            solution = one_pass(
                problem,
                self._descent(),
                carried=ResumeState(
                    int(steps[k]), float(visits[k]), problem.join(average[0][k], average[1][k])
                ),
                tol=self._gap,
                part=part,
                # Another shuffle for every pass.
                seed=[seed + k, passes],
            )
            solutions.append(solution)
        self.classes_ = known
        self.__dict__.pop("validation_rows_", None)
        self._keep(list(problems), solutions)
        self.n_iter_ = passes + 1
        if self.certificate_.status == "non_finite":
            warn(str(self.certificate_), ConvergenceWarning)
        return self

    def search_learning_rate(
        self, X: Any, y: Any, sample_weight: Any = None, *, rates: Any = None
    ) -> dict[str, np.ndarray]:
        """The objective that each of a range of learning rates reaches (Bottou, 2012).

        Each rate makes one pass over the same sample of up to 100,000 visits (fewer for long rows;
        several passes for fewer than 10,000 visits), and the objective is evaluated on that sample.
        The model is not fitted or changed.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        rates : array-like of shape (n_rates,), optional
            Numbers greater than 0: rates of a schedule, or values of ``eta0`` for a name. By
            default eleven powers of four around one over the mean squared length of a row.

        Returns
        -------
        dict of ndarray
            ``"rates"`` and ``"objective"``, of shape (n_rates,), the mean over the sample plus the
            penalty, summed over the classes; ``inf`` where the steps diverged.

        Raises
        ------
        ValueError
            For bad parameters, data or rates.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from separatrix import SGDClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = SGDClassifier(alpha=0.01, random_state=0)
        >>> curve = model.search_learning_rate(scale(X), y, rates=[1e-6, 1e-2, 1e3])
        >>> curve["objective"].argmin()
        np.int64(1)
        """
        self._check_parameters()
        # A copy, because what is checked is also remembered.
        other = type(self)(**self.get_params(deep=False))
        X, y = validate(other, X, y)
        require_classes(y)
        labels = encode(y, sample_weight_of(sample_weight, X), self.class_weight)
        design = as_design(X).merged()
        seed = seed_of(self.random_state)
        if rates is not None:
            rates = column_or_1d(rates, dtype=np.float64)
            for rate in rates:
                check_number("rates", float(rate), above=0)
        if self.early_stopping:
            other.validation_rows_ = self._held_out(design, labels, seed)
        problems = other._composed(design, labels)
        return self._curve(problems, seed, rates)

    def path(
        self,
        X: Any,
        y: Any,
        alphas: Any = None,
        *,
        cv: Any = None,
        scoring: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> Path:
        """Fit along values of ``alpha``, each warm-started from those before.

        Where the fit is one of steps, a rate that is searched for is searched for at each value, on
        all rows, and the folds take it over.  The model itself is not fitted; its ``alpha`` does
        not count.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        alphas : int or array-like of shape (n_values,), default=20
            Values of ``alpha``, or their number. A number means values on a logarithmic scale from
            a hundredth of the mean squared length of the centred rows to a ten-thousandth of that.
        cv, scoring, sample_weight, groups
            See :meth:`separatrix.LogisticRegression.path`.

        Returns
        -------
        Path

        Raises
        ------
        ValueError
            For bad parameters, data or values, or a fold without rows of some class.
        PathInterrupt
            On Ctrl-C; this KeyboardInterrupt has the values that were reached as its ``path``.

        Warns
        -----
        ConvergenceWarning
            Once, naming the values whose certificate is above ``tol``.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from sklearn.preprocessing import scale
        >>> from separatrix import SGDClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = SGDClassifier("log_loss", tol=1e-2, random_state=0)
        >>> path = model.path(scale(X), y, [0.3, 0.1, 0.01], cv=3)
        >>> path.best
        0.01
        """
        rows = X, y, {"alpha": alphas}, cv, scoring, sample_weight, groups
        return RowSearch(self, *rows).path()

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        centred = bool(self.fit_intercept)
        first = 0.01 * mean_square(run.design, run.labels.weights, centred=centred)
        return np.geomspace(first, 1e-4 * first, count) if count > 1 else np.array([first])

    def _settle_as(self, whole: Any) -> None:
        if hasattr(whole, "eta0_"):
            self.eta0 = whole.eta0_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (isinstance(self.loss, Loss) and self.loss.convex and self.loss.domain[0] <= -1.0):
            # A name, or a loss that has no minimum or no labels.
            check_loss(self.loss, [*_LOSSES, *RESIDUAL])
        if self.early_stopping and not self._steps_lead:
            raise ValueError(
                "early_stopping=True needs passes over the rows, and fits with an L1 penalty or a "
                "regression loss have none; leave early_stopping at False."
            )
        plain = self.loss == "perceptron" or type(self.loss) is PerceptronLoss
        if self.margin > 0 and not plain:
            raise ValueError(
                f"margin={self.margin!r} is for loss='perceptron', and loss={self.loss!r} has its "
                "own margin; leave margin at 0."
            )
        if plain and self.penalty is not None and self.alpha > 0 and not self.margin > 0:
            warn_once("free_perceptron")
        if not isinstance(self.learning_rate, Schedule):
            if self.learning_rate == "invscaling" and not 0.0 <= self.power_t <= 1.0:
                raise ValueError(
                    f"power_t={self.power_t!r} must be from 0 to 1; otherwise the steps may stop "
                    "short of the optimum."
                )
            if self.learning_rate == "optimal" and not self.alpha > 0:
                schedule_of("optimal", 1.0, alpha=0.0, power_t=1.0)
        elif not isinstance(self.eta0, str):
            raise ValueError(
                f"learning_rate={self.learning_rate!r} has its own rate; leave eta0 at 'search' "
                f"instead of {self.eta0!r}."
            )

    @property
    def _gap(self) -> float:
        """The gap that steps are judged by."""
        return float(self.tol) if self.tol is not None and self.tol > 0 else 0.0

    @property
    def _penalised(self) -> bool:
        plain = self.loss == "perceptron" or type(self.loss) is PerceptronLoss
        free = plain and not self.margin > 0
        return super()._penalised and not free

    @property
    def _steps_lead(self) -> bool:
        """Whether steps along the slopes of single rows lead to the optimum."""
        kinked = self._penalised and self._share_of_l1 > 0.0
        of_residual = isinstance(self.loss, Loss) and self.loss.of_residual
        return not (kinked or of_residual or key_of(self.loss) in RESIDUAL)

    @property
    def _by_rows(self) -> bool:
        """Whether the fit goes row by row."""
        if not self._steps_lead:
            return False
        declared = self._parameters
        if any(not is_same(getattr(self, name), declared[name].default) for name in self._of_steps):
            return True
        loss = self._loss()
        stepping = self._penalised and hasattr(loss, "dual_step")
        # For a loss with a kink there is a method under a penalty or by way of smooth ones; the
        # perceptron's is least at weights of zero.
        return not (loss.smooth or loss.smoothable or stepping)

    @property
    def _resumes(self) -> bool:  # type: ignore[override]
        # The next pass of steps needs more than the weights of the last one.
        return not self._by_rows

    @property
    def _follows_dtype(self) -> bool:  # type: ignore[override]
        # Steps of a chosen size keep the digits at which they end.
        return not self._by_rows

    def _loss(self) -> Loss:
        if self.margin > 0:
            return MarginPerceptronLoss(self.margin)
        if isinstance(self.loss, Loss):
            return self.loss
        key = key_of(self.loss)
        return RESIDUAL[key](float(self.epsilon)) if key in RESIDUAL else loss_of(key)

    # --- composition ------------------------------------------------------------------------

    def _settled(self, fit: FitContext) -> Problems:
        for name in ("validation_rows_", "eta0_", "rate_curve_"):
            self.__dict__.pop(name, None)
        seed = self._seed()
        if fit.blocks is not None:
            if self._by_rows and isinstance(self.learning_rate, str):
                self._settle_rate_on(fit.blocks)
            return super()._settled(fit)
        warn_of_weights(fit.target.sample_weight, self._penalised)
        if self._by_rows and self.early_stopping:
            self.validation_rows_ = self._held_out(fit.design, fit.target, seed)
        problems = super()._settled(fit)
        if self._by_rows and isinstance(self.learning_rate, str):
            self._settle_rate(problems, seed)
        return problems

    def _problems(self, design: Design, labels: Labels) -> Problems:
        if self._by_rows and not isinstance(design, InPasses):
            return self._composed(design, labels)
        loss = self._loss()
        penalty, options = self._terms(labels.total, labels.weights)
        return [
            (part, pointwise(design, y, loss, penalty, **options)) for part, y in labels.parts()
        ]

    def _composed(
        self, design: Design, labels: Labels, start: Any = None
    ) -> list[tuple[str, Visited]]:
        n = design.n_samples
        weights, total, held = labels.weights, labels.total, None
        if hasattr(self, "validation_rows_") and start is None:
            rows = self.validation_rows_
            own = np.ones(n) if weights is None else weights
            held = Holdout(rows, own[rows])
            weights = own.copy()
            weights[rows] = 0.0
            lost = len(rows) if labels.sample_weight is None else labels.sample_weight[rows].sum()
            total -= float(lost)
        made: list[Visits] = []

        def visits() -> Visits:
            # One order for all parts.
            if not made:
                order = canonical_order(design, labels.codes)[0] if self.shuffle else None
                # A part of the rows knows nothing of the largest weight of all.
                made.append(Visits.of(n, weights, order, relative=start is None))
            return made[0]

        loss = self._loss()
        penalty, options = self._terms(total, weights)
        kind = StochasticResidual if loss.of_residual else StochasticObjective
        out: list[tuple[str, Visited]] = []
        for k, (part, y) in enumerate(labels.parts()):
            problem = kind(
                design,
                y,
                loss,
                penalty,
                **options,
                visits=visits,
                holdout=held,
            )
            if start is not None:
                problem.start = problem.join(start[0][k], start[1][k])
            out.append((part, problem))
        return out

    def _held_out(self, design: Design, labels: Labels, seed: int) -> np.ndarray:
        share = float(self.validation_fraction)
        held = held_out_by_class(design, labels.codes, labels.weights, share, [seed, 1])
        if not len(held):
            raise ValueError(Message("early_stopping_rows"))
        return held

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        check_averaged(self)

    # --- the rates --------------------------------------------------------------------------

    def _schedule(self, rate: float | None = None) -> Schedule:
        if isinstance(self.learning_rate, Schedule):
            return self.learning_rate if rate is None else self.learning_rate.with_rate(rate)
        eta0 = self.eta0_ if rate is None else rate
        if self.learning_rate == "optimal" and not self.alpha * eta0 * 1e308 > 1.0:
            raise ValueError(
                Message("rate_out_of_range", rate=eta0, alpha=Setting("alpha", self.alpha, "g"))
            )
        name = "invscaling" if self.learning_rate == _ADAPTIVE else self.learning_rate
        return schedule_of(name, eta0, alpha=self.alpha, power_t=self.power_t)

    def _curve(self, problems: Any, seed: int, rates: Any = None) -> dict[str, np.ndarray]:
        tried, objective = try_rates(
            [problem for _, problem in problems],
            self._schedule,
            rates,
            batch_size=self.batch_size,
            average=self.average,
            seed=[seed, 2],
        )
        return {"rates": tried, "objective": objective}

    def _settle_rate(self, problems: Any, seed: int) -> None:
        """``eta0_``: as given, or the best of a search."""
        if not isinstance(self.eta0, str) and self.eta0 > 0:
            self.eta0_ = float(self.eta0)
            return
        curve = self._curve(problems, seed)
        if not np.isfinite(curve["objective"]).any():
            raise ValueError(Message("no_rate_found"))
        self.rate_curve_ = curve
        self.eta0_ = float(curve["rates"][curve["objective"].argmin()])

    # --- the driver's part ------------------------------------------------------------------

    def _solver(self, problem: LinearProblem) -> Any:
        if problem.in_passes and self._by_rows:
            from separatrix.scale.online import BlockedSteps

            return BlockedSteps(self._descent(), int(self.max_iter))
        if not isinstance(problem, StochasticObjective):
            return select_solver(problem)
        followed = self.record or self._has_callbacks or self.verbose or watched()
        # A callback follows every pass.
        return self._descent(None if followed else int(self.max_iter), self._gap or None)

    def _descent(self, most: int | None = None, tol: float | None = None) -> StochasticDescent:
        correcting = not self._penalised and isinstance(self._loss(), PerceptronLoss)
        return StochasticDescent(
            self._schedule(),
            batch_size=self.batch_size,
            shuffle=bool(self.shuffle),
            average=self.average,
            step_tol=self.step_tol,
            patience=int(self.n_iter_no_change),
            tol=tol,
            most=most,
            record=bool(self.record) and correcting and self.batch_size == 1,
        )

    def _limits(self) -> dict[str, Any]:
        return {"tol": self._gap if self._by_rows else self._goal, "max_iter": self.max_iter}

    def _finished(self, problems: Problems, solutions: list[Solution]) -> list[Solution]:
        if not isinstance(problems[0][1], Visited):
            return solutions
        out = []
        for (_, problem), solution in zip(problems, solutions, strict=True):
            assert isinstance(problem, StochasticObjective)
            out.append(finalize(problem, self._descent(), solution, int(self.max_iter)))
        return out

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        super()._keep(problems, solutions)
        self.__dict__.pop("validation_scores_", None)
        problem = problems[0][1]
        if not (isinstance(problem, Visited) or (problem.in_passes and self._by_rows)):
            self._keep_whole(solutions, problems[0][1].design.n_samples)
            return
        schedule = self._schedule()
        self.learning_rate_formula_ = schedule.formula
        self.learning_rate_condition_ = schedule.condition
        states = [solution.state for solution in solutions]
        self.n_steps_ = np.array([state.steps for state in states], dtype=np.int64)
        keep_steps(self, problems, solutions)
        if hasattr(self, "validation_rows_"):
            curves = [np.array(state.held) for state in states]
            self.validation_scores_ = curves[0] if len(curves) == 1 else curves

    @property
    def t_(self) -> int:
        """The largest number of steps of a binary problem, plus one."""
        return int(np.max(self.n_steps_)) + 1

    def _keep_whole(self, solutions: list[Solution], n_samples: int) -> None:
        forget_averaged(self)
        self.learning_rate_formula_, self.learning_rate_condition_ = self._no_schedule
        # Later passes go on at the rates that as many passes would have come to.
        counts = np.array([s.certificate.n_iter for s in solutions], dtype=np.int64)
        self.n_steps_ = counts * n_samples

    # --- predict ----------------------------------------------------------------------------

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes; available for the log loss and modified Huber.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, K)
            The logistic function of the scores; for more than two classes, of each against the
            rest, divided by their sum.  The largest entry is the class that ``predict`` gives.
            Modified Huber uses ``(min(max(z, -1), 1) + 1) / 2`` instead of the logistic function,
            which is 0 and 1 beyond the margin; where it is 0 for all classes, they have equal
            probabilities (Zhang and Oles, 2001, Text categorization based on regularized linear
            classification methods).
        """
        return OfClasses.predict_proba(self, X)

    predict_log_proba = available_if(_has_probabilities)(OfClasses.predict_log_proba)

    def _probabilities(self, scores: Expression, winner: Expression) -> Expression | None:
        if key_of(self.loss) == "modified_huber" or isinstance(self.loss, ModifiedHuber):
            return Normalised(Clipped(scores))
        if not (key_of(self.loss) == "log" or isinstance(self.loss, LogLoss)):
            return None
        return posterior(scores, winner, jointly=False)
