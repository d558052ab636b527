"""Modules that scikit-learn imports at once and a command hardly ever needs.

They take longer than all the rest together. Until something is asked of one, an empty module stands
in its place. That is for a process that runs one command, and for nobody's own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

__all__ = ["postpone_imports"]

# scikit-learn has uses of them that are for other versions, and for data frames.
_SELDOM = ("scipy.stats", "pandas")


class _Postponed(ModuleType):
    """What imports the module of its name when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


def postpone_imports() -> None:
    """Let stand-ins be imported in place of what is seldom needed."""
    for name in _SELDOM:
        if name in sys.modules or find_spec(name.partition(".")[0]) is None:
            continue
        module = _Postponed(name)
        module.__spec__ = ModuleSpec(name, None)
        sys.modules[name] = module
