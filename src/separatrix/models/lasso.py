"""Least squares under an L1 penalty, and under a mixture of L1 and L2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import MultiOutputMixin
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.moments import Moments
from separatrix.data.splitting import Fold, folds_of
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import check_share
from separatrix.losses import SquaredResidual
from separatrix.models.blocked import no_splitter, refuse
from separatrix.models.certified import (
    FitContext,
    Problems,
    begun,
    bounded,
    conclude,
    solution_values,
)
from separatrix.models.composing import pointwise, require_memory
from separatrix.models.limits import counted, deadline_of
from separatrix.models.parameters import compat, parameter
from separatrix.models.path import best_of
from separatrix.models.pointwise import LinearRegressor
from separatrix.models.regressor import check_targets
from separatrix.models.search import Clock, alpha_max, checked_values, fold_scores, groups_of
from separatrix.models.sklearn_compat import COPY_X, N_JOBS, NOTHING_RANDOM, POSITIVE
from separatrix.objectives.penalties import NoPenalty, penalty_of, strength_of
from separatrix.objectives.pointwise import PointwiseObjective
from separatrix.solvers.driver import Interrupt, Solution
from separatrix.solvers.gram_path import GramPath
from separatrix.solvers.protocol import Candidate
from separatrix.solvers.warm_starts import ROUNDING_SHARE

# Bytes of the scores of fits that are certified together.
_PRODUCT_BYTES = 1 << 26


_PRECOMPUTE = "not needed: the size of the problem decides whether a Gram matrix is formed"
_SELECTION = compat("not needed: the slopes decide which columns are updated", default="cyclic")


# --- the problems ---------------------------------------------------------------------------------


def _problem_at(
    model: Any, design: Design, y: np.ndarray, rows: TrainingRows, alpha: float, l1_ratio: float
) -> PointwiseObjective:
    """The problem of one target, in which the penalty has the factor one."""
    positive = bool(model.positive)
    if positive and not (alpha > 0.0 and l1_ratio > 0.0):
        other = "Ridge" if alpha > 0.0 else "LinearRegression"
        raise ValueError(
            f"positive=True without L1 (alpha={alpha:g}, l1_ratio={l1_ratio:g}) is solved in "
            f"closed form by {other}(positive=True)."
        )
    penalty = penalty_of(l1_ratio, nonnegative=positive) if alpha > 0.0 else NoPenalty()
    options: dict[str, Any] = {
        "C": strength_of(alpha, rows.total),
        "weights": rows.weights,
        "fit_intercept": bool(model.fit_intercept),
    }
    return pointwise(design, y, SquaredResidual(), penalty, **options)


def _problems_at(
    model: Any, design: Design, rows: TrainingRows, alpha: float, l1_ratio: float
) -> Problems:
    return [
        (part, _problem_at(model, design, y, rows, float(alpha), l1_ratio))
        for part, y in rows.parts()
    ]


def _strengths(
    alphas: Any, l1_ratio: float, eps: float, largest: Callable[[], float]
) -> np.ndarray:
    """Values of alpha, from the largest on.

    ``largest``: gives the least strength of L1 alone at which all weights are zero.
    """
    values, count = checked_values("alpha", alphas)
    if values is not None:
        return np.sort(values)[::-1]
    check_share("eps", eps, above=0)
    if l1_ratio == 0.0:
        raise ValueError(
            "Under an L2 penalty alone, no strength makes all weights zero, so there is no "
            "default range; give alphas, or an l1_ratio above 0."
        )
    first = largest() / l1_ratio
    return np.geomspace(first, first * eps, count) if count > 1 else np.array([first])


def _solved(
    model: Any,
    problems: Problems,
    starts: Sequence[np.ndarray | Candidate | None],
    deadline: float,
    *,
    spent: int = 0,
) -> list[Solution]:
    """The solutions from given starts, to which ``spent`` passes of another method led."""
    options = [_started(start, spent, model.max_iter) for start in starts]
    fit = FitContext(starts=options, deadline=deadline, record=False)
    solutions: list[Solution] = model._solve(problems, fit)
    return solutions


def _started(start: np.ndarray | Candidate | None, spent: int, most: int) -> dict[str, Any]:
    """The options of ``minimise`` for a start to which ``spent`` passes led, of ``most``."""
    if start is None:
        return {}
    name = "start" if isinstance(start, Candidate) else "theta"
    # They are iterations, and leave so many fewer.
    return {name: start, "spent": spent, "max_iter": most - spent}


class ElasticNet(MultiOutputMixin, LinearRegressor):
    r"""Least squares under a mixture of L1 and L2, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math:: \frac1{2n} \sum_i s_i (y_i - w\cdot x_i - b)^2
        + \alpha\Big(\rho \|w\|_1 + \frac{1-\rho}2 \|w\|^2\Big) ,

    scikit-learn's problem, for each target separately. The certificate is printed in the units
    above, which ``dual_gap_`` has, too; its attributes are those of the problem divided by
    :math:`\alpha`.

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
        Start from the weights of the previous fit.
    time_limit : float, optional
        Time limit in seconds; the fit then returns its best iterate with the gap that it reached.
    verbose : int, default=0
        1 prints certificate checks to stderr.
    record : bool, default=False
        Keep ``trace_``.
    positive : bool, default=False
        Constrain the weights to be nonnegative; needs a share of L1.

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
        Names of the columns, if they had any.
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

    alpha: float = parameter(default=1.0, minimum=0, kw_only=False)
    l1_ratio: float = parameter(default=0.5, minimum=0, maximum=1)
    precompute: Any = compat(_PRECOMPUTE, default=False)
    copy_X: bool = COPY_X
    random_state: Any = NOTHING_RANDOM
    selection: str = _SELECTION
    positive: bool = POSITIVE

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
    # Scikit-learn's objective in units of this one, by a penalty of `alpha` times that.
    _sklearn_factor: ClassVar[float] = 1.0
    _follows_dtype = True
    _several = True

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        check_targets(self)

    @property
    def _at(self) -> tuple[float, float]:
        """The strength and the share of L1."""
        return float(self.alpha), float(self.l1_ratio)

    def _problem(self, design: Design, y: np.ndarray, rows: TrainingRows) -> PointwiseObjective:
        return _problem_at(self, design, y, rows, *self._at)

    def _keep_fit(self, fit: FitContext, problems: Problems, solutions: list[Solution]) -> None:
        alone, (alpha, _) = fit.target.alone, self._at
        coef, intercept = self._weights(problems, solutions)
        self.coef_ = coef[0] if alone else coef
        self.intercept_ = np.float64(intercept[0]) if alone else intercept
        gaps = np.array([s.certificate.gap * (alpha if alpha > 0.0 else 1.0) for s in solutions])
        self.dual_gap_ = float(gaps[0]) if alone else gaps
        self._record(problems, solutions)
        if not alone:
            self.n_iter_ = np.array([s.certificate.n_iter for s in solutions], dtype=np.int32)

    @property
    def sparse_coef_(self) -> sp.csr_matrix:
        """The weights as a sparse matrix of shape (n_targets, n_features)."""
        check_is_fitted(self)
        return sp.csr_matrix(np.atleast_2d(self.coef_))

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        check_input: bool = True,
        *,
        engine: Any = None,
        checkpoint: Any = None,
    ) -> ElasticNet:
        """Fit to training data.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Float32 and float64, dense of any strides or CSR, are used without a copy; sums are
            float64. Row blocks of :func:`separatrix.scale.scan` are fitted in passes; they contain
            their numbers and weights.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0; a weight of k is the same as k copies of the row.
        check_input : bool, default=True
            Ignored: the input is always checked.
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
            For bad parameters, or NaN or infinity (named by row and column).
        KeyboardInterrupt
            On Ctrl-C, after the fitted attributes have been set from the best iterate so far.

        Warns
        -----
        ConvergenceWarning
            If the certified relative gap is above ``tol``; the text is the certificate.
        """
        self._fit(X, y, sample_weight, engine=engine, checkpoint=checkpoint)
        return self

    def _starts(self, problems: Problems, fit: FitContext) -> Sequence[dict[str, Any]] | None:
        """Start at the minima of the Gram matrix, where it pays.

        They are certified before another method begins, which seldom has to.

        A fit that ``max_iter`` ends before the minimum has the iterates of the method for rows.
        """
        known = super()._starts(problems, fit)
        if fit.blocks is not None:
            return known
        alpha, ratio = self._at
        sparse = alpha > 0.0 and ratio > 0.0
        if known is not None or not (sparse and GramPath.pays(fit.design, len(problems))):
            return known
        path = _path_of(fit.design, fit.target, bool(self.fit_intercept), bool(self.positive))
        if path is None:
            return None

        def points() -> list[np.ndarray]:
            values = zip(problems, path.weights, path.intercepts, strict=True)
            return [problem.join(w, float(b)) for (_, problem), w, b in values]

        passes = path.move_to(alpha, ratio, self.tol, self.max_iter)
        if passes >= self.max_iter:
            return None
        starts = [_started(Candidate(point), passes, self.max_iter) for point in points()]
        if self.record:
            made = path.stages(alpha, ratio, self.tol, passes)
            ways = zip(*([(count, point) for point in points()] for count in made), strict=True)
            starts = [{**start, "way": way} for start, way in zip(starts, ways, strict=True)]
        return starts

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
        """Fit along strengths of the penalty, without an intercept, as scikit-learn's ``path``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        l1_ratio : float, default=0.5
            The default is 0.5 for ``Lasso.path``, too, as in scikit-learn.
        eps : float, default=1e-3
            The ratio of the smallest strength to the largest.
        alphas : int or array-like, default=100
            The strengths, or their number; the largest is then the least at which all weights are
            zero.
        coef_init : array-like of shape (n_features,), optional
            The weights from which the first fit starts.
        return_n_iter : bool, default=False
        tol : float, default=1e-6
        max_iter : int, default=1000
        **steering : dict
            Parameters of scikit-learn's solver, which have no effect.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
            In descending order.
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
        design, rows = bounded(*model._rows(X, y, steering.get("sample_weight")))
        nonnegative = bool(model.positive)
        largest = partial(alpha_max, design, rows, centred=False, nonnegative=nonnegative)
        values = _strengths(alphas, float(l1_ratio), float(eps), largest)
        coefs, gaps, counts = [], [], []
        start = None if coef_init is None else np.atleast_2d(np.asarray(coef_init, dtype=float))
        path = None
        if start is None and _by_gram(values, l1_ratio) and GramPath.pays(design, len(values)):
            path = _path_of(design, rows, False, bool(model.positive))
        if path is None:
            run = _along(model, design, rows, values, float(l1_ratio), np.inf, start)
        else:
            run = _along_gram(model, design, rows, path, values, float(l1_ratio))
        for value, coef, _, solutions in run:
            coefs.append(coef)
            gaps.append([s.certificate.gap * value for s in solutions])
            counts.append(max(s.certificate.n_iter for s in solutions))
        weights, found = np.moveaxis(np.array(coefs), 0, -1), np.array(gaps).T
        answer = (values, weights[0] if rows.alone else weights, found[0] if rows.alone else found)
        return (*answer, counts) if return_n_iter else answer


def _path_of(
    design: Design, rows: TrainingRows, centred: bool, nonnegative: bool
) -> GramPath | None:
    """The path of all rows; None where a Gram matrix does not hold their sums."""
    moments = Moments.of(design, weights=rows.weights, targets=rows.targets)
    n_targets = rows.targets.shape[1]
    path = GramPath(moments, n_targets, centred=centred, nonnegative=nonnegative)
    return path if path.finite else None


def _by_gram(values: np.ndarray, l1_ratio: float) -> bool:
    """Whether all of these problems have a penalty with a share of L1."""
    return bool(l1_ratio > 0.0 and values[-1] > 0.0)


def _along(
    model: Any,
    design: Design,
    rows: TrainingRows,
    values: np.ndarray,
    l1_ratio: float,
    deadline: float,
    start: np.ndarray | None = None,
    late: Callable[[], bool] = lambda: False,
) -> Iterator[tuple[float, np.ndarray, np.ndarray, list[Solution]]]:
    """Fits from the strongest penalty on, each from where the one before ended.

    None begins once it is ``late()`` but the first, so that there is something in any case.
    """
    starts: list[np.ndarray | None] = [None] * rows.targets.shape[1]
    if start is not None:
        made = _problems_at(model, design, rows, 1.0, l1_ratio)
        starts = [problem.join(w, 0.0) for (_, problem), w in zip(made, start, strict=True)]
    for done, value in enumerate(values):
        if done > 0 and late():
            return
        problems = _problems_at(model, design, rows, value, l1_ratio)
        solutions = _solved(model, problems, starts, deadline)
        starts = [s.theta for s in solutions]
        yield (float(value), *solution_values(problems, solutions), solutions)


def _along_gram(
    model: Any,
    design: Design,
    rows: TrainingRows,
    path: GramPath,
    values: np.ndarray,
    l1_ratio: float,
) -> Iterator[tuple[float, np.ndarray, np.ndarray, list[Solution]]]:
    """The fits of :func:`_along`, with no intercept, by a Gram matrix; a product certifies many."""
    m = rows.targets.shape[1]
    fits = list(path.along(values, l1_ratio, model.tol, model.max_iter))
    height = max(1, _PRODUCT_BYTES // (8 * m * design.n_samples))
    for first in range(0, len(values), height):
        some = values[first : first + height]
        weights = np.concatenate([coef for coef, _, _ in fits[first : first + height]])
        scores = np.ascontiguousarray(design.dot(weights.T).T)
        problems = [_problems_at(model, design, rows, value, l1_ratio) for value in some]
        flat = [problem for own in problems for _, problem in own]
        for problem in flat:
            problem.charge_share = ROUNDING_SHARE
        residuals = np.array([p.residual(s) for p, s in zip(flat, scores, strict=True)])
        products = np.ascontiguousarray(design.t_dot(residuals.T).T)
        starts = [
            Candidate(*known) for known in zip(weights, residuals, scores, products, strict=True)
        ]
        for k, value in enumerate(some):
            own, passes = starts[k * m : (k + 1) * m], fits[first + k][2]
            solutions = _solved(model, problems[k], own, np.inf, spent=passes)
            yield (float(value), *solution_values(problems[k], solutions), solutions)


class Lasso(ElasticNet, without=("l1_ratio",)):
    r"""Least squares under an L1 penalty, with a certificate.

    Minimises, with :math:`n = \sum_i s_i`,

    .. math:: \frac1{2n} \sum_i s_i (y_i - w\cdot x_i - b)^2 + \alpha \|w\|_1 ,

    scikit-learn's problem, for each target separately: :class:`ElasticNet` with ``l1_ratio=1``.

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


