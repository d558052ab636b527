"""Weights in the precision of the data, and the names of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.design import Design


def narrowed(
    coef: np.ndarray, intercept: np.ndarray, design: Design
) -> tuple[np.ndarray, np.ndarray]:
    """Weights and intercepts as float32, where the data are, and that loses nothing."""
    if design.matrix.dtype == np.float32:
        narrow = coef.astype(np.float32), intercept.astype(np.float32)
        if np.array_equal(narrow[0], coef) and np.array_equal(narrow[1], intercept):
            return narrow
    return coef, intercept


def column_names(model: Any) -> list[str]:
    """The names of a fitted model's columns; ``x0``, ``x1``, ... where they have none."""
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(model.n_features_in_)] if names is None else [*map(str, names)]
