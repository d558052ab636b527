r"""Sums over blocks: compensated, and along a tree that the number of blocks alone decides.

Adding floats is not associative, so a sum that depends on which worker was first is another one
every time.  Here the parts are the leaves of a tree: :data:`FAN_IN` consecutive parts make a sum,
as many consecutive sums the next one, and so on; the last of each level may have fewer.  Whoever
adds up a part of the tree, on whatever machine, comes to the same bits.

A sum is a pair of floats, the rounded sum :math:`h` and the sum :math:`l` of what was rounded off
(Møller, 1965; Neumaier, 1974).  Where two meet, :math:`h = \mathrm{fl}(h_1 + h_2)` and its error
:math:`e = h_1 + h_2 - h` are floats (Knuth, 1969), and :math:`l = \mathrm{fl}(l_1 + l_2 + e)`.
The result, :math:`\mathrm{fl}(h + l)`, is as if it had been computed with twice the digits and
rounded once.

**Its error.**  Let :math:`s = \sum x_i` be exact, :math:`D` the most additions that a part takes
part in on its way up, and :math:`\gamma_k = k u / (1 - k u)`.  Every addition is exact but for its
:math:`e`, so :math:`s = h + \sum e` over all additions of the tree.  An addition below which the
parts :math:`x_i` lie has :math:`|e| \le u |h|` and :math:`|h| \le (1 + u)^D \sum |x_i|`, and each
part lies below :math:`D` additions at most, so :math:`\sum |e| \le \gamma_D \sum |x_i|` (Higham,
2002, section 4.2).  Each :math:`e` passes through :math:`2 D` further additions at most, so
:math:`|l - \sum e| \le \gamma_{2D} \sum |e|`.  Together

.. math:: |\mathrm{fl}(h + l) - s| \le u |s| + (1 + u) \gamma_{2D} \gamma_D \sum |x_i|

which for one chain is the bound of Ogita, Rump and Oishi (2005, proposition 4.5) but for constants.
A chain has :math:`D = n - 1`; the tree has :math:`D \le 3 \lceil \log_4 n \rceil`, so that for any
number of blocks that a machine can count the second term is below :math:`10^{-11} u \sum |x_i|`.
:data:`UNITS` units of :math:`\sum |x_i|` are a bound.  Additions are exact where they underflow;
where they overflow, the sum is infinite or no number, which every bound is refused for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from separatrix._compiled.double_double import compiled, two_sum

#: Parts that make a sum of the level above.  More of them are more that one worker waits for, and
#: fewer are more sums that are held at a time.
FAN_IN = 4
#: The rounding of a sum, in units of the sum of the sizes of its parts.
UNITS = 2.0
# Bytes of a column and of the two floats of a pair, beside those of the pair alone.
_COLUMN = 4


@compiled
def _add(a: Any, a_low: Any, b: Any, b_low: Any, high: Any, low: Any) -> None:
    """The pair of two pairs; what is rounded off is absent (of no length) where it is zero."""
    both, one = b_low.shape[0] > 0, a_low.shape[0] > 0
    for i in range(a.shape[0]):
        total, error = two_sum(a[i], b[i])
        if not np.isfinite(error):
            error = 0.0
        rest = a_low[i] if one else 0.0
        if both:
            rest += b_low[i]
        high[i] = total
        low[i] = rest + error


_NOTHING = np.empty(0)


class _Pair:
    """An array as the sum of two, the second of which may be absent."""

    __slots__ = ("high", "low", "own")

    def __init__(self, high: np.ndarray, low: np.ndarray | None = None, own: bool = False) -> None:
        self.high, self.low, self.own = high, low, own

    def add(self, other: _Pair) -> None:
        if self.high.shape != other.high.shape:
            raise ValueError(f"sums of shapes {self.high.shape} and {other.high.shape}")
        # What another one holds stays as it is.
        high = self.high if self.own else np.empty(self.high.shape)
        low = self.low if self.own and self.low is not None else np.empty(self.high.shape)
        _add(*self._flat(), *other._flat(), high.reshape(-1), low.reshape(-1))
        self.high, self.low, self.own = high, low, True

    def _flat(self) -> tuple[np.ndarray, np.ndarray]:
        return self.high.reshape(-1), _NOTHING if self.low is None else self.low.reshape(-1)

    def value(self) -> np.ndarray:
        if self.low is not None:
            return self.high + self.low
        return self.high if self.own else self.high.copy()

    def packed(self) -> tuple[Any, ...]:
        """Columns and values where these are smaller than the array; bit for bit the same."""
        high, low = self._flat()
        # Zeros have signs.
        stored = high.view(np.int64) != 0
        if self.low is not None:
            stored |= low.view(np.int64) != 0
        count, width = np.count_nonzero(stored), 8 * (1 + (self.low is not None))
        if count * (width + _COLUMN) >= high.size * width or high.size > 2**31:
            return self.high.shape, None, self.high, self.low
        index = np.flatnonzero(stored).astype(np.int32)
        return self.high.shape, index, high[index], None if self.low is None else low[index]

    @classmethod
    def unpacked(cls, packed: tuple[Any, ...]) -> _Pair:
        shape, index, high, low = packed

        def whole(values: Any) -> np.ndarray | None:
            if values is None:
                return None
            if index is None:
                # A part of a message begins at any byte of it, and may not be written to.
                found: np.ndarray = np.require(values, requirements=["A", "C", "W"])
                return found.reshape(shape)
            out = np.zeros(shape)
            out.reshape(-1)[index] = values
            return out

        high = whole(high)
        assert high is not None
        return cls(high, whole(low), own=True)


class Sum:
    """Named arrays, added up one after another.

    Parameters
    ----------
    part : mapping of str to array-like, or Sum, optional
        The first of them.

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

    def __init__(self, part: Mapping[str, Any] | Sum | None = None) -> None:
        self._pairs: dict[str, _Pair] = {}
        if part is not None:
            self.add(part)

    def add(self, part: Mapping[str, Any] | Sum) -> None:
        """Add the arrays of a part, or of another sum, to those of the same names."""
        for name, pair in _pairs_of(part):
            mine = self._pairs.get(name)
            if mine is None:
                self._pairs[name] = _Pair(pair.high, pair.low)
            else:
                mine.add(pair)

    def value(self) -> dict[str, np.ndarray]:
        """The sums, rounded once."""
        return {name: pair.value() for name, pair in self._pairs.items()}

    # The size that a cluster counts, and the state that is sent.

    def __sizeof__(self) -> int:
        pairs = self._pairs.values()
        return 64 + sum(p.high.nbytes + (0 if p.low is None else p.low.nbytes) for p in pairs)

    def __getstate__(self) -> dict[str, Any]:
        return {name: pair.packed() for name, pair in self._pairs.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._pairs = {name: _Pair.unpacked(packed) for name, packed in state.items()}


def _pairs_of(part: Mapping[str, Any] | Sum) -> Iterator[tuple[str, _Pair]]:
    if isinstance(part, Sum):
        yield from part._pairs.items()
        return
    for name, given in part.items():
        yield name, _Pair(np.require(given, dtype=np.float64, requirements=["C", "W"]))


class TreeSum:
    """The sums of parts that come in their order, along the tree.

    It holds one sum of every level at most, :math:`\\log_4 n` of them.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix.scale.sums import TreeSum
    >>> total = TreeSum()
    >>> for part in range(100):
    ...     total.add({"x": np.array(part * 0.1)})
    >>> float(total.value()["x"])
    495.0
    """

    def __init__(self) -> None:
        # The sum of every level that is not whole, and of how many it is.
        self._levels: list[tuple[int, Sum]] = []

    def add(self, part: Mapping[str, Any] | Sum) -> None:
        """Add the next part."""
        for level in range(sys.maxsize):
            if level == len(self._levels):
                self._levels.append((0, Sum()))
            count, total = self._levels[level]
            total.add(part)
            if count + 1 < FAN_IN:
                self._levels[level] = count + 1, total
                return
            self._levels[level], part = (0, Sum()), total

    def total(self) -> Sum:
        """The sum of all parts so far."""
        out: Sum | None = None
        for count, total in self._levels:
            if count == 0:
                continue
            level = Sum(total)
            if out is not None:
                level.add(out)
            out = level
        return Sum() if out is None else out

    def value(self) -> dict[str, np.ndarray]:
        """The sums of all parts so far, rounded once."""
        return self.total().value()


def summed(parts: Iterable[Mapping[str, Any]]) -> dict[str, np.ndarray]:
    """The sums of the arrays of the same name, in the order of the parts."""
    total = TreeSum()
    for part in parts:
        total.add(part)
    return total.value()