class ElasticNetCV(LinearRegressor, without=("warm_start",)):
    """:class:`ElasticNet` with ``alpha`` and ``l1_ratio`` chosen by cross-validation.

    Parameters
    ----------
    l1_ratio : float or array-like, default=0.5
        The share of L1, or several from which to choose.
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
        The certificate of the fit to all rows.
    n_iter_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import ElasticNetCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ElasticNetCV(l1_ratio=[0.5, 1.0], alphas=20, cv=3).fit(X, y).mse_path_.shape
    (2, 20, 3)
    """

    l1_ratio: Any = parameter(default=0.5)
    eps: float = parameter(default=1e-3)
    alphas: Any = parameter(default=100)
    cv: Any = parameter(default=None, meaning="the same; None is 5 folds")
    precompute: Any = compat(_PRECOMPUTE, default="auto")
    n_jobs: Any = N_JOBS
    n_alphas: Any = compat("the number of ``alphas``", default="deprecated")
    copy_X: bool = COPY_X
    random_state: Any = NOTHING_RANDOM
    selection: str = _SELECTION
    positive: bool = POSITIVE

    _label = "elastic net"
    _attributes: ClassVar[rules.Rules] = {
        **ElasticNet._attributes,
        "alpha_": rules.number(low=0.0),
        "l1_ratio_": rules.number(low=0.0),
        "alphas_": rules.one_of(rules.array("values"), rules.array("ratios", "values")),
        "mse_path_": rules.one_of(
            rules.array("values", "folds", finite=False),
            rules.array("ratios", "values", "folds", finite=False),
        ),
        "dual_gap_": rules.number(low=0.0),
    }
    _needed: ClassVar[tuple[str, ...]] = (
        *ElasticNet._needed,
        *("alpha_", "alphas_", "mse_path_", "l1_ratio_"),
    )
    _sklearn_factor: ClassVar[float] = 1.0
    _follows_dtype = _several = True

    path = staticmethod(ElasticNet.path)
    sparse_coef_ = ElasticNet.sparse_coef_
    _problem, _keep_fit = ElasticNet._problem, ElasticNet._keep_fit
    _check_attributes = ElasticNet._check_attributes

    @counted
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        **params: Any,
    ) -> Any:
        """Choose the strength on held-out rows, and fit to all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Row blocks of :func:`separatrix.scale.scan` contain their numbers and weights; they are
            read a few times for all strengths and folds, which are those of rows in memory.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights >= 0, in the fits and in their errors.
        engine : separatrix.scale.Engine, optional
            The engine of the passes over row blocks; by default the threads of this process.
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
        fit = begun(self, X, y, sample_weight, engine=engine, groups=groups_of(params))
        ratios, limit = self._ratios(), deadline_of(self.time_limit)
        rows, blocks = fit.target, fit.blocks is not None
        whole: GramPath | None
        if blocks:
            # Ctrl-C ends this at once, because there is nothing to keep yet.
            grid, errors, whole = self._over_blocks(rows, ratios, Clock(None, limit))
        else:
            cv, groups = 5 if self.cv is None else self.cv, params.get("groups")
            folds = folds_of(cv, X, y, rows.weights, groups, stratify=False)
        with Interrupt() as interrupt:
            clock = Clock(interrupt, limit)
            if not blocks:
                grid, errors, whole = self._over_rows(fit.design, rows, ratios, folds, clock)
            # Folds count alike, whatever their rows weigh, as in scikit-learn.
            r, i = divmod(best_of(-errors.mean(axis=2).ravel()), errors.shape[1])
            self.alpha_, ratio = float(grid[r][i]), float(ratios[r])
            if "l1_ratio" in self._parameters:
                self.l1_ratio_ = ratio
            problems, start, passes = self._settled(fit), None, 0
            if whole is not None and _by_gram(grid[r], ratio):
                way = grid[r][: i + 1]
                *_, (coef, level, passes) = whole.along(way, ratio, self.tol, self.max_iter, clock)
                start = problems[0][1].join(coef[0], level[0])
            fit.starts, fit.deadline = [_started(start, passes, self.max_iter)], limit
            self._solve_and_keep(problems, fit)
        self._keep_grid(np.array(grid), errors)
        conclude(self, interrupt.requested)
        return self

    @property
    def _at(self) -> tuple[float, float]:
        """The strength and the share of L1 that were chosen."""
        return self.alpha_, float(vars(self).get("l1_ratio_", 1.0))

    @property
    def _factor(self) -> float:
        return float(self.alpha_)

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        return no_splitter(self.cv)

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        design, rows = super()._rows(X, y, sample_weight)
        if rows.alone:
            return design, rows
        if rows.targets.shape[1] > 1:
            raise ValueError(
                f"y has {rows.targets.shape[1]} targets, and the strength is chosen for one; fit "
                "each target separately, or use scikit-learn's MultiTaskLassoCV for one strength "
                "of all."
            )
        column_or_1d(y, warn=True)
        return design, rows._replace(alone=True)

    def _ratios(self) -> np.ndarray:
        ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        for ratio in ratios:
            check_share("l1_ratio", ratio)
        return ratios

    def _grid(self, ratios: np.ndarray, largest: Callable[[], float]) -> list[np.ndarray]:
        """The strengths of each mixture."""
        eps = float(self.eps)
        return [_strengths(self._wanted, float(ratio), eps, largest) for ratio in ratios]

    def _over_rows(
        self,
        design: Design,
        rows: TrainingRows,
        ratios: np.ndarray,
        folds: list[Fold],
        clock: Clock,
    ) -> tuple[list[np.ndarray], np.ndarray, GramPath | None]:
        """The strengths, their errors on what the folds hold out, and the path on all rows."""
        centred, nonnegative = bool(self.fit_intercept), bool(self.positive)
        largest = partial(alpha_max, design, rows, centred=centred, nonnegative=nonnegative)
        grid = self._grid(ratios, largest)
        shape = len(ratios), len(grid[0])
        paths = self._gram_paths(design, rows, folds, shape[0] * shape[1])
        errors_of = partial(self._errors, rows, paths, ratios, grid)
        return grid, fold_scores(folds, shape, errors_of, clock), paths[0]

    def _over_blocks(
        self, rows: Any, ratios: np.ndarray, clock: Clock
    ) -> tuple[list[np.ndarray], np.ndarray, GramPath]:
        """The result of :meth:`_over_rows` for row blocks, by one pass for sums, one for errors."""
        from separatrix.scale.folds import fold_moments, fold_squares, laid_out

        count = 5 if self.cv is None else int(self.cv)
        require_memory(rows, 1, 3 * count + 6)
        rows.passes.folds = laid_out(rows.passes, count, 1)
        centred, nonnegative = bool(self.fit_intercept), bool(self.positive)
        paths = [
            GramPath(moments, 1, centred=centred, nonnegative=nonnegative)
            for moments in fold_moments(rows.passes, count)
        ]
        if not all(path.finite for path in paths):
            raise refuse(self, "its sums are out of the range of float64: scale the columns")
        grid = self._grid(ratios, paths[0].largest)
        if not all(_by_gram(values, ratio) for values, ratio in zip(grid, ratios, strict=True)):
            raise refuse(self, "its sums serve a penalty with L1: give alphas and l1_ratio above 0")
        shape = len(ratios), len(grid[0]), count
        coefs = np.full((count, *shape[:2], rows.n_features), np.nan)
        levels = np.full((count, *shape[:2]), np.nan)
        for k, path in enumerate(paths[1:]):
            late = clock.shared(count + 1 - k)
            for r, ratio in enumerate(ratios):
                fits = path.along(grid[r], float(ratio), self.tol, self.max_iter, late)
                for i, (coef, level, _) in enumerate(fits):
                    coefs[k, r, i], levels[k, r, i] = coef[0], level[0]
        flat = coefs.reshape(count, -1, rows.n_features), levels.reshape(count, -1)
        errors = fold_squares(rows.passes, *flat)
        return grid, np.moveaxis(errors.reshape(count, *shape[:2]), 0, -1), paths[0]

    def _gram_paths(
        self, design: Design, rows: TrainingRows, folds: list[Fold], count: int
    ) -> list[GramPath | None]:
        """The paths on all rows and on those of each fold, where Gram matrices pay."""
        if not GramPath.pays(design, count):
            return [None] * (len(folds) + 1)
        centred, positive = bool(self.fit_intercept), bool(self.positive)
        sums = Moments.of_folds(design, folds, weights=rows.weights, targets=rows.targets)
        made = [GramPath(m, 1, centred=centred, nonnegative=positive) for m in sums]
        return [path if path.finite else None for path in made]

    def _errors(
        self,
        rows: TrainingRows,
        paths: list[GramPath | None],
        ratios: np.ndarray,
        grid: list[np.ndarray],
        fold: int,
        split: Fold,
        late: Clock,
    ) -> Iterator[np.ndarray]:
        """The errors along the strengths of each mixture, on the rows that a fold holds out."""
        path, held = paths[fold + 1], rows.take(split[1])
        part: tuple[Design, TrainingRows] | None = None
        for ratio, values in zip(ratios, grid, strict=True):
            if path is not None and _by_gram(values, ratio):
                by_gram = path.along(values, ratio, self.tol, self.max_iter, late)
                fits = [(coef, level) for coef, level, _ in by_gram]
            else:
                if part is None:
                    own = rows.take(split[0])
                    part = as_design(own.matrix).merged(), own
                by_rows = _along(self, *part, values, float(ratio), late.deadline, late=late)
                fits = [(coef, level) for _, coef, level, _ in by_rows]
            coefs = np.concatenate([coef for coef, _ in fits])
            yield _mean_squares(held, coefs, np.ravel([b for _, b in fits]))

    def _keep_grid(self, grid: np.ndarray, errors: np.ndarray) -> None:
        alone = len(grid) == 1
        self.mse_path_ = errors[0] if alone else errors
        # Strengths that were given are the same for every mixture.
        same = alone or np.array_equal(grid, np.broadcast_to(grid[0], grid.shape))
        self.alphas_ = grid[0] if same else grid

    @property
    def _wanted(self) -> Any:
        if isinstance(self.n_alphas, Integral):
            return self.n_alphas
        return 100 if self.alphas is None or isinstance(self.alphas, str) else self.alphas


def _mean_squares(held: TrainingRows, coefs: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The mean squared error of every row of ``coefs`` on held-out rows."""
    residuals = held.targets - (as_design(held.matrix).dot(coefs.T) + levels)
    out: np.ndarray = np.average(np.square(residuals), axis=0, weights=held.weights)
    return out


