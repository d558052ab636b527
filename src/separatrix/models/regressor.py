"""What the regressions share: fitted values, residuals, and the share that they explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.closed_form.inference import Summary, least_squares_summary
from separatrix.closed_form.triangular import LeastSquaresSolution
from separatrix.data import rules
from separatrix.data.design import Design, as_design
from separatrix.data.targets import TargetFacts
from separatrix.data.validation import column_bounds, sample_weight_of, validate
from separatrix.messages import Message, Setting, counted
from separatrix.models.scores import NumberPredictions, column_names

if TYPE_CHECKING:
    from separatrix.models.blocked import InPasses

__all__ = [
    "LEAST_SQUARES",
    "MSE",
    "Regressor",
    "TrainingRows",
    "bounds_of",
    "check_factor",
    "require_targets",
    "rows_of_fit",
]


class TrainingRows(NamedTuple):
    """The checked rows, targets and weights of a regression.

    Attributes
    ----------
    matrix : ndarray or CSR matrix
    targets : ndarray of shape (n_samples, m)
    weights : ndarray of shape (n_samples,) or None
    total : float
        Sum of the sample weights.
    alone : bool
        Whether there was one target, in one dimension.
    classes : ndarray or None
        The labels that the targets stand for.
    several : bool
        Whether a row can have several of them.
    """

    matrix: Any
    targets: np.ndarray
    weights: np.ndarray | None
    total: float
    alone: bool = False
    classes: np.ndarray | None = None
    several: bool = False

    @classmethod
    def of_blocks(cls, fit: InPasses, total: float) -> TrainingRows:
        """The record of rows in blocks, without the rows and their targets."""
        classes = fit.classes if len(fit.classes) else None
        return cls(None, np.empty((0, 1)), None, total, classes is None, classes)

    @classmethod
    def of(cls, matrix: Any, y: np.ndarray, weights: np.ndarray | None) -> TrainingRows:
        """Rows with numbers to be fitted."""
        total = float(len(y) if weights is None else weights.sum())
        return cls(matrix, y.reshape(len(y), -1), weights, total, y.ndim == 1)

    def take(self, index: np.ndarray) -> TrainingRows:
        """Return a subset of the rows."""
        weights = None if self.weights is None else self.weights[index]
        return TrainingRows.of(self.matrix[index], self.targets[index], weights)

    def parts(self) -> list[tuple[str, np.ndarray]]:
        """A name and the numbers of every target; without a name where there is one."""
        several = self.targets.shape[1] > 1
        return [
            (f"target {k}" if several else "", np.ascontiguousarray(y))
            for k, y in enumerate(self.targets.T)
        ]

    def facts_of(self, target: np.ndarray) -> TargetFacts:
        """The facts about the numbers of one target."""
        return TargetFacts.of(target, self.weights)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """The shape of one row's targets, as they were given."""
        return () if self.alone else self.targets.shape[1:]

    @property
    def n_used(self) -> int:
        """Rows with a weight."""
        return len(self.targets) if self.weights is None else int(np.count_nonzero(self.weights))


_FACTOR = rules.optional(
    rules.record(
        "TriangularFactor",
        {
            "weight": rules.number(low=0.0),
            "mean": rules.array("columns and targets", finite=False),
            "r": rules.array("rows of the factor", "columns and targets", finite=False),
            "n_rows": rules.whole(),
            "n_targets": rules.whole(1),
            "centred": rules.flag,
            "mean_rest": rules.array("columns and targets", finite=False),
        },
    )
)
#: The attributes of what solves least squares.
LEAST_SQUARES: rules.Rules = {
    **rules.COMMON,
    "rank_": rules.whole(),
    "condition_number_": rules.number(finite=False, low=0.0),
    "factor_": _FACTOR,
    "n_samples_seen_": rules.number(low=0.0),
    "lam_": rules.number(low=0.0),
    "certificate_": rules.equations,
}
#: The mean squared error of each target.
MSE = rules.either(rules.number(finite=False), rules.array("m", finite=False))


def check_factor(model: Any, sizes: rules.Sizes) -> None:
    """Raise ModelCheckError unless the factor is of all columns, or terms, and of the targets."""
    m = sizes.known.setdefault("m", sizes.known.get("h", 1))
    columns = sizes.known.get("terms", sizes.known["d"])
    if vars(model).get("rank_", 0) > columns:
        raise rules.refuse("rank_", f"is {model.rank_:,} for {columns:,} columns")
    factor = vars(model).get("factor_")
    if factor is not None and (
        factor.n_targets != m or len(factor.mean) != columns + m or len(factor.r) > len(factor.mean)
    ):
        raise rules.refuse("factor_", "has columns or targets that the model does not have")


def rows_of_fit(model: Any, X: Any, y: Any, sample_weight: Any) -> TrainingRows:
    """The rows of a fitted model, of this library or scikit-learn's, with as many targets."""
    matrix, numbers = validate(model, X, y, regression=True, reset=False)
    found, expected = numbers.reshape(len(numbers), -1).shape[1], _n_targets(model)
    if found != expected:
        raise ValueError(
            f"y has {found} columns, and the model was fitted to {expected}; pass the training "
            "data."
        )
    return TrainingRows.of(matrix, numbers, sample_weight_of(sample_weight, matrix))


def _n_targets(model: Any) -> int:
    """How many numbers a fitted model predicts."""
    # A machine with a kernel has one, and weights only where the kernel is linear.
    one = hasattr(model, "dual_coef_") or np.ndim(model.coef_) == 1
    return 1 if one else int(model.coef_.shape[0])


