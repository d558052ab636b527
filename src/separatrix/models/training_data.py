"""Whether data are those that a kernel machine was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.data.design import Design
from separatrix.data.labels import Labels
from separatrix.kernels.functions import Kernel, PrecomputedKernel


def other_data(model: Any, why: str) -> str:
    """Return the message about data that are not those of the fit."""
    return (
        f"X is not what this {type(model).__name__} was trained on: {why}; pass the training data, "
        "with sample_weight where the fit had it."
    )


def require_rows(
    model: Any, design: Design, rows: np.ndarray, points: Any, what: str, kernel: Kernel
) -> None:
    """Raise ValueError unless the points that a model keeps are these rows of the data."""
    n = design.n_samples
    if len(rows) and int(np.max(rows)) >= n:
        raise ValueError(
            other_data(model, f"its {what} have row numbers up to {int(np.max(rows)):,}")
        )
    if isinstance(kernel, PrecomputedKernel):
        if design.n_features != n:
            raise ValueError(
                other_data(model, f"its matrix must be square, and has the shape {design.shape}")
            )
        return
    if not _same_rows(design, rows, points):
        raise ValueError(
            other_data(model, f"its {what} are not the rows of X at their row numbers")
        )


def _same_rows(design: Design, rows: np.ndarray, points: Any) -> bool:
    # scikit-learn keeps no points for a kernel that is a function.
    if not points.shape[0] or points.shape != (len(rows), design.n_features):
        return points.shape[0] == 0
    found = design.take(np.asarray(rows, dtype=np.intp)).matrix
    if sp.issparse(found) or sp.issparse(points):
        apart = sp.csr_array(found, dtype=np.float64) - sp.csr_array(points, dtype=np.float64)
        return not np.any(apart.data)
    return bool(np.array_equal(np.asarray(found, dtype=np.float64), points))


def require_classes(model: Any, labels: Labels, support: np.ndarray) -> None:
    """Raise ValueError unless the support vectors have the labels that they had in the fit."""
    of_class = np.repeat(np.arange(len(labels.classes)), model.n_support_)
    wrong = np.flatnonzero(labels.codes[support] != of_class)
    if len(wrong):
        row = int(support[wrong[0]])
        label, was = labels.classes[[labels.codes[row], of_class[wrong[0]]]].tolist()
        raise ValueError(
            f"y is not what this {type(model).__name__} was trained on: row {row} has the label "
            f"{label!r}, and as a support vector it had {was!r}; pass the training data."
        )
