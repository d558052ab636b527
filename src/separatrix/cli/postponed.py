"""Modules that libraries import at once and a command hardly ever needs.

They take longer than all the rest together.  Parts of SciPy, narwhals, asyncio, and what NumPy has
for its own tests and for Fortran, have an empty module in their place until something is asked of
it; pandas, rich, YAML and others are not found by the one module that looks for them at once, to
adapt to other versions, to draw its own bars or to look for a file of settings, and are there for
everybody else.  That is for a process that runs one command, and for nobody's own.
"""

from __future__ import annotations

import itertools
import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["postpone_imports"]

# Each with what is imported from it by name, to be called at some time or never.
_LATER: dict[str, tuple[str, ...]] = {
    "scipy.stats": ("gmean", "rankdata", "spearmanr"),
    "scipy.linalg": (),
    "scipy.integrate": ("trapezoid",),
    "scipy.interpolate": ("BSpline",),
    "scipy.optimize._shgo": ("shgo",),
    "scipy.linalg.interpolative": ("interp_decomp",),
    "scipy.spatial.transform": (),
    "sklearn.isotonic": ("IsotonicRegression",),
    "sklearn.model_selection": ("LeaveOneOut", "check_cv", "cross_val_predict"),
    "sklearn.svm": ("LinearSVC",),
    "scipy.sparse.linalg": ("cg",),
    "asyncio": (),
    "numpy.f2py": (),
    "numpy.testing": (),
    "fontTools.agl": (),
    "narwhals": (),
    "narwhals.stable": (),
    "narwhals.stable.v2": (),
}
# What is not there to one module, or to those of one package.
_ABSENT = {
    "pandas": "sklearn.utils.fixes",
    "rich.progress": "sklearn.callback._progressbar",
    "yaml": "numba.core.config",
    "cffi": "numba.core.typing.cffi_utils",
    "psutil": "joblib.externals.loky",
}


# Of a module that is not there yet nobody asks these but what is importing it.
_OWN = ("__path__", "__file__", "__cached__")


class _Postponed(ModuleType):
    """What imports the module of its name when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:
        if name in _OWN:
            raise AttributeError(name)
        if name in _LATER[self.__name__]:
            return _later(self.__name__, name)
        return getattr(_loaded(self.__name__), name)


def _loaded(module: str) -> ModuleType:
    # With what it is part of.
    names = list(itertools.accumulate(module.split("."), "{}.{}".format))
    for name in names:
        if isinstance(sys.modules.get(name), _Postponed):
            del sys.modules[name]
    _wanted.update(names)
    return import_module(module)


def _later(module: str, name: str) -> Any:
    """A function that is imported when it is called."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(_loaded(module), name)(*args, **kwargs)

    return call


def _no_documentation(artist: Any) -> str:
    return ""


# Modules that were asked for something.
_wanted: set[str] = set()


class _Finder(MetaPathFinder, Loader):
    """Finds empty modules for some, and says of others that they are not there to one module."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname in _LATER and fullname not in _wanted:
            part = fullname.rpartition(".")[2]
            for where in sys.path if path is None else path:
                # Where it is is asked by every ``from scipy.stats import``, before the name is.
                folder = Path(where) / part
                if folder.is_dir():
                    spec = ModuleSpec(fullname, self, is_package=True)
                    spec.submodule_search_locations = [str(folder)]
                    return spec
                if folder.with_suffix(".py").is_file():
                    return ModuleSpec(fullname, self)
        artist = (
            sys.modules.get("matplotlib.artist") if fullname.startswith("matplotlib.") else None
        )
        if hasattr(artist, "kwdoc"):
            # With it every class of artists lists its properties in docstrings.
            artist.kwdoc = _no_documentation  # type: ignore[union-attr]
        if fullname in _ABSENT:
            frame = sys._getframe(1)
            while frame is not None and "importlib" in frame.f_globals.get("__name__", ""):
                frame = frame.f_back  # type: ignore[assignment]
            asking = "" if frame is None else frame.f_globals.get("__name__", "")
            if f"{asking}.".startswith(f"{_ABSENT[fullname]}."):
                raise ModuleNotFoundError(f"no module named {fullname!r} yet", name=fullname)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Postponed(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def postpone_imports() -> None:
    """Let what is seldom needed be imported when it is."""
    if Path(".numba_config.yaml").exists():
        _ABSENT.pop("yaml", None)
    sys.meta_path.insert(0, _Finder())
