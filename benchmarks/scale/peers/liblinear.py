"""LIBLINEAR's dual coordinate descent in memory, as scikit-learn carries it."""

from __future__ import annotations

import time
from typing import Any

NAME = "LIBLINEAR"
NEEDS = ("sklearn",)
HOW = "pip install scikit-learn"
SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"tol": tol, "max_iter": 100_000} for tol in (1.0, 0.1, 0.01, 1e-3, 1e-4)
)


def fit(files: str, target: str, C: float, setting: dict, started: float) -> dict:
    """Seconds from files to weights, and their objective, added up in twice the usual digits."""
    import math

    import numpy as np
    from sklearn.svm import LinearSVC

    from benchmarks.scale.own import quiet, read_all

    X, y = read_all(files, target, "duckdb")
    with quiet():
        model = LinearSVC(loss="hinge", C=C, fit_intercept=False, random_state=0, **setting)
        model.fit(X, y)
    seconds = time.time() - started
    w = model.coef_.ravel()
    signs = np.where(y == model.classes_[1], 1.0, -1.0)
    losses = [
        math.fsum(
            np.maximum(0.0, 1.0 - signs[k : k + 65_536] * (X[k : k + 65_536].astype(float) @ w))
        )
        for k in range(0, len(y), 65_536)
    ]
    return {"seconds": seconds, "primal": 0.5 * float(w @ w) + C * math.fsum(losses)}
