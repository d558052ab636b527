"""Least squares under an L1 penalty, and under a mixture of L1 and L2."""

from __future__ import annotations

import time
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.validation import check_number, sample_weight_of, validate
from separatrix.losses import SquaredResidual
from separatrix.models.base import Claimed, conclude, keep_record, linear_scores, narrowed
from separatrix.models.blocked import ScoresNumbers
from separatrix.models.inherited import Inherited, Inheriting, inherits
from separatrix.models.path import strengths_of_targets
from separatrix.models.regressor import TrainingRows
from separatrix.objectives.penalties import NoPenalty, penalty_of
from separatrix.objectives.residual import ResidualObjective
from separatrix.solvers import select_solver
from separatrix.solvers.driver import Interrupt, Solution, minimise

__all__ = ["ElasticNet", "ElasticNetCV", "Lasso", "LassoCV"]

_STEERING = {
    "precompute": Inherited(
        False, "whether a Gram matrix is formed follows from the size of the problem"
    ),
    "copy_X": Inherited(True, "the rows are read where they lie and never written to"),
    "random_state": Inherited(None, "nothing is drawn at random"),
    "selection": Inherited("cyclic", "which columns are looked at follows from their slopes"),
    "positive": Inherited(
        False, "whether weights must not be below zero", (False, True), "give True or False"
    ),
}
_SEVERAL = {
    "n_jobs": Inherited(None, "threads are those of the process (SEPARATRIX_THREADS)"),
    "precompute": Inherited("auto", _STEERING["precompute"].meaning),
}


