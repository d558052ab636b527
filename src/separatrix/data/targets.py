"""Facts about numbers to be fitted: their least and the weights of their rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["TargetFacts"]


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
