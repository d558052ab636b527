"""The class that wins by its score, and probabilities that agree with it."""

from __future__ import annotations

import numpy as np


def winners(scores: np.ndarray) -> np.ndarray:
    """Class numbers from scores: the one place where ties are decided."""
    if scores.ndim == 1:
        return (scores > 0.0).astype(np.intp)
    return scores.argmax(axis=1)


def agreeing(values: np.ndarray, winner: np.ndarray, *, ties: bool = False) -> np.ndarray:
    """Lift the winner's value by an ulp, in place, where rounding made it tie or lose.

    With ``ties`` it may tie with those after it.
    """
    rows = np.arange(len(values))
    if ties:
        best, behind = values.max(axis=1), values.argmax(axis=1) != winner
    else:
        others = values.copy()
        others[rows, winner] = -np.inf
        best = others.max(axis=1)
        behind = values[rows, winner] <= best
    values[rows[behind], winner[behind]] = np.nextafter(best[behind], np.inf)
    return values


def leads(scores: np.ndarray) -> np.ndarray:
    """Each score less the largest of the others."""
    rows, best = np.arange(len(scores)), scores.argmax(axis=1)
    others = scores.copy()
    others[rows, best] = -np.inf
    rival = np.repeat(scores.max(axis=1)[:, None], scores.shape[1], axis=1)
    rival[rows, best] = others.max(axis=1)
    return np.asarray(scores - rival)
