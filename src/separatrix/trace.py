"""The record of a fit: bounds against iteration and seconds, and every iterate on request."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Trace", "Update"]


@dataclass(frozen=True)
class Update:
    """One correction of a mistake-driven method.

    Attributes
    ----------
    sample : int
        The row that was on the wrong side, or on the plane.
    epoch : int
        The pass over the data, from 1.
    coef : ndarray of shape (n_features,)
        Weights after the update.
    intercept : float
        Intercept after the update.
    """

    sample: int
    epoch: int
    coef: np.ndarray
    intercept: float


@dataclass
class Trace:
    """What a fit did, filled in by the driver when ``record=True``.

    Attributes
    ----------
    part : str
        Which binary problem, where there are several.
    iterations, seconds, primal, dual : list
        One entry for each certificate check.  ``primal`` is the objective at that iterate,
        ``dual`` the best lower bound so far.
    coef, intercept : list
        The iterate at each check.
    updates : list of Update
        The single corrections, for a perceptron.
    """

    part: str = ""
    iterations: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    primal: list[float] = field(default_factory=list)
    dual: list[float] = field(default_factory=list)
    coef: list[np.ndarray] = field(default_factory=list)
    intercept: list[np.ndarray] = field(default_factory=list)
    updates: list[Update] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.iterations)

    @property
    def gap(self) -> np.ndarray:
        """``primal - dual`` at each check."""
        return np.asarray(self.primal) - np.asarray(self.dual)
