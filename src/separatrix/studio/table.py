"""The data of a notebook, as columns of numbers and names of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.studio.shapes import framed


@dataclass(frozen=True, eq=False)
class Given:
    """The data that a studio begins with.

    Attributes
    ----------
    table : dict of str to ndarray, or None
    labels : ndarray of str, or None
    target : str or None
        The name of the labels, where they have one.
    axes : two names, or None
    points : dict or None
        Points, names and view, where there is one column.
    model : str or None
        The kind of model that the data need.
    """

    table: dict[str, np.ndarray] | None = None
    labels: np.ndarray | None = None
    target: str | None = None
    axes: tuple[str, str] | None = None
    points: dict[str, Any] | None = None
    model: str | None = None


def columns_of(X: Any, y: Any, features: Sequence[Any] | None) -> Given:
    """The columns of numbers of ``X``, by name, and the labels.

    Raises
    ------
    ValueError
        Where there are no columns of numbers, or they do not fit together.
    """
    if X is None:
        if y is not None or features is not None:
            raise ValueError("y and features belong to X: pass X, too.")
        return Given()
    table = _columns(X)
    n = len(next(iter(table.values())))
    labels = None if y is None else np.asarray(y)
    if labels is not None and labels.shape != (n,):
        raise ValueError(f"y must have one entry for each of the {n:,} rows of X.")
    target = getattr(y, "name", None)
    target = None if target is None else str(target)
    if len(table) == 1:
        if labels is None or labels.dtype.kind not in "iuf":
            raise ValueError(
                "A picture needs two columns of numbers, or one column and numbers for y."
            )
        return Given(points=_curve(*next(iter(table.items())), labels, target), model="regression")
    names = None if labels is None else labels.astype(str)
    return Given(table, names, target, None if features is None else _axes(features, list(table)))


def _columns(X: Any) -> dict[str, np.ndarray]:
    if hasattr(X, "columns"):
        found = {}
        for name in X.columns:
            try:
                found[str(name)] = np.asarray(X[name], dtype=float)
            except (TypeError, ValueError):
                continue
        if not found:
            raise ValueError("X has no column of numbers.")
        return found
    matrix = np.asarray(X, dtype=float)
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"X must be a table of rows and columns; its shape is {matrix.shape}.")
    return {f"x{k}": column for k, column in enumerate(matrix.T, start=1)}


def _axes(features: Sequence[Any], names: list[str]) -> tuple[str, str]:
    if isinstance(features, str) or len(features) != 2:
        raise ValueError("features must be two names or positions of columns.")
    chosen = []
    for one in features:
        number = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
        if number and not -len(names) <= one < len(names):
            raise ValueError(f"There is no column {one}: X has {len(names)} of numbers.")
        name = names[int(one)] if number else str(one)
        if name not in names:
            raise ValueError(f"There is no column {name!r} of numbers.")
        chosen.append(name)
    return chosen[0], chosen[1]


def _curve(name: str, x: np.ndarray, y: np.ndarray, target: str | None) -> dict[str, Any]:
    y = y.astype(float)
    there = np.isfinite(x) & np.isfinite(y)
    places = np.stack([x, y], axis=1)[there]
    if not len(places):
        raise ValueError("X and y have no row with two numbers.")
    names = {"x": name, "y": target or "y", "classes": ["points", "other"]}
    return framed(places, [0] * len(places), names, lock=False)
