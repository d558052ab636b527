"""The nodes that are computed from scores: classes, and probabilities that agree with them.

A binary model has one score, of shape (n_samples, 1), and two probabilities; a model of K classes
has K of both.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from separatrix.expressions.base import Evaluation, Expression, SameColumns
from separatrix.losses import Softmax as SoftmaxLoss
from separatrix.probabilities.ties import agreeing, leads, winners

# --- classes ------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Threshold(Expression):
    """1 where a single score is above 0 (with ``inclusive``, at least 0), and 0 elsewhere."""

    of: Expression
    inclusive: bool = False

    @property
    def n_columns(self) -> int:
        return 1

    def evaluate(self, values: Evaluation) -> np.ndarray:
        scores = self.of.deciding(values)[:, 0]
        return (scores >= 0.0).astype(np.intp) if self.inclusive else winners(scores)


@dataclass(eq=False, slots=True)
class FirstWins(Expression):
    """The column of the largest score, the first of equal ones."""

    of: Expression

    @property
    def n_columns(self) -> int:
        return 1

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return winners(self.of.deciding(values))


@dataclass(eq=False, slots=True)
class Positive(SameColumns):
    """1 in each column whose score is above 0, and 0 elsewhere: several labels a row."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return (values.of(self.of) > 0.0).astype(np.int64)


# --- functions of single scores -----------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Scaled(SameColumns):
    """``slope * score + offset``, held within 1e300: an infinity less another is no number.

    Scores that overflowed to NaN have no meaning, and are taken for zero.
    """

    slope: float
    offset: float = 0.0

    def evaluate(self, values: Evaluation) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            own = self.slope * values.of(self.of)
            if self.offset:
                own += self.offset
            if not math.isfinite(np.add.reduce(own, axis=None)):
                own = np.clip(np.where(np.isnan(own), 0.0, own), -1e300, 1e300)
        return np.asarray(own)


@dataclass(eq=False, slots=True)
class Exp(SameColumns):
    """The exponential function."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(np.exp(values.of(self.of)))


@dataclass(eq=False, slots=True)
class LogSigmoid(SameColumns):
    """``-log(1 + exp(-score))``."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(-np.logaddexp(0.0, -values.of(self.of)))


@dataclass(eq=False, slots=True)
class Interpolate(SameColumns):
    """A nondecreasing function, linear between its points and constant beyond them.

    Attributes
    ----------
    of : Expression
    points, heights : ndarray of shape (n_points,)
        Both nondecreasing.
    """

    points: np.ndarray
    heights: np.ndarray

    def evaluate(self, values: Evaluation) -> np.ndarray:
        scores, x, p = values.of(self.of), self.points, self.heights
        if len(x) == 1:
            return np.full(scores.shape, p[0])
        clipped = np.clip(scores, x[0], x[-1])
        left = np.clip(np.searchsorted(x, clipped, side="right") - 1, 0, len(x) - 2)
        # The share of the interval first: a slope could overflow between neighbouring scores.
        share = (clipped - x[left]) / (x[left + 1] - x[left])
        return np.asarray(np.minimum(p[left] + share * (p[left + 1] - p[left]), p[left + 1]))


@dataclass(eq=False, slots=True)
class Clipped(SameColumns):
    """``(min(max(score, -1), 1) + 1) / 2``."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return np.asarray(0.5 * (np.clip(values.of(self.of), -1.0, 1.0) + 1.0))


@dataclass(eq=False, slots=True)
class Leads(SameColumns):
    """Each score less the largest of the others."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return leads(values.of(self.of))


