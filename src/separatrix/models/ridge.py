"""Ridge regression and classification by it, under scikit-learn's names and strengths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import is_multilabel

from separatrix.closed_form.leave_one_out import leave_one_out_residuals
from separatrix.closed_form.triangular import LeastSquaresSolution
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.labels import encode, indicator
from separatrix.data.splitting import Fold, folds_of
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import (
    check_number,
    require_classes,
    sample_weight_of,
    validate,
)
from separatrix.models.blocked import InPasses, refuse, require_alone
from separatrix.models.certified import FitContext
from separatrix.models.composing import answers_of, require_room
from separatrix.models.least_squares import (
    LeastSquares,
    LeastSquaresLabels,
    LeastSquaresRegressor,
)
from separatrix.models.limits import CERTIFIED_GAP
from separatrix.models.parameters import compat, fitted, parameter
from separatrix.models.path import Path, best_of
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
from separatrix.probabilities.ties import winners

__all__ = ["Ridge", "RidgeCV", "RidgeClassifier", "RidgeClassifierCV"]

_STRENGTHS: rules.Rules = {
    **{name: rule for name, rule in LEAST_SQUARES.items() if name != "lam_"},
    "lam_": rules.either(rules.number(low=0.0), rules.array("m")),
}


class RidgeRegression(LeastSquares):
    """Least squares with ``alpha``, which counts against the sum over the rows."""

    alpha: Any = parameter(default=1.0, minimum=0, each=True, kw_only=False)
    tol: float = parameter(default=1e-10, minimum=0, meaning=CERTIFIED_GAP)
    copy_X: bool = COPY_X
    max_iter: Any = compat("not needed: the equations are solved to rounding", default=None)
    solver: str = compat(
        "not needed: the size of the equations decides how they are solved", default="auto"
    )
    positive: bool = POSITIVE
    random_state: Any = NOTHING_RANDOM

    _strengths: ClassVar[dict[str, bool]] = {"alpha": False}
    _what = "minimise 1/2 sum s_i |y_i - W x_i{level}|^2{penalty}"
    _other_classes = -1.0
    _in_single = True
    _keeps_factor = False
    coef_: np.ndarray = fitted()
    intercept_: Any = fitted()

    @property
    def _tolerance(self) -> float:  # type: ignore[override]
        # What rounding allows is reached in any case.
        return max(float(getattr(self, "tol", 0.0)), super()._tolerance)

    @property
    def lam(self) -> float:
        """``alpha``, the largest, against a mean over the rows of the fit; no parameter."""
        return float(np.max(self.alpha)) / getattr(self, "n_samples_seen_", np.inf)

    def _ridges(self, total: float, n_targets: int) -> np.ndarray:
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        if len(alphas) not in (1, n_targets):
            raise ValueError(
                f"alpha has {len(alphas)} values, and there are {n_targets} targets; give one "
                "value, or one for each target."
            )
        return alphas[:1] if bool(np.all(alphas == alphas[0])) else alphas

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        if np.size(self.alpha) > 1:
            return "alpha has one value for each target: give a single number"
        return super()._needs_all_rows(n_classes)

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

    def _path_values(self, parameter: str, count: int, run: Any) -> np.ndarray:
        total = len(run.y) if run.weights is None else float(run.weights.sum())
        return super()._path_values(parameter, count, run) * total

    @property
    def solver_(self) -> str:
        """How the equations were solved."""
        return "sparse_cg" if vars(self).get("factor_", "cholesky") is None else "cholesky"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.fit_intercept not in (True, False):
            raise ValueError(f"fit_intercept={self.fit_intercept!r} is not True or False.")

    def _keep(self, solution: LeastSquaresSolution, rows: TrainingRows) -> None:
        super()._keep(solution, rows)
        self.n_iter_ = max(1, self.n_iter_)
        # No rows are added later; that it is None says how the equations were solved.
        if solution.method != "cgls":
            del self.factor_

    def _described(self) -> dict[str, Any]:
        alphas = np.asarray(self.alpha, dtype=np.float64).ravel()
        lam: Any = float(self.lam)
        penalty = ""
        if len(alphas) > 1:
            lam = alphas / self.n_samples_seen_
            penalty = " + 1/2 sum_k alpha_k |w_k|^2"
        elif alphas[0] > 0:
            penalty = f" + {alphas[0] / 2:g} |W|^2"
        level = " - b" if self.fit_intercept else ""
        return {
            "lam_": lam,
            "objective_formula_": self._what.format(level=level, penalty=penalty),
        }


class Ridge(LeastSquaresRegressor, RidgeRegression):
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
        How the equations were solved: ``"cholesky"``, by their factor, or ``"sparse_cg"``.
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

    alpha: Any = parameter(default=1.0, kw_only=False)

    _label = "ridge regression"
    _attributes: ClassVar[rules.Rules] = {
        **_STRENGTHS,
        "coef_": rules.one_of(rules.array("d", single=True), rules.array("m", "d", single=True)),
        "intercept_": rules.either(rules.number(), rules.array("m", single=True)),
        "mse_": MSE,
    }


def _of_several(matrix: Any, y: Any, weights: Any, class_weight: Any) -> TrainingRows:
    """Targets -1 and +1 for each of several labels a row, which is an indicator of them."""
    present = indicator(y, matrix.shape[0])
    total = float(len(present) if weights is None else weights.sum())
    if class_weight is not None:
        factors = compute_sample_weight(class_weight, present)
        weights = factors if weights is None else weights * factors
    targets, classes = np.asfortranarray(2.0 * present - 1.0), np.arange(present.shape[1])
    return TrainingRows(matrix, targets, weights, total, classes=classes, several=True)


class RidgeLabels(LeastSquaresLabels, RidgeRegression):
    """Ridge regression on the signs of classes."""

    def _keep_coefficients(self, solution: LeastSquaresSolution, alone: bool) -> None:
        # Of two classes in one dimension, as scikit-learn 1.9 has it.
        self.coef_ = solution.coef[0] if len(solution.coef) == 1 else solution.coef
        self.intercept_ = np.atleast_1d(solution.intercept)

    def _keep_classes(self, rows: TrainingRows) -> None:
        super()._keep_classes(rows)
        self.multilabel_ = rows.several

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        matrix, y = validate(self, X, y, finite=self._checks_entries, several=True)
        require_classes(y)
        weights = sample_weight_of(sample_weight, matrix)
        if y.ndim == 2 and is_multilabel(y):
            return as_design(matrix), _of_several(matrix, y, weights, self.class_weight)
        labels = encode(column_or_1d(y, warn=True), weights, self.class_weight)
        return as_design(matrix), self._coded(matrix, labels)

    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        if not self._several:
            return super()._rows_again(X, y, sample_weight)
        matrix = validate(self, X)
        weights = sample_weight_of(sample_weight, matrix)
        return as_design(matrix), _of_several(matrix, y, weights, self.class_weight)

    @property
    def _several(self) -> bool:
        """Whether a row has several labels."""
        return bool(getattr(self, "multilabel_", False))

    def _chosen(self, scores: np.ndarray) -> np.ndarray:
        if self._several:
            return (scores > 0).astype(np.int64)
        return self.classes_[winners(scores)]

    def predict(self, X: Any) -> np.ndarray:
        """The class of the largest score, or each label whose score is positive.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, K) of zeros and ones for K labels a row
        """
        return self._chosen(self.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


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


class RidgeClassifier(RidgeLabels):
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

    alpha: float = parameter(default=1.0, kw_only=False)
    class_weight: Any = parameter(default=None)

    _label = "ridge classifier"
    _margin_loss = "squared_error"
    _attributes: ClassVar[rules.Rules] = _LABELS


# What a given strength has for scikit-learn's sake, and a choice has not.
_GIVEN = ("alpha", "tol", "copy_X", "max_iter", "solver", "positive", "random_state")


class ChosenRidge(RidgeRegression, without=_GIVEN):
    """The strength chosen by leaving rows out."""

    alphas: Any = parameter(default=(0.1, 1.0, 10.0), minimum=0, each=True, kw_only=False)
    fit_intercept: bool = parameter(default=True)
    scoring: Any = parameter(default=None, meaning="the same; `score` also uses it")
    cv: Any = parameter(default=None, meaning="the same; None is leave-one-out")
    store_cv_results: bool = parameter(default=False)

    _member: ClassVar[Any]
    # Leaving one out takes a decomposition, which NaN does not survive.
    _checks_entries = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        engine: Any = None,
        **params: Any,
    ) -> Self:
        """Choose the strength, and fit to all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), or BlockedData
            Of row blocks of :func:`separatrix.scale.scan` single rows are left out, in two passes.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels for a classifier.
        sample_weight : array-like of shape (n_samples,), optional
        engine : separatrix.scale.Engine, optional
            What computes the passes over row blocks; by default the threads of this process.
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
        self._fit(X, y, sample_weight, engine=engine, groups=groups_of(params))
        return self

    def _needs_all_rows(self, n_classes: int | None = None) -> str | None:
        whys = (
            (self.cv is not None, "it leaves out single rows: leave cv at None"),
            (self.scoring is not None, "it is chosen by squared errors: leave scoring at None"),
            (self.store_cv_results, "an error of every row is as long as the data"),
        )
        return next((why for given, why in whys if given), None)

    def _run(self, fit: FitContext) -> bool:
        if fit.blocks is None:
            self._keep_classes(fit.target)
            self._choose(fit.target, *fit.given)
        else:
            self._choose_over(fit.blocks, fit.given[2])
        return super()._run(fit)

    def _choose_over(self, rows: InPasses, groups: Any) -> None:
        """Set ``alpha_`` and ``best_score_`` over row blocks."""
        from separatrix.scale.equations import left_out_errors

        require_alone(None, None, groups)
        answers = answers_of(rows, self._other_classes)
        require_room(rows, answers.count)
        if rows.data.n_rows <= rows.n_features + 1:
            raise refuse(self, "it has no more rows than columns to leave one out of")
        values = np.asarray(self.alphas, dtype=np.float64).ravel()
        centred = bool(self.fit_intercept)
        errors = left_out_errors(rows.passes, answers, values, fit_intercept=centred)
        best = best_of(-errors.mean(axis=1))
        self.alpha_, self.best_score_ = float(values[best]), -float(errors[best].mean())

    def _check_parameters(self) -> None:
        super()._check_parameters()
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

    def _choose(self, rows: TrainingRows, X: Any, y: Any, groups: Any) -> None:
        """Set ``alpha_`` and ``best_score_``."""
        values = np.asarray(self.alphas, dtype=np.float64).ravel()
        if self.cv is not None:
            # Weights of classes are weights of rows by now.
            self._choose_by_folds(values, X, y, rows.weights, groups)
            return
        if groups is not None:
            raise ValueError(
                "groups are for the splitter of cv, and cv=None leaves out single rows; give a "
                "splitter, for instance cv=GroupKFold(5)."
            )
        if len(rows.targets) < 2:
            raise ValueError("Leave-one-out needs at least two rows, and there is 1 sample.")
        residuals = leave_one_out_residuals(
            as_design(rows.matrix), rows.targets, values, rows.weights, bool(self.fit_intercept)
        )
        scores = self._scores_of(rows, residuals, y)
        each = getattr(self, "alpha_per_target", False) and not rows.alone
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
        found = values[best]
        self.alpha_ = found if each else float(found[0])
        picked = scores[best, np.arange(len(best))]
        self.best_score_ = picked if each else float(picked[0])
        if self.store_cv_results:
            kept = rows.targets - residuals
            if self.scoring is None:
                kept = np.square(residuals) * _factors(rows)
            kept = np.moveaxis(kept, 0, -1)
            self.cv_results_ = kept[:, 0] if rows.alone else kept

    def _scores_of(self, rows: TrainingRows, residuals: np.ndarray, y: Any) -> np.ndarray:
        """A score for each strength and target, the larger the better."""
        if self.scoring is None:
            return -np.mean(np.square(residuals) * _factors(rows), axis=1)
        scorer = scorer_of(self, self.scoring)
        predicted = rows.targets - residuals
        # Of all targets together, unless each is to have a strength of its own.
        each = getattr(self, "alpha_per_target", False) and not rows.alone
        out = np.empty((len(residuals), rows.targets.shape[1] if each else 1))
        options = {} if rows.weights is None else {"sample_weight": rows.weights}
        for k, values in enumerate(predicted):
            for target in range(out.shape[1]):
                given = _Given(self, values[:, target] if each else values)
                truth = rows.targets[:, target] if each else y
                if not (each or rows.alone or is_classifier(self)):
                    truth = rows.targets
                out[k, target] = scorer(given, np.zeros((len(values), 1)), truth, **options)
        return out

    def _choose_by_folds(
        self, values: np.ndarray, X: Any, y: Any, weights: np.ndarray | None, groups: Any
    ) -> None:
        folds = folds_of(self.cv, X, y, weights, groups, stratify=is_classifier(self))
        own = {} if weights is None else {"sample_weight": weights}
        judge = Judge(scorer_of(self._member(1.0), self.scoring), X, y, own)

        def scores_of(fold: int, split: Fold, late: Clock) -> Iterator[list[float]]:
            train, held = split
            part = rows_at(X, train), rows_at(y, train)
            given = None if weights is None else weights[train]
            score = judge.on(held)
            yield [score(self._member(float(value)).fit(*part, given)) for value in values]

        mean = fold_scores(folds, (1, len(values)), scores_of, Clock())[0].mean(axis=1)
        best = best_of(mean)
        self.alpha_, self.best_score_ = float(values[best]), float(mean[best])

    @property  # type: ignore[misc]
    def alpha(self) -> Any:
        """The strength chosen; never a parameter."""
        return self.alpha_


