"""Values as JSON has them, and scores in a line."""

from __future__ import annotations

import math
from typing import Any


def jsonable(value: Any) -> Any:
    """Turn numpy's numbers and arrays into JSON's; an infinity becomes text and NaN null."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return jsonable(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else repr(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def headline(scores: dict[str, Any]) -> str:
    """``accuracy 0.847 [0.838, 0.856]   ROC AUC 0.903   log loss 0.320``, or of a quantity
    ``R^2 0.452   RMSE 53.9   MAE 43.8   MSE 2,900``."""
    if "mse" in scores:
        r2 = scores["r2"]
        parts = [] if r2 is None else [f"R^2 {r2:.3f}" if r2 > -1000.0 else f"R^2 {r2:.3g}"]
        parts += [f"{name} {scores[name.lower()]:,.4g}" for name in ("RMSE", "MAE", "MSE")]
        return "   ".join(parts)
    low, high = scores["accuracy_interval"]
    parts = [f"accuracy {scores['accuracy']:.3f} [{low:.3f}, {high:.3f}]"]
    if scores["roc_auc"] is not None:
        # Scores that were counted in bins determine it only up to this error.
        error = scores.get("roc_auc_error") or 0.0
        within = f" (within {error:.3f})" if error >= 5e-4 else ""
        parts.append(f"ROC AUC {scores['roc_auc']:.3f}{within}")
    if scores["log_loss"] is not None:
        parts.append(f"log loss {scores['log_loss']:.3f}")
    return "   ".join(parts)
