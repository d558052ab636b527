"""The report of a fit: one page that needs nothing else, and the same as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from separatrix._compiled.lazy_names import lazy_names

if TYPE_CHECKING:
    from separatrix.report.report import Report as Report

# The command line takes light modules from here, and must answer at once.
_HOMES = {"Report": "separatrix.report.report"}

__all__ = [*_HOMES]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
