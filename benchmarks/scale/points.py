"""Weights on their way from a peer's process to the one that judges them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np


def save(out: str, name: str, started: float, coef: Any, intercept: float) -> dict[str, Any]:
    """Save a point, with the seconds since ``started`` (of ``time.time()``)."""
    seconds = time.time() - started
    path = Path(out) / f"{name.replace(' ', '-')}.npy"
    theta = np.append(np.asarray(coef, dtype=np.float64).ravel(), float(intercept))
    np.save(path, theta)
    return {"name": name, "seconds": seconds, "theta": str(path)}
