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

    # Attributes that no method needs, or that are computed anew where the data are given.
    _left_out: ClassVar[tuple[str, ...]] = ()
    # Arrays that are as long as the data, and mostly zero.
    _mostly_zero: ClassVar[tuple[str, ...]] = ()

    def _made_again(self) -> dict[str, Any]:
        """Attributes as they follow from the others; those that agree are not pickled."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())  # type: ignore[call-overload]
        for name in self._left_out:
            state.pop(name, None)
        for name, value in self._made_again().items():
            if name in state and _same_bits(state[name], value):
                del state[name]
        for name in self._mostly_zero:
            if isinstance(state.get(name), np.ndarray):
                state[name] = _Packed(pack(state[name]))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = {k: unpack(v) if isinstance(v, _Packed) else v for k, v in state.items()}
        super().__setstate__(whole)  # type: ignore[misc]
        for name, value in self._made_again().items():
            self.__dict__.setdefault(name, value)

    def __copy__(self) -> Any:
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        out = type(self).__new__(type(self))
        memo[id(self)] = out
        out.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return out


def _same_bits(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        alike = one.dtype == other.dtype and one.shape == other.shape
        return alike and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        # Zeros of either sign are equal, and have other bits.
        return one.hex() == other.hex()
    return bool(one == other)
