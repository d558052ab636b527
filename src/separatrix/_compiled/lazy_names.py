"""The names of a package, each loaded when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from separatrix.exceptions import MissingPackageError


def lazy_names(
    package: str, homes: Mapping[str, str], *, needs: tuple[str, ...] = (), remedy: str = ""
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The ``__getattr__`` and the ``__dir__`` of a package whose names are loaded on demand.

    Parameters
    ----------
    package : str
        The name of the package.
    homes : mapping of str to str
        The module that each name is in.
    needs : tuple of str
        The third-party packages that may be absent.
    remedy : str
        The sentence for a package that is absent, with a place for its name.
    """
    space = vars(sys.modules[package])

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            space[name] = getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            missing = (error.name or "").partition(".")[0]
            if missing in needs:
                raise MissingPackageError(remedy.format(missing)) from None
            raise
        return space[name]

    return load, lambda: sorted({*space, *homes})