class _Sparse(Inheriting, ScoresNumbers, RegressorMixin, BaseEstimator):
    """What these regressions share: the problems, and what is kept of them."""

    _label = "elastic net"
    _attributes: ClassVar[rules.Rules] = {
        **rules.COMMON,
        "n_iter_": rules.either(rules.whole(), rules.whole_array("parts")),
        "coef_": rules.one_of(rules.array("d", single=True), rules.array("m", "d", single=True)),
        "intercept_": rules.either(rules.number(), rules.array("m", single=True)),
        "dual_gap_": rules.either(rules.number(low=0.0), rules.array("m")),
        "certificate_": rules.certificate,
    }
    _needed: ClassVar[tuple[str, ...]] = ("coef_", "intercept_", "dual_gap_", "certificate_")

    coef_: np.ndarray
    intercept_: Any

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if np.ndim(self.coef_) != np.ndim(self.intercept_) + 1:
            why = "is of one target, and intercept_ of several, or the reverse"
            raise rules.refuse("coef_", why)

    def _check_options(self) -> None:
        self._check_inherited()
        check_number("max_iter", self.max_iter, minimum=1, integer=True)
        check_number("tol", self.tol, above=0)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, above=0)

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix, numbers = validate(self, X, y, regression=True)
        rows = TrainingRows.of(matrix, numbers, sample_weight_of(sample_weight, matrix))
        return as_design(matrix).merged(), rows

    def _problems(
        self, design: Design, rows: TrainingRows, alpha: float, l1_ratio: float
    ) -> list[tuple[str, ResidualObjective]]:
        """One problem for each target, in which the penalty has the factor one."""
        positive = bool(self.positive)
        if positive and not (alpha > 0.0 and l1_ratio > 0.0):
            other = "Ridge" if alpha > 0.0 else "LinearRegression"
            raise ValueError(
                f"positive=True without L1 (alpha={alpha:g}, l1_ratio={l1_ratio:g}) is solved in "
                f"closed form by {other}(positive=True)."
            )
        penalty = penalty_of(l1_ratio, nonnegative=positive) if alpha > 0.0 else NoPenalty()
        options = {
            "C": 1.0 / (rows.total * (alpha if alpha > 0.0 else 1.0)),
            "weights": rows.weights,
            "fit_intercept": bool(self.fit_intercept),
        }
        several = rows.targets.shape[1] > 1
        return [
            (
                f"target {k}" if several else "",
                ResidualObjective(
                    design, np.ascontiguousarray(y), SquaredResidual(), penalty, **options
                ),
            )
            for k, y in enumerate(rows.targets.T)
        ]

    def _strengths(
        self,
        design: Design,
        rows: TrainingRows,
        alphas: Any,
        l1_ratio: float,
        eps: float,
        *,
        centred: bool,
    ) -> np.ndarray:
        """Values of alpha, from the largest on."""
        if np.ndim(alphas) == 0:
            check_number("alphas", alphas, minimum=1, integer=True)
            _check_share("eps", eps, above=0)
            if l1_ratio == 0.0:
                raise ValueError(
                    "Under an L2 penalty alone no strength is the least under which all weights "
                    "are zero; give alphas, or an l1_ratio above 0."
                )
            first = (
                strengths_of_targets(design, rows, centred=centred, nonnegative=bool(self.positive))
                / l1_ratio
            )
            return (
                np.geomspace(first, first * eps, int(alphas)) if alphas > 1 else np.array([first])
            )
        values = np.sort(np.asarray(alphas, dtype=np.float64).ravel())[::-1]
        for value in values:
            check_number("alpha", value, minimum=0)
        if not len(values):
            raise ValueError("alphas is empty; give at least one value.")
        return values

    def _solved(
        self,
        problems: list[tuple[str, ResidualObjective]],
        starts: list[np.ndarray | None],
        deadline: float,
        *,
        record: bool = False,
    ) -> list[Solution]:
        out = []
        for done, ((part, problem), start) in enumerate(zip(problems, starts, strict=True)):
            limit = None
            if deadline < np.inf:
                limit = max(deadline - time.perf_counter(), 1e-9) / (len(problems) - done)
            out.append(
                minimise(
                    problem,
                    select_solver(problem),
                    theta=start,
                    tol=self.tol,
                    max_iter=self.max_iter,
                    time_limit=limit,
                    verbose=int(self.verbose),
                    record=record,
                    single=problem.design.matrix.dtype == np.float32,
                    part=part,
                )
            )
        return out

    def _keep_solutions(
        self,
        problems: list[tuple[str, ResidualObjective]],
        solutions: list[Solution],
        alone: bool,
        alpha: float,
    ) -> None:
        points = [s.theta for s in solutions]
        coef = np.array(
            [
                problem.weights_of(theta)
                for (_, problem), theta in zip(problems, points, strict=True)
            ]
        )
        intercept = np.array(
            [
                float(problem.intercept_of(theta))
                for (_, problem), theta in zip(problems, points, strict=True)
            ]
        )
        coef, intercept = narrowed(coef, intercept, problems[0][1].design)
        self.coef_ = coef[0] if alone else coef
        self.intercept_ = np.float64(intercept[0]) if alone else intercept
        gaps = np.array([s.certificate.gap * (alpha if alpha > 0.0 else 1.0) for s in solutions])
        self.dual_gap_ = float(gaps[0]) if alone else gaps
        keep_record(self, list(problems), solutions, self.tol)
        if not alone:
            self.n_iter_ = np.array([s.certificate.n_iter for s in solutions], dtype=np.int32)

    @property
    def sparse_coef_(self) -> sp.csr_matrix:
        """The weights as a sparse matrix of shape (n_targets, n_features)."""
        check_is_fitted(self)
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    def predict(self, X: Any) -> np.ndarray:
        """The fitted values ``W x + b``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        check_is_fitted(self)
        values = linear_scores(self, X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        return values[:, 0] if self.coef_.ndim == 1 else values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@inherits(**_STEERING)
class ElasticNet(MultiOutputMixin, _Sparse):
    r"""Least squares under a mixture of L1 and L2, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math:: \frac1{2n} \sum_i s_i (y_i - w\cdot x_i - b)^2
        + \alpha\Big(\rho \|w\|_1 + \frac{1-\rho}2 \|w\|^2\Big) ,

    scikit-learn's problem, for each target by itself.  The certificate is about it divided by
    :math:`\alpha`, as ``objective_formula_`` says; ``dual_gap_`` is in the units above.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 for none.
    l1_ratio : float, default=0.5
        The share :math:`\rho` of L1, from 0 to 1.
    fit_intercept : bool, default=True
        The intercept is never penalised.
    max_iter : int, default=1000
    tol : float, default=1e-6
        Target for the certified relative gap.
    warm_start : bool, default=False
        Start from the weights of the fit before.
    time_limit : float, optional
        Seconds; the fit then returns its best iterate with the gap it reached.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.
    positive : bool, default=False
        Whether weights must not be below zero; needs a share of L1.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    sparse_coef_ : sparse matrix of shape (n_targets, n_features)
    dual_gap_ : float or ndarray of shape (n_targets,)
        The certified gap.
    certificate_ : Certificate
    objective_formula_ : str
    n_iter_ : int or ndarray of int, shape (n_targets,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Where the columns had names.
    trace_ : Trace

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso.  Zou and Hastie (2005),
    Regularization and variable selection via the elastic net.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import ElasticNet
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ElasticNet(alpha=0.01, l1_ratio=0.9).fit(X, y)
    >>> model.certificate_.status, int((model.coef_ != 0).sum())
    ('optimal', 10)
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        time_limit: float | None = None,
        verbose: int = 0,
        record: bool = False,
        **inherited: Any,
    ) -> None:
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.verbose = verbose
        self.record = record
        self._inherit(inherited)

    def _check_parameters(self) -> None:
        self._check_options()
        check_number("alpha", self.alpha, minimum=0)
        _check_share("l1_ratio", self.l1_ratio)

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, check_input: bool = True
    ) -> ElasticNet:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Float32 and float64, dense of any strides or CSR, are used where they lie, without
            a copy; sums are float64.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        check_input : bool, default=True
            Input is checked in any case.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, or NaN or infinity (named by row and column).
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        self._check_parameters()
        design, rows = self._rows(X, y, sample_weight)
        problems = self._problems(design, rows, float(self.alpha), float(self.l1_ratio))
        starts: list[np.ndarray | None] = [None] * len(problems)
        shape = (len(problems), design.n_features)
        if self.warm_start and np.atleast_2d(getattr(self, "coef_", 0.0)).shape == shape:
            coefs, levels = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
            starts = [
                problem.join(w, float(b))
                for (_, problem), w, b in zip(problems, coefs, levels, strict=True)
            ]
        limit = np.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        with Interrupt() as interrupt:
            solutions = self._solved(problems, starts, limit, record=self.record)
            self._keep_solutions(problems, solutions, rows.alone, float(self.alpha))
        conclude(self, interrupt.requested)
        return self

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        problems = self._problems(design, rows, float(self.alpha), float(self.l1_ratio))
        coefs, levels = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)
        return [
            (part, problem, problem.join(w, float(b)), rows.weights)
            for (part, problem), w, b in zip(problems, coefs, levels, strict=True)
        ]

    @staticmethod
    def path(
        X: Any,
        y: Any,
        *,
        l1_ratio: float = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        coef_init: Any = None,
        return_n_iter: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        **steering: Any,
    ) -> tuple[Any, ...]:
        """Fits without an intercept along strengths of the penalty, as scikit-learn's ``path`` has.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        l1_ratio : float, default=0.5
            As in scikit-learn 0.5 also where it is called as ``Lasso.path``.
        eps : float, default=1e-3
            The last strength as a share of the first.
        alphas : int or array-like, default=100
            The strengths, or how many; the first is the least under which all weights are zero.
        coef_init : array-like of shape (n_features,), optional
            Where the first fit starts.
        return_n_iter : bool, default=False
        tol : float, default=1e-6
        max_iter : int, default=1000
        **steering : dict
            What steers scikit-learn's solver is taken, and changes nothing.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            From the largest on.
        coefs : ndarray of shape (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        dual_gaps : ndarray of shape (n_alphas,) or (n_targets, n_alphas)
        n_iters : list of int
            With ``return_n_iter``.
        """
        count = steering.pop("n_alphas", "deprecated")
        if count != "deprecated":
            alphas = count
        alphas = 100 if alphas is None or (isinstance(alphas, str)) else alphas
        known = ("precompute", "Xy", "copy_X", "verbose", "positive", "check_input", "selection",
                 "random_state", "sample_weight", "params")  # fmt: skip
        for name in steering:
            if name not in known:
                raise TypeError(f"path() got an unexpected keyword argument {name!r}")
        model = ElasticNet(
            l1_ratio=l1_ratio,
            fit_intercept=False,
            tol=tol,
            max_iter=max_iter,
            positive=bool(steering.get("positive", False)),
        )
        design, rows = model._rows(X, y, steering.get("sample_weight"))
        values = model._strengths(design, rows, alphas, float(l1_ratio), float(eps), centred=False)
        coefs, gaps, counts = [], [], []
        start = None if coef_init is None else np.atleast_2d(np.asarray(coef_init, dtype=float))
        for value, coef, _, solutions in _along(
            model, design, rows, values, float(l1_ratio), np.inf, start
        ):
            coefs.append(coef)
            gaps.append([s.certificate.gap * value for s in solutions])
            counts.append(max(s.certificate.n_iter for s in solutions))
        weights, found = np.moveaxis(np.array(coefs), 0, -1), np.array(gaps).T
        answer = (values, weights[0] if rows.alone else weights, found[0] if rows.alone else found)
        return (*answer, counts) if return_n_iter else answer


