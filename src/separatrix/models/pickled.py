"""What of a fitted model is pickled: nothing that follows from the rest, zeros as bits."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import numpy as np

from separatrix.data.packing import pack, unpack

__all__ = ["Pickled"]


class _Packed(tuple[Any, ...]):
    """An array that :func:`~separatrix.data.packing.pack` made smaller."""


class Pickled:
    """An estimator that leaves out of its pickle what it can do without.

    Copies in memory have all of it.
    """

    # Attributes that are made again, or are worked out anew where the data are given.
    _left_out: ClassVar[tuple[str, ...]] = ()
    # Arrays that are as long as the data, and mostly zero.
    _mostly_zero: ClassVar[tuple[str, ...]] = ()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        for name in self._left_out:
            state.pop(name, None)
        for name in self._mostly_zero:
            if isinstance(state.get(name), np.ndarray):
                state[name] = _Packed(pack(state[name]))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = {k: unpack(v) if isinstance(v, _Packed) else v for k, v in state.items()}
        super().__setstate__(whole)  # type: ignore[misc]

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        out = type(self).__new__(type(self))
        memo[id(self)] = out
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out
