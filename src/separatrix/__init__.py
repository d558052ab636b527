"""Linear classification with a certificate.

Every fit carries proof of how good it is: the objective, a lower bound, and the gap between
them.  Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Where each public name lives.
_HOMES = {
    "Certificate": "separatrix.certificate",
    "DataError": "separatrix.exceptions",
    "LinearSVC": "separatrix.models.svm",
    "LogisticRegression": "separatrix.models.logistic",
    "ModelFileError": "separatrix.exceptions",
    "Perceptron": "separatrix.models.perceptron",
    "Trace": "separatrix.trace",
    "load_model": "separatrix.store",
    "save_model": "separatrix.store",
    "select_solver": "separatrix.solvers",
    "verify": "separatrix.verification",
}

__all__ = [
    "Certificate",
    "DataError",
    "LinearSVC",
    "LogisticRegression",
    "ModelFileError",
    "Perceptron",
    "Trace",
    "load_model",
    "save_model",
    "select_solver",
    "verify",
]

if TYPE_CHECKING:
    from separatrix.certificate import Certificate
    from separatrix.exceptions import DataError, ModelFileError
    from separatrix.models.logistic import LogisticRegression
    from separatrix.models.perceptron import Perceptron
    from separatrix.models.svm import LinearSVC
    from separatrix.solvers import select_solver
    from separatrix.store import load_model, save_model
    from separatrix.trace import Trace
    from separatrix.verification import verify


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'separatrix' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