class LassoCV(ElasticNetCV, without=("l1_ratio",)):
    """:class:`Lasso` with ``alpha`` chosen by cross-validation.

    Parameters
    ----------
    eps : float, default=1e-3
        The ratio of the smallest strength to the largest.
    alphas : int or array-like, default=100
        The strengths, or their number; the largest is then the least at which all weights are zero.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
    tol : float, default=1e-6
        Target for the certified relative gap of every fit.
    cv : int, splitter or iterable, optional
        None is 5 folds.
    verbose : int, default=0
    time_limit : float, optional
        Time limit in seconds for all fits: each path of a fold has its share, and strengths that it
        does not reach are NaN in ``mse_path_`` and are not chosen.
    record : bool, default=False
        Keep ``trace_``, of the fit to all rows.

    Attributes
    ----------
    alpha_ : float
        The chosen strength, with the smallest mean of ``mse_path_``.
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    mse_path_ : ndarray of shape (n_alphas, n_folds)
        Mean squared errors of the held-out rows.
    alphas_ : ndarray of shape (n_alphas,)
        The strengths, in descending order.
    dual_gap_ : float
    certificate_ : Certificate
        The certificate of the fit to all rows.
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
    l1_ratio: ClassVar[float] = 1.0  # type: ignore[misc]
    _attributes: ClassVar[rules.Rules] = {
        name: rule for name, rule in ElasticNetCV._attributes.items() if name != "l1_ratio_"
    }
    _needed: ClassVar[tuple[str, ...]] = ElasticNetCV._needed[:-1]

    @staticmethod
    def path(X: Any, y: Any, **options: Any) -> tuple[Any, ...]:
        """Fit along strengths of L1 alone; see :meth:`ElasticNet.path`."""
        return ElasticNet.path(X, y, l1_ratio=1.0, **options)
