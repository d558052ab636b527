"""The rows of a regression: their targets, weights and bounds, and the rules of what is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data import rules
from separatrix.data.targets import TrainingRows
from separatrix.data.validation import column_bounds, sample_weight_of, validate
from separatrix.messages import counted
from separatrix.models.scores import column_names

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


def check_targets(model: Any) -> None:
    """Raise ModelCheckError unless the weights are of as many targets as the intercept."""
    if np.ndim(model.coef_) != np.ndim(model.intercept_) + 1:
        why = "has one target where intercept_ has several, or the reverse"
        raise rules.refuse("coef_", why)


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
    """The number of targets that a fitted model predicts."""
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
