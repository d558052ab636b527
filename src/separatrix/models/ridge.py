"""Ridge regression and classification by it, under scikit-learn's names and strengths."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from separatrix.closed_form.leave_one_out import leave_one_out_residuals
from separatrix.data import rules
from separatrix.data.design import as_design
from separatrix.data.splitting import Fold, folds_of
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import check_number
from separatrix.models.blocked import InPasses, refuse
from separatrix.models.certified import begun, conclude
from separatrix.models.composing import answers_of, require_memory
from separatrix.models.least_squares import (
    LeastSquares,
    LeastSquaresLabels,
    LeastSquaresRegressor,
)
from separatrix.models.limits import CERTIFIED_GAP
from separatrix.models.parameters import compat, parameter
from separatrix.models.path import Path, best_of
from separatrix.models.predicting import decided
from separatrix.models.regressor import LEAST_SQUARES, MSE
from separatrix.models.search import (
    Clock,
    Judge,
    RowSearch,
    fold_scores,
    groups_of,
    rows_at,
    scorer_of,
)
from separatrix.models.sklearn_compat import COPY_X, NOTHING_RANDOM, POSITIVE

_STRENGTHS: rules.Rules = {
    **{name: rule for name, rule in LEAST_SQUARES.items() if name != "lam_"},
    "lam_": rules.either(rules.number(low=0.0), rules.array("m")),
}


_WHAT = "minimise 1/2 sum s_i |y_i - W x_i{level}|^2{penalty}"
_TOL = parameter(default=1e-10, minimum=0, meaning=CERTIFIED_GAP)
_MAX_ITER = compat("not needed: the equations are solved to rounding", default=None)
_SOLVER = compat(
    "not needed: the size of the equations decides how they are solved", default="auto"
)


def path(
    self: Any,
    X: Any,
    y: Any,
    alphas: Any = None,
    *,
    cv: Any = None,
    scoring: Any = None,
    sample_weight: Any = None,
    groups: Any = None,
) -> Path:
    """Fit along values of ``alpha``; see :meth:`separatrix.LinearRegression.path`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    alphas : int or array-like of shape (n_values,), default=20
        Values of ``alpha``, or how many.
    cv, scoring, sample_weight, groups
        See :meth:`separatrix.LogisticRegression.path`.

    Returns
    -------
    Path
    """
    rows = X, y, {"alpha": alphas}, cv, scoring, sample_weight, groups
    return RowSearch(self, *rows).path()


def _solver_of(self: Any) -> str:
    """The method that solved the equations."""
    return "sparse_cg" if vars(self).get("factor_", "cholesky") is None else "cholesky"


class Ridge(LeastSquaresRegressor):
    r"""Least squares under an L2 penalty, with the normal equations certified.

    Minimises, for each target,

    .. math:: \sum_i s_i (y_i - w\cdot x_i - b)^2 + \alpha \|w\|^2 ,

    scikit-learn's problem: :class:`~separatrix.LinearRegression` with ``lam = alpha / sum(s)``.
    The intercept is never penalised.

    Parameters
    ----------
    alpha : float or array-like of shape (n_targets,), default=1.0
        Strength of the penalty, one for all targets or one for each.
    fit_intercept : bool, default=True
    tol : float, default=1e-10
        Target for the certificate where the equations are solved iteratively, for sparse rows with
        many columns. Elsewhere they are solved to rounding.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    n_iter_ : int
        Steps of refinement, at least 1.
    solver_ : str
        The method that solved the equations: ``"cholesky"``, by their factor, or ``"sparse_cg"``.
    certificate_ : ResidualCertificate

    See Also
    --------
    LinearRegression : What the other attributes mean.

    References
    ----------
    Hoerl and Kennard (1970), Ridge regression: biased estimation for nonorthogonal problems.

    Examples
    --------
    >>> from separatrix import Ridge
    >>> model = Ridge(alpha=1.0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0])
    >>> model.coef_.round(4).tolist(), round(float(model.intercept_), 4), model.certificate_.ok
    ([1.8333], 1.25, True)
    """

    alpha: Any = parameter(default=1.0, minimum=0, each=True, kw_only=False)
    tol: float = _TOL
    copy_X: bool = COPY_X
    max_iter: Any = _MAX_ITER
    solver: str = _SOLVER
    positive: bool = POSITIVE
    random_state: Any = NOTHING_RANDOM

    path, solver_ = path, property(_solver_of)

    _label = "ridge regression"
    _what, _by_alpha = _WHAT, True
    _strengths: ClassVar[dict[str, bool]] = {"alpha": False}
    _attributes: ClassVar[rules.Rules] = {
        **_STRENGTHS,
        "coef_": rules.one_of(rules.array("d", single=True), rules.array("m", "d", single=True)),
        "intercept_": rules.either(rules.number(), rules.array("m", single=True)),
        "mse_": MSE,
    }


_LABELS: rules.Rules = {
    **_STRENGTHS,
    "classes_": rules.classes,
    "multilabel_": rules.flag,
    "coef_": rules.one_of(
        rules.array("d", single=True),
        rules.array("h", "d", single=True),
        rules.array("K", "d", single=True),
    ),
    "intercept_": rules.one_of(rules.array("h", single=True), rules.array("K", single=True)),
}


class RidgeClassifier(LeastSquaresLabels):
    r"""Classification by ridge regression on targets -1 and +1, certified as :class:`Ridge` is.

    For K > 2 classes there is one regression for each, on +1 for its rows and -1 for the others;
    the same holds where a row has several labels.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty.
    fit_intercept : bool, default=True
    class_weight : dict or "balanced", optional
    tol : float, default=1e-10
        See :class:`Ridge`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    multilabel_ : bool
        Whether a row has several labels; ``classes_`` are then the numbers of the columns of y.
    n_iter_ : int
        Steps of refinement, at least 1.
    certificate_ : ResidualCertificate

    See Also
    --------
    LeastSquaresClassifier : The same on one-hot targets.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import RidgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RidgeClassifier().fit(X, y).score(X, y), 3)
    0.96
    """

    alpha: float = parameter(default=1.0, minimum=0, each=True, kw_only=False)
    class_weight: Any = parameter(default=None)
    tol: float = _TOL
    copy_X: bool = COPY_X
    max_iter: Any = _MAX_ITER
    solver: str = _SOLVER
    positive: bool = POSITIVE
    random_state: Any = NOTHING_RANDOM

    path, solver_ = path, property(_solver_of)

    _label = "ridge classifier"
    _margin_loss = "squared_error"
    _what, _by_alpha = _WHAT, True
    _other_classes = -1.0
    _strengths: ClassVar[dict[str, bool]] = {"alpha": False}
    _attributes: ClassVar[rules.Rules] = _LABELS


# --- the strength chosen by leaving rows out ------------------------------------------------------

# The parts that RidgeCV and RidgeClassifierCV share; both name each of them in their bodies.

_ALPHAS = parameter(default=(0.1, 1.0, 10.0), minimum=0, each=True, kw_only=False)
_SCORING = parameter(default=None, meaning="the same; `score` also uses it")
_CV = parameter(default=None, meaning="the same; None is leave-one-out")


def fit(
    self: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    engine: Any = None,
    **params: Any,
) -> Any:
    """Choose the strength, and fit to all rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
        With row blocks of :func:`separatrix.scale.scan` single rows are left out, in two passes.
    y : array-like of shape (n_samples,) or (n_samples, n_targets)
        Labels for a classifier.
    sample_weight : array-like of shape (n_samples,), optional
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
        For bad parameters or data.
    """
    fit = begun(self, X, y, sample_weight, engine=engine, groups=groups_of(params))
    if fit.blocks is None:
        self._keep_classes(fit.target)
        _choose(self, fit.target, X, y, params.get("groups"))
    else:
        _choose_over(self, fit.blocks)
    self._run(fit)
    conclude(self, False)
    return self


def _chosen_alpha(self: Any) -> Any:
    """The strength chosen; never a parameter."""
    return self.alpha_


def _needs_all_rows(self: Any, n_classes: int | None = None) -> str | None:
    whys = (
        (self.cv is not None, "it leaves out single rows: leave cv at None"),
        (self.scoring is not None, "it is chosen by squared errors: leave scoring at None"),
        (self.store_cv_results, "an error of every row is as long as the data"),
    )
    return next((why for given, why in whys if given), None)


def _check_parameters(self: Any) -> None:
    LeastSquares._check_parameters(self)
    values = np.asarray(self.alphas, dtype=object).ravel()
    if not len(values):
        raise ValueError("alphas is empty; give at least one value.")
    for value in values:
        # A row that alone determines a coefficient has no residual without it.
        if self.cv is None:
            check_number("alphas", value, above=0)
    if self.cv is not None and self.store_cv_results:
        raise ValueError(
            "store_cv_results=True needs leave-one-out errors, which folds (cv) do not have; "
            "give cv=None."
        )
    if self.cv is not None and getattr(self, "alpha_per_target", False):
        raise ValueError("alpha_per_target=True needs leave-one-out errors; give cv=None.")


def _choose_over(model: Any, rows: InPasses) -> None:
    """Set ``alpha_`` and ``best_score_`` over row blocks."""
    from separatrix.scale.equations import left_out_errors

    answers = answers_of(rows, model._other_classes)
    require_memory(rows, answers.count)
    if rows.data.n_rows <= rows.n_features + 1:
        raise refuse(model, "it has no more rows than columns to leave one out of")
    values = np.asarray(model.alphas, dtype=np.float64).ravel()
    centred = bool(model.fit_intercept)
    errors = left_out_errors(rows.passes, answers, values, fit_intercept=centred)
    best = best_of(-errors.mean(axis=1))
    model.alpha_, model.best_score_ = float(values[best]), -float(errors[best].mean())


def _choose(model: Any, rows: TrainingRows, X: Any, y: Any, groups: Any) -> None:
    """Set ``alpha_`` and ``best_score_``."""
    values = np.asarray(model.alphas, dtype=np.float64).ravel()
    if model.cv is not None:
        # Weights of classes are weights of rows by now.
        mean = _scores_by_folds(model, values, X, y, rows.weights, groups)
        best = best_of(mean)
        model.alpha_, model.best_score_ = float(values[best]), float(mean[best])
        return
    if groups is not None:
        raise ValueError(
            "groups are for the splitter of cv, and cv=None leaves out single rows; give a "
            "splitter, for instance cv=GroupKFold(5)."
        )
    if len(rows.targets) < 2:
        raise ValueError("Leave-one-out needs at least two rows, and there is 1 sample.")
    residuals = leave_one_out_residuals(
        as_design(rows.matrix), rows.targets, values, rows.weights, bool(model.fit_intercept)
    )
    each = getattr(model, "alpha_per_target", False) and not rows.alone
    factors = 1.0 if rows.weights is None else rows.weights[:, None]
    if model.scoring is None:
        # Weights are not of mean one, as in scikit-learn.
        left_out = np.square(residuals) * factors
        scores = -np.mean(left_out, axis=1)
    else:
        left_out = rows.targets - residuals
        scores = _scores_of(model, rows, left_out, y, each)
    if not each:
        scores = scores.mean(axis=1, keepdims=True)
    lost = np.isnan(scores)
    if lost.all(axis=0).any():
        row = int(np.argmax(np.isnan(residuals[int(np.argmax(values))]).any(axis=1)))
        raise ValueError(
            "The leave-one-out errors are not defined for any value of alphas, because in "
            f"float64 row {row} alone determines a coefficient; give larger alphas, or folds "
            "(cv=5)."
        )
    best = np.argmax(np.where(lost, -np.inf, scores), axis=0)
    found, picked = values[best], scores[best, np.arange(len(best))]
    model.alpha_ = found if each else float(found[0])
    model.best_score_ = picked if each else float(picked[0])
    if model.store_cv_results:
        kept = np.moveaxis(left_out, 0, -1)
        model.cv_results_ = kept[:, 0] if rows.alone else kept


def _scores_of(
    model: Any, rows: TrainingRows, predicted: np.ndarray, y: Any, each: bool
) -> np.ndarray:
    """A score for each strength, of all targets together or of each; the larger the better."""
    scorer = scorer_of(model, model.scoring)
    options = {} if rows.weights is None else {"sample_weight": rows.weights}
    blank = np.zeros((len(rows.targets), 1))
    parts: list[tuple[Any, Any]] = [
        (slice(None), y if rows.alone or is_classifier(model) else rows.targets)
    ]
    if each:
        parts = [*enumerate(rows.targets.T)]
    return np.array(
        [
            [scorer(_Predicted(model, values[:, k]), blank, truth, **options) for k, truth in parts]
            for values in predicted
        ]
    )


def _scores_by_folds(
    model: Any, values: np.ndarray, X: Any, y: Any, weights: np.ndarray | None, groups: Any
) -> np.ndarray:
    """The mean score of each strength on the rows that the folds hold out."""
    classes = is_classifier(model)
    kind: Any = partial(RidgeClassifier if classes else Ridge, fit_intercept=model.fit_intercept)
    folds = folds_of(model.cv, X, y, weights, groups, stratify=classes)
    own = {} if weights is None else {"sample_weight": weights}
    judge = Judge(scorer_of(kind(1.0), model.scoring), X, y, own)

    def scores_of(fold: int, split: Fold, late: Clock) -> Iterator[list[float]]:
        train, held = split
        part = rows_at(X, train), rows_at(y, train)
        given = None if weights is None else weights[train]
        score = judge.on(held)
        yield [score(kind(float(value)).fit(*part, given)) for value in values]

    means: np.ndarray = fold_scores(folds, (1, len(values)), scores_of, Clock())[0].mean(axis=1)
    return means


class _Predicted:
    """The predictions for each row by a fit without it, as an estimator for scorers."""

    def __init__(self, model: Any, scores: np.ndarray) -> None:
        self.__sklearn_tags__ = model.__sklearn_tags__
        self._scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
        self._estimator_type, self._predicted = "regressor", self._scores
        if is_classifier(model):
            self._estimator_type = "classifier"
            self._predicted = decided(model, scores.reshape(len(scores), -1))
            self.classes_ = model.classes_

    def predict(self, X: Any) -> np.ndarray:
        return self._predicted

    def decision_function(self, X: Any) -> np.ndarray:
        return self._scores


class RidgeCV(LeastSquaresRegressor):
    """:class:`Ridge` with ``alpha`` chosen by cross-validation, by default leave-one-out.

    Without ``cv`` every row is left out in turn, by a formula that needs only one decomposition.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
    fit_intercept : bool, default=True
    scoring : str or callable, optional
        By default the mean squared error without ``cv``, and R^2 with it.
    cv : int, splitter or iterable, optional
    store_cv_results : bool, default=False
        Keep ``cv_results_``.
    alpha_per_target : bool, default=False
        Choose a strength for each target.

    Attributes
    ----------
    alpha_ : float or ndarray of shape (n_targets,)
    best_score_ : float or ndarray of shape (n_targets,)
    cv_results_ : ndarray of shape (n_samples, n_alphas) or (n_samples, n_targets, n_alphas)
        Squared errors of the rows left out, or with ``scoring`` their predictions.
    coef_ : ndarray of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or ndarray of shape (n_targets,)
    certificate_ : ResidualCertificate
        The certificate of the fit to all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).alpha_
    0.01
    """

    alphas: Any = _ALPHAS
    scoring: Any = _SCORING
    cv: Any = _CV
    store_cv_results: bool = parameter(default=False)
    alpha_per_target: bool = parameter(default=False)
    gcv_mode: Any = compat(
        "not needed: one decomposition of the rows serves all folds and strengths", default=None
    )

    fit, alpha, solver_ = fit, property(_chosen_alpha), property(_solver_of)
    _check_parameters, _needs_all_rows = _check_parameters, _needs_all_rows

    _label = "ridge regression"
    _what, _by_alpha = _WHAT, True
    # Leaving one out takes a decomposition, which NaN does not survive.
    _checks_entries = True
    _attributes: ClassVar[rules.Rules] = {
        **Ridge._attributes,
        "alpha_": rules.either(rules.number(low=0.0), rules.array("m")),
        "best_score_": rules.either(rules.number(), rules.array("m")),
        "cv_results_": rules.one_of(
            rules.array("n", "values", finite=False), rules.array("n", "m", "values", finite=False)
        ),
    }
    _needed: tuple[str, ...] = (*Ridge._needed, "alpha_", "best_score_")


class RidgeClassifierCV(LeastSquaresLabels):
    """:class:`RidgeClassifier` with ``alpha`` chosen by cross-validation, as in :class:`RidgeCV`.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,), default=(0.1, 1.0, 10.0)
    fit_intercept : bool, default=True
    scoring : str or callable, optional
        By default the mean squared error of the targets without ``cv``, and accuracy with it.
    cv : int, splitter or iterable, optional
    class_weight : dict or "balanced", optional
    store_cv_results : bool, default=False
        Keep ``cv_results_``.

    Attributes
    ----------
    alpha_, best_score_ : float
    cv_results_ : ndarray of shape (n_samples, 1, n_alphas) or (n_samples, K, n_alphas)
    coef_ : ndarray of shape (n_features,) or (K, n_features)
    intercept_ : ndarray of shape (1,) or (K,)
    classes_ : ndarray of shape (K,)
    certificate_ : ResidualCertificate

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import RidgeClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> RidgeClassifierCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).alpha_
    0.01
    """

    alphas: Any = _ALPHAS
    scoring: Any = _SCORING
    cv: Any = _CV
    class_weight: Any = parameter(default=None)
    store_cv_results: bool = parameter(default=False)

    fit, alpha, solver_ = fit, property(_chosen_alpha), property(_solver_of)
    _check_parameters, _needs_all_rows = _check_parameters, _needs_all_rows

    _label = "ridge classifier"
    _margin_loss = "squared_error"
    _what, _by_alpha = _WHAT, True
    _other_classes = -1.0
    _checks_entries = True
    _attributes: ClassVar[rules.Rules] = {
        **_LABELS,
        **{name: RidgeCV._attributes[name] for name in ("alpha_", "best_score_", "cv_results_")},
    }
    _needed: tuple[str, ...] = (*RidgeClassifier._needed, "alpha_", "best_score_")