def bounds_of(model: Any, n_features: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The bounds of the weights of a model, of this library or scikit-learn's; None for none."""
    if getattr(model, "positive", False):
        return np.zeros(n_features), np.full(n_features, np.inf)
    if getattr(model, "bounds", None) is None:
        return None
    lower, upper = column_bounds(model.bounds, column_names(model))
    return (lower, upper) if np.isfinite(lower).any() or np.isfinite(upper).any() else None


class Regressor(MultiOutputMixin, NumberPredictions):
    """An estimator of one number a row, or of several, by least squares."""

    certificate_: Any
    factor_: Any
    condition_number_: float
    n_samples_seen_: float
    lam: float
    _checks_entries: bool

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        rows = self._rows_of(X, y, sample_weight, finite=self._checks_entries)
        return as_design(rows.matrix), rows

    def _rows_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Design, TrainingRows]:
        rows = rows_of_fit(self, X, y, sample_weight)
        return self._design_of(rows.matrix), rows

    def _rows_in(self, run: Any, fold: int) -> TrainingRows:
        return TrainingRows.of(run.matrix, run.y, run.weights_of(fold))

    def _rows_of(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> TrainingRows:
        matrix, numbers = validate(self, X, y, regression=True, **options)
        return TrainingRows.of(matrix, numbers, sample_weight_of(sample_weight, matrix))

    def _keep_coefficients(self, solution: LeastSquaresSolution, alone: bool) -> None:
        self._keep_numbers(alone, solution.coef, solution.intercept, solution.mse)

    def _keep_numbers(
        self, alone: bool, coef: np.ndarray, intercept: np.ndarray, mse: np.ndarray
    ) -> None:
        self.coef_ = coef[0] if alone else coef
        self.intercept_ = np.float64(intercept[0]) if alone else intercept
        self.mse_ = float(mse[0]) if alone else mse

    def _check_attributes(self, sizes: rules.Sizes) -> None:
        if np.ndim(self.coef_) != np.ndim(self.intercept_) + 1:
            why = "has one target where intercept_ has several, or the reverse"
            raise rules.refuse("coef_", why)
        if np.ndim(self.coef_) == 1 and sizes.known.setdefault("m", 1) != 1:
            raise rules.refuse("coef_", f"has one target, and the model has {sizes.known['m']:,}")
        check_factor(self, sizes)

    def _require_no_penalty(self) -> None:
        check_is_fitted(self)
        if getattr(self, "positive", False):
            raise ValueError(
                "weights that are constrained to be nonnegative have no standard errors; fit with "
                "positive=False."
            )
        if getattr(self, "bounds", None) is not None:
            raise ValueError("weights between bounds have no standard errors; fit without them.")
        # Of the fit, whatever the parameter has been set to since.
        if vars(self).get("lam_", self.lam) > 0:
            raise ValueError(Message("summary_of_penalised", without=Setting("lam", 0)))

    def _design_of(self, matrix: Any) -> Design:
        """What the coefficients multiply."""
        return as_design(matrix)

    def _summarised(
        self, coef: Any, intercept: Any, X: Any, y: Any, sample_weight: Any, **options: Any
    ) -> Summary | tuple[Summary, ...]:
        """The summaries of a fit whose factor is there, and of full rank."""
        if not self.certificate_.ok:
            certificate = str(self.certificate_)
            raise ValueError(
                Message("summary_of_unfinished", fit="this fit", certificate=certificate)
            )
        if (X is None) != (y is None):
            raise ValueError("give both X and y, or neither.")
        alone = np.ndim(self.intercept_) == 0
        if X is not None:
            rows = self._rows_of(X, y, sample_weight, reset=False)
            expected = () if alone else np.shape(self.intercept_)
            require_targets(rows.target_shape, expected)
            options["rows"] = (self._design_of(rows.matrix), rows.targets, rows.weights)
        found = least_squares_summary(
            self.factor_,
            np.atleast_2d(coef),
            np.atleast_1d(intercept),
            np.atleast_1d(self.mse_) * self.n_samples_seen_,
            condition=self.condition_number_,
            **options,
        )
        return found[0] if alone else found

    def projection(self, X: Any) -> np.ndarray:
        r"""The vector of fitted values :math:`\hat y = A x`.

        On the training rows, without a penalty: the orthogonal projection of the targets on the
        space that the columns span.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_targets)
        """
        return self.predict(X)

    def residuals(self, X: Any, y: Any) -> np.ndarray:
        """``y`` minus the fitted values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)

        Returns
        -------
        ndarray of the shape of ``y``
        """
        check_is_fitted(self)
        _, numbers = validate(self, X, y, regression=True, reset=False)
        fitted = self.predict(X)
        require_targets(numbers.shape[1:], fitted.shape[1:])
        return numbers - fitted

    def r2(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        r"""The coefficient of determination :math:`R^2`.

        .. math:: R^2 = 1 - \frac{\sum_i s_i (y_i - \hat y_i)^2}{\sum_i s_i (y_i - \bar y)^2} ,

        averaged over several targets; the same as :meth:`score`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        float
        """
        return float(self.score(X, y, sample_weight))


def require_targets(
    found: tuple[int, ...], expected: tuple[int, ...], when: str = "the model was fitted to"
) -> None:
    """Raise ValueError for other targets than there were; the shapes are those of one row's."""
    if found != expected:
        found_, expected_ = (
            f"two dimensions and {counted(shape[0], 'target')}" if shape else "one dimension"
            for shape in (found, expected)
        )
        raise ValueError(f"y has {found_}, and {when} {expected_}.")
