"""This library's classes in scikit-learn's place."""

from __future__ import annotations

import importlib
import sys
from abc import ABCMeta
from typing import Any

from separatrix.models.registry import ESTIMATORS

_MODULES = ("sklearn.discriminant_analysis", "sklearn.linear_model", "sklearn.svm")
# Scikit-learn's own, by name, from the first call of :func:`install` on.
_theirs: dict[str, Any] = {}


def classes() -> dict[str, tuple[str, ...]]:
    """Scikit-learn's modules, and the classes in them that this library has by the same names."""
    public = {module: importlib.import_module(module).__all__ for module in _MODULES}
    return {m: tuple(name for name in names if name in ESTIMATORS) for m, names in public.items()}


def install() -> None:
    """Put this library's classes in the place of scikit-learn's.

    After the call ``from sklearn.linear_model import LogisticRegression`` gives this library's
    class, and so do the others that both have.  Scikit-learn's own modules use them as well:
    as the default of a search or an ensemble, and where they check what an estimator is an
    instance of.  Names that other modules imported before the call stay what they were.
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
    pairs = {name: (theirs, getattr(library, name)) for name, theirs in originals().items()}
    for theirs, ours in pairs.values():
        # So that this library's models are instances of the classes that scikit-learn's inherit.
        if isinstance(theirs, ABCMeta):
            theirs.register(ours)
    _replace(pairs)


def uninstall() -> None:
    """Put scikit-learn's classes back; see :func:`install`.

    Examples
    --------
    >>> import separatrix
    >>> separatrix.uninstall()
    """
    library = importlib.import_module("separatrix")
    _replace({name: (getattr(library, name), theirs) for name, theirs in originals().items()})


def originals() -> dict[str, Any]:
    """Scikit-learn's classes by name, whether or not this library's stand in their place."""
    for module, names in classes().items():
        for name in names:
            _theirs.setdefault(name, getattr(importlib.import_module(module), name))
    return _theirs


def _replace(pairs: dict[str, tuple[Any, Any]]) -> None:
    """Replace the first of each pair by the second in all modules of scikit-learn."""
    for key, module in list(sys.modules.items()):
        if key.partition(".")[0] != "sklearn":
            continue
        names = vars(module)
        for name in pairs.keys() & names.keys():
            old, new = pairs[name]
            if names[name] is old:
                setattr(module, name, new)
