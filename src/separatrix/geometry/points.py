"""Labelled points: what every statement about data is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets

from separatrix.design import Design, as_design
from separatrix.labels import Labels, encode
from separatrix.validation import validate

__all__ = ["LabelledPoints", "labelled_points"]


@dataclass(frozen=True, eq=False)
class LabelledPoints:
    """Validated points with their labels.

    Attributes
    ----------
    design : Design
    labels : Labels
    names : tuple of str or None
        Of the columns, where they had any.
    """

    design: Design
    labels: Labels
    names: tuple[str, ...] | None = None

    def column(self, j: int) -> str:
        """How a message calls a column."""
        return f"column {j}" if self.names is None else f"column {self.names[j]!r}"

    def pairs(self) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """For each two classes ``(a, b)``: the two, and the numbers of their rows."""
        classes = self.labels.classes
        for i in range(len(classes)):
            for j in range(i + 1, len(classes)):
                rows = np.flatnonzero((self.labels.codes == i) | (self.labels.codes == j))
                yield classes[i], classes[j], rows


def labelled_points(X: Any, y: Any) -> LabelledPoints:
    """Validate a matrix and its labels as an estimator would, without a copy where possible.

    Raises
    ------
    ValueError
        For NaN or infinity (named by row and column), lengths that differ, or one class only.
    """
    # scikit-learn's validation remembers the columns' names on an estimator.
    holder = BaseEstimator()
    matrix, y = validate(holder, X, y)
    check_classification_targets(y)
    names = getattr(holder, "feature_names_in_", None)
    return LabelledPoints(
        as_design(matrix),
        encode(y, None, None),
        None if names is None else tuple(str(name) for name in names),
    )
