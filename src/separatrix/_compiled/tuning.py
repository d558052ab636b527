"""Constants that affect the speed or the patience of a module, and a context with other ones."""

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
        A frozen record of the constants outside of any context.

    Attributes
    ----------
    now : dataclass
        The constants at present.
    """

    def __init__(self, constants: _T) -> None:
        self.now = constants

    @contextlib.contextmanager
    def __call__(self, constants: _T) -> Iterator[None]:
        """Use other constants inside the ``with`` statement, or while a function runs.

        Parameters
        ----------
        constants : dataclass
        """
        before, self.now = self.now, constants
        try:
            yield
        finally:
            self.now = before
