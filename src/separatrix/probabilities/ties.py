"""Which class wins by its score, and probabilities that agree with it."""

from __future__ import annotations

import numpy as np

__all__ = ["agreeing", "winners"]


def winners(scores: np.ndarray) -> np.ndarray:
    """Class numbers from scores: the one place where ties are decided."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.intp)
    return scores.argmax(axis=1)


def agreeing(proba: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """Lift the winner's probability by an ulp where rounding made it tie or lose."""
    rows = np.arange(len(proba))
    others = proba.copy()
    others[rows, winner] = -np.inf
    best = others.max(axis=1)
    tied = proba[rows, winner] <= best
    proba[rows[tied], winner[tied]] = np.nextafter(best[tied], 2.0)
    return proba