def _check_share(name: str, value: Any, above: float | None = None) -> None:
    check_number(name, value, above=above, minimum=0 if above is None else None)
    if value > 1:
        raise ValueError(f"{name}={value!r} must be a number from 0 to 1.")


def _along(
    model: Any,
    design: Design,
    rows: TrainingRows,
    values: np.ndarray,
    l1_ratio: float,
    deadline: float,
    start: np.ndarray | None = None,
) -> Iterator[tuple[float, np.ndarray, np.ndarray, list[Solution]]]:
    """Fits from the strongest penalty on, each from where the one before ended."""
    starts: list[np.ndarray | None] = [None] * rows.targets.shape[1]
    if start is not None:
        made = model._problems(design, rows, 1.0, l1_ratio)
        starts = [problem.join(w, 0.0) for (_, problem), w in zip(made, start, strict=True)]
    for value in values:
        problems = model._problems(design, rows, float(value), l1_ratio)
        solutions = model._solved(problems, starts, deadline)
        starts = [s.theta for s in solutions]
        pairs = list(zip(problems, solutions, strict=True))
        coef = np.array([problem.weights_of(s.theta) for (_, problem), s in pairs])
        level = np.array([float(problem.intercept_of(s.theta)) for (_, problem), s in pairs])
        yield float(value), coef, level, solutions


