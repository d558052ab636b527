"""The rows of one call of ``partial_fit``, and what every seed is for."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_consistent_length, column_or_1d

from separatrix.data.labels import Labels, encode_among, known_classes
from separatrix.data.validation import require_classes, sample_weight_of, validate

SEED_OF_VISITS = (
    "the seed of methods that visit rows in random order; it changes results by no more than `tol`"
)


def portion_of(
    estimator: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    finite: bool = True,
) -> tuple[Any, Labels]:
    """The matrix and the labels of one call of ``partial_fit``.

    The first call settles the columns and the classes; later ones are held to them.
    """
    earlier = getattr(estimator, "classes_", None)
    known = known_classes(classes, earlier)
    if earlier is None:
        matrix, y = validate(estimator, X, y, finite=finite)
    else:
        matrix, y = validate(estimator, X, finite=finite), column_or_1d(y, warn=True)
        check_consistent_length(matrix, y)
    require_classes(y)
    weights = sample_weight_of(sample_weight, matrix)
    return matrix, encode_among(known, y, weights, class_weight)
