"""The estimators by their names, each loaded when it is asked for."""

from __future__ import annotations

from typing import Any

import separatrix

__all__ = ["ESTIMATORS", "estimator", "stated"]

#: The closed list of what a model file can name.
ESTIMATORS = separatrix._ESTIMATORS


def estimator(name: str) -> Any:
    """The class of a name on the list."""
    if name not in ESTIMATORS:
        raise KeyError(name)
    return getattr(separatrix, name)


def stated(model: Any, fact: str, otherwise: Any = None) -> Any:
    """What the estimator of the model's name says of itself; scikit-learn's are like ours.

    Parameters
    ----------
    model : estimator
        Of this library or of scikit-learn.
    fact : str
        The name of an attribute of the class; what a parent says is not said of its children.
    otherwise : object
        What is given where nothing is said.
    """
    name = type(model).__name__
    return vars(estimator(name)).get(fact, otherwise) if name in ESTIMATORS else otherwise
