"""This library's classes in scikit-learn's place."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["CLASSES", "install", "originals", "uninstall"]

#: Scikit-learn's modules, and the classes in them that this library has as well.
CLASSES = {
    "sklearn.linear_model": (
        "ElasticNet",
        "ElasticNetCV",
        "HuberRegressor",
        "Lasso",
        "LassoCV",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
    ),
    "sklearn.svm": ("SVC", "NuSVC", "LinearSVC", "SVR", "NuSVR", "LinearSVR", "OneClassSVM"),
    "sklearn.discriminant_analysis": (
        "LinearDiscriminantAnalysis",
        "QuadraticDiscriminantAnalysis",
    ),
}

# Scikit-learn's own, by name, from the first call of :func:`install` on.
_theirs: dict[str, Any] = {}


def install() -> None:
    """Put this library's classes in the place of scikit-learn's.

    After the call ``from sklearn.linear_model import LogisticRegression`` gives this library's
    class, and so do the others of :data:`CLASSES`; what was imported before it stays what it was.
    ``python -m separatrix script.py`` does this for a script that is left as it is.

    See Also
    --------
    uninstall : The way back.

    Examples
    --------
    >>> import separatrix
    >>> separatrix.install()
    >>> from sklearn.linear_model import LogisticRegression
    >>> LogisticRegression is separatrix.LogisticRegression
    True
    >>> separatrix.uninstall()
    >>> from sklearn.linear_model import LogisticRegression
    >>> LogisticRegression is separatrix.LogisticRegression
    False
    """
    library = importlib.import_module("separatrix")
    for name, theirs in originals().items():
        _replace(name, theirs, getattr(library, name))


def uninstall() -> None:
    """Put scikit-learn's classes back; see :func:`install`.

    Examples
    --------
    >>> import separatrix
    >>> separatrix.uninstall()
    """
    for name, theirs in originals().items():
        _replace(name, theirs, theirs)


def originals() -> dict[str, Any]:
    """Scikit-learn's classes by name, whether or not this library's stand in their place."""
    for module, names in CLASSES.items():
        found = importlib.import_module(module)
        for name in names:
            _theirs.setdefault(name, getattr(found, name))
    return _theirs


def _replace(name: str, theirs: Any, by: Any) -> None:
    """In the public module, and in the one where the class is defined."""
    (public,) = (module for module, names in CLASSES.items() if name in names)
    for module in {public, theirs.__module__}:
        setattr(importlib.import_module(module), name, by)
