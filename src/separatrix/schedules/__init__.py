"""Schedules of learning rates, under their public name."""

from __future__ import annotations

from separatrix.solvers.schedules import (
    SCHEDULES,
    Constant,
    InverseTime,
    Power,
    Schedule,
    schedule_of,
)

__all__ = [
    "SCHEDULES",
    "Constant",
    "InverseTime",
    "Power",
    "Schedule",
    "schedule_of",
]
