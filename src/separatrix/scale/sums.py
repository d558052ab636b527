r"""Sums over blocks: compensated, and in the order of the blocks.

Adding floats is not associative, so a sum that depends on which worker was first is another one
every time.  Here parts are added one after another, in the order of their blocks, and what each
addition rounds off is kept and added as well (Møller, 1965; Knuth, 1969): the result is as if it
had been computed with twice the digits and rounded once, the same bits for any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

__all__ = ["Sum", "summed"]


class Sum:
    """Named arrays, added up.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale.sums import Sum
    >>> total = Sum()
    >>> for part in (1e16, 1.0, 1.0, -1e16):
    ...     total.add({"x": np.array(part)})
    >>> float(total.value()["x"])
    2.0
    """

    def __init__(self) -> None:
        self._high: dict[str, np.ndarray] = {}
        self._low: dict[str, np.ndarray] = {}

    def add(self, part: Mapping[str, Any]) -> None:
        """Add the arrays of a part to those of the same names."""
        for name, given in part.items():
            x = np.asarray(given, dtype=np.float64)
            if name not in self._high:
                self._high[name], self._low[name] = x.copy(), np.zeros_like(x)
                continue
            a = self._high[name]
            # In the absence of over- and underflow s + e is a + x exactly.
            with np.errstate(invalid="ignore", over="ignore"):
                s = a + x
                back = s - a
                error = (a - (s - back)) + (x - back)
            self._high[name] = s
            self._low[name] += np.where(np.isfinite(error), error, 0.0)

    def value(self) -> dict[str, np.ndarray]:
        """The sums, rounded once."""
        return {name: high + self._low[name] for name, high in self._high.items()}


def summed(parts: Iterable[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The sums of the arrays of the same name, in the order of the parts."""
    total = Sum()
    for part in parts:
        total.add(part)
    return total.value()
