"""The classes that a piece of code makes or fits."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import separatrix
from separatrix.migration.installing import classes

_METHODS = ("__init__", "fit", "partial_fit")


class Watch:
    """Notes the names of the classes that are used, until :meth:`taken`.

    Parameters
    ----------
    ours : bool
        Whether to put this library's classes in the place of scikit-learn's first.
    """

    def __init__(self, *, ours: bool) -> None:
        self._used: set[str] = set()
        if ours:
            separatrix.install()
        for module, names in classes().items():
            for name in names:
                cls = getattr(importlib.import_module(module), name)
                for method in _METHODS:
                    if hasattr(cls, method):
                        self._note(cls, method)

    def taken(self) -> list[str]:
        """The classes used since the last call."""
        out = sorted(self._used)
        self._used.clear()
        return out

    def _note(self, cls: Any, method: str) -> None:
        plain = getattr(cls, method)
        name = cls.__name__

        @functools.wraps(plain)
        def noted(this: Any, *args: Any, **kwargs: Any) -> Any:
            self._used.add(name)
            return plain(this, *args, **kwargs)

        if hasattr(plain, "__signature__"):
            noted.__signature__ = plain.__signature__  # type: ignore[attr-defined]
        setattr(cls, method, noted)
