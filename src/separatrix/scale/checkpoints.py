"""Checkpoints: the results of a pass, on disk before the next one begins.

A file of safetensors with a digest over all of it, written aside, flushed and renamed, so that
there is always a whole one.  It names the data and the problem, and is no start for another.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from separatrix.data.atomic_files import whole_file
from separatrix.exceptions import DataError
from separatrix.scale.storage import checked_bytes, checked_parts

# The files of fits that are done, where they are not removed at once.
_waiting: ContextVar[list[Path] | None] = ContextVar("waiting", default=None)


class Checkpoint:
    """A file that keeps the last point of every part of a fit whose sums are known.

    Parameters
    ----------
    path : path
    identity : str
        The identity of the fit and of its data: the checkpoint of another fit is refused.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str) -> None:
        self.path, self.identity = Path(path), identity
        self._held: dict[str, tuple[np.ndarray, dict[str, np.ndarray]]] = {}

    def hold(self, part: str, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Have the next :meth:`save` keep a point of this part, and its sums."""
        self._held[part] = theta, account

    def save(self, count: int) -> None:
        """Replace what is kept by what is held, of ``count`` passes."""
        tensors, parts = {}, []
        for k, (part, (theta, account)) in enumerate(self._held.items()):
            tensors[f"{k} theta"] = np.asarray(theta)
            for name, value in account.items():
                tensors[f"{k} sum {name}"] = np.atleast_1d(value)
            shapes = {name: list(np.shape(value)) for name, value in account.items()}
            parts.append({"part": part, "shapes": shapes})
        note = {"identity": self.identity, "passes": str(count), "parts": json.dumps(parts)}
        with whole_file(self.path, durable=True) as file:
            file.write(checked_bytes(tensors, note))

    def load(self) -> tuple[int, dict[str, tuple[np.ndarray, dict[str, np.ndarray]]]] | None:
        """The number of passes, and the point of each part with its sums; None without a file.

        Raises
        ------
        DataError
            For a file that is damaged, or of another fit.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        found = checked_parts(data)
        if found is None:
            raise DataError(
                f"the checkpoint {self.path} is damaged; remove it, and the fit starts again"
            )
        tensors, note = found
        if note["identity"] != self.identity:
            raise DataError(
                f"the checkpoint {self.path} belongs to another fit, with other data or options; "
                "give the same ones, or leave out --resume"
            )
        for k, one in enumerate(json.loads(note["parts"])):
            account = {
                name: tensors[f"{k} sum {name}"].reshape(shape)
                for name, shape in one["shapes"].items()
            }
            self._held[one["part"]] = tensors[f"{k} theta"], account
        return int(note["passes"]), dict(self._held)

    def remove(self) -> None:
        """Forget it: the fit is done."""
        waiting = _waiting.get()
        if waiting is None:
            self.path.unlink(missing_ok=True)
        else:
            waiting.append(self.path)


@contextlib.contextmanager
def kept_until_end() -> Iterator[None]:
    """Inside the ``with`` statement checkpoints of fits that are done stay, until it ends well."""
    waiting: list[Path] = []
    token = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(token)
    for path in waiting:
        path.unlink(missing_ok=True)
