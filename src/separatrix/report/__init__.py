"""The report of a fit: one page that needs nothing else, and the same as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Report"]

if TYPE_CHECKING:
    from separatrix.report.report import Report


def __getattr__(name: str) -> Any:
    # The command line takes light modules from here, and must answer at once.
    if name != "Report":
        raise AttributeError(f"module 'separatrix.report' has no attribute {name!r}")
    from separatrix.report.report import Report

    globals()["Report"] = Report
    return Report
