"""Support vector classification by a share of the rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from separatrix.data import rules
from separatrix.data.design import Design
from separatrix.data.labels import Labels
from separatrix.kernels.batched import BatchedNuObjective
from separatrix.kernels.nu import KernelNuObjective
from separatrix.kernels.objective import KernelObjective, evened
from separatrix.losses import Hinge
from separatrix.models.certified import Claimed, FitContext, Problems
from separatrix.models.kernel_machine import SHARE_OF_ROWS
from separatrix.models.svc import SVC
from separatrix.objectives.base import LinearProblem
from separatrix.solvers.driver import Solution


class NuSVC(SVC, without=("C", "lam", "fit_intercept", "approximation", "n_components")):
    r"""Support vector classification with a share of the rows as parameter, with a certificate.

    Minimises, for each pair of classes and with :math:`n = \sum_i s_i` over its rows,

    .. math:: \tfrac12 \|w\|^2 - \nu n \rho
        + \sum_i s_i \max(0, \rho - y_i (\langle w, \varphi(x_i)\rangle + b)) ,

    scikit-learn's problem.  Divided by :math:`\rho`, the solution is that of
    :class:`~separatrix.SVC` with :math:`C = 1/\rho`, and the attributes hold the divided numbers.
    The certificate is that of the dual, :math:`\min_\alpha \tfrac12 \|\sum_i \alpha_i y_i
    \varphi(x_i)\|^2` with :math:`0 \le \alpha_i \le s_i` and sums of :math:`\tfrac\nu2 n` over both
    classes, which is never negative; minus the objective above bounds it from below.

    Parameters
    ----------
    nu : float, default=0.5
        An upper bound of the share of the rows inside the margin or on the wrong side, and a lower
        bound of the share of support vectors; above 0, and at most twice the share of the smaller
        class of a pair.
    kernel : {"rbf", "linear", "poly", "sigmoid", "precomputed"}, callable or Kernel, default="rbf"
        See :class:`~separatrix.SVC`.
    degree : int, default=3
        The degree of ``"poly"``.
    gamma : {"scale", "auto"} or float, default="scale"
        The scale of ``"rbf"``, ``"poly"`` and ``"sigmoid"``.
    coef0 : float, default=0.0
        The constant term of ``"poly"`` and ``"sigmoid"``.
    tol : float, default=1e-6
        Target for the certified relative gap.
    class_weight : dict or "balanced", optional
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        See :class:`~separatrix.SVC`.
    calibrate : {"sigmoid", "isotonic"}, optional
        Make ``predict_proba`` available.
    max_iter : int, default=100_000
        Limit on the iterations on working sets; -1 is no limit.
    cache_mb : float, default=1000.0
        The size of the cache of rows of the kernel matrix, in megabytes (1e6 bytes).
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    random_state : int, RandomState or None
        The seed of the folds of the calibration. None uses a fixed seed: the same call on the same
        data gives the same bits.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.

    Attributes
    ----------
    rho_ : ndarray of shape (K * (K - 1) / 2,)
        The number by which the solution was divided.
    certificate_ : Certificate

    See Also
    --------
    SVC : What the other attributes are.

    References
    ----------
    Schölkopf, Smola, Williamson and Bartlett (2000), New support vector algorithms.  Chang and Lin
    (2001), Training nu-support vector classifiers: theory and algorithms.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import NuSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = NuSVC(nu=0.1).fit(scale(X), y)
    >>> model.certificate_.status, round(model.score(scale(X), y), 2)
    ('optimal', 0.99)
    """

    nu: float = SHARE_OF_ROWS

    _label = "nu support vector machine"
    _batched = BatchedNuObjective
    _attributes: ClassVar[rules.Rules] = {**SVC._attributes, "rho_": rules.array("pairs")}
    _needed: tuple[str, ...] = (*SVC._needed, "rho_")
    # The parameters of SVC that this class lacks.
    C, lam, fit_intercept, approximation, n_components = 1.0, None, True, None, 1000

    def path(self, *arguments: Any, **options: Any) -> Any:
        """There is no ``C`` to make a path of."""
        raise AttributeError("NuSVC has no C, so it has no path; use SVC.")

    def _machine(
        self, gram: Any, signs: np.ndarray, weights: np.ndarray | None, labels: Labels
    ) -> Any:
        return KernelNuObjective(gram, signs, float(self.nu), weights=weights)

    def _scaled(self, problem: Any, theta: np.ndarray) -> np.ndarray:
        return theta / self._width(problem, theta)

    @staticmethod
    def _width(problem: KernelNuObjective, theta: np.ndarray) -> float:
        """Half the width of the margin; one where classes meet, whose scores alone count."""
        product = problem.matrix.dot(problem.weights_of(theta))
        width = problem.level_and_width(product)[1]
        return width if width > 0.0 else 1.0

    def _starts(self, problems: Problems, fit: FitContext) -> list[dict[str, Any]]:
        return [{"theta": problem.zero()} for _, problem in problems]

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        rho: list[float] = []
        scaled: list[tuple[str, LinearProblem]] = []
        points: list[Solution] = []
        for (part, problem), solution in zip(problems, solutions, strict=True):
            assert isinstance(problem, KernelNuObjective)
            width = self._width(problem, solution.theta)
            weights = problem.upper / width
            machine = KernelObjective(problem.matrix, problem.y, Hinge(), weights=weights)
            rho.append(width)
            scaled.append((part, machine))
            theta = solution.theta / width
            c = evened(problem.weights_of(theta), -weights, weights)
            # The same coefficients in another unit, up to their last digits: no product of its own.
            product = problem.matrix.dot(problem.weights_of(solution.theta))
            problem.matrix.remember(c, product / width)
            points.append(replace(solution, theta=problem.join(c, problem.intercept_of(theta))))
        self.rho_ = np.array(rho)
        super()._keep_fit(fit, scaled, points)
        self.objective_formula_ = str(problems[0][1].formula())
        if len(problems) > 1:
            self.objective_formula_ += self._each

    def _thetas(self, n: int, labels: Labels, problems: Problems) -> list[np.ndarray]:
        thetas = super()._thetas(n, labels, problems)
        return [rho * theta for rho, theta in zip(self.rho_, thetas, strict=True)]

    def _pair_claims(self, design: Design, labels: Labels) -> list[Claimed]:
        # In the units of the attributes: products with rho would round what they hold.
        problems = self._problems(design, labels)
        thetas = super()._thetas(design.n_samples, labels, problems)
        out: list[Claimed] = []
        for rho, theta, (part, problem) in zip(self.rho_, thetas, problems, strict=True):
            own: Any = problem
            own = self._machine(own.matrix, own.y, own.upper / rho, labels)
            own.multiple = Fraction(float(rho)) ** 2
            out.append((part, own, theta, own.upper))
        return out