# --- probabilities ------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Sigmoid(Expression):
    """``1 / (1 + exp(score))`` and ``1 / (1 + exp(-score))``, of shape (n_samples, 2).

    Each comes from its own exponential: one less the other would have no small values.
    """

    of: Expression

    @property
    def n_columns(self) -> int:
        return 2

    def evaluate(self, values: Evaluation) -> np.ndarray:
        scores = values.of(self.of)[:, 0]
        return np.stack([expit(-scores), expit(scores)], axis=1)

    def logarithms(self, values: Evaluation) -> np.ndarray:
        scores = values.of(self.of)[:, 0]
        return np.stack([log_expit(-scores), log_expit(scores)], axis=1)


@dataclass(eq=False, slots=True)
class Softmax(SameColumns):
    """``exp(s_k) / sum_j exp(s_j)``, with the largest score taken off first."""

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return SoftmaxLoss().probabilities(values.of(self.of))

    def logarithms(self, values: Evaluation) -> np.ndarray:
        scores = values.of(self.of)
        return np.asarray(scores - logsumexp(scores, axis=1, keepdims=True))


@dataclass(eq=False, slots=True)
class Normalised(Expression):
    """Each column divided by the sum; ``1 - p`` and ``p`` of a single column.

    The shares of a sum of 0 are equal.
    """

    of: Expression

    @property
    def n_columns(self) -> int:
        return max(self.of.n_columns, 2)

    def evaluate(self, values: Evaluation) -> np.ndarray:
        own = values.of(self.of)
        if own.shape[1] == 1:
            return np.stack([1.0 - own[:, 0], own[:, 0]], axis=1)
        total = own.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, own / np.where(total > 0.0, total, 1.0), 1.0 / own.shape[1])


@dataclass(eq=False, slots=True)
class OnItsSide(SameColumns):
    """Two probabilities, both one half where they contradict the class that is predicted."""

    label: Expression

    def evaluate(self, values: Evaluation) -> np.ndarray:
        own, winner = self.of.evaluate(values), values.of(self.label)
        own[own[np.arange(len(own)), winner] < 0.5] = 0.5
        return own


@dataclass(eq=False, slots=True)
class Consistent(SameColumns):
    """Probabilities, with that of the predicted class raised above the others where it is not.

    It is the next float64 above the largest of the others. No other node uses the values of ``of``,
    which are changed in place.

    Attributes
    ----------
    of, label : Expression
    ties : bool
        Whether the predicted class may tie with those after it.
    """

    label: Expression
    ties: bool = False

    def evaluate(self, values: Evaluation) -> np.ndarray:
        return agreeing(self.of.evaluate(values), values.of(self.label), ties=self.ties)

    def logarithms(self, values: Evaluation) -> np.ndarray:
        return agreeing(self.of.logarithms(values), values.of(self.label))


def posterior(scores: Expression, label: Expression, *, jointly: bool = True) -> Expression:
    """Probabilities that agree with the label, by the logistic function.

    For one score it is that function; for several their softmax, or, unless ``jointly``, the
    logistic function of each divided by the sum.
    """
    if scores.n_columns == 1:
        return Consistent(Sigmoid(scores), label)
    # The logarithms come first: far from every class all sigmoids would round to zero.
    return Consistent(Softmax(scores if jointly else LogSigmoid(scores)), label)


def calibrated(calibration: Mapping[str, Any], scores: Expression, label: Expression) -> Expression:
    """Probabilities by a function of cross-fitted scores, which agree with the label.

    The function is that of :func:`~separatrix.probabilities.calibration.fit_calibration`.
    """
    # The scores are limited in size: differences of two must stay finite.
    own, two = Scaled(scores, 1.0), scores.n_columns == 1
    if calibration["method"] == "sigmoid":
        own = Scaled(own, calibration["slope"], calibration.get("intercept", 0.0))
        proba: Expression = Sigmoid(own) if two else Softmax(own)
    else:
        points = calibration["scores"], calibration["probabilities"]
        proba = Normalised(Interpolate(own if two else Leads(own), *points))
    # The result is still nondecreasing: at most one half on one side of zero, at least half on the
    # other.
    return Consistent(OnItsSide(proba, label) if two else proba, label)