@inherits(**_STEERING)
class Lasso(ElasticNet):
    r"""Least squares under an L1 penalty, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math:: \frac1{2n} \sum_i s_i (y_i - w\cdot x_i - b)^2 + \alpha \|w\|_1 ,

    scikit-learn's problem, for each target by itself: :class:`ElasticNet` with ``l1_ratio=1``.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty; 0 for none.
    fit_intercept, max_iter, tol, warm_start, time_limit, verbose, record
        See :class:`ElasticNet`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    certificate_ : Certificate
    n_iter_ : int or ndarray of int, shape (n_targets,)

    See Also
    --------
    ElasticNet : What the other attributes mean.

    References
    ----------
    Tibshirani (1996), Regression shrinkage and selection via the lasso.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import Lasso
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = Lasso(alpha=1.0).fit(X, y)
    >>> model.coef_.round(1).tolist()
    [0.0, 0.0, 367.7, 6.3, 0.0, 0.0, 0.0, 0.0, 307.6, 0.0]
    """

    _label = "lasso"
    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        warm_start: bool = False,
        time_limit: float | None = None,
        verbose: int = 0,
        record: bool = False,
        **inherited: Any,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.time_limit = time_limit
        self.verbose = verbose
        self.record = record
        self._inherit(inherited)


