"""Tables encoded with their numbers as they are, for exact statements about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.cli.describing import describe_table
from separatrix.cli.output import Output
from separatrix.cli.reading import read_training_table
from separatrix.cli.targets import target_name
from separatrix.tables import Encoder, Table, take_target


@dataclass(frozen=True, eq=False)
class RawTable:
    """A labelled table, encoded without standardising."""

    table: Table
    features: Table
    target: str
    y: np.ndarray
    encoder: Encoder
    X: Any

    @property
    def names(self) -> list[str]:
        """Of the columns of the matrix."""
        return self.encoder.feature_names_

    @property
    def row_numbers(self) -> np.ndarray:
        """How messages call the rows: where they stand in the file, from 1."""
        return np.arange(1, self.table.n_rows + 1)


def read_raw(config: dict[str, Any], *, labels_too: bool = False) -> RawTable:
    """Read a table with the options of a command.

    Parameters
    ----------
    config : dict
        ``data``, ``target``, ``kinds``, ``ignore`` and ``missing``.
    labels_too : bool
        Whether the encoder looks at the labels, to warn of columns that give them away.
    """
    table = read_training_table(config)
    return encode_raw(table, target_name(table, config["target"]), labels_too=labels_too)


def encode_raw(table: Table, target: str, *, labels_too: bool = False) -> RawTable:
    """Take out the labels and encode the rest."""
    features, y = take_target(table, target)
    encoder = Encoder(standardise=False).fit(features, y if labels_too else None)
    return RawTable(table, features, target, y, encoder, encoder.transform(features))


def tell_reading(out: Output, raw: RawTable, *, alerts: bool = True) -> None:
    """What was read, and what was noticed on the way."""
    out.report("read", describe_table(raw.features, raw.encoder))
    for note in raw.table.notes:
        out.note(note)
    for alert in (*raw.table.alerts, *(raw.encoder.alerts_ if alerts else ())):
        out.warn(alert)


def matrix_digest(X: Any) -> str:
    """SHA-256 over the numbers of a matrix, dense or CSR."""
    digest = hashlib.sha256(repr((type(X).__name__, tuple(map(int, X.shape)))).encode())
    for part in (X.indptr, X.indices, X.data) if hasattr(X, "indptr") else (X,):
        kind = "<f8" if part.dtype.kind == "f" else "<i8"
        digest.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    return digest.hexdigest()
