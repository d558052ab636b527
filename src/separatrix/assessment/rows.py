"""Which rows of a table a model was fitted to, and what they are labelled."""

from __future__ import annotations

import numpy as np

from separatrix.persistence.model_file import StoredModel
from separatrix.tables import Table, split_rows, take_quantity, take_target


def take_labels(stored: StoredModel, table: Table, target: str) -> tuple[Table, np.ndarray]:
    """Take out what a fitted model predicts: classes that it knows, or a quantity."""
    if predicts_numbers(stored):
        return take_quantity(table, target, fitted=True)
    return take_target(table, target, classes=stored.model.classes_)


def predicts_numbers(stored: StoredModel) -> bool:
    """Whether a model predicts a quantity rather than classes."""
    return not hasattr(stored.model, "classes_")


def split_of_fit(stored: StoredModel, y: np.ndarray) -> np.ndarray:
    """The rows of the table of a fit that were fitted."""
    return both_parts(stored, y)[0]


def both_parts(stored: StoredModel, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the table of a fit that were fitted, and those that were held out."""
    split = stored.provenance["split"]
    return split_rows(
        y,
        test_size=split["test_size"],
        seed=split["seed"],
        stratify=split.get("stratified", True),
    )
