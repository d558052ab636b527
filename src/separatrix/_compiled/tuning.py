"""Constants of a module that decide about speed or patience, and a context in which others hold."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Tuned(Generic[_T]):
    """The constants of a module, which hold for all threads of the process.

    Parameters
    ----------
    constants : dataclass
        A frozen record of those that hold outside of any context.

    Attributes
    ----------
    now : dataclass
        Those that hold now.
    """

    def __init__(self, constants: _T) -> None:
        self.now = constants

    @contextlib.contextmanager
    def __call__(self, constants: _T) -> Iterator[None]:
        """Hold other constants inside the ``with`` statement, or while a function runs.

        Parameters
        ----------
        constants : dataclass
        """
        before, self.now = self.now, constants
        try:
            yield
        finally:
            self.now = before
