"""A bound on the error of a product with a kernel's matrix that is kept up to date by its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled.rounding import UNIT
from separatrix.objectives.enclosure import total_above


class RunningError:
    """Bound the error of the entries of ``K c``, to which rows of the cache have been added.

    Parameters
    ----------
    matrix : Gram or PartialGram
    """

    def __init__(self, matrix: Any) -> None:
        self._whole, self._columns = matrix.whole, matrix.columns
        self.reset()

    def reset(self) -> None:
        """Begin anew, at a product in float64."""
        # The error that all entries share, the one for every unit of a row's square, the sum of
        # the sizes of the added coefficients, and the number of roundings.
        self._shared = self._own = self._size = 0.0
        self._roundings = 4

    @property
    def is_rounding(self) -> bool:
        """Whether nothing has been added since the product in float64."""
        return self._shared == self._size == 0.0

    def add(self, index: np.ndarray, changes: np.ndarray) -> None:
        """Take in that rows of the cache were added, or their sum computed in float32."""
        entry, by_square, squares = self._whole.cached_errors()
        sizes = np.abs(changes)
        size = total_above(sizes)
        if size > 0.0:
            self._shared += entry * size
            self._shared += by_square * total_above(sizes * squares[self._columns[index]])
            self._own += by_square * size
            self._size += size
        self._roundings += len(changes) + 4

    def miss(self, changes: np.ndarray) -> None:
        """Take in that coefficients have changed without their rows."""
        self._shared += (self._whole.largest + self._whole.entry_error) * total_above(changes)

    def radius(self) -> np.ndarray:
        """A bound for every entry.

        Entries are at most as large as what was added, and one for what is no part of the product.
        """
        squares = self._whole.cached_errors()[2][self._columns]
        rounding = 4.0 * UNIT * self._roundings * (1.0 + self._size * self._whole.largest)
        out: np.ndarray = (self._shared + rounding + self._own * squares) * (1.0 + 1e-9)
        return out
