"""The positive one of two classes, and the threshold from which rows are predicted to be of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from separatrix.assessment.scoring import Predictions, gives_probabilities
from separatrix.messages import quoted

_RESAMPLES = 200
# The figures that a threshold is compared with.
PROBABILITY, SCORE = "probability", "score"


@dataclass(frozen=True)
class Decision:
    """The score from which a row is predicted to be of the positive class.

    Attributes
    ----------
    positive : label
    threshold : float
        Rows at or above it are positive.
    scale : {"probability", "score"}
        The figure that the threshold is compared with: the probability of the positive class, or
        for a model without probabilities its score, which is above zero on its side.
    goal : str or None
        The goal of its choice: ``f1``, ``balanced`` or ``cost=5:1``.
    interval : tuple of two floats, or None
        The interval of 95 % of the thresholds that other rows like these would have chosen.
    value, value_interval : float and tuple of two floats, or None
        The value of the goal on the rows that chose, and its interval on rows that did not
        (bootstrap).
    """

    positive: Any
    threshold: float
    scale: str
    goal: str | None = None
    interval: tuple[float, float] | None = None
    value: float | None = None
    value_interval: tuple[float, float] | None = None

    def labels(self, predicted: Predictions, classes: np.ndarray) -> np.ndarray:
        """The predicted labels of rows."""
        k = int(np.flatnonzero(classes == self.positive)[0])
        above = scores_of(predicted, k, self.scale) >= self.threshold
        return classes[np.where(above, k, 1 - k)]

    def record(self) -> dict[str, Any]:
        """As plain values, for a model file."""
        return asdict(self)

    @classmethod
    def of(cls, provenance: Mapping[str, Any], model: Any) -> Decision | None:
        """The decision that a model file states, where its model can follow it."""
        found = provenance.get("decision")
        classes = getattr(model, "classes_", None)
        if found is None or classes is None or len(classes) != 2:
            return None
        if found["positive"] not in classes.tolist():
            return None
        if found["scale"] == PROBABILITY and not gives_probabilities(model):
            return None
        return cls(**found)

    def __str__(self) -> str:
        where = f"{quoted(self.positive)} from a {self.scale} of {self.threshold:.4g}"
        if self.interval is not None:
            low, high = self.interval
            where += f" [{low:.4g}, {high:.4g}]"
        where += " upwards"
        if self.goal is None or self.value is None:
            return where
        # A cost is kept with a minus, so that the larger is the better for every goal.
        sign = -1.0 if self.goal.startswith("cost") else 1.0
        text = f"{where}, chosen for {_NAMES.get(self.goal, self.goal)}"
        # The sum with 0 is never a zero with a minus.
        text += f"{': mean cost of a row' if sign < 0.0 else ''} {sign * self.value + 0.0:.4g}"
        if self.value_interval is not None:
            low, high = sorted(sign * end + 0.0 for end in self.value_interval)
            text += f" [{low:.4g}, {high:.4g}]"
        return text


def positive_of(provenance: Mapping[str, Any], model: Any) -> Any:
    """Return the positive class that a model file names; None where it names none."""
    classes = getattr(model, "classes_", None)
    if classes is None or len(classes) != 2:
        return None
    found = provenance.get("positive")
    return found if found in classes.tolist() else None


def scores_of(predicted: Predictions, k: int, scale: str) -> np.ndarray:
    """Return the probabilities of class ``k`` of two, or its scores."""
    if scale == PROBABILITY:
        assert predicted.probabilities is not None
        return predicted.probabilities[:, k]
    assert predicted.scores is not None
    return predicted.scores if k == 1 else -predicted.scores


# ---------------------------------------------------------------------------------- thresholds


# A function of hits, false alarms, misses and correct rejections: the larger the better.
Goal = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

_NAMES = {"f1": "F1", "balanced": "balanced accuracy"}


def _f1(hit: np.ndarray, alarm: np.ndarray, miss: np.ndarray, reject: np.ndarray) -> np.ndarray:
    return 2.0 * hit / np.maximum(2.0 * hit + alarm + miss, 1.0)


def _balanced(
    hit: np.ndarray, alarm: np.ndarray, miss: np.ndarray, reject: np.ndarray
) -> np.ndarray:
    return 0.5 * (hit / np.maximum(hit + miss, 1.0) + reject / np.maximum(alarm + reject, 1.0))


def goal_of(text: str) -> Goal:
    """The goal of the choice of a threshold, by its name: ``f1``, ``balanced`` or ``cost=5:1``.

    ``cost=5:1`` is five for a row of the positive class that is missed and one for another that is
    taken for it; its value is the negative mean cost of a row.

    Raises
    ------
    ValueError
        For another text.
    """
    if text in ("f1", "balanced"):
        return _f1 if text == "f1" else _balanced
    missed, mark, alarmed = text.removeprefix("cost=").partition(":")
    try:
        costs = float(missed), float(alarmed)
    except ValueError:
        costs = math.nan, math.nan
    if not (text.startswith("cost=") and mark and all(0.0 < one < math.inf for one in costs)):
        raise ValueError(
            f"{text!r} is not f1, balanced or cost=MISS:ALARM with two positive numbers, such as "
            "cost=5:1"
        )

    def cost(
        hit: np.ndarray, alarm: np.ndarray, miss: np.ndarray, reject: np.ndarray
    ) -> np.ndarray:
        total = np.maximum(hit + alarm + miss + reject, 1.0)
        return -(costs[0] * miss + costs[1] * alarm) / total

    return cost


@dataclass(frozen=True)
class _Sorted:
    """Scores in falling order, and which of them are positive."""

    scores: np.ndarray
    positive: np.ndarray

    def chosen(self, counts: np.ndarray, goal: Goal) -> tuple[float, float]:
        """The best threshold for rows with these counts, and the value of the goal."""
        hit = np.cumsum(counts * self.positive)
        alarm = np.cumsum(counts * ~self.positive)
        # A threshold stands between two different scores, below them all, or above.
        last = np.flatnonzero(np.append(self.scores[1:] < self.scores[:-1], True))
        hits, alarms = np.append(0.0, hit[last]), np.append(0.0, alarm[last])
        value = goal(hits, alarms, hit[-1] - hits, alarm[-1] - alarms)
        best = np.flatnonzero(value == value.max())
        # Where several are equally good, the one in the middle is taken.
        place = int(best[len(best) // 2])
        if place == 0:
            return float(np.nextafter(self.scores[0], math.inf)), float(value.max())
        at = int(last[place - 1])
        below = self.scores[at + 1] if at + 1 < len(self.scores) else self.scores[at]
        return 0.5 * float(self.scores[at] + below), float(value.max())

    def value(self, threshold: float, counts: np.ndarray, goal: Goal) -> float:
        """The value of the goal at a threshold."""
        above = self.scores >= threshold
        hit, alarm = counts @ (above & self.positive), counts @ (above & ~self.positive)
        miss, reject = counts @ (~above & self.positive), counts @ (~above & ~self.positive)
        return float(goal(hit, alarm, miss, reject))


def choose_threshold(
    predicted: Predictions,
    y: np.ndarray,
    classes: np.ndarray,
    positive: Any,
    goal: str,
    *,
    seed: int = 0,
) -> Decision:
    """The threshold that does best on some rows, and the interval of those that others choose.

    The intervals are those of 200 resamples of the rows (Efron, 1979): of the threshold that each
    chooses, and of the value of the goal for it on the rows that are not in the resample, which
    did not choose it.

    Parameters
    ----------
    predicted : Predictions
        The predictions for rows that the model was not fitted to.
    y : ndarray of shape (n,)
    classes : ndarray of two labels
    positive : label
    goal : str
        See :func:`goal_of`.
    seed : int

    Raises
    ------
    ValueError
        If the rows are all of one class.
    """
    k = int(np.flatnonzero(classes == positive)[0])
    scale = SCORE if predicted.probabilities is None else PROBABILITY
    scores, is_positive = scores_of(predicted, k, scale), y == positive
    if is_positive.all() or not is_positive.any():
        raise ValueError("the rows on which the threshold is chosen all belong to one class")
    order = np.argsort(-scores, kind="stable")
    rows, aim = _Sorted(scores[order], is_positive[order]), goal_of(goal)
    n = len(y)
    threshold, value = rows.chosen(np.ones(n), aim)
    rng = np.random.default_rng(seed)
    thresholds, values = [], []
    for _ in range(_RESAMPLES):
        counts = np.bincount(rng.integers(n, size=n), minlength=n).astype(np.float64)
        drawn = counts @ rows.positive
        if not 0.0 < drawn < n:
            continue
        one = rows.chosen(counts, aim)[0]
        thresholds.append(one)
        left = counts == 0.0
        if (rows.positive & left).any() and (~rows.positive & left).any():
            values.append(rows.value(one, left.astype(np.float64), aim))
    return Decision(
        positive,
        threshold,
        scale,
        goal,
        _middle(thresholds),
        value,
        _middle(values),
    )


def _middle(values: list[float]) -> tuple[float, float] | None:
    """The interval of the middle 95 % of some values; None for too few values."""
    if len(values) < _RESAMPLES // 2:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
