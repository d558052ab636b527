"""Functions of blocks for tests of engines: importable by name, as workers need them to be."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np

from separatrix._compiled import pool
from separatrix.exceptions import DataError
from separatrix.scale import Rows


def moments(rows: Rows, shared: float, own: Any) -> dict[str, np.ndarray]:
    """Sums that another order, or another split, would round otherwise."""
    factor = shared if own is None else shared * own
    values = np.asarray(rows.matrix, dtype=np.float64) * factor
    return {"sum": values.sum(axis=0), "squares": (values**2).sum(axis=0)}


def slow_moments(rows: Rows, shared: float, own: Any) -> dict[str, np.ndarray]:
    time.sleep(0.02)
    return moments(rows, shared, own)


def late_first(rows: Rows, shared: Any, own: Any) -> float:
    """The first block takes longest, so the others are done before it."""
    if rows.matrix[0, 0] == 0.0:
        time.sleep(0.2)
    return float(rows.matrix[0, 0])


def refuse(rows: Rows, shared: float, own: Any) -> dict[str, np.ndarray]:
    """Raise an error for two of the blocks, of which the first in their order is to be reported."""
    value = float(rows.matrix[0, 0])
    if value >= shared:
        time.sleep(0.1 if value == shared else 0.0)
        raise DataError(f"the row that begins with {value:g} cannot be used")
    return {"first": np.array(value)}


def threads_of(rows: Rows, shared: Any, own: Any) -> tuple[int, int]:
    """How many parts work is split into, and in which process."""
    return len(pool.ranges(100, 1e9)), os.getpid()


def die(rows: Rows, shared: Any, own: Any) -> None:
    """A block that no worker survives."""
    os.kill(os.getpid(), signal.SIGKILL)


def as_long(rows: Rows, shared: np.ndarray, own: Any) -> dict[str, np.ndarray]:
    """The shared numbers times a number of the block: a result as long as what is shared."""
    return {"sum": shared * float(rows.matrix[0, 0])}


def length_of(rows: Rows, shared: np.ndarray, own: np.ndarray) -> float:
    """The sum of the shared and of the block's own numbers, both too many to go with a task."""
    return float(shared.sum() + own.sum())
