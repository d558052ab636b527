"""Code that was written for scikit-learn, run with this library's classes."""

from __future__ import annotations

from separatrix.migration.installing import install, uninstall

__all__ = ["install", "uninstall"]
