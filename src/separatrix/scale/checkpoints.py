"""Checkpoints: what a pass found out, on disk before the next one begins.

A file of safetensors with a digest over all of it, written aside, flushed and renamed, so that
there is always a whole one.  It names the data and the problem, and is no start for another.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from separatrix.exceptions import DataError

__all__ = ["Checkpoint"]


class Checkpoint:
    """A file that keeps the last point of a fit whose sums are known.

    Parameters
    ----------
    path : path
    identity : str
        What is fitted, to which data: another one's checkpoint is refused.
    """

    def __init__(self, path: str | os.PathLike[str], identity: str) -> None:
        self.path, self.identity = Path(path), identity
        self.part = ""

    def save(self, count: int, theta: np.ndarray, account: dict[str, np.ndarray]) -> None:
        """Replace what is kept by a point and its sums."""
        tensors = {f"sum {name}": np.atleast_1d(value) for name, value in account.items()}
        shapes = {name: list(np.shape(value)) for name, value in account.items()}
        tensors["theta"] = np.ascontiguousarray(theta)
        note = {
            "identity": self.identity,
            "part": self.part,
            "passes": str(count),
            "shapes": json.dumps(shapes),
        }
        data = save({k: np.ascontiguousarray(v) for k, v in tensors.items()}, metadata=note)
        data = hashlib.sha256(data).digest() + data
        aside = self.path.with_name(self.path.name + ".new")
        with open(aside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, self.path)

    def load(self) -> tuple[str, int, np.ndarray, dict[str, np.ndarray]] | None:
        """The part, how many passes it took, the point, and its sums; None where there is none.

        Raises
        ------
        DataError
            For a file that is damaged, or of another fit.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        damaged = DataError(
            f"the checkpoint {self.path} is damaged; remove it, and the fit begins anew"
        )
        if hashlib.sha256(data[32:]).digest() != data[:32]:
            raise damaged
        try:
            tensors = load(data[32:])
        except SafetensorError:
            raise damaged from None
        length = int.from_bytes(data[32:40], "little")
        note: dict[str, Any] = json.loads(data[40 : 40 + length])["__metadata__"]
        if note["identity"] != self.identity:
            raise DataError(
                f"the checkpoint {self.path} is of another fit: the data or the options differ; "
                "give the same ones, or leave out --resume"
            )
        shapes = json.loads(note["shapes"])
        account = {name: tensors[f"sum {name}"].reshape(shapes[name]) for name in shapes}
        return note["part"], int(note["passes"]), tensors["theta"], account

    def remove(self) -> None:
        """Forget it: the fit is done."""
        self.path.unlink(missing_ok=True)
