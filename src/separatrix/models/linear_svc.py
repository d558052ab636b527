"""The linear support vector machine."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.labels import Labels, plain_label
from separatrix.exceptions import NotSeparableError
from separatrix.geometry.points import LabelledPoints
from separatrix.geometry.separation.separability import Separability, decide
from separatrix.geometry.separation.witness import Sides
from separatrix.losses import loss_of, names_of
from separatrix.messages import Message
from separatrix.models import calibration, penalised
from separatrix.models.blocked import is_blocked
from separatrix.models.calibration import check_calibration
from separatrix.models.callbacks import CallbackSupportMixin
from separatrix.models.certified import Problems
from separatrix.models.composing import pointwise
from separatrix.models.limits import counted, deadline_of
from separatrix.models.linear import LinearClassifier, densify, sparsify
from separatrix.models.parameters import compat, parameter
from separatrix.models.sklearn_compat import warn_once
from separatrix.objectives.base import LinearProblem
from separatrix.objectives.hard_margin import HardMarginObjective
from separatrix.solvers import SOLVERS
from separatrix.solvers.driver import Solution
from separatrix.solvers.protocol import Solver

_LOSSES = ("hinge", "squared_hinge")


class LinearSVC(CallbackSupportMixin, LinearClassifier):
    r"""Linear support vector classification, with a certificate.

    Minimises, for labels :math:`y \in \{-1, +1\}`,

    .. math:: \tfrac12 \|w\|^2 + C \sum_i s_i\, \ell(y_i (w\cdot x_i + b)), \qquad
        \ell(z) = \max(0, 1 - z) \text{ or } \max(0, 1 - z)^2.

    With ``penalty="l1"`` the sum of the absolute values of the weights replaces half the sum of
    their squares, and with ``l1_ratio`` :math:`\rho` the elastic net :math:`\rho \|w\|_1 +
    \tfrac{1-\rho}2 \|w\|^2`; both are for the squared hinge loss. The intercept is never penalised.
    More than two classes are fitted one against the rest.

    ``C=inf`` (or ``lam=0``) is the *hard margin*: the hyperplane, among all that separate the
    classes, that is furthest from the nearest points,

    .. math:: \min \tfrac12 \|w\|^2 \quad\text{subject to}\quad y_i (w\cdot x_i + b) \ge 1 .

    The empty band between the classes is then :math:`2 / \|w\|` wide, and no empty band is wider:
    ``certificate_`` bounds its width from above by ``sqrt(2 / dual)``.  Both losses have the same
    hard margin, so ``loss`` makes no difference; nor do weights, except that rows of weight zero
    are left out.  Classes that no hyperplane separates are refused, with a proof.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against the penalty; ``inf`` for the hard margin.
    lam : float, optional
        The same in the form ``1/n sum loss + lam/2 |w|^2``: ``C = 1 / (lam n)`` with ``n`` the
        sum of the sample weights.  Give only one of the two: with ``lam``, leave ``C`` at 1.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        ``"l1"`` is short for ``l1_ratio=1``, and ``"elasticnet"`` uses ``l1_ratio`` as it is.
    l1_ratio : float, default=0.0
        From 0 to 1, the share of L1 in the penalty ``l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2``.
        L1 sets weights to exactly zero. 0 is L2, 1 is L1, and values between them are the elastic
        net; ``l1_ratio`` alone selects among all three, as in scikit-learn.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-6
        Target for the certified relative gap.
    max_iter : int, default=100_000
        Limit on iterations; those of dual coordinate descent are passes, many and cheap.
    solver : str or Solver, default="auto"
        ``"newton"``, ``"quasi-newton"``, ``"dual"``, ``"augmented-lagrangian"``,
        ``"interior-point"`` or ``"proximal-newton"``.
        See :func:`separatrix.select_solver`; the hard margin has its own, selected by ``"auto"``.
    calibrate : {"sigmoid", "isotonic"}, optional
        Make ``predict_proba`` and ``predict_log_proba`` available: probabilities from the scores,
        by Platt's sigmoid or by isotonic regression, that always agree with ``predict``.  They are
        fitted to cross-fitted scores, with five folds, or as many as the smallest class allows;
        copies of a row share a fold, so that weights still stand for copies.  With ``class_weight``
        they refer to a population in which the classes have these weights.
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
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : Certificate
        The certificate of the sum over the binary problems, which are its ``parts``.
    objective_formula_ : str
        The formula that was minimised.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if they had any.
    trace_ : Trace, or a tuple of one for each binary problem
    calibration_ : dict
        Where ``calibrate`` is set: the function from scores to probabilities, see
        :func:`separatrix.probabilities.calibration.fit_calibration`, and the number of ``folds``.
    support_ : ndarray of shape (n_support,)
        Where ``C`` is infinite: the numbers of the support vectors, the rows on the margin.
    dual_coef_ : ndarray of shape (1, n_support) or (K, n_support)
        Where ``C`` is infinite: ``y_i alpha_i`` of these rows, so that
        ``coef_ = dual_coef_ @ X[support_]``, to within the certificate.
    n_support_ : ndarray of shape (K,)
        Where ``C`` is infinite: the number of support vectors of each class.
    margin_ : ndarray of shape (1,) or (K,)
        Where ``C`` is infinite: ``1 / |w|``, the distance from the plane to the nearest points;
        ``coef_`` and ``intercept_`` are scaled so that these have ``y (w.x + b) = 1``, to rounding.

    References
    ----------
    Vapnik and Lerner (1963), Pattern recognition using generalized portrait method.  Cortes and
    Vapnik (1995), Support-vector networks.  Hsieh et al. (2008), A dual coordinate descent method
    for large-scale linear SVM.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import LinearSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", C=0.1).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True

    The widest band between three points of two classes:

    >>> model = LinearSVC(C=float("inf")).fit([[0, 0], [2, 0], [1, 3]], [0, 1, 1])
    >>> model.coef_.round(6).tolist(), model.intercept_.round(6).tolist()
    ([[1.0, 0.333333]], [-1.0])
    >>> 2 * model.margin_.round(6), model.support_
    (array([1.897366]), array([0, 1, 2]))

    The largest probability is always that of the predicted class:

    >>> model = LinearSVC(calibrate="sigmoid").fit(X, y)
    >>> bool((model.predict_proba(X).argmax(axis=1) == model.predict(X)).all())
    True
    """

    penalty: str = parameter(default="l2", choices=("l2", "l1", "elasticnet"), kw_only=False)
    loss: str = parameter(
        default="squared_hinge", choices=_LOSSES, also=names_of(*_LOSSES), kw_only=False
    )
    l1_ratio: float = parameter(default=0.0, minimum=0, maximum=1, none=True)
    C: float = penalised.C
    lam: float | None = penalised.LAM
    max_iter: int = parameter(default=100_000, minimum=0)
    solver: Any = parameter(default="auto", choices=("auto", *SOLVERS), instead=Solver)
    calibrate: str | None = calibration.CALIBRATE
    dual: str = compat("not needed: the solver follows from the problem", default="auto")
    multi_class: str = compat(
        "several classes are fitted one against the rest",
        ("ovr",),
        "use scikit-learn's LinearSVC for the joint problem of Crammer and Singer, or "
        "separatrix.LogisticRegression, which solves one problem for all classes",
        default="ovr",
    )
    intercept_scaling: float = compat("not needed: the intercept is not penalised", default=1)

    path = penalised.path
    sparsify, densify = sparsify, densify
    predict_proba = calibration.predict_proba
    predict_log_proba = calibration.predict_log_proba

    _label = "linear support vector machine"
    _has_margin = True
    _strengths = penalised.STRENGTHS
    _attributes: ClassVar[rules.Rules] = {
        **LinearClassifier._attributes,
        "support_": rules.whole_array("support"),
        "n_support_": rules.whole_array("K"),
        "calibration_": check_calibration,
        "dual_coef_": rules.array("h", "support"),
        "margin_": rules.array("h", finite=False, low=0.0),
    }

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> LinearSVC:
        """Fit to training data, and with ``calibrate`` to its folds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; other types
            are converted once to float64, other sparse formats to CSR. Row blocks of
            :func:`separatrix.scale.scan` are fitted in passes. Calibration copies the rows that a
            fold is fitted to.
        y : array-like of shape (n_samples,)
            Labels: numbers, strings or booleans.
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        engine : separatrix.scale.Engine, optional
            The engine of the passes over row blocks; by default the threads of this process.
        checkpoint : path, optional
            For row blocks: a file in which every pass saves its state.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity (named by row and column), one class only, or
            with ``calibrate`` a class with a single row.
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far;
            without ``calibration_``.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.  A second
            warning covers the folds.
        """
        start = time.perf_counter()
        # Scikit-learn has no hard margin to differ from.
        if self.fit_intercept and not self._hard:
            warn_once("free_intercept")
        if not is_blocked(X):
            calibration.require_rows_for_folds(self, y, sample_weight)
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        calibration.calibrate(self, X, y, sample_weight, since=start)
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        penalised.check_strength(self)
        penalised.check_penalty(self)
        sparse = self.penalty == "l1" or self.l1_ratio > 0
        if sparse and self.loss == "hinge":
            raise ValueError(Message("hinge_needs_l2"))
        if sparse and self._hard:
            raise ValueError(Message("hard_margin_needs_l2"))
        if self._hard and isinstance(self.solver, str) and self.solver != "auto":
            raise ValueError(
                f"solver={self.solver!r} needs a finite C; for the hard margin, C=inf, leave "
                "solver at 'auto'."
            )

    @property
    def _hard(self) -> bool:
        # By comparison: it is read before the parameters are checked, too, and C may be no number.
        return bool(self.lam == 0 or math.inf == self.C)

    def _problems(self, design: Design, labels: Labels) -> Problems:
        shared: dict[str, Any] = {
            "weights": labels.weights,
            "fit_intercept": self.fit_intercept,
        }
        if self._hard:
            return [(part, HardMarginObjective(design, y, **shared)) for part, y in labels.parts()]
        penalty, C = penalised.penalty_and_strength(self, labels.total, self.penalty, self.l1_ratio)
        loss = loss_of(self.loss)
        return [
            (part, pointwise(design, y, loss, penalty, C=C, **shared)) for part, y in labels.parts()
        ]

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if self._hard:
            return Message("hard_margin_in_passes")
        if self.calibrate is not None:
            return Message("calibrate_in_passes")
        if not loss_of(self.loss).smooth and isinstance(self.solver, str) and self.solver != "auto":
            return "the hinge has only one solver in passes: leave solver at 'auto'"
        return None

    # --- the hard margin --------------------------------------------------------------------

    def _keep(self, problems: Problems, solutions: list[Solution]) -> None:
        if self._hard:
            solutions = [
                self._confirmed(k, part, problem, solution)
                for k, ((part, problem), solution) in enumerate(
                    zip(problems, solutions, strict=True)
                )
            ]
        super()._keep(problems, solutions)
        for name in ("support_", "dual_coef_", "n_support_", "margin_", "calibration_"):
            self.__dict__.pop(name, None)
        if self._hard:
            self._keep_support([problem for _, problem in problems], solutions)

    def _confirmed(self, k: int, part: str, problem: LinearProblem, solution: Solution) -> Solution:
        """The solution, unless no hyperplane separates the classes, which is then proved."""
        assert isinstance(problem, HardMarginObjective)
        certificate = solution.certificate
        stopped = solution.interrupted or certificate.status in ("max_iter", "time_limit")
        if np.isfinite(certificate.primal) or stopped:
            return solution
        # Rounding may hide a plane from the solver; exact arithmetic has the last word.
        verdict = self._verdict(k, problem)
        if verdict.status in ("not_separable", "quasi_separable"):
            raise NotSeparableError(
                f"C=inf needs a hyperplane that separates {verdict.sides}, and there is none: "
                f"{verdict}; give a finite C, which allows for overlap.",
                verdict,
            )
        plane = verdict.hyperplane
        if plane is None:
            return replace(solution, certificate=replace(certificate, status="time_limit"))
        limits = {**self._limits(), "theta": problem.join(plane.w, plane.b)}
        again = self._minimised(problem, None, part, limits, deadline_of(self.time_limit))
        if again.certificate.status != "not_separable":
            return again
        # Floats do not even hold a plane that exact arithmetic proved to be there.
        return replace(again, certificate=replace(again.certificate, status="precision_limit"))

    def _verdict(self, k: int, problem: HardMarginObjective) -> Separability:
        classes = [plain_label(c) for c in self.classes_]
        if len(classes) == 2:
            k, sides = 1, Sides(*classes)
        else:
            sides = Sides(None, classes[k], against_rest=True)
        rows, other = problem.used, 0 if k else 1
        codes = np.where(problem.y[rows] > 0.0, k, other)
        design = problem.design
        if len(rows) < design.n_samples:
            design = design.take(rows)
        names = getattr(self, "feature_names_in_", None)
        points = LabelledPoints(
            design,
            Labels(self.classes_, codes, None, float(len(rows))),
            None if names is None else tuple(str(name) for name in names),
        )
        deadline = deadline_of(self.time_limit)
        return decide(
            points, sides, fit_intercept=self.fit_intercept, margin=False, deadline=deadline
        )

    def _keep_support(self, problems: list[LinearProblem], solutions: list[Solution]) -> None:
        signed = np.zeros((len(problems), problems[0].design.n_samples))
        positive = np.zeros(signed.shape, dtype=bool)
        for k, (problem, solution) in enumerate(zip(problems, solutions, strict=True)):
            assert isinstance(problem, HardMarginObjective)
            positive[k] = problem.y > 0.0
            if solution.residual is not None:
                alpha = problem.multipliers(solution.residual)
                signed[k] = np.where(alpha > 0.0, problem.y * alpha, 0.0)
        if len(positive) == 1:
            positive = np.concatenate([~positive, positive])
        self.support_ = np.flatnonzero(signed.any(axis=0))
        self.dual_coef_ = signed[:, self.support_]
        self.n_support_ = positive[:, self.support_].sum(axis=1)
        # 1 / |w|, by way of a norm whose squares do not underflow; and 0 where time was up before
        # there was a plane.
        self.margin_ = np.array(
            [
                1.0 / math.hypot(*problem.weights_of(s.theta))
                if np.isfinite(s.certificate.primal)
                else 0.0
                for problem, s in zip(problems, solutions, strict=True)
            ]
        )

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if "support_" not in vars(self):
            return
        rules.require(self, ["dual_coef_", "n_support_", "margin_"])
        if sizes.known["K"] == 2 and int(self.n_support_.sum()) != len(self.support_):
            raise rules.refuse("n_support_", "does not add up to the support vectors")
