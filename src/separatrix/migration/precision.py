"""Differences in precision from scikit-learn's models fitted to float32 rows, as a table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_regressor

import separatrix
from separatrix.migration.installing import originals

_RESULTS = (
    *("coef_", "intercept_", "means_", "support_vectors_", "dual_coef_"),
    *("predict", "decision_function", "predict_proba", "predict_log_proba", "transform"),
)
# Parameters without which a class has no probabilities, or no solution.
_OPTIONS: dict[str, dict[str, Any]] = {
    "NuSVC": {"nu": 0.2},
    "SGDClassifier": {"loss": "log_loss"},
}


def precision_table() -> str:
    """A table in Markdown, from fits of both classes of each name to a few rows of float32.

    Returns
    -------
    str
        A row for each class and precision that differs: which results have it, in scikit-learn and
        here.  Binary labels and labels of three classes are tried, and targets of float32 and of
        float64.
    """
    lines = ["| class | results | scikit-learn | here |", "|---|---|---|---|"]
    classes = originals()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in sorted(classes):
            differing: dict[tuple[str, str], list[str]] = {}
            for X, y in _rows(is_regressor(classes[name]())):
                options = _OPTIONS.get(name, {})
                theirs = classes[name](**options).fit(X, y)
                ours = getattr(separatrix, name)(**options).fit(X, y)
                for result in _RESULTS:
                    pair = _precision(theirs, result, X), _precision(ours, result, X)
                    if pair[0] and pair[0] != pair[1]:
                        found = differing.setdefault(pair, [])
                        found.extend([result] if result not in found else [])
            for (other, here), results in differing.items():
                listed = ", ".join(f"`{result}`" for result in results)
                lines.append(f"| `{name}` | {listed} | {other} | {here} |")
    return "\n".join(lines) + "\n"


def _rows(numbers: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3))
    scores = X @ [1.0, -2.0, 0.5] + random.normal(size=90)
    X32 = X.astype(np.float32)
    if numbers:
        # Counts, which every regression takes.
        counts = np.round(np.abs(scores))
        return [(X32, counts), (X32, counts.astype(np.float32))]
    return [(X32, (scores > 0.0).astype(int)), (X32, np.digitize(scores, [-1.0, 1.0]))]


def _precision(model: Any, result: str, X: np.ndarray) -> str:
    """The type of an attribute, or of the result of a method; empty where there is none."""
    found = getattr(model, result, None)
    if callable(found):
        found = found(X)
    if isinstance(found, list):
        found = found[0]
    if isinstance(found, float):
        return "float64"
    dtype = getattr(found, "dtype", None)
    return str(dtype) if dtype is not None and dtype.kind == "f" else ""


if __name__ == "__main__":
    print(precision_table(), end="")
