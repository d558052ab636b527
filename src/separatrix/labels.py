"""Labels: encoding, weights by class, and the split of K classes into binary problems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

__all__ = ["Labels", "class_factors", "codes_of", "encode", "merge_weights", "require_weights"]


@dataclass(frozen=True)
class Labels:
    """Encoded labels.

    Attributes
    ----------
    classes : ndarray of shape (K,)
        The distinct labels, sorted.
    codes : ndarray of shape (n_samples,)
        Position of every label in ``classes``.
    weights : ndarray of shape (n_samples,) or None
        Sample weight times class weight; None where both are one everywhere.
    total : float
        Sum of the sample weights alone: the ``n`` of the ``lam`` form.
    """

    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None
    total: float

    @property
    def binary(self) -> bool:
        return len(self.classes) == 2

    def signs(self, k: int = 1) -> np.ndarray:
        """+1 for class ``k``, -1 for the rest; for two classes the second is positive."""
        return np.where(self.codes == k, 1.0, -1.0)

    def parts(self) -> list[tuple[str, np.ndarray]]:
        """One-vs-rest: a name and signs for each binary problem; one for two classes."""
        if self.binary:
            return [("", self.signs())]
        return [(str(c), self.signs(k)) for k, c in enumerate(self.classes)]


def encode(y: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any) -> Labels:
    """Encode labels and merge the weights.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    sample_weight : ndarray of shape (n_samples,) or None
    class_weight : dict, "balanced" or None

    Raises
    ------
    ValueError
        For fewer than two classes of positive weight, or negative weights.
    """
    if sample_weight is not None:
        require_weights(sample_weight)
    weights = merge_weights(y, sample_weight, class_weight)
    # A weight of zero is the same as no row: a class that has no other rows is not there.
    present = slice(None) if weights is None else weights > 0
    classes = np.unique(y[present])
    if len(classes) < 2:
        shown = repr(classes[0].item()) if len(classes) else "none"
        where = "" if weights is None else " of positive weight"
        raise ValueError(
            f"y has one class only{where} ({shown}); a classifier needs rows of at least two "
            "classes."
        )
    total = float(len(y) if sample_weight is None else sample_weight.sum())
    return Labels(classes, codes_of(y, classes), weights, total)


def require_weights(sample_weight: np.ndarray) -> None:
    """Raise ValueError naming the first negative weight."""
    if np.any(sample_weight < 0):
        row = int(np.flatnonzero(sample_weight < 0)[0])
        raise ValueError(
            f"sample_weight must not be negative; row {row} has {sample_weight[row]:g}."
        )


def codes_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Position of every label among sorted classes; 0 for a label of no class."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    codes[classes[codes] != y] = 0
    return codes


def merge_weights(
    y: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any
) -> np.ndarray | None:
    """Sample weight times class weight; None where there is neither."""
    if class_weight is None:
        return sample_weight
    used = np.ones(len(y), dtype=bool) if sample_weight is None else sample_weight > 0
    classes = np.unique(y[used])
    factors = class_factors(y, classes, sample_weight, class_weight)
    by_row = np.where(used, factors[codes_of(y, classes)], 0.0)
    return by_row if sample_weight is None else sample_weight * by_row


def class_factors(
    y: np.ndarray, classes: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any
) -> np.ndarray:
    """The weight of every class; of those that have rows of positive weight."""
    used = slice(None) if sample_weight is None else sample_weight > 0
    factors = compute_class_weight(
        class_weight,
        classes=classes,
        y=y[used],
        sample_weight=None if sample_weight is None else sample_weight[used],
    )
    if np.any(factors < 0):
        raise ValueError("class_weight must not be negative.")
    return factors
