"""Packages that only some tables need, imported when one is read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from separatrix.exceptions import MissingPackageError

__all__ = ["imported"]


def imported(module: str, what: str, *, package: str = "", extra: str = "app") -> Any:
    """A module, or one sentence about the package that lacks.

    Parameters
    ----------
    module : str
    what : str
        What needs the package, as the beginning of a sentence.
    package : str
        The name of the package, where it is not that of the module.
    extra : str
        The extra of this library that installs it.

    Raises
    ------
    ImportError
        If the package is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise MissingPackageError(
            f'{what} needs {package or module}: pip install "separatrix[{extra}]"'
        ) from None
