"""A program: the cells of a row, the features that are computed from them, and a model's trees.

The nodes of features are those of :mod:`separatrix.tables.features`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix.tables.features import (
    Arithmetic,
    Cell,
    Compare,
    Condition,
    Constant,
    DatePart,
    Feature,
    Function,
    IsLevel,
    IsMissing,
    Number,
    Parsed,
    Power,
    Where,
    Words,
)

__all__ = [
    "Arithmetic",
    "Cell",
    "Compare",
    "Condition",
    "Constant",
    "DatePart",
    "Feature",
    "Function",
    "IsLevel",
    "IsMissing",
    "Number",
    "Parsed",
    "Power",
    "Program",
    "Where",
    "Words",
]


@dataclass(frozen=True, eq=False)
class Program:
    """All computations for a row of a table: its features, and the results of a model.

    A feature that is missing, not a number or infinite leaves the row without an answer.

    Attributes
    ----------
    cells : tuple of Cell
        The columns that are read, each once, in the order of the table.
    features : tuple of Number or Words
        The features, in the order of the columns of the matrix; words are several columns.
    names : tuple of str
        The names of the features.
    prediction : Prediction
        The results of the model for the matrix of the features.
    remarks : tuple of str
        Further facts that a reader needs about the cells, a sentence each: how amounts or durations
        were read at fit, and are to be given now.
    kept : tuple of int or None
        The places of the columns of these features in the matrix of the model; None where these
        are all of its columns. The others have no weight.
    """

    cells: tuple[Cell, ...]
    features: tuple[Feature, ...]
    names: tuple[str, ...]
    prediction: Any
    remarks: tuple[str, ...] = ()
    kept: tuple[int, ...] | None = None
