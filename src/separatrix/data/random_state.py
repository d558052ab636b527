"""Random numbers: the one place where ``random_state`` becomes a generator.

None is a fixed stream: the same call on the same data gives the same bits.  Another seed draws
other numbers.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

_FIXED = 0


def random_state_of(random_state: Any) -> np.random.RandomState:
    """The generator of a ``random_state`` parameter.

    Parameters
    ----------
    random_state : int, RandomState or None
        None is a fixed stream: the same call on the same data gives the same bits.  A generator
        goes on from where it is.

    Returns
    -------
    numpy.random.RandomState

    Raises
    ------
    ValueError
        For anything else.

    Examples
    --------
    >>> from separatrix.data.random_state import random_state_of
    >>> [random_state_of(None).randint(100) for _ in range(3)]
    [44, 44, 44]
    """
    out: np.random.RandomState = check_random_state(
        _FIXED if random_state is None else random_state
    )
    return out


def seed_of(random_state: Any) -> int:
    """Return a seed for solvers from a ``random_state`` parameter; see :func:`random_state_of`."""
    if random_state is None:
        return _FIXED
    return int(random_state_of(random_state).randint(2**31 - 1))


def generator_of(seed: Any) -> np.random.Generator:
    """The generator of a solver's seed; None is a fixed stream.

    Parameters
    ----------
    seed : int, sequence of int, Generator or None
        Anything that :func:`numpy.random.default_rng` takes.
    """
    if isinstance(seed, _Deferred):
        return cast(np.random.Generator, seed)
    seed = _FIXED if seed is None else seed
    if type(seed) is int and seed >= 0:
        return cast(np.random.Generator, _Deferred(seed))
    return np.random.default_rng(seed)


class _Deferred:
    """The generator of a seed, made when it first draws.

    To make one takes as long as a step of a small fit, and most methods never draw.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made: np.random.Generator | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._made is None:
            self._made = np.random.default_rng(self._seed)
        return getattr(self._made, name)
