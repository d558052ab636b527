"""The rows of a regression: their targets, weights and bounds, and the rules of what is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix.data import rules
from separatrix.data.targets import TargetFacts
from separatrix.data.validation import column_bounds, sample_weight_of, validate
from separatrix.messages import counted
from separatrix.models.scores import column_names

if TYPE_CHECKING:
    from separatrix.models.blocked import InPasses

__all__ = [
    "LEAST_SQUARES",
    "MSE",
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
