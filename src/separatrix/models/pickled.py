"""The pickled state of a fitted model: nothing that follows from the rest, zeros as bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.packing import pack, unpack


class _Packed(tuple[Any, ...]):
    """An array that :func:`~separatrix.data.packing.pack` made smaller."""


def packed(model: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The state of an estimator without what it can do without, and with its zeros as bits."""
    state = {name: value for name, value in state.items() if name not in model._left_out}
    for name, value in model._made_again().items():
        if name in state and _same_bits(state[name], value):
            del state[name]
    for name in model._mostly_zero:
        if isinstance(state.get(name), np.ndarray):
            state[name] = _Packed(pack(state[name]))
    return state


def unpacked(state: dict[str, Any]) -> dict[str, Any]:
    """The state that :func:`packed` was given, but for what follows from the rest."""
    return {k: unpack(v) if isinstance(v, _Packed) else v for k, v in state.items()}


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
