"""The perceptron."""

from __future__ import annotations

import copy
import numbers
import time
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from separatrix.certificate import Certificate
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.labels import Labels, encode
from separatrix.data.random_state import seed_of
from separatrix.data.validation import check_choice, sample_weight_of, validate
from separatrix.exceptions import warn
from separatrix.losses import PerceptronLoss
from separatrix.messages import Message
from separatrix.models import calibration
from separatrix.models.base import portion_of
from separatrix.models.blocked import InPasses, is_blocked
from separatrix.models.calibration import check_calibration
from separatrix.models.callbacks import CallbackSupportMixin
from separatrix.models.certified import FitContext, Problems
from separatrix.models.limits import counted, remaining
from separatrix.models.linear import (
    AVERAGED,
    LinearClassifier,
    check_averaged,
    densify,
    keep_steps,
    resumed,
    sparsify,
)
from separatrix.models.parameters import compat, parameter
from separatrix.models.perceptron_steps import PerceptronSteps
from separatrix.models.sgd import SGDClassifier
from separatrix.models.sklearn_compat import N_JOBS, WARM_START, warn_once
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.mistakes import MistakeObjective
from separatrix.solvers.driver import Solution, watched
from separatrix.solvers.perceptron import (
    ORDERS,
    MistakeDriven,
    finalize,
    starting_points,
)
from separatrix.solvers.schedules import Constant
from separatrix.solvers.stochastic import ResumeState, one_pass


