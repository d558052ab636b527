"""Limits on the size of a table while it is read out of a small file or a view."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from separatrix._compiled import memory
from separatrix.exceptions import DataError
from separatrix.messages import Message, Setting

_SHARE = 0.5
_EVERY = 0.05


@dataclass(frozen=True)
class Limit:
    """The largest size of a packed file, a workbook or a view once it has been read out.

    Attributes
    ----------
    bytes : int
    """

    bytes: int

    @classmethod
    def of(cls, given: str | int | None) -> Limit:
        """The limit that was given, or half of the machine's memory."""
        if given is None:
            return cls(int(_SHARE * memory.installed()))
        try:
            return cls(memory.bytes_of(given, "unpacked_limit"))
        except ValueError as error:
            raise DataError(str(error).rstrip(".")) from None

    def exceeded(self, what: str, remedy: str = "") -> DataError:
        """Return the message about a file that takes more."""
        size, unit = (1e6, "MB") if self.bytes >= 1e6 else (1e3, "KB")
        values = {"what": what, "limit": f"{self.bytes / size:,.0f} {unit}"}
        raised = Setting("unpacked_limit", _rounded(2 * self.bytes))
        before = f"{remedy}, or " if remedy else ""
        return DataError(Message("unpacked_limit", **values, remedy=before, raised=raised))

    @contextmanager
    def watching(self, connection: Any, path: Path, what: str) -> Iterator[None]:
        """Interrupt a query of DuckDB that writes more than this to a file."""
        if memory.is_tight():  # a thread may find no memory
            yield
            return
        done, stopped = Event(), Event()

        def watch() -> None:
            while not done.wait(_EVERY):
                if path.exists() and path.stat().st_size > self.bytes:
                    stopped.set()
                    connection.interrupt()

        thread = Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        except BaseException:
            if stopped.is_set():
                raise self.exceeded(what) from None
            raise
        finally:
            done.set()
            thread.join()


def _rounded(size: int) -> str:
    """An amount of memory as people write it."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= unit:
            return f"{-(-size // unit)}{name}"
    return str(size)
