"""What is predicted: classes or a quantity, and by which model where none was named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from separatrix.cli.choices import MODELS, check_model_options
from separatrix.exceptions import DataError
from separatrix.tables import Table, looks_like_quantity, take_quantity, take_target
from separatrix.tables.table import shown


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict, taken out of its table.

    Attributes
    ----------
    name : str
    features : Table
        The other columns.
    y : ndarray of shape (n_rows,)
        Labels, or float64.
    quantity : bool
        Whether `y` is a quantity.
    told : str or None
        What was settled for the user, in one line.
    """

    name: str
    features: Table
    y: np.ndarray
    quantity: bool
    told: str | None


def settle_target(config: dict[str, Any], table: Table) -> Target:
    """Take out the target, and settle ``config["target"]`` and ``config["model"]``."""
    name = config["target"] = target_name(table, config["target"])
    chosen = config["model"] is None
    if chosen or config["model"] == "lstsq":
        quantity = looks_like_quantity(table, name) or (not chosen and _constant(table, name))
    else:
        quantity = config["model"] == "poly"
    if chosen:
        config["model"] = "lstsq" if quantity else MODELS[0]
    if quantity:
        _check_options_of_a_quantity(config, name, chosen=chosen)
        features, y = take_quantity(table, name)
        told = "a quantity, so least squares; --model poly for curves" if chosen else None
        return Target(name, features, y, True, told)
    features, y = take_target(table, name)
    told = None
    if config["model"] == "lstsq":
        count = len(np.unique(y))
        told = f"{count} classes, so least squares on " + (
            "targets -1 and +1" if count == 2 else "one-hot targets"
        )
        if table.columns[name].dtype == np.float64:
            told += f"; --kind {shown(f'{name}=number')} for a quantity"
    return Target(name, features, y, False, told)


def _constant(table: Table, name: str) -> bool:
    """Whether a column holds one number only: as a quantity it is refused in better words."""
    column = table.columns[name]
    return column.dtype == np.float64 and len(np.unique(np.ma.compressed(column))) == 1


def target_name(table: Table, given: str | None) -> str:
    """The column to predict: the one named, or ``target``."""
    if given is not None:
        return given
    if "target" in table.columns:
        return "target"
    shown_names = ", ".join(repr(name) for name in table.names[-20:])
    last = "the last of its columns are" if len(table.names) > 20 else "its columns are"
    raise DataError(
        f"{table.source} has no column 'target': name the column to predict with --target "
        f"({last} {shown_names})"
    )


def _check_options_of_a_quantity(config: dict[str, Any], name: str, *, chosen: bool) -> None:
    if config["class_weight"] is not None:
        raise click.UsageError(
            f"--class-weight is for classes, and column {shown(name)} is a quantity"
        )
    if not chosen:
        return
    try:
        check_model_options(config)
    except click.UsageError as error:
        raise click.UsageError(
            f"column {shown(name)} is a quantity, so least squares is fitted, but {error.message}"
        ) from error
