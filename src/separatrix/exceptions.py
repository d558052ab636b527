"""The library's own exceptions, and warnings at the line that called it.

::

    ValueError
    ├── DataError           the data cannot be used as it is
    ├── ModelFileError      the file is not a model that this version can read
    └── NotSeparableError   no hyperplane separates the classes, and here is the proof

    ModuleNotFoundError
    └── MissingPackageError a package that the call needs is not installed

    UserWarning
    └── ConventionWarning   a number is not scikit-learn's, on purpose
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from types import FrameType
from typing import Any

# Packages between a user's line and a fit: a search or a pipeline calls it for the user.
_BETWEEN = ("separatrix", "sklearn", "joblib")


class ConventionWarning(UserWarning):
    """A number differs from scikit-learn on purpose; this warning is given once per process.

    Examples
    --------
    >>> import warnings
    >>> from separatrix.exceptions import ConventionWarning
    >>> warnings.simplefilter("ignore", ConventionWarning)
    """


def calling_frame() -> FrameType:
    """The innermost frame outside of this library, scikit-learn and joblib.

    Returns
    -------
    frame
        The frame; in a worker of a pool, where there is no such frame, the outermost one.
    """
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        if frame.f_back is None:
            break
        frame = frame.f_back
    return frame


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line, however many calls lie between it and here.

    Parameters
    ----------
    message : str or Warning
    category : type, default=UserWarning
        The category of a message that is a string.
    """
    frame = calling_frame()
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        names.get("__name__", "<string>"),
        names.setdefault("__warningregistry__", {}),
    )


class DataError(ValueError):
    """The data cannot be used as it is; the message says what, where and what to do."""


class MissingPackageError(ModuleNotFoundError):
    """A package that the call needs is not installed; the message says how to install it."""


class ModelFileError(ValueError):
    """The file is not a model that this version of the library can read."""


class NotSeparableError(ValueError):
    """No hyperplane separates the classes strictly.

    Parameters
    ----------
    message : str
    verdict : Separability or None

    Attributes
    ----------
    verdict : Separability or None
        The verdict of :func:`separatrix.separability`, with its witness; None where a kernel lifts
        the points, about whose images nothing is proved exactly.

    Examples
    --------
    >>> from separatrix import LinearSVC, NotSeparableError
    >>> try:
    ...     LinearSVC(C=float("inf")).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    ... except NotSeparableError as error:
    ...     print(error.verdict)
    not separable: ...
    """

    def __init__(self, message: str, verdict: Any) -> None:
        super().__init__(message)
        self.verdict = verdict

    @property
    def witness(self) -> Any:
        """The proof: see :class:`separatrix.geometry.MultiplierWitness`."""
        return None if self.verdict is None else self.verdict.witness

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.verdict)


def imported(module: str, what: str, *, package: str = "", extra: str = "app") -> Any:
    """A module, or one sentence about the package that is missing.

    Parameters
    ----------
    module : str
    what : str
        The use that needs the package, as the beginning of a sentence.
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
