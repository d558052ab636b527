"""Two libraries that scikit-learn imports at once, and that a command hardly ever needs.

scikit-learn imports ``scipy.stats`` for three functions, and pandas to adapt to its version;
together they take as long as a small fit.  In a process for one command ``scipy.stats`` is imported
when something in it is used, and pandas is hidden from that one check: everybody else finds it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_POSTPONED = "scipy.stats"
# Functions that others import from it by name; each imports the module when it is called.
_FUNCTIONS = ("gmean", "rankdata", "spearmanr")
# The attributes that the import system looks up before a module is there.
_OWN = ("__path__", "__file__", "__cached__")
_HIDDEN, _CHECKED_BY = "pandas", "sklearn.utils.fixes"


class _Postponed(ModuleType):
    """A module that imports the one of its name when something in it is used."""

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            raise AttributeError(name)
        if name in _FUNCTIONS:
            return lambda *args, **kwargs: getattr(self._loaded(), name)(*args, **kwargs)
        return getattr(self._loaded(), name)

    def _loaded(self) -> ModuleType:
        if sys.modules.get(_POSTPONED) is self:
            del sys.modules[_POSTPONED]
            _FINDER.done = True
        return import_module(_POSTPONED)


class _Finder(MetaPathFinder, Loader):
    done = False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname == _POSTPONED and not self.done:
            found = PathFinder.find_spec(fullname, path)
            if found is not None:
                spec = ModuleSpec(fullname, self, is_package=True)
                spec.submodule_search_locations = found.submodule_search_locations
                return spec
        if fullname == _HIDDEN and _importing() == _CHECKED_BY:
            raise ModuleNotFoundError(f"no module named {fullname!r} yet", name=fullname)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Postponed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


_FINDER = _Finder()


def _importing() -> str:
    """The name of the module whose import statement is being carried out."""
    frame: Any = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_globals.get("__name__", ""):
        frame = frame.f_back
    return "" if frame is None else str(frame.f_globals.get("__name__", ""))


def postpone_imports() -> None:
    """Let what is seldom needed be imported when it is."""
    sys.meta_path.insert(0, _FINDER)
