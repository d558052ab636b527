"""A time limit that long computations look at between their steps."""

from __future__ import annotations

import math
import time


class OutOfTime(Exception):
    """The time limit has come."""


class Deadline:
    """Called between steps: raises :class:`OutOfTime` once the time is up.

    Parameters
    ----------
    at : float
        On the clock of :func:`time.perf_counter`.
    """

    def __init__(self, at: float = math.inf) -> None:
        self.at = at

    def __call__(self) -> None:
        if time.perf_counter() > self.at:
            raise OutOfTime

    @property
    def left(self) -> float | None:
        """Seconds that are left, never quite 0; None without a limit."""
        return None if math.isinf(self.at) else max(self.at - time.perf_counter(), 1e-3)


NO_DEADLINE = Deadline()
