"""Modules that scikit-learn imports at once and a command hardly ever needs.

They take longer than all the rest together.  ``scipy.stats`` has an empty module in its place until
something is asked of it; pandas is not found by the one module of scikit-learn that looks for it at
once, to adapt to other versions, and is there for everybody else.  That is for a process that runs
one command, and for nobody's own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["postpone_imports"]

_STATS = "scipy.stats"
# What is imported from it by name, to be called at some time or never.
_CALLED = ("gmean", "rankdata", "spearmanr")


class _Postponed(ModuleType):
    """What imports the module of its name when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:
        if name in _CALLED:
            return _later(name)
        return getattr(_loaded(), name)


def _loaded() -> ModuleType:
    if isinstance(sys.modules.get(_STATS), _Postponed):
        del sys.modules[_STATS]
    return import_module(_STATS)


def _later(name: str) -> Any:
    """A function that is imported when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_loaded(), name)(*args, **kwargs)

    return call


class _NotForFixes(MetaPathFinder):
    """Finds nothing, and says of pandas that it is not there to the module that adapts to it."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname != "pandas":
            return
        frame = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_globals.get("__name__", ""):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None and frame.f_globals.get("__name__") == "sklearn.utils.fixes":
            raise ModuleNotFoundError("no module named 'pandas' yet", name="pandas")


def postpone_imports() -> None:
    """Let what is seldom needed be imported when it is."""
    scipy = find_spec("scipy")
    if _STATS not in sys.modules and scipy is not None and scipy.submodule_search_locations:
        module = _Postponed(_STATS)
        module.__spec__ = ModuleSpec(_STATS, None)
        # Asked for by every ``from scipy.stats import``, before the name itself is.
        module.__path__ = [str(Path(where) / "stats") for where in scipy.submodule_search_locations]
        sys.modules[_STATS] = module
    sys.meta_path.insert(0, _NotForFixes())