def _factors(rows: TrainingRows) -> Any:
    """The weights of squared errors: not of mean one, as in scikit-learn."""
    return 1.0 if rows.weights is None else rows.weights[:, None]


class _Given:
    """What was predicted without each row, as scorers ask an estimator for it."""

    def __init__(self, model: Any, scores: np.ndarray) -> None:
        self.__sklearn_tags__ = model.__sklearn_tags__
        self._scores = scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores
        self._estimator_type = "classifier" if is_classifier(model) else "regressor"
        if is_classifier(model):
            self.classes_, self._chosen = model.classes_, model._chosen

    def predict(self, X: Any) -> np.ndarray:
        return self._chosen(self._scores) if hasattr(self, "classes_") else self._scores

    def decision_function(self, X: Any) -> np.ndarray:
        return self._scores


class RidgeCV(LeastSquaresRegressor, ChosenRidge):
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
        Of the fit to all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from separatrix import RidgeCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RidgeCV(alphas=[1e-3, 1e-2, 1e-1, 1]).fit(X, y).alpha_
    0.01
    """

    alpha_per_target: bool = parameter(default=False)
    gcv_mode: Any = compat(
        "not needed: one decomposition of the rows serves all folds and strengths", default=None
    )

    _label = "ridge regression"
    _attributes: ClassVar[rules.Rules] = {
        **Ridge._attributes,
        "alpha_": rules.either(rules.number(low=0.0), rules.array("m")),
        "best_score_": rules.either(rules.number(), rules.array("m")),
        "cv_results_": rules.one_of(
            rules.array("n", "values", finite=False), rules.array("n", "m", "values", finite=False)
        ),
    }
    _needed: tuple[str, ...] = (*Ridge._needed, "alpha_", "best_score_")

    def _member(self, alpha: float) -> Ridge:
        return Ridge(alpha, fit_intercept=self.fit_intercept)


class RidgeClassifierCV(ChosenRidge, RidgeLabels, without=_GIVEN):
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

    class_weight: Any = parameter(default=None)

    _label = "ridge classifier"
    _margin_loss = "squared_error"
    _attributes: ClassVar[rules.Rules] = {
        **_LABELS,
        **{name: RidgeCV._attributes[name] for name in ("alpha_", "best_score_", "cv_results_")},
    }
    _needed: tuple[str, ...] = (*RidgeLabels._needed, "alpha_", "best_score_")

    def _member(self, alpha: float) -> RidgeClassifier:
        return RidgeClassifier(alpha, fit_intercept=self.fit_intercept)