class _Chosen(_Sparse):
    """The strength chosen by cross-validation."""

    _attributes: ClassVar[rules.Rules] = {
        **_Sparse._attributes,
        "alpha_": rules.number(low=0.0),
        "alphas_": rules.one_of(rules.array("values"), rules.array("ratios", "values")),
        "mse_path_": rules.one_of(
            rules.array("values", "folds", finite=False),
            rules.array("ratios", "values", "folds", finite=False),
        ),
        "dual_gap_": rules.number(low=0.0),
    }
    _needed: ClassVar[tuple[str, ...]] = (*_Sparse._needed, "alpha_", "alphas_", "mse_path_")

    def _ratios(self) -> np.ndarray:
        return np.array([1.0])

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Choose the strength on held-out rows, and fit to all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, in the fits and in their errors.
        **params : dict
            ``groups``, for the splitter.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For bad parameters, NaN or infinity, or several targets.
        KeyboardInterrupt
            On Ctrl-C, after the fit to all rows, where there was one to keep.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap of the fit to all rows is above ``tol``.
        """
        self._check_options()
        for name in params:
            if name != "groups":
                raise TypeError(f"fit() got an unexpected keyword argument {name!r}")
        ratios = self._ratios()
        design, rows = self._rows(X, y, sample_weight)
        if not rows.alone and rows.targets.shape[1] == 1:
            rows = rows._replace(alone=True)
            column_or_1d(y, warn=True)
        elif not rows.alone:
            raise ValueError(
                f"y has {rows.targets.shape[1]} targets, and a strength is chosen for one; fit "
                "each by itself, or several to one strength by MultiTaskLassoCV of scikit-learn."
            )
        grid = [
            self._strengths(
                design, rows, self._wanted, ratio, float(self.eps), centred=bool(self.fit_intercept)
            )
            for ratio in ratios
        ]
        from sklearn.model_selection import check_cv

        folds = list(check_cv(5 if self.cv is None else self.cv).split(X, y, params.get("groups")))
        limit = np.inf if self.time_limit is None else time.perf_counter() + self.time_limit
        errors = np.full((len(ratios), len(grid[0]), len(folds)), np.nan)
        with Interrupt() as interrupt:
            for f, (train, test) in enumerate(folds):
                part, held = rows.take(train), rows.take(test)
                fold = as_design(part.matrix).merged()
                for r, (ratio, values) in enumerate(zip(ratios, grid, strict=True)):
                    for i, (_, coef, level, _) in enumerate(
                        _along(self, fold, part, values, float(ratio), limit)
                    ):
                        errors[r, i, f] = _mean_square(held, coef, level)
            # Folds count alike, whatever their rows weigh, as in scikit-learn.
            mean = errors.mean(axis=2)
            r, i = divmod(int(np.argmin(mean)), mean.shape[1])
            self.alpha_, ratio = float(grid[r][i]), float(ratios[r])
            problems = self._problems(design, rows, self.alpha_, ratio)
            solutions = self._solved(problems, [None], np.inf, record=self.record)
            self._keep_solutions(problems, solutions, True, self.alpha_)
        self._keep_grid(ratio, np.array(grid), errors)
        conclude(self, interrupt.requested)
        return self

    def _keep_grid(self, ratio: float, grid: np.ndarray, errors: np.ndarray) -> None:
        self.alphas_, self.mse_path_ = grid[0], errors[0]

    @property
    def _wanted(self) -> Any:
        if isinstance(self.n_alphas, Integral):
            return self.n_alphas
        return 100 if self.alphas is None or isinstance(self.alphas, str) else self.alphas

    def _claims(self, design: Design, rows: TrainingRows) -> list[Claimed]:
        ratio = float(getattr(self, "l1_ratio_", 1.0))
        ((part, problem),) = self._problems(design, rows, self.alpha_, ratio)
        return [(part, problem, problem.join(self.coef_, self.intercept_), rows.weights)]


def _mean_square(held: TrainingRows, coef: np.ndarray, level: np.ndarray) -> float:
    residual = held.targets[:, 0] - (as_design(held.matrix).dot(coef[0]) + level[0])
    return float(np.average(np.square(residual), weights=held.weights))


_CV_STEERING = {
    **_STEERING,
    **_SEVERAL,
    "n_alphas": Inherited("deprecated", "the number of ``alphas``"),
}


@inherits(**_CV_STEERING)
class LassoCV(_Chosen):
    """:class:`Lasso` with ``alpha`` chosen by cross-validation.

    Parameters
    ----------
    eps : float, default=1e-3
        The last strength as a share of the first.
    alphas : int or array-like, default=100
        The strengths, or how many; the first is the least under which all weights are zero.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float, default=1e-6
        Target for the certified relative gap of every fit.
    cv : int, splitter or iterable, default=5
    verbose : int, default=0
    time_limit : float, optional
        Seconds for the fits of the folds.
    record : bool, default=False
        Keep ``trace_``, of the fit to all rows.

    Attributes
    ----------
    alpha_ : float
        The strength chosen: that of the least mean of ``mse_path_``.
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the held-out rows.
    alphas_ : ndarray of shape (n_alphas,)
        From the largest on.
    dual_gap_ : float
    certificate_ : Certificate
        Of the fit to all rows.
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import LassoCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LassoCV(cv=5).fit(X, y)
    >>> model.mse_path_.shape, model.certificate_.status
    ((100, 5), 'optimal')
    """

    _label = "lasso"

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        verbose: int = 0,
        time_limit: float | None = None,
        record: bool = False,
        **inherited: Any,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.verbose = verbose
        self.time_limit = time_limit
        self.record = record
        self._inherit(inherited)

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
        """Fits along strengths of the penalty; see :meth:`ElasticNet.path`."""
        return ElasticNet.path(X, y, **options)


@inherits(**_CV_STEERING)
class ElasticNetCV(_Chosen):
    """:class:`ElasticNet` with ``alpha`` and ``l1_ratio`` chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        The share of L1, or several to choose from.
    eps, alphas, fit_intercept, max_iter, tol, cv, verbose, time_limit, record
        See :class:`LassoCV`.

    Attributes
    ----------
    alpha_ : float
    l1_ratio_ : float
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    mse_path_ : ndarray of shape (n_l1_ratios, n_alphas, n_folds), or without the first
    alphas_ : ndarray of shape (n_l1_ratios, n_alphas), or (n_alphas,) where all are the same
    dual_gap_ : float
    certificate_ : Certificate
        Of the fit to all rows.
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20, cv=3).fit(X, y).mse_path_.shape
    (2, 20, 3)
    """

    _attributes: ClassVar[rules.Rules] = {
        **_Chosen._attributes,
        "l1_ratio_": rules.number(low=0.0),
    }
    _needed: ClassVar[tuple[str, ...]] = (*_Chosen._needed, "l1_ratio_")

    def __init__(
        self,
        *,
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float = 1e-6,
        cv: Any = None,
        verbose: int = 0,
        time_limit: float | None = None,
        record: bool = False,
        **inherited: Any,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.verbose = verbose
        self.time_limit = time_limit
        self.record = record
        self._inherit(inherited)

    def _ratios(self) -> np.ndarray:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        for ratio in ratios:
            _check_share("l1_ratio", ratio)
        return ratios

    def _keep_grid(self, ratio: float, grid: np.ndarray, errors: np.ndarray) -> None:
        self.l1_ratio_ = ratio
        alone = len(grid) == 1
        self.mse_path_ = errors[0] if alone else errors
        # Strengths that were given are the same for every mixture.
        same = alone or np.array_equal(grid, np.broadcast_to(grid[0], grid.shape))
        self.alphas_ = grid[0] if same else grid

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
        """Fits along strengths of the penalty; see :meth:`ElasticNet.path`."""
        return ElasticNet.path(X, y, **options)
