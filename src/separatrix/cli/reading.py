"""How commands read: the table of a fit, a model file, and tables as that model needs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.assessment.origin import known_origin
from separatrix.assessment.rows import take_labels
from separatrix.cli.output import Output
from separatrix.exceptions import DataError, ModelFileError
from separatrix.persistence.model_file import StoredModel, load_model
from separatrix.tables import (
    DEFAULT_MISSING,
    Table,
    read_table,
)


@dataclass(frozen=True)
class LabelledTable:
    """A table read as the model's own was, with the labels or the quantity taken out."""

    table: Table
    features: Table
    y: np.ndarray
    target: str


def read_training_table(config: dict[str, Any]) -> Table:
    """Read the table of a fit, with the options of that fit."""
    return read_table(
        config["data"],
        missing=config["missing"] or DEFAULT_MISSING,
        kinds={**config["kinds"], **dict.fromkeys(config["ignore"], "ignore")},
    )


def load_for_tables(path: str) -> StoredModel:
    """Load a model that can be applied to tables, with what commands know of its origin."""
    stored = load_model(path)
    stored = replace(stored, provenance=known_origin(stored.provenance))
    if stored.encoder is None:
        raise ModelFileError(
            f"'{path}' was saved without an encoder, so it takes matrices and not tables: use it "
            "from Python"
        )
    return stored


def read_like_training(stored: StoredModel, data: str, missing: tuple[str, ...]) -> Table:
    """Read a table; cells that meant missing when the model was fitted mean so again."""
    config = stored.provenance.get("config") or {}
    marks = missing or config.get("missing") or DEFAULT_MISSING
    # Names that all look like numbers in this file would lose their spelling (01 and 1 become one),
    # so they are read as what they were. Numbers are read by their looks: dates are numbers too.
    kinds = {name: kind for name, kind in stored.encoder.kinds_.items() if kind != "number"}
    return read_table(data, missing=marks, kinds=kinds, skip_absent=True)


def read_labelled(
    stored: StoredModel, data: str, missing: tuple[str, ...], target: str | None
) -> LabelledTable:
    """Read a table and take out the labels, which must be classes of the model, or a quantity."""
    target = target or stored.provenance.get("target")
    if target is None:
        raise DataError("the model file does not say what its target was: name it with --target")
    table = read_like_training(stored, data, missing)
    features, y = take_labels(stored, table, target)
    return LabelledTable(table, features, y, target)


def encode(out: Output, stored: StoredModel, features: Table) -> Any:
    """Turn a table into the model's features, and tell what did not match."""
    X = stored.encoder.transform(features)
    for note in (*features.notes, *stored.encoder.notes_):
        out.warn(note)
    return X
