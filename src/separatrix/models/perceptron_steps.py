"""The recorded visits of a perceptron, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class PerceptronStep:
    """One visit of the perceptron: the row, its score, and the weights before and after.

    Attributes
    ----------
    visit : int
        The number of the visit, from 1.
    epoch : int
        The pass over the data, from 1.
    sample : int
        The row that was visited.
    label : object
        Its label in ``y``.
    sign : int
        -1 or +1: the side of the plane on which this label belongs.
    score : float
        ``w.x + b`` before the visit.
    mistake : bool
        Whether the visit changed the weights.
    coef_before, coef : ndarray of shape (n_features,)
        The weights before the visit and after it.
    intercept_before, intercept : float
    updates : int
        The corrections so far, with this one.
    margin : float
        The value that ``sign * score`` has to reach.
    part : object
        For more than two classes, the one that is separated from the rest; None for two.
    """

    visit: int
    epoch: int
    sample: int
    label: Any
    sign: int
    score: float
    mistake: bool
    coef_before: np.ndarray
    intercept_before: float
    coef: np.ndarray
    intercept: float
    updates: int
    margin: float = 0.0
    part: Any = None

    @property
    def why(self) -> str:
        """The comparison that decided whether the visit was a mistake, in words."""
        if self.margin > 0.0:
            relation = "is below" if self.mistake else "reaches"
            z = self.sign * self.score + 0.0
            return f"y times the score, {z:.4g}, {relation} {self.margin:g}"
        sign = f"{self.sign:+d}"
        label = sign if self.label == self.sign else f"{self.label!r} ({sign})"
        relation = "does not have" if self.mistake else "has"
        return f"score {self.score + 0.0:.4g} {relation} the sign of {label}"

    def __str__(self) -> str:
        where = f"visit {self.visit}, pass {self.epoch}, row {self.sample}"
        if not self.mistake:
            return f"{where}: {self.why}, so w stays"
        weights = ", ".join(f"{value + 0.0:.4g}" for value in self.coef)
        offset = f", b {self.intercept:.4g}" if self.intercept != self.intercept_before else ""
        return f"{where}: {self.why}, so w becomes [{weights}]{offset}"


class PerceptronSteps(Sequence[PerceptronStep]):
    """The visits of a recorded fit, each made when it is looked at.

    Parameters
    ----------
    model : Perceptron
        Fitted with ``record="visits"``.
    y : ndarray of shape (n_samples,)
        The labels that it was fitted to.
    """

    def __init__(self, model: Any, y: np.ndarray) -> None:
        traces = model.trace_ if isinstance(model.trace_, tuple) else (model.trace_,)
        classes = model.classes_.tolist()
        self._labels, self._margin = y.tolist(), float(model.margin)
        # For every stretch: its problem, what it holds, and the corrections before it.
        self._stretches = []
        for k, trace in enumerate(traces):
            part, positive = (None, classes[1]) if len(traces) == 1 else (classes[k], classes[k])
            start = model.coef_[k], float(model.intercept_[k])
            if trace.updates:
                first = trace.updates[0]
                start = first.coef_before, first.intercept_before
            weights = [start, *((one.coef, one.intercept) for one in trace.updates)]
            made = 0
            for stretch in trace.stretches:
                self._stretches.append((part, positive, weights, made, stretch))
                made += stretch.corrected
        lengths = [len(stretch.samples) for *_, stretch in self._stretches]
        self._ends = np.cumsum(lengths, dtype=np.int64)

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    def __getitem__(self, key: Any) -> Any:
        numbers = range(len(self))[key]
        if isinstance(numbers, range):
            return [self._step(k) for k in numbers]
        return self._step(numbers)

    def _step(self, k: int) -> PerceptronStep:
        at = int(np.searchsorted(self._ends, k, side="right"))
        part, positive, weights, made, stretch = self._stretches[at]
        position = k - (int(self._ends[at - 1]) if at else 0)
        mistake = stretch.corrected and position == len(stretch.samples) - 1
        row = int(stretch.samples[position])
        label = self._labels[row]
        before, after = weights[made], weights[made + mistake]
        return PerceptronStep(
            visit=k + 1,
            epoch=stretch.epoch,
            sample=row,
            label=label,
            sign=1 if label == positive else -1,
            score=float(stretch.scores[position]),
            mistake=mistake,
            coef_before=before[0],
            intercept_before=before[1],
            coef=after[0],
            intercept=after[1],
            updates=made + mistake,
            margin=self._margin,
            part=part,
        )