def _is_count(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and value is not True and int(value) > 0


def _is_rate(value: Any) -> bool:
    return isinstance(value, numbers.Real) and value is not True and 0.0 < float(value) < np.inf


class Perceptron(CallbackSupportMixin, LinearClassifier):
    r"""The perceptron: on every mistake, ``w += rate * y * x`` and ``b += rate * y``.

    Passes over the rows, from zero or from weights that :meth:`fit` is given, until a pass
    without a mistake; a point on the plane counts as one.  On separable data at most
    :math:`(R/\gamma)^2` updates are made (Novikoff, 1962), see
    :func:`separatrix.perceptron_bound`.  Otherwise it stops after ``max_passes``; where that is
    left alone, and there is no ``margin``, as soon as the theorem promises no clean pass within
    1,000 passes, because no plane separates the rows by the margin that it takes, and half of the
    passes have brought no better weights.  It keeps the weights that make the fewest training
    mistakes among the start and, of every pass, those at its end and those that stood for the most
    visits in it (the pocket of Gallant, 1990).  Up to 262,144 stored entries all rows decide which
    make the fewest, beyond a fixed sample of the rows, a sixteenth or more; the certificate always
    counts all rows.

    Parameters
    ----------
    order : {"cyclic", "restart", "random", "replacement", "margin"}, default="cyclic"
        The order of the rows: as given; as given, starting again from the first row after every
        update; shuffled in every pass; drawn in every pass with replacement, as many as there are
        rows; or by ``y (w.x + b)`` at the beginning of every pass, the lowest first, which costs
        another product with ``X``. With "restart" a pass is as many visits as there are
        rows, and it is free of mistakes when it goes from the first row to the last; where the
        classes overlap, it may never get beyond the first rows. With "replacement" a pass that
        changes nothing is free of mistakes only if all rows, also those that were not drawn, are
        on their side.
    learning_rate : float, default=1.0
    fit_intercept : bool, default=True
        Whether there is an offset, as if every row ended in a constant 1; otherwise the plane
        passes through the origin.
    margin : float, default=0.0
        Update while ``y (w.x + b) < margin``: the margin perceptron.  With 0 it is the plain rule:
        update while ``y (w.x + b) <= 0``. The margin is a score, not a distance, and only ``margin
        / learning_rate`` matters.
    average : bool, default=False
        Keep the average of the weights after each visit (Freund and Schapire, 1999) instead of
        the best weights.  ``coef_``, ``intercept_`` and the certificate are then the average's;
        the weights themselves still decide when to stop, and after a pass without mistakes the
        average may still make some.
    max_passes : int, default=1000
        Given another value, as many passes are made as it takes, and no fewer.
    class_weight : dict or "balanced", optional
        A row of weight k is visited k times in succession; a fraction is a visit with a step of
        that fraction.
    calibrate : {"sigmoid", "isotonic"}, optional
        Make ``predict_proba`` and ``predict_log_proba`` available: probabilities from the scores,
        by Platt's sigmoid or by isotonic regression, that always agree with ``predict``.  They are
        fitted to cross-fitted scores, with five folds, or as many as the smallest class allows;
        those models start from zero.  With ``class_weight`` they refer to a population in which the
        classes have these weights.
    random_state : int, RandomState or None
        None uses a fixed seed: the same call on the same data gives the same bits.
    time_limit : float, optional
        Time limit in seconds of :meth:`fit`.
    verbose : int, default=0
    record : bool or "visits", default=False
        Keep ``trace_``, whose ``updates`` hold every correction with the weights before and
        after it: ``8 * n_features`` bytes for each update, so ten thousand updates of fifty
        thousand weights take 4 GB. It also evaluates the weights after every pass, which is a
        product with ``X``. With "visits" its ``stretches`` hold every visited row and its score as
        well, of which :meth:`steps` makes a sequence.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    mistakes_ : ndarray of shape (n_samples,) or (K, n_samples)
        Updates made on each training row; after :meth:`partial_fit`, on each row of that call.
    n_updates_ : int
        The total number of updates, over all calls of :meth:`partial_fit`.
    plain_coef_, plain_intercept_, n_visits_ : ndarray
        With ``average``: the last weights before averaging, and the number of visits over which
        ``coef_`` and ``intercept_`` are averages, of shape (1,) or (K,).
    certificate_ : Certificate
        Its objective is the (weighted) number of training mistakes, and its bound is zero. With a
        margin, every row with ``y (w.x + b)`` below it counts as a mistake.
    objective_formula_ : str
    n_iter_ : int
        The number of passes, including the last one without mistakes; 0 where the start makes no
        mistake.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace, or a tuple of one for each binary problem
        At each check it records the best weights so far.
    calibration_ : dict
        Where ``calibrate`` is set, until the next :meth:`partial_fit`: the function from scores to
        probabilities, see :func:`separatrix.probabilities.calibration.fit_calibration`, and the
        number of ``folds``.

    References
    ----------
    Rosenblatt (1958), The perceptron.  Novikoff (1962), On convergence proofs for perceptrons.
    Gallant (1990), Perceptron-based learning algorithms.  Freund and Schapire (1999), Large
    margin classification using the perceptron algorithm.

    Examples
    --------
    >>> from separatrix import Perceptron
    >>> X = [[-1, 3], [-1, -1], [3, -1], [0, 1.5]]
    >>> model = Perceptron(record=True).fit(X, [-1, -1, 1, 1])
    >>> model.n_updates_, model.coef_.tolist(), model.intercept_.tolist()
    (9, [[4.0, -0.5]], [1.0])
    >>> update = model.trace_.updates[1]
    >>> update.sample, update.coef_before.tolist(), update.coef.tolist()
    (1, [1.0, -3.0], [2.0, -2.0])
    """

    order: str = parameter(default="cyclic", choices=ORDERS)
    learning_rate: float = parameter(default=1.0, above=0)
    fit_intercept: bool = True
    margin: float = parameter(default=0.0, minimum=0)
    average: bool = parameter(default=False, choices=(True, False))
    max_passes: int = parameter(default=1000, minimum=1, integer=True)
    class_weight: Any = None
    calibrate: str | None = calibration.CALIBRATE
    random_state: Any = None
    time_limit: float | None = None
    verbose: int = 0
    record: Any = False
    penalty: Any = compat(
        "no penalty is applied, because the best weights under any penalty are zero",
        (None, "l2", "l1", "elasticnet"),
        "give one of 'l2', 'l1', 'elasticnet', None",
        default=None,
    )
    alpha: float = compat("not needed: no penalty is applied", default=1e-4)
    l1_ratio: float = compat("not needed: no penalty is applied", default=0.15)
    max_iter: int = compat(
        "another name of ``max_passes``, used where that keeps its default",
        _is_count,
        "give a whole number of passes",
        default=1000,
    )
    tol: float = compat(
        "a fit ends at the first pass without a mistake, where the theorem promises no such pass, "
        "or at ``max_passes``; None makes ``max_passes`` passes in any case",
        default=1e-3,
    )
    shuffle: bool = compat("not needed: ``order`` sets the order of the rows", default=True)
    eta0: float = compat(
        "another name of ``learning_rate``, used where that keeps its default",
        _is_rate,
        "give a number greater than 0",
        default=1.0,
    )
    n_jobs: Any = N_JOBS
    early_stopping: bool = compat(
        "True holds out rows and keeps the weights that are best on them, as "
        "``SGDClassifier.perceptron`` does",
        (False, True),
        "give True or False",
        default=False,
    )
    validation_fraction: float = compat(
        "the share of the rows that ``early_stopping`` holds out", default=0.1
    )
    n_iter_no_change: float = compat(
        "the fewest passes without better weights, or a better score, after which a fit stops",
        default=5,
    )
    warm_start: bool = WARM_START

    sparsify, densify = sparsify, densify
    predict_proba = calibration.predict_proba
    predict_log_proba = calibration.predict_log_proba

    _label = "perceptron"
    _margin_loss = "perceptron"
    _counts_mistakes = True
    _any_length = True
    _where_separable = Message("one_of_many_planes")
    # How often each row was on the wrong side: for most of them never.
    _mostly_zero = ("mistakes_",)
    _attributes: ClassVar[rules.Rules] = {
        **LinearClassifier._attributes,
        **AVERAGED,
        "certificate_": rules.any_certificate,
        "calibration_": check_calibration,
        "mistakes_": rules.one_of(rules.whole_array("h", "rows"), rules.whole_array("rows")),
        "n_updates_": rules.whole(),
    }

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
    ) -> Perceptron:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; other types
            are converted once to float64, other sparse formats to CSR. Row blocks, of
            :func:`separatrix.scale.scan`, are visited in their order, with the same updates as rows
            in memory, and have labels and weights of their own. There is then no ``mistakes_``,
            which would be as long as the data.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        coef_init : array-like of shape (n_features,), (1, n_features) or (K, n_features), optional
            Weights to start from; zero by default.
        intercept_init : float or array-like of shape (1,) or (K,), optional
            Intercept to start from; zero by default.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0.  A row of weight k is visited k times in a row, and a fraction is a visit
            with a step of that fraction.  The result depends on the order of the visits, so this is
            not the same as copies of the row elsewhere in the data.
        engine : separatrix.scale.Engine, optional
            The engine that loads the row blocks in advance; by default threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves the weights. A fit that finds its own
            file continues from it, and removes it at the end.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, a start of the wrong shape, NaN or infinity (named by row and
            column), one class only, or with ``calibrate`` a class with a single row.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far;
            without ``calibration_``.

        Warns
        -----
        ConvergenceWarning
            If no pass was free of mistakes, or with ``average`` if the average is not; the text
            is the certificate.  A second warning covers the folds of a calibration.
        """
        began = time.perf_counter()
        in_passes = is_blocked(X)
        if not in_passes:
            calibration.require_rows_for_folds(self, y, sample_weight)
        if self.early_stopping is True and not in_passes:
            self._fit_stopping_early(X, y, coef_init, intercept_init, sample_weight)
            calibration.calibrate(self, X, y, sample_weight, since=began)
            return self
        begin = coef_init, intercept_init
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint, begin=begin)
        if in_passes:
            return self
        calibration.calibrate(self, X, y, sample_weight, since=began)
        return self

    def _start_at(self, problems: Problems, begin: tuple[Any, Any]) -> None:
        """Count the updates from the point that is given, or with ``warm_start`` the last one."""
        coef, intercept = begin
        shape = len(problems), problems[0][1].design.n_features
        # A fit of other columns or classes is nothing to start from.
        known = "coef_" in vars(self) and self.coef_.shape == shape
        if self.warm_start and coef is None and intercept is None and known:
            coef, intercept = self.coef_, self.intercept_ if self.fit_intercept else None
        points = starting_points(
            coef,
            intercept,
            n_features=shape[1],
            parts=shape[0],
            fit_intercept=self.fit_intercept,
        )
        for (_, problem), point in zip(problems, points, strict=True):
            problem.start = point

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        whys = (
            (self.calibrate is not None, "calibration needs the rows of its folds"),
            (self.early_stopping is True, "early_stopping draws rows to hold out"),
            (self.order != "cyclic", "row blocks are visited in their order: give order='cyclic'"),
            (bool(self.record), "a record of every update is as long as the data"),
        )
        return next((why for given, why in whys if given), None)

    def _fit_stopping_early(
        self, X: Any, y: Any, coef_init: Any, intercept_init: Any, sample_weight: Any
    ) -> None:
        """Make the same updates by stochastic gradients, which can hold rows out."""
        self._check_parameters()
        if self.order not in ("cyclic", "random"):
            raise ValueError(
                "early_stopping=True visits the rows as given or shuffled, and "
                f"order={self.order!r} is neither; give order='cyclic' or order='random'."
            )
        matrix, y = validate(self, X, y)
        weights = sample_weight_of(sample_weight, matrix)
        descent = SGDClassifier.perceptron(
            margin=self.margin,
            fit_intercept=self.fit_intercept,
            learning_rate=Constant(self._rate),
            shuffle=self.order != "cyclic",
            average=bool(self.average),
            early_stopping=True,
            validation_fraction=self.validation_fraction,
            n_iter_no_change=self.n_iter_no_change,
            max_iter=self._passes,
            class_weight=self.class_weight,
            random_state=self.random_state,
            time_limit=remaining(self.time_limit),
            verbose=self.verbose,
        )
        with warnings.catch_warnings():
            # Its warnings are about another objective.
            warnings.simplefilter("ignore", ConvergenceWarning)
            descent.fit(matrix, y, coef_init, intercept_init, weights)
        self.classes_ = descent.classes_
        self.coef_, self.intercept_ = descent.coef_, descent.intercept_
        labels = encode(y, weights, self.class_weight)
        problems = self._problems(as_design(matrix).merged(), labels)
        solutions = []
        for (_, problem), theta in zip(problems, self._points(problems), strict=True):
            bound = problem.bound(theta)
            certificate = Certificate.of(
                primal=bound.primal,
                dual=bound.dual,
                tol=self._limits()["tol"],
                status="optimal" if bound.primal == 0.0 else "early_stopped",
                n_iter=int(np.max(descent.n_iter_)),
                seconds=descent.certificate_.seconds / len(problems),
            )
            solutions.append(Solution(theta, None, certificate, None, None))
        for name in ("mistakes_", "n_updates_", *AVERAGED, "calibration_"):
            self.__dict__.pop(name, None)
        self._record(problems, solutions)

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Perceptron:
        """One pass over the given rows, starting from the weights of the earlier calls.

        The first call starts from zero; a call after :meth:`fit` starts from ``coef_`` and
        ``intercept_``, or with ``average`` from ``plain_coef_`` and ``plain_intercept_``. The
        weights at the end of the pass are kept, or their average over the visits of all calls;
        there is no pocket, because rows of earlier calls are not available. ``certificate_``,
        ``mistakes_`` and ``trace_`` describe the rows of this call; ``n_updates_`` and ``n_iter_``
        add up over calls. A ``calibration_`` is dropped, because it belongs to other weights.
        Remaining mistakes cause no warning here.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels among ``classes``; they need not all occur.
        classes : array-like of shape (K,), optional
            All labels of all calls; needed in the first call.
        sample_weight : array-like of shape (n_samples,), optional
            As in :meth:`fit`.

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
        >>> from separatrix import Perceptron
        >>> model = Perceptron()
        >>> for x, label in [([-1, 3], "a"), ([3, -1], "b"), ([0, 1.5], "b")]:
        ...     _ = model.partial_fit([x], [label], classes=["a", "b"])
        >>> model.n_updates_, model.coef_.tolist(), model.intercept_.tolist()
        (2, [[1.0, -1.5]], [0.0])
        """
        self._check_parameters()
        X, labels = portion_of(self, X, y, classes, sample_weight, self.class_weight)
        known = labels.classes
        start, average, visits = resumed(self, labels, X.shape[1])
        problems = self._problems(as_design(X).merged(), labels)
        self._start_at(problems, start)
        seed = seed_of(self.random_state)
        passes, updates = getattr(self, "n_iter_", 0), getattr(self, "n_updates_", 0)
        solutions = []
        for k, (part, problem) in enumerate(problems):
            assert isinstance(problem, MistakeObjective)
            solution = one_pass(
                problem,
                self._solver(problem, "last"),
                carried=ResumeState(
                    0, float(visits[k]), problem.join(average[0][k], average[1][k])
                ),
                tol=self._limits()["tol"],
                part=part,
                # Another shuffle for every pass.
                seed=[seed + k, passes],
            )
            solutions.append(solution)
        self.classes_ = known
        self._keep(problems, solutions)
        self.n_iter_ = passes + 1
        self.n_updates_ += updates
        if self.certificate_.status == "non_finite":
            warn(str(self.certificate_), ConvergenceWarning)
        return self

    def steps(
        self,
        X: Any,
        y: Any,
        coef_init: Any = None,
        intercept_init: Any = None,
        sample_weight: Any = None,
    ) -> PerceptronSteps:
        """Every visit of the algorithm, also those that change nothing.

        The visits are those that :meth:`fit` makes with the same parameters, start and seed; the
        model itself stays as it is. With more than two classes, those of each class against the
        rest follow one another.

        Parameters
        ----------
        X, y, coef_init, intercept_init, sample_weight
            As in :meth:`fit`, but no row blocks.

        Returns
        -------
        sequence of PerceptronStep
            Each has the number of the ``visit``, the pass (``epoch``), the row (``sample``), its
            ``label`` and ``score`` before the visit, whether it was a ``mistake``, the weights
            before the visit (``coef_before``, ``intercept_before``) and after it (``coef``,
            ``intercept``), the number of ``updates`` so far, and ``why``.

        Raises
        ------
        ValueError
            As in :meth:`fit`, and with ``early_stopping``.

        Examples
        --------
        >>> from separatrix import Perceptron
        >>> X, y = [[-1, -1], [1, 0], [-1, 1.5]], ["a", "b", "a"]
        >>> for step in Perceptron(fit_intercept=False).steps(X, y)[:3]:
        ...     print(step)
        visit 1, pass 1, row 0: score 0 does not have the sign of 'a' (-1), so w becomes [1, 1]
        visit 2, pass 1, row 1: score 1 has the sign of 'b' (+1), so w stays
        visit 3, pass 1, row 2: score 0.5 does not have the sign of 'a' (-1), so w becomes [2, -0.5]
        """
        if self.early_stopping is True:
            raise ValueError(
                "early_stopping=True fits by stochastic gradients, whose single visits are not "
                "recorded; leave it out."
            )
        run = copy.copy(self)
        run.record, run.calibrate = "visits", None
        with warnings.catch_warnings():
            # The visits are what they are, whether the run comes to an end or not.
            warnings.simplefilter("ignore", ConvergenceWarning)
            run.fit(X, y, coef_init, intercept_init, sample_weight)
        return PerceptronSteps(run, np.ravel(y))

    @property
    def _passes(self) -> int:
        return int(self.max_iter if self.max_passes == 1000 else self.max_passes)

    @property
    def _patience(self) -> int | None:
        """Passes without better weights that end a fit; None where the passes were chosen.

        With a margin, weights come nearer to it for long before they reach it at one row more.
        """
        chosen = self.max_passes != 1000 or self.max_iter != 1000 or self.tol is None
        return None if chosen or self.margin > 0.0 else int(self.n_iter_no_change)

    @property
    def _rate(self) -> float:
        return float(self.eta0 if self.learning_rate == 1.0 else self.learning_rate)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.record, str):
            check_choice("record", self.record, (False, True, "visits"))
        if self.penalty is not None:
            warn_once("free_perceptron")

    def _settled(self, fit: FitContext) -> Problems:
        problems = super()._settled(fit)
        self._start_at(problems, fit.begin)
        return problems

    def _problems(self, design: Design, labels: Labels) -> Problems:
        if isinstance(design, InPasses):
            from separatrix.scale.online import BlockedMistakes

            options: dict[str, Any] = {
                "factors": design.factors,
                "margin": self.margin,
                "rate": self._rate,
                "fit_intercept": self.fit_intercept,
            }
            return [
                (part, BlockedMistakes(design.passes, positive=k, **options))
                for part, k in design.parts()
            ]
        loss = PerceptronLoss()
        return [
            (
                part,
                MistakeObjective(
                    design,
                    y,
                    loss,
                    margin=self.margin,
                    rate=self._rate,
                    weights=labels.weights,
                    fit_intercept=self.fit_intercept,
                ),
            )
            for part, y in labels.parts()
        ]

    def _solver(self, problem: LinearProblem, otherwise: str = "best") -> Any:
        if problem.in_passes:
            from separatrix.scale.online import MistakePasses

            keep = "average" if self.average else "best"
            return MistakePasses(keep, self._passes, self._patience)
        return MistakeDriven(
            self.order,
            record=self.record if self.record == "visits" else bool(self.record),
            keep="average" if self.average else otherwise,
            most=self._passes if otherwise == "best" else None,
            patience=self._patience,
            # A callback follows every pass.
            at_once=not (self.verbose or self.record or self._has_callbacks or watched()),
        )

    def _limits(self) -> dict[str, Any]:
        # One mistake more than none is a relative gap of one: no tolerance is needed.
        return {
            "tol": 1e-6,
            "max_iter": self._passes,
            "exhausted": "not_separated",
        }

    def _finished(self, problems: Problems, solutions: list[Solution]) -> list[Solution]:
        out = []
        for (_, problem), solution in zip(problems, solutions, strict=True):
            assert isinstance(problem, MistakeObjective)
            out.append(finalize(problem, self._solver(problem), solution, self._passes))
        return out

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        super()._keep(problems, solutions)
        if problems[0][1].in_passes:
            self.__dict__.pop("mistakes_", None)
            self.n_updates_ = sum(s.state.corrected for s in solutions)
        else:
            mistakes = np.array([s.state.mistakes for s in solutions])
            self.mistakes_ = mistakes[0] if len(solutions) == 1 else mistakes
            self.n_updates_ = int(mistakes.sum())
        self.__dict__.pop("calibration_", None)
        keep_steps(self, problems, solutions)

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        check_averaged(self)
        if "mistakes_" in vars(self) and np.ndim(self.mistakes_) != min(sizes.known["h"], 2):
            raise rules.refuse("mistakes_", f"has the shape {self.mistakes_.shape}")
