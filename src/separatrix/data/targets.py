"""Numbers to be fitted: the rows that have them, and facts such as the least of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


@dataclass(frozen=True)
class TargetFacts:
    """Facts about numbers, which add up over parts of the rows.

    Attributes
    ----------
    n_rows : int
    total : float
        The sum of the weights of the rows.
    weighted : bool
        Whether a weight is other than one.
    least : float
        The least number; infinite where there is no row.
    place : int
        The first row that has it.
    largest : float
        The largest size of a number of positive weight.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.data.targets import TargetFacts
    >>> first, second = (TargetFacts.of(np.array(t), None) for t in ([2.0, 1.0], [-3.0]))
    >>> both = first.merged(second)
    >>> both.least, both.place, both.total
    (-3.0, 2, 3.0)
    """

    n_rows: int
    total: float
    weighted: bool
    least: float
    place: int
    largest: float

    @classmethod
    def of(cls, targets: np.ndarray, weights: np.ndarray | None) -> TargetFacts:
        """The facts about some rows."""
        n = len(targets)
        place = int(np.argmin(targets)) if n else 0
        least = float(targets[place]) if n else np.inf
        if weights is None:
            return cls(n, float(n), False, least, place, _largest(targets))
        total, weighted = float(weights.sum()), bool(np.any(weights != 1.0))
        return cls(n, total, weighted, least, place, _largest(targets[weights > 0.0]))

    def merged(self, other: TargetFacts) -> TargetFacts:
        """The facts about these rows and those that follow them."""
        first = self.least <= other.least
        return TargetFacts(
            self.n_rows + other.n_rows,
            self.total + other.total,
            self.weighted or other.weighted,
            min(self.least, other.least),
            self.place if first else self.n_rows + other.place,
            max(self.largest, other.largest),
        )


def _largest(targets: np.ndarray) -> float:
    return float(np.maximum.reduce(np.abs(targets), initial=0.0))


def bounded_numbers(numbers: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """The numbers with zeros in rows without weight where their squares overflow.

    A product of zero and infinity is not zero.  They are the same array where there is none.
    """
    if weights is None or weights.all():
        return numbers
    with np.errstate(over="ignore"):
        lost = (np.isinf(np.square(numbers)).T & (weights == 0.0)).T
    return np.where(lost, 0.0, numbers) if lost.any() else numbers


class TrainingRows(NamedTuple):
    """The checked rows, targets and weights of a regression.

    Attributes
    ----------
    matrix : ndarray or CSR matrix
    targets : ndarray of shape (n_samples, m)
    weights : ndarray of shape (n_samples,) or None
    total : float
        Sum of the sample weights.
    alone : bool
        Whether there was one target, in one dimension.
    classes : ndarray or None
        The labels that the targets stand for.
    several : bool
        Whether a row can have several of them.
    """

    matrix: Any
    targets: np.ndarray
    weights: np.ndarray | None
    total: float
    alone: bool = False
    classes: np.ndarray | None = None
    several: bool = False

    @classmethod
    def of_blocks(cls, classes: np.ndarray, total: float, n_rows: int) -> TrainingRows:
        """The record of rows in blocks, without the rows; their targets are zeros of one number."""
        labels = classes if len(classes) else None
        stand_in = np.broadcast_to(np.float64(0.0), (n_rows, 1))
        return cls(None, stand_in, None, total, labels is None, labels)

    @classmethod
    def of(cls, matrix: Any, y: np.ndarray, weights: np.ndarray | None) -> TrainingRows:
        """Rows with numbers to be fitted."""
        total = float(len(y) if weights is None else weights.sum())
        return cls(matrix, y.reshape(len(y), -1), weights, total, y.ndim == 1)

    def take(self, index: np.ndarray) -> TrainingRows:
        """Return a subset of the rows."""
        weights = None if self.weights is None else self.weights[index]
        return TrainingRows.of(self.matrix[index], self.targets[index], weights)

    def parts(self) -> list[tuple[str, np.ndarray]]:
        """A name and the numbers of every target; without a name where there is one."""
        several = self.targets.shape[1] > 1
        return [
            (f"target {k}" if several else "", np.ascontiguousarray(y))
            for k, y in enumerate(self.targets.T)
        ]

    def facts_of(self, target: np.ndarray) -> TargetFacts:
        """The facts about the numbers of one target."""
        return TargetFacts.of(target, self.weights)

    @property
    def target_shape(self) -> tuple[int, ...]:
        """The shape of one row's targets, as they were given."""
        return () if self.alone else self.targets.shape[1:]

    @property
    def n_used(self) -> int:
        """Rows with a weight."""
        return len(self.targets) if self.weights is None else int(np.count_nonzero(self.weights))
