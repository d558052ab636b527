"""Small real data sets that are always at hand, by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.exceptions import DataError
from separatrix.tables.table import Table, nearest

_LOADERS = {
    "breast-cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}

BUILTIN_NAMES: tuple[str, ...] = tuple(_LOADERS)
"""The names :func:`load_builtin` knows, sorted."""


def load_builtin(name: str) -> Table:
    """Load one of the data sets that come with scikit-learn as a table.

    The features keep scikit-learn's names. The last column, ``target``, holds the names of the
    classes where they have names (``setosa``, ``benign``, ...), the digit for ``digits``, and a
    quantity for ``diabetes`` (for least squares; to classify it, cut the quantity first).

    Parameters
    ----------
    name : str
        One of :data:`BUILTIN_NAMES`.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If there is no such data set.

    Examples
    --------
    >>> from separatrix.tables import load_builtin
    >>> table = load_builtin("iris")
    >>> table.n_rows, table.names[0], table.names[-1]
    (150, 'sepal length (cm)', 'target')
    """
    if name not in _LOADERS:
        raise DataError(
            f"there is no built-in data set {name!r} (there are: {', '.join(BUILTIN_NAMES)})"
            f"{nearest(name, BUILTIN_NAMES)}"
        )
    import sklearn.datasets

    bunch: Any = getattr(sklearn.datasets, _LOADERS[name])()
    columns: dict[str, Any] = {
        str(feature): np.array(bunch.data[:, j], dtype=np.float64)
        for j, feature in enumerate(bunch.feature_names)
    }
    if name in ("diabetes", "digits"):
        columns["target"] = np.array(bunch.target, dtype=np.float64)
    else:
        labels = [str(label) for label in bunch.target_names]
        columns["target"] = [labels[k] for k in bunch.target]
    kinds = {"target": "category"} if isinstance(columns["target"], list) else None
    return Table.from_columns(columns, kinds=kinds, source=name)
