"""The support vector machine with kernels."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix._compiled import pool
from separatrix.certificate import Certificate
from separatrix.data import rules
from separatrix.data.design import Design, as_design, dense
from separatrix.data.labels import Labels, encode, one_vs_one_scores, plain_label
from separatrix.data.validation import check_number, is_same, sample_weight_of, validate
from separatrix.exceptions import NotSeparableError, warn
from separatrix.expressions import Expression, Votes
from separatrix.geometry.points import LabelledPoints
from separatrix.geometry.separation.separability import Separability, decide
from separatrix.geometry.separation.witness import Sides
from separatrix.kernels.batched import BatchedObjective
from separatrix.kernels.feature_maps import FourierLift, NystroemLift, check_lift
from separatrix.kernels.functions import (
    Kernel,
    LinearKernel,
    PrecomputedKernel,
    RBFKernel,
    check_kernel,
)
from separatrix.kernels.gram import Gram, PartialGram, gram_of
from separatrix.kernels.objective import (
    KernelHardMarginObjective,
    KernelObjective,
    KKTConditions,
    LiftedObjective,
    kkt_conditions,
)
from separatrix.losses import Hinge
from separatrix.messages import Message
from separatrix.models import calibration, kernel_machine, penalised
from separatrix.models.blocked import is_blocked
from separatrix.models.calibration import Folds, check_calibration
from separatrix.models.certified import Claimed, FitContext, Problems
from separatrix.models.limits import counted, seconds_to, shared_deadline
from separatrix.models.linear import LinearClassifier
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.predicting import OfClasses
from separatrix.models.search import strengths_of_rows
from separatrix.models.training_data import other_data, require_classes, require_rows
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.batched_decomposition import BatchedDecomposition
from separatrix.solvers.driver import Solution, minimise_batch
from separatrix.solvers.warm_starts import mean_square

_LIFTS = (None, "nystroem", "fourier")
# Fitted attributes that not every fit has.
_FITTED = (
    "bounded_",
    "calibration_",
    "coef_",
    "dual_coef_",
    "exact_dual_",
    "exact_primal_",
    "lift_",
    "n_support_",
    "support_",
    "support_vectors_",
)


@dataclass(frozen=True)
class _Shared:
    """The kernel of a fit, and what it makes of the rows: one of the others is None."""

    kernel: Any
    gram: Gram | PartialGram | None
    # An approximation, and the points in its coordinates.
    lift: Any = None
    lifted: Design | None = None


class SVC(LinearClassifier):
    r"""Support vector classification with kernels, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}` and the lift :math:`\varphi` that belongs to the
    kernel :math:`k(x, z) = \langle\varphi(x), \varphi(z)\rangle`,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i \xi_i \quad\text{subject to}\quad
        y_i (\langle w, \varphi(x_i)\rangle + b) \ge 1 - \xi_i, \quad \xi_i \ge 0,

    by way of its dual,

    .. math:: \max_\alpha \sum_i \alpha_i
        - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j) \quad\text{subject to}\quad
        0 \le \alpha_i \le C s_i, \quad \sum_i \alpha_i y_i = 0 .

    Without an intercept (``fit_intercept=False``) the dual has no such equality.
    The intercept is never penalised, so that ``SVC(kernel="linear")`` and
    ``LinearSVC(loss="hinge")`` minimise the same.  More than two classes are fitted one against
    one; the class with the most votes wins, and among equal numbers of votes the one with the
    larger sum of scores.

    ``C=inf`` (or ``lam=0``) is the hard margin in the kernel's space.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slack against the squared norm; ``inf`` for the hard margin.
    lam : float, optional
        The same in the form ``1/n sum loss + lam/2 |w|^2``: ``C = 1 / (lam n)`` with ``n`` the
        sum of the sample weights.  Give only one of the two: with ``lam``, leave ``C`` at 1.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, callable or Kernel, default="rbf"
        A callable takes two matrices and returns ``k(x_i, z_j)``, shape (n, m). With
        ``"precomputed"``, ``X`` is the kernel matrix itself: (n_samples, n_samples) in ``fit``,
        (n_new, n_samples) afterwards. See also :mod:`separatrix.kernels`.
    degree : int, default=3
        The degree of ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        The scale of ``"rbf"``, ``"poly"`` and ``"sigmoid"``: a number >= 0; ``"scale"`` is ``1 /
        (n_features * X.var())``, ``"auto"`` is ``1 / n_features``.
    coef0 : float, default=0.0
        The constant term of ``"poly"`` and ``"sigmoid"``.
    fit_intercept : bool, default=True
        Whether there is an intercept :math:`b`; without one the surface is a hyperplane through the
        origin of the kernel's space.
    class_weight : dict or "balanced", optional
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        For more than two classes, whether ``decision_function`` has one score per class or one per
        pair.  ``predict`` is the same for both.
    tol : float, default=1e-6
        Target for the certified relative gap.
    max_iter : int, default=100_000
        Limit on the iterations on working sets of up to a thousand coefficients; -1 is no limit.
    cache_mb : float, default=1000.0
        The size of the cache of rows of the kernel matrix, in megabytes (1e6 bytes); where ``4e-6
        n_samples**2`` is no larger, no row is computed twice. Besides the cache a fit needs a copy
        of dense ``X`` in float32, and blocks of at most about thirty megabytes.
    approximation : {"nystroem", "fourier"}, optional
        For large data: a linear machine on ``n_components`` coordinates whose scalar products are
        nearly those of the kernel; see :class:`separatrix.lifts.NystroemLift` and
        :class:`separatrix.lifts.FourierLift` (``"rbf"`` only).  The certificate is then that of
        the approximate problem.
    n_components : int, default=1000
        The number of coordinates, at most.
    calibrate : {"sigmoid", "isotonic"}, optional
        Make ``predict_proba`` available: probabilities that are fitted to cross-fitted scores and
        always agree with ``predict``; the folds share the rows of the kernel matrix.
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    random_state : int, RandomState or None
        The seed of the approximation and of the folds of the calibration. None uses a fixed seed:
        the same call on the same data gives the same bits.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``: both objectives after every step, the number of support vectors and of
        those at their upper bound.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Rows of the support vectors, class by class.
    support_vectors_ : ndarray or CSR matrix of shape (n_support, n_features)
        Empty for a precomputed kernel.
    n_support_ : ndarray of shape (K,)
        The number of support vectors of each class.
    dual_coef_ : ndarray or CSR matrix of shape (K - 1, n_support)
        ``alpha_i y_i``, in scikit-learn's layout: for a support vector of class k the first k
        rows belong to the pairs with the classes before it, the others to those after it.
    bounded_ : ndarray of bool of shape (K - 1, n_support)
        Whether ``alpha_i`` is at its upper bound ``C s_i``, in the layout of ``dual_coef_``: a
        bounded support vector lies on the margin only by chance, and any other lies on it.
    intercept_ : ndarray of shape (K * (K - 1) / 2,)
    coef_ : ndarray or CSR matrix of shape (K * (K - 1) / 2, n_features)
        The weights of the linear kernel, or in the coordinates of an approximation.
    shape_fit_ : tuple
        ``X.shape`` of the fit.
    fit_status_ : int
        0 where the certificate is within ``tol``, else 1.
    slack_ : ndarray of shape (n_samples,), or (n_samples, K * (K - 1) / 2) for K > 2
        ``xi_i``; NaN for a row that does not belong to the pair.
    margin_ : ndarray of shape (K * (K - 1) / 2,)
        ``1 / |w|``: the distance, in the kernel's space, of the surface from the points on the
        margin.
    certificate_ : Certificate
        The certificate of the sum over the pairs, which are its ``parts``.
    kernel_ : Kernel
        The kernel, with all its parameters set.
    lift_ : NystroemLift or FourierLift
        The lift of an approximation.
    exact_primal_, exact_dual_ : float
        For ``approximation="nystroem"``, the objective of the exact problem at the returned
        function, evaluated with the exact kernel, and a lower bound of the exact problem: the
        approximation costs at most their difference.
    calibration_ : dict
        The fitted calibration, where ``calibrate`` is set.
    classes_ : ndarray of shape (K,)
    objective_formula_ : str
    n_iter_ : ndarray of shape (1,), or one for each pair
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace, or a tuple of one for each pair

    Notes
    -----
    With a kernel that is not positive semidefinite (usually ``"sigmoid"``), the problem is not
    convex and has no bound; the fit stops where the conditions of optimality hold, with the status
    ``"indefinite"``. For a sigmoid, precomputed or callable kernel this is decided by a
    factorisation of its matrix on up to 6,000 rows.

    References
    ----------
    Boser, Guyon and Vapnik (1992), A training algorithm for optimal margin classifiers.  Cortes
    and Vapnik (1995), Support-vector networks.  Fan, Chen and Lin (2005), Working set selection
    using second order information for training support vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> model = SVC(C=10.0, gamma=0.02).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    >>> print(model.kkt_violations())
    492 outside the margin, 57 on it, 14 inside it, 6 on the wrong side; ...
    """

    C: float = penalised.C
    lam: float | None = penalised.LAM
    kernel: Any = kernel_machine.KERNEL
    degree: int = kernel_machine.DEGREE
    gamma: Any = kernel_machine.GAMMA
    coef0: float = kernel_machine.COEF0
    decision_function_shape: str = parameter(default="ovr", choices=("ovr", "ovo"))
    max_iter: int = kernel_machine.MAX_ITER
    cache_mb: float = kernel_machine.CACHE_MB
    approximation: str | None = parameter(default=None, choices=_LIFTS)
    n_components: int = parameter(default=1000, minimum=1, integer=True)
    calibrate: str | None = calibration.CALIBRATE
    shrinking: bool = kernel_machine.SHRINKING
    cache_size: float = kernel_machine.CACHE_SIZE
    probability: Any = compat(
        'True is ``calibrate="sigmoid"``; classes of one row are allowed, too',
        ("deprecated", True, False),
        "give True or False",
        default="deprecated",
    )
    break_ties: bool = compat(
        "not needed: ``predict`` always breaks ties of votes by the sum of the scores",
        default=False,
    )

    kernel_: Kernel = fitted()
    support_: np.ndarray = fitted()
    support_vectors_: Any = fitted()
    lift_: Any = fitted()

    path = penalised.path
    fit_status_ = property(kernel_machine.fit_status)
    predict_proba = calibration.predict_proba
    predict_log_proba = calibration.predict_log_proba

    _each = ", for each pair of classes"

    _counts_each = True
    _label = "support vector machine"
    _margin_loss = "hinge"
    _has_margin = True
    _strengths = penalised.STRENGTHS
    # Small machines on one matrix, which are fitted all at once.
    _batched: ClassVar[type[BatchedObjective]] = BatchedObjective
    _where_separable = Message("plane_without_kernel")
    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "n_iter_": rules.either(rules.whole(), rules.whole_array("parts")),
        "support_": rules.whole_array("support"),
        "n_support_": rules.whole_array("K"),
        "calibration_": check_calibration,
        "classes_": rules.classes,
        "kernel_": check_kernel,
        "lift_": check_lift,
        "intercept_": rules.array("pairs"),
        "coef_": rules.weights("pairs", "coordinates"),
        "margin_": rules.array("pairs", finite=False, low=0.0),
        "slack_": rules.one_of(
            rules.array("rows", "pairs", finite=False), rules.array("rows", finite=False)
        ),
        "dual_coef_": rules.weights("K-1", "support"),
        "bounded_": rules.flags("K-1", "support"),
        "support_vectors_": kernel_machine.check_support_vectors,
        "exact_primal_": rules.number(finite=False),
        "exact_dual_": rules.number(finite=False),
        "certificate_": rules.certificate,
    }
    _needed: tuple[str, ...] = ("kernel_", "intercept_", "slack_", "classes_", "certificate_")
    # The margins of all rows, which kkt_violations(X, y) works out anew.
    _left_out = ("_conditions",)
    _mostly_zero = ("slack_", "bounded_")

    # --- fit --------------------------------------------------------------------------------

    @counted
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SVC:
        """Fit to training data, and with ``calibrate`` to its folds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel, its matrix, shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), or one class only.
        NotSeparableError
            If ``C`` is infinite and no surface of this kernel separates the classes.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        start = time.perf_counter()
        if not is_blocked(X):
            calibration.require_rows_for_folds(self, y, sample_weight)
        fit = self._fit(X, y, sample_weight)
        calibration.calibrate(self, X, y, sample_weight, since=start, shared=fit.shared)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        penalised.check_strength(self)
        if self.approximation is None:
            return
        if self._hard:
            raise ValueError(Message("approximation_needs_finite_C"))
        if self.approximation == "fourier" and not (
            self.kernel == "rbf" or isinstance(self.kernel, RBFKernel)
        ):
            raise ValueError(Message("fourier_needs_rbf"))
        if self.kernel == "precomputed" or isinstance(self.kernel, PrecomputedKernel):
            raise ValueError(
                "A precomputed kernel has no points for an approximation; leave approximation at "
                "None."
            )

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        return Message("kernel_in_passes")

    def _limits(self) -> dict[str, Any]:
        return kernel_machine.limits_of(self)

    def __sklearn_tags__(self) -> Any:
        return kernel_machine.tag_input(self, super().__sklearn_tags__())

    @property
    def _calibration_method(self) -> str | None:
        wanted = self.calibrate is None and is_same(self.probability, True)
        return "sigmoid" if wanted else self.calibrate

    @property
    def _hard(self) -> bool:
        return bool(np.isinf(self.C)) or self.lam == 0

    def _strength(self, labels: Labels) -> float:
        return penalised.penalty_and_strength(self, labels.total)[1]

    def _settled(self, fit: FitContext) -> Problems:
        if fit.shared is None:
            fit.shared = self._shared(fit.design, fit.target)
        for name in _FITTED:
            self.__dict__.pop(name, None)
        self.kernel_ = fit.shared.kernel
        if fit.shared.lift is not None:
            self.lift_ = fit.shared.lift
        return self._problems(fit.design, fit.target, fit.shared)

    def _shared(self, design: Design, labels: Labels) -> _Shared:
        """The kernel, and what it makes of the rows."""
        self.kernel_ = kernel = kernel_machine.resolved_kernel(self, design, labels.sample_weight)
        kernel_machine.require_square(kernel, design)
        lift: Any = None
        if self.approximation == "nystroem":
            count = min(self.n_components, design.n_samples)
            lift = NystroemLift(kernel, count, self.random_state)
        elif self.approximation == "fourier":
            assert isinstance(kernel, RBFKernel)
            lift = FourierLift(kernel.gamma, int(self.n_components), self.random_state)
        if lift is None:
            return _Shared(kernel, self._gram_of(design, labels))
        lift = lift.fit(design.matrix)
        return _Shared(kernel, None, lift, as_design(lift.transform(design.matrix)))

    def _gram_of(self, design: Design, labels: Labels) -> Gram | PartialGram:
        # With several classes, class by class: each pair's columns are then two pieces.
        order = None if labels.binary else np.argsort(labels.codes, kind="stable")
        gram = gram_of(
            self.kernel_,
            design,
            cache_mb=self.cache_mb,
            order=order,
            fit_intercept=bool(self.fit_intercept),
        )
        if not labels.binary:
            # Every row is in several pairs, so that hardly one would go unused.
            gram.fill()
        return gram

    def _problems(self, design: Design, labels: Labels, shared: _Shared | None = None) -> Problems:
        common: dict[str, Any] = {"fit_intercept": bool(self.fit_intercept)}
        lifted, gram = None, None
        if shared is not None:
            lifted, gram = shared.lifted, shared.gram
        elif hasattr(self, "lift_"):
            lifted = as_design(self.lift_.transform(design.matrix))
        else:
            gram = self._gram_of(design, labels)
        if gram is not None:
            position = gram.positions()
        out: list[tuple[str, LinearProblem]] = []
        for part, rows, signs in labels.pairs():
            weights = None if labels.weights is None else labels.weights[rows]
            if lifted is not None:
                own = lifted if labels.binary else lifted.take(rows)
                options = {"kernel": self.kernel_, "samples": rows, **common}
                C = self._strength(labels)
                problem: LinearProblem = LiftedObjective(
                    own, signs, Hinge(), C=C, weights=weights, **options
                )
            else:
                assert gram is not None
                own_gram = gram if labels.binary else gram.take(position[rows])
                if self._hard:
                    problem = KernelHardMarginObjective(own_gram, signs, weights=weights, **common)
                else:
                    problem = self._machine(own_gram, signs, weights, labels)
            out.append((part, problem))
        return out

    def _solve(self, problems: Problems, fit: FitContext) -> list[Solution]:
        """As in the base class; small machines on one matrix all at once."""
        # Around all of it: setting BLAS's threads takes as long as a small product.
        with pool.one_blas_thread():
            batch = None
            if fit.chain is None:
                batch = self._batched.of([problem for _, problem in problems])
            if batch is not None:
                return minimise_batch(
                    batch,
                    BatchedDecomposition(),
                    self._solver,
                    parts=[part for part, _ in problems],
                    seed=fit.seed,
                    record=self.record if fit.record is None else fit.record,
                    verbose=int(self.verbose),
                    time_limit=seconds_to(fit.deadline),
                    **self._limits(),
                )
        return super()._solve(problems, fit)

    # --- what is kept of the solutions ------------------------------------------------------

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        self.classes_ = fit.target.classes
        self._refuse_overlap(fit, problems, solutions)
        n = fit.design.n_samples
        self.intercept_ = np.empty(len(problems))
        self.margin_ = np.empty(len(problems))
        slack = np.full((n, len(problems)), np.nan)
        coefficients = np.zeros((len(problems), n))
        bounded = np.zeros((len(problems), n), dtype=bool)
        weights = []
        self._conditions = []
        for k, ((_, problem), solution) in enumerate(zip(problems, solutions, strict=True)):
            part: Any = problem
            theta = solution.theta
            scores = part.linear(theta)
            square = part.square(theta, scores)
            margins = part.y * scores
            multipliers = part.multipliers_of(theta, solution.residual)
            self.intercept_[k] = part.intercept_of(part.from_internal(theta))
            self.margin_[k] = 1.0 / np.sqrt(square) if square > 0.0 else np.inf
            rows = part.samples
            slack[rows, k] = np.where(part.upper > 0.0, np.maximum(0.0, 1.0 - margins), np.nan)
            coefficients[k, rows] = part.y * multipliers
            bounded[k, rows] = (multipliers > 0.0) & (multipliers >= part.upper)
            weights.append(part.weights_of(theta))
            self._conditions.append((rows, margins, multipliers, part.upper))
        self.slack_ = slack[:, 0] if len(problems) == 1 else slack
        if not hasattr(self, "lift_"):
            self._keep_support(fit, coefficients, bounded)
        else:
            self.coef_ = np.array(weights)
        # The certificate after what it is of: where it is, an interrupted fit is a whole model.
        self._record(problems, solutions)
        if self.approximation == "nystroem":
            parts = [p for _, p in problems if isinstance(p, LiftedObjective)]
            self.exact_primal_ = sum(
                p.exact_value(self.lift_, fit.design, s.theta)
                for p, s in zip(parts, solutions, strict=True)
            )
            self.exact_dual_ = sum(
                p.exact_bound(self.lift_, fit.design, s.residual)
                for p, s in zip(parts, solutions, strict=True)
            )

    def _keep_support(self, fit: FitContext, coefficients: np.ndarray, bounded: np.ndarray) -> None:
        """Support vectors and their coefficients, class by class; one row of them a pair."""
        labels, matrix = fit.target, fit.design.matrix
        k = len(self.classes_)
        used = np.flatnonzero(coefficients.any(axis=0))
        self.support_ = used[np.argsort(labels.codes[used], kind="stable")]
        self.n_support_ = np.bincount(labels.codes[self.support_], minlength=k)
        self.dual_coef_ = coefficients[:, self.support_]
        self.bounded_ = bounded[:, self.support_]
        if k > 2:
            by_pair = self.dual_coef_, self.bounded_
            self.dual_coef_ = np.zeros((k - 1, len(self.support_)))
            self.bounded_ = np.zeros(self.dual_coef_.shape, dtype=bool)
            for pair, row, mine in _places(self.n_support_):
                self.dual_coef_[row, mine] = by_pair[0][pair, mine]
                self.bounded_[row, mine] = by_pair[1][pair, mine]
        kernel_machine.keep_vectors(self, matrix)

    def _pair_coefficients(self) -> np.ndarray:
        """``dual_coef_`` by pairs: shape (n_support, n_pairs)."""
        k, dual = len(self.classes_), dense(self.dual_coef_)
        if k == 2:
            return np.ascontiguousarray(dual.T)
        out = np.zeros((dual.shape[1], k * (k - 1) // 2))
        for pair, row, mine in _places(self.n_support_):
            out[mine, pair] = dual[row, mine]
        return out

    def _refuse_overlap(
        self, fit: FitContext, problems: Problems, solutions: list[Solution]
    ) -> None:
        """Raise for a hard margin that is not there, with a proof where the kernel is linear."""
        for k, ((_, problem), solution) in enumerate(zip(problems, solutions, strict=True)):
            hopeless = ("not_separable", "precision_limit", "non_finite")
            found = np.isfinite(solution.certificate.primal)
            if found or solution.certificate.status not in hopeless:
                continue
            if not isinstance(problem, KernelHardMarginObjective):
                continue
            sides = "the classes"
            if len(self.classes_) > 2:
                sides = " from ".join(
                    str(self.classes_[c]) for c in _pairs(len(self.classes_))[k][1:]
                )
            verdict = None
            if isinstance(self.kernel_, LinearKernel):
                verdict = self._verdict(fit, k, problem)
                if verdict.separable:
                    # A margin too thin for the sums of products that the kernel gives.
                    continue
            proof = "" if verdict is None else f": {verdict}"
            raise NotSeparableError(
                Message("no_surface", kernel=self.kernel_.formula, sides=sides, proof=proof),
                verdict,
            )

    def _verdict(self, fit: FitContext, k: int, problem: KernelHardMarginObjective) -> Separability:
        """Whether a hyperplane separates a pair of classes, with rows numbered as in the fit."""
        design, labels = fit.design, fit.target
        if labels.weights is not None and not np.all(labels.weights > 0.0):
            rows = np.sort(problem.samples[problem.used])
            design = design.take(rows)
            labels = Labels(labels.classes, labels.codes[rows], None, float(len(rows)))
        classes = [plain_label(c) for c in self.classes_]
        _, first, second = _pairs(len(classes))[k]
        names = getattr(self, "feature_names_in_", None)
        points = LabelledPoints(
            design, labels, None if names is None else tuple(str(name) for name in names)
        )
        sides = Sides(classes[first], classes[second])
        return decide(points, sides, fit_intercept=bool(self.fit_intercept), margin=False)

    @property
    def shape_fit_(self) -> tuple[int, int]:
        """``X.shape`` of the fit."""
        if "slack_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted, so has no shape_fit_.")
        return len(self.slack_), self.n_features_in_

    # --- predict ----------------------------------------------------------------------------

    _prediction = kernel_machine.prediction

    def _scores(self) -> Expression:
        pairs = kernel_machine.scores(self)
        return pairs if len(self.classes_) == 2 else Votes(pairs, len(self.classes_))

    def _reported(self, scores: Expression) -> Expression:
        if isinstance(scores, Votes) and self.decision_function_shape == "ovo":
            return scores.of
        return scores

    def decision_function(self, X: Any) -> np.ndarray:
        r"""Scores :math:`\langle w, \varphi(x)\rangle + b`, in float64.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            For a precomputed kernel, of shape (n_samples, n_samples_fit).

        Returns
        -------
        ndarray of shape (n_samples,) for two classes
            Positive for ``classes_[1]``.
        ndarray of shape (n_samples, K) for more, with ``decision_function_shape="ovr"``
            The number of pairs that a class wins, and a share below 1/3 that grows with the sum
            of its scores.
        ndarray of shape (n_samples, K * (K - 1) / 2) with ``"ovo"``
            For each pair, positive for the first of the two.
        """
        return OfClasses.decision_function(self, X)

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            For two classes, a point on the surface (score 0) belongs to ``classes_[0]``; for
            more, the class with the most votes of the pairs, among equals the one with the
            larger sum of scores, and among equals still the first.
        """
        return OfClasses.predict(self, X)

    # --- along a path -----------------------------------------------------------------------

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        """As in the base class, of the lifted rows: the kernel's diagonal has their squares."""
        run.shared = run.prepared._shared(run.design, run.labels)
        gram, weights = run.shared.gram, run.labels.weights
        if gram is None:
            square = mean_square(run.design, weights, centred=bool(self.fit_intercept))
        else:
            share = np.ones(len(run.y)) if weights is None else weights
            square = float(np.average(gram.diagonal, weights=share[gram.samples]))
            square = square if 0.0 < square < np.inf else 1.0
        return strengths_of_rows(parameter, count, run.labels.weight, run.labels.total, square)

    def _without_rows(self) -> None:
        """Leave the support vectors to the data, of which a path would hold them many times."""
        self.__dict__.pop("support_vectors_", None)

    def _with_rows(self, matrix: Any) -> None:
        if hasattr(self, "support_"):
            self.support_vectors_ = kernel_machine.vectors_of(self, matrix)

    # --- read from a file -------------------------------------------------------------------

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        d, rows, own = sizes.known["d"], len(self.slack_), vars(self)
        if np.ndim(self.slack_) != (1 if sizes.known["pairs"] == 1 else 2):
            raise rules.refuse("slack_", f"has the shape {self.slack_.shape}")
        if (self.approximation is None) != ("lift_" not in own):
            raise self._refuse_lift()
        if "lift_" in own:
            self._check_lift(sizes, rows)
            return
        rules.require(self, ["support_", "n_support_", "dual_coef_", "bounded_"])
        if isinstance(self.kernel_, LinearKernel):
            rules.require(self, ["coef_"])
            if sizes.known["coordinates"] != d:
                raise rules.refuse("coef_", f"has the shape {self.coef_.shape}, of {d:,} columns")
        elif isinstance(self.kernel_, PrecomputedKernel):
            if d != rows:
                why = f"is {d:,}, for a kernel matrix of {rows:,} rows"
                raise rules.refuse("n_features_in_", why)
        else:
            rules.require(self, ["support_vectors_"])
        if len(self.support_) and int(self.support_.max()) >= rows:
            raise rules.refuse("support_", f"names a row outside the {rows:,} rows of the fit")
        if int(self.n_support_.sum()) != len(self.support_):
            raise rules.refuse("n_support_", "does not add up to the support vectors")
        if not len(self.support_) and d > rules.MOST_UNSEEN:
            raise rules.refuse("n_features_in_", f"is {d:,}, and there are no support vectors")

    def _check_lift(self, sizes: rules.Sizes, rows: int) -> None:
        rules.require(self, ["coef_"])
        kind = NystroemLift if self.approximation == "nystroem" else FourierLift
        if isinstance(self.kernel_, PrecomputedKernel) or type(self.lift_) is not kind:
            raise self._refuse_lift()
        if sizes.known["coordinates"] != sizes.known["components"]:
            raise rules.refuse(
                "coef_", f"has the shape {self.coef_.shape}, which does not match the lift"
            )
        landmarks = getattr(self.lift_, "landmarks_", np.zeros(0, dtype=int))
        if len(landmarks) and int(landmarks.max()) >= rows:
            why = f"name a row outside the {rows:,} rows of the fit"
            raise rules.refuse("lift_.landmarks_", why)

    def _refuse_lift(self) -> rules.ModelCheckError:
        return rules.refuse("lift_", f"does not match approximation={self.approximation!r}")

    # --- complementary slackness ------------------------------------------------------------

    def kkt_violations(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, tol: float = 1e-3
    ) -> KKTConditions | tuple[KKTConditions, ...]:
        """The places of the samples relative to the margin, and how well the KKT conditions hold.

        Parameters
        ----------
        X, y, sample_weight : optional
            The training data; needed only for a model that was loaded from a file.
        tol : float, default=1e-3
            The largest distance of a score ``y f(x)`` from 1 that counts as on the margin.

        Returns
        -------
        KKTConditions
            For all training rows; for more than two classes a tuple with one for each pair, without
            the rows of other classes.

        Examples
        --------
        >>> from separatrix import SVC
        >>> model = SVC(kernel="linear", C=1.0).fit([[0.0], [1.0], [2.0], [5.0]], [0, 1, 0, 1])
        >>> model.kkt_violations().side.tolist()
        ['on', 'wrong', 'inside', 'on']
        """
        check_is_fitted(self)
        check_number("tol", tol, minimum=0)
        if X is not None:
            n, conditions = self._conditions_on(X, y, sample_weight)
        elif "_conditions" in self.__dict__:
            n, conditions = len(self.slack_), self._conditions
        else:
            raise ValueError(
                "The model was loaded from a file, which does not hold the training data: give "
                "kkt_violations(X, y)."
            )
        out = []
        for rows, margins, multipliers, upper in conditions:
            found = np.full(n, np.nan), np.zeros(n), np.zeros(n)
            for whole, part in zip(found, (margins, multipliers, upper), strict=True):
                whole[rows] = part
            out.append(kkt_conditions(*found, tol))
        return out[0] if len(self.classes_) == 2 else tuple(out)

    def _conditions_on(self, X: Any, y: Any, sample_weight: Any) -> tuple[int, list[Any]]:
        design = as_design(validate(self, X))
        y = column_or_1d(y)
        sample_weight = sample_weight_of(sample_weight, design)
        labels = encode(y, sample_weight, self.class_weight)
        out = []
        problems = self._problems(design, labels)
        thetas = self._thetas(design.n_samples, labels, problems)
        for (_, problem), theta in zip(problems, thetas, strict=True):
            part: Any = problem
            theta = part.to_internal(theta)
            margins = part.y * part.linear(theta)
            out.append((part.samples, margins, part.multipliers_of(theta, None), part.upper))
        return design.n_samples, out

    def _thetas(self, n: int, labels: Labels, problems: Problems) -> list[np.ndarray]:
        """The fitted points, one for each problem that :meth:`_problems` gives."""
        if hasattr(self, "lift_"):
            weights = list(self.coef_)
        else:
            whole = np.zeros((n, len(problems)))
            whole[self.support_] = self._pair_coefficients()
            weights = [whole[rows, k] for k, (_, rows, _) in enumerate(labels.pairs())]
        fitted = zip(problems, weights, self.intercept_, strict=True)
        return [problem.join(c, b) for (_, problem), c, b in fitted]

    def _claims(self, design: Design, labels: Labels) -> list[Claimed]:
        n, kernel = design.n_samples, self.kernel_
        if len(self.slack_) != n:
            raise ValueError(other_data(self, f"it was trained on {len(self.slack_):,} rows"))
        if hasattr(self, "lift_"):
            if hasattr(self.lift_, "landmarks_"):
                chosen, points = self.lift_.landmarks_, self.lift_.landmark_points_
                require_rows(self, design, chosen, points, "landmarks", self.lift_.kernel_)
            return self._pair_claims(design, labels)
        vectors = self.support_vectors_
        require_rows(self, design, self.support_, vectors, "support vectors", kernel)
        require_classes(self, labels, self.support_)
        kernel_machine.require_one_answer(self)
        claims = self._pair_claims(design, labels)
        if isinstance(kernel, LinearKernel):
            for (_, problem, _, _), weights in zip(claims, dense(self.coef_), strict=True):
                own: Any = problem
                own.predicting = weights
        return claims

    def _pair_claims(self, design: Design, labels: Labels) -> list[Claimed]:
        out: list[Claimed] = []
        problems = self._problems(design, labels)
        thetas = self._thetas(design.n_samples, labels, problems)
        for (part, problem), theta in zip(problems, thetas, strict=True):
            own: Any = problem
            weights = None if labels.weights is None else labels.weights[own.samples]
            out.append((part, problem, theta, weights))
        return out

    def _machine(
        self, gram: Any, signs: np.ndarray, weights: np.ndarray | None, labels: Labels
    ) -> Any:
        """The problem of a pair of classes."""
        options = {"C": self._strength(labels), "fit_intercept": bool(self.fit_intercept)}
        return KernelObjective(gram, signs, Hinge(), weights=weights, **options)

    def _scaled(self, problem: Any, theta: np.ndarray) -> np.ndarray:
        """The point of a machine whose margin is one."""
        return theta

    # --- cross-fitting ----------------------------------------------------------------------

    def _cross_fitted_scores(
        self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None, folds: Folds
    ) -> np.ndarray:
        """As in the base class; the folds share the rows of the kernel's matrix."""
        if folds.shared.gram is None or self._hard:
            return super()._cross_fitted_scores(X, y, sample_weight, folds)
        gram, k = folds.shared.gram, len(self.classes_)
        position = gram.positions()
        out = np.zeros((len(y), k * (k - 1) // 2))
        for done, (train, test) in enumerate(folds):
            weight = None if sample_weight is None else sample_weight[train]
            # Encoded anew: class weights are those of the rows that are there.
            labels = encode(y[train], weight, self.class_weight)
            problems: list[tuple[str, LinearProblem]] = []
            for part, rows, signs in labels.pairs():
                weights = None if labels.weights is None else labels.weights[rows]
                part_of = gram.take(position[train[rows]])
                problems.append((part, self._machine(part_of, signs, weights, labels)))
            deadline = shared_deadline(folds.deadline, len(folds) - done)
            fit = FitContext(seed=folds.seed + done, record=False, deadline=deadline)
            solutions = self._solve(problems, fit)
            for pair, ((_, problem), solution) in enumerate(zip(problems, solutions, strict=True)):
                own: Any = problem
                theta = self._scaled(own, solution.theta)
                c, b = own.weights_of(theta), own.intercept_of(theta)
                columns = position[own.samples]
                out[test, pair] = gram.between(position[test], columns, c) + b
            if any(solution.interrupted for solution in solutions):
                raise KeyboardInterrupt
            certificate = Certificate.total(
                [s.certificate for s in solutions], tol=self.tol, seconds=0.0
            )
            if not certificate.ok:
                warn(str(certificate), ConvergenceWarning)
        return out[:, 0] if k == 2 else one_vs_one_scores(out, k)


def _pairs(n_classes: int) -> list[tuple[int, int, int]]:
    """Number, first and second class of every pair."""
    both = itertools.combinations(range(n_classes), 2)
    return [(pair, first, second) for pair, (first, second) in enumerate(both)]


def _places(n_support: np.ndarray) -> Iterator[tuple[int, int, slice]]:
    """A pair, and where in scikit-learn's layout the coefficients of one of its classes are."""
    ends = np.concatenate([[0], np.cumsum(n_support)]).tolist()
    for pair, first, second in _pairs(len(n_support)):
        yield pair, second - 1, slice(ends[first], ends[first + 1])
        yield pair, first, slice(ends[second], ends[second + 1])
