"""A program: the cells of a row, the features that are made of them, and a model's trees.

The nodes that features are made of are those of :mod:`separatrix.tables.features`.
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
    """All that is computed of a row of a table: its features, and what a model makes of them.

    A feature that is missing, not a number or infinite leaves the row without an answer.

    Attributes
    ----------
    cells : tuple of Cell
        The columns that are read, each once, in the order of the table.
    features : tuple of Number or Words
        In the order of the columns of the matrix; words are several.
    names : tuple of str
        Of the features.
    prediction : Prediction
        Of the matrix of the features.
    remarks : tuple of str
        What else a reader has to know about the cells, a sentence each: how amounts or durations
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
